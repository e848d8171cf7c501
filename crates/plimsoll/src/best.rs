//! The best order of a program: searched for, planned, and taken only where the arena is smaller.
//!
//! A search minimises the bytes alive, and a packing can make more of them. So the order that was
//! found is held against the program's own by what counts: the arena.

use crate::ids::StepId;
use crate::options::Options;
use crate::pipeline::plan;
use crate::program::{Execution, Program};
use crate::schedule::{OrderEffort, Schedule, search_steps};
use crate::scheduled::ScheduledGraph;

/// What came of a search for an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ordering {
    /// The steps in the order that is better than the program's own, for
    /// [`Options::schedule`]; `None` if that is the best.
    pub steps: Option<Vec<StepId>>,
    /// What the search has found.
    pub schedule: Schedule,
}

/// The better of a program's own order and the best that is found; `None` if its steps do not run
/// in order, so that there is nothing to search for.
#[must_use]
pub fn best_order(
    program: &ScheduledGraph<'_>,
    options: &Options,
    effort: OrderEffort,
) -> Option<Ordering> {
    if program.execution() != Execution::InOrder {
        return None;
    }
    let schedule = search_steps(program, options, effort);
    let steps: Vec<StepId> = schedule.order.iter().filter_map(|n| program.step_of(*n)).collect();
    let lower = schedule.peak_bytes < schedule.own_peak_bytes;
    let is_better = lower && {
        let own = arena(program, options.clone());
        let found = arena(program, Options { schedule: Some(steps.clone()), ..options.clone() });
        // Whatever fits is better than what does not.
        found.is_some_and(|found| own.is_none_or(|own| found < own))
    };
    Some(Ordering { steps: is_better.then_some(steps), schedule })
}

/// The arena of a plan, if there is one.
fn arena(program: &ScheduledGraph<'_>, options: Options) -> Option<u64> {
    let plan = plan(program, &options).ok()?;
    Some(plan.banks.iter().map(|bank| bank.bytes).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoweringOptions, text};

    /// Two branches, each large at first and small at its end, begun before either is finished.
    const BRANCHES: &str = "input x: f32[16]\na: f32[256] = matmul(x, x)\n\
        b: f32[256] = matmul(x, x)\nc: f32[16] = sum(a)\nd: f32[16] = sum(b)\n\
        y: f32[16] = matmul(c, d)\noutput y\n";

    fn ordered(lines: &str) -> Option<(Vec<String>, Ordering)> {
        let graph = text::parse(&format!("plim 1\n{lines}")).unwrap_or_else(|e| panic!("{e}"));
        let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).unwrap();
        let ordering = best_order(&program, &Options::default(), OrderEffort::Default)?;
        let steps = ordering.steps.iter().flatten();
        let names = steps.map(|step| program.step_name(*step).into_owned()).collect();
        Some((names, ordering))
    }

    #[test]
    fn a_branch_is_finished_before_the_next_begins() {
        let (names, ordering) = ordered(BRANCHES).unwrap();
        assert_eq!(names, ["a", "c", "b", "d", "y"]);
        let Schedule { own_peak_bytes, peak_bytes, arena_bound_bytes, .. } = ordering.schedule;
        assert_eq!((own_peak_bytes, peak_bytes, arena_bound_bytes), (2112, 1152, 1088));
    }

    #[test]
    fn what_is_best_already_is_kept() {
        let (names, ordering) =
            ordered("input x: f32[16]\na: f32[16] = exp(x)\nb: f32[16] = exp(a)\noutput b\n")
                .unwrap();
        assert_eq!((names.len(), ordering.steps), (0, None));
        assert!(ordering.schedule.is_optimal());
    }

    #[test]
    fn there_is_nothing_to_order_where_steps_are_not_in_order() {
        assert_eq!(ordered(&format!("execution partial\n{BRANCHES}")), None);
    }
}
