//! Element by element: the shape of the operand, or of operands broadcast against each other.

use plimsoll_graph::shape::dims::{agreed, broadcast, count, grown, shown};
use plimsoll_graph::{Dim, Dtype, Fact};

use super::Inputs;
use super::operands::{Facts, check_single, like, made, operand, optional};
use crate::model::{Binary, Unary};

/// One output in the type and shape of the first operand.
pub(super) fn same(inputs: &Inputs<'_>) -> Facts {
    Ok(vec![like(operand(inputs, 0)?)])
}

/// The first operand in another type.
pub(super) fn cast(inputs: &Inputs<'_>, dtype: Option<Dtype>) -> Facts {
    Ok(vec![Fact { dtype, ..like(operand(inputs, 0)?) }])
}

/// `x, like`.
pub(super) fn cast_like(inputs: &Inputs<'_>) -> Facts {
    cast(inputs, operand(inputs, 1)?.dtype)
}

pub(super) fn unary(function: Unary, inputs: &Inputs<'_>) -> Facts {
    match function {
        Unary::IsInf { .. } | Unary::IsNan => cast(inputs, Some(Dtype::Bool)),
        _ => same(inputs),
    }
}

pub(super) fn binary(function: Binary, inputs: &Inputs<'_>) -> Facts {
    let (a, b) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let dtype = match function {
        Binary::Prelu => return same(inputs),
        Binary::Add | Binary::Sub | Binary::Mul | Binary::Div | Binary::Mod { .. } => {
            a.dtype.or(b.dtype)
        }
        Binary::Pow
        | Binary::BitwiseAnd
        | Binary::BitwiseOr
        | Binary::BitwiseXor
        | Binary::ShiftLeft
        | Binary::ShiftRight
        | Binary::AddGelu { .. }
        | Binary::QuantizedAdd
        | Binary::QuantizedMul => a.dtype,
        Binary::And
        | Binary::Or
        | Binary::Xor
        | Binary::Equal
        | Binary::Less
        | Binary::LessOrEqual
        | Binary::Greater
        | Binary::GreaterOrEqual => Some(Dtype::Bool),
    };
    Ok(vec![made(dtype, broadcast_all(&[a, b])?)])
}

/// Any number of operands of one type.
pub(super) fn variadic(inputs: &Inputs<'_>) -> Facts {
    operand(inputs, 0)?;
    let facts: Vec<&Fact> = inputs.iter().copied().flatten().collect();
    let dtype = facts.iter().find_map(|fact| fact.dtype);
    Ok(vec![made(dtype, broadcast_all(&facts)?)])
}

/// `x, least?, most?`, each limit one number.
pub(super) fn clip(inputs: &Inputs<'_>) -> Facts {
    [1, 2].iter().try_for_each(|limit| check_single(inputs, *limit))?;
    same(inputs)
}

/// `condition, then, else`.
pub(super) fn choice(inputs: &Inputs<'_>) -> Facts {
    let (condition, then, otherwise) =
        (operand(inputs, 0)?, operand(inputs, 1)?, operand(inputs, 2)?);
    let dims = broadcast_all(&[condition, then, otherwise])?;
    Ok(vec![made(then.dtype.or(otherwise.dtype), dims)])
}

/// The dims of all against each other, if all ranks are known.
fn broadcast_all(facts: &[&Fact]) -> Result<Option<Vec<Dim>>, String> {
    let mut dims = Vec::new();
    for fact in facts {
        let Some(more) = fact.dims() else { return Ok(None) };
        dims = broadcast(&dims, more)?;
    }
    Ok(Some(dims))
}

/// The same bits: the last dim changes as the width does.
pub(super) fn bit_cast(inputs: &Inputs<'_>, dtype: Dtype) -> Facts {
    let x = operand(inputs, 0)?;
    let mut output = Fact { dtype: Some(dtype), ..like(x) };
    let last = output.shape.as_mut().and_then(|shape| shape.0.last_mut());
    match (x.dtype, last) {
        (Some(from), Some(last)) => *last = rewidened(last, from, dtype)?,
        (None, Some(last)) => *last = Dim::Unknown,
        (Some(from), None) if from.bits() != dtype.bits() && x.shape.is_some() => {
            return Err(format!("a scalar of {from} is none of {dtype}"));
        }
        (_, None) => {}
    }
    Ok(vec![output])
}

/// How many elements of one type have the bits of so many of another.
fn rewidened(dim: &Dim, from: Dtype, to: Dtype) -> Result<Dim, String> {
    let bits = |dim: u64| u128::from(dim) * u128::from(from.bits());
    let width = u128::from(to.bits());
    match dim {
        Dim::Known(dim) if !bits(*dim).is_multiple_of(width) => {
            Err(format!("{dim} elements of {from} are not whole ones of {to}"))
        }
        _ => Ok(grown(dim, |dim| u64::try_from(bits(dim) / width).ok())),
    }
}

/// `x, scale, zero?`: to the type of the zero point, else the given one, else `u8`.
pub(super) fn quantize(inputs: &Inputs<'_>, given: Option<Dtype>) -> Facts {
    check_zero(inputs)?;
    let dtype = match optional(inputs, 2) {
        Some(zero) => zero.dtype.or(given),
        None => given.or(Some(Dtype::U8)),
    };
    cast(inputs, dtype)
}

/// `x, scale, zero?`: to the given type, else that of the scale.
pub(super) fn dequantize(inputs: &Inputs<'_>, given: Option<Dtype>) -> Facts {
    check_zero(inputs)?;
    cast(inputs, given.or(operand(inputs, 1)?.dtype))
}

/// An error if there are not as many zero points as scales.
fn check_zero(inputs: &Inputs<'_>) -> Result<(), String> {
    let elements = |index| optional(inputs, index).and_then(Fact::dims).map(count);
    match (elements(1), elements(2)) {
        (Some(scales), Some(zeros)) if agreed(&scales, &zeros).is_none() => {
            Err(format!("{} zero points for {} scales", shown(&zeros), shown(&scales)))
        }
        _ => Ok(()),
    }
}

/// `x` to `y, scale, zero`.
pub(super) fn dynamic_quantize(inputs: &Inputs<'_>) -> Facts {
    let mut facts = cast(inputs, Some(Dtype::U8))?;
    facts.extend([Fact::new(Dtype::F32, []), Fact::new(Dtype::U8, [])]);
    Ok(facts)
}

/// `x, …` to `y, mask?`.
pub(super) fn dropout(inputs: &Inputs<'_>, early_mask: bool) -> Facts {
    let mut facts = same(inputs)?;
    facts.extend(if early_mask { same(inputs)? } else { cast(inputs, Some(Dtype::Bool))? });
    Ok(facts)
}

#[cfg(test)]
mod tests;
