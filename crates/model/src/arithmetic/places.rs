//! At places that are elements themselves.

use plimsoll_graph::Numbers;

use super::array::{Array, Target, each};
use super::number::Number;
use super::{Operands, normal};

/// A place on an axis that may count from the end.
fn place(index: &Number, dim: usize) -> Option<usize> {
    normal(index.known_int()?, dim)
}

pub(super) fn gather(axis: i64, operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let (x, indices) = (operands.array(0)?, operands.array(1)?);
    let axis = normal(axis, x.rank())?;
    let end = axis + indices.rank();
    target.fill(|at| {
        let index = place(&indices.at(at.get(axis..end)?)?, x.dims[axis])?;
        x.at(&[&at[..axis], &[index], &at[end..]].concat())
    })
}

pub(super) fn gather_elements(
    axis: i64,
    operands: &Operands<'_>,
    target: &Target,
) -> Option<Numbers> {
    let (x, indices) = (operands.array(0)?, operands.array(1)?);
    let axis = normal(axis, x.rank())?;
    target.fill(|at| {
        let mut from = at.to_vec();
        *from.get_mut(axis)? = place(&indices.at(at)?, x.dims[axis])?;
        x.at(&from)
    })
}

pub(super) fn gather_nd(
    batch_dims: u64,
    operands: &Operands<'_>,
    target: &Target,
) -> Option<Numbers> {
    let (x, indices) = (operands.array(0)?, operands.array(1)?);
    let batch = usize::try_from(batch_dims).ok()?;
    let (depth, outer) = indices.dims.split_last()?;
    let dims = x.dims.get(batch..batch.checked_add(*depth)?)?;
    target.fill(|at| {
        let mut from = at.get(..batch)?.to_vec();
        let mut index_at = at.get(..outer.len())?.to_vec();
        for (component, dim) in dims.iter().enumerate() {
            index_at.push(component);
            from.push(place(&indices.at(&index_at)?, *dim)?);
            index_at.pop();
        }
        from.extend_from_slice(&at[outer.len()..]);
        x.at(&from)
    })
}

/// `indices, depth, values`. A place that is not there has no one.
pub(super) fn one_hot(axis: i64, operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let (indices, values) = (operands.array(0)?, operands.array(2)?);
    let (off, on) = (values.flat(0)?, values.flat(1)?);
    let axis = normal(axis, target.rank())?;
    target.fill(|at| {
        let index = indices.at(&[&at[..axis], &at[axis + 1..]].concat())?;
        if index.known_int().is_none() {
            return off.clone().join(on.clone());
        }
        Some(if place(&index, target.dims[axis]) == Some(at[axis]) {
            on.clone()
        } else {
            off.clone()
        })
    })
}

/// How many elements are not 0, if that is known of all; a scalar has no axes to count along.
pub(super) fn count_non_zero(operands: &Operands<'_>) -> Option<usize> {
    operands.fact(0)?.numbers.as_ref()?;
    let x = operands.array(0)?;
    if x.rank() == 0 { None } else { trues(&x).map(|trues| trues.len()) }
}

/// The coordinates of what is not 0, axis by axis.
pub(super) fn non_zero(operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let x = operands.array(0)?;
    let mut places = Vec::new();
    let mut decided = true;
    each(&x.dims, |at| match x.at(at).and_then(|number| number.truth()) {
        Some(true) => places.push(at.to_vec()),
        Some(false) => {}
        None => decided = false,
    });
    if !decided || target.dims != [x.rank(), places.len()] {
        return None;
    }
    target.fill(|at| whole(*places.get(at[1])?.get(at[0])?))
}

fn whole(number: usize) -> Option<Number> {
    i64::try_from(number).ok().map(|number| Number::Int(number.into()))
}

/// The indices of what is not 0, if that is known of all.
fn trues(array: &Array<'_>) -> Option<Vec<usize>> {
    let mut trues = Vec::new();
    for (index, number) in array.iter().enumerate() {
        if number.truth()? {
            trues.push(index);
        }
    }
    Some(trues)
}

/// How many places a condition keeps, if all of it is known.
pub(super) fn count_kept(operands: &Operands<'_>) -> Option<usize> {
    operands.fact(1)?.numbers.as_ref()?;
    trues(&operands.array(1)?).map(|kept| kept.len())
}

pub(super) fn compress(
    axis: Option<i64>,
    operands: &Operands<'_>,
    target: &Target,
) -> Option<Numbers> {
    let x = operands.array(0)?;
    let kept = trues(&operands.array(1)?)?;
    let Some(axis) = axis else {
        return target.fill(|at| x.flat(*kept.get(*at.first()?)?));
    };
    let axis = normal(axis, x.rank())?;
    target.fill(|at| {
        let mut from = at.to_vec();
        let at = from.get_mut(axis)?;
        *at = *kept.get(*at)?;
        x.at(&from)
    })
}
