//! The moments at which most bytes are in use.

use std::cmp::Reverse;

use plimsoll_pack::{Problem, Sweep};

use super::{step_at, window};
use crate::StepId;
use crate::plan::{Buffer, Plan};
use crate::point::Point;

/// A moment before and after which fewer bytes are in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// When.
    pub point: Point,
    /// The step that runs then; `None` when all are over.
    pub step: Option<StepId>,
    /// The bytes in use, in all banks together, guards and scratch memory included.
    pub bytes: u64,
}

/// The highest peak, and the ones that would show if it fell: at most `most`, the highest first.
///
/// Of peaks at which the same buffers are in use only the first is listed: what lowers one of them
/// lowers the others.
#[must_use]
pub fn peaks(plan: &Plan, most: usize) -> Vec<Peak> {
    let buffers = &plan.derivation.buffers;
    let Ok(problem) = Problem::new(buffers.iter().map(Buffer::packed).collect()) else {
        return Vec::new();
    };
    let sweep = Sweep::new(&problem);
    let mut maxima = local_maxima(sweep.load());
    maxima.sort_by_cached_key(|section| (Reverse(sweep.load()[*section]), *section));
    let mut peaks: Vec<Peak> = Vec::new();
    let mut known: Vec<Vec<bool>> = Vec::new();
    for section in maxima {
        if peaks.len() == most {
            break;
        }
        let point = Point(sweep.life_of(section).start.unsigned_abs());
        let in_use: Vec<bool> = buffers.iter().map(|b| window(b, point).is_some()).collect();
        if !known.contains(&in_use) {
            peaks.push(Peak { point, step: step_at(plan, point), bytes: sweep.load()[section] });
            known.push(in_use);
        }
    }
    peaks
}

/// The first section of every stretch with lower neighbours on both sides.
fn local_maxima(load: &[u64]) -> Vec<usize> {
    let mut maxima = Vec::new();
    let mut rising_since = Some(0);
    for (section, bytes) in load.iter().enumerate() {
        let before = if section == 0 { 0 } else { load[section - 1] };
        if *bytes > before {
            rising_since = Some(section);
        }
        let falls = load.get(section + 1).is_none_or(|next| next < bytes);
        if falls && *bytes > 0 {
            maxima.extend(rising_since.take());
        }
    }
    maxima
}

#[cfg(test)]
mod tests {
    use super::local_maxima;

    #[test]
    fn a_plateau_is_one_maximum() {
        assert_eq!(local_maxima(&[1, 3, 3, 2, 2, 5, 5, 5]), [1, 5]);
        assert_eq!(local_maxima(&[4, 3, 4, 4, 1, 0, 0, 1]), [0, 2, 7]);
        assert!(local_maxima(&[0, 0]).is_empty());
        assert!(local_maxima(&[]).is_empty());
    }
}
