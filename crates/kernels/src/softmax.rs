//! Softmax, its logarithm and hardmax along an axis.
//!
//! Each row is brought below its largest element, so that no exponential overflows. The old edition of these
//! operators, which flattened a tensor into rows, is the same with dims of `[rows, columns]`. A row
//! of nothing but negative infinity gives NaN, as it does in ONNX.

use crate::places::Along;
use crate::simd::{Level, widest};
use crate::sum::{LANES, max_of, sum_of};
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
    let most = max_of(y);
    for y in &mut *y {
        *y = math::exp_or_zero(*y - most);
    }
    let inverse = 1.0
        / sum_of(
            y,
            #[inline(always)]
            |x| x,
        );
    for y in y {
        *y *= inverse;
    }
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
