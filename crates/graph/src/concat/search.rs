//! Which choices are worth it: by plans.
//!
//! It is not always better to do without a copy: an output is there from its first part on, and parts
//! are needed as long as the output is. So plans by rules alone are compared. Where there are few
//! combinations all of them are tried; otherwise none, as many as possible, some rules that are the same
//! for all nodes, and then one choice more, fewer or another in the best so far. The smallest arena counts, then the fewest bytes moved.
//!
//! Cost: at most as many plans as [`PLANS`] says, of [`NODES`] nodes together, or all combinations if
//! their plans have at most [`MOST_NODES`].

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::ControlFlow;

use plimsoll::{Options, Plan, Pulse, Role, ValueId, unverified_plan};

use super::choice::{Choice, Layouts};
use super::takeover::takeovers;
use super::{Candidate, candidates, made_as, moved_by, views};
use crate::graph::{Aliases, Graph, NodeId, Parts, Resolved, parts};
use crate::scheduled::{LoweringOptions, ScheduledGraph};

/// How many plans are made to find out what to choose: fewer for large graphs.
const PLANS: std::ops::RangeInclusive<usize> = 24..=76;

/// How many nodes these plans may have together.
const NODES: usize = 40_000;

/// How many plans are made to find out which views to copy.
const MOST_COPIES: usize = 8;

/// All combinations are tried where their plans have no more nodes than this together.
const MOST_NODES: usize = 16_384;

/// A graph without some of its copies.
#[derive(Clone, Debug)]
pub struct Joined<'g> {
    /// The graph with what was chosen. Ids are as before.
    pub graph: Cow<'g, Graph>,
    /// What was chosen, in the order in which it was taken, on which the graph depends.
    pub choices: Vec<Choice>,
    /// The concats that are no steps any more, and the splits and slices that are views.
    pub elided: Vec<NodeId>,
    /// The bytes that steps which only move bytes wrote in a run before.
    pub moved_before: u64,
    /// The bytes that they write now.
    pub moved: u64,
    /// The plan that it was chosen by, made by rules alone, to be [verified](plimsoll::verified); `None` if
    /// there is none.
    pub plan: Option<Box<Plan>>,
}

/// Does without the copies of concats where the arena is not larger for it.
#[must_use]
pub fn join_concats<'g>(
    graph: &'g Graph,
    lowering: &LoweringOptions,
    options: &Options,
) -> Joined<'g> {
    join_concats_watched(graph, lowering, options, &mut || ControlFlow::Continue(()))
}

/// The same, while somebody is asked now and then whether to go on.
pub(crate) fn join_concats_watched<'g>(
    graph: &'g Graph,
    lowering: &LoweringOptions,
    options: &Options,
    pulse: &mut Pulse<'_>,
) -> Joined<'g> {
    let aliases = graph.aliases(&lowering.kernels);
    let boundary = |value: ValueId| !options.place.outputs && graph.outputs().contains(&value);
    let mut candidates = candidates(graph, &aliases, lowering);
    candidates.retain(|candidate| !candidate.touches(graph, &aliases).any(boundary));
    let copyable = views::copyable(graph, &aliases, lowering);
    let takeovers = takeovers(graph, lowering);
    if candidates.is_empty() && copyable.is_empty() && takeovers.is_empty() {
        return Joined::unchanged(graph, moved_by(graph, &aliases));
    }
    let mut options = options.clone();
    options.pack.work = Some(0);
    let most = (NODES / graph.nodes().len().max(1)).clamp(*PLANS.start(), *PLANS.end());
    let aliases = &aliases;
    let mut search = Search {
        graph,
        aliases,
        lowering,
        options,
        copyable,
        takeovers,
        tried: HashSet::new(),
        most,
        pulse,
        best: None,
    };
    if !search.run_all(&candidates) {
        search.run(&candidates);
    }
    let moved_before = moved_by(graph, aliases);
    let Some(Found { cost: (_, moved), taken: choices, graph: joined, plan, .. }) = search.best
    else {
        return Joined::unchanged(graph, moved_before);
    };
    let elided = choices.iter().filter_map(|choice| match choice {
        Choice::Elide(node) => Some(*node),
        Choice::Join(..) | Choice::Copy(..) | Choice::TakeOver(..) => None,
    });
    let elided = elided.collect();
    let graph = joined.map_or(Cow::Borrowed(graph), Cow::Owned);
    Joined { graph, choices, elided, moved_before, moved, plan: Some(plan) }
}

