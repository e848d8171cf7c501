//! One row times a matrix that is not packed.
//!
//! Packing reads the matrix once and writes it; a single row reads it once and is done, as fast as memory gives it. Eight rows
//! of the matrix at a time are read from left to right, which is how memory is fastest; what has been summed up
//! so far waits in the output. So each output is the same chain as in a tile.

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

/// How many rows of the matrix are read side by side.
const ROWS: usize = 8;

impl Kernel for Row<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        // What is in the output is needed, and must not be overwritten with sums: all of `k` at once.
        if self.finish.in_place() || self.k <= ROWS {
            return self.columns(simd);
        }
        let whole = self.k / ROWS * ROWS;
        for k in (0..whole).step_by(ROWS) {
            self.rows::<S, ROWS>(simd, k);
        }
        for k in whole..self.k {
            self.rows::<S, 1>(simd, k);
        }
        let len = self.c.len();
        for column in (0..len).step_by(S::LANES) {
            let end = len.min(column + S::LANES);
            let mut sums = [[load_at(simd, &self.c[column..end], 0)]];
            self.finish.end(simd, column..end, &mut sums, &[]);
            store_at(simd, sums[0][0], &mut self.c[column..end], 0);
        }
    }
}

impl Row<'_> {
    #[inline(always)]
    fn factor(&self, k: usize) -> f32 {
        self.a.data[k * self.a.column_stride]
    }

    /// Adds the products with `R` rows of the matrix to what is in the output; the first ones to zero.
    #[inline(always)]
    fn rows<S: Simd, const R: usize>(&mut self, simd: S, first: usize) {
        let len = self.c.len();
        let (mut factors, mut rows) = ([simd.splat(0.0); R], [&[][..]; R]);
        for r in 0..R {
            factors[r] = simd.splat(self.factor(first + r));
            rows[r] = &self.b.data[(first + r) * self.b.row_stride..][..len];
        }
        let whole = len / S::LANES * S::LANES;
        for column in (0..whole).step_by(S::LANES) {
            let c = &mut self.c[column..column + S::LANES];
            let mut sum = if first == 0 { simd.splat(0.0) } else { simd.load(c) };
            for r in 0..R {
                sum = simd.mul_add(factors[r], simd.load(&rows[r][column..]), sum);
            }
            simd.store(sum, c);
        }
        if whole < len {
            let c = &mut self.c[whole..];
            let mut sum = if first == 0 { simd.splat(0.0) } else { load_at(simd, c, 0) };
            for r in 0..R {
                sum = simd.mul_add(factors[r], load_at(simd, &rows[r][whole..], 0), sum);
            }
            store_at(simd, sum, c, 0);
        }
    }

    /// One vector of outputs after the other, each over all of `k`.
    #[inline(always)]
    fn columns<S: Simd>(&mut self, simd: S) {
        let len = self.c.len();
        for column in (0..len).step_by(S::LANES) {
            let columns = column..len.min(column + S::LANES);
            let mut sums = [[simd.splat(0.0)]];
            for k in 0..self.k {
                let row = &self.b.data[k * self.b.row_stride..][columns.clone()];
                let factor = simd.splat(self.factor(k));
                sums[0][0] = simd.mul_add(factor, load_at(simd, row, 0), sums[0][0]);
            }
            self.finish.end(simd, columns.clone(), &mut sums, &self.c[columns.clone()]);
            store_at(simd, sums[0][0], &mut self.c[columns], 0);
        }
    }
}
