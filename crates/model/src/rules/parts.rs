//! Parts and repetitions along axes: slice, split, concat, tile, pad and crop.

use plimsoll_graph::shape::dims::{
    agreed, at_most, axes_of, axis_of, limit, number, once, over_up, same, shown, sum, times,
};
use plimsoll_graph::shape::expr::{Expr, of_dims};
use plimsoll_graph::{Dim, Fact, Int};

use super::Inputs;
use super::operands::{Facts, axes_in, dims_in, dims_of_rank, like, list, made, operand, optional};

/// `x, starts, ends, axes?, steps?`.
pub(super) fn slice(inputs: &Inputs<'_>) -> Facts {
    let (x, starts, ends) = (operand(inputs, 0)?, operand(inputs, 1)?, operand(inputs, 2)?);
    let (axes, steps) = (optional(inputs, 3), optional(inputs, 4));
    let mut output = like(x);
    let Some(shape) = output.shape.as_mut() else { return Ok(vec![output]) };
    let dims = &mut shape.0;
    let lengths = [Some(starts), Some(ends), axes, steps];
    let parts = lengths.into_iter().flatten().find_map(|fact| list(fact).map(|list| list.len()));
    let axes = match (axes, parts) {
        (Some(axes), _) => axes_in(axes, dims.len())?.map(once).transpose()?,
        (None, Some(parts)) if parts > dims.len() => {
            return Err(format!("{parts} axes of {}", dims.len()));
        }
        (None, parts) => parts.map(|parts| (0..parts).collect()),
    };
    let Some(axes) = axes else {
        // Any axis may become shorter.
        for dim in dims.iter_mut() {
            *dim = at_most(limit(dim));
        }
        return Ok(vec![output]);
    };
    let numbers = |fact: &Fact| list(fact).unwrap_or_else(|| vec![Int::ANY; axes.len()]);
    let (starts, ends) = (numbers(starts), numbers(ends));
    let steps = steps.map_or_else(|| vec![Int::from(1); axes.len()], numbers);
    for given in [&starts, &ends, &steps] {
        if given.len() != axes.len() {
            return Err(format!("{} numbers for {} axes", given.len(), axes.len()));
        }
    }
    for (index, axis) in axes.into_iter().enumerate() {
        dims[axis] = sliced(&dims[axis], &starts[index], &ends[index], &steps[index])?;
    }
    Ok(vec![output])
}

/// How long a slice of an axis is.
fn sliced(dim: &Dim, start: &Int, end: &Int, step: &Int) -> Result<Dim, String> {
    match (start.known(), end.known(), step.known()) {
        (_, _, Some(0)) => return Err("a step of 0".to_owned()),
        (Some(start), Some(end), Some(step)) => {
            if let Dim::Known(dim) = dim {
                return Ok(slice_length(*dim, start, end, step));
            }
            if start == 0 && step == 1 && end >= FAR {
                return Ok(dim.clone());
            }
        }
        _ => {}
    }
    if let Some(part) = followed_part(dim, start, end, step) {
        return Ok(part.length.dim());
    }
    Ok(at_most(slice_limit(limit(dim), start, end, step)))
}

/// A part of an axis that follows from sizes.
#[derive(Clone, Debug)]
pub(crate) struct FollowedPart {
    /// The first element that is kept.
    pub(crate) start: Expr,
    /// How many are kept.
    pub(crate) length: Expr,
}

/// The part of an axis between two places that may be negative or beyond the end, in steps forward.
/// Nothing if all of it is known, or if it is not decided for all sizes on which side of the ends of
/// the axis a place is.
pub(crate) fn followed_part(dim: &Dim, start: &Int, end: &Int, step: &Int) -> Option<FollowedPart> {
    let one = followed(dim, start, end)?;
    let step = step.known().filter(|step| *step > 0)?;
    let dim = one.of_dim(dim)?;
    let zero = dim.times_number(0)?;
    let place = |int: &Int| -> Option<Expr> {
        let number = one.of_int(int)?;
        let ahead = number.at_least(&zero)?;
        let number = if ahead { number } else { number.plus(&dim)? };
        let number = if number.at_least(&zero)? { number } else { zero.clone() };
        Some(if dim.at_least(&number)? { number } else { dim.clone() })
    };
    let (start, end) = (place(start)?, place(end)?);
    let way = if end.at_least(&start)? { end.minus(&start)? } else { zero };
    Some(FollowedPart { start, length: way.over_up(i128::from(step))? })
}

