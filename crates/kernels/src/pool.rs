//! Pools: the greatest, the average or a norm of what a window sees, plane by plane.
//!
//! Planes do not see each other: whoever wants a part of the output gives the same planes of `x` and `y`.

use crate::Level;
use crate::band::{Band, Planes, Taps};
use crate::epilogue::Epilogue;
use crate::gemm::finish::Finish;
use crate::math;
use crate::window::Window;

/// The greatest element under the window. Where it sees nothing but padding: the least number there is.
pub fn max_pool(level: Level, window: &Window, x: &[f32], y: &mut [f32], scratch: &mut [f32]) {
    if Band::is_for(window) {
        return in_bands(level, window, Taps::Max, x, y, scratch);
    }
    pool(window, x, y, f32::MIN, f32::max, |_, most| most);
}

/// Elements of scratch that [`max_pool`] and [`average_pool`] are fastest with.
#[must_use]
pub fn pool_scratch(window: &Window) -> usize {
    if Band::is_for(window) { Band::new(window).scratch() } else { 0 }
}

/// The least that they run with.
#[must_use]
pub fn pool_least(window: &Window) -> usize {
    if Band::is_for(window) { Band::least(window).scratch() } else { 0 }
}

fn in_bands(
    level: Level,
    window: &Window,
    taps: Taps<'_>,
    x: &[f32],
    y: &mut [f32],
    scratch: &mut [f32],
) {
    check(window, x, y);
    let finish = Finish::new(&Epilogue::NONE, (0, 0), 0);
    level.run(Planes { window, taps, x, finish, y, scratch });
}

/// As [`max_pool`], and where each greatest element is in `x` as a whole: row-major, or with the first dim of
/// space the fastest where `column_major` says so. `first_plane` is the number of the first plane of `x`.
pub fn max_pool_with_indices(
    window: &Window,
    x: &[f32],
    y: &mut [f32],
    indices: &mut [i64],
    column_major: bool,
    first_plane: usize,
) {
    assert_eq!(indices.len(), y.len(), "length of indices");
    check(window, x, y);
    let [depth, height, width] = window.input;
    let outputs = y
        .chunks_exact_mut(window.output_len().max(1))
        .zip(indices.chunks_exact_mut(window.output_len().max(1)));
    for (plane, (x, (y, indices))) in
        x.chunks_exact(window.input_len().max(1)).zip(outputs).enumerate()
    {
        let base = (first_plane + plane) * window.input_len();
        for (place, (y, index)) in y.iter_mut().zip(indices).enumerate() {
            let mut most = (f32::MIN, 0);
            for_each(window, place, |z, r, c| {
                let value = x[(z * height + r) * width + c];
                let at = if column_major {
                    (c * height + r) * depth + z
                } else {
                    (z * height + r) * width + c
                };
                if value > most.0 || value.is_nan() {
                    most = (value, at);
                }
            });
            *y = most.0;
            *index = (base + most.1).cast_signed() as i64;
        }
    }
}

/// The average of what is under the window. With `count_include_pad` the padding (but not what is beyond it)
/// counts as zeros; otherwise the average is over the elements that are there.
pub fn average_pool(
    level: Level,
    window: &Window,
    count_include_pad: bool,
    x: &[f32],
    y: &mut [f32],
    scratch: &mut [f32],
) {
    let count = |d: usize, at: usize| {
        let begin = at * window.strides[d];
        let padded = window.input[d] + window.pads_begin[d] + window.pads_end[d];
        let taps = padded.saturating_sub(begin).div_ceil(window.dilations[d]).min(window.kernel[d]);
        if count_include_pad { taps } else { window.taps(d, at).len() }
    };
    if Band::is_for(window) {
        in_bands(level, window, Taps::Sum, x, y, scratch);
    } else {
        pool(window, x, y, 0.0, |sum, x| sum + x, |_, sum| sum);
    }
    let [planes, rows, columns] = window.output;
    for (place, row) in y.chunks_exact_mut(columns.max(1)).enumerate() {
        let of_row = count(0, place / rows % planes) * count(1, place % rows);
        row.iter_mut().enumerate().for_each(|(c, y)| *y /= (of_row * count(2, c)).max(1) as f32);
    }
}

/// The `p`-norm of what is under the window.
pub fn lp_pool(window: &Window, p: u32, x: &[f32], y: &mut [f32]) {
    let power = |x: f32| (1..p).fold(x.abs(), |product, _| product * x.abs());
    pool(window, x, y, 0.0, |sum, x| sum + power(x), |_, sum| root(sum, p));
}

/// The `p`-th root.
fn root(x: f32, p: u32) -> f32 {
    match p {
        1 => x,
        2 => math::sqrt(x),
        _ => math::pow(x, 1.0 / p as f32),
    }
}

fn check(window: &Window, x: &[f32], y: &[f32]) {
    if window.output_len() == 0 {
        return assert!(y.is_empty(), "y has no elements");
    }
    let (input, output) = (window.input_len().max(1), window.output_len());
    assert_eq!(x.len() % input, 0, "x has whole planes");
    assert_eq!(x.len() / input, y.len() / output, "x and y have the same planes");
}

fn pool(
    window: &Window,
    x: &[f32],
    y: &mut [f32],
    first: f32,
    step: impl Fn(f32, f32) -> f32,
    last: impl Fn(usize, f32) -> f32,
) {
    check(window, x, y);
    let [_, height, width] = window.input;
    let planes = x
        .chunks_exact(window.input_len().max(1))
        .zip(y.chunks_exact_mut(window.output_len().max(1)));
    for (x, y) in planes {
        for (place, y) in y.iter_mut().enumerate() {
            let mut sum = first;
            for_each(window, place, |z, r, c| sum = step(sum, x[(z * height + r) * width + c]));
            *y = last(place, sum);
        }
    }
}

fn position(window: &Window, place: usize) -> [usize; 3] {
    let [_, rows, columns] = window.output;
    [place / (rows * columns), place / columns % rows, place % columns]
}

/// Every element of the input that the window of an output sees.
fn for_each(window: &Window, place: usize, mut f: impl FnMut(usize, usize, usize)) {
    let at = position(window, place);
    let source = |d: usize, tap: usize| {
        at[d] * window.strides[d] + tap * window.dilations[d] - window.pads_begin[d]
    };
    for z in window.taps(0, at[0]) {
        for r in window.taps(1, at[1]) {
            for c in window.taps(2, at[2]) {
                f(source(0, z), source(1, r), source(2, c));
            }
        }
    }
}