impl<'g> Joined<'g> {
    /// A graph with all its copies.
    pub(crate) fn unchanged(graph: &'g Graph, moved: u64) -> Self {
        let (choices, elided) = (Vec::new(), Vec::new());
        Joined {
            graph: Cow::Borrowed(graph),
            choices,
            elided,
            moved_before: moved,
            moved,
            plan: None,
        }
    }
}

/// Which inputs of every concat are made in its output.
#[derive(Clone, Copy)]
enum Inputs {
    None,
    All,
    /// Those that are more than copies of something.
    Computed,
    Largest,
}

/// Of which values all splits, slices and repetitions are rows. A view keeps what it is a part of.
#[derive(Clone, Copy)]
enum RowsOf {
    None,
    /// Of those that are not in the arena.
    Outside,
    All,
}

/// The best so far: by arena, then by bytes moved.
struct Found {
    cost: (u64, u64),
    choices: Vec<Choice>,
    /// Those of them that others before them left open.
    taken: Vec<Choice>,
    /// The graph with them, if that is another.
    graph: Option<Graph>,
    plan: Box<Plan>,
}

struct Search<'a, 'p> {
    graph: &'a Graph,
    aliases: &'a Aliases,
    lowering: &'a LoweringOptions,
    options: Options,
    /// Views that may be copied instead.
    copyable: Vec<Choice>,
    /// Outputs that may take over rows.
    takeovers: Vec<Choice>,
    /// What has been planned.
    tried: HashSet<Vec<Choice>>,
    /// How many plans there may be.
    most: usize,
    pulse: &'a mut Pulse<'p>,
    best: Option<Found>,
}

impl Search<'_, '_> {
    /// Tries all combinations, if there are few.
    fn run_all(&mut self, candidates: &[Candidate]) -> bool {
        self.consider(Vec::new(), false);
        self.consider(self.alike(candidates, Inputs::All, RowsOf::All), true);
        let mut alternatives: Vec<Vec<Choice>> = candidates.iter().map(Candidate::all).collect();
        let alone = self.copyable.iter().chain(&self.takeovers);
        alternatives.extend(alone.map(|choice| vec![choice.clone()]));
        let all = alternatives.iter().map(|choices| choices.len() + 1);
        let all = all.fold(self.graph.nodes().len(), usize::saturating_mul);
        if all > MOST_NODES {
            return false;
        }
        let layouts = Layouts::of(self.graph, self.aliases);
        self.all(&alternatives, &layouts, &mut Vec::new());
        if candidates.iter().any(Candidate::makes_views) {
            // A concat of views of rows is one itself, if these are taken first.
            alternatives.sort_by_cached_key(|choices| choices.first().map(Choice::node));
            self.all(&alternatives, &layouts, &mut Vec::new());
        }
        true
    }

    fn run(&mut self, candidates: &[Candidate]) {
        if candidates.iter().any(Candidate::makes_views) {
            let mut in_order: Vec<&Candidate> = candidates.iter().collect();
            in_order.sort_by_cached_key(|candidate| candidate.node);
            let choices = self.alike(in_order, Inputs::All, RowsOf::All);
            self.consider(choices, false);
        }
        for rows in [RowsOf::All, RowsOf::Outside, RowsOf::None] {
            for inputs in [Inputs::All, Inputs::Computed, Inputs::Largest, Inputs::None] {
                let choices = self.alike(candidates, inputs, rows);
                if self.goes_on() {
                    self.consider(choices, false);
                }
            }
        }
        let cost = |search: &Self| search.best.as_ref().map(|best| best.cost);
        loop {
            let before = cost(self);
            for candidate in candidates {
                self.toggle(candidate);
            }
            for choice in candidates.iter().flat_map(Candidate::fewer) {
                self.replace(&choice);
            }
            if cost(self) == before || !self.goes_on() {
                break;
            }
        }
        let copies = views::outlasting(self.graph, self.aliases, self.lowering);
        self.copy(&copies);
        self.take_over(candidates);
    }

