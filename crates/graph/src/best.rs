//! The best of a graph: an order with less alive, concats without copies, each taken only where the
//! arena is not larger for it.
//!
//! A search minimises the bytes alive, and a packing can make more of them. So what was found is
//! held against the graph as it is by what counts: the arena.

use std::ops::ControlFlow;

use plimsoll::{Options, OrderEffort, Ordering, Pulse, compared_arena, order_watched};

use crate::concat::{Choice, join_concats_watched, moved_bytes};
use crate::graph::{Graph, NodeId};
use crate::scheduled::{LoweringError, LoweringOptions, ScheduledGraph};

/// What is tried to make a graph's arena smaller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// How long to search for an order; `None` to keep the graph's own.
    pub order: Option<OrderEffort>,
    /// Whether to do without the copies of concats.
    pub join: bool,
}

/// A graph as it is best planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Best {
    /// The graph, without the copies that it can do without. Ids are as before.
    pub graph: Graph,
    /// What came of the search for an order, if there was one.
    pub ordering: Option<Ordering>,
    /// What was chosen to share bytes, in the order in which it was taken: the graph depends on it.
    pub choices: Vec<Choice>,
    /// The concats whose copies have vanished.
    pub vanished: Vec<NodeId>,
    /// The bytes that are moved in a run by steps that do nothing else.
    pub moved_bytes: u64,
    /// The same with every copy.
    pub moved_before: u64,
}

/// Tries what can be tried, and keeps what makes the arena smaller, or as small with fewer copies.
pub fn best(
    graph: &Graph,
    lowering: &LoweringOptions,
    options: &Options,
    tries: Tries,
) -> Result<Best, LoweringError> {
    best_watched(graph, lowering, options, tries, &mut || ControlFlow::Continue(()))
}

/// The same, while somebody is asked now and then whether to go on; what was found by then is kept.
pub fn best_watched(
    graph: &Graph,
    lowering: &LoweringOptions,
    options: &Options,
    tries: Tries,
    pulse: &mut Pulse<'_>,
) -> Result<Best, LoweringError> {
    let (ordering, bytes) = ordered(graph, lowering, options, tries, pulse)?;
    let moved = moved_bytes(graph, &lowering.kernels);
    let plain = |ordering| Best {
        graph: graph.clone(),
        ordering,
        choices: Vec::new(),
        vanished: Vec::new(),
        moved_bytes: moved,
        moved_before: moved,
    };
    if !tries.join || pulse().is_break() {
        return Ok(plain(ordering));
    }
    let joined = join_concats_watched(graph, lowering, options, pulse);
    if joined.choices.is_empty() {
        return Ok(plain(ordering));
    }
    let (other, joined_bytes) = ordered(&joined.graph, lowering, options, tries, pulse)?;
    let is_proven = |found: &Option<Ordering>, arena: u64| {
        found.as_ref().is_some_and(|found| found.schedule.arena_bound_bytes == arena)
    };
    let worse = match (joined_bytes, bytes) {
        // Of two that are as small, the one is better of which that is known.
        (Some(joined), Some(plain)) if joined == plain => {
            is_proven(&ordering, plain) && !is_proven(&other, joined)
        }
        (Some(joined), Some(plain)) => joined > plain,
        (joined, _) => joined.is_none(),
    };
    if worse {
        return Ok(plain(ordering));
    }
    Ok(Best {
        graph: joined.graph,
        ordering: other,
        choices: joined.choices,
        vanished: joined.vanished,
        moved_bytes: joined.moved,
        moved_before: joined.moved_before,
    })
}

/// The best order of a graph, if one is searched for, and its arena, if there is a plan.
fn ordered(
    graph: &Graph,
    lowering: &LoweringOptions,
    options: &Options,
    tries: Tries,
    pulse: &mut Pulse<'_>,
) -> Result<(Option<Ordering>, Option<u64>), LoweringError> {
    let program = ScheduledGraph::new(graph, lowering)?;
    if let Some(effort) = tries.order
        // What is no valid program has no other order, and its plan says what is wrong.
        && let Ok(Some(ordering)) = order_watched(&program, options, effort, pulse)
    {
        let arena = ordering.arena_bytes;
        return Ok((Some(ordering), arena));
    }
    Ok((None, compared_arena(&program, options, pulse)))
}

#[cfg(test)]
mod tests {
    use plimsoll::{Program, Schedule, order};

    use super::*;
    use crate::text;

    /// Two branches, each large at first and small at its end, begun before either is finished.
    const BRANCHES: &str = "input x: f32[16]\na: f32[256] = matmul(x, x)\n\
        b: f32[256] = matmul(x, x)\nc: f32[16] = sum(a)\nd: f32[16] = sum(b)\n\
        y: f32[16] = matmul(c, d)\noutput y\n";

    fn ordered(lines: &str) -> Option<(Vec<String>, Ordering)> {
        let graph = text::parse(&format!("plim 1\n{lines}")).unwrap_or_else(|e| panic!("{e}"));
        let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).unwrap();
        let ordering = order(&program, &Options::default(), OrderEffort::Default).unwrap()?;
        let steps = ordering.steps.iter().flatten();
        let names = steps.map(|step| program.step_name(*step).into_owned()).collect();
        Some((names, ordering))
    }

    #[test]
    fn a_branch_is_finished_before_the_next_begins() {
        let (names, ordering) = ordered(BRANCHES).unwrap();
        assert_eq!(names, ["a", "c", "b", "d", "y"]);
        let Schedule { own_peak_bytes, peak_bytes, arena_bound_bytes, .. } = ordering.schedule;
        assert_eq!((own_peak_bytes, peak_bytes, arena_bound_bytes), (2112, 1152, 1152));
    }

    #[test]
    fn what_is_best_already_is_kept() {
        let (names, ordering) =
            ordered("input x: f32[16]\na: f32[16] = exp(x)\nb: f32[16] = exp(a)\noutput b\n")
                .unwrap();
        assert_eq!((names.len(), ordering.steps), (0, None));
        assert!(ordering.schedule.is_settled);
    }

    #[test]
    fn there_is_nothing_to_order_where_steps_are_not_in_order() {
        assert_eq!(ordered(&format!("execution partial\n{BRANCHES}")), None);
    }
}
