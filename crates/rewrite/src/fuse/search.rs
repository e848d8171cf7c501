//! Which of the fusions that there are is worth it: plans decide.

use std::collections::BTreeSet;

use plimsoll::ValueId;
use plimsoll::explain::peaks;
use plimsoll_graph::{Case, CaseError, PlannedGraph};
use plimsoll_model::{
    AllKernels, FusedGraph, FusedKernels, FusedStep, Fusing, Inferred, Model, Role, Wiring,
};

use super::chain::only_output;
use super::found::{Found, found, reads_as_data};
use super::kinds::FusionKind;

/// How many choices are planned at the most.
pub const MOST_PLANS: usize = 48;

/// How often what is alive at the peak is looked at.
const ROUNDS: usize = 12;

/// A model with its fused steps, planned.
#[derive(Clone, Debug)]
pub struct Fused {
    /// The steps, in the order in which they run. None if nothing is worth it.
    pub steps: Vec<FusedStep>,
    /// The value of every tensor that the graph has, by the tensor's id.
    pub values: Vec<Option<ValueId>>,
    /// The graph with these steps, and its plan.
    pub planned: PlannedGraph,
    /// The arena without any fusion.
    pub unfused_bytes: u64,
}

/// Finds the fusions of these kinds that make the arena of a model smallest. `case` says how its graph, without
/// fusions, is planned; `kernels` what the runtime can do.
pub fn fuse(
    model: &Model,
    inferred: &Inferred,
    case: &Case,
    kinds: &BTreeSet<FusionKind>,
    kernels: &dyn FusedKernels,
) -> Result<Fused, CaseError> {
    let wiring = Wiring::new(model, &inferred.order);
    let Inferred { facts, statics, .. } = inferred;
    let fusing = Fusing { model, facts, statics, wiring: &wiring, kernels };
    let found = found(&fusing, kinds);
    let quick = case.clone().quick();
    let mut search = Search { fusing, inferred, quick, found: &found, plans: 0 };
    let best = search.best(kinds);
    let unfused = case.clone().plan()?;
    let unfused_bytes = unfused.arena_bytes();
    let fused = best.and_then(|tried| {
        let planned = Case { graph: tried.graph.graph, ..case.clone() }.plan().ok()?;
        let values = tried.graph.values;
        Some(Fused { steps: tried.steps, values, planned, unfused_bytes })
    });
    Ok(fused.filter(|fused| fused.planned.arena_bytes() <= unfused_bytes).unwrap_or(Fused {
        steps: Vec::new(),
        values: inferred.values.clone(),
        planned: unfused,
        unfused_bytes,
    }))
}

/// The graph with all fusions of these kinds, whether they are worth it or not; `None` if there are none.
#[must_use]
pub fn fuse_all(
    model: &Model,
    inferred: &Inferred,
    kinds: &BTreeSet<FusionKind>,
) -> Option<FusedGraph> {
    let wiring = Wiring::new(model, &inferred.order);
    let Inferred { facts, statics, .. } = inferred;
    let fusing = Fusing { model, facts, statics, wiring: &wiring, kernels: &AllKernels };
    let found = found(&fusing, kinds);
    let inlined = (0..found.inlined.len()).collect();
    let steps = steps(&fusing, &found, &Chosen { kinds: kinds.clone(), inlined });
    if steps.is_empty() { None } else { inferred.fused(model, &steps).ok() }
}

/// What is fused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Chosen {
    /// Kinds of groups.
    kinds: BTreeSet<FusionKind>,
    /// What is read through, by index.
    inlined: BTreeSet<usize>,
}

/// What came of a choice.
struct Tried {
    chosen: Chosen,
    steps: Vec<FusedStep>,
    graph: FusedGraph,
    planned: PlannedGraph,
}

impl Tried {
    fn arena_bytes(&self) -> u64 {
        self.planned.arena_bytes()
    }
}

struct Search<'a> {
    fusing: Fusing<'a>,
    inferred: &'a Inferred,
    /// How graphs are planned to be compared.
    quick: Case,
    found: &'a Found,
    plans: usize,
}

