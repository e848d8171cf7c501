//! Softmax, its logarithm and hardmax along an axis.
//!
//! Each row is brought below its largest element, so that no exponential overflows. The old edition of these
//! operators, which flattened a tensor into rows, is the same with dims of `[rows, columns]`. A row
//! of nothing but negative infinity gives NaN, as it does in ONNX.

use crate::places::Along;
use crate::simd::{Level, widest};
use crate::sum::{self, LANES, max_of, sum_of};
use crate::{math, order};

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Softmax {
    /// Exponentials over their sum.
    Softmax,
    /// The logarithm of that.
    LogSoftmax,
    /// 1 at the first largest element, else 0.
    Hardmax,
}

/// `y = function(x)` along `axis`.
pub fn softmax(
    level: Level,
    function: Softmax,
    (x, dims): (&[f32], &[usize]),
    axis: usize,
    y: &mut [f32],
) {
    assert_eq!(x.len(), y.len());
    let along = Along::new(dims, axis);
    // Slice by slice, so that what is copied is still near when it is used.
    let slice = (along.dim * along.inner).max(1);
    for (x, y) in x.chunks_exact(slice).zip(y.chunks_exact_mut(slice)) {
        y.copy_from_slice(x);
        slice_in_place(level, function, y, along);
    }
}

/// [`softmax`] with `x` in `y` already.
pub fn softmax_in_place(
    level: Level,
    function: Softmax,
    y: &mut [f32],
    dims: &[usize],
    axis: usize,
) {
    let along = Along::new(dims, axis);
    assert_eq!(y.len(), along.len());
    for y in y.chunks_exact_mut((along.dim * along.inner).max(1)) {
        slice_in_place(level, function, y, along);
    }
}

fn slice_in_place(level: Level, function: Softmax, y: &mut [f32], along: Along) {
    widest(
        level,
        #[inline(always)]
        || match (function, along.inner) {
            (Softmax::Softmax, 1) => softmax_row(y),
            (Softmax::LogSoftmax, 1) => log_softmax_row(y),
            (Softmax::Softmax, inner) => {
                for_each_strip(
                    y,
                    inner,
                    #[inline(always)]
                    |y, strip| softmax_strip(y, inner, strip),
                );
            }
            (Softmax::LogSoftmax, inner) => {
                for_each_strip(
                    y,
                    inner,
                    #[inline(always)]
                    |y, strip| log_softmax_strip(y, inner, strip),
                );
            }
            (Softmax::Hardmax, inner) => hardmax(y, inner),
        },
    );
}

/// A row of elements side by side becomes their softmax.
#[inline(always)]
pub(crate) fn softmax_row(y: &mut [f32]) {
    let most = greatest(y);
    let mut sum = 0.0;
    for block in y.chunks_mut(sum::BLOCK) {
        let mut lanes = [0.0; LANES];
        for_each_vector(
            block,
            #[inline(always)]
            |vector| {
                for lane in 0..LANES {
                    vector[lane] = math::exp_or_zero(vector[lane] - most);
                    lanes[lane] += vector[lane];
                }
            },
        );
        sum += sum::join(lanes, |a, b| a + b);
    }
    let inverse = 1.0 / sum;
    for y in y {
        *y *= inverse;
    }
}

/// Calls `visit` with each vector of a row; the last one is filled up with minus infinity. So there is no rest, which would be
/// gone over number by number.
#[inline(always)]
fn for_each_vector(y: &mut [f32], mut visit: impl FnMut(&mut [f32; LANES])) {
    let (vectors, rest) = y.as_chunks_mut::<LANES>();
    for vector in vectors {
        visit(vector);
    }
    if !rest.is_empty() {
        let mut last = [f32::NEG_INFINITY; LANES];
        last[..rest.len()].copy_from_slice(rest);
        visit(&mut last);
        rest.copy_from_slice(&last[..rest.len()]);
    }
}

/// The largest element but for those that are not numbers: the sum is not a number then, whatever this is.
#[inline(always)]
fn greatest(y: &[f32]) -> f32 {
    let most = |a: f32, b: f32| if a > b { a } else { b };
    let (vectors, rest) = y.as_chunks::<LANES>();
    let mut lanes = [f32::NEG_INFINITY; LANES];
    lanes[..rest.len()].copy_from_slice(rest);
    for vector in vectors {
        for lane in 0..LANES {
            lanes[lane] = most(vector[lane], lanes[lane]);
        }
    }
    sum::join(lanes, most)
}

#[inline(always)]
fn log_softmax_row(y: &mut [f32]) {
    let most = max_of(y);
    let sum = sum_of(
        y,
        #[inline(always)]
        |x| math::exp(x - most),
    );
    let log = math::ln(sum);
    for y in y {
        *y = (*y - most) - log;
    }
}

/// Calls `visit` with each strip of neighbouring columns: the first and how many.
#[inline(always)]
fn for_each_strip(y: &mut [f32], inner: usize, mut visit: impl FnMut(&mut [f32], (usize, usize))) {
    let whole = inner / LANES * LANES;
    for first in (0..whole).step_by(LANES) {
        // The width is a constant here, and loops over lanes are vectors.
        visit(y, (first, LANES));
    }
    if whole < inner {
        visit(y, (whole, inner - whole));
    }
}

#[inline(always)]
fn softmax_strip(y: &mut [f32], inner: usize, (first, width): (usize, usize)) {
    let most = strip_max(y, inner, (first, width));
    let mut sums = [0.0; LANES];
    for row in y.chunks_exact_mut(inner) {
        for lane in 0..width {
            let exponential = math::exp_or_zero(row[first + lane] - most[lane]);
            row[first + lane] = exponential;
            sums[lane] += exponential;
        }
    }
    let inverses = sums.map(|sum| 1.0 / sum);
    for row in y.chunks_exact_mut(inner) {
        for lane in 0..width {
            row[first + lane] *= inverses[lane];
        }
    }
}

#[inline(always)]
fn log_softmax_strip(y: &mut [f32], inner: usize, (first, width): (usize, usize)) {
    let most = strip_max(y, inner, (first, width));
    let mut sums = [0.0; LANES];
    for row in y.chunks_exact(inner) {
        for lane in 0..width {
            sums[lane] += math::exp(row[first + lane] - most[lane]);
        }
    }
    let logs = sums.map(math::ln);
    for row in y.chunks_exact_mut(inner) {
        for lane in 0..width {
            row[first + lane] = (row[first + lane] - most[lane]) - logs[lane];
        }
    }
}

#[inline(always)]
fn strip_max(y: &[f32], inner: usize, (first, width): (usize, usize)) -> [f32; LANES] {
    let mut most = [f32::NEG_INFINITY; LANES];
    for row in y.chunks_exact(inner) {
        for lane in 0..width {
            let x = row[first + lane];
            most[lane] = if most[lane] > x || most[lane].is_nan() { most[lane] } else { x };
        }
    }
    most
}

fn hardmax(y: &mut [f32], inner: usize) {
    for column in 0..inner {
        let mut best = 0;
        for place in 1..y.len() / inner {
            let (x, most) = (y[place * inner + column], y[best * inner + column]);
            if order::Extreme::Max.precedes(x, most) {
                best = place;
            }
        }
        for (place, row) in y.chunks_exact_mut(inner).enumerate() {
            row[column] = f32::from(u8::from(place == best));
        }
    }
}
