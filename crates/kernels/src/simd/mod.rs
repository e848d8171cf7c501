//! Vectors: which there are at run time, and what kernels do with them.
//!
//! A kernel that is written with vectors is generic over [`Simd`] and runs by [`Level::run`], which compiles it for each
//! level. The values that implement `Simd` exist only where the processor has the instructions, so that kernels are
//! safe code: all that is `unsafe` is here.
//!
//! Why plain `core::arch` below a trait of our own: `pulp` and `macerator` offer the same (a token for each level,
//! a function that is generic over it), and `rten-simd` too; none of them allocates. But `pulp` asks for the level
//! by itself and keeps the answer in a `static`, `macerator` needs `std` to ask, and `rten-simd` fixes its own set of
//! levels; each is much more than the dozen operations that products need, and a dependency of a crate that has
//! almost none.

pub mod level;
mod portable;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use level::Level;
pub(crate) use vector::{Kernel, Simd};
