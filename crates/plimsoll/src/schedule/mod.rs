//! Orders of nodes: one that is valid, whether a given one is, and one with a low peak.

mod beam;
mod bound;
mod cost;
mod cut;
mod depth_first;
mod exact;
mod given;
mod greedy;
mod parts;
mod scope;
mod search;
mod topological;
mod trail;
mod windows;
mod work;

use std::ops::ControlFlow;

use cost::build::Source;
use cost::{CostModel, GroupId};
pub use given::{OrderError, order_by_names};
pub(crate) use given::{check_order, waits_of};
pub(crate) use topological::order_of;
pub use topological::topological_order;
pub use work::Pulse;
use work::Work;

use crate::door;
use crate::graph::{Graph, NodeId};
use crate::home::{Home, homes};
use crate::ids::{StepId, ValueId};
use crate::liveness::{check_sizes, reserved};
use crate::options::Options;
use crate::program::Program;
use crate::scheduled::{LoweringError, LoweringOptions, ScheduledGraph};

/// How long to search for an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OrderEffort {
    /// Rules only.
    Fast,
    /// A second or so.
    #[default]
    Default,
    /// Some minutes.
    High,
}

impl OrderEffort {
    /// How much work a search may do.
    fn work(self) -> u64 {
        match self {
            OrderEffort::Fast => 0,
            OrderEffort::Default => 40_000_000,
            OrderEffort::High => 10_000_000_000,
        }
    }
}

/// The work that goes into bounds at least.
const LEAST_BOUNDING: u64 = 2_000_000;

/// An order that was searched for, and how good it is. Peaks are estimates of what a plan needs;
/// see [`arena_bound_bytes`](Schedule::arena_bound_bytes) for what is proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The nodes, without those that are elided.
    pub order: Vec<NodeId>,
    /// The most bytes that are alive in it, as estimated.
    pub peak_bytes: u64,
    /// The same in the order of the graph.
    pub own_peak_bytes: u64,
    /// Whether no order has a lower estimate: a longer search finds nothing.
    pub is_settled: bool,
    /// No plan of any order has a smaller arena, with these options and the views of this program.
    pub arena_bound_bytes: u64,
}

/// Searches for the order of a graph with the lowest peak.
pub fn search_order(
    graph: &Graph,
    lowering: &LoweringOptions,
    options: &Options,
    effort: OrderEffort,
) -> Result<Schedule, LoweringError> {
    let program = ScheduledGraph::new(graph, lowering)?;
    let mut pulse = || ControlFlow::Continue(());
    Ok(search_steps(&program, options, effort, &mut pulse).unwrap_or_else(|| {
        // What is no valid program has no other order, and its plan says what is wrong.
        let order = graph.node_ids().filter(|node| program.step_of(*node).is_some()).collect();
        let (peak_bytes, own_peak_bytes, arena_bound_bytes) = (0, 0, 0);
        Schedule { order, peak_bytes, own_peak_bytes, is_settled: true, arena_bound_bytes }
    }))
}

/// Searches for the order of a program's steps with the lowest peak; `None` if the program is not
/// valid with these options.
pub(crate) fn search_steps(
    program: &ScheduledGraph<'_>,
    options: &Options,
    effort: OrderEffort,
    pulse: &mut Pulse<'_>,
) -> Option<Schedule> {
    let checked = door::check(program, None).ok()?;
    check_sizes(&checked, options).ok()?;
    let homes = homes(&checked, options).ok()?;
    let waits = program.waits();
    let block = |step: usize| program.graph().node(program.node_of(StepId::new(step))).block;
    let blocks: Vec<Option<u32>> = (0..program.steps()).map(block).collect();
    let (homes, waits, blocks) = (&homes[..], &waits[..], &blocks[..]);
    let source = Source { checked: &checked, homes, options, waits, blocks };
    let model = CostModel::of(&source);
    let own: Vec<GroupId> = (0..model.len() as GroupId).collect();
    let found = search::search(&model, &mut Work::new(effort.work(), pulse));
    let mut work = Work::new(effort.work().max(LEAST_BOUNDING), pulse);
    let by_cuts = |model: &CostModel, bound: u64, work: &mut Work<'_, '_>| {
        work.with_share(2, |work| search::bound_by_cuts(model, &found.order, bound, work))
    };
    let lower_bound = by_cuts(&model, found.lower_bound, &mut work);
    let mut arena_bound = model.arena_bound(lower_bound).unwrap_or(0);
    if arena_bound < lower_bound {
        let exact = CostModel::bound_of(&source);
        let bound = bound::lower_bound(&exact, &own).max(arena_bound);
        arena_bound = by_cuts(&exact, bound, &mut work);
    }
    let node = |step: &StepId| program.node_of(*step);
    Some(Schedule {
        order: model.steps(&found.order).iter().map(node).collect(),
        peak_bytes: found.peak,
        own_peak_bytes: model.peak(&own),
        is_settled: found.peak <= lower_bound,
        arena_bound_bytes: arena_bound.max(largest(&source)),
    })
}

/// The largest value that is placed: whatever part of it is needed when, all of it is in the arena.
fn largest(source: &Source<'_, '_>) -> u64 {
    let Source { checked, homes, options, .. } = *source;
    let placed = |value: &ValueId| matches!(homes[value.index()], Home::Packed | Home::Kept);
    let roots = checked.value_ids().filter(|value| checked.is_root(*value)).filter(placed);
    roots.map(|root| reserved(checked, root, options)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests;
