//! Images: interpolation, regions and grids.

use plimsoll_graph::shape::dims::{at_most, axes_of, grown, limit, once, same};
use plimsoll_graph::{Dim, Fact, Shape};

use super::Inputs;
use super::fill::truncated;
use super::operands::{
    Facts, dims_in, dims_of_rank, is_empty, length, like, list, made, operand, optional,
};
use crate::model::{Resize, Sizing};

/// `x, rois, batches`.
pub(super) fn roi_align(inputs: &Inputs<'_>, height: u64, width: u64) -> Facts {
    let (x, rois, batches) = (operand(inputs, 0)?, operand(inputs, 1)?, operand(inputs, 2)?);
    let channels = dims_of_rank(x, 4)?[1].clone();
    let rois = dims_of_rank(rois, 2)?;
    same(&rois[1], &Dim::Known(4))?;
    let rois = same(&rois[0], &length(batches))?;
    let dims = vec![rois, channels, Dim::Known(height), Dim::Known(width)];
    Ok(vec![made(x.dtype, Some(dims))])
}

/// `x, grid`.
pub(super) fn grid_sample(inputs: &Inputs<'_>) -> Facts {
    let (x, grid) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let Some(rank) = x.rank().or(grid.rank()) else { return Ok(vec![made(x.dtype, None)]) };
    if rank < 3 {
        return Err(format!("{rank} axes, not batch, channels and more"));
    }
    let (dims, grid) = (dims_of_rank(x, rank)?, dims_of_rank(grid, rank)?);
    same(&grid[rank - 1], &Dim::Known(rank as u64 - 2))?;
    let output = [&[same(&dims[0], &grid[0])?, dims[1].clone()], &grid[1..rank - 1]].concat();
    Ok(vec![made(x.dtype, Some(output))])
}

/// `theta [batch, 2, 3] or [batch, 3, 4], size`.
pub(super) fn affine_grid(inputs: &Inputs<'_>) -> Facts {
    let (theta, size) = (operand(inputs, 0)?, dims_in(operand(inputs, 1)?)?);
    let matrix = dims_of_rank(theta, 3)?;
    let axes = match (&size, matrix[1].clone()) {
        (Some(size), rows) => {
            let Some(axes @ 2..=3) = size.len().checked_sub(2) else {
                return Err(format!("{} dims, not 4 or 5", size.len()));
            };
            same(&rows, &Dim::Known(axes as u64))?;
            axes
        }
        (None, Dim::Known(axes @ 2..=3)) => axes as usize,
        (None, _) => return Ok(vec![made(theta.dtype, None)]),
    };
    let size = size.unwrap_or_else(|| vec![Dim::Unknown; axes + 2]);
    let mut dims = vec![same(&matrix[0], &size[0])?];
    dims.extend_from_slice(&size[2..]);
    dims.push(Dim::Known(axes as u64));
    Ok(vec![made(theta.dtype, Some(dims))])
}

/// `x, roi?, scales?, dims?`.
pub(super) fn resize(inputs: &Inputs<'_>, resize: &Resize) -> Facts {
    let x = operand(inputs, 0)?;
    let given = |index| optional(inputs, index).filter(|fact| !is_empty(fact));
    let mut output = like(x);
    let Some(shape) = output.shape.as_mut() else { return Ok(vec![output]) };
    let rank = shape.0.len();
    let axes = match &resize.axes {
        Some(axes) => once(axes_of(axes, rank)?)?,
        None => (0..rank).collect(),
    };
    let from: Vec<Dim> = axes.iter().map(|axis| shape.0[*axis].clone()).collect();
    let to = match (given(2), given(3)) {
        (_, Some(wanted)) => sized(&from, wanted, resize.sizing)?,
        (Some(scales), None) if resize.crops() => cropped(&from, scales, given(1))?,
        (Some(scales), None) => scaled(&from, scales)?,
        (None, None) => return Err("neither scales nor dims".to_owned()),
    };
    axes.into_iter().zip(to).for_each(|(axis, dim)| shape.0[axis] = dim);
    Ok(vec![output])
}

/// The scales of axes, if they are known.
fn scales_of(scales: &Fact, axes: usize) -> Result<Option<Vec<f32>>, String> {
    let Some(scales) = scales.floats() else { return Ok(None) };
    if scales.len() != axes {
        return Err(format!("{} scales for {axes} axes", scales.len()));
    }
    match scales.iter().find(|scale| !(scale.is_finite() && **scale > 0.0)) {
        Some(scale) => Err(format!("a scale of {scale}")),
        None => Ok(Some(scales.iter().map(|scale| *scale as f32).collect())),
    }
}

