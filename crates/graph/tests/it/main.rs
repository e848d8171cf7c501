//! The tests of the crate from outside, in one binary: linking it once is what most of them would cost.

mod best_orders;
mod bounds;
mod concats;
mod corpus_graphs;
mod explain_peaks;
mod fuzzing;
mod order_search;
mod orders;
mod plan_files;
mod policies;
mod sharing;
mod strides;
