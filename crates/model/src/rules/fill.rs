//! From nowhere, or from nothing but shapes.

use plimsoll_graph::shape::dims::{at_most, number};
use plimsoll_graph::shape::expr::of_ints;
use plimsoll_graph::{Dim, Dtype, Expr, Fact, Int};

use super::Inputs;
use super::operands::{Facts, check_single, dim_in, dims_in, dims_of_rank, made, operand, scalar};

/// `shape`.
pub(super) fn fill(inputs: &Inputs<'_>, dtype: Dtype) -> Facts {
    Ok(vec![made(Some(dtype), dims_in(operand(inputs, 0)?)?)])
}

/// Of a shape that is given.
pub(super) fn random(dtype: Dtype, dims: &[u64]) -> Vec<Fact> {
    vec![Fact::new(dtype, dims)]
}

/// In the shape of the operand, and in its type if no other is given.
pub(super) fn shaped_like(inputs: &Inputs<'_>, dtype: Option<Dtype>) -> Facts {
    let x = operand(inputs, 0)?;
    Ok(vec![Fact { dtype: dtype.or(x.dtype), shape: x.shape.clone(), numbers: None }])
}

/// `logits [batch, classes]`.
pub(super) fn multinomial(inputs: &Inputs<'_>, dtype: Dtype, samples: u64) -> Facts {
    let dims = dims_of_rank(operand(inputs, 0)?, 2)?;
    Ok(vec![made(Some(dtype), Some(vec![dims[0].clone(), Dim::Known(samples)]))])
}

/// `length`.
pub(super) fn signal_window(inputs: &Inputs<'_>, dtype: Dtype) -> Facts {
    let length = dim_in(scalar(operand(inputs, 0)?))?;
    Ok(vec![made(Some(dtype), Some(vec![length]))])
}

/// The dims from one axis to before another.
pub(super) fn shape(inputs: &Inputs<'_>, start: i64, end: Option<i64>) -> Facts {
    let length = operand(inputs, 0)?.rank().map_or(Dim::Unknown, |rank| {
        let rank = i64::try_from(rank).unwrap_or(i64::MAX);
        let place = |axis: i64| {
            let axis = if axis < 0 { axis.saturating_add(rank) } else { axis };
            axis.clamp(0, rank)
        };
        let axes = end.map_or(rank, place) - place(start);
        Dim::Known(axes.max(0).unsigned_abs())
    });
    Ok(vec![made(Some(Dtype::I64), Some(vec![length]))])
}

/// The number of elements.
pub(super) fn size(inputs: &Inputs<'_>) -> Facts {
    operand(inputs, 0)?;
    Ok(vec![Fact::new(Dtype::I64, [])])
}

/// `start, limit, delta`.
pub(super) fn range(inputs: &Inputs<'_>) -> Facts {
    let (start, limit, delta) = (operand(inputs, 0)?, operand(inputs, 1)?, operand(inputs, 2)?);
    (0..3).try_for_each(|index| check_single(inputs, index))?;
    let dtype = start.dtype.or(limit.dtype).or(delta.dtype);
    let length = match (start.floats(), limit.floats(), delta.floats()) {
        (Some([start]), Some([limit]), Some([delta])) => real_range(*start, *limit, *delta, dtype)?,
        _ => whole_range(&scalar(start), &scalar(limit), &scalar(delta))?,
    };
    Ok(vec![made(dtype, Some(vec![length]))])
}

/// How many integers there are from a start to before a limit.
fn whole_range(start: &Int, limit: &Int, delta: &Int) -> Result<Dim, String> {
    if delta.known() == Some(0) {
        return Err("a step of 0".to_owned());
    }
    if let Some(step) = delta.known().filter(|step| *step > 0)
        && let Some(way) = of_ints(limit, start, Expr::minus)
        && let Some(way) = way.expr.filter(|_| way.lo >= 0)
        && let Some(length) = way.over_up(i128::from(step))
    {
        return Ok(length.dim());
    }
    // The longest way in the direction of the steps, and the shortest step.
    let (way, step) = if delta.lo > 0 {
        (between(start.lo, limit.hi), i128::from(delta.lo))
    } else if delta.hi < 0 {
        (between(limit.lo, start.hi), -i128::from(delta.hi))
    } else {
        return Ok(Dim::Unknown);
    };
    let Some(way) = way else { return Ok(Dim::Unknown) };
    let most = number(way.max(0).unsigned_abs().div_ceil(step.unsigned_abs()).cast_signed());
    let known = [start, limit, delta].iter().all(|int| int.known().is_some());
    Ok(if known { most.map_or(Dim::Unknown, Dim::Known) } else { at_most(most) })
}

/// How far it is from one limit of a number up to one of another, if both are limits.
fn between(from: i64, to: i64) -> Option<i128> {
    (from != i64::MIN && to != i64::MAX).then(|| i128::from(to) - i128::from(from))
}

/// How many real numbers there are from a start to before a limit. How precisely that is reckoned
/// is up to the runtime; where it matters, the larger number is the limit.
fn real_range(start: f64, limit: f64, delta: f64, dtype: Option<Dtype>) -> Result<Dim, String> {
    if delta == 0.0 {
        return Err("a step of 0".to_owned());
    }
    if !(start.is_finite() && limit.is_finite() && delta.is_finite()) {
        return Ok(Dim::Unknown);
    }
    let length = |way: f64, delta: f64| (way / delta).ceil().max(0.0);
    let mut lengths = vec![length(limit - start, delta)];
    if dtype != Some(Dtype::F64) {
        let way = limit as f32 - start as f32;
        lengths.push(length(f64::from(way), delta));
        lengths.push(f64::from((way / delta as f32).ceil().max(0.0)));
    }
    let least = lengths.iter().copied().fold(f64::INFINITY, f64::min);
    let most = lengths.iter().copied().fold(0.0, f64::max);
    Ok(match (truncated(least), truncated(most)) {
        (Some(least), Some(most)) if least == most => Dim::Known(most),
        (_, most) => at_most(most),
    })
}

/// The integer part of a number, if it is exact and not negative.
pub(super) fn truncated(number: f64) -> Option<u64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[allow(clippy::cast_sign_loss, reason = "it is checked")]
    (0.0..=EXACT).contains(&number).then_some(number as u64)
}

#[cfg(test)]
mod tests;
