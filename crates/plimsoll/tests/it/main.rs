//! The tests of the crate from outside, in one binary: linking it once is what most of them would cost.

mod advice;
mod brute_force;
mod coalescing;
mod explain;
mod features;
mod live_ranges;
mod near;
mod orders;
mod planner;
mod random_programs;
mod refusals;
mod resolve;
mod spill;
mod unwritten;
mod view_chains;