impl Search<'_> {
    /// The best of what is tried.
    fn best(&mut self, kinds: &BTreeSet<FusionKind>) -> Option<Tried> {
        let mut best = self.tried(Chosen::default());
        let mut chosen = Chosen::default();
        for kind in FusionKind::ALL.into_iter().filter(|kind| kinds.contains(kind)) {
            chosen.kinds.insert(kind);
            best = self.better(best, chosen.clone());
        }
        let whole = chosen.kinds;
        best = self.read_through_at_peaks(best);
        for kind in [FusionKind::Layout, FusionKind::Prologue] {
            let all = self.found.inlined.iter().enumerate().filter(|(_, item)| item.kind == kind);
            let all: BTreeSet<usize> = all.map(|(index, _)| index).collect();
            if let Some(Chosen { inlined, .. }) = best.as_ref().map(|best| best.chosen.clone()) {
                let inlined = inlined.union(&all).copied().collect();
                best = self.smaller(best, Chosen { kinds: whole.clone(), inlined });
            }
        }
        self.read_through_at_peaks(best)
    }

    /// Reads through what is alive where the arena is fullest, as long as that makes it smaller: what is read through is
    /// computed again by each reader, so that nothing is where it saves nothing.
    fn read_through_at_peaks(&mut self, mut best: Option<Tried>) -> Option<Tried> {
        for _ in 0..ROUNDS {
            let Some(now) = &best else { break };
            let (bytes, more) = (now.arena_bytes(), self.alive_at_peaks(now));
            let Chosen { kinds, inlined } = now.chosen.clone();
            if more.is_empty() {
                break;
            }
            let all = inlined.union(&more).copied().collect();
            best = self.smaller(best, Chosen { kinds: kinds.clone(), inlined: all });
            if best.as_ref().is_some_and(|best| best.arena_bytes() == bytes) {
                for one in more {
                    let inlined = inlined.iter().copied().chain([one]).collect();
                    best = self.smaller(best, Chosen { kinds: kinds.clone(), inlined });
                }
            }
            if best.as_ref().is_none_or(|best| best.arena_bytes() == bytes) {
                break;
            }
        }
        best
    }

    /// The better of what there is and one more choice. On a tie what fuses more is taken.
    fn better(&mut self, best: Option<Tried>, chosen: Chosen) -> Option<Tried> {
        if self.plans >= MOST_PLANS || best.as_ref().is_some_and(|best| best.chosen == chosen) {
            return best;
        }
        let tried = self.tried(chosen);
        match (best, tried) {
            (Some(best), Some(tried)) if tried.arena_bytes() > best.arena_bytes() => Some(best),
            (best, tried) => tried.or(best),
        }
    }

    /// The same where only a smaller arena is better.
    fn smaller(&mut self, best: Option<Tried>, chosen: Chosen) -> Option<Tried> {
        if self.plans >= MOST_PLANS || best.as_ref().is_some_and(|best| best.chosen == chosen) {
            return best;
        }
        let tried = self.tried(chosen);
        match (best, tried) {
            (Some(best), Some(tried)) if tried.arena_bytes() >= best.arena_bytes() => Some(best),
            (best, tried) => tried.or(best),
        }
    }

    fn tried(&mut self, chosen: Chosen) -> Option<Tried> {
        self.plans += 1;
        let steps = steps(&self.fusing, self.found, &chosen);
        let Fusing { model, kernels, .. } = self.fusing;
        let graph = self.inferred.fused_by(model, &steps, kernels).ok()?;
        let planned = Case { graph: graph.graph.clone(), ..self.quick.clone() }.plan().ok()?;
        Some(Tried { chosen, steps, graph, planned })
    }

    /// What could be read through and is alive where the arena is fullest.
    fn alive_at_peaks(&self, tried: &Tried) -> BTreeSet<usize> {
        let plan = &tried.planned.plan;
        let Some(peak) = peaks(plan, 1).first().copied() else { return BTreeSet::new() };
        let alive = |index: &usize| {
            let nodes = &self.found.inlined[*index].nodes;
            let made = nodes.last().and_then(|last| only_output(&self.fusing, *last));
            let value = made.and_then(|made| tried.graph.values[made.index()]);
            let member =
                value.and_then(|value| plan.derivation.members.get(value.index())?.as_ref());
            member.is_some_and(|member| {
                member.live.start <= peak.point && peak.point < member.live.end
            })
        };
        let open =
            (0..self.found.inlined.len()).filter(|index| !tried.chosen.inlined.contains(index));
        open.filter(alive).collect()
    }
}

