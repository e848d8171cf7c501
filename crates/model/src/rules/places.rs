//! At computed places: gather, scatter, and what picks as many as the data say.

use plimsoll_graph::shape::dims::{agreed, at_most, axis_of, count, lesser, limit, same, shown};
use plimsoll_graph::{Dim, Dtype, Fact};

use super::Inputs;
use super::fill::truncated;
use super::operands::{
    Facts, check_length, check_single, dim_in, dims_of_rank, is_empty, length, like, made, operand,
    optional, scalar,
};

/// `x, indices`: slices of an axis.
pub(super) fn gather(inputs: &Inputs<'_>, axis: i64) -> Facts {
    let (x, indices) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let Some(dims) = x.dims() else { return Ok(vec![made(x.dtype, None)]) };
    let axis = axis_of(axis, dims.len())?;
    let dims = indices.dims().map(|indices| [&dims[..axis], indices, &dims[axis + 1..]].concat());
    Ok(vec![made(x.dtype, dims)])
}

/// `x, indices`: one element each.
pub(super) fn gather_elements(inputs: &Inputs<'_>, axis: i64) -> Facts {
    let (x, indices) = (operand(inputs, 0)?, operand(inputs, 1)?);
    if let Some(rank) = x.rank().or(indices.rank()) {
        axis_of(axis, rank)?;
        dims_of_rank(indices, rank)?;
    }
    Ok(vec![Fact { dtype: x.dtype, ..like(indices) }])
}

/// `x, indices`: slices at coordinates.
pub(super) fn gather_nd(inputs: &Inputs<'_>, batch_dims: u64) -> Facts {
    let (x, indices) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let (Some(dims), Some(places)) = (x.dims(), indices.dims()) else {
        return Ok(vec![made(x.dtype, None)]);
    };
    let Some((coordinates, places)) = places.split_last() else {
        return Err("indices without axes".to_owned());
    };
    let batch = usize::try_from(batch_dims).unwrap_or(usize::MAX);
    if batch > places.len() || batch > dims.len() {
        return Err(format!(
            "{batch_dims} batch axes of {} axes",
            dims.len().min(places.len() + 1)
        ));
    }
    let mut output = places.to_vec();
    for (dim, other) in output[..batch].iter_mut().zip(dims) {
        *dim = same(dim, other)?;
    }
    let rest = &dims[batch..];
    match coordinates {
        Dim::Known(n) if *n > rest.len() as u64 => {
            Err(format!("{n} coordinates for {} axes", rest.len()))
        }
        Dim::Known(n) => {
            output.extend_from_slice(&rest[*n as usize..]);
            Ok(vec![made(x.dtype, Some(output))])
        }
        Dim::AtMost(_) | Dim::Follows(_) | Dim::Unknown => Ok(vec![made(x.dtype, None)]),
    }
}

/// `x, indices, updates`: one element each.
pub(super) fn scatter_elements(inputs: &Inputs<'_>, axis: i64) -> Facts {
    let (x, indices, updates) = (operand(inputs, 0)?, operand(inputs, 1)?, operand(inputs, 2)?);
    if let Some(rank) = x.rank().or(indices.rank()) {
        axis_of(axis, rank)?;
        let (indices, updates) = (dims_of_rank(indices, rank)?, dims_of_rank(updates, rank)?);
        indices
            .iter()
            .zip(&updates)
            .try_for_each(|(place, update)| same(place, update).map(drop))?;
    }
    Ok(vec![like(x)])
}

/// `x, indices, updates`: slices at coordinates.
pub(super) fn scatter_nd(inputs: &Inputs<'_>) -> Facts {
    let (x, indices, updates) = (operand(inputs, 0)?, operand(inputs, 1)?, operand(inputs, 2)?);
    if let (Some(dims), Some([places @ .., Dim::Known(coordinates)])) = (x.dims(), indices.dims()) {
        let rest = usize::try_from(*coordinates).ok().and_then(|from| dims.get(from..));
        let Some(rest) = rest else {
            return Err(format!("{coordinates} coordinates for {} axes", dims.len()));
        };
        let wanted = [places, rest].concat();
        let updates = dims_of_rank(updates, wanted.len())?;
        wanted.iter().zip(&updates).try_for_each(|(dim, update)| same(dim, update).map(drop))?;
    }
    Ok(vec![like(x)])
}

/// `indices, depth, values`.
pub(super) fn one_hot(inputs: &Inputs<'_>, axis: i64) -> Facts {
    let (indices, depth, values) = (operand(inputs, 0)?, operand(inputs, 1)?, operand(inputs, 2)?);
    check_single(inputs, 1)?;
    check_length(inputs, 2, &Dim::Known(2))?;
    let depth = match depth.floats() {
        Some([depth]) => truncated(*depth).map_or(Dim::Unknown, Dim::Known),
        Some(_) => Dim::Unknown,
        None => dim_in(scalar(depth))?,
    };
    let Some(dims) = indices.dims() else { return Ok(vec![made(values.dtype, None)]) };
    let mut dims = dims.to_vec();
    dims.insert(axis_of(axis, dims.len() + 1)?, depth);
    Ok(vec![made(values.dtype, Some(dims))])
}

