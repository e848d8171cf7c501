//! From a program to a verified plan: the whole of it at a glance.

use std::ops::ControlFlow;

use plimsoll_pack::{Limit, Watch};

use crate::assemble::assemble;
use crate::assignment::assignments;
use crate::attempt::{Case, best_attempt};
use crate::error::PlanError;
use crate::keep_near::keep_near;
use crate::liveness::{check_sizes, liveness};
use crate::options::Options;
use crate::plan::{Derivation, Plan};
use crate::program::Program;
use crate::validate;
use crate::verify::{VerifiedPlan, verify};

/// Plans a program: checks it, decides what shares bytes with what, packs, and verifies.
///
/// In-place reuse is decided by its result: the plan with the smallest arena is taken, the one
/// that shares most on a tie.
pub fn plan(program: &dyn Program, options: &Options) -> Result<VerifiedPlan, PlanError> {
    plan_watched(program, options, &mut |_| ControlFlow::Continue(()))
}

/// The same, while somebody watches the packings, who may stop them: each bank's for itself, for
/// every way to share that is tried. The plan is then made of the best so far, and verified like
/// any other.
pub fn plan_watched(
    program: &dyn Program,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<VerifiedPlan, PlanError> {
    verified(program, unverified(program, options, watch)?)
}

/// A plan that was [compared](crate::smallest) with others, verified.
pub fn verified(program: &dyn Program, plan: Plan) -> Result<VerifiedPlan, PlanError> {
    check_bounds(&plan)?;
    verify(program, plan).map_err(|rejected| PlanError::Rejected(Box::new(rejected)))
}

/// No bound is above the arena: neither that of this order nor that of every order.
fn check_bounds(plan: &Plan) -> Result<(), PlanError> {
    let arena = plan.arena_bytes();
    let Derivation { lower_bound_bytes, order_bound_bytes, .. } = plan.derivation;
    let bound = order_bound_bytes.unwrap_or(0).max(lower_bound_bytes);
    if bound > arena { Err(PlanError::BoundAboveArena { bound, arena }) } else { Ok(()) }
}

/// A plan that is only compared with others, to be [verified] once it is chosen.
pub fn unverified_plan(
    program: &dyn Program,
    options: &Options,
    pulse: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Plan, PlanError> {
    unverified(program, options, &mut |_| pulse())
}

pub(crate) fn unverified(
    program: &dyn Program,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Plan, PlanError> {
    options.check(program.values()).map_err(PlanError::Options)?;
    let validated =
        validate::validate(program, options.schedule.as_deref()).map_err(PlanError::Program)?;
    check_sizes(&validated, options).map_err(PlanError::Program)?;
    let assignments = assignments(&validated, options).map_err(PlanError::Shared)?;
    let liveness = liveness(&validated, &assignments, options);
    // Once stopped, what is left to do is done by the first rule alone.
    let mut stopped = false;
    let case = Case { validated: &validated, assignments: &assignments, liveness: &liveness };
    let mut best = best_attempt(&case, options, &mut |progress| {
        stopped = stopped || watch(progress).is_break();
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    keep_near(&case, &mut best, options);
    let mut plan = assemble(&case, &best, options);
    if stopped {
        plan.derivation.limit = Some(Limit::Stopped);
    }
    Ok(plan)
}
