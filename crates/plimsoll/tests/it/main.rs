//! The tests of the crate from outside, in one binary: linking it once is what most of them would cost.

mod advice;
mod brute_force;
mod coalescing;
mod explain;
mod features;
mod live_ranges;
mod orders;
mod random_programs;
mod refusals;
mod resolve;
mod unwritten;
mod view_chains;
