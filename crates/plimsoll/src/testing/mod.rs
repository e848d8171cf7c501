//! Programs, plans and an oracle for tests and benchmarks; behind the feature `testing`.
//!
//! - [`TestProgram`]: a program as plain vectors, written down by hand or made by
//!   [`random_program`], which is valid by construction;
//! - [`unshared_plan`]: a plan in which nothing shares bytes that need not, and which is right;
//! - [`corrupts`]: really runs the steps over bytes with tokens, in every legal order, and says
//!   whether anybody saw a wrong one;
//! - [`Machine`]: runs what the nodes of a graph compute, with every value apart and in the bytes of
//!   a plan, and compares;
//! - [`fuzz_plim`] and the like: the bodies of fuzz targets.

mod fuzz;
mod machine;
mod oracle;
mod program;
mod random;
mod unshared;

pub use fuzz::{assert_plans_are_right, fuzz_plan_json, fuzz_plim, fuzz_seeds, fuzz_training_json};
pub use machine::{Index, Kernel, Machine, Tensors, Wrong, family_kernel, ints, mix};
pub use oracle::{Orders, corrupts};
pub use program::{TestProgram, TestStep, chain};
pub use random::{Shape, random_program};
pub use unshared::{bank_of, plan_at, unshared_plan};
