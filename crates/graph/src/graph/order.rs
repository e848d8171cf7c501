//! Orders of nodes: one that is valid, and whether a given one is.

mod given;
mod topological;

pub use given::{OrderError, order_by_names};
pub(crate) use given::{check_order, waits_of};
pub(crate) use topological::order_of;
pub use topological::topological_order;
