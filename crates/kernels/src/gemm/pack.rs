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
use crate::simd::{Kernel, Simd, transposed};

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
        let line = |row: usize| &a.data[(rows.start + row) * a.row_stride..][k.clone()];
        interleave(len, line, len, out);
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

/// Lines of elements side by side: element `k` of line `l` becomes element `k · step + l`. Four lines at a time are turned in
/// registers; the last four may be some of those before again.
fn interleave<'a>(count: usize, line: impl Fn(usize) -> &'a [f32], step: usize, out: &mut [f32]) {
    if count < 4 {
        (0..count).for_each(|l| scatter(line(l), step, &mut out[l..]));
        return;
    }
    for first in (0..count).step_by(4) {
        let first = first.min(count - 4);
        interleave_four([0, 1, 2, 3].map(|l| line(first + l)), step, &mut out[first..]);
    }
}

fn interleave_four(lines: [&[f32]; 4], step: usize, out: &mut [f32]) {
    let [(a, a_rest), (b, b_rest), (c, c_rest), (d, d_rest)] = lines.map(<[f32]>::as_chunks::<4>);
    let mut at = 0;
    for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
        let out = &mut out[at..at + 3 * step + 4];
        for (k, four) in transposed([*a, *b, *c, *d]).iter().enumerate() {
            out[k * step..][..4].copy_from_slice(four);
        }
        at += 4 * step;
    }
    for (((a, b), c), d) in a_rest.iter().zip(b_rest).zip(c_rest).zip(d_rest) {
        out[at..at + 4].copy_from_slice(&[*a, *b, *c, *d]);
        at += step;
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
    let column =
        |c: usize| &b.data[k.start * b.row_stride + (columns.start + c) * b.column_stride..];
    if b.row_stride == 1 {
        interleave(len, |c| &column(c)[..k.len()], width, out);
    } else {
        for c in 0..len {
            let from = column(c).iter().step_by(b.row_stride.max(1));
            for (out, x) in out.chunks_exact_mut(width).zip(from) {
                out[c] = *x;
            }
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
