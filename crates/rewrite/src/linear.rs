//! Linear interpolation along rows: which rows a row is made of, and how much of each.
//!
//! Each row of the output lies between two of the input, or on one. Places are computed in 32 bits and in the same
//! order of operations as runtimes do it, so the weights are theirs.
//!
//! A band of an interpolation is no interpolation of a band: at its ends the rows beyond it are missing, and half a
//! pixel is no whole row. So rows are mixed by a small stored matrix, and columns, which are whole, by the operator:
//! `y = resize_columns(M · x)` with one row of `M` for each row of the band.

use std::ops::Range;

use plimsoll_model::Coordinates;

/// Interpolation along rows, from how many to how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Linear {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) coordinates: Coordinates,
    /// The bits of the scale, since it has to be the very same.
    pub(crate) scale: u32,
}

impl Linear {
    /// The two rows around a row of the output, and how much of the second there is. The second is the first where
    /// nothing of it is needed.
    pub(crate) fn taps(&self, row: u64) -> (u64, u64, f32) {
        let sizes = (self.input, self.output);
        let place = self.coordinates.place(row, sizes, f32::from_bits(self.scale));
        #[allow(clippy::cast_precision_loss, reason = "rows are few")]
        let place = place.clamp(0.0, (self.input.max(1) - 1) as f32);
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let first = place.floor() as u64;
        let share = place - place.floor();
        (first, if share > 0.0 { first + 1 } else { first }, share)
    }

    /// The rows that a run is made of.
    pub(crate) fn rows(&self, run: &Range<u64>) -> Range<u64> {
        self.taps(run.start).0..self.taps(run.end - 1).1 + 1
    }

    /// How many rows can be made of the first `come` ones.
    pub(crate) fn ready(&self, come: u64) -> u64 {
        let (mut ready, mut behind) = (0, self.output);
        while ready < behind {
            let middle = ready + (behind - ready) / 2;
            if self.taps(middle).1 < come { ready = middle + 1 } else { behind = middle }
        }
        ready
    }

    /// Whether places are in order, as all that goes along rows relies on.
    pub(crate) fn is_sound(&self) -> bool {
        let scale = f32::from_bits(self.scale);
        self.input > 0 && self.output > 0 && scale.is_finite() && scale > 0.0
    }

    /// A row for each row of the run, with as many columns as there are rows that it is made of.
    pub(crate) fn matrix(&self, run: &Range<u64>) -> Vec<f64> {
        let rows = self.rows(run);
        let width = usize::try_from(rows.end - rows.start).unwrap_or(0);
        let mut matrix = Vec::new();
        for row in run.clone() {
            let (first, second, share) = self.taps(row);
            let mut weights = vec![0.0; width];
            let at = |row: u64| usize::try_from(row - rows.start).unwrap_or(0);
            weights[at(first)] += f64::from(1.0 - share);
            weights[at(second)] += f64::from(share);
            matrix.extend(weights);
        }
        matrix
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_between_two_is_made_of_both() {
        let scale = 2f32.to_bits();
        let halves = Linear { input: 3, output: 6, coordinates: Coordinates::HalfPixel, scale };
        let taps: Vec<_> = (0..6).map(|row| halves.taps(row)).collect();
        let expected =
            [(0, 0, 0.0), (0, 1, 0.25), (0, 1, 0.75), (1, 2, 0.25), (1, 2, 0.75), (2, 2, 0.0)];
        assert_eq!(taps, expected);
        assert_eq!(halves.matrix(&(1..3)), [0.75, 0.25, 0.25, 0.75]);
        assert_eq!(halves.matrix(&(4..6)), [0.25, 0.75, 0.0, 1.0]);
        let corners = Linear { output: 5, coordinates: Coordinates::AlignCorners, ..halves };
        let taps: Vec<_> = (0..5).map(|row| corners.taps(row)).collect();
        assert_eq!(taps, [(0, 0, 0.0), (0, 1, 0.5), (1, 1, 0.0), (1, 2, 0.5), (2, 2, 0.0)]);
    }
}