/// The fused steps of a choice, by the place of their last node.
fn steps(fusing: &Fusing<'_>, found: &Found, chosen: &Chosen) -> Vec<FusedStep> {
    let mut steps = Steps::new(fusing);
    for group in &found.groups {
        let ways = group.ways.iter().rev();
        let way = ways.into_iter().find(|(needed, _)| needed.is_subset(&chosen.kinds));
        if let Some((_, nodes)) = way {
            steps.add(nodes);
        }
    }
    for index in &chosen.inlined {
        let item = &found.inlined[*index];
        steps.read_through(&item.nodes, &item.readers);
    }
    steps.finish()
}

/// Fused steps while they are put together.
struct Steps<'a> {
    fusing: &'a Fusing<'a>,
    /// The nodes of each.
    made: Vec<Vec<usize>>,
    /// The steps that a node is part of.
    of: Vec<BTreeSet<usize>>,
}

impl<'a> Steps<'a> {
    fn new(fusing: &'a Fusing<'a>) -> Self {
        Steps { fusing, made: Vec::new(), of: vec![BTreeSet::new(); fusing.model.body.nodes.len()] }
    }

    fn add(&mut self, nodes: &[usize]) {
        for node in nodes {
            self.of[*node].insert(self.made.len());
        }
        self.made.push(nodes.to_vec());
    }

    /// Makes nodes part of the steps of all that read what they make, if all of these can.
    fn read_through(&mut self, nodes: &[usize], readers: &[usize]) {
        let Some(made) = nodes.last().and_then(|last| only_output(self.fusing, *last)) else {
            return;
        };
        let mut into: BTreeSet<usize> = BTreeSet::new();
        let mut alone = Vec::new();
        for reader in readers {
            let is_product = self.fusing.role(*reader) == Role::Product;
            if is_product && !reads_as_data(self.fusing, *reader, made) {
                return;
            }
            if self.of[*reader].is_empty() {
                if !is_product {
                    return;
                }
                alone.push(*reader);
            }
            into.extend(&self.of[*reader]);
        }
        let joined = |step: &[usize]| {
            let mut all: BTreeSet<usize> = step.iter().copied().collect();
            all.extend(nodes);
            let mut all: Vec<usize> = all.into_iter().collect();
            all.sort_by_cached_key(|node| self.fusing.wiring.place(*node));
            let step = FusedStep { nodes: all };
            self.fusing.accesses(&step).is_ok().then_some(step.nodes)
        };
        let changed = into.iter().map(|step| Some((*step, joined(&self.made[*step][..])?)));
        let Some(changed) = changed.collect::<Option<Vec<_>>>() else { return };
        let added = alone.iter().map(|product| joined(&[*product]));
        let Some(added) = added.collect::<Option<Vec<_>>>() else { return };
        // What is read through is no step any more.
        for step in self.of[nodes[0]].clone() {
            if self.made[step] == nodes {
                self.made[step].clear();
                for node in nodes {
                    self.of[*node].remove(&step);
                }
            }
        }
        for (step, all) in changed {
            for node in &all {
                self.of[*node].insert(step);
            }
            self.made[step] = all;
        }
        for nodes in &added {
            self.add(nodes);
        }
    }

    fn finish(self) -> Vec<FusedStep> {
        let steps = self.made.into_iter().filter(|nodes| nodes.len() > 1);
        let mut steps: Vec<FusedStep> = steps.map(|nodes| FusedStep { nodes }).collect();
        let place =
            |step: &FusedStep| step.nodes.last().map(|last| self.fusing.wiring.place(*last));
        steps.sort_by_cached_key(place);
        steps
    }
}
