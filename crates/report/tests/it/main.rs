//! The tests of the crate from outside, in one binary: linking it once is what most of them would cost.

mod exports;
mod plan_diff;
mod recorded_lives;
mod tsv;
