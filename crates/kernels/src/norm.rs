//! Normalisations: layer, RMS, instance, group, batch, Lp, mean and variance, and local response.
//!
//! Those that see a row at once (layer, RMS, instance, group) bring it to mean 0 first and then sum the
//! squares, which loses nothing to cancellation; every sum goes in a fixed order. What is in place has
//! the same bits as what is not: the latter copies each row and goes on in place.

use crate::binary::{Binary, Side, binary_in_place};
use crate::broadcast::Broadcast;
use crate::math;
use crate::places::Along;
use crate::reduce::{RealReduction, Reduce, Reduction, reduce, reduce_real};
use crate::simd::{Level, widest};
use crate::sum::sum_of;

/// Scales and biases of the elements of a row, if there are any: as many as elements, or one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Affine<'a> {
    /// What elements are multiplied by.
    pub scale: Option<&'a [f32]>,
    /// What is then added.
    pub bias: Option<&'a [f32]>,
}

impl Affine<'_> {
    #[inline(always)]
    fn apply(self, row: &mut [f32]) {
        match self.scale {
            Some(&[scale]) => row.iter_mut().for_each(|y| *y *= scale),
            Some(scale) => row.iter_mut().zip(scale).for_each(|(y, &scale)| *y *= scale),
            None => {}
        }
        match self.bias {
            Some(&[bias]) => row.iter_mut().for_each(|y| *y += bias),
            Some(bias) => row.iter_mut().zip(bias).for_each(|(y, &bias)| *y += bias),
            None => {}
        }
    }

    fn assert_fits(self, len: usize) {
        for part in [self.scale, self.bias].into_iter().flatten() {
            assert!(part.len() == len || part.len() == 1, "{} for rows of {len}", part.len());
        }
    }
}

/// What else a layer norm can tell of each row.
#[derive(Debug, Default)]
pub struct Statistics<'a> {
    /// The means.
    pub mean: Option<&'a mut [f32]>,
    /// One over the deviations.
    pub inverse_deviation: Option<&'a mut [f32]>,
}

/// How rows are brought to a common size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowNorm {
    /// Mean 0 and variance 1.
    Layer,
    /// Mean square 1.
    Rms,
}

/// `y =` the rows of `x`, each of `len` elements, normalised: layer norm and RMS norm over the last
/// axes, whose product is `len`.
pub fn norm_rows(
    level: Level,
    (norm, epsilon): (RowNorm, f32),
    (x, len): (&[f32], usize),
    affine: Affine<'_>,
    y: &mut [f32],
    statistics: Statistics<'_>,
) {
    assert_eq!(x.len(), y.len());
    rows((level, norm, epsilon), Some(x), len, affine, y, statistics);
}

/// [`norm_rows`] with `x` in `y` already.
pub fn norm_rows_in_place(
    level: Level,
    (norm, epsilon): (RowNorm, f32),
    (y, len): (&mut [f32], usize),
    affine: Affine<'_>,
    statistics: Statistics<'_>,
) {
    rows((level, norm, epsilon), None, len, affine, y, statistics);
}

fn rows(
    (level, norm, epsilon): (Level, RowNorm, f32),
    x: Option<&[f32]>,
    len: usize,
    affine: Affine<'_>,
    y: &mut [f32],
    mut statistics: Statistics<'_>,
) {
    affine.assert_fits(len);
    if y.is_empty() {
        return;
    }
    assert_eq!(y.len() % len, 0);
    for (i, row) in y.chunks_exact_mut(len).enumerate() {
        if let Some(x) = x {
            row.copy_from_slice(&x[i * len..(i + 1) * len]);
        }
        let (mean, inverse) = widest(
            level,
            #[inline(always)]
            || {
                let of_row = normalise(norm, epsilon, row);
                affine.apply(row);
                of_row
            },
        );
        if let Some(means) = &mut statistics.mean {
            means[i] = mean;
        }
        if let Some(inverses) = &mut statistics.inverse_deviation {
            inverses[i] = inverse;
        }
    }
}

/// Brings a row to mean 0 and variance 1, or to mean square 1; gives the mean and the factor.
#[inline(always)]
fn normalise(norm: RowNorm, epsilon: f32, row: &mut [f32]) -> (f32, f32) {
    let count = row.len() as f32;
    let mean = match norm {
        RowNorm::Layer => sum_of(row, |x| x) / count,
        RowNorm::Rms => 0.0,
    };
    let variance = sum_of(
        row,
        #[inline(always)]
        |x| (x - mean) * (x - mean),
    ) / count;
    let inverse = 1.0 / math::sqrt(variance + epsilon);
    for y in row {
        *y = (*y - mean) * inverse;
    }
    (mean, inverse)
}

