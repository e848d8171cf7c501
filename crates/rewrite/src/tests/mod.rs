//! Tests of whole models: what they take, and that they compute the same.

mod fitting;
mod net;
mod transformer;
mod values;
