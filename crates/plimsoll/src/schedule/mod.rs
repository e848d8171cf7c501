//! Orders of nodes: one that is valid, whether a given one is, and one with a low peak.

mod beam;
mod bound;
mod course;
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

use course::Course;
pub use given::{OrderError, order_by_names};
pub(crate) use given::{check_order, waits_of};
pub(crate) use topological::order_of;
pub use topological::topological_order;

use crate::graph::{Graph, NodeId};
use crate::ids::StepId;
use crate::options::Options;
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
    /// How many units may be looked at.
    fn work(self) -> u64 {
        match self {
            OrderEffort::Fast => 0,
            OrderEffort::Default => 4_000_000,
            OrderEffort::High => 1_000_000_000,
        }
    }
}

/// An order that was searched for, and how good it is. Peaks are of bytes alive after aliasing and
/// reuse, with sizes as they are aligned; what a packing makes of them can be more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// The nodes, without those that are elided.
    pub order: Vec<NodeId>,
    /// The most bytes that are alive in it.
    pub peak_bytes: u64,
    /// The same in the order of the graph.
    pub own_peak_bytes: u64,
    /// No order has a lower peak.
    pub lower_bound_bytes: u64,
    /// No arena of any order is smaller: the same with sizes as they are.
    pub arena_bound_bytes: u64,
}

impl Schedule {
    /// Whether no order is better.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.peak_bytes <= self.lower_bound_bytes
    }
}

/// Searches for the order of a graph with the lowest peak.
pub fn search_order(
    graph: &Graph,
    lowering: &LoweringOptions,
    options: &Options,
    effort: OrderEffort,
) -> Result<Schedule, LoweringError> {
    Ok(search_steps(&ScheduledGraph::new(graph, lowering)?, options, effort))
}

/// Searches for the order of a program's steps with the lowest peak.
pub(crate) fn search_steps(
    program: &ScheduledGraph<'_>,
    options: &Options,
    effort: OrderEffort,
) -> Schedule {
    let waits = program.waits();
    let block = |step: StepId| program.graph().node(program.node_of(step)).block;
    let course = Course::of(program, &waits, block, options);
    let own: Vec<u32> = (0..course.len() as u32).collect();
    let packed = Options { align: 1, ..options.clone() };
    let packed = Course::of(program, &waits, block, &packed);
    let found = search::search(&course, effort.work());
    let mut work = effort.work();
    let arena_bound = bound::lower_bound(&packed, &own);
    let arena_bound = search::bound_by_cuts(&packed, &found.order, arena_bound, &mut work);
    let node = |step: &StepId| program.node_of(*step);
    Schedule {
        order: course.steps(&found.order).iter().map(node).collect(),
        peak_bytes: found.peak,
        own_peak_bytes: course.peak(&own),
        lower_bound_bytes: found.lower_bound,
        arena_bound_bytes: arena_bound,
    }
}

#[cfg(test)]
mod tests;
