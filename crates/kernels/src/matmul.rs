//! Products of stacks of matrices, as ONNX' `MatMul` broadcasts them.
//!
//! A [`Stack`] says which matrices are multiplied with which. Where `B` is one matrix for all, the rows of all of
//! `A` are those of one product: `B` is packed once.

use core::ops::Range;

use crate::epilogue::{Epilogue, Residual};
use crate::gemm::{Matrix, Operand, Product, Shape, gemm, gemm_least, gemm_scratch};
use crate::{Level, MAX_RANK};

/// Products of the same shape, and where the operands of each begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stack {
    /// The shape of each product.
    pub shape: Shape,
    rank: usize,
    dims: [usize; MAX_RANK],
    /// Matrices from one to the next along each dim, zero where one is for all.
    a: [usize; MAX_RANK],
    b: [usize; MAX_RANK],
}

impl Stack {
    /// The products of `A` and `B` of these dims. `None` if they do not fit.
    #[must_use]
    pub fn new(a_dims: &[usize], b_dims: &[usize]) -> Option<Stack> {
        let (a_batch, m, k) = matrices(a_dims, true)?;
        let (b_batch, rows, n) = matrices(b_dims, false)?;
        let rank = a_batch.len().max(b_batch.len());
        if rows != k || rank > MAX_RANK {
            return None;
        }
        let mut stack = Stack {
            shape: Shape { m, n, k },
            rank,
            dims: [1; MAX_RANK],
            a: [0; MAX_RANK],
            b: [0; MAX_RANK],
        };
        for dim in 0..rank {
            let [a, b] = [a_batch, b_batch].map(|batch| dim_of(batch, rank, dim));
            stack.dims[dim] = if a == 1 { b } else { a };
            if b != 1 && b != stack.dims[dim] {
                return None;
            }
        }
        stack.a = steps(a_batch, rank);
        stack.b = steps(b_batch, rank);
        Some(stack.with_joined_rows(b_batch))
    }

    /// How many products there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.dims[..self.rank].iter().product()
    }

    /// Whether there is no product.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Where one `B` is for all of `A`: one product of all rows.
    fn with_joined_rows(mut self, b_batch: &[usize]) -> Stack {
        if b_batch.iter().all(|dim| *dim == 1) {
            self.shape.m *= self.len();
            self.rank = 0;
        }
        self
    }

    /// Which matrices of `A` and `B` product `at` multiplies.
    #[must_use]
    pub fn operands(&self, at: usize) -> (usize, usize) {
        let (mut rest, mut a, mut b) = (at, 0, 0);
        for dim in (0..self.rank).rev() {
            let index = rest % self.dims[dim];
            rest /= self.dims[dim];
            a += index * self.a[dim];
            b += index * self.b[dim];
        }
        (a, b)
    }
}

/// The dims of a stack, and rows and columns of its matrices. One dim is a row on the left, a column on the right.
fn matrices(dims: &[usize], left: bool) -> Option<(&[usize], usize, usize)> {
    match dims {
        [] => None,
        [len] if left => Some((&[], 1, *len)),
        [len] => Some((&[], *len, 1)),
        [batch @ .., rows, columns] => Some((batch, *rows, *columns)),
    }
}

/// Dim `dim` of `rank` of a batch that may have fewer.
fn dim_of(batch: &[usize], rank: usize, dim: usize) -> usize {
    (dim + batch.len()).checked_sub(rank).map_or(1, |dim| batch[dim])
}

/// Matrices from one to the next along each of `rank` dims.
fn steps(batch: &[usize], rank: usize) -> [usize; MAX_RANK] {
    let mut steps = [0; MAX_RANK];
    let mut step = 1;
    for dim in (0..rank).rev() {
        let len = dim_of(batch, rank, dim);
        steps[dim] = if len == 1 { 0 } else { step };
        step *= len;
    }
    steps
}

/// Elements of scratch that [`matmul`] is fastest with.
#[must_use]
pub fn matmul_scratch(level: Level, stack: &Stack, packed_b: bool) -> usize {
    gemm_scratch(level, stack.shape, false, packed_b)
}

/// The least elements of scratch that [`matmul`] runs with; `in_place` says whether the output may take over what is
/// added to the sums.
#[must_use]
pub fn matmul_least(level: Level, stack: &Stack, packed_b: bool, in_place: bool) -> usize {
    gemm_least(level, stack.shape, false, packed_b, in_place)
}

/// What is multiplied, and what is done to the sums.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// The left matrices, whole and contiguous.
    pub a: &'a [f32],
    /// The right matrices, whole, each `k · n` elements behind the one before. Only one matrix for all can be packed.
    pub b: Operand<'a>,
    /// What is done to the sums. A residual has the rows of all products.
    pub epilogue: Epilogue<'a>,
}

/// The products `products` into `y`, which holds just these.
pub fn matmul(
    level: Level,
    stack: &Stack,
    operands: &Operands<'_>,
    products: Range<usize>,
    y: &mut [f32],
    scratch: &mut [f32],
) {
    let Shape { m, n, .. } = stack.shape;
    assert_eq!(y.len(), products.len() * m * n, "length of y");
    for (at, y) in products.zip(y.chunks_exact_mut((m * n).max(1))) {
        gemm(level, &product(stack, operands, at), y, n, scratch);
    }
}

/// Product `at` of the stack.
#[must_use]
pub fn product<'a>(stack: &Stack, operands: &Operands<'a>, at: usize) -> Product<'a> {
    let Shape { m, n, k } = stack.shape;
    let (a_at, b_at) = stack.operands(at);
    let a = Operand::Plain(Matrix::rows(&operands.a[a_at * m * k..], k));
    let b = match operands.b {
        Operand::Plain(b) => Operand::Plain(Matrix { data: &b.data[b_at * k * n..], ..b }),
        Operand::Packed(_) => operands.b,
    };
    let residual = match operands.epilogue.residual {
        Residual::Rows { data, stride } => {
            Residual::Rows { data: &data[at * m * stride..], stride }
        }
        other => other,
    };
    let then = operands.epilogue.then.map(|then| then.from(at * m * n));
    Product { shape: stack.shape, a, b, epilogue: Epilogue { residual, then, ..operands.epilogue } }
}
