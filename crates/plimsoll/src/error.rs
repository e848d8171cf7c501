//! Why there is no plan.

use std::fmt;

use crate::assignment::SharedError;
use crate::banks::NoRoom;
use crate::options::OptionsError;
use crate::validate::ProgramError;
use crate::verify::Rejected;

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
