//! Rows: which rows of an input a run of rows of the output is made from, exactly.
//!
//! A [`Lane`] is how an operator goes along the axis of rows. All runs are half-open. What is asked is always one
//! of three things: what a run of the output [needs](Lane::needs), how many rows of the output are
//! [ready](Lane::ready) when the input has come so far, and from [which row on](Lane::first) the input is needed if
//! the output goes on at a row. The answers are checked against a walk over single elements.

use std::ops::Range;

use crate::linear::Linear;

/// How an operator goes along rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Row by row.
    Each,
    /// By windows over the input: convolutions, pools, padding.
    Windows {
        /// From one window to the next.
        stride: u64,
        /// From the first to behind the last row of a window.
        reach: u64,
        /// What is added before the first row.
        before: u64,
    },
    /// By windows over the output: transposed convolutions.
    Spread {
        /// From the window of one row to that of the next.
        stride: u64,
        /// From the first to behind the last row of a window.
        reach: u64,
        /// What is taken off before the first row.
        before: u64,
    },
    /// Every row is there so many times.
    Repeat(u64),
    /// Rows between two of the input: linear interpolation.
    Between(Linear),
}

/// How an operator goes along rows, from how many to how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) reach: Reach,
    /// How many rows go in.
    pub(crate) input: u64,
    /// How many come out.
    pub(crate) output: u64,
}

/// The rows that a run of the output needs, and what has to be added to them at both ends, or, for
/// [`Reach::Spread`], taken off; negative at the end where the output is longer than what is spread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) rows: Range<u64>,
    pub(crate) before: u64,
    pub(crate) behind: i64,
}

impl Lane {
    /// Row by row.
    pub(crate) fn each(rows: u64) -> Self {
        Lane { reach: Reach::Each, input: rows, output: rows }
    }

    /// How many rows of the output belong together.
    pub(crate) fn granule(&self) -> u64 {
        match self.reach {
            Reach::Each | Reach::Windows { .. } | Reach::Spread { .. } | Reach::Between(_) => 1,
            Reach::Repeat(times) => times,
        }
    }

    /// Whether every row of the output is made from at least one row of the input, as all that follows relies on.
    pub(crate) fn is_sound(&self) -> bool {
        match self.reach {
            Reach::Each => self.input == self.output,
            Reach::Repeat(times) => times > 0 && self.input * times == self.output,
            Reach::Between(linear) => linear.is_sound(),
            Reach::Windows { stride, reach, before } => {
                let last = self.output.saturating_sub(1) * stride;
                self.output > 0 && reach > before && last < self.input + before
            }
            Reach::Spread { stride, reach, .. } => {
                self.output > 0 && self.input > 0 && reach >= stride
            }
        }
    }

    /// What the rows `run` of the output are made from. The run is not empty.
    pub(crate) fn needs(&self, run: &Range<u64>) -> Need {
        match self.reach {
            Reach::Each => Need { rows: run.clone(), before: 0, behind: 0 },
            Reach::Between(linear) => Need { rows: linear.rows(run), before: 0, behind: 0 },
            Reach::Repeat(times) => {
                let rows = run.start / times..run.end.div_ceil(times);
                let behind = signed(rows.end * times) - signed(run.end);
                Need { before: run.start - rows.start * times, behind, rows }
            }
            Reach::Windows { stride, reach, before } => {
                let (start, end) = (run.start * stride, (run.end - 1) * stride + reach);
                let rows =
                    start.saturating_sub(before)..(end.saturating_sub(before)).min(self.input);
                let behind = end.saturating_sub(before + self.input);
                Need { rows, before: before.saturating_sub(start), behind: signed(behind) }
            }
            Reach::Spread { stride, reach, before } => {
                let (start, end) = (run.start + before, run.end + before);
                let first = (start + 1).saturating_sub(reach).div_ceil(stride).min(self.input - 1);
                let rows = first..((end - 1) / stride + 1).min(self.input);
                let behind = signed((rows.end - 1) * stride + reach) - signed(end);
                Need { before: start - rows.start * stride, behind, rows }
            }
        }
    }

    /// How many rows of the output can be made of the first `come` rows of the input.
    pub(crate) fn ready(&self, come: u64) -> u64 {
        if come >= self.input {
            return self.output;
        }
        let ready = match self.reach {
            Reach::Each => come,
            Reach::Repeat(times) => come * times,
            Reach::Between(linear) => linear.ready(come),
            Reach::Windows { stride, reach, before } => {
                (come + before).checked_sub(reach).map_or(0, |way| way / stride + 1)
            }
            // Row `o` needs the rows of the input to `(o + before) / stride`.
            Reach::Spread { stride, before, .. } => (come * stride).saturating_sub(before),
        };
        ready.min(self.output)
    }

    /// From which row on the input is needed if the output goes on with the row `next`.
    pub(crate) fn first(&self, next: u64) -> u64 {
        if next >= self.output {
            return self.input;
        }
        self.needs(&(next..next + 1)).rows.start
    }
}

