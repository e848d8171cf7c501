//! Products of matrices. A right factor that does not change is packed once, for the instructions at hand.

use plimsoll_kernels::gemm::{self, Matrix, Operand, Product, Shape};
use plimsoll_kernels::matmul::{self, Operands, Stack};
use plimsoll_kernels::{Activation, Bias, Epilogue, Level, Residual};
use plimsoll_kernels::{einsum, unary};
use plimsoll_model::{FusedMatMul, Gemm, Unary};

use super::elementwise::real_function;
use crate::at::At;
use crate::kernel::{Built, Lack};
use crate::types::by_number;

/// What follows a product or a convolution: within the kernel where it knows the function, else after it.
#[derive(Clone, Copy)]
pub(super) struct Follows {
    pub(super) activation: Activation,
    after: Option<unary::Unary>,
}

impl Follows {
    pub(super) fn new(function: Option<Unary>) -> Result<Self, Lack> {
        let fused = |activation| Ok(Follows { activation, after: None });
        match function {
            None => fused(Activation::None),
            Some(Unary::Relu) => fused(Activation::Relu),
            Some(Unary::Clamp { least, most }) => fused(Activation::Clip { min: least, max: most }),
            Some(Unary::LeakyRelu { alpha }) => fused(Activation::LeakyRelu { slope: alpha }),
            Some(Unary::Sigmoid) => fused(Activation::Sigmoid),
            Some(Unary::Tanh) => fused(Activation::Tanh),
            Some(Unary::HardSigmoid { alpha, beta }) => {
                fused(Activation::HardSigmoid { alpha, beta })
            }
            Some(Unary::HardSwish) => fused(Activation::HardSwish),
            Some(Unary::Gelu { tanh: false }) => fused(Activation::Gelu),
            Some(Unary::Gelu { tanh: true }) => fused(Activation::GeluTanh),
            Some(Unary::Swish { alpha: 1.0 }) => fused(Activation::Silu),
            Some(other) => {
                Ok(Follows { activation: Activation::None, after: Some(real_function(other)?) })
            }
        }
    }

    /// What the kernel does not do itself.
    pub(super) fn finish(self, level: Level, y: &mut [f32]) {
        if let Some(after) = self.after {
            unary::unary_in_place(level, after, y);
        }
    }
}

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
pub(super) fn matmul(at: &At<'_>) -> Result<Built, Lack> {
    stacked(at, 1.0, Follows::new(None)?)
}

fn stacked(at: &At<'_>, alpha: f32, follows: Follows) -> Result<Built, Lack> {
    at.only_f32(&[0, 1])?;
    let (level, a_dims, b_dims) = (at.level, at.dims(0)?, at.dims(1)?);
    let stack = Stack::new(&a_dims, &b_dims).ok_or("matrices that do not fit")?;
    let Shape { n, k, .. } = stack.shape;
    let is_one = b_dims.iter().rev().skip(2).all(|dim| *dim == 1);
    let fixed = match at.constant_f32(1)? {
        Some(b) if is_one => Some(Fixed::new(level, stack.shape, Matrix::rows(&b, n))),
        _ => None,
    };
    let packed = fixed.as_ref().map_or(0, Fixed::len);
    let scratch =
        matmul::matmul_scratch(level, &stack, fixed.as_ref().is_some_and(Fixed::is_packed));
    let epilogue = Epilogue { alpha, activation: follows.activation, ..Epilogue::NONE };
    let reads = if fixed.is_some() { 1 } else { 2 };
    let built = Built::one(reads, 1, move |io| {
        let (y, scratch) = (io.write(0), io.scratch());
        if k == 0 {
            y.fill(follows.activation.at(0.0));
            return Ok(());
        }
        let b = match &fixed {
            Some(fixed) => fixed.operand(n),
            None => Operand::Plain(Matrix::rows(io.read(1), n)),
        };
        let operands = Operands { a: io.read(0), b, epilogue };
        matmul::matmul(level, &stack, &operands, 0..stack.len(), y, scratch);
        follows.finish(level, y);
        Ok(())
    });
    Ok(built.with_scratch::<f32>(scratch).with_packed::<f32>(packed))
}

