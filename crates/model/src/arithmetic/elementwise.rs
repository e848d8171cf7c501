//! Element by element.

use std::cmp::Ordering;

use plimsoll_graph::{Class, Dtype, Int, Numbers};

use super::array::Target;
use super::number::{self, Number, rounded};
use super::{Operands, interval};
use crate::model::{Binary, Unary};

pub(super) fn unary(function: Unary, operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let x = operands.array(0)?;
    target.fill(|at| match x.broadcast(at)? {
        Number::Int(int) => unary_int(function, int, target.dtype).map(Number::Int),
        Number::Float(float) => unary_float(function, float).map(Number::Float),
    })
}

fn unary_int(function: Unary, int: Int, dtype: Dtype) -> Option<Int> {
    match function {
        Unary::Abs => interval::abs(int),
        Unary::Neg => interval::neg(&int),
        Unary::Not if dtype == Dtype::Bool => interval::sub(&Int::from(1), &int),
        Unary::Sign => Some(Int::between(int.lo.signum(), int.hi.signum())),
        Unary::Ceil | Unary::Floor | Unary::Round => Some(int),
        _ => None,
    }
}

fn unary_float(function: Unary, float: f64) -> Option<f64> {
    match function {
        Unary::Abs => Some(float.abs()),
        Unary::Ceil => Some(float.ceil()),
        Unary::Floor => Some(float.floor()),
        Unary::Neg => Some(-float),
        Unary::Reciprocal => Some(float.recip()),
        Unary::Round => Some(float.round_ties_even()),
        Unary::Sign if float == 0.0 => Some(0.0),
        Unary::Sign if float.is_nan() => None,
        Unary::Sign => Some(float.signum()),
        Unary::Sqrt => Some(float.sqrt()),
        // Kernels differ in the last digits, or nobody reckons with them.
        _ => None,
    }
}

pub(super) fn binary(
    function: Binary,
    operands: &Operands<'_>,
    target: &Target,
) -> Option<Numbers> {
    let (a, b) = (operands.array(0)?, operands.array(1)?);
    target.fill(|at| match (a.broadcast(at)?, b.broadcast(at)?) {
        (Number::Int(a), Number::Int(b)) => binary_int(function, &a, &b),
        (Number::Float(a), Number::Float(b)) => binary_float(function, a, b),
        (Number::Int(_), Number::Float(_)) | (Number::Float(_), Number::Int(_)) => None,
    })
}

fn binary_int(function: Binary, a: &Int, b: &Int) -> Option<Number> {
    let truth = |int: &Int| Number::Int(int.clone()).truth();
    match function {
        Binary::Add => interval::add(a, b).map(Number::Int),
        Binary::Sub => interval::sub(a, b).map(Number::Int),
        Binary::Mul => interval::mul(a, b).map(Number::Int),
        Binary::Div => interval::div(a, b).map(Number::Int),
        Binary::Mod { as_in_c } => interval::modulo(a, b, as_in_c).map(Number::Int),
        Binary::Pow => interval::pow(a, b).map(Number::Int),
        Binary::And => match (truth(a), truth(b)) {
            (Some(false), _) | (_, Some(false)) => Some(Number::from(false)),
            (a, b) => Some(Number::from(a? && b?)),
        },
        Binary::Or => match (truth(a), truth(b)) {
            (Some(true), _) | (_, Some(true)) => Some(Number::from(true)),
            (a, b) => Some(Number::from(a? || b?)),
        },
        Binary::Xor => Some(Number::from(truth(a)? != truth(b)?)),
        Binary::Equal => interval::equal(a, b).map(Number::from),
        Binary::Less => interval::less(a, b).map(Number::from),
        Binary::Greater => interval::less(b, a).map(Number::from),
        Binary::LessOrEqual => interval::less(b, a).map(|more| Number::from(!more)),
        Binary::GreaterOrEqual => interval::less(a, b).map(|less| Number::from(!less)),
        Binary::Prelu
        | Binary::BitwiseAnd
        | Binary::BitwiseOr
        | Binary::BitwiseXor
        | Binary::ShiftLeft
        | Binary::ShiftRight
        | Binary::AddGelu { .. }
        | Binary::QuantizedAdd
        | Binary::QuantizedMul => None,
    }
}