    /// The best so far, and as many choices as possible, with all outputs that can take over rows.
    fn take_over(&mut self, candidates: &[Candidate]) {
        if self.takeovers.is_empty() {
            return;
        }
        for rows in [None, Some(RowsOf::All), Some(RowsOf::Outside)] {
            let base = rows.map(|rows| self.alike(candidates, Inputs::All, rows));
            let base = base.unwrap_or_else(|| self.chosen());
            if (self.pulse)().is_break() {
                return;
            }
            let harmless = self.harmless(&base);
            self.consider([base, harmless].concat(), false);
        }
    }

    /// Those of these that can be taken with some choices, and destroy nothing.
    fn harmless(&self, base: &[Choice]) -> Vec<Choice> {
        let mut kept = self.takeovers.clone();
        loop {
            let mut layouts = Layouts::of(self.graph, self.aliases);
            let taken = layouts.take_all(&[base, &kept].concat());
            kept.retain(|choice| taken.contains(choice));
            let Some(harmful) = layouts.harmful(&self.lowering.kernels) else { return Vec::new() };
            if harmful.is_empty() {
                return kept;
            }
            kept.retain(|choice| !harmful.iter().any(|takeover| takeover.is(self.graph, choice)));
        }
    }

    /// The best so far with all of these copies, and with each of them more or fewer.
    fn copy(&mut self, copies: &[Choice]) {
        let most = self.tried.len().max(self.most) + MOST_COPIES;
        let all = [self.chosen(), copies.to_vec()].concat();
        if !copies.is_empty() {
            self.consider(all, false);
        }
        for copy in copies {
            if self.tried.len() >= most || (self.pulse)().is_break() {
                return;
            }
            let mut toggled = self.chosen();
            match toggled.iter().position(|choice| choice == copy) {
                Some(index) => drop(toggled.remove(index)),
                None => toggled.push(copy.clone()),
            }
            self.consider(toggled, false);
        }
    }

