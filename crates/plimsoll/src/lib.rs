//! Plans the memory of tensor programs.
//!
//! A [`Program`] declares what every step does to memory; [`Plan`] says where each value is.

pub mod annotate;
mod dtype;
pub mod effect;
mod graph;
mod ids;
mod kernels;
mod op;
mod plan;
mod point;
mod program;
mod schedule;
mod scheduled;
mod shape;
#[cfg(any(test, feature = "testing"))]
pub mod testing_graph;
pub mod text;
pub mod training_json;
mod width;

pub use dtype::{Class, Dtype, UnknownDtype};
pub use graph::{
    Alias, Aliases, End, Graph, GraphBuilder, GraphError, Node, NodeFault, NodeId, Value,
    ValueFault, Window,
};
pub use ids::{BankId, BufferId, StepId, ValueId};
pub use kernels::{BadSelector, Kernels, Preset, Selector, no_reuse, selected_nodes};
pub use op::{Cut, Op};
pub use plan::{Bank, Buffer, Derivation, Member, Place, Plan, Slot};
pub use point::{LiveRange, Point};
pub use program::{
    Access, AccessKind, Execution, Overwrite, Program, Role, Scratch, Storage, Until, ValueInfo,
    View,
};
pub use schedule::{OrderError, order_by_names, topological_order};
pub use scheduled::{LoweringError, LoweringOptions, ScheduledGraph};
pub use shape::{Dim, Elements, Shape};
pub use width::{UnknownWidth, Width};
