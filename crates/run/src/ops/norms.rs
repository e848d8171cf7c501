//! Normalisations.

use plimsoll_graph::Dtype;
use plimsoll_kernels::Level;
use plimsoll_kernels::norm::{self, Affine, LocalResponse, Lp, RowNorm, Statistics};
use plimsoll_model::{BatchNorm, LayerNorm, LocalNorm, Norm, SkipNorm};

use super::elementwise::each;
use crate::at::{At, axis_of};
use crate::io::Io;
use crate::kernel::{Built, Done, Lack};

/// `x, scale, bias, mean, variance`, the last two as they were found in training.
pub(super) fn batch_norm(at: &At<'_>, norm: BatchNorm) -> Result<Built, Lack> {
    at.only_f32(&[0, 1, 2, 3, 4])?;
    if norm.training {
        return Err("no kernel for training".to_owned());
    }
    let (level, dims) = (at.level, at.dims(0)?);
    Ok(Built::one(5, 1, move |io| {
        let norm = norm::BatchNorm {
            scale: io.read(1),
            bias: io.read(2),
            mean: io.read(3),
            variance: io.read(4),
            epsilon: norm.epsilon,
        };
        each(
            io,
            |x, y| norm::batch_norm(level, &norm, (x, &dims), y),
            |y| norm::batch_norm_in_place(level, &norm, (y, &dims)),
        )
    }))
}

/// `x, scale, bias?` to `y, mean?, inverse deviation?`.
pub(super) fn layer_norm(at: &At<'_>, norm: LayerNorm) -> Result<Built, Lack> {
    rows(at, RowNorm::Layer, norm.axis, norm.epsilon, norm.stash)
}

fn rows(at: &At<'_>, norm: RowNorm, axis: i64, epsilon: f32, stash: Dtype) -> Result<Built, Lack> {
    at.only_f32(&[0, 1, 2])?;
    if stash != Dtype::F32 {
        return Err(format!("no kernel that reckons in {stash}"));
    }
    let (level, dims) = (at.level, at.dims(0)?);
    let len: usize = dims[axis_of(axis, dims.len())?..].iter().product();
    for operand in [1, 2].into_iter().filter(|operand| at.has(*operand)) {
        let count: usize = at.dims(operand)?.iter().product();
        if count != len && count != 1 {
            return Err(format!("no kernel for {count} scales of rows of {len}"));
        }
    }
    Ok(Built::one(3, 3, move |io| {
        let affine = Affine { scale: io.optional(1), bias: io.optional(2) };
        let statistics = Statistics { mean: io.wanted(1), inverse_deviation: io.wanted(2) };
        let y: &mut [f32] = io.write(0);
        if io.is_in_place(0) {
            norm::norm_rows_in_place(level, (norm, epsilon), (y, len), affine, statistics);
        } else {
            norm::norm_rows(level, (norm, epsilon), (io.read(0), len), affine, y, statistics);
        }
        Ok(())
    }))
}

pub(super) fn norm(at: &At<'_>, norm: &Norm) -> Result<Built, Lack> {
    at.only_f32(&[0, 1, 2])?;
    match norm {
        Norm::Instance { epsilon } => {
            let channels = at.dims(0)?.get(1).copied().unwrap_or(1);
            groups(at, channels, *epsilon)
        }
        Norm::Group { by_group: true, groups: count, epsilon, .. } => {
            scaled_groups(at, *count as usize, *epsilon)
        }
        Norm::Group { groups: count, epsilon, .. } => groups(at, *count as usize, *epsilon),
        Norm::Rms { axis, epsilon, stash } => rows(at, RowNorm::Rms, *axis, *epsilon, *stash),
        Norm::Lp { axis, p } => lp(at, *axis, *p),
        Norm::MeanVariance { axes } => mean_variance(at, axes),
    }
}

fn groups(at: &At<'_>, count: usize, epsilon: f32) -> Result<Built, Lack> {
    let (level, dims) = (at.level, at.dims(0)?);
    Ok(Built::one(3, 1, move |io| {
        let affine = Affine { scale: io.optional(1), bias: io.optional(2) };
        each_of(io, level, (count, epsilon), &dims, affine)
    }))
}

/// Scales and shifts are one number for each group: those of its channels are written out in scratch.
fn scaled_groups(at: &At<'_>, count: usize, epsilon: f32) -> Result<Built, Lack> {
    let (level, dims) = (at.level, at.dims(0)?);
    let channels = dims.get(1).copied().unwrap_or(1);
    let each = (channels / count.max(1)).max(1);
    let built = Built::one(3, 1, move |io| {
        let (scale, bias) = io.scratch::<f32>().split_at_mut(channels);
        for (to, from) in [(&mut *scale, io.read::<f32>(1)), (&mut *bias, io.read(2))] {
            to.iter_mut().enumerate().for_each(|(channel, to)| *to = from[channel / each]);
        }
        let affine = Affine { scale: Some(scale), bias: Some(&bias[..channels]) };
        each_of(io, level, (count, epsilon), &dims, affine)
    });
    Ok(built.with_scratch::<f32>(2 * channels))
}

