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
