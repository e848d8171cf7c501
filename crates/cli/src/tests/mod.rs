//! Whole commands, run inside of the tests.

mod round_trip;
