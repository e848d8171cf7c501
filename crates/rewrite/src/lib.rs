//! Rewrites models so that they compute the same in less memory.
//!
//! A rewrite takes a [`Model`](plimsoll_model::Model) and makes another one with the same inputs, outputs and
//! weights. It is kept as a [`Rewritten`]: the new model, and for every node of it the node that it came from, so
//! that a file can be written in which untouched nodes stay as they were.

mod draft;
mod rewritten;
mod stored_parts;

pub use draft::Draft;
pub use rewritten::Rewritten;
pub use stored_parts::{StoredPart, stored_parts, with_parts_stored};
