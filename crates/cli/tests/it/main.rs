//! The tests of the crate from outside, in one binary: linking it once is what most of them would cost.

mod cli;
mod exports;
mod fit;
mod foreign;
mod fused;
mod guides;
mod near;
mod onnx;
mod outputs;
mod plan;
mod run;
mod runtimes;
mod schema;
mod snapshots;
mod tflite;
