//! What is worth a try, given a plan and its peak.

use plimsoll::advise::PlanChange;
use plimsoll::explain::{Alive, Peak, Why, account, alive, peaks};
use plimsoll::{Execution, Overwrite, Program, StepId, ValueId};

use super::{Action, Variant, VariantKind, half, recompute, split};
use crate::driver::PlannedGraph;
use crate::effect::{InPlace, traits};
use crate::graph::{Graph, NodeId, Preset};
use crate::scheduled::ScheduledGraph;

/// So many values of a peak are looked at one by one.
const MOST_VALUES: usize = 8;

/// Numbers of parts that are tried.
const PARTS: [u64; 3] = [2, 4, 8];

/// So many peaks are looked at where it takes the same at several to gain anything.
const MOST_PEAKS: usize = 32;

/// How high these are, in percent of the highest.
const NEARLY: [u64; 2] = [95, 60];

/// Everything that may help.
pub(super) fn all(settled: &PlannedGraph, variants: &[Variant]) -> Vec<Action> {
    let program = settled.program();
    let mut actions = by_options(settled, &program);
    actions.extend(variants.iter().enumerate().map(|(index, variant)| match variant.kind {
        VariantKind::Smaller => Action::Smaller(index),
        VariantKind::Fused => Action::Fuse(index),
    }));
    let Some(peak) = peaks(&settled.plan, 1).first().copied() else { return actions };
    let account = account(&program, &settled.plan, peak.point);
    let alive = alive(&program, &settled.plan, &account);
    let moment = Moment { settled, program: &program, peak, alive: &alive };
    actions.extend(moment.in_place());
    actions.extend(moment.recomputed());
    actions.extend(moment.split());
    actions.extend(moment.halved());
    let second = PlanChange::second_bank(&settled.case.options, settled.arena_bytes());
    actions.extend(second.map(Action::Plan));
    actions
}

/// Every way to rewrite the graph: each segment in two parts and in as many as there are rows, every cheap
/// node made again for its last reader and for all but the first, everything in half precision.
#[cfg(feature = "testing")]
pub(super) fn rewrites(settled: &PlannedGraph) -> Vec<Action> {
    let (graph, program) = (&settled.case.graph, settled.program());
    let order: Vec<NodeId> =
        settled.plan.schedule.iter().map(|step| program.node_of(*step)).collect();
    let mut actions = Vec::new();
    for at in 0..order.len() {
        for segment in split::segments(graph, &order, at) {
            let in_parts = |parts| Action::Split { segments: vec![segment.nodes.clone()], parts };
            actions.extend([2, 3, 4].map(in_parts));
        }
    }
    for node in graph.node_ids().filter(|node| recompute::elements(graph, *node).is_some()) {
        let made = graph.node(node).outputs[0];
        let reads = |other: &NodeId| graph.node(*other).inputs.contains(&made);
        let readers: Vec<NodeId> = order.iter().copied().filter(reads).collect();
        let last = |count: usize| readers[readers.len().saturating_sub(count)..].to_vec();
        let later = [last(1), last(readers.len().saturating_sub(1))];
        let later = later.into_iter().filter(|readers| !readers.is_empty());
        actions.extend(later.map(|readers| Action::Recompute { node, readers }));
    }
    let all = vec![true; graph.values().len()];
    let halves = half::candidates(graph, &settled.case.lowering.kernels, &all);
    actions.extend((!halves.is_empty()).then_some(Action::Half(halves)));
    actions.dedup();
    actions
}

/// What can be done by asking for it.
fn by_options(settled: &PlannedGraph, program: &ScheduledGraph<'_>) -> Vec<Action> {
    let (case, kernels) = (&settled.case, &settled.case.lowering.kernels);
    let is_best = settled.plan.derivation.optimal
        && settled.best.ordering.as_ref().is_none_or(|o| o.schedule.is_settled);
    let mut changes = PlanChange::of(program, &case.request(), is_best);
    let in_place = kernels.overwrites() && kernels.no_overwrites.is_empty();
    if !in_place && !changes.contains(&PlanChange::InPlace) {
        changes.push(PlanChange::InPlace);
    }
    let mut actions: Vec<Action> = changes.into_iter().map(Action::Plan).collect();
    if kernels.preset == Preset::Standard && program.execution() == Execution::InOrder {
        actions.push(Action::Strided);
    }
    if !case.tries.join {
        actions.push(Action::JoinConcats);
    }
    actions
}

/// The highest peak of a plan.
struct Moment<'a> {
    settled: &'a PlannedGraph,
    program: &'a ScheduledGraph<'a>,
    peak: Peak,
    alive: &'a [Alive],
}

