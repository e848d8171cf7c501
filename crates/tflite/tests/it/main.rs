//! The tests of the crate from outside, in one binary: linking it once is what most of them would cost.

mod hostile;
mod planned;
mod reading;
