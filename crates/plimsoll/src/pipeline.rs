//! From a program to a verified plan: the whole of it at a glance.

use std::fmt;
use std::ops::ControlFlow;

use plimsoll_pack::{Limit, Watch};

use crate::assemble::assemble;
use crate::banks::{NoRoom, Placed, Refusal};
use crate::door::Checked;
use crate::fault::ProgramError;
use crate::home::{Home, SharedError, homes};
use crate::ids::ValueId;
use crate::liveness::{Liveness, check_sizes, liveness, reserved};
use crate::lower::{Item, items};
use crate::options::{Options, OptionsError};
use crate::plan::{Derivation, Plan};
use crate::program::Program;
use crate::reuse::{Families, Policy, families};
use crate::schedule::Pulse;
use crate::verify::{Rejected, VerifiedPlan, verify};
use crate::{banks, door};

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
    let plan = unverified(program, options, watch)?;
    check_bounds(&plan)?;
    verify(program, plan).map_err(|rejected| PlanError::Rejected(Box::new(rejected)))
}

/// No bound is above the arena: neither that of this order nor that of every order.
fn check_bounds(plan: &Plan) -> Result<(), PlanError> {
    let arena = plan.banks.iter().map(|bank| bank.bytes).sum();
    let Derivation { lower_bound_bytes, order_bound_bytes, .. } = plan.derivation;
    let bound = order_bound_bytes.unwrap_or(0).max(lower_bound_bytes);
    if bound > arena { Err(PlanError::BoundAboveArena { bound, arena }) } else { Ok(()) }
}

/// The arena of a plan that is only compared with others, and verified once it is chosen.
pub fn arena_bytes(
    program: &dyn Program,
    options: &Options,
    pulse: &mut Pulse<'_>,
) -> Result<u64, PlanError> {
    let plan = unverified(program, options, &mut |_| pulse())?;
    Ok(plan.banks.iter().map(|bank| bank.bytes).sum())
}

