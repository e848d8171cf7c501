//! The same elements, elsewhere.

use plimsoll_graph::{Fact, Int, Numbers};

use super::array::{Array, Target};
use super::{Operands, normal};

pub(super) fn transpose(
    perm: Option<&[usize]>,
    operands: &Operands<'_>,
    target: &Target,
) -> Option<Numbers> {
    let x = operands.array(0)?;
    let rank = x.rank();
    let perm = perm.map_or_else(|| (0..rank).rev().collect(), <[usize]>::to_vec);
    if perm.len() != rank || target.rank() != rank || perm.iter().any(|axis| *axis >= rank) {
        return None;
    }
    let mut from = vec![0; rank];
    target.fill(|at| {
        for (at, axis) in at.iter().zip(&perm) {
            from[*axis] = *at;
        }
        x.at(&from)
    })
}

/// Where a cut begins along an axis, and its step.
struct Cut {
    axis: usize,
    start: i64,
    step: i64,
}

/// `x, starts, ends, axes?, steps?`. The lengths are known from the shape of the result.
pub(super) fn slice(operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let x = operands.array(0)?;
    if target.rank() != x.rank() {
        return None;
    }
    let cuts = cuts(operands, &x)?;
    let mut from = vec![0; x.rank()];
    target.fill(|at| {
        from.copy_from_slice(at);
        for cut in &cuts {
            let steps = i64::try_from(at[cut.axis]).ok()?.checked_mul(cut.step)?;
            from[cut.axis] = usize::try_from(cut.start.checked_add(steps)?).ok()?;
        }
        x.at(&from)
    })
}

fn cuts(operands: &Operands<'_>, x: &Array<'_>) -> Option<Vec<Cut>> {
    let starts = operands.ints(1)?;
    let axes = match operands.fact(3) {
        None => (0..i64::try_from(starts.len()).ok()?).collect(),
        Some(_) => operands.ints(3)?,
    };
    let steps = match operands.fact(4) {
        None => vec![1; starts.len()],
        Some(_) => operands.ints(4)?,
    };
    if axes.len() != starts.len() || steps.len() != starts.len() {
        return None;
    }
    let cut = |((start, axis), step): ((&i64, &i64), &i64)| {
        let place = normal(*axis, x.rank())?;
        let dim = i64::try_from(x.dims[place]).ok()?;
        let start = if *start < 0 { start.saturating_add(dim) } else { *start };
        let last = if *step < 0 { dim - 1 } else { dim };
        Some(Cut { axis: place, start: start.min(last).max(0), step: *step })
    };
    starts.iter().zip(&axes).zip(&steps).map(cut).collect()
}

/// `x, lengths?`: a part begins where those before it end.
pub(super) fn split(
    axis: i64,
    operands: &Operands<'_>,
    target: &Target,
    outputs: &[Fact],
    index: usize,
) -> Option<Numbers> {
    let x = operands.array(0)?;
    let axis = normal(axis, x.rank())?;
    let mut start = 0usize;
    for output in &outputs[..index] {
        let length = Int::from(output.dims()?.get(axis)?.clone()).known()?;
        start = start.checked_add(usize::try_from(length).ok()?)?;
    }
    let mut from = Vec::new();
    target.fill(|at| {
        from.clear();
        from.extend_from_slice(at);
        *from.get_mut(axis)? += start;
        x.at(&from)
    })
}

pub(super) fn concat(axis: i64, operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let axis = normal(axis, target.rank())?;
    let mut parts = Vec::new();
    let mut end = 0usize;
    for index in 0..operands.inputs.len() {
        let length = Int::from(operands.fact(index)?.dims()?.get(axis)?.clone()).known()?;
        if length > 0 {
            end = end.checked_add(usize::try_from(length).ok()?)?;
            parts.push((end, operands.array(index)?));
        }
    }
    if end != target.dims[axis] {
        return None;
    }
    let mut from = vec![0; target.rank()];
    target.fill(|at| {
        let part = parts.partition_point(|(end, _)| *end <= at[axis]);
        let start = part.checked_sub(1).map_or(0, |before| parts[before].0);
        from.copy_from_slice(at);
        from[axis] -= start;
        parts.get(part)?.1.at(&from)
    })
}

pub(super) fn tile(operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let x = operands.array(0)?;
    if target.rank() != x.rank() {
        return None;
    }
    target.fill(|at| {
        let from: Option<Vec<_>> =
            at.iter().zip(&x.dims).map(|(at, dim)| at.checked_rem(*dim)).collect();
        x.at(&from?)
    })
}
