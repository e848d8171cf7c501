//! Plans the memory of tensor programs.
//!
//! A [`Program`] declares what every step does to memory; [`plan()`] decides what shares bytes with
//! what and where everything is, and [`verify()`] says independently whether a plan is right.

pub mod advise;
mod align;
pub mod annotate;
mod assemble;
pub mod at_sizes;
mod banks;
mod best;
mod concat;
mod donate;
mod door;
mod dtype;
pub mod effect;
pub mod explain;
mod fault;
mod graph;
mod happens_before;
mod home;
mod ids;
mod json_fault;
mod kernels;
mod liveness;
mod lives;
mod lower;
pub mod model;
mod op;
mod options;
mod pipeline;
mod plan;
mod point;
mod program;
pub mod range;
mod report;
mod reuse;
mod schedule;
mod scheduled;
pub mod shape;
mod shared;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(any(test, feature = "testing"))]
pub mod testing_graph;
pub mod text;
pub mod training_json;
mod unshared;
pub mod verify;
mod width;

pub use banks::{Homeless, NoRoom};
pub use best::{Best, Ordering, Tries, best, best_order, best_watched};
pub use concat::{
    JoinError, Joined, concat_candidates, join_concats, joined_as_told, moved_bytes,
    without_concats,
};
pub use donate::{Donation, DonationError, donate};
pub use dtype::{Class, Dtype, UnknownDtype};
pub use fault::{Fault, ProgramError};
pub use graph::{
    Alias, Aliases, End, Graph, GraphBuilder, GraphError, Node, NodeFault, NodeId, Value,
    ValueFault, Window,
};
pub use home::SharedError;
pub use ids::{BankId, BufferId, StepId, ValueId};
pub use json_fault::{JsonFault, object_from_json};
pub use kernels::{BadSelector, Kernels, Preset, Selector, no_reuse, selected_nodes};
pub use op::{Cut, Op};
pub use options::{Apart, BankSpec, Boundary, Options, OptionsError};
pub use pipeline::{PlanError, plan, plan_watched};
pub use plan::{Bank, Buffer, Derivation, Member, Place, Plan, Slot};
pub use point::{LiveRange, Point};
pub use program::{
    Access, AccessKind, Execution, Layout, Overwrite, Program, Role, Rows, Scratch, Storage, Until,
    ValueInfo, View,
};
pub use report::{
    BadSymbolPrefix, FalseClaim, Labels, OfflineMemoryAllocation, PLAN_FORMAT, Packing,
    PlanFileRead, PlanReadError, SymbolPrefix, TflmError, Told, Totals, ValueLabel, diff,
    false_claims, read_plan, read_plan_file, unreserved, write_c_header, write_chrome_trace,
    write_map, write_packing_map, write_plan, write_rust_source, write_tsv,
};
pub use schedule::{
    OrderEffort, OrderError, Pulse, Schedule, order_by_names, search_order, topological_order,
};
pub use scheduled::{LoweringError, LoweringOptions, ScheduledGraph};
pub use shape::{Dim, Elements, Shape};
pub use shared::{SharedLayout, SharedLayoutError, SharedSlot};
pub use verify::{Rejected, VerifiedPlan, Violation, verify, violations};
pub use width::{UnknownWidth, Width};

/// The pages whose examples are run as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/guides/runtime.md")]
    struct Runtime;
    #[doc = include_str!("../../../docs/guides/one-allocation.md")]
    struct OneAllocation;
}
