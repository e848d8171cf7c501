//! Packing: operands in the order in which tiles read them.
//!
//! `A` becomes panels of rows, each with the rows of one `k` side by side; `B` becomes panels of columns, likewise.
//! The rows of `A` are shared evenly among its panels, so that no tile is nearly empty. The last panel of `B` is filled
//! up with zeros. Packing reads and writes each element once; a product reads it as many times as there are panels
//! of the other operand.

use core::ops::Range;

use super::Matrix;

/// In how many panels of at most `most` rows these rows are.
pub(crate) fn panel_count(rows: usize, most: usize) -> usize {
    rows.div_ceil(most)
}

/// Packs the rows `rows` of `A`, of `k` the range, into `out`, which has just these.
pub(crate) fn panel_a(a: Matrix<'_>, rows: Range<usize>, k: Range<usize>, out: &mut [f32]) {
    let len = rows.len();
    if a.row_stride == 1 {
        for (k, out) in k.zip(out.chunks_exact_mut(len)) {
            out.copy_from_slice(&a.data[k * a.column_stride + rows.start..][..len]);
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

/// Packs the columns `columns` of `B`, of `k` the range, into a panel of `width` columns.
pub(crate) fn panel_b(
    b: Matrix<'_>,
    k: Range<usize>,
    columns: Range<usize>,
    width: usize,
    out: &mut [f32],
) {
    let len = columns.len();
    if b.column_stride == 1 {
        for (k, out) in k.zip(out.chunks_exact_mut(width)) {
            let from = &b.data[k * b.row_stride + columns.start..][..len];
            out[..len].copy_from_slice(from);
            out[len..].fill(0.0);
        }
    } else {
        for (c, column) in columns.enumerate() {
            let from = &b.data[k.start * b.row_stride + column * b.column_stride..];
            let from = from.iter().step_by(b.row_stride.max(1));
            for (out, x) in out.chunks_exact_mut(width).zip(from) {
                out[c] = *x;
            }
        }
        out.chunks_exact_mut(width).for_each(|out| out[len..].fill(0.0));
    }
}
