//! Depthwise convolutions: every output channel sees one input channel.
//!
//! Planes are small and many, so that what is done once for each of them counts: one kernel goes over all planes, the
//! padding of the band is written once, and rows are copied in whole vectors. Windows of 3 × 3 and 5 × 5 take several
//! rows of outputs at a time, so that what is loaded is used by each of them; every output is still one chain over
//! its window, row by row.

use core::ops::Range;

use crate::Level;
use crate::band::{Band, Rows, Taps};
use crate::chain;
use crate::epilogue::Epilogue;
use crate::gemm::finish::{Finish, Line};
use crate::gemm::tile::store_at;
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
    /// As many elements as the band has.
    pub(super) scratch: &'a mut [f32],
}

/// How a window is gone over.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// 3 × 3 or 5 × 5, by 1 or 2 both ways.
    Square { kernel: usize, step: usize },
    /// Any other.
    Other,
}

impl Form {
    fn new(window: &Window) -> Form {
        let ([_, rows, columns], [_, down, along]) = (window.kernel, window.strides);
        let is_square = rows == columns && down == along && window.dilations == [1; 3];
        if is_square && matches!(rows, 3 | 5) && matches!(along, 1 | 2) {
            Form::Square { kernel: rows, step: along }
        } else {
            Form::Other
        }
    }
}

impl Kernel for Depthwise<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let (window, form) = (self.window, Form::new(self.window));
        let band = Band::new(window);
        let [_, rows, columns] = window.output;
        let (input, output, taps) = (window.input_len(), window.output_len(), window.kernel_len());
        let elements = &mut self.scratch[..band.scratch()];
        elements.fill(0.0);
        for (plane, y) in self.planes.clone().zip(self.y.chunks_exact_mut(output)) {
            let channel = plane % self.channels;
            let x = &self.x[plane / self.multiplier * input..][..input];
            let weights = &self.weights[channel * taps..][..taps];
            let finish = Finish::new(self.epilogue, (channel, plane), 0);
            for first in (0..rows).step_by(band.outputs) {
                let end = rows.min(first + band.outputs);
                band.fill(simd, window, first, x, 0.0, elements);
                let y = &mut y[first * columns..end * columns];
                let (finish, width) = (finish.at_column(first * columns), band.width);
                match form {
                    Form::Square { kernel, step } => {
                        let part = Part { columns, width, weights, band: elements, finish, y };
                        match (kernel, step) {
                            (3, 1) => part.run::<S, 3, 1, 4>(simd),
                            (3, _) => part.run::<S, 3, 2, 2>(simd),
                            (_, 1) => part.run::<S, 5, 1, 2>(simd),
                            (_, _) => part.run::<S, 5, 2, 2>(simd),
                        }
                    }
                    Form::Other => {
                        let taps = Taps::Weighted(weights);
                        Rows { window, width, taps, band: elements, finish, y }.run(simd);
                    }
                }
            }
            let (first, len) = (plane * output, output);
            let stored = chain::Rows { count: 1, len, stride: len, first, step: len };
            self.epilogue.finish(self.level, stored, y);
        }
    }
}

/// The rows of outputs of one band of one plane.
struct Part<'a> {
    columns: usize,
    width: usize,
    weights: &'a [f32],
    band: &'a [f32],
    finish: Finish<'a>,
    y: &'a mut [f32],
}

impl Part<'_> {
    /// A window of `K × K` by `STEP`, `R` rows of outputs at a time.
    #[inline(always)]
    fn run<S: Simd, const K: usize, const STEP: usize, const R: usize>(mut self, simd: S) {
        let rows = self.y.len() / self.columns;
        let mut weights = [[simd.splat(0.0); K]; K];
        for r in 0..K {
            for c in 0..K {
                weights[r][c] = simd.splat(self.weights[r * K + c]);
            }
        }
        let (whole, line) = (rows / R * R, self.finish.as_line(simd));
        for row in (0..whole).step_by(R) {
            for column in (0..self.columns).step_by(S::LANES) {
                self.block::<S, K, STEP, R>(simd, (&weights, line), row, column);
            }
        }
        for row in whole..rows {
            for column in (0..self.columns).step_by(S::LANES) {
                self.block::<S, K, STEP, 1>(simd, (&weights, line), row, column);
            }
        }
    }

    /// A vector of outputs in each of `R` rows.
    #[inline(always)]
    fn block<S: Simd, const K: usize, const STEP: usize, const R: usize>(
        &mut self,
        simd: S,
        (weights, line): (&[[S::V; K]; K], Option<Line<S>>),
        row: usize,
        column: usize,
    ) {
        let mut sums = [[[simd.splat(0.0); 1]; 1]; R];
        let reach = (S::LANES - 1) * STEP + K;
        for r in 0..(R - 1) * STEP + K {
            let line = &self.band[(row * STEP + r) * self.width + column * STEP..][..reach];
            for c in 0..K {
                let x = if STEP == 1 { simd.load(&line[c..]) } else { simd.load_even(&line[c..]) };
                for o in 0..R {
                    if r >= o * STEP && r - o * STEP < K {
                        sums[o][0][0] = simd.mul_add(weights[r - o * STEP][c], x, sums[o][0][0]);
                    }
                }
            }
        }
        for o in 0..R {
            let begin = (row + o) * self.columns + column;
            let end = (begin + S::LANES).min((row + o + 1) * self.columns);
            let y = &mut self.y[begin..end];
            match line {
                Some(line) => sums[o][0][0] = line.end(simd, sums[o][0][0]),
                None => self.finish.end(simd, begin..end, &mut sums[o], y),
            }
            store_at(simd, sums[o][0][0], y, 0);
        }
    }
}
