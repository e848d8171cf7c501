//! Along axes: reductions and norms.

use plimsoll_graph::shape::dims::{axis_of, limit};
use plimsoll_graph::{Dim, Dtype, Fact};

use super::Inputs;
use super::operands::{
    Facts, axes_in, check_broadcasts_to, check_length, is_empty, like, list, made, operand,
    optional,
};
use crate::model::{LayerNorm, Norm, Reduce};

/// `x, axes?`.
pub(super) fn reduce(inputs: &Inputs<'_>, reduce: Reduce) -> Facts {
    let x = operand(inputs, 0)?;
    let keep = reduce.keep_dims;
    let dims = match (x.dims(), optional(inputs, 1).filter(|axes| !is_empty(axes))) {
        (_, None) if reduce.none_if_empty => return Ok(vec![like(x)]),
        (None, None) => (!keep).then(Vec::new),
        (None, Some(_)) => None,
        (Some(dims), None) => Some(reduced(dims, &vec![true; dims.len()], keep)),
        (Some(dims), Some(axes)) => match axes_in(axes, dims.len())? {
            Some(axes) => {
                let mut gone = vec![false; dims.len()];
                for axis in axes {
                    gone[axis] = true;
                }
                Some(reduced(dims, &gone, keep))
            }
            None => maybe_reduced(dims, axes, keep)?,
        },
    };
    Ok(vec![made(x.dtype, dims)])
}

/// The dims that are left, and 1s for the others if they stay.
fn reduced(dims: &[Dim], gone: &[bool], keep: bool) -> Vec<Dim> {
    let dims = dims.iter().zip(gone).map(|(dim, gone)| match (gone, keep) {
        (false, _) => Some(dim.clone()),
        (true, true) => Some(Dim::Known(1)),
        (true, false) => None,
    });
    dims.flatten().collect()
}

/// The dims that are left if it is not known which.
fn maybe_reduced(dims: &[Dim], axes: &Fact, keep: bool) -> Result<Option<Vec<Dim>>, String> {
    let or_one = |dim: &Dim| match dim {
        Dim::Known(1) => Dim::Known(1),
        dim => limit(dim).map_or(Dim::Unknown, |dim| Dim::AtMost(dim.max(1))),
    };
    if keep {
        return Ok(Some(dims.iter().map(or_one).collect()));
    }
    if list(axes).is_some_and(|axes| axes.len() == 1) {
        let left = dims.len().checked_sub(1).ok_or("an axis of a scalar")?;
        return Ok(Some(vec![Dim::Unknown; left]));
    }
    Ok(None)
}

/// Positions along one axis.
pub(super) fn arg_reduce(inputs: &Inputs<'_>, axis: i64, keep: bool) -> Facts {
    let x = operand(inputs, 0)?;
    let Some(dims) = x.dims() else { return Ok(vec![Fact::of_type(Some(Dtype::I64))]) };
    let mut gone = vec![false; dims.len()];
    gone[axis_of(axis, dims.len())?] = true;
    Ok(vec![made(Some(Dtype::I64), Some(reduced(dims, &gone, keep)))])
}

/// `x, scale, bias, mean, variance` to `y, mean?, variance?`.
pub(super) fn batch_norm(inputs: &Inputs<'_>) -> Facts {
    if let Some([_, channels, ..]) = operand(inputs, 0)?.dims() {
        (1..=4).try_for_each(|index| check_length(inputs, index, channels))?;
    }
    Ok(vec![like(operand(inputs, 0)?), like(operand(inputs, 3)?), like(operand(inputs, 4)?)])
}

/// `x, scale?, bias?` to `y`.
pub(super) fn norm(inputs: &Inputs<'_>, norm: &Norm) -> Facts {
    let x = operand(inputs, 0)?;
    match (norm, x.dims()) {
        (Norm::Group { groups, by_group: true, .. }, _) => {
            check_scale_and_bias(inputs, &Dim::Known(*groups))?;
        }
        (Norm::Instance { .. } | Norm::Group { by_group: false, .. }, Some([_, channels, ..])) => {
            check_scale_and_bias(inputs, channels)?;
        }
        (Norm::Rms { .. }, Some(dims)) => check_broadcasts_to(inputs, 1, dims)?,
        (
            Norm::Instance { .. }
            | Norm::Group { .. }
            | Norm::Rms { .. }
            | Norm::Lp { .. }
            | Norm::MeanVariance { .. },
            _,
        ) => {}
    }
    Ok(vec![like(x)])
}

fn check_scale_and_bias(inputs: &Inputs<'_>, elements: &Dim) -> Result<(), String> {
    [1, 2].iter().try_for_each(|index| check_length(inputs, *index, elements))
}

/// `x, scale, bias?` to `y, mean?, inverse deviation?`.
pub(super) fn layer_norm(inputs: &Inputs<'_>, norm: LayerNorm) -> Facts {
    let x = operand(inputs, 0)?;
    if let Some(dims) = x.dims() {
        [1, 2].iter().try_for_each(|index| check_broadcasts_to(inputs, *index, dims))?;
    }
    let mut statistics = Fact { dtype: Some(norm.stash), ..like(x) };
    if let Some(shape) = &mut statistics.shape {
        let axis = axis_of(norm.axis, shape.0.len())?;
        shape.0[axis..].fill(Dim::Known(1));
    }
    Ok(vec![like(x), statistics.clone(), statistics])
}

/// `x, skip, scale, shift?, bias?` to `y, mean?, inverse deviation?, sum?`.
pub(super) fn skip_norm(inputs: &Inputs<'_>) -> Facts {
    let x = operand(inputs, 0)?;
    Ok(vec![like(x), Fact::default(), Fact::default(), like(x)])
}

#[cfg(test)]
mod tests;
