//! From a program to a verified plan: the whole of it at a glance.

use std::ops::ControlFlow;

use plimsoll_pack::{Limit, Progress, Watch};

use crate::assemble::assemble;
use crate::assignment::assignments;
use crate::attempt::{Case, best_attempt};
use crate::error::PlanError;
use crate::keep_near::keep_near;
use crate::liveness::{self, check_sizes, liveness};
use crate::options::Options;
use crate::plan::{Derivation, Plan};
use crate::program::Program;
use crate::validate;
use crate::verify::{VerifiedPlan, Verifier};

/// Plans one program after the other, in the same memory: for those who plan many small ones.
///
/// ```
/// use plimsoll::{DeclaredProgram, Options, Planner};
///
/// let mut planner = Planner::default();
/// for batch in 1..=3 {
///     let mut program = DeclaredProgram::default();
///     let (hidden, y) = (program.temporary(4096 * batch), program.output(1024 * batch));
///     program.step(&[], &[hidden]);
///     program.step(&[hidden], &[y]);
///     let plan = planner.plan(&program, &Options::default())?; // verified
///     assert_eq!(plan.arena_bytes(), 5120 * batch);
/// }
/// # Ok::<(), plimsoll::PlanError>(())
/// ```
#[derive(Default)]
pub struct Planner {
    validated: validate::ValidationMemory,
    liveness: liveness::LivenessMemory,
    verifier: Verifier,
}

impl Planner {
    /// What [`plan`] finds.
    pub fn plan(
        &mut self,
        program: &dyn Program,
        options: &Options,
    ) -> Result<VerifiedPlan, PlanError> {
        self.plan_watched(program, options, &mut nobody)
    }

    /// What [`plan_watched`] finds.
    pub fn plan_watched(
        &mut self,
        program: &dyn Program,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<VerifiedPlan, PlanError> {
        let plan = self.unverified(program, options, watch)?;
        checked(program, plan, &mut self.verifier)
    }

    /// The same plan, which nobody has verified: for those who do so in their tests.
    pub fn plan_unverified(
        &mut self,
        program: &dyn Program,
        options: &Options,
    ) -> Result<Plan, PlanError> {
        let plan = self.unverified(program, options, &mut nobody)?;
        check_bounds(&plan)?;
        Ok(plan)
    }

    fn unverified(
        &mut self,
        program: &dyn Program,
        options: &Options,
        watch: &mut Watch<'_>,
    ) -> Result<Plan, PlanError> {
        options.check(program.values()).map_err(PlanError::Options)?;
        let schedule = options.schedule.as_deref();
        let validated = validate::validate(program, schedule, &mut self.validated)
            .map_err(PlanError::Program)?;
        check_sizes(&validated, options).map_err(PlanError::Program)?;
        let assignments = assignments(&validated, options).map_err(PlanError::Shared)?;
        let liveness = liveness(&validated, &assignments, options, &mut self.liveness);
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
        drop(best);
        self.liveness.recycle(liveness);
        self.validated.recycle(validated);
        Ok(plan)
    }
}

/// Nobody watches.
fn nobody(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Plans a program: checks it, decides what shares bytes with what, packs, and verifies.
///
/// In-place reuse is decided by its result: the plan with the smallest arena is taken, the one
/// that shares most on a tie.
pub fn plan(program: &dyn Program, options: &Options) -> Result<VerifiedPlan, PlanError> {
    Planner::default().plan(program, options)
}

/// The same, while somebody watches the packings, who may stop them: each bank's for itself, for
/// every way to share that is tried. The plan is then made of the best so far, and verified like
/// any other.
pub fn plan_watched(
    program: &dyn Program,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<VerifiedPlan, PlanError> {
    Planner::default().plan_watched(program, options, watch)
}

/// A plan that was [compared](crate::smallest) with others, verified.
pub fn verified(program: &dyn Program, plan: Plan) -> Result<VerifiedPlan, PlanError> {
    checked(program, plan, &mut Verifier::default())
}

/// A plan that is right, with bounds that hold.
fn checked(
    program: &dyn Program,
    plan: Plan,
    verifier: &mut Verifier,
) -> Result<VerifiedPlan, PlanError> {
    check_bounds(&plan)?;
    verifier.verify(program, plan).map_err(|rejected| PlanError::Rejected(Box::new(rejected)))
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
    Planner::default().unverified(program, options, watch)
}
