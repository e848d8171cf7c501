//! Convolutions of one, two or three dims, with groups.
//!
//! The input is `batch × in_channels × space`, the weights `out_channels × in_channels / groups × window`, the output
//! `batch × out_channels × space`. A *plane* is one channel of one element of the batch; [`conv`]
//! computes a range of output planes, so that threads can share the work.

use core::ops::Range;

use crate::Level;
use crate::epilogue::Epilogue;
use crate::window::Window;

/// The shape of a convolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conv {
    /// What slides over the input.
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

/// The weights of a convolution.
#[derive(Debug, Clone, Copy)]
pub enum Weights<'a> {
    /// As ONNX has them.
    Plain(&'a [f32]),
    /// As [`pack_conv`] wrote them, for the same level and shape.
    Packed(&'a [f32]),
}

/// What is convolved, and what is done to the sums.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// The whole input.
    pub x: &'a [f32],
    /// The whole weights.
    pub weights: Weights<'a>,
    /// What is done to the sums; a row is a plane, and its bias that of the plane's channel.
    pub epilogue: Epilogue<'a>,
}

impl Conv {
    /// Planes of the output.
    #[must_use]
    pub fn planes(&self) -> usize {
        self.batch * self.out_channels
    }

    /// Elements of the weights.
    #[must_use]
    pub fn weights_len(&self) -> usize {
        self.out_channels * (self.in_channels / self.groups) * self.window.kernel_len()
    }
}

/// Elements of the weights packed; zero where packing gains nothing, and the weights are used as they are.
#[must_use]
pub fn packed_conv_len(_level: Level, _conv: &Conv) -> usize {
    0
}

/// Packs the weights into [`packed_conv_len`] elements.
pub fn pack_conv(level: Level, conv: &Conv, weights: &[f32], out: &mut [f32]) {
    assert_eq!(weights.len(), conv.weights_len(), "length of weights");
    assert_eq!(out.len(), packed_conv_len(level, conv), "length of packed weights");
}

/// Elements of scratch that [`conv`] needs for any range of planes; `packed` says whether the weights are.
#[must_use]
pub fn conv_scratch(_level: Level, _conv: &Conv, _packed: bool) -> usize {
    0
}

/// The planes `planes` of the output into `y`, which holds just these. All else is whole.
pub fn conv(
    _level: Level,
    conv: &Conv,
    operands: &Operands<'_>,
    planes: Range<usize>,
    y: &mut [f32],
    _scratch: &mut [f32],
) {
    let window = &conv.window;
    let Operands { x, weights, epilogue } = *operands;
    let Weights::Plain(weights) = weights else { unreachable!("nothing is packed") };
    assert_eq!(x.len(), conv.batch * conv.in_channels * window.input_len(), "length of x");
    assert_eq!(weights.len(), conv.weights_len(), "length of weights");
    assert_eq!(y.len(), planes.len() * window.output_len(), "length of y");
    for (plane, y) in planes.zip(y.chunks_exact_mut(window.output_len().max(1))) {
        let (image, channel) = (plane / conv.out_channels, plane % conv.out_channels);
        let group = channel / (conv.out_channels / conv.groups);
        let per_group = conv.in_channels / conv.groups;
        let x = &x[(image * conv.in_channels + group * per_group) * window.input_len()..];
        let x = &x[..per_group * window.input_len()];
        let len = per_group * window.kernel_len();
        let weights = &weights[channel * len..][..len];
        for (place, y) in y.iter_mut().enumerate() {
            let sum = sum_at(window, x, weights, place);
            *y = epilogue.at(sum, channel, plane, place, *y);
        }
    }
}

/// The sum of one output over all channels of its group.
fn sum_at(window: &Window, x: &[f32], weights: &[f32], place: usize) -> f32 {
    let [_, rows, columns] = window.output;
    let at = [place / (rows * columns), place / columns % rows, place % columns];
    let [_, height, width] = window.input;
    let [_, kernel_rows, kernel_columns] = window.kernel;
    let mut sum = 0.0;
    let planes = x.chunks_exact(window.input_len()).zip(weights.chunks_exact(window.kernel_len()));
    for (x, weights) in planes {
        for z in window.taps(0, at[0]) {
            for r in window.taps(1, at[1]) {
                for c in window.taps(2, at[2]) {
                    let places = (
                        window.source(0, at[0], z),
                        window.source(1, at[1], r),
                        window.source(2, at[2], c),
                    );
                    let (Some(iz), Some(ir), Some(ic)) = places else { continue };
                    sum += x[(iz * height + ir) * width + ic]
                        * weights[(z * kernel_rows + r) * kernel_columns + c];
                }
            }
        }
    }
    sum
}
