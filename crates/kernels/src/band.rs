//! Windows over one plane: depthwise convolutions and pools, in vectors of neighbouring outputs.
//!
//! The plane is copied into scratch some rows at a time, with its padding, so that no vector is at a border. A band
//! takes at most [`MOST`] elements, or as many as one row of outputs needs, and fewer where there is less scratch. Every output is one chain over the
//! window, row by row.

use crate::gemm::finish::Finish;
use crate::gemm::tile::store_at;
use crate::simd::{Kernel, Simd};
use crate::window::Window;

/// The most elements of a band.
const MOST: usize = 16 * 1024;
/// The least rows of outputs of a band, where there are so many: as many as are computed at a time.
const LEAST_OUTPUTS: usize = 4;
/// The most lanes of a vector.
const LANES: usize = 16;

/// What is done with the elements under the window.
#[derive(Clone, Copy)]
pub(crate) enum Taps<'a> {
    /// Each times its weight, added up.
    Weighted(&'a [f32]),
    /// Added up.
    Sum,
    /// The greatest.
    Max,
}

/// The rows of a plane that some rows of outputs need, padded.
#[derive(Clone, Copy)]
pub(crate) struct Band {
    /// Elements of a row.
    pub(crate) width: usize,
    /// Rows of outputs.
    pub(crate) outputs: usize,
    /// Rows of the plane.
    rows: usize,
}

impl Band {
    /// Whether there is a band for this window: one or two dims, strides of 1 or 2 along rows.
    pub(crate) fn is_for(window: &Window) -> bool {
        let some = window.output_len() > 0;
        let flat = some && window.input[0] == 1 && window.output[0] == 1 && window.kernel[0] == 1;
        flat && window.pads_begin[0] == 0 && matches!(window.strides[2], 1 | 2)
    }

    /// The largest there is.
    pub(crate) fn new(window: &Window) -> Band {
        Band::within(window, MOST)
    }

    /// The least there is.
    pub(crate) fn least(window: &Window) -> Band {
        Band::within(window, 0)
    }

    /// The largest that has so many elements, or the least one.
    pub(crate) fn within(window: &Window, room: usize) -> Band {
        let reach = |d: usize| (window.kernel[d] - 1) * window.dilations[d] + 1;
        let columns = window.output[2].next_multiple_of(LANES);
        let seen = (columns - 1) * window.strides[2] + reach(2);
        let width = seen.max(window.pads_begin[2] + window.input[2]);
        let fitting = |room: usize| {
            let rows = (room / width).checked_sub(reach(1));
            rows.map_or(1, |rows| rows / window.strides[1] + 1)
        };
        let most = fitting(MOST);
        let outputs = fitting(room).clamp(LEAST_OUTPUTS.min(most), most).min(window.output[1]);
        Band { width, outputs, rows: (outputs - 1) * window.strides[1] + reach(1) }
    }

    pub(crate) fn scratch(&self) -> usize {
        self.width * self.rows
    }

    /// Copies the rows that outputs from row `first` on need. To the left and the right of them there is padding already;
    /// above and below there is, if all rows are in one band.
    #[inline(always)]
    pub(crate) fn fill<S: Simd>(
        &self,
        simd: S,
        window: &Window,
        first: usize,
        x: &[f32],
        padding: f32,
        band: &mut [f32],
    ) {
        let (begin, width) = (window.pads_begin[2], window.input[2]);
        let is_whole = self.outputs == window.output[1];
        let above = first * window.strides[1];
        for (row, band) in band.chunks_exact_mut(self.width).enumerate() {
            let source = (above + row).checked_sub(window.pads_begin[1]);
            match source.filter(|row| *row < window.input[1]) {
                Some(source) => {
                    let from = &x[source * width..][..width];
                    copy_row(simd, from, &mut band[begin..begin + width]);
                }
                None if is_whole => {}
                None => band[begin..begin + width].fill(padding),
            }
        }
    }
}

/// Copies a row in whole vectors, the last of which may begin in the one before.
#[inline(always)]
fn copy_row<S: Simd>(simd: S, from: &[f32], to: &mut [f32]) {
    let len = from.len();
    if len < S::LANES {
        return simd.store_part(simd.load_part(from, len), to, len);
    }
    let last = len - S::LANES;
    for at in (0..last).step_by(S::LANES) {
        simd.store(simd.load(&from[at..]), &mut to[at..]);
    }
    simd.store(simd.load(&from[last..]), &mut to[last..]);
}

