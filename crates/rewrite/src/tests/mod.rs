//! Tests of whole models: what they take, and that they compute the same.

mod fitting;
pub(crate) mod net;
mod transformer;
pub(crate) mod values;
