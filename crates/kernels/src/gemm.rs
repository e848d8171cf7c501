//! Products of matrices: `C = epilogue(A · B)`, in single precision.
//!
//! `A` is `m × k`, `B` is `k × n`, `C` is `m × n`. Operands have any strides, so that transposed ones are not
//! copied, or are packed before: constant weights are packed once, by [`pack_a`] or [`pack_b`], for the level
//! that multiplies. Every output is one chain of additions over `k` from 0 up, whatever the blocks: its bits depend
//! neither on the rows that are computed with it nor on what is packed.

use crate::Level;
use crate::epilogue::Epilogue;

/// The dims of a product.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of `A` and `C`.
    pub m: usize,
    /// Columns of `B` and `C`.
    pub n: usize,
    /// Columns of `A`, rows of `B`.
    pub k: usize,
}

/// A matrix in memory.
#[derive(Debug, Clone, Copy)]
pub struct Matrix<'a> {
    /// The elements, from the first one on.
    pub data: &'a [f32],
    /// Elements from one row to the next.
    pub row_stride: usize,
    /// Elements from one column to the next.
    pub column_stride: usize,
}

/// A factor of a product.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    /// As it is in memory.
    Plain(Matrix<'a>),
    /// As [`pack_a`] or [`pack_b`] wrote it, for the same level.
    Packed(&'a [f32]),
}

/// A product: its dims, its factors and what is done to its sums.
#[derive(Debug, Clone, Copy)]
pub struct Product<'a> {
    /// The dims.
    pub shape: Shape,
    /// The left factor, `m × k`.
    pub a: Operand<'a>,
    /// The right factor, `k × n`.
    pub b: Operand<'a>,
    /// What is done to the sums.
    pub epilogue: Epilogue<'a>,
}

impl<'a> Matrix<'a> {
    /// Row after row, `stride` elements apart.
    #[must_use]
    pub fn rows(data: &'a [f32], stride: usize) -> Matrix<'a> {
        Matrix { data, row_stride: stride, column_stride: 1 }
    }

    /// Column after column, `stride` elements apart: the transpose of [`Matrix::rows`].
    #[must_use]
    pub fn columns(data: &'a [f32], stride: usize) -> Matrix<'a> {
        Matrix { data, row_stride: 1, column_stride: stride }
    }

    /// The element at that row and column.
    #[must_use]
    #[inline]
    pub fn at(&self, row: usize, column: usize) -> f32 {
        self.data[row * self.row_stride + column * self.column_stride]
    }
}

/// Elements of `A` packed.
#[must_use]
pub fn packed_a_len(_level: Level, m: usize, k: usize) -> usize {
    m * k
}

/// Elements of `B` packed.
#[must_use]
pub fn packed_b_len(_level: Level, k: usize, n: usize) -> usize {
    k * n
}

/// Packs `A`, which is `m × k`, into [`packed_a_len`] elements.
pub fn pack_a(level: Level, m: usize, k: usize, a: Matrix<'_>, out: &mut [f32]) {
    assert_eq!(out.len(), packed_a_len(level, m, k), "length of packed A");
    for row in 0..m {
        for column in 0..k {
            out[row * k + column] = a.at(row, column);
        }
    }
}

/// Packs `B`, which is `k × n`, into [`packed_b_len`] elements.
pub fn pack_b(level: Level, k: usize, n: usize, b: Matrix<'_>, out: &mut [f32]) {
    assert_eq!(out.len(), packed_b_len(level, k, n), "length of packed B");
    pack_a(level, k, n, b, out);
}

/// Elements of scratch that [`gemm`] needs.
#[must_use]
pub fn gemm_scratch(_level: Level, _shape: Shape, _packed_a: bool, _packed_b: bool) -> usize {
    0
}

/// `C = epilogue(A · B)`; `c` has rows of `n` elements, `stride` apart.
pub fn gemm(
    _level: Level,
    product: &Product<'_>,
    c: &mut [f32],
    stride: usize,
    _scratch: &mut [f32],
) {
    let Shape { m, n, k } = product.shape;
    let epilogue = &product.epilogue;
    let matrix = |operand, columns| match operand {
        Operand::Plain(matrix) => matrix,
        Operand::Packed(data) => Matrix::rows(data, columns),
    };
    let (a, b) = (matrix(product.a, k), matrix(product.b, n));
    for row in 0..m {
        for column in 0..n {
            let sum = (0..k).fold(0.0, |sum, i| sum + a.at(row, i) * b.at(i, column));
            let y = &mut c[row * stride + column];
            *y = epilogue.at(sum, row, row, column, *y);
        }
    }
}