fn binary_float(function: Binary, a: f64, b: f64) -> Option<Number> {
    let compared =
        |holds: fn(Ordering) -> bool| Some(Number::from(a.partial_cmp(&b).is_some_and(holds)));
    match function {
        Binary::Add => Some(Number::Float(a + b)),
        Binary::Sub => Some(Number::Float(a - b)),
        Binary::Mul => Some(Number::Float(a * b)),
        Binary::Div => Some(Number::Float(a / b)),
        Binary::Mod { as_in_c: true } => Some(Number::Float(a % b)),
        Binary::Equal => compared(Ordering::is_eq),
        Binary::Less => compared(Ordering::is_lt),
        Binary::LessOrEqual => compared(Ordering::is_le),
        Binary::Greater => compared(Ordering::is_gt),
        Binary::GreaterOrEqual => compared(Ordering::is_ge),
        // How precise a power is differs from kernel to kernel.
        Binary::Mod { as_in_c: false }
        | Binary::Pow
        | Binary::And
        | Binary::Or
        | Binary::Xor
        | Binary::Prelu
        | Binary::BitwiseAnd
        | Binary::BitwiseOr
        | Binary::BitwiseXor
        | Binary::ShiftLeft
        | Binary::ShiftRight
        | Binary::AddGelu { .. }
        | Binary::QuantizedAdd
        | Binary::QuantizedMul => None,
    }
}

/// `condition, then, else`.
pub(super) fn choice(operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let (condition, then, otherwise) = (operands.array(0)?, operands.array(1), operands.array(2));
    let pick = |array: &Option<super::Array<'_>>, at: &[usize]| array.as_ref()?.broadcast(at);
    target.fill(|at| match condition.broadcast(at)?.truth() {
        Some(true) => pick(&then, at),
        Some(false) => pick(&otherwise, at),
        None => pick(&then, at)?.join(pick(&otherwise, at)?),
    })
}

/// `x, least?, most?`.
pub(super) fn clip(operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let x = operands.array(0)?;
    let limit = |index| match operands.fact(index) {
        None => Some(None),
        Some(_) => operands.scalar(index).map(Some),
    };
    let (least, most) = (limit(1)?, limit(2)?);
    target.fill(|at| {
        let x = x.broadcast(at)?;
        let raised = match least.clone() {
            Some(least) => extreme(x, least, interval::max, f64::max)?,
            None => x,
        };
        match most.clone() {
            Some(most) => extreme(raised, most, interval::min, f64::min),
            None => Some(raised),
        }
    })
}

/// The larger or smaller of two.
pub(super) fn extreme(
    a: Number,
    b: Number,
    of_ints: fn(Int, Int) -> Int,
    of_floats: fn(f64, f64) -> f64,
) -> Option<Number> {
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => Some(Number::Int(of_ints(a, b))),
        (Number::Float(a), Number::Float(b)) if !a.is_nan() && !b.is_nan() => {
            Some(Number::Float(of_floats(a, b)))
        }
        _ => None,
    }
}

pub(super) fn cast(operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let x = operands.array(0)?;
    target.fill(|at| converted(x.at(at)?, target.dtype))
}

/// A number as an element of another type.
pub(super) fn converted(number: Number, dtype: Dtype) -> Option<Number> {
    match (number, dtype.class()) {
        (number, _) if dtype == Dtype::Bool => number.truth().map(Number::from),
        (Number::Int(int), Class::Integer) => Some(Number::Int(wrapped(int, dtype)?)),
        (Number::Int(int), Class::Float) => float_of(int.known()?, dtype).map(Number::Float),
        (Number::Float(float), Class::Integer) => whole_of(float, dtype).map(Number::Int),
        (Number::Float(float), Class::Float) => rounded(float, dtype).map(Number::Float),
        (_, Class::Complex) => None,
    }
}

/// An integer in a type that may be narrower: its lower bits.
fn wrapped(int: Int, dtype: Dtype) -> Option<Int> {
    let any = number::any(dtype)?;
    let bits = 64 - dtype.bits();
    match int.known() {
        Some(known) if any.lo < 0 => Some(Int::from((known << bits) >> bits)),
        Some(known) => Some(Int::from(known & any.hi)),
        None => number::fitted(int, dtype),
    }
}

fn float_of(int: i64, dtype: Dtype) -> Option<f64> {
    match dtype {
        Dtype::F32 => Some(f64::from(int as f32)),
        _ => rounded(int as f64, dtype),
    }
}

/// A real number without its fraction; nothing if it does not fit, since kernels differ then.
fn whole_of(float: f64, dtype: Dtype) -> Option<Int> {
    let any = number::any(dtype)?;
    let whole = float.trunc();
    let fits = whole >= any.lo as f64 && whole < any.hi as f64 + 1.0;
    fits.then(|| Int::from(whole as i64))
}
