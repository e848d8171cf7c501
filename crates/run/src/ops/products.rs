//! Products of matrices. A right factor that does not change is packed once, for the instructions at hand.

use plimsoll_kernels::chain::{Data, MOST_OPERANDS};
use plimsoll_kernels::gemm::{self, Matrix, Operand, Product, Shape};
use plimsoll_kernels::matmul::{self, Operands, Stack};
use plimsoll_kernels::{Bias, Level, Residual};
use plimsoll_model::{FusedMatMul, Gemm};

use crate::at::At;
use crate::kernel::{Built, Lack};
use crate::tail::{SLOT_RESIDUAL, Tail};

/// A right factor that does not change.
enum Fixed {
    /// Packed for blocks of rows.
    Packed(Vec<f32>),
    /// Row after row: what the product with a single row reads.
    Rows(Vec<f32>),
}

impl Fixed {
    /// Of `k × n` elements, for products of so many rows.
    fn new(level: Level, Shape { m, n, k }: Shape, b: Matrix<'_>) -> Self {
        if m == 1 {
            let row = |row: usize| (0..n).map(move |column| b.at(row, column));
            return Fixed::Rows((0..k).flat_map(row).collect());
        }
        let mut packed = vec![0.0; gemm::packed_b_len(level, k, n)];
        gemm::pack_b(level, k, n, b, &mut packed);
        Fixed::Packed(packed)
    }

    fn operand(&self, n: usize) -> Operand<'_> {
        match self {
            Fixed::Packed(packed) => Operand::Packed(packed),
            Fixed::Rows(rows) => Operand::Plain(Matrix::rows(rows, n)),
        }
    }

    fn len(&self) -> usize {
        match self {
            Fixed::Packed(elements) | Fixed::Rows(elements) => elements.len(),
        }
    }

    fn is_packed(&self) -> bool {
        matches!(self, Fixed::Packed(_))
    }
}

/// As numpy's.
pub(crate) fn matmul(at: &At<'_>, tail: Tail) -> Result<Built, Lack> {
    stacked(at, 1.0, tail)
}

/// Whether the right factor is one matrix that does not change: what follows can be folded into it.
pub(crate) fn has_fixed_factor(at: &At<'_>) -> Result<bool, Lack> {
    let is_one = at.dims(1)?.iter().rev().skip(2).all(|dim| *dim == 1);
    Ok(is_one && at.is_constant(1))
}

/// The elements that [`stacked`] needs as scratch at least; `in_place` says whether it may overwrite what it adds.
pub(crate) fn matmul_least(at: &At<'_>, in_place: bool) -> Result<usize, Lack> {
    at.only_f32(&[0, 1])?;
    let stack = Stack::new(&at.dims(0)?, &at.dims(1)?).ok_or("matrices that do not fit")?;
    if stack.shape.m == 1 {
        return Ok(0); // Rows of the right factor are contiguous.
    }
    let is_packed = has_fixed_factor(at)?;
    Ok(at.threads.count() * matmul::matmul_least(at.level, &stack, is_packed, in_place))
}

fn stacked(at: &At<'_>, alpha: f32, tail: Tail) -> Result<Built, Lack> {
    at.only_f32(&[0, 1])?;
    let (level, a_dims, b_dims) = (at.level, at.dims(0)?, at.dims(1)?);
    let stack = Stack::new(&a_dims, &b_dims).ok_or("matrices that do not fit")?;
    let Shape { n, k, .. } = stack.shape;
    let is_one = b_dims.iter().rev().skip(2).all(|dim| *dim == 1);
    let fixed = match at.constant_f32(1)? {
        Some(b) if is_one => {
            let b = tail.scaled_columns(b, n);
            Some(Fixed::new(level, stack.shape, Matrix::rows(&b, n)))
        }
        _ => None,
    };
    let packed = fixed.as_ref().map_or(0, Fixed::len);
    let threads = at.threads.clone();
    let is_packed = fixed.as_ref().is_some_and(Fixed::is_packed);
    let scratch = threads.count() * matmul::matmul_scratch(level, &stack, is_packed);
    let least = matmul_least(at, false)?;
    let scratch = if least == 0 { 0 } else { scratch };
    let is_fixed = fixed.is_some();
    let built = Built::one(SLOT_RESIDUAL, 1, move |io| {
        let (y, scratch) = (io.write(0), io.scratch());
        let mut data = [Data::InPlace; MOST_OPERANDS];
        let mut epilogue = tail.epilogue(io, Bias::Column, n, &mut data);
        epilogue.alpha = alpha;
        let b = match &fixed {
            Some(fixed) => fixed.operand(n),
            None => Operand::Plain(Matrix::rows(io.read(1), n)),
        };
        if k == 0 {
            y.fill(tail.follows.activation.at(0.0));
            return Ok(());
        }
        let operands = Operands { a: io.read(0), b, epilogue };
        threads.matmul(level, &stack, &operands, (y, scratch));
        tail.follows.finish(level, y);
        Ok(())
    });
    let built = built.with_scratch::<f32>(scratch).with_least::<f32>(least);
    let built = built.with_packed::<f32>(packed);
    Ok(if is_fixed { built.without_operand(1) } else { built })
}

