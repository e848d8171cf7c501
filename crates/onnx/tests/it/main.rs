//! The tests of the crate from outside, in one binary: linking it once is what most of them would cost.

mod annotate;
mod control;
mod execution;
mod malformed;
mod operators;
mod ranges;
mod reading;
mod samples;
mod sharing;
mod weights;
mod writing;