/// Rows are far fewer than 2⁶³: every row is at least a byte.
fn signed(rows: u64) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use plimsoll_model::Coordinates;

    use super::*;

    /// The rows of the input that one row of the output is made from, element by element.
    fn plain(lane: &Lane, row: u64) -> Vec<u64> {
        let inside = |row: i64| u64::try_from(row).ok().filter(|row| *row < lane.input);
        match lane.reach {
            Reach::Each => vec![row],
            Reach::Repeat(times) => vec![row / times],
            Reach::Between(linear) => {
                let (first, second, _) = linear.taps(row);
                vec![first, second]
            }
            Reach::Windows { stride, reach, before } => {
                let at = |tap: u64| inside(signed(row * stride + tap) - signed(before));
                (0..reach).filter_map(at).collect()
            }
            Reach::Spread { stride, reach, before } => {
                let taps = |input: u64| input * stride..input * stride + reach;
                (0..lane.input).filter(|input| taps(*input).contains(&(row + before))).collect()
            }
        }
    }

    fn lanes() -> Vec<Lane> {
        let mut lanes = vec![Lane::each(5)];
        lanes.extend((1..4).map(|times| Lane {
            reach: Reach::Repeat(times),
            input: 4,
            output: 4 * times,
        }));
        for (stride, reach, before) in (0..64).map(|n| (n % 4 + 1, n / 4 % 4 + 1, n / 16)) {
            for (input, behind) in
                (1..8).flat_map(|input| (0..3).map(move |behind| (input, behind)))
            {
                let windows = Reach::Windows { stride, reach, before };
                if let Some(way) = (input + before + behind).checked_sub(reach) {
                    lanes.push(Lane { reach: windows, input, output: way / stride + 1 });
                }
                let spread = Reach::Spread { stride, reach, before };
                let whole = (input - 1) * stride + reach;
                if let Some(output) = whole.checked_sub(before + behind) {
                    lanes.push(Lane { reach: spread, input, output });
                }
            }
        }
        let all = [
            Coordinates::HalfPixel,
            Coordinates::PytorchHalfPixel,
            Coordinates::AlignCorners,
            Coordinates::Asymmetric,
        ];
        for (input, output) in (1..7).flat_map(|input| (1..16).map(move |output| (input, output))) {
            let scale = (output as f32 / input as f32).to_bits();
            lanes.extend(all.map(|coordinates| {
                let linear = Linear { input, output, coordinates, scale };
                Lane { reach: Reach::Between(linear), input, output }
            }));
        }
        lanes.retain(Lane::is_sound);
        assert!(lanes.len() > 300);
        lanes
    }

    #[test]
    fn a_run_needs_what_its_rows_are_made_from() {
        for lane in lanes() {
            for (a, b) in (0..lane.output).flat_map(|a| (a..lane.output).map(move |b| (a, b + 1))) {
                let need = lane.needs(&(a..b));
                let made_from: Vec<u64> = (a..b).flat_map(|row| plain(&lane, row)).collect();
                let Some(first) = made_from.iter().min() else { continue };
                let last = made_from.iter().max().unwrap_or(first);
                let padding_alone = (a..b).any(|row| plain(&lane, row).is_empty());
                if !padding_alone {
                    assert_eq!(need.rows, *first..last + 1, "{lane:?} {a}..{b}");
                }
                assert!(need.rows.start <= *first && need.rows.end > *last, "{lane:?} {a}..{b}");
            }
        }
    }

    #[test]
    fn the_rows_that_are_needed_make_as_many_as_were_asked_for() {
        for lane in lanes() {
            for (a, b) in (0..lane.output).flat_map(|a| (a..lane.output).map(move |b| (a, b + 1))) {
                let Need { rows, before, behind } = lane.needs(&(a..b));
                let (given, before) = (signed(rows.end - rows.start), signed(before));
                let made = match lane.reach {
                    Reach::Each => given,
                    Reach::Between(linear) => {
                        let count = linear.matrix(&(a..b)).len() as u64;
                        signed(count / (rows.end - rows.start))
                    }
                    Reach::Repeat(times) => given * signed(times) - before - behind,
                    Reach::Windows { stride, reach, .. } => {
                        (given + before + behind - signed(reach)) / signed(stride) + 1
                    }
                    Reach::Spread { stride, reach, .. } => {
                        (given - 1) * signed(stride) + signed(reach) - before - behind
                    }
                };
                assert_eq!(made, signed(b - a), "{lane:?} {a}..{b}");
            }
        }
    }

    #[test]
    fn as_many_are_ready_as_have_all_that_they_need() {
        for lane in lanes() {
            for come in 0..=lane.input {
                let has_all = |row: &u64| lane.needs(&(*row..row + 1)).rows.end <= come;
                let plain = (0..lane.output).take_while(has_all).count() as u64;
                let ready = lane.ready(come);
                assert!(ready <= plain, "{lane:?} {come}: {ready} of {plain}");
                // Where windows are spread, the rows behind the last can be ready before they are told to be.
                if !matches!(lane.reach, Reach::Spread { .. }) {
                    assert_eq!(ready, plain, "{lane:?} {come}");
                }
            }
        }
    }

    #[test]
    fn no_later_row_needs_what_is_before_the_first() {
        for lane in lanes() {
            for next in 0..lane.output {
                let later = (next..lane.output).map(|row| lane.needs(&(row..row + 1)).rows.start);
                assert!(later.min() >= Some(lane.first(next)), "{lane:?} {next}");
            }
            assert_eq!(lane.first(lane.output), lane.input);
        }
    }
}
