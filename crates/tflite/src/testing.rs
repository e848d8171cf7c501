//! Models to test with, and the bodies of fuzz targets.

mod fuzz;
mod net;
pub mod samples;

pub use self::fuzz::fuzz_tflite;
pub use self::net::{Net, NetGraph, NetOperator, NetTensor, dtypes};