/// Dims times scales, as runtimes reckon it.
fn scaled(dims: &[Dim], scales: &Fact) -> Result<Vec<Dim>, String> {
    let Some(scales) = scales_of(scales, dims.len())? else {
        return Ok(vec![Dim::Unknown; dims.len()]);
    };
    Ok(dims.iter().zip(scales).map(|(dim, scale)| scaled_dim(dim, scale)).collect())
}

#[allow(clippy::float_cmp, reason = "1 is exact")]
fn scaled_dim(dim: &Dim, scale: f32) -> Dim {
    if scale == 1.0 {
        return dim.clone();
    }
    // As long as whole numbers are exact, so is their product.
    let whole = truncated(f64::from(scale)).filter(|_| scale.fract() == 0.0);
    if let (Dim::Follows(expr), Some(whole)) = (dim, whole) {
        let product = expr.times_number(i128::from(whole));
        if let Some(product) = product.filter(|product| product.bounds().1 <= 1 << 24) {
            return product.dim();
        }
    }
    grown(dim, |dim| truncated(f64::from((dim as f32 * scale).floor())))
}

/// Dims times scales where these apply to regions. Some runtimes scale the whole axis all the same;
/// then the larger is the limit.
fn cropped(dims: &[Dim], scales: &Fact, roi: Option<&Fact>) -> Result<Vec<Dim>, String> {
    let whole = scaled(dims, scales)?;
    let (Some(scales), Some(roi)) =
        (scales_of(scales, dims.len())?, roi.and_then(|roi| roi.floats()))
    else {
        return Ok(vec![Dim::Unknown; dims.len()]);
    };
    if roi.len() != 2 * dims.len() {
        return Err(format!("{} limits of regions for {} axes", roi.len(), dims.len()));
    }
    let (starts, ends) = roi.split_at(dims.len());
    let mut output = Vec::new();
    for (axis, whole) in whole.into_iter().enumerate() {
        let part = ends[axis] as f32 - starts[axis] as f32;
        let dim = grown(&dims[axis], |dim| {
            truncated(f64::from((dim as f32 * part * scales[axis]).floor()))
        });
        output.push(larger(&whole, &dim));
    }
    Ok(output)
}

/// What is known of a dim that may be the one or the other.
fn larger(a: &Dim, b: &Dim) -> Dim {
    if a == b {
        return a.clone();
    }
    let limits = limit(a).zip(limit(b));
    at_most(limits.map(|(a, b)| a.max(b)))
}

/// Dims that are given, or that are to be kept to.
fn sized(from: &[Dim], wanted: &Fact, sizing: Sizing) -> Result<Vec<Dim>, String> {
    if let Some(wanted) = list(wanted)
        && wanted.len() != from.len()
    {
        return Err(format!("{} dims for {} axes", wanted.len(), from.len()));
    }
    let to = dims_in(wanted)?.unwrap_or_else(|| vec![Dim::Unknown; from.len()]);
    let known = |dims: &[Dim]| Shape(dims.to_vec()).known();
    match (sizing, known(from), known(&to)) {
        (Sizing::Exact, _, _) => Ok(to),
        (_, Some(from), Some(to)) if !from.contains(&0) => Ok(proportional(&from, &to, sizing)),
        (Sizing::NotLarger, _, _) => Ok(to.into_iter().map(|dim| at_most(limit(&dim))).collect()),
        (Sizing::NotSmaller, _, _) => Ok(vec![Dim::Unknown; from.len()]),
    }
}

/// Dims with their proportions kept, none of them larger, or none smaller, than wanted. How
/// precisely that is reckoned is up to the runtime; where it matters, the larger is the limit.
fn proportional(from: &[u64], to: &[u64], sizing: Sizing) -> Vec<Dim> {
    let ratios = from.iter().zip(to).map(|(from, to)| (*to, *from));
    let before = |a: &(u64, u64), b: &(u64, u64)| {
        (u128::from(a.0) * u128::from(b.1)).cmp(&(u128::from(b.0) * u128::from(a.1)))
    };
    let ratio = match sizing {
        Sizing::NotSmaller => ratios.max_by(before),
        Sizing::NotLarger | Sizing::Exact => ratios.min_by(before),
    };
    let Some((over, under)) = ratio else { return Vec::new() };
    let coarse_scale = over as f32 / under as f32;
    let dim = |dim: &u64| {
        // Rounded to the nearest, halves up.
        let (over, under) = (u128::from(over), u128::from(under));
        let twice =
            (u128::from(*dim) * over).checked_mul(2).and_then(|twice| twice.checked_add(under));
        let exact = twice.and_then(|twice| u64::try_from(twice / (2 * under)).ok());
        let coarse = truncated(f64::from((*dim as f32 * coarse_scale + 0.5).floor()));
        let known = |dim: Option<u64>| dim.map_or(Dim::Unknown, Dim::Known);
        larger(&known(exact), &known(coarse))
    };
    from.iter().map(dim).collect()
}

#[cfg(test)]
mod tests;
