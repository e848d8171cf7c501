//! Inputs that are made where they are read.
//!
//! What a convolution reads need not be in memory: the planes of its input may be a function of other tensors, such as
//! a normalisation, tensors side by side, or an image of another size ([`Planes`]). Before a block of outputs is packed,
//! the elements that its windows see are made in scratch: a *strip* of each channel of the block, from the first row that
//! is seen to the last. Strips of neighbouring blocks overlap by the rows that both see; that is all that is
//! made twice, and blocks have at least a row of outputs.

use core::fmt;
use core::ops::Range;

use super::Conv;
use crate::gemm::{Blocks, LINE};
use crate::window::Window;
use crate::{Level, conv::packed_conv_len};

/// Planes that are in nobody's memory.
pub trait Planes: Sync {
    /// These elements of a plane, counted over the whole batch, into `out`, which holds just these.
    fn make(&self, plane: usize, elements: Range<usize>, out: &mut [f32]);
}

/// The input of a convolution.
#[derive(Clone, Copy)]
pub enum Input<'a> {
    /// Whole, in memory.
    Plain(&'a [f32]),
    /// Made where it is read. Weights are packed, and the convolution is not [depthwise](can_make).
    Made(&'a dyn Planes),
}

impl fmt::Debug for Input<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Plain(x) => f.debug_tuple("Plain").field(&x.len()).finish(),
            Input::Made(_) => f.write_str("Made"),
        }
    }
}

/// Whether a convolution can read what is made: one whose weights are packed.
#[must_use]
pub fn can_make(level: Level, conv: &Conv) -> bool {
    packed_conv_len(level, conv) > 0
}

/// Elements of scratch that [`conv`](super::conv) is fastest with if its input is made.
#[must_use]
pub fn made_scratch(level: Level, conv: &Conv) -> usize {
    let need = |whole| elements(conv, &fastest(level, conv, whole));
    need(false).max(need(true)) + LINE
}

/// The least that it runs with then; `in_place` says whether the output may take over what is added to the sums.
#[must_use]
pub fn made_least(level: Level, conv: &Conv, in_place: bool) -> usize {
    elements(conv, &within(level, conv, in_place, 0)) + LINE
}

/// The largest blocks that have room with their strips, or the least ones.
pub(super) fn within(level: Level, conv: &Conv, whole: bool, room: usize) -> Blocks {
    let mut blocks = fastest(level, conv, whole);
    while elements(conv, &blocks) > room
        && let Some(smaller) = blocks.smaller(level, whole, least_columns(conv))
    {
        blocks = smaller;
    }
    blocks
}

/// The least outputs of a block: a row, unless what is made for them is for no others.
fn least_columns(conv: &Conv) -> usize {
    if conv.window.is_pointwise() { 1 } else { conv.window.output[2] }
}

/// Blocks that are no smaller than is good for packing, nor for strips.
fn fastest(level: Level, conv: &Conv, whole: bool) -> Blocks {
    let blocks = Blocks::new(level, conv.product(), whole, false);
    let columns = blocks.columns.max(least_columns(conv).next_multiple_of(level.tile().1));
    Blocks { columns, ..blocks }
}

/// Elements of a block and of its strips.
fn elements(conv: &Conv, blocks: &Blocks) -> usize {
    blocks.columns * blocks.k + strip_len(conv, blocks)
}

/// The most elements of the strips of a block.
fn strip_len(conv: &Conv, blocks: &Blocks) -> usize {
    let (window, taps) = (&conv.window, conv.window.kernel_len().max(1));
    let channels =
        (blocks.k.div_ceil(taps) + usize::from(taps > 1)).min(conv.in_channels / conv.groups);
    let len = if window.is_pointwise() {
        blocks.columns.min(window.input_len())
    } else if is_flat(window) {
        let rows = (blocks.columns.saturating_sub(1)).div_ceil(window.output[2].max(1)) + 1;
        let rows = rows.min(window.output[1]).max(1);
        let seen = (rows - 1) * window.strides[1] + reach(window);
        seen.min(window.input[1]) * window.input[2]
    } else {
        window.input_len()
    };
    channels * len
}

/// How many rows a window sees.
fn reach(window: &Window) -> usize {
    (window.kernel[1] - 1) * window.dilations[1] + 1
}

fn is_flat(window: &Window) -> bool {
    window.input[0] == 1 && window.output[0] == 1
}

/// The elements of a plane that the windows of some outputs see: whole rows, unless they are the outputs' own places.
pub(super) fn seen(window: &Window, outputs: &Range<usize>) -> Range<usize> {
    if window.is_pointwise() {
        return outputs.clone();
    }
    if !is_flat(window) || outputs.is_empty() {
        return 0..window.input_len();
    }
    let [_, height, width] = window.input;
    let first = outputs.start / window.output[2] * window.strides[1];
    let last = (outputs.end - 1) / window.output[2] * window.strides[1] + reach(window);
    let row = |padded: usize| padded.saturating_sub(window.pads_begin[1]).min(height);
    row(first) * width..row(last).max(row(first)) * width
}
