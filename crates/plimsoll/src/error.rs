//! Why there is no plan.

use thiserror::Error;

use crate::assignment::SharedError;
use crate::banks::NoRoom;
use crate::options::OptionsError;
use crate::validate::ProgramError;
use crate::verify::Rejected;

/// Why there is no plan.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The program breaks a precondition.
    #[error(transparent)]
    Program(ProgramError),
    /// The options cannot be kept to.
    #[error(transparent)]
    Options(OptionsError),
    /// A shared value is not where it should be.
    #[error(transparent)]
    Shared(SharedError),
    /// Something fits into no bank.
    #[error("{0}")]
    NoRoom(Box<NoRoom>),
    /// Sizes add up to more than can be addressed.
    #[error("too large to plan: {}", .0.rule)]
    TooLarge(plimsoll_pack::ProblemError),
    /// A bound is above the arena of the plan, which is a fault in the planner.
    #[error("the planner has proven that no arena is below {bound} bytes, and made one of {arena}")]
    BoundAboveArena {
        /// The bound.
        bound: u64,
        /// The arena.
        arena: u64,
    },
    /// The verifier found the plan wrong, which is a fault in the planner.
    #[error("the planner made a plan that the verifier rejects: {0}")]
    Rejected(Box<Rejected>),
}