/// What of a dim and two numbers follows from sizes, if something does.
fn followed<'a>(dim: &'a Dim, a: &'a Int, b: &'a Int) -> Option<&'a Expr> {
    match dim {
        Dim::Follows(expr) => Some(expr),
        _ => a.expr.as_ref().or(b.expr.as_ref()),
    }
}

/// From here on an end means the end of the axis.
const FAR: i64 = i32::MAX as i64;

/// How long a slice is of which all is known. Backwards from a place before the first element,
/// some runtimes start at the first one and some do not start.
fn slice_length(dim: u64, start: i64, end: i64, step: i64) -> Dim {
    if dim == 0 {
        return Dim::Known(0);
    }
    let dim = i128::from(dim);
    let place = |number: i64| {
        let number = i128::from(number);
        if number < 0 { number + dim } else { number }
    };
    let (start, end) = (place(start), place(end));
    let length = |way: i128| {
        let length = way.max(0).unsigned_abs().div_ceil(step.unsigned_abs().into());
        u64::try_from(length).unwrap_or(u64::MAX)
    };
    if step > 0 {
        return Dim::Known(length(end.clamp(0, dim) - start.clamp(0, dim)));
    }
    let end = end.clamp(-1, dim - 1);
    let most = length(start.clamp(0, dim - 1) - end);
    let same = length(start.clamp(-1, dim - 1) - end) == most;
    if same { Dim::Known(most) } else { Dim::AtMost(most) }
}

/// The longest that a slice can be.
fn slice_limit(dim: Option<u64>, start: &Int, end: &Int, step: &Int) -> Option<u64> {
    if step.lo > 0 {
        return way_limit(dim, start, end).map(|way| way.div_ceil(step.lo.unsigned_abs()));
    }
    // Backwards from the start to before the end is what is after the end and not after the start.
    match (after(end), after(start)) {
        (Some(low), Some(high)) if step.hi < 0 => {
            let least = u64::from(start.lo < 0).min(dim.unwrap_or(1));
            let way = way_limit(dim, &low, &high)?.max(least);
            Some(way.div_ceil(step.hi.unsigned_abs()))
        }
        _ => dim,
    }
}

/// The place after a place, if it is clear from which end of the axis that counts.
fn after(place: &Int) -> Option<Int> {
    match (place.lo, place.hi) {
        (-1, -1) => Some(Int::from(i64::MAX)),
        (lo, hi) if lo >= 0 || hi < -1 => {
            Some(Int::between(lo.saturating_add(1), hi.saturating_add(1)))
        }
        _ => None,
    }
}

/// The longest way from one place to another of an axis. Negative places count from its end.
fn way_limit(dim: Option<u64>, low: &Int, high: &Int) -> Option<u64> {
    let dim = dim.map(i128::from);
    let near =
        |place: i64| (place.unsigned_abs() < FAR.unsigned_abs()).then_some(i128::from(place));
    let (low_lo, high_hi) = (i128::from(low.lo), i128::from(high.hi));
    let low_ahead = (low.lo >= 0).then_some(low_lo);
    let low_back = if low.hi < 0 { near(low.lo) } else { None };
    let high_ahead = if high.lo >= 0 { near(high.hi) } else { None };
    let high_back = (high.hi < 0).then_some(high_hi);
    let limits = [
        dim,
        dim.zip(low_ahead).map(|(dim, low)| dim - low),
        low_back.map(|low| -low),
        high_ahead,
        dim.zip(high_back).map(|(dim, high)| dim + high),
        high_ahead.zip(low_ahead).map(|(high, low)| high - low),
        high_back.zip(low_back).map(|(high, low)| high - low),
        dim.zip(low_ahead).zip(high_back).map(|((dim, low), high)| dim - low + high),
    ];
    number(limits.into_iter().flatten().min()?.max(0))
}