/// Planes `x` to planes `y`, each by way of `scratch`, which has at least [`Band::scratch`] elements of the least band.
pub(crate) struct Planes<'a> {
    pub(crate) window: &'a Window,
    pub(crate) taps: Taps<'a>,
    pub(crate) x: &'a [f32],
    pub(crate) finish: Finish<'a>,
    pub(crate) y: &'a mut [f32],
    pub(crate) scratch: &'a mut [f32],
}

impl Kernel for Planes<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Planes { window, taps, finish, .. } = self;
        let band = Band::within(window, self.scratch.len());
        let [_, rows, columns] = window.output;
        let padding = if matches!(taps, Taps::Max) { f32::MIN } else { 0.0 };
        let elements = &mut self.scratch[..band.scratch()];
        elements.fill(padding);
        let planes = self.x.chunks_exact(window.input_len().max(1));
        for (x, y) in planes.zip(self.y.chunks_exact_mut(window.output_len())) {
            for first in (0..rows).step_by(band.outputs) {
                let end = rows.min(first + band.outputs);
                band.fill(simd, window, first, x, padding, elements);
                let y = &mut y[first * columns..end * columns];
                let (finish, width) = (finish.at_column(first * columns), band.width);
                Rows { window, width, taps, band: elements, finish, y }.run(simd);
            }
        }
    }
}

/// The rows of outputs of one band.
pub(crate) struct Rows<'a> {
    pub(crate) window: &'a Window,
    pub(crate) width: usize,
    pub(crate) taps: Taps<'a>,
    pub(crate) band: &'a [f32],
    pub(crate) finish: Finish<'a>,
    pub(crate) y: &'a mut [f32],
}

impl Kernel for Rows<'_> {
    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let columns = self.window.output[2];
        let rows = self.y.len() / columns;
        for row in 0..rows {
            let mut column = 0;
            while column + 4 * S::LANES <= columns {
                self.vectors::<S, 4>(simd, row, column);
                column += 4 * S::LANES;
            }
            while column < columns {
                self.vectors::<S, 1>(simd, row, column);
                column += S::LANES;
            }
        }
    }
}

impl Rows<'_> {
    /// `T` vectors of outputs, from that place on; the last one may end beyond its row.
    #[inline(always)]
    fn vectors<S: Simd, const T: usize>(&mut self, simd: S, row: usize, column: usize) {
        let columns = self.window.output[2];
        let mut sums = [self.reduce::<S, T>(simd, row, column)];
        let begin = row * columns + column;
        let end = (begin + T * S::LANES).min((row + 1) * columns);
        let y = &mut self.y[begin..end];
        self.finish.end(simd, begin..end, &mut sums, y);
        for t in 0..T {
            store_at(simd, sums[0][t], y, t);
        }
    }

    #[inline(always)]
    fn reduce<S: Simd, const T: usize>(&self, simd: S, row: usize, column: usize) -> [S::V; T] {
        match (self.taps, self.window.strides[2]) {
            (Taps::Weighted(w), 1) => self.walk(simd, row, column, 0.0, |sum, x, tap| {
                simd.mul_add(simd.splat(w[tap]), simd.load(x), sum)
            }),
            (Taps::Weighted(w), _) => self.walk(simd, row, column, 0.0, |sum, x, tap| {
                simd.mul_add(simd.splat(w[tap]), simd.load_even(x), sum)
            }),
            (Taps::Sum, 1) => {
                self.walk(simd, row, column, 0.0, |sum, x, _| simd.add(sum, simd.load(x)))
            }
            (Taps::Sum, _) => {
                self.walk(simd, row, column, 0.0, |sum, x, _| simd.add(sum, simd.load_even(x)))
            }
            (Taps::Max, 1) => {
                self.walk(simd, row, column, f32::MIN, |most, x, _| simd.max(most, simd.load(x)))
            }
            (Taps::Max, _) => self
                .walk(simd, row, column, f32::MIN, |most, x, _| simd.max(most, simd.load_even(x))),
        }
    }

    /// Folds what the window sees.
    #[inline(always)]
    fn walk<S: Simd, const T: usize>(
        &self,
        simd: S,
        row: usize,
        column: usize,
        first: f32,
        step: impl Fn(S::V, &[f32], usize) -> S::V,
    ) -> [S::V; T] {
        let [_, rows, columns] = self.window.kernel;
        let stride = self.window.strides[2];
        let mut sums = [simd.splat(first); T];
        for r in 0..rows {
            let line = &self.band
                [(row * self.window.strides[1] + r * self.window.dilations[1]) * self.width..]
                [..self.width];
            for c in 0..columns {
                let seen = &line[column * stride + c * self.window.dilations[2]..];
                for t in 0..T {
                    sums[t] = step(sums[t], &seen[t * S::LANES * stride..], r * columns + c);
                }
            }
        }
        sums
    }
}