/// `a, b`: transposed first, and with what follows.
pub(super) fn fused_matmul(at: &At<'_>, fused: FusedMatMul) -> Result<Built, Lack> {
    let (a_rank, b_rank) = (at.dims(0)?.len(), at.dims(1)?.len());
    let swaps = (fused.transpose_a && a_rank > 1) || (fused.transpose_b && b_rank > 1);
    let follows = Follows::new(fused.activation)?;
    if !swaps {
        return stacked(at, fused.alpha, follows);
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
    general(at, gemm, follows)
}

pub(super) fn gemm(at: &At<'_>, gemm: Gemm, activation: Option<Unary>) -> Result<Built, Lack> {
    general(at, gemm, Follows::new(activation)?)
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
fn general(at: &At<'_>, gemm: Gemm, follows: Follows) -> Result<Built, Lack> {
    at.only_f32(&[0, 1, 2])?;
    let (level, a_dims, b_dims) = (at.level, at.dims(0)?, at.dims(1)?);
    let (&[a_rows, a_columns], &[b_rows, b_columns]) = (&a_dims[..], &b_dims[..]) else {
        return Err("matrices of other than two dims".to_owned());
    };
    let (m, k) = if gemm.transpose_a { (a_columns, a_rows) } else { (a_rows, a_columns) };
    let n = if gemm.transpose_b { b_rows } else { b_columns };
    let shape = Shape { m, n, k };
    let fixed = at.constant_f32(1)?;
    let fixed = fixed.map(|b| Fixed::new(level, shape, matrix(&b, b_columns, gemm.transpose_b)));
    let packed = fixed.as_ref().map_or(0, Fixed::len);
    let is_packed = fixed.as_ref().is_some_and(Fixed::is_packed);
    let scratch = gemm::gemm_scratch(level, shape, false, is_packed);
    let (added, is_fixed) = (added(at, m, n)?, fixed.is_some());
    let built = Built::one(3, 1, move |io| {
        let (y, scratch) = (io.write(0), io.scratch());
        let c = || io.read::<f32>(2);
        let (bias, residual) = match added {
            Added::Nothing => (Bias::None, Residual::None),
            Added::Scalar => (Bias::Scalar(c()[0]), Residual::None),
            Added::Row => (Bias::Row(c()), Residual::None),
            Added::Column => (Bias::Column(c()), Residual::None),
            Added::All => (Bias::None, Residual::Rows { data: c(), stride: n }),
        };
        let (alpha, beta) = (gemm.alpha, gemm.beta);
        let epilogue = Epilogue { alpha, beta, bias, residual, activation: follows.activation };
        let a = Operand::Plain(matrix(io.read(0), a_columns, gemm.transpose_a));
        let b = match &fixed {
            Some(fixed) => fixed.operand(n),
            None => Operand::Plain(matrix(io.read(1), b_columns, gemm.transpose_b)),
        };
        gemm::gemm(level, &Product { shape, a, b, epilogue }, y, n, scratch);
        follows.finish(level, y);
        Ok(())
    });
    let built = built.with_scratch::<f32>(scratch).with_packed::<f32>(packed);
    Ok(if is_fixed { built.without_operand(1) } else { built })
}

/// Any number of tensors, with a letter for each axis.
pub(super) fn einsum(at: &At<'_>, equation: &str) -> Result<Built, Lack> {
    let Labels { lens, kept, strides } = Labels::of(at, equation)?;
    by_number!(at.dtype(0)?, T => Ok(Built::one(strides.len(), 1, move |io| {
        let y = io.write::<T>(0);
        let io = &*io;
        let operands = strides.iter().enumerate().map(|(i, strides)| (io.read::<T>(i), &strides[..]));
        einsum::einsum(&lens, kept, operands, y);
        Ok(())
    })))
}

/// The labels of an equation: those of the result first, and the strides of every operand along them.
struct Labels {
    lens: Vec<usize>,
    kept: usize,
    strides: Vec<Vec<usize>>,
}

impl Labels {
    fn of(at: &At<'_>, equation: &str) -> Result<Self, Lack> {
        let equation: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match equation.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (&equation[..], None),
        };
        let mut terms = Vec::new();
        for (operand, term) in left.split(',').enumerate() {
            terms.push(spelled(term, at.dims(operand)?.len())?);
        }
        let result = match right {
            Some(right) => spelled(right, at.result_dims(0)?.len())?,
            None => implied(&terms),
        };
        let mut labels = result.clone();
        for label in terms.iter().flatten() {
            if !labels.contains(label) {
                labels.push(*label);
            }
        }
        if labels.len() > einsum::MOST_LABELS {
            return Err(format!("{} labels, at most {}", labels.len(), einsum::MOST_LABELS));
        }
        let (mut lens, mut strides) = (vec![1; labels.len()], Vec::new());
        for (operand, term) in terms.iter().enumerate() {
            let dims = at.dims(operand)?;
            let (mut along, mut stride) = (vec![0; labels.len()], 1);
            for (label, dim) in term.iter().zip(&dims).rev() {
                let at = labels.iter().position(|other| other == label).unwrap_or(0);
                // What is one long is the same everywhere along the label.
                if *dim != 1 {
                    along[at] += stride;
                    lens[at] = *dim;
                }
                stride *= dim;
            }
            strides.push(along);
        }
        Ok(Labels { lens, kept: result.len(), strides })
    }
}

/// The labels of a term of so many axes; those that dots stand for are numbers, counted from the last.
fn spelled(term: &str, rank: usize) -> Result<Vec<u32>, Lack> {
    let (before, behind) = match term.split_once("...") {
        Some((before, behind)) => (before, Some(behind)),
        None => (term, None),
    };
    let count = before.chars().count() + behind.map_or(0, |behind| behind.chars().count());
    let dots = rank.checked_sub(count).filter(|dots| *dots == 0 || behind.is_some());
    let dots = dots.ok_or_else(|| format!("`{term}` for {rank} axes"))?;
    let dots = (0..dots as u32).rev();
    let behind = behind.unwrap_or_default();
    Ok(before.chars().map(u32::from).chain(dots).chain(behind.chars().map(u32::from)).collect())
}

/// Without a result: what dots stand for, and then every letter that is there once, in alphabetical order.
fn implied(terms: &[Vec<u32>]) -> Vec<u32> {
    let all: Vec<u32> = terms.iter().flatten().copied().collect();
    let dots = all.iter().filter(|label| **label < LETTERS).max().map_or(0, |most| most + 1);
    let once = |label: &u32| *label >= LETTERS && all.iter().filter(|l| *l == label).count() == 1;
    let mut letters: Vec<u32> = all.iter().copied().filter(once).collect();
    letters.sort_unstable();
    (0..dots).rev().chain(letters).collect()
}

/// Where letters begin among labels.
const LETTERS: u32 = 32;