/// `x` to `[rank, count]`.
pub(super) fn non_zero(inputs: &Inputs<'_>) -> Facts {
    let x = operand(inputs, 0)?;
    let dims = match x.dims() {
        None => [Dim::Unknown, Dim::Unknown],
        // Runtimes do not agree on whether a scalar has a coordinate.
        Some([]) => [Dim::AtMost(1), Dim::AtMost(1)],
        Some(dims) => [Dim::Known(dims.len() as u64), at_most(limit(&count(dims)))],
    };
    Ok(vec![made(Some(Dtype::I64), Some(dims.to_vec()))])
}

/// `x, condition`.
pub(super) fn compress(inputs: &Inputs<'_>, axis: Option<i64>) -> Facts {
    let (x, condition) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let Some(axis) = axis else {
        let dim = x.dims().map_or(Dim::Unknown, count);
        return Ok(vec![made(x.dtype, Some(vec![chosen(&dim, condition)]))]);
    };
    let mut output = like(x);
    if let Some(shape) = &mut output.shape {
        let axis = axis_of(axis, shape.0.len())?;
        shape.0[axis] = chosen(&shape.0[axis], condition);
    }
    Ok(vec![output])
}

/// How many of so many elements a condition chooses.
fn chosen(dim: &Dim, condition: &Fact) -> Dim {
    match (dim, condition.known_ints()) {
        (Dim::Known(dim), Some(truths)) if truths.len() as u64 <= *dim => {
            Dim::Known(truths.iter().filter(|truth| **truth != 0).count() as u64)
        }
        _ => lesser(dim, &length(condition)),
    }
}

/// `x` to `y, first?, inverse?, counts?`.
pub(super) fn unique(inputs: &Inputs<'_>, axis: Option<i64>) -> Facts {
    let x = operand(inputs, 0)?;
    let (values, all) = match (x.dims(), axis) {
        (None, None) => (Some(vec![Dim::Unknown]), Dim::Unknown),
        (None, Some(_)) => (None, Dim::Unknown),
        (Some(dims), None) => (Some(vec![at_most(limit(&count(dims)))]), count(dims)),
        (Some(dims), Some(axis)) => {
            let axis = axis_of(axis, dims.len())?;
            let mut values = dims.to_vec();
            values[axis] = at_most(limit(&dims[axis]));
            (Some(values), dims[axis].clone())
        }
    };
    let numbers = |dim| made(Some(Dtype::I64), Some(vec![dim]));
    let some = at_most(limit(&all));
    Ok(vec![made(x.dtype, values), numbers(some.clone()), numbers(all), numbers(some)])
}

/// `x, k` to `values, indices`.
pub(super) fn top_k(inputs: &Inputs<'_>, axis: i64) -> Facts {
    let (x, k) = (operand(inputs, 0)?, operand(inputs, 1)?);
    check_single(inputs, 1)?;
    let k = dim_in(scalar(k))?;
    let mut values = like(x);
    if let Some(shape) = &mut values.shape {
        let axis = axis_of(axis, shape.0.len())?;
        let all = shape.0[axis].clone();
        let fewer = agreed(&k, &at_most(limit(&all)));
        shape.0[axis] = fewer.ok_or_else(|| format!("{} of {}", shown(&k), shown(&all)))?;
    }
    let indices = Fact { dtype: Some(Dtype::I64), ..values.clone() };
    Ok(vec![values, indices])
}

/// `boxes [batch, n, 4], scores [batch, classes, n], most?, …` to `[count, 3]`.
pub(super) fn non_max_suppression(inputs: &Inputs<'_>) -> Facts {
    let boxes = dims_of_rank(operand(inputs, 0)?, 3)?;
    let scores = dims_of_rank(operand(inputs, 1)?, 3)?;
    same(&boxes[2], &Dim::Known(4))?;
    let (batch, boxes) = (same(&boxes[0], &scores[0])?, same(&boxes[1], &scores[2])?);
    let found = match optional(inputs, 2).filter(|most| !is_empty(most)) {
        None => Dim::Known(0),
        Some(most) => {
            let most = scalar(most);
            let most = if most.hi < 0 { Dim::Known(0) } else { Dim::from(most) };
            at_most(limit(&count(&[batch, scores[1].clone(), lesser(&most, &boxes)])))
        }
    };
    Ok(vec![made(Some(Dtype::I64), Some(vec![found, Dim::Known(3)]))])
}

#[cfg(test)]
mod tests;
