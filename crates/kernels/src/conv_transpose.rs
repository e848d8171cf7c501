//! Transposed convolutions of one, two or three dims, with groups.
//!
//! The input is `batch × in_channels × space`, the weights `in_channels × out_channels / groups × window`, the output
//! `batch × out_channels × space`. The window of a [`ConvTranspose`] is that of the convolution which it transposes:
//! it slides over this kernel's *output*, and its outputs are this kernel's input.

use core::ops::Range;

use crate::Level;
use crate::epilogue::{Epilogue, Residual};
use crate::simd::wide;
use crate::window::Window;

/// The shape of a transposed convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvTranspose {
    /// What slides over the output of this kernel: `window.input` are the dims of `y`, `window.output` those of `x`.
    pub window: Window,
    /// Elements of the batch.
    pub batch: usize,
    /// Channels of the input.
    pub in_channels: usize,
    /// Channels of the output.
    pub out_channels: usize,
    /// Groups of channels that do not see each other.
    pub groups: usize,
}

/// What is convolved, and what is done to the sums.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// The whole input.
    pub x: &'a [f32],
    /// The whole weights.
    pub weights: &'a [f32],
    /// What is done to the sums; a row is a plane, and its bias that of the plane's channel.
    pub epilogue: Epilogue<'a>,
}

impl ConvTranspose {
    /// Planes of the output.
    #[must_use]
    pub fn planes(&self) -> usize {
        self.batch * self.out_channels
    }

    /// Elements of the weights.
    #[must_use]
    pub fn weights_len(&self) -> usize {
        self.in_channels * (self.out_channels / self.groups) * self.window.kernel_len()
    }
}

/// Elements of scratch that [`conv_transpose`] needs for any range of planes.
#[must_use]
pub fn conv_transpose_scratch(_level: Level, _conv: &ConvTranspose) -> usize {
    0
}

/// The planes `planes` of the output into `y`, which holds just these. All else is whole.
pub fn conv_transpose(
    level: Level,
    conv: &ConvTranspose,
    operands: &Operands<'_>,
    planes: Range<usize>,
    y: &mut [f32],
    _scratch: &mut [f32],
) {
    let window = &conv.window;
    let Operands { x, weights, epilogue } = *operands;
    assert_eq!(x.len(), conv.batch * conv.in_channels * window.output_len(), "length of x");
    assert_eq!(weights.len(), conv.weights_len(), "length of weights");
    assert_eq!(y.len(), planes.len() * window.input_len(), "length of y");
    // A residual that is in the output must not be overwritten with sums.
    let is_in_place = epilogue.residual == Residual::InPlace;
    for (plane, y) in planes.zip(y.chunks_exact_mut(window.input_len().max(1))) {
        let channel = plane % conv.out_channels;
        if is_in_place {
            for (place, y) in y.iter_mut().enumerate() {
                let sum = sum_at(conv, x, weights, plane, place);
                *y = epilogue.at(sum, channel, plane, place, *y);
            }
            continue;
        }
        wide(
            level,
            #[inline(always)]
            || sums(conv, x, weights, plane, y),
        );
        for (place, y) in y.iter_mut().enumerate() {
            *y = epilogue.at(*y, channel, plane, place, 0.0);
        }
    }
}

/// How many sums of a row are added up at a time.
const RUN: usize = 64;

