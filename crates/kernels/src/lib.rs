//! Kernels of tensor operations: slices in, slices out, nothing allocated.
//!
//! Each kernel is a plain function over row-major, contiguous slices (one that takes strides says so). What
//! it needs beside its operands is a `scratch` argument, whose length a function of the shapes gives, so that a
//! plan can count it before anything runs. There is no state, no allocation and no dependency: the crate
//! is `no_std`.
//!
//! - **Lengths** are asserted at the entry. With right lengths no kernel panics.
//! - **Ranks** are at most [`MAX_RANK`]: indices live in arrays on the stack.
//! - **Deterministic:** the order of every sum is fixed. The bits of an element do not depend on the block of
//!   outputs that it is computed with, nor on whether the operation is in place.
//! - **Instructions:** kernels that have vector forms take a [`Level`], which says what the processor has.
//!   Everything else is portable Rust that compilers vectorise.

#![no_std]

#[cfg(test)]
extern crate std;

pub mod activation;
pub mod attention;
pub mod attention_blocks;
mod band;
pub mod binary;
pub mod blocks;
pub mod broadcast;
pub mod cast;
pub mod chain;
pub mod conv;
pub mod conv_transpose;
pub mod einsum;
pub mod element;
pub mod epilogue;
pub mod fill;
pub mod gather;
pub mod gemm;
pub mod half;
pub mod integer;
pub mod math;
pub mod matmul;
pub mod norm;
pub mod order;
pub mod pad;
mod places;
pub mod pool;
pub mod pow;
pub mod quantize;
pub mod reduce;
pub mod resize;
pub mod rows;
pub mod sample;
pub mod scatter;
pub mod select;
pub mod simd;
pub mod softmax;
pub mod strided;
mod sum;
pub mod unary;
pub mod window;

pub use activation::Activation;
pub use broadcast::Broadcast;
pub use epilogue::{Bias, Epilogue, Residual};
pub use places::OutOfRange;
pub use simd::Level;
pub use strided::Strided;
pub use window::Window;

/// The most dims that a tensor may have.
pub const MAX_RANK: usize = 8;
