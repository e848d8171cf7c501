//! Plans the memory of tensor programs.
//!
//! A [`Program`] declares what every step does to memory; [`plan()`] decides what shares bytes with
//! what and where everything is, [`order()`] in which order the steps need least, and [`verify()`] says
//! independently whether a plan is right. [`explain`] says what every byte of a peak is, and [`advise`]
//! what would lower it.
//!
//! ```
//! use plimsoll::{DeclaredProgram, Options, plan};
//!
//! let mut program = DeclaredProgram::default();
//! let (hidden, y) = (program.temporary(4096), program.output(1024));
//! program.step(&[], &[hidden]);
//! program.step(&[hidden], &[y]);
//!
//! let plan = plan(&program, &Options::default())?; // verified
//! assert_eq!((plan.arena_bytes(), plan.derivation.lower_bound_bytes), (5120, 5120));
//! # Ok::<(), plimsoll::PlanError>(())
//! ```

pub mod advise;
mod align;
mod assemble;
mod assignment;
mod attempt;
mod banks;
mod coalesce;
mod declared;
mod error;
pub mod explain;
mod follows;
mod ids;
pub mod json;
mod json_fault;
mod keep_near;
mod labels;
mod liveness;
mod lives;
mod lower;
mod near;
mod options;
mod order;
mod pipeline;
mod plan;
mod point;
mod program;
mod resolve;
mod room;
mod schedule;
mod shared;
mod spill;
#[cfg(feature = "testing")]
pub mod testing;
mod totals;
mod unshared;
mod validate;
pub mod verify;

pub use align::address_align;
pub use assignment::SharedError;
pub use banks::{NoRoom, Unplaced};
pub use declared::{DeclaredProgram, DeclaredStep};
pub use error::PlanError;
pub use follows::follows;
pub use ids::{BankId, BufferId, StepId, ValueId};
pub use json::{
    FalseClaim, PLAN_FORMAT, PlanFileRead, PlanReadError, Recorded, false_claims, read_plan,
    read_plan_file, unreserved, write_plan, write_plan_to,
};
pub use json_fault::{JsonFault, object_from_json};
pub use labels::{Labels, ValueLabel};
pub use near::Near;
pub use options::{BankSpec, Boundary, NoShare, Options, OptionsError};
pub use order::{
    Contender, Ordering, Orders, Stage, order, order_watched, orders_watched, plan_in_best_order,
    plan_in_best_order_watched, smallest,
};
pub use pipeline::{Planner, plan, plan_watched, unverified_plan, verified};
pub use plan::{Bank, Buffer, Derivation, Member, Place, Plan, Slot};
pub use point::{LiveRange, Point};
pub use program::{
    Access, AccessKind, Execution, Layout, Overwrite, Program, Role, Scratch, Storage, Strided,
    Until, ValueInfo, View, root_of, roots_of,
};
pub use resolve::{Memory, ResolvedAccess};
pub use room::with_room;
pub use schedule::{OrderEffort, Pulse, Schedule, search_order};
pub use shared::{SharedLayout, SharedLayoutError, SharedSlot};
pub use spill::{Leave, Moved, SpillBanks, SpillError, Spilled, spill, with_copies};
pub use totals::Totals;
pub use validate::{Fault, ProgramError};
pub use verify::{Rejected, VerifiedPlan, Verifier, Violation, verify, violations};

/// The pages whose examples are run as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/guides/runtime.md")]
    struct Runtime;
}
