//! Square windows over one plane, rolled down a strip of columns.
//!
//! A strip is one or two vectors of outputs. Its rows are gone over once, from the top down: what is seen of a row of the
//! input is loaded once and goes into every row of outputs whose window it is in. The sums of these are in
//! registers, the oldest first to be stored. The input is read where it is; lanes beyond its borders are zeros and rows beyond
//! them are left out, so that no padded copy is needed. Every output is one chain over its window, row by row.

use crate::gemm::finish::{Finish, Line};
use crate::gemm::tile::store_at;
use crate::simd::Simd;
use crate::window::Window;

/// A window that is rolled over planes: 3 × 3 or 5 × 5, by 1 or 2 both ways.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Square {
    kernel: usize,
    step: usize,
}

impl Square {
    /// If the window is one.
    pub(super) fn new(window: &Window) -> Option<Square> {
        let ([_, rows, columns], [_, down, along]) = (window.kernel, window.strides);
        let is_square = rows == columns && down == along && window.dilations == [1; 3];
        let is_known = is_square && matches!(rows, 3 | 5) && matches!(along, 1 | 2);
        is_known.then_some(Square { kernel: rows, step: along })
    }
}

/// One plane.
pub(super) struct Plane<'a> {
    pub(super) window: &'a Window,
    pub(super) x: &'a [f32],
    pub(super) weights: &'a [f32],
    pub(super) finish: Finish<'a>,
    pub(super) y: &'a mut [f32],
}

impl Plane<'_> {
    /// The plane's outputs.
    #[inline(always)]
    pub(super) fn run<S: Simd>(self, simd: S, square: Square) {
        // The last number is how many rows of outputs a row of the input is seen by: kernel over step, rounded up.
        match (square.kernel, square.step) {
            (3, 1) => self.strips::<S, 3, 1, 3>(simd),
            (3, _) => self.strips::<S, 3, 2, 2>(simd),
            (_, 1) => self.strips::<S, 5, 1, 5>(simd),
            (_, _) => self.strips::<S, 5, 2, 3>(simd),
        }
    }

    #[inline(always)]
    fn strips<S: Simd, const K: usize, const STEP: usize, const OPEN: usize>(mut self, simd: S) {
        let columns = self.window.output[2];
        let mut weights = [[simd.splat(0.0); K]; K];
        for r in 0..K {
            for c in 0..K {
                weights[r][c] = simd.splat(self.weights[r * K + c]);
            }
        }
        let line = self.finish.as_line(simd);
        let mut column = 0;
        // Two vectors hide the time that a sum takes, if registers hold both.
        while K == 3 && column + S::LANES < columns {
            self.strip::<S, K, STEP, OPEN, 2>(simd, (&weights, line), column);
            column += 2 * S::LANES;
        }
        while column < columns {
            self.strip::<S, K, STEP, OPEN, 1>(simd, (&weights, line), column);
            column += S::LANES;
        }
    }

    /// `T` vectors of outputs of every row, from that column on.
    #[inline(always)]
    fn strip<S: Simd, const K: usize, const STEP: usize, const OPEN: usize, const T: usize>(
        &mut self,
        simd: S,
        (weights, line): (&[[S::V; K]; K], Option<Line<S>>),
        column: usize,
    ) {
        let Window { input: [_, height, width], output: [_, rows, _], .. } = *self.window;
        let [_, above, before] = self.window.pads_begin;
        let at = (column * STEP).cast_signed() - before.cast_signed();
        let mut sums = [[simd.splat(0.0); T]; OPEN];
        for step in 0..rows + OPEN - 1 {
            for phase in 0..STEP {
                let row = (step * STEP + phase).wrapping_sub(above);
                if row < height {
                    let row = &self.x[row * width..][..width];
                    for t in 0..T {
                        let at = at + (t * S::LANES * STEP).cast_signed();
                        let seen = seen::<S, K, STEP>(simd, row, at);
                        for c in 0..K {
                            for open in 0..OPEN {
                                let r = phase + open * STEP;
                                if r < K {
                                    sums[open][t] =
                                        simd.mul_add(weights[r][c], seen[c], sums[open][t]);
                                }
                            }
                        }
                    }
                }
                // A window has an odd number of rows: the first phase is its last row.
                if phase == 0 && step + 1 >= OPEN {
                    self.store(simd, line, (step + 1 - OPEN, column), &sums[OPEN - 1]);
                }
            }
            for open in (1..OPEN).rev() {
                sums[open] = sums[open - 1];
            }
            sums[0] = [simd.splat(0.0); T];
        }
    }

    /// Ends a row of sums and stores it.
    #[inline(always)]
    fn store<S: Simd, const T: usize>(
        &mut self,
        simd: S,
        line: Option<Line<S>>,
        (row, column): (usize, usize),
        sums: &[S::V; T],
    ) {
        let columns = self.window.output[2];
        let (begin, end) = (row * columns + column, (row + 1) * columns);
        for t in 0..T {
            let begin = begin + t * S::LANES;
            let places = begin..end.min(begin + S::LANES);
            let y = &mut self.y[places.clone()];
            let mut sum = [[sums[t]]];
            match line {
                Some(line) => sum[0][0] = line.end(simd, sums[t]),
                None => self.finish.end(simd, places, &mut sum, y),
            }
            store_at(simd, sum[0][0], y, 0);
        }
    }
}

/// What each tap along a row sees of it for a vector of outputs, of which the first tap of the first sees place `at`.
#[inline(always)]
fn seen<S: Simd, const K: usize, const STEP: usize>(simd: S, row: &[f32], at: isize) -> [S::V; K] {
    let mut seen = [simd.splat(0.0); K];
    if STEP == 1 {
        for c in 0..K {
            seen[c] = simd.load_clipped(row, at + c.cast_signed());
        }
        return seen;
    }
    for c in (0..K).step_by(2) {
        let at = at + c.cast_signed();
        let low = simd.load_clipped(row, at);
        let high = simd.load_clipped(row, at + S::LANES.cast_signed());
        seen[c] = simd.evens(low, high);
        if c + 1 < K {
            seen[c + 1] = simd.odds(low, high);
        }
    }
    seen
}