fn each_of(
    io: &mut Io<'_>,
    level: Level,
    groups: (usize, f32),
    dims: &[usize],
    affine: Affine<'_>,
) -> Done {
    each(
        io,
        |x, y| norm::group_norm(level, groups, (x, dims), affine, y),
        |y| norm::group_norm_in_place(level, groups, (y, dims), affine),
    )
}

/// `x, skip, scale, shift?, bias?` to `y, mean?, inverse deviation?, sum?`.
pub(super) fn skip_norm(at: &At<'_>, skip: SkipNorm) -> Result<Built, Lack> {
    at.only_f32(&[0, 1, 2, 3, 4])?;
    let (level, dims) = (at.level, at.dims(0)?);
    let len = dims.last().copied().unwrap_or(1);
    let norm = if skip.rms { RowNorm::Rms } else { RowNorm::Layer };
    Ok(Built::one(5, 4, move |io| {
        let in_place = [0, 1].map(|operand| io.is_in_place(operand));
        let y: &mut [f32] = io.write(0);
        match in_place {
            [false, false] => {
                y.copy_from_slice(io.read(0));
                add_rows(y, io.read(1));
            }
            [true, false] => add_rows(y, io.read(1)),
            [false, true] => add_rows(y, io.read(0)),
            [true, true] => y.iter_mut().for_each(|y| *y += *y),
        }
        if let Some(bias) = io.optional(4) {
            add_rows(y, bias);
        }
        if let Some(sum) = io.wanted(3) {
            sum.copy_from_slice(y);
        }
        let affine = Affine { scale: io.optional(2), bias: io.optional(3) };
        let statistics = Statistics { mean: io.wanted(1), inverse_deviation: io.wanted(2) };
        norm::norm_rows_in_place(level, (norm, skip.epsilon), (y, len), affine, statistics);
        Ok(())
    }))
}

/// Adds what is as long, or is repeated.
fn add_rows(y: &mut [f32], more: &[f32]) {
    for y in y.chunks_mut(more.len().max(1)) {
        y.iter_mut().zip(more).for_each(|(y, more)| *y += more);
    }
}

fn lp(at: &At<'_>, axis: i64, p: i64) -> Result<Built, Lack> {
    let (level, dims) = (at.level, at.dims(0)?);
    let axis = axis_of(axis, dims.len())?;
    let lp = match p {
        1 => Lp::One,
        2 => Lp::Two,
        _ => return Err(format!("no kernel for norms of power {p}")),
    };
    let scratch = norm::scratch_lp_norm(&dims, axis);
    let built = Built::one(1, 1, move |io| {
        let scratch: &mut [f32] = io.scratch();
        if io.is_in_place(0) {
            norm::lp_norm_in_place(level, lp, (io.write(0), &dims), axis, scratch);
        } else {
            norm::lp_norm(level, lp, (io.read(0), &dims), axis, io.write(0), scratch);
        }
        Ok(())
    });
    Ok(built.with_scratch::<f32>(scratch))
}

fn mean_variance(at: &At<'_>, axes: &[i64]) -> Result<Built, Lack> {
    let (level, dims) = (at.level, at.dims(0)?);
    let axes: Result<Vec<usize>, Lack> =
        axes.iter().map(|axis| axis_of(*axis, dims.len())).collect();
    let axes = axes?;
    let scratch = norm::scratch_mean_variance_norm(&dims, |axis| axes.contains(&axis));
    let built = Built::one(1, 1, move |io| {
        let (scratch, reduced): (&mut [f32], _) = (io.scratch(), |axis| axes.contains(&axis));
        if io.is_in_place(0) {
            norm::mean_variance_norm_in_place(level, (io.write(0), &dims), reduced, scratch);
        } else {
            let y = io.write(0);
            norm::mean_variance_norm(level, (io.read(0), &dims), reduced, y, scratch);
        }
        Ok(())
    });
    Ok(built.with_scratch::<f32>(scratch))
}

pub(super) fn local_norm(at: &At<'_>, norm: LocalNorm) -> Result<Built, Lack> {
    at.only_f32(&[0])?;
    let dims = at.dims(0)?;
    let LocalNorm { alpha, beta, bias, size } = norm;
    let norm = LocalResponse { size: size as usize, alpha, beta, bias };
    Ok(Built::one(1, 1, move |io| {
        norm::local_response_norm(norm, (io.read(0), &dims), io.write(0));
        Ok(())
    }))
}