    /// Every candidate as the same rules say, as far as those before it leave it open.
    fn alike<'c>(
        &self,
        candidates: impl IntoIterator<Item = &'c Candidate>,
        inputs: Inputs,
        rows: RowsOf,
    ) -> Vec<Choice> {
        let mut layouts = Layouts::of(self.graph, self.aliases);
        let mut choices = Vec::new();
        for candidate in candidates {
            let choice = match parts(self.graph, candidate.node) {
                Some(parts) => {
                    let inputs = self.inputs(candidate, &parts, inputs);
                    self.largest(&layouts, candidate, &inputs)
                }
                None => self.takes(candidate, rows).then_some(Choice::Elide(candidate.node)),
            };
            choices.extend(choice.filter(|choice| layouts.take(choice)));
        }
        choices
    }

    /// The inputs of a concat that are to be made in its output.
    fn inputs(&self, candidate: &Candidate, parts: &Parts, which: Inputs) -> Vec<usize> {
        let bytes = |index: &usize| parts.list[*index].bytes;
        let is_computed = |index: &usize| {
            let made = made_as(self.graph, self.aliases, parts.list[*index].value);
            let maker = self.graph.producer(made);
            maker.is_some_and(|maker| !self.graph.native_effect(maker).copies)
        };
        let all = candidate.inputs.iter().copied();
        match which {
            Inputs::None => Vec::new(),
            Inputs::All => all.collect(),
            Inputs::Computed => all.filter(is_computed).collect(),
            Inputs::Largest => all.max_by_key(bytes).into_iter().collect(),
        }
    }

    /// Whether the outputs of a node that is no concat are to be rows of its input.
    fn takes(&self, candidate: &Candidate, rows: RowsOf) -> bool {
        let outside = || {
            let input = self.graph.node(candidate.node).reads().next();
            let root = input.map(|input| self.graph.value(self.aliases.resolve(input).root));
            root.is_some_and(|root| root.role != Role::Temporary && !self.options.place.inputs)
        };
        match rows {
            RowsOf::None => false,
            RowsOf::Outside => outside(),
            RowsOf::All => true,
        }
    }

    /// As much of a candidate as others leave open, with these inputs at the most.
    fn largest(
        &self,
        layouts: &Layouts<'_>,
        candidate: &Candidate,
        inputs: &[usize],
    ) -> Option<Choice> {
        let parts = parts(self.graph, candidate.node);
        let all = parts.as_ref().is_none_or(|parts| parts.list.len() == inputs.len());
        let whole = Choice::Elide(candidate.node);
        if candidate.elides && all && layouts.clone().take(&whole) {
            return Some(whole);
        }
        let free = layouts.free(&parts.filter(|_| candidate.joins)?, inputs);
        (!free.is_empty()).then_some(Choice::Join(candidate.node, free))
    }

    /// Whether more plans may be made.
    fn goes_on(&mut self) -> bool {
        self.tried.len() < self.most && (self.pulse)().is_continue()
    }

    /// Plans with some choices, unless that was done, and keeps them if they are better; or as good,
    /// where that is enough.
    fn consider(&mut self, choices: Vec<Choice>, on_a_tie: bool) {
        if !self.tried.insert(choices.clone()) {
            return;
        }
        let Some(found) = self.planned(choices) else { return };
        let better = |best: &Found| found.cost < best.cost || on_a_tie && found.cost == best.cost;
        if self.best.as_ref().is_none_or(better) {
            self.best = Some(found);
        }
    }

    /// The plan with these choices; nothing if there is none. What is worse than the best so far may be
    /// given too large an arena.
    fn planned(&mut self, choices: Vec<Choice>) -> Option<Found> {
        let mut layouts = Layouts::of(self.graph, self.aliases);
        let taken = layouts.take_all(&choices);
        let (graph, resolved) = if taken.is_empty() {
            let resolved = Resolved::of(self.graph, &self.lowering.kernels);
            (Cow::Borrowed(self.graph), resolved.ok()?)
        } else {
            let (graph, resolved) = layouts.finish(&self.lowering.kernels).ok()?;
            (Cow::Owned(graph), resolved)
        };
        let program = ScheduledGraph::of(&graph, resolved, self.lowering).ok()?;
        let moved = moved_by(&graph, program.aliases());
        let as_small = |best: &Found| best.cost.0 + u64::from(moved <= best.cost.1);
        let one_bank = self.options.banks.len() < 2;
        self.options.pack.below = self.best.as_ref().map(as_small).filter(|_| one_bank);
        let plan = Box::new(unverified_plan(&program, &self.options, self.pulse).ok()?);
        let cost = (plan.arena_bytes(), moved);
        drop(program);
        let graph = match graph {
            Cow::Borrowed(_) => None,
            Cow::Owned(graph) => Some(graph),
        };
        Some(Found { cost, choices, taken, graph, plan })
    }

    /// Tries every combination that begins like this. What is refused is as good as not chosen.
    fn all(&mut self, left: &[Vec<Choice>], layouts: &Layouts<'_>, begun: &mut Vec<Choice>) {
        let Some((first, rest)) = left.split_first() else {
            if (self.pulse)().is_continue() {
                self.consider(begun.clone(), false);
            }
            return;
        };
        self.all(rest, layouts, begun);
        for choice in first {
            let mut taken = layouts.clone();
            // Who takes over whom depends on what comes behind it too.
            if taken.take(choice) || matches!(choice, Choice::TakeOver(..)) {
                begun.push(choice.clone());
                self.all(rest, &taken, begun);
                begun.pop();
            }
        }
    }

    /// What is chosen so far.
    fn chosen(&self) -> Vec<Choice> {
        self.best.as_ref().map_or(Vec::new(), |best| best.choices.clone())
    }

    /// The best so far without a choice about a node, or with the largest if there is none.
    fn toggle(&mut self, candidate: &Candidate) {
        if !self.goes_on() {
            return;
        }
        let mut toggled = self.chosen();
        if let Some(index) = toggled.iter().position(|choice| choice.node() == candidate.node) {
            toggled.remove(index);
        } else {
            let mut layouts = Layouts::of(self.graph, self.aliases);
            toggled = layouts.take_all(&toggled);
            toggled.extend(self.largest(&layouts, candidate, &candidate.inputs));
        }
        self.consider(toggled, false);
    }

    /// The best so far with another choice about a node.
    fn replace(&mut self, choice: &Choice) {
        if !self.goes_on() {
            return;
        }
        let mut replaced = self.chosen();
        match replaced.iter_mut().find(|other| other.node() == choice.node()) {
            Some(other) => other.clone_from(choice),
            None => replaced.push(choice.clone()),
        }
        self.consider(replaced, false);
    }
}