fn unverified(
    program: &dyn Program,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Plan, PlanError> {
    options.check(program.values()).map_err(PlanError::Options)?;
    let checked = door::check(program, options.schedule.as_deref()).map_err(PlanError::Program)?;
    check_sizes(&checked, options).map_err(PlanError::Program)?;
    let homes = homes(&checked, options).map_err(PlanError::Shared)?;
    let liveness = liveness(&checked, &homes, options);
    // Once stopped, what is left to do is done by the first rule alone.
    let mut stopped = false;
    let case = Case { checked: &checked, homes: &homes, liveness: &liveness };
    let best = best_attempt(&case, options, &mut |progress| {
        stopped = stopped || watch(progress).is_break();
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    let mut plan = assemble(&case, &best, options);
    if stopped {
        plan.derivation.limit = Some(Limit::Stopped);
    }
    Ok(plan)
}

/// A program with what follows from it whatever shares bytes with what.
pub(crate) struct Case<'a, 'p> {
    pub(crate) checked: &'a Checked<'p>,
    pub(crate) homes: &'a [Home],
    pub(crate) liveness: &'a Liveness,
}

/// Tries less and less sharing, as long as that could help.
fn best_attempt(
    case: &Case<'_, '_>,
    options: &Options,
    watch: &mut Watch<'_>,
) -> Result<Attempt, PlanError> {
    let mut quick = options.clone();
    quick.pack.work = Some(0);
    let mut best: Option<Attempt> = None;
    let mut refused: Option<Box<NoRoom>> = None;
    for policy in [Policy::Any, Policy::SameSize, Policy::Must] {
        if policy == Policy::SameSize
            && best.as_ref().is_some_and(|b| b.is_even(case.checked, options))
        {
            // All that was taken over is of the same size already.
            continue;
        }
        let tried = match attempt(case, &quick, policy, watch) {
            // Search may find room where the rules alone do not.
            Err(PlanError::NoRoom(_)) => attempt(case, options, policy, watch),
            tried => tried,
        };
        let mut tried = match tried {
            // What does not fit in one way may fit in another.
            Err(PlanError::NoRoom(why)) => {
                match &mut refused {
                    None => refused = Some(why),
                    // Nothing is claimed that does not hold for both.
                    Some(first) => {
                        first.proven &= why.proven;
                        first.lower_bound_bytes =
                            first.lower_bound_bytes.min(why.lower_bound_bytes);
                    }
                }
                continue;
            }
            tried => tried?,
        };
        let could_help = |best: &Attempt| tried.lower_bound_bytes() < best.arena_bytes();
        if !best.as_ref().is_none_or(could_help) {
            continue;
        }
        if !tried.is_optimal() {
            tried = match attempt(case, options, policy, watch) {
                // Search fills banks otherwise, and may leave no room in the last.
                Err(PlanError::NoRoom(_)) => tried,
                searched => searched?,
            };
        }
        // Where outputs are as large as what they take over, the bound is never above that of a
        // plan with less sharing; a smaller one may keep bytes between it and what is left.
        let last =
            tried.taken_over() == 0 || tried.is_optimal() && tried.is_even(case.checked, options);
        if best.as_ref().is_none_or(|best| tried.arena_bytes() < best.arena_bytes()) {
            best = Some(tried);
        }
        if last {
            break;
        }
    }
    match (best, refused) {
        (Some(best), _) => Ok(best),
        (None, Some(refused)) => Err(PlanError::NoRoom(refused)),
        (None, None) => unreachable!("the first attempt is a plan or a refusal"),
    }
}

/// One way to share, and where that puts everything.
pub(crate) struct Attempt {
    pub(crate) families: Families,
    pub(crate) items: Vec<Item>,
    pub(crate) placed: Placed,
}

impl Attempt {
    fn arena_bytes(&self) -> u64 {
        self.placed.banks.iter().map(|bank| bank.bytes).sum()
    }

    fn lower_bound_bytes(&self) -> u64 {
        self.placed.banks.iter().map(|bank| bank.lower_bound_bytes).sum()
    }

    fn is_optimal(&self) -> bool {
        self.placed.banks.iter().all(|bank| bank.optimal)
    }

    /// Whether every value is as large as the one that it took over.
    fn is_even(&self, checked: &Checked<'_>, options: &Options) -> bool {
        let bytes = |value: ValueId| reserved(checked, value, options);
        let taken = self.families.took_over.iter().enumerate();
        taken
            .filter_map(|(output, input)| Some((ValueId::new(output), (*input)?)))
            .all(|(output, input)| bytes(output) == bytes(checked.roots[input.index()].root))
    }

    /// How many values took over others: if none did, less sharing changes nothing.
    fn taken_over(&self) -> usize {
        self.families.took_over.iter().flatten().count()
    }
}

fn attempt(
    case: &Case<'_, '_>,
    options: &Options,
    policy: Policy,
    watch: &mut Watch<'_>,
) -> Result<Attempt, PlanError> {
    let Case { checked, homes, liveness } = *case;
    let needs = liveness.needs.clone();
    let families = families(checked, homes, needs, options, policy).map_err(PlanError::Program)?;
    let items = items(checked, homes, liveness, &families, options);
    match banks::place(checked, &items, options, watch) {
        Ok(placed) => Ok(Attempt { families, items, placed }),
        Err(Refusal::NoRoom(refused)) => {
            Err(PlanError::NoRoom(Box::new(banks::no_room(checked, &items, &refused, options))))
        }
        Err(Refusal::TooLarge(error)) => Err(PlanError::TooLarge(error)),
    }
}

/// Why there is no plan.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlanError {
    /// The program breaks a precondition.
    Program(ProgramError),
    /// The options cannot be kept to.
    Options(OptionsError),
    /// A shared value is not where it should be.
    Shared(SharedError),
    /// Something fits into no bank.
    NoRoom(Box<NoRoom>),
    /// Sizes add up to more than can be addressed.
    TooLarge(plimsoll_pack::ProblemError),
    /// A bound is above the arena of the plan, which is a fault in the planner.
    BoundAboveArena {
        /// The bound.
        bound: u64,
        /// The arena.
        arena: u64,
    },
    /// The verifier found the plan wrong, which is a fault in the planner.
    Rejected(Box<Rejected>),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Program(error) => error.fmt(f),
            PlanError::Options(error) => error.fmt(f),
            PlanError::Shared(error) => error.fmt(f),
            PlanError::NoRoom(what) => what.fmt(f),
            PlanError::TooLarge(error) => write!(f, "too large to plan: {}", error.rule),
            PlanError::BoundAboveArena { bound, arena } => write!(
                f,
                "the planner has proven that no arena is below {bound} bytes, and made one of {arena}"
            ),
            PlanError::Rejected(rejected) => {
                write!(f, "the planner made a plan that the verifier rejects: {rejected}")
            }
        }
    }
}

impl std::error::Error for PlanError {}
