//! Points of a frontier in two memories: which of them moves fewest bytes.
//!
//! A rewritten model needs less at once, so that less has to wait in the slow memory; but its pieces are more, and
//! what a step touches is what counts in the end. So every point is tried.

use plimsoll::{Pulse, SpillBanks, SpillError, Spilled, spill};
use plimsoll_model::Bindings;

use crate::frontier::{FitError, FitOptions, Point};
use crate::planned::plan;

/// Plans a model in two memories, in the order of its plan in one.
pub fn in_two_memories(
    point: &Point,
    bindings: &Bindings,
    options: &FitOptions,
    banks: &SpillBanks,
    pulse: &mut Pulse<'_>,
) -> Result<Result<Spilled, SpillError>, FitError> {
    let (planned, _) = plan(&point.rewritten, bindings, options)?;
    let schedule = Some(planned.plan.schedule.clone());
    let options = options.options.clone().with_schedule(schedule);
    Ok(spill(&planned.program(), &options, banks, pulse))
}
