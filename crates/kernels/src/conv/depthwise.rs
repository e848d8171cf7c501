//! Depthwise convolutions: every output channel sees one input channel.
//!
//! Planes are small and many, so that what is done once for each of them counts: one kernel goes over all planes.
//! Windows of 3 × 3 and 5 × 5 are [rolled](super::rolling) over the plane where it is; others go over a
//! [band](crate::band) of padded rows, whose padding is written once.

use core::ops::Range;

use super::rolling::{Plane, Square};
use crate::Level;
use crate::band::{Band, Rows, Taps};
use crate::chain;
use crate::epilogue::Epilogue;
use crate::gemm::LINE;
use crate::gemm::finish::Finish;
use crate::simd::{Kernel, Simd};
use crate::window::Window;

/// Some planes of a depthwise convolution.
pub(super) struct Depthwise<'a> {
    pub(super) level: Level,
    pub(super) window: &'a Window,
    pub(super) epilogue: &'a Epilogue<'a>,
    /// The whole input and the whole weights.
    pub(super) x: &'a [f32],
    pub(super) weights: &'a [f32],
    /// Channels of the output, and how many of them see the same channel of the input.
    pub(super) channels: usize,
    pub(super) multiplier: usize,
    /// Which planes, and their outputs.
    pub(super) planes: Range<usize>,
    pub(super) y: &'a mut [f32],
    /// From [`least`] to [`scratch`] elements; the largest band that fits is taken.
    pub(super) scratch: &'a mut [f32],
}

/// Elements of scratch, which only windows that are not rolled need, to be fastest.
pub(super) fn scratch(window: &Window) -> usize {
    if Square::new(window).is_some() { 0 } else { Band::new(window).scratch() + LINE }
}

/// The least elements of scratch.
pub(super) fn least(window: &Window) -> usize {
    if Square::new(window).is_some() { 0 } else { Band::least(window).scratch() + LINE }
}

impl Kernel for Depthwise<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        match Square::new(self.window) {
            Some(square) => {
                let window = self.window;
                self.each(
                    #[inline(always)]
                    |x, weights, finish, y| {
                        Plane { window, x, weights, finish, y }.run(simd, square);
                    },
                );
            }
            None => self.bands(simd),
        }
    }
}

impl Depthwise<'_> {
    /// Calls `plane` with the input, the weights, the epilogue and the output of each plane.
    #[inline(always)]
    fn each(&mut self, mut plane: impl FnMut(&[f32], &[f32], Finish<'_>, &mut [f32])) {
        let window = self.window;
        let (input, output, taps) = (window.input_len(), window.output_len(), window.kernel_len());
        for (at, y) in self.planes.clone().zip(self.y.chunks_exact_mut(output)) {
            let channel = at % self.channels;
            let x = &self.x[at / self.multiplier * input..][..input];
            let weights = &self.weights[channel * taps..][..taps];
            plane(x, weights, Finish::new(self.epilogue, (channel, at), 0), y);
            let (first, len) = (at * output, output);
            let stored = chain::Rows { count: 1, len, stride: len, first, step: len };
            self.epilogue.finish(self.level, stored, y);
        }
    }

    /// Over padded rows.
    #[inline(always)]
    fn bands<S: Simd>(&mut self, simd: S) {
        let window = self.window;
        let band = Band::within(window, self.scratch.len());
        let [_, rows, columns] = window.output;
        let elements = &mut core::mem::take(&mut self.scratch)[..band.scratch()];
        elements.fill(0.0);
        self.each(
            #[inline(always)]
            |x, weights, finish, y| {
                for first in (0..rows).step_by(band.outputs) {
                    let end = rows.min(first + band.outputs);
                    band.fill(simd, window, first, x, 0.0, elements);
                    let y = &mut y[first * columns..end * columns];
                    let (finish, width) = (finish.at_column(first * columns), band.width);
                    let taps = Taps::Weighted(weights);
                    Rows { window, width, taps, band: elements, finish, y }.run(simd);
                }
            },
        );
    }
}