/// `x, lengths?`, in so many parts.
pub(super) fn split(inputs: &Inputs<'_>, axis: i64, parts: usize) -> Facts {
    let x = operand(inputs, 0)?;
    let Some(dims) = x.dims() else { return Ok(vec![made(x.dtype, None); parts]) };
    let axis = axis_of(axis, dims.len())?;
    let lengths = match optional(inputs, 1) {
        Some(lengths) => given_parts(lengths, &dims[axis], parts)?,
        None => equal_parts(&dims[axis], parts)?,
    };
    let part = |length| {
        let mut dims = dims.to_vec();
        dims[axis] = length;
        made(x.dtype, Some(dims))
    };
    Ok(lengths.into_iter().map(part).collect())
}

/// Parts of these lengths.
fn given_parts(lengths: &Fact, dim: &Dim, parts: usize) -> Result<Vec<Dim>, String> {
    let Some(mut lengths) = dims_in(lengths)? else {
        return Ok(vec![at_most(limit(dim)); parts]);
    };
    if lengths.len() != parts {
        return Err(format!("{} lengths for {parts} parts", lengths.len()));
    }
    let total = lengths.iter().fold(Dim::Known(0), |total, length| sum(&total, length));
    if matches!((&total, dim), (Dim::Known(_), Dim::Known(_))) && total != *dim {
        return Err(format!("parts of {} of {}", shown(&total), shown(dim)));
    }
    for length in &mut lengths {
        let shorter = agreed(length, &at_most(limit(dim)));
        *length = shorter.ok_or_else(|| format!("parts of {} of {}", shown(length), shown(dim)))?;
    }
    Ok(lengths)
}

/// Parts of equal lengths, but for the last, which may be shorter.
fn equal_parts(dim: &Dim, parts: usize) -> Result<Vec<Dim>, String> {
    let Some(others) = parts.checked_sub(1) else { return Ok(Vec::new()) };
    let length = over_up(dim, parts as u64);
    let mut lengths = vec![length.clone(); parts];
    if let (Dim::Known(dim), Dim::Known(length)) = (dim, &length) {
        let last = length.checked_mul(others as u64).and_then(|others| dim.checked_sub(others));
        lengths[others] = last.map(Dim::Known).ok_or_else(|| format!("{dim} in {parts} parts"))?;
    } else {
        let before = times(&length, &Dim::Known(others as u64));
        if let Some(last) = of_dims(dim, &before, Expr::minus) {
            lengths[others] = last;
        }
    }
    Ok(lengths)
}

/// Any number of tensors along an axis.
pub(super) fn concat(inputs: &Inputs<'_>, axis: i64) -> Facts {
    operand(inputs, 0)?;
    let facts: Vec<&Fact> = inputs.iter().copied().flatten().collect();
    let dtype = facts.iter().find_map(|fact| fact.dtype);
    let Some(rank) = facts.iter().find_map(|fact| fact.rank()) else {
        return Ok(vec![made(dtype, None)]);
    };
    let axis = axis_of(axis, rank)?;
    let mut dims = vec![Dim::Unknown; rank];
    let mut length = Dim::Known(0);
    for fact in facts {
        let more = dims_of_rank(fact, rank)?;
        length = sum(&length, &more[axis]);
        for (index, dim) in dims.iter_mut().enumerate().filter(|(index, _)| *index != axis) {
            *dim = same(dim, &more[index])?;
        }
    }
    dims[axis] = length;
    Ok(vec![made(dtype, Some(dims))])
}

