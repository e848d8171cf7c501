//! Rewrites models so that they compute the same in less memory.
//!
//! A rewrite takes a [`Model`](plimsoll_model::Model) and makes another one with the same inputs, outputs and
//! weights. It is kept as a [`Rewritten`]: the new model, and for every node of it the node that it came from, so
//! that a file can be written in which untouched nodes stay as they were.

mod again;
mod along;
mod channels;
mod cheapest;
mod count;
mod draft;
mod estimate;
mod fit;
mod flow;
mod frontier;
pub mod fuse;
mod linear;
mod norms;
mod overhead;
mod parts;
mod planned;
mod recipes;
mod rewritten;
mod rows;
mod search;
mod stored_parts;
#[cfg(test)]
mod tests;
mod two_memories;

pub use count::{multiply_adds, node_multiply_adds};
pub use draft::Draft;
pub use fit::fit;
pub use frontier::{Applied, AtPeak, FitError, FitOptions, Frontier, Goal, Point, RegionPeak, Way};
pub use rewritten::{Rewritten, Stage};
pub use stored_parts::{StoredPart, stored_parts, with_parts_stored};
pub use two_memories::in_two_memories;
