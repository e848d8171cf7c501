//! What a window sees, as the columns of a matrix: one for each output, one row for each channel and tap.
//!
//! The matrix is packed panel by panel. Outputs that are neighbours see neighbours, so that a row of a panel is a few
//! runs of the input, as many as the panel has rows of the output, with zeros where the window is over padding. Where
//! these runs are depends on the tap and not on the channel: they are cut into pieces of a vector once for each tap, and
//! the pieces of every channel are copied. A piece is stored as a whole vector; the pieces behind it overwrite what
//! is too much.

use core::ops::Range;

use crate::simd::{Kernel, Simd};
use crate::window::Window;

/// The most columns of a panel.
const MOST: usize = 32;
/// The most pieces of a row: a run is zeros, elements and zeros; no piece but the last of each is less than a vector.
const PIECES: usize = 3 * MOST + 1;

/// Some columns of the matrix, of some of its rows, to be packed.
pub(super) struct Panel<'a> {
    pub(super) window: &'a Window,
    /// Planes one after the other, of each these elements.
    pub(super) x: &'a [f32],
    pub(super) seen: Range<usize>,
    /// Which rows of the matrix.
    pub(super) k: Range<usize>,
    /// Which columns.
    pub(super) outputs: Range<usize>,
    /// How many columns the panel has: zeros behind those above.
    pub(super) width: usize,
    pub(super) out: &'a mut [f32],
}

/// Outputs of one panel that are in one row of the output.
#[derive(Clone, Copy)]
struct Run {
    /// The first one's place in the panel, and how many there are.
    lane: usize,
    len: usize,
    /// The first one's place in the output.
    at: [usize; 3],
}

/// Neighbouring lanes of a row of a panel, at most a vector.
#[derive(Clone, Copy)]
struct Piece {
    lane: usize,
    len: usize,
    /// Where the first one is in a plane.
    from: usize,
    copy: Copying,
}

/// How a piece is copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copying {
    /// It is padding.
    Zeros,
    /// A vector of neighbours can be read.
    Whole,
    /// Only the elements of the piece can be read.
    Part,
    /// Every second one, of as many as fill a vector.
    Even,
    /// One by one.
    Single,
}

/// The pieces of a row.
struct Pieces {
    list: [Piece; PIECES],
    count: usize,
}

impl Kernel for Panel<'_> {
    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Panel { window, x, ref seen, k: ref rows, ref outputs, width, out } = self;
        let (taps, plane) = (window.kernel_len(), seen.len());
        let mut runs = [Run { lane: 0, len: 0, at: [0; 3] }; MOST];
        let runs = find_runs(window, outputs, &mut runs);
        let none = Piece { lane: 0, len: 0, from: 0, copy: Copying::Zeros };
        let mut pieces = Pieces { list: [none; PIECES], count: 0 };
        for tap in 0..taps {
            pieces.count = 0;
            let place = place_of(window, tap);
            for run in runs {
                pieces.run::<S>((window, seen), place, run);
            }
            pieces.zeros::<S>(outputs.len(), width);
            let pieces = &pieces.list[..pieces.count];
            let first = rows.start + (tap + taps - rows.start % taps) % taps;
            for k in (first..rows.end).step_by(taps) {
                let plane = &x[k / taps * plane..][..plane];
                let out = &mut out[(k - rows.start) * width..][..width];
                for piece in pieces {
                    copy(simd, window.strides[2], plane, piece, out);
                }
            }
        }
    }
}

/// The place of a tap in the window.
fn place_of(window: &Window, tap: usize) -> [usize; 3] {
    let [_, rows, columns] = window.kernel;
    [tap / (rows * columns), tap / columns % rows, tap % columns]
}

fn find_runs<'a>(window: &Window, outputs: &Range<usize>, runs: &'a mut [Run; MOST]) -> &'a [Run] {
    let [_, rows, columns] = window.output;
    let (mut place, mut count) = (outputs.start, 0);
    while place < outputs.end {
        let column = place % columns;
        let len = (columns - column).min(outputs.end - place);
        let at = [place / (rows * columns), place / columns % rows, column];
        runs[count] = Run { lane: place - outputs.start, len, at };
        place += len;
        count += 1;
    }
    &runs[..count]
}

impl Pieces {
    #[inline(always)]
    fn push(&mut self, piece: Piece) {
        self.list[self.count] = piece;
        self.count += 1;
    }

    #[inline(always)]
    fn zeros<S: Simd>(&mut self, from: usize, to: usize) {
        for lane in (from..to).step_by(S::LANES) {
            let len = S::LANES.min(to - lane);
            self.push(Piece { lane, len, from: 0, copy: Copying::Zeros });
        }
    }

    /// What one tap sees for a run of outputs.
    #[inline(always)]
    fn run<S: Simd>(
        &mut self,
        (window, seen): (&Window, &Range<usize>),
        tap: [usize; 3],
        run: &Run,
    ) {
        let [_, height, width] = window.input;
        let end = run.lane + run.len;
        let (Some(z), Some(y)) =
            (window.source(0, run.at[0], tap[0]), window.source(1, run.at[1], tap[1]))
        else {
            return self.zeros::<S>(run.lane, end);
        };
        let (step, pad) = (window.strides[2], window.pads_begin[2]);
        // The first output of the run sees this place, counted from the padding's begin.
        let begin = run.at[2] * step + tap[2] * window.dilations[2];
        let before = |edge: usize| {
            let room = edge.saturating_sub(begin);
            (if step == 1 { room } else { room.div_ceil(step) }).min(run.len)
        };
        let (first, last) = (run.lane + before(pad), run.lane + before(width + pad));
        self.zeros::<S>(run.lane, first);
        for lane in (first..last).step_by(S::LANES) {
            let len = S::LANES.min(last - lane);
            let from = (z * height + y) * width + begin + (lane - run.lane) * step - pad;
            let (from, room) = (from - seen.start, seen.end - from);
            self.push(Piece { lane, len, from, copy: Copying::new::<S>(step, room) });
        }
        self.zeros::<S>(last.max(first), end);
    }
}

impl Copying {
    /// How elements are copied that are `step` apart, where `room` can be read.
    #[inline(always)]
    fn new<S: Simd>(step: usize, room: usize) -> Copying {
        match step {
            1 if room >= S::LANES => Copying::Whole,
            1 => Copying::Part,
            2 if room >= 2 * S::LANES => Copying::Even,
            _ => Copying::Single,
        }
    }
}

#[inline(always)]
fn copy<S: Simd>(simd: S, step: usize, plane: &[f32], piece: &Piece, out: &mut [f32]) {
    let (out, from) = (&mut out[piece.lane..], &plane[piece.from..]);
    let v = match piece.copy {
        Copying::Zeros => simd.splat(0.0),
        Copying::Whole => simd.load(from),
        Copying::Part => simd.load_part(from, piece.len),
        Copying::Even => simd.load_even(from),
        Copying::Single => {
            for (out, x) in out.iter_mut().zip(from.iter().step_by(step)).take(piece.len) {
                *out = *x;
            }
            return;
        }
    };
    if out.len() >= S::LANES {
        simd.store(v, out);
    } else {
        simd.store_part(v, out, out.len());
    }
}