/// All sums of a plane, each the chain of [`sum_at`]: tap after tap, some neighbours in a row of the input at a time.
#[inline(always)]
fn sums(conv: &ConvTranspose, x: &[f32], weights: &[f32], plane: usize, y: &mut [f32]) {
    let window = &conv.window;
    let (image, channel) = (plane / conv.out_channels, plane % conv.out_channels);
    let (per_group, in_group) = (conv.out_channels / conv.groups, conv.in_channels / conv.groups);
    let first = channel / per_group * in_group;
    let (taps, len, columns) = (window.kernel_len(), window.output_len(), window.output[2]);
    let step = window.strides[2];
    y.fill(0.0);
    for tap in 0..taps {
        for row in 0..len / columns.max(1) {
            let Some(begin) = row_of(window, tap, row) else { continue };
            let seen = columns_of(window, tap);
            for column in seen.clone().step_by(RUN) {
                let count = RUN.min(seen.end - column);
                let shift = column * step + tap % window.kernel[2] * window.dilations[2];
                let y = &mut y[begin + shift - window.pads_begin[2]..];
                let mut run = [0.0; RUN];
                for (sum, y) in run[..count].iter_mut().zip(y.iter().step_by(step)) {
                    *sum = *y;
                }
                for i in first..first + in_group {
                    let from = (image * conv.in_channels + i) * len + row * columns + column;
                    let w = weights[(i * per_group + channel % per_group) * taps + tap];
                    for (sum, x) in run[..count].iter_mut().zip(&x[from..from + count]) {
                        *sum += x * w;
                    }
                }
                for (sum, y) in run[..count].iter().zip(y.iter_mut().step_by(step)) {
                    *y = *sum;
                }
            }
        }
    }
}

/// Where the row of outputs begins that a tap of a row of inputs adds to, if it is one.
fn row_of(window: &Window, tap: usize, row: usize) -> Option<usize> {
    let [_, kernel_rows, kernel_columns] = window.kernel;
    let taps = [tap / (kernel_rows * kernel_columns), tap / kernel_columns % kernel_rows];
    let [_, rows, columns] = window.input;
    let from = [row / window.output[1], row % window.output[1]];
    let place = |d: usize| {
        let padded = from[d] * window.strides[d] + taps[d] * window.dilations[d];
        padded.checked_sub(window.pads_begin[d]).filter(|place| *place < window.input[d])
    };
    Some((place(0)? * rows + place(1)?) * columns)
}

/// Which columns of inputs a tap adds to outputs that there are.
fn columns_of(window: &Window, tap: usize) -> Range<usize> {
    let shift = tap % window.kernel[2] * window.dilations[2];
    let up_to = |edge: usize| edge.saturating_sub(shift).div_ceil(window.strides[2]);
    let (pad, columns) = (window.pads_begin[2], window.output[2]);
    let end = up_to(window.input[2] + pad).min(columns);
    up_to(pad).min(end)..end
}

/// The sum of one output: over the window, and for each of its elements over the channels of the group.
fn sum_at(conv: &ConvTranspose, x: &[f32], weights: &[f32], plane: usize, place: usize) -> f32 {
    let window = &conv.window;
    let (image, channel) = (plane / conv.out_channels, plane % conv.out_channels);
    let per_group = conv.out_channels / conv.groups;
    let in_group = conv.in_channels / conv.groups;
    let group = channel / per_group;
    let [_, rows, columns] = window.input;
    let at = [place / (rows * columns), place / columns % rows, place % columns];
    let [_, x_rows, x_columns] = window.output;
    let mut sum = 0.0;
    for tap in 0..window.kernel_len() {
        let [_, kernel_rows, kernel_columns] = window.kernel;
        let taps = [
            tap / (kernel_rows * kernel_columns),
            tap / kernel_columns % kernel_rows,
            tap % kernel_columns,
        ];
        let from = |d: usize| {
            let padded =
                (at[d] + window.pads_begin[d]).checked_sub(taps[d] * window.dilations[d])?;
            let whole = padded % window.strides[d] == 0;
            Some(padded / window.strides[d]).filter(|place| whole && *place < window.output[d])
        };
        let (Some(z), Some(r), Some(c)) = (from(0), from(1), from(2)) else { continue };
        for i in 0..in_group {
            let i = group * in_group + i;
            let x = x[(image * conv.in_channels + i) * window.output_len()
                + (z * x_rows + r) * x_columns
                + c];
            let w = weights[(i * per_group + channel % per_group) * window.kernel_len() + tap];
            sum += x * w;
        }
    }
    sum
}