/// `y [n, c, …]` from `x`: each group of channels of each image to mean 0 and variance 1, then each
/// channel scaled and biased. Instance norm has as many groups as channels.
pub fn group_norm(
    level: Level,
    (groups, epsilon): (usize, f32),
    (x, dims): (&[f32], &[usize]),
    affine: Affine<'_>,
    y: &mut [f32],
) {
    y.copy_from_slice(x);
    group_norm_in_place(level, (groups, epsilon), (y, dims), affine);
}

/// [`group_norm`] with `x` in `y` already.
pub fn group_norm_in_place(
    level: Level,
    (groups, epsilon): (usize, f32),
    (y, dims): (&mut [f32], &[usize]),
    affine: Affine<'_>,
) {
    let Along { dim: channels, inner, .. } = Along::new(dims, 1);
    assert_eq!(y.len(), dims.iter().product::<usize>());
    assert_eq!(channels % groups, 0);
    affine.assert_fits(channels);
    if y.is_empty() {
        return;
    }
    for (i, group) in y.chunks_exact_mut(channels / groups * inner).enumerate() {
        let first = i % groups * (channels / groups);
        widest(
            level,
            #[inline(always)]
            || {
                normalise(RowNorm::Layer, epsilon, group);
                for (c, row) in group.chunks_exact_mut(inner).enumerate() {
                    let one = |of: &'_ [f32]| if of.len() == 1 { of[0] } else { of[first + c] };
                    let (scale, bias) =
                        (affine.scale.map_or(1.0, one), affine.bias.map_or(0.0, one));
                    for y in row {
                        *y = *y * scale + bias;
                    }
                }
            },
        );
    }
}

/// What a batch norm knows of each channel.
#[derive(Clone, Copy, Debug)]
pub struct BatchNorm<'a> {
    /// What channels are multiplied by.
    pub scale: &'a [f32],
    /// What is then added.
    pub bias: &'a [f32],
    /// Their means.
    pub mean: &'a [f32],
    /// Their variances.
    pub variance: &'a [f32],
    /// What is added to variances.
    pub epsilon: f32,
}

impl BatchNorm<'_> {
    /// The factor of a channel and what is added.
    #[inline(always)]
    fn line(&self, channel: usize) -> (f32, f32) {
        let factor = self.scale[channel] / math::sqrt(self.variance[channel] + self.epsilon);
        (factor, self.bias[channel] - self.mean[channel] * factor)
    }
}

/// `y [n, c, …] = scale (x - mean) / √(variance + epsilon) + bias` by channel, as one product and one
/// sum for each element.
pub fn batch_norm(
    level: Level,
    norm: &BatchNorm<'_>,
    (x, dims): (&[f32], &[usize]),
    y: &mut [f32],
) {
    let along = channels(norm, dims, y.len());
    assert_eq!(x.len(), y.len());
    let slice = (along.dim * along.inner).max(1);
    for (x, y) in x.chunks_exact(slice).zip(y.chunks_exact_mut(slice)) {
        y.copy_from_slice(x);
        widest(
            level,
            #[inline(always)]
            || batch_norm_image(norm, y, along.inner),
        );
    }
}

/// [`batch_norm`] with `x` in `y` already.
pub fn batch_norm_in_place(level: Level, norm: &BatchNorm<'_>, (y, dims): (&mut [f32], &[usize])) {
    let along = channels(norm, dims, y.len());
    for y in y.chunks_exact_mut((along.dim * along.inner).max(1)) {
        widest(
            level,
            #[inline(always)]
            || batch_norm_image(norm, y, along.inner),
        );
    }
}

/// Checks the lengths.
fn channels(norm: &BatchNorm<'_>, dims: &[usize], len: usize) -> Along {
    let along = if dims.len() < 2 {
        Along { outer: dims.iter().product(), dim: 1, inner: 1 }
    } else {
        Along::new(dims, 1)
    };
    assert_eq!(len, along.len());
    for part in [norm.scale, norm.bias, norm.mean, norm.variance] {
        assert_eq!(part.len(), along.dim);
    }
    along
}

#[inline(always)]
fn batch_norm_image(norm: &BatchNorm<'_>, y: &mut [f32], inner: usize) {
    for (channel, row) in y.chunks_exact_mut(inner).enumerate() {
        let (factor, addend) = norm.line(channel);
        for y in row {
            *y = *y * factor + addend;
        }
    }
}

/// Which norm a row is divided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lp {
    /// The sum of magnitudes.
    One,
    /// The root of the sum of squares.
    Two,
}

/// How many `f32` of scratch [`lp_norm`] takes: one for each row.
#[must_use]
pub fn scratch_lp_norm(dims: &[usize], axis: usize) -> usize {
    let along = Along::new(dims, axis);
    along.outer * along.inner
}

