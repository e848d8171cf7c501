//! [`Simd`]: the operations on vectors that kernels use, and how a kernel is run at a level.

use super::level::{Kind, Level};
use super::portable::Portable;

/// Vectors of `f32`. A value of a type that implements this is proof that its instructions are there.
pub(crate) trait Simd: Copy {
    /// A vector.
    type V: Copy;
    /// Numbers in a vector.
    const LANES: usize;
    /// Rows of a tile of a product: with two vectors a row, as many as the registers hold.
    const ROWS: usize;

    /// The same number in every lane.
    fn splat(self, x: f32) -> Self::V;
    /// The first numbers of `from`, which has at least as many as there are lanes.
    fn load(self, from: &[f32]) -> Self::V;
    /// The first `len` numbers of `from`, zeros behind.
    fn load_part(self, from: &[f32], len: usize) -> Self::V;
    /// Every second number of `from`, from the first on; there are at least two for each lane, but for one.
    fn load_even(self, from: &[f32]) -> Self::V;
    /// The numbers of `from` from place `at` on, which may be before its first or behind its last: zeros where
    /// there are none.
    fn load_clipped(self, from: &[f32], at: isize) -> Self::V;
    /// Every second lane of two vectors, from the first on.
    fn evens(self, low: Self::V, high: Self::V) -> Self::V;
    /// Every second lane of two vectors, from the second on.
    fn odds(self, low: Self::V, high: Self::V) -> Self::V;
    /// Into the first numbers of `to`.
    fn store(self, v: Self::V, to: &mut [f32]);
    /// The first `len` lanes into the first numbers of `to`.
    fn store_part(self, v: Self::V, to: &mut [f32], len: usize);
    /// `a + b`
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a · b`
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// `a · b + c`, rounded once where the level can.
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// Says that what is at `at` is soon needed, if there is something: nothing but time depends on it.
    #[inline(always)]
    fn prefetch(self, _from: &[f32], _at: usize) {}
    /// The greater one, `b` where one is not a number.
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// The lesser one, `b` where one is not a number.
    fn min(self, a: Self::V, b: Self::V) -> Self::V;
}

/// A computation that is compiled for each level. What it calls must be inlined into it.
pub(crate) trait Kernel {
    /// Runs it with these vectors.
    fn run<S: Simd>(self, simd: S);
}

impl Level {
    /// Runs a kernel, compiled for this level.
    pub(crate) fn run<K: Kernel>(self, kernel: K) {
        match self.kind() {
            Kind::Portable => kernel.run(Portable),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => super::x86::run_avx2(self, kernel),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => super::x86::run_avx512(self, kernel),
        }
    }

    /// Rows and columns of a tile of a product at this level.
    pub(crate) const fn tile(self) -> (usize, usize) {
        match self.kind() {
            Kind::Portable => (Portable::ROWS, 2 * Portable::LANES),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2 => (super::x86::Avx2::ROWS, 2 * super::x86::Avx2::LANES),
            #[cfg(target_arch = "x86_64")]
            Kind::Avx512 => (super::x86::Avx512::ROWS, 2 * super::x86::Avx512::LANES),
        }
    }
}
