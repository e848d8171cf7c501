//! The tests of the crate from outside, in one binary; those that count allocations have an allocator, and binaries, of their own.

mod branches;
mod corpus;
mod fused;
mod loops;
mod random;
mod ranges;
mod read_through;
mod state;