/// `y = x` over its norm along `axis`; a row of zeros stays what it is.
pub fn lp_norm(
    level: Level,
    lp: Lp,
    (x, dims): (&[f32], &[usize]),
    axis: usize,
    y: &mut [f32],
    scratch: &mut [f32],
) {
    y.copy_from_slice(x);
    lp_norm_in_place(level, lp, (y, dims), axis, scratch);
}

/// [`lp_norm`] with `x` in `y` already.
pub fn lp_norm_in_place(
    level: Level,
    lp: Lp,
    (y, dims): (&mut [f32], &[usize]),
    axis: usize,
    scratch: &mut [f32],
) {
    let Along { outer, dim, inner } = Along::new(dims, axis);
    let norms = &mut scratch[..outer * inner];
    let shape = Reduce::new(dims, |at| at == axis);
    match lp {
        Lp::One => reduce(level, Reduction::L1, &shape, y, norms),
        Lp::Two => reduce_real(level, RealReduction::L2, &shape, y, norms),
    }
    for norm in &mut *norms {
        *norm = if *norm == 0.0 { 1.0 } else { *norm };
    }
    let shape = Broadcast::new(&[outer, dim, inner], [&[outer, dim, inner], &[outer, 1, inner]]);
    binary_in_place(level, Binary::Div, &shape, (Side::Left, norms), y);
}

/// How many `f32` of scratch [`mean_variance_norm`] takes: one for each row.
#[must_use]
pub fn scratch_mean_variance_norm(dims: &[usize], is_reduced: impl Fn(usize) -> bool) -> usize {
    dims.iter().enumerate().filter(|(axis, _)| !is_reduced(*axis)).map(|(_, dim)| dim).product()
}

/// `y = (x - mean) / (deviation + 1e-9)` over the axes for which `is_reduced` says so.
pub fn mean_variance_norm(
    level: Level,
    (x, dims): (&[f32], &[usize]),
    is_reduced: impl Fn(usize) -> bool + Copy,
    y: &mut [f32],
    scratch: &mut [f32],
) {
    y.copy_from_slice(x);
    mean_variance_norm_in_place(level, (y, dims), is_reduced, scratch);
}

/// [`mean_variance_norm`] with `x` in `y` already.
pub fn mean_variance_norm_in_place(
    level: Level,
    (y, dims): (&mut [f32], &[usize]),
    is_reduced: impl Fn(usize) -> bool + Copy,
    scratch: &mut [f32],
) {
    let rows = &mut scratch[..scratch_mean_variance_norm(dims, is_reduced)];
    let shape = Reduce::new(dims, is_reduced);
    let mut kept = [1; crate::MAX_RANK];
    for (axis, dim) in dims.iter().enumerate().filter(|(axis, _)| !is_reduced(*axis)) {
        kept[axis] = *dim;
    }
    let broadcast = Broadcast::new(dims, [dims, &kept[..dims.len()]]);
    reduce(level, Reduction::Mean, &shape, y, rows);
    binary_in_place(level, Binary::Sub, &broadcast, (Side::Left, rows), y);
    reduce_real(level, RealReduction::L2, &shape, y, rows);
    let inverse_root = 1.0 / math::sqrt(shape.count() as f32);
    for row in &mut *rows {
        *row = *row * inverse_root + 1e-9;
    }
    binary_in_place(level, Binary::Div, &broadcast, (Side::Left, rows), y);
}

/// What a local response norm is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LocalResponse {
    /// How many channels beside each other count.
    pub size: usize,
    /// The factor of their squares.
    pub alpha: f32,
    /// The exponent.
    pub beta: f32,
    /// What is added to the squares.
    pub bias: f32,
}

/// `y [n, c, …] = x / (bias + alpha / size · squares of neighbouring channels)^beta`.
pub fn local_response_norm(norm: LocalResponse, (x, dims): (&[f32], &[usize]), y: &mut [f32]) {
    let Along { dim: channels, inner, .. } = Along::new(dims, 1);
    assert_eq!(x.len(), y.len());
    let (before, after) = ((norm.size - 1) / 2, norm.size / 2);
    let factor = norm.alpha / norm.size as f32;
    for (i, y) in y.iter_mut().enumerate() {
        let channel = i / inner % channels;
        let (from, to) = (before.min(channel), after.min(channels - 1 - channel));
        let mut squares = 0.0;
        for place in (i - from * inner..=i + to * inner).step_by(inner) {
            squares += x[place] * x[place];
        }
        *y = x[i] / math::pow(norm.bias + factor * squares, norm.beta);
    }
}
