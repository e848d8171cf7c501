//! One row times a matrix that is not packed.
//!
//! Packing reads the matrix once and writes it; a single row reads it once and is done. Some vectors of outputs at a
//! time stay in registers over all of `k`, so that each is the same chain as in a tile.

use super::Matrix;
use super::finish::Finish;
use super::tile::{load_at, store_at};
use crate::simd::{Kernel, Simd};

/// `c = finish(a · b)`; rows of `b` are contiguous.
pub(super) struct Row<'a> {
    /// One row.
    pub(super) a: Matrix<'a>,
    pub(super) b: Matrix<'a>,
    /// How many products are summed up.
    pub(super) k: usize,
    pub(super) c: &'a mut [f32],
    pub(super) finish: Finish<'a>,
}

impl Kernel for Row<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let mut column = 0;
        while column + 8 * S::LANES <= self.c.len() {
            self.vectors::<S, 8>(simd, column);
            column += 8 * S::LANES;
        }
        while column < self.c.len() {
            self.vectors::<S, 1>(simd, column);
            column += S::LANES;
        }
    }
}

impl Row<'_> {
    /// `T` vectors of outputs from that column on; the last one may end beyond the row.
    #[inline(always)]
    fn vectors<S: Simd, const T: usize>(&mut self, simd: S, column: usize) {
        let end = self.c.len().min(column + T * S::LANES);
        let mut sums = [[simd.splat(0.0); T]];
        for k in 0..self.k {
            let a = simd.splat(self.a.data[k * self.a.column_stride]);
            let b = &self.b.data[k * self.b.row_stride + column..k * self.b.row_stride + end];
            for t in 0..T {
                sums[0][t] = simd.mul_add(a, load_at(simd, b, t), sums[0][t]);
            }
        }
        let c = &mut self.c[column..end];
        self.finish.apply(simd, 0, &(column..end), &mut sums);
        if self.finish.in_place() {
            let mut before = [[simd.splat(0.0); T]];
            for t in 0..T {
                before[0][t] = load_at(simd, c, t);
            }
            self.finish.add_residual(simd, &before, &mut sums);
        }
        self.finish.clamp(simd, &mut sums);
        for t in 0..T {
            store_at(simd, sums[0][t], c, t);
        }
    }
}