/// `x, repeats`.
pub(super) fn tile(inputs: &Inputs<'_>) -> Facts {
    let (x, repeats) = (operand(inputs, 0)?, dims_in(operand(inputs, 1)?)?);
    let dims = match (x.dims(), repeats) {
        (None, None) => None,
        (Some(dims), None) => Some(vec![Dim::Unknown; dims.len()]),
        (None, Some(repeats)) => Some(vec![Dim::Unknown; repeats.len()]),
        (Some(dims), Some(repeats)) if dims.len() != repeats.len() => {
            return Err(format!("{} repeats of {} axes", repeats.len(), dims.len()));
        }
        (Some(dims), Some(repeats)) => {
            Some(dims.iter().zip(repeats).map(|(dim, repeat)| times(dim, &repeat)).collect())
        }
    };
    Ok(vec![made(x.dtype, dims)])
}

/// `x, pads, value?, axes?`.
pub(super) fn pad(inputs: &Inputs<'_>) -> Facts {
    let (x, pads) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let mut output = like(x);
    let Some(shape) = output.shape.as_mut() else { return Ok(vec![output]) };
    let dims = &mut shape.0;
    let axes = match optional(inputs, 3) {
        None => Some((0..dims.len()).collect()),
        Some(axes) => axes_in(axes, dims.len())?.map(once).transpose()?,
    };
    let Some(axes) = axes else {
        dims.fill(Dim::Unknown);
        return Ok(vec![output]);
    };
    let pads = list(pads).unwrap_or_else(|| vec![Int::ANY; 2 * axes.len()]);
    if pads.len() != 2 * axes.len() {
        return Err(format!("{} pads for {} axes", pads.len(), axes.len()));
    }
    let (begins, ends) = pads.split_at(axes.len());
    for (axis, (begin, end)) in axes.into_iter().zip(begins.iter().zip(ends)) {
        dims[axis] = padded(&dims[axis], begin, end)?;
    }
    Ok(vec![output])
}

/// A dim with more, or less, at both ends.
fn padded(dim: &Dim, begin: &Int, end: &Int) -> Result<Dim, String> {
    let most = |dim: u64| i128::from(dim) + i128::from(begin.hi) + i128::from(end.hi);
    match (dim, begin.known(), end.known()) {
        (Dim::Known(dim), Some(begin), Some(end)) => match number(most(*dim)) {
            Some(dim) => Ok(Dim::Known(dim)),
            None if begin < 0 || end < 0 => Err(format!("{dim} with {begin} and {end} more")),
            None => Ok(Dim::Unknown),
        },
        _ if begin.hi == i64::MAX || end.hi == i64::MAX => Ok(Dim::Unknown),
        _ => Ok(padded_length(dim, begin, end).map_or_else(
            || at_most(limit(dim).and_then(|dim| number(most(dim).max(0)))),
            |length| length.dim(),
        )),
    }
}

/// The same where it follows from sizes.
fn padded_length(dim: &Dim, begin: &Int, end: &Int) -> Option<Expr> {
    let one = followed(dim, begin, end)?;
    one.of_dim(dim)?.plus(&one.of_int(begin)?)?.plus(&one.of_int(end)?)
}

/// `x, dims`: these lengths of these axes, or of all.
pub(super) fn center_crop_pad(inputs: &Inputs<'_>, axes: Option<&[i64]>) -> Facts {
    let (x, wanted) = (operand(inputs, 0)?, dims_in(operand(inputs, 1)?)?);
    let mut output = like(x);
    match (output.shape.as_mut(), axes) {
        (None, None) => return Ok(vec![made(x.dtype, wanted)]),
        (None, Some(_)) => {}
        (Some(shape), axes) => {
            let rank = shape.0.len();
            let axes =
                axes.map_or_else(|| Ok((0..rank).collect()), |axes| once(axes_of(axes, rank)?))?;
            let wanted = wanted.unwrap_or_else(|| vec![Dim::Unknown; axes.len()]);
            if wanted.len() != axes.len() {
                return Err(format!("{} dims for {} axes", wanted.len(), axes.len()));
            }
            axes.iter().zip(wanted).for_each(|(axis, dim)| shape.0[*axis] = dim);
        }
    }
    Ok(vec![output])
}

#[cfg(test)]
mod tests;
