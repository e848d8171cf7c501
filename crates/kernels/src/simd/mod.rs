//! Vectors: which there are at run time, and what kernels do with them.
//!
//! A kernel that is written with vectors is generic over `Simd` and runs by `Level::run`, which compiles it for each
//! level. The values that implement `Simd` exist only where the processor has the instructions, so that kernels are
//! safe code: all that is `unsafe` is here.
//!
//! Why plain `core::arch` below a trait of our own: `pulp` and `rten-simd` have the same design (a token for each
//! level, functions that are generic over it), and neither allocates. But `rten-simd` asks for the level by way of
//! `std`, and `pulp` has vectors of every type with all their operations, where products need a dozen of one: the trait
//! here is shorter than the code that would adapt either, and a crate for devices keeps its dependencies few.

pub mod level;
mod portable;
mod root;
mod transpose;
mod vector;
mod wide;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use level::Level;
pub use root::sqrt;
pub(crate) use transpose::transposed;
pub(crate) use vector::{Kernel, Simd};
pub(crate) use wide::{wide, widest};
