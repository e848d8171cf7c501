//! The best of a graph: an order with less alive, concats without copies, each taken only where the
//! arena is not larger for it.
//!
//! A search minimises the bytes alive, and a packing can make more of them. So what was found is
//! held against the graph as it is by what counts: the arena. Where kernels know strides there is more
//! to choose from, and a choice can go wrong: so what would be chosen without strides is a candidate too.

use std::borrow::Cow;
use std::ops::ControlFlow;

use plimsoll::{
    Contender, Options, OrderEffort, Ordering, Plan, Pulse, Stage, orders_watched, smallest,
};

use crate::concat::{Choice, Joined, join_concats_watched, moved_bytes};
use crate::graph::{Graph, NodeId, Preset};
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
    /// The concats that are elided.
    pub elided: Vec<NodeId>,
    /// The bytes that are moved in a run by steps that do nothing else.
    pub moved_bytes: u64,
    /// The same with every copy.
    pub moved_before: u64,
    /// The plan of the graph in that order, to be [verified](plimsoll::verified); `None` if there is
    /// none.
    pub plan: Option<Box<Plan>>,
}

/// Tries what can be tried, and keeps what makes the arena smaller, or as small with fewer copies.
pub fn best(
    graph: &Graph,
    lowering: &LoweringOptions,
    options: &Options,
    tries: Tries,
) -> Result<Best, LoweringError> {
    best_watched(graph.clone(), lowering, options, tries, &mut || ControlFlow::Continue(()))
}

/// The same, while somebody is asked now and then whether to go on; what was found by then is kept.
pub fn best_watched(
    graph: Graph,
    lowering: &LoweringOptions,
    options: &Options,
    tries: Tries,
    pulse: &mut Pulse<'_>,
) -> Result<Best, LoweringError> {
    let mut joined: Vec<Joined<'_>> = Vec::new();
    for kernels in if tries.join { kernels_to_try(lowering) } else { Vec::new() } {
        if pulse().is_break() {
            break;
        }
        let one = join_concats_watched(&graph, &kernels, options, pulse);
        if joined.iter().all(|other| other.choices != one.choices) {
            joined.push(one);
        }
    }
    if joined.iter().all(|one| !one.choices.is_empty()) {
        let moved = joined.first().map(|one| one.moved_before);
        let moved = moved.unwrap_or_else(|| moved_bytes(&graph, &lowering.kernels));
        joined.push(Joined::unchanged(&graph, moved));
    }
    // On a tie the first is taken: the one that moves least.
    joined.sort_by_cached_key(|one| one.moved);
    let (winner, ordering, plan) =
        if let Some((winner, plan)) = by_rules(&mut joined, options, tries) {
            (winner, None, Some(plan))
        } else {
            // What was planned by rules has shown what to choose, and is not needed any more.
            for one in &mut joined {
                one.plan = None;
            }
            compared(&joined, lowering, options, tries, pulse)?
        };
    let Joined { graph: chosen, choices, elided, moved_before, moved, .. } =
        joined.swap_remove(winner);
    drop(joined);
    let chosen = match chosen {
        Cow::Owned(chosen) => Some(chosen),
        Cow::Borrowed(_) => None,
    };
    let graph = chosen.unwrap_or(graph);
    Ok(Best { graph, ordering, choices, elided, moved_bytes: moved, moved_before, plan })
}

/// With which kernels copies to do without are chosen: with those at hand, and, where they know
/// strides, with those that do not.
fn kernels_to_try(lowering: &LoweringOptions) -> Vec<LoweringOptions> {
    let mut tried = vec![lowering.clone()];
    let kernels = &lowering.kernels;
    if kernels.preset == Preset::Strided || !kernels.strided.is_empty() {
        let mut plain = lowering.clone();
        plain.kernels.strided.clear();
        if plain.kernels.preset == Preset::Strided {
            plain.kernels.preset = Preset::Standard;
        }
        tried.push(plain);
    }
    tried
}

/// The graph with the smallest arena, and its plan, where rules alone are asked for: by these it was
/// chosen.
fn by_rules(
    graphs: &mut [Joined<'_>],
    options: &Options,
    tries: Tries,
) -> Option<(usize, Box<Plan>)> {
    let work = options.pack.work.unwrap_or(options.pack.effort.work());
    if work > 0 || tries.order.is_some() {
        return None;
    }
    let arena = |one: &Joined<'_>| one.plan.as_ref().map(|plan| plan.arena_bytes());
    let arenas = graphs.iter().enumerate().filter_map(|(at, one)| Some((arena(one)?, at)));
    let (_, winner) = arenas.min()?;
    Some((winner, graphs[winner].plan.take()?))
}

/// Which graph it is, what came of the search for its order, and its plan, if there is one.
type Winner = (usize, Option<Ordering>, Option<Box<Plan>>);

/// The graph with the smallest arena, each in all orders that are worth it.
fn compared(
    graphs: &[Joined<'_>],
    lowering: &LoweringOptions,
    options: &Options,
    tries: Tries,
    pulse: &mut Pulse<'_>,
) -> Result<Winner, LoweringError> {
    let programs: Result<Vec<ScheduledGraph<'_>>, _> =
        graphs.iter().map(|one| ScheduledGraph::new(&one.graph, lowering)).collect();
    let programs = programs?;
    let (mut all, mut contenders, mut whose) = (Vec::new(), Vec::new(), Vec::new());
    for (index, program) in programs.iter().enumerate() {
        // What is no valid program has no other order, and its plan says what is wrong.
        let effort = tries.order;
        let orders = effort.map(|effort| orders_watched(program, options, effort, pulse));
        let orders = orders.and_then(Result::ok).flatten();
        let first = contenders.len();
        match &orders {
            Some(orders) => contenders.extend(orders.contenders(program, options)),
            None => contenders.push(Contender {
                program,
                options: options.clone(),
                estimate: 0,
                stage: Stage::Own,
            }),
        }
        whose.extend((first..contenders.len()).map(|at| (index, at - first)));
        all.push(orders);
    }
    let Some((at, plan)) = smallest(&contenders, pulse) else {
        // The graph as it is says what is wrong.
        let unchanged = graphs.iter().position(|one| one.choices.is_empty()).unwrap_or(0);
        let ordering = all.swap_remove(unchanged).map(|orders| orders.chosen(None));
        return Ok((unchanged, ordering, None));
    };
    let (index, order) = whose[at];
    match all.swap_remove(index) {
        None => Ok((index, None, Some(Box::new(plan)))),
        Some(orders) => {
            let mut ordering = orders.chosen(Some((order, plan)));
            let plan = ordering.plan.take();
            Ok((index, Some(ordering), plan))
        }
    }
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
