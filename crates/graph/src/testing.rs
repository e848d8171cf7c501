//! Random graphs, a machine that executes them, and the bodies of fuzz targets; behind the feature
//! `testing`.
//!
//! - [`random_graph`]: valid by construction, with everything that can be declared;
//! - [`Machine`]: runs what the nodes of a graph compute, with every value apart and in the bytes of
//!   a plan, and compares;
//! - [`band_graph`]: networks that are computed in bands, of thousands of small steps;
//! - [`column_graph`], [`layered_graph`], [`series_parallel_graph`], [`training_graph`]: graphs of any size, to be
//!   ordered;
//! - [`fuzz_plim`] and the like: the bodies of fuzz targets.

mod bands;
mod fuzz;
mod machine;
mod random;
mod wide;

pub use bands::{band_graph, band_text};
pub use fuzz::{assert_plans_are_right, fuzz_plan_json, fuzz_plim, fuzz_seeds, fuzz_training_json};
pub use machine::{Index, Kernel, Machine, Tensors, Wrong, class_kernel, ints, mix};
pub use random::random_graph;
pub use wide::{column_graph, layered_graph, series_parallel_graph, training_graph};
