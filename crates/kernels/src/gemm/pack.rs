//! Packing: operands in the order in which tiles read them.
//!
//! `A` becomes panels of rows, each with the rows of one `k` side by side; `B` becomes panels of columns, likewise.
//! The rows of `A` are shared evenly among its panels, so that no tile is nearly empty. The last panel of `B` is filled
//! up with zeros. Packing reads and writes each element once; a product reads it as many times as there are panels
//! of the other operand.

use core::ops::Range;

use super::Matrix;
use super::tile::{load_at, store_at};
use crate::Level;
use crate::simd::{Kernel, Simd};

/// In how many panels of at most `most` rows these rows are.
pub(crate) fn panel_count(rows: usize, most: usize) -> usize {
    rows.div_ceil(most)
}

/// Packs the rows `rows` of `A`, of `k` the range, into `out`, which has just these.
pub(crate) fn panel_a(a: Matrix<'_>, rows: Range<usize>, k: Range<usize>, out: &mut [f32]) {
    let len = rows.len();
    if k.is_empty() {
        return;
    }
    if a.row_stride == 1 {
        for (k, out) in k.zip(out.chunks_exact_mut(len)) {
            out.copy_from_slice(&a.data[k * a.column_stride + rows.start..][..len]);
        }
    } else if a.column_stride == 1 {
        for (r, row) in rows.enumerate() {
            scatter(&a.data[row * a.row_stride..][k.clone()], len, &mut out[r..]);
        }
    } else {
        for (r, row) in rows.enumerate() {
            let from = &a.data[row * a.row_stride + k.start * a.column_stride..];
            let from = from.iter().step_by(a.column_stride.max(1));
            for (out, x) in out.chunks_exact_mut(len).zip(from) {
                out[r] = *x;
            }
        }
    }
}

/// Every element `step` apart, four at a time: one check of lengths for four stores.
#[inline]
fn scatter(from: &[f32], step: usize, out: &mut [f32]) {
    let (fours, rest) = from.as_chunks::<4>();
    let mut at = 0;
    for four in fours {
        let out = &mut out[at..=at + 3 * step];
        (out[0], out[step], out[2 * step], out[3 * step]) = (four[0], four[1], four[2], four[3]);
        at += 4 * step;
    }
    for x in rest {
        out[at] = *x;
        at += step;
    }
}

/// Packs the columns `columns` of `B`, of `k` the range, into a panel of `width` columns.
pub(crate) fn panel_b(
    level: Level,
    b: Matrix<'_>,
    k: Range<usize>,
    columns: Range<usize>,
    width: usize,
    out: &mut [f32],
) {
    let len = columns.len();
    if k.is_empty() {
        return;
    }
    if b.column_stride == 1 {
        level.run(Rows { b, k, columns, width, out });
        return;
    }
    for (c, column) in columns.enumerate() {
        let from = &b.data[k.start * b.row_stride + column * b.column_stride..];
        if b.row_stride == 1 {
            scatter(&from[..k.len()], width, &mut out[c..]);
            continue;
        }
        let from = from.iter().step_by(b.row_stride.max(1));
        for (out, x) in out.chunks_exact_mut(width).zip(from) {
            out[c] = *x;
        }
    }
    if len < width {
        out.chunks_exact_mut(width).for_each(|out| out[len..].fill(0.0));
    }
}

/// A panel of `B` whose rows are contiguous.
struct Rows<'a> {
    b: Matrix<'a>,
    k: Range<usize>,
    columns: Range<usize>,
    width: usize,
    out: &'a mut [f32],
}

impl Kernel for Rows<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let len = self.columns.len();
        let rows = self.k.zip(self.out.chunks_exact_mut(self.width));
        if len == 2 * S::LANES {
            for (k, out) in rows {
                let from =
                    &self.b.data[k * self.b.row_stride + self.columns.start..][..2 * S::LANES];
                let out = &mut out[..2 * S::LANES];
                simd.store(simd.load(from), out);
                simd.store(simd.load(&from[S::LANES..]), &mut out[S::LANES..]);
            }
        } else {
            for (k, out) in rows {
                let from = &self.b.data[k * self.b.row_stride + self.columns.start..][..len];
                for w in 0..2 {
                    store_at(simd, load_at(simd, from, w), out, w);
                }
            }
        }
    }
}