impl Moment<'_> {
    fn graph(&self) -> &Graph {
        &self.settled.case.graph
    }

    /// The node that runs at the peak.
    fn node(&self) -> Option<NodeId> {
        self.peak.step.map(|step| self.program.node_of(step))
    }

    /// Where in the schedule the peak is.
    fn position(&self) -> usize {
        usize::try_from(self.peak.point.0 / 2).unwrap_or(usize::MAX)
    }

    /// The nodes in the order in which they run.
    fn order(&self) -> Vec<NodeId> {
        let node = |step: &StepId| self.program.node_of(*step);
        self.settled.plan.schedule.iter().map(node).collect()
    }

    /// Ops of which nobody knows what they do, whose output is as large as an input.
    fn in_place(&self) -> Option<Action> {
        let node = self.graph().node(self.node()?);
        if traits(&node.op).in_place != InPlace::Undeclared || !self.settled.case.options.in_place {
            return None;
        }
        let bytes = |value: ValueId| self.program.value(value).bytes;
        let fits = |output: &ValueId, input: &ValueId| bytes(*output) == bytes(*input);
        let output = node.outputs.first().copied().flatten()?;
        let input = node.inputs.iter().flatten().find(|input| fits(&output, input))?;
        let overwrite = Overwrite { output, input: *input, must: false };
        Some(Action::InPlaceAt(vec![(self.node()?, overwrite)]))
    }

    /// For each value the nodes that read it after the peak, in order of their ids.
    fn later_readers(&self) -> Vec<Vec<NodeId>> {
        let mut readers = vec![Vec::new(); self.graph().values().len()];
        let order = self.order();
        let mut later = order.into_iter().skip(self.position() + 1).collect::<Vec<_>>();
        later.sort_unstable();
        for node in later {
            for value in self.graph().node(node).inputs.iter().flatten() {
                let known: &mut Vec<NodeId> = &mut readers[value.index()];
                if known.last() != Some(&node) {
                    known.push(node);
                }
            }
        }
        readers
    }

    /// Values that wait for somebody later, and are cheap to make.
    fn recomputed(&self) -> Vec<Action> {
        let later = self.later_readers();
        let waiting = self.alive.iter().filter(|alive| matches!(alive.why, Why::Waits { .. }));
        let made = waiting.flat_map(|alive| {
            // What was taken over in place was made by several nodes.
            std::iter::once(alive.value).chain(alive.views.iter().copied())
        });
        let mut actions = Vec::new();
        for value in made {
            let Some(node) = self.graph().producer(value) else { continue };
            let readers = later[value.index()].clone();
            if !readers.is_empty() && recompute::elements(self.graph(), node).is_some() {
                actions.push(Action::Recompute { node, readers });
            }
        }
        actions.truncate(MOST_VALUES);
        actions
    }

    /// Steps that could be done in parts: the one of the peak alone, and around the peak those with
    /// most between them, with those around others that are nearly as high.
    fn split(&self) -> Vec<Action> {
        let order = self.order();
        let at =
            |peak: &Peak| usize::try_from(peak.point.0 / 2).ok().filter(|at| *at < order.len());
        let Some(position) = at(&self.peak) else { return Vec::new() };
        let mut tried: Vec<Vec<Vec<NodeId>>> = Vec::new();
        let here = split::segments(self.graph(), &order, position);
        let alone = here.iter().find(|segment| segment.nodes.len() == 1);
        tried.extend(alone.map(|segment| vec![segment.nodes.clone()]));
        let peaks = peaks(&self.settled.plan, MOST_PEAKS);
        for percent in NEARLY {
            let percents = |bytes: u64, percent: u64| u128::from(bytes) * u128::from(percent);
            let least = percents(self.peak.bytes, percent);
            let high = peaks.iter().filter(|peak| percents(peak.bytes, 100) >= least);
            let mut segments: Vec<Vec<NodeId>> = Vec::new();
            for position in high.filter_map(at) {
                let mut around = split::segments(self.graph(), &order, position);
                around.retain(|segment| {
                    !segments.iter().flatten().any(|node| segment.nodes.contains(node))
                });
                segments.extend(around.into_iter().next().map(|segment| segment.nodes));
            }
            if !segments.is_empty() && !tried.contains(&segments) {
                tried.push(segments);
            }
        }
        let in_parts = |segments: Vec<Vec<NodeId>>| {
            PARTS.map(|parts| Action::Split { segments: segments.clone(), parts })
        };
        tried.into_iter().flat_map(in_parts).collect()
    }

    /// What is there at the peak in half precision, and everything.
    fn halved(&self) -> Vec<Action> {
        let members = &self.settled.plan.derivation.members;
        let buffer = |value: ValueId| members[value.index()].map(|member| member.buffer);
        let there: Vec<_> = self.alive.iter().filter_map(|alive| buffer(alive.value)).collect();
        let is_there = |value: ValueId| buffer(value).is_some_and(|buffer| there.contains(&buffer));
        let at_peak: Vec<bool> = self.graph().value_ids().map(is_there).collect();
        let all = vec![true; at_peak.len()];
        let kernels = &self.settled.case.lowering.kernels;
        let half = |wanted: &[bool]| half::candidates(self.graph(), kernels, wanted);
        let (at_peak, all) = (half(&at_peak), half(&all));
        let both = if at_peak == all { vec![all] } else { vec![at_peak, all] };
        both.into_iter().filter(|values| !values.is_empty()).map(Action::Half).collect()
    }
}
