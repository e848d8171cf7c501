//! Local moves: the best order of the units around the peak, with the rest where it is.

use super::course::{Course, UnitId};
use super::exact::{Found, best_order};
use super::scope::Scope;

/// How many units are ordered anew at a time.
const SIZES: [usize; 4] = [16, 32, 64, 128];

/// How much of the work that is left a single window may take.
const SHARE: u64 = 8;

/// Lowers the peak of an order as long as a window is found that does, or until it is at `floor`.
pub(crate) fn improve(course: &Course, order: &mut Vec<UnitId>, floor: u64, work: &mut u64) {
    while let Some(better) = lowered(course, order, floor, work) {
        *order = better;
    }
}

/// The order with one window around its peak ordered anew.
fn lowered(course: &Course, order: &[UnitId], floor: u64, work: &mut u64) -> Option<Vec<UnitId>> {
    let alive = course.alive(order);
    let (at, peak) = alive.iter().enumerate().rev().max_by_key(|(_, alive)| **alive)?;
    if *peak <= floor {
        return None;
    }
    for size in SIZES {
        // The peak in the middle, near the end, near the beginning.
        for lead in [size / 2, size * 7 / 8, size / 8] {
            let from = at.saturating_sub(lead);
            let to = (from + size).min(order.len());
            let elsewhere = alive[..from].iter().chain(&alive[to..]).max().copied().unwrap_or(0);
            let scope = Scope::new(course, order, from, to);
            let mut share = *work / SHARE;
            let before = share;
            let goal = floor.max(elsewhere.min(peak - 1));
            let found = best_order(&scope, goal, *peak, &mut share);
            *work -= before - share;
            if let Found::Best(window, _) = found {
                let mut better = order.to_vec();
                better[from..to].copy_from_slice(&window);
                return Some(better);
            }
        }
    }
    None
}
