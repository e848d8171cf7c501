//! Fused steps that lower a model's arena: what can be fused, and what of it is worth it.
//!
//! Kernels that compute several nodes as one need no bytes for what lies between them
//! ([`FusedStep`](plimsoll_model::FusedStep)). [`fuse`] finds the steps that can be fused (`found`) by what operators
//! compute: chains of elements, what follows a product, attention, and what a product can read through. Then plans
//! decide. Kinds of fusions are added one after the other, those first that cost no arithmetic, and kept where the
//! arena is not larger; what is read through is added all at once, or only where tensors are alive at the
//! peak, whichever gives the smallest arena. The model without any fusion is among what is compared: no fused plan is
//! above it.
//!
//! Cost: a graph and a plan by rules for every choice that is tried, at most [`MOST_PLANS`].

mod attention;
mod chain;
mod found;
mod kinds;
mod search;
#[cfg(test)]
#[allow(clippy::many_single_char_names, reason = "operands, as formulas call them")]
mod tests;

pub use self::kinds::{FusionKind, UnknownFusion};
pub use self::search::{Fused, MOST_PLANS, fuse, fuse_all};
