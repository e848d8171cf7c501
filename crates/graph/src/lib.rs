//! Graphs of tensor operations, and how they become programs that Plimsoll plans.
//!
//! A [`Graph`] says what nodes do to memory: [`effect`] is the one table of what each kind of
//! operation does. A [`ScheduledGraph`] is a graph with an order, which is a
//! [`Program`](plimsoll::Program). [`best`] looks for the order and the copies that can be done
//! without, and [`advise`] says what else would lower the arena.

pub mod advise;
pub mod annotate;
pub mod at_sizes;
mod best;
pub mod checkpoint;
mod concat;
mod donate;
mod driver;
mod dtype;
pub mod effect;
mod graph;
mod op;
mod scheduled;
pub mod shape;
#[cfg(feature = "testing")]
pub mod testing;
pub mod text;
pub mod training_json;
mod width;

pub use best::{Best, Tries, best, best_watched};
pub use concat::{
    Choice, JoinError, Joined, RecordedChoice, concat_candidates, join_concats, joined_as_recorded,
    moved_bytes, with_choices, without_concats,
};
pub use donate::{Donation, DonationError, donate};
pub use driver::{Case, CaseError, Improved, PlannedGraph, improve};
pub use dtype::{Class, Dtype, UnknownDtype, packed_bytes};
pub use graph::{
    Alias, Aliases, BadSelector, Bytes, End, Graph, GraphBuilder, GraphError, Kernels, Node,
    NodeFault, NodeId, OrderError, Preset, Selector, Value, ValueFault, Window, no_reuse,
    order_by_names, selected_nodes, topological_order,
};
pub use op::{Cut, Op};
pub use scheduled::{LoweringError, LoweringOptions, ScheduledGraph};
pub use shape::{Dim, Elements, Expr, Fact, Int, Numbers, Shape};
pub use width::{UnknownWidth, Width};

/// The pages whose examples are run as tests.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../docs/guides/one-allocation.md")]
    struct OneAllocation;
}
