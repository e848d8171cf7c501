//! What a window sees, as the columns of a matrix: one for each output, one row for each channel and tap.
//!
//! The matrix is packed panel by panel. Outputs that are neighbours see neighbours, so that a row of a panel is a few
//! runs of the input, as many as the panel has rows of the output, with zeros where the window is over padding.

use core::ops::Range;

use crate::window::Window;

/// Outputs of one panel that are in one row of the output.
#[derive(Clone, Copy, Default)]
struct Run {
    /// The first one's place in the panel, and how many there are.
    lane: usize,
    len: usize,
    /// The first one's place in the output.
    at: [usize; 3],
}

/// The most columns of a panel.
const MOST: usize = 32;

/// Packs the columns `outputs`, of the rows the range `k`, into a panel of `width` columns.
pub(super) fn pack(
    window: &Window,
    x: &[f32],
    k: Range<usize>,
    outputs: Range<usize>,
    width: usize,
    out: &mut [f32],
) {
    let mut runs = [Run::default(); MOST];
    let count = find_runs(window, &outputs, &mut runs);
    let taps = window.kernel_len();
    for (k, out) in k.zip(out.chunks_exact_mut(width)) {
        let plane = &x[k / taps * window.input_len()..][..window.input_len()];
        let tap = taps_of(window, k % taps);
        for run in &runs[..count] {
            fill(window, plane, tap, run, &mut out[run.lane..run.lane + run.len]);
        }
        out[outputs.len()..].fill(0.0);
    }
}

/// The place of a tap in the window.
fn taps_of(window: &Window, tap: usize) -> [usize; 3] {
    let [_, rows, columns] = window.kernel;
    [tap / (rows * columns), tap / columns % rows, tap % columns]
}

fn find_runs(window: &Window, outputs: &Range<usize>, runs: &mut [Run; MOST]) -> usize {
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
    count
}

/// What one tap sees for a run of outputs.
#[inline]
fn fill(window: &Window, plane: &[f32], tap: [usize; 3], run: &Run, out: &mut [f32]) {
    let [_, height, width] = window.input;
    let (Some(z), Some(y)) =
        (window.source(0, run.at[0], tap[0]), window.source(1, run.at[1], tap[1]))
    else {
        out.fill(0.0);
        return;
    };
    let row = &plane[(z * height + y) * width..][..width];
    let (step, pad) = (window.strides[2], window.pads_begin[2]);
    // The first output of the run sees this place, counted from the padding's begin.
    let begin = run.at[2] * step + tap[2] * window.dilations[2];
    if begin >= pad && begin - pad + (run.len - 1) * step < width {
        return copy(&row[begin - pad..], step, out);
    }
    let first = pad.saturating_sub(begin).div_ceil(step).min(run.len);
    let end = (width + pad).saturating_sub(begin).div_ceil(step).clamp(first, run.len);
    out[..first].fill(0.0);
    out[end..].fill(0.0);
    if first < end {
        copy(&row[begin + first * step - pad..], step, &mut out[first..end]);
    }
}

#[inline]
fn copy(from: &[f32], step: usize, out: &mut [f32]) {
    if step == 1 {
        out.copy_from_slice(&from[..out.len()]);
    } else {
        out.iter_mut().zip(from.iter().step_by(step)).for_each(|(out, x)| *out = *x);
    }
}