/// `a, b`: transposed first, and with what follows.
pub(super) fn fused_matmul(at: &At<'_>, fused: FusedMatMul) -> Result<Built, Lack> {
    let (a_rank, b_rank) = (at.dims(0)?.len(), at.dims(1)?.len());
    let swaps = (fused.transpose_a && a_rank > 1) || (fused.transpose_b && b_rank > 1);
    let tail = Tail::of(fused.activation)?;
    if !swaps {
        return stacked(at, fused.alpha, tail);
    }
    if a_rank != 2 || b_rank != 2 {
        return Err("no kernel for stacks of transposed matrices".to_owned());
    }
    let gemm = Gemm {
        transpose_a: fused.transpose_a,
        transpose_b: fused.transpose_b,
        alpha: fused.alpha,
        beta: 1.0,
    };
    general(at, gemm, tail)
}

pub(crate) fn gemm(at: &At<'_>, gemm: Gemm, tail: Tail) -> Result<Built, Lack> {
    general(at, gemm, tail)
}

/// The elements that [`gemm`] needs as scratch at least; `in_place` says whether it may overwrite what it adds.
pub(crate) fn gemm_least(at: &At<'_>, gemm: Gemm, in_place: bool) -> Result<usize, Lack> {
    let (shape, ..) = gemm_shape(at, gemm)?;
    if shape.m == 1 && (at.is_constant(1) || !gemm.transpose_b) {
        return Ok(0); // Rows of the right factor are contiguous.
    }
    let is_packed = at.is_constant(1);
    Ok(at.threads.count() * gemm::gemm_least(at.level, shape, false, is_packed, in_place))
}

/// The dims of a product, and the columns of its factors as they are stored.
fn gemm_shape(at: &At<'_>, gemm: Gemm) -> Result<(Shape, usize, usize), Lack> {
    at.only_f32(&[0, 1, 2])?;
    let (a_dims, b_dims) = (at.dims(0)?, at.dims(1)?);
    let (&[a_rows, a_columns], &[b_rows, b_columns]) = (&a_dims[..], &b_dims[..]) else {
        return Err("matrices of other than two dims".to_owned());
    };
    let (m, k) = if gemm.transpose_a { (a_columns, a_rows) } else { (a_rows, a_columns) };
    let n = if gemm.transpose_b { b_rows } else { b_columns };
    Ok((Shape { m, n, k }, a_columns, b_columns))
}

/// How the third operand is added.
#[derive(Clone, Copy)]
enum Added {
    Nothing,
    Scalar,
    Row,
    Column,
    All,
}

fn added(at: &At<'_>, m: usize, n: usize) -> Result<Added, Lack> {
    if !at.has(2) {
        return Ok(Added::Nothing);
    }
    let dims = at.dims(2)?;
    let dim = |from_end: usize| dims.iter().rev().nth(from_end).copied().unwrap_or(1);
    match (dim(1), dim(0)) {
        (1, 1) => Ok(Added::Scalar),
        (1, columns) if columns == n => Ok(Added::Column),
        (rows, 1) if rows == m => Ok(Added::Row),
        (rows, columns) if (rows, columns) == (m, n) => Ok(Added::All),
        _ => Err(format!("a summand of {dims:?} for {m} × {n}")),
    }
}

/// A matrix as it is, or transposed.
fn matrix(data: &[f32], columns: usize, transposed: bool) -> Matrix<'_> {
    if transposed { Matrix::columns(data, columns) } else { Matrix::rows(data, columns) }
}

/// The product of two matrices, each as it is or transposed.
fn general(at: &At<'_>, gemm: Gemm, tail: Tail) -> Result<Built, Lack> {
    let (shape, a_columns, b_columns) = gemm_shape(at, gemm)?;
    let (level, Shape { m, n, .. }) = (at.level, shape);
    let fixed = at.constant_f32(1)?;
    let fixed = fixed.map(|b| Fixed::new(level, shape, matrix(&b, b_columns, gemm.transpose_b)));
    let packed = fixed.as_ref().map_or(0, Fixed::len);
    let is_packed = fixed.as_ref().is_some_and(Fixed::is_packed);
    let threads = at.threads.clone();
    let scratch = threads.count() * gemm::gemm_scratch(level, shape, false, is_packed);
    let least = gemm_least(at, gemm, false)?;
    let scratch = if least == 0 { 0 } else { scratch };
    let (added, is_fixed) = (added(at, m, n)?, fixed.is_some());
    let built = Built::one(SLOT_RESIDUAL, 1, move |io| {
        let (y, scratch) = (io.write(0), io.scratch());
        let c = || io.read::<f32>(2);
        let mut data = [Data::InPlace; MOST_OPERANDS];
        let mut epilogue = tail.epilogue(io, Bias::Column, n, &mut data);
        (epilogue.alpha, epilogue.beta) = (gemm.alpha, gemm.beta);
        match added {
            Added::Nothing => {}
            Added::Scalar => epilogue.bias = Bias::Scalar(c()[0]),
            Added::Row => epilogue.bias = Bias::Row(c()),
            Added::Column => epilogue.bias = Bias::Column(c()),
            Added::All => epilogue.residual = Residual::Rows { data: c(), stride: n },
        }
        let a = Operand::Plain(matrix(io.read(0), a_columns, gemm.transpose_a));
        let b = match &fixed {
            Some(fixed) => fixed.operand(n),
            None => Operand::Plain(matrix(io.read(1), b_columns, gemm.transpose_b)),
        };
        threads.gemm(level, &Product { shape, a, b, epilogue }, (y, scratch));
        tail.follows.finish(level, y);
        Ok(())
    });
    let built = built.with_scratch::<f32>(scratch).with_least::<f32>(least);
    let built = built.with_packed::<f32>(packed);
    Ok(if is_fixed { built.without_operand(1) } else { built })
}
