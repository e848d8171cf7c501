//! Plans the memory of tensor programs.
//!
//! A [`Program`] declares what every step does to memory; [`Plan`] says where each value is.

mod ids;
mod plan;
mod point;
mod program;
#[cfg(feature = "testing")]
pub mod testing;
pub mod verify;

pub use ids::{BankId, BufferId, StepId, ValueId};
pub use plan::{Bank, Buffer, Derivation, Member, Place, Plan, Slot};
pub use point::{LiveRange, Point};
pub use program::{
    Access, AccessKind, Execution, Overwrite, Program, Role, Scratch, Storage, Until, ValueInfo,
    View,
};
pub use verify::{Rejected, VerifiedPlan, Violation, verify};
