//! Convolutions of integers of 8 bits.
//!
//! Sums are of 32 bits, one row of outputs at a time in scratch, and handed to the caller when they are complete: as
//! they are, or to be quantized again. What is padding counts as the zero point, which is nothing.

use crate::conv::Conv;
use crate::element::Number;
use crate::simd::{Level, wide};

/// Elements of scratch of [`conv_integer`].
#[must_use]
pub fn conv_integer_scratch(shape: &Conv) -> usize {
    shape.window.output[2]
}

/// Convolves `x - zero` with `weights - zero(channel)`; `each` is given the sums of one row after the other, with the
/// place of the first among all outputs and the channel.
pub fn conv_integer<X: Number, W: Number>(
    level: Level,
    shape: &Conv,
    (x, x_zero): (&[X], i32),
    (weights, weight_zero): (&[W], impl Fn(usize) -> i32),
    sums: &mut [i32],
    mut each: impl FnMut(usize, usize, &[i32]),
) {
    let window = &shape.window;
    let [depth, rows, columns] = window.output;
    if columns == 0 {
        return;
    }
    let sums = &mut sums[..columns];
    let inputs = shape.in_channels / shape.groups.max(1);
    let outputs = (shape.out_channels / shape.groups.max(1)).max(1);
    let kernel = window.kernel_len();
    for plane in 0..shape.batch * shape.out_channels {
        let (b, channel) = (plane / shape.out_channels, plane % shape.out_channels);
        let first = b * shape.in_channels + channel / outputs * inputs;
        let x = &x[first * window.input_len()..][..inputs * window.input_len()];
        let w = &weights[channel * inputs * kernel..][..inputs * kernel];
        for row in 0..depth * rows {
            let (z, r) = (row / rows, row % rows);
            sums.fill(0);
            wide(
                level,
                #[inline(always)]
                || {
                    add_row(shape, (x, x_zero), (w, weight_zero(channel)), (z, r), sums);
                },
            );
            each((plane * depth * rows + row) * columns, channel, sums);
        }
    }
}

/// Adds up what the window sees at a row of outputs.
#[inline(always)]
fn add_row<X: Number, W: Number>(
    shape: &Conv,
    (x, x_zero): (&[X], i32),
    (weights, weight_zero): (&[W], i32),
    (z, r): (usize, usize),
    sums: &mut [i32],
) {
    let window = &shape.window;
    let [_, height, width] = window.input;
    let [_, kernel_rows, kernel_columns] = window.kernel;
    let planes = x.chunks_exact(window.input_len().max(1));
    for (x, weights) in planes.zip(weights.chunks_exact(window.kernel_len().max(1))) {
        for (tap, weight) in weights.iter().enumerate() {
            let (taps, column) = (tap / kernel_columns, tap % kernel_columns);
            let source =
                (window.source(0, z, taps / kernel_rows), window.source(1, r, taps % kernel_rows));
            let (Some(plane), Some(row)) = source else { continue };
            let weight = weight.to_i64() as i32 - weight_zero;
            let x = &x[(plane * height + row) * width..][..width];
            let (stride, shift) = (window.strides[2], column * window.dilations[2]);
            let first = window.pads_begin[2].saturating_sub(shift).div_ceil(stride);
            for (at, sum) in sums.iter_mut().enumerate().skip(first) {
                let Some(x) = x.get(at * stride + shift - window.pads_begin[2]) else { break };
                *sum = sum.wrapping_add(weight.wrapping_mul(x.to_i64() as i32 - x_zero));
            }
        }
    }
}
