//! Local moves: the best order of the groups around the peak, with the rest where it is.

use super::cost::{CostModel, GroupId};
use super::exact::{Found, best_order};
use super::scope::Scope;
use super::work::Work;

/// How many groups are ordered anew at a time.
const SIZES: [usize; 4] = [16, 32, 64, 128];

/// How much of the work that is left a single window may take.
const SHARE: u64 = 8;

/// Lowers the peak of an order as long as a window is found that does, or until it is at `floor`.
pub(crate) fn improve(
    model: &CostModel,
    order: &mut Vec<GroupId>,
    floor: u64,
    work: &mut Work<'_, '_>,
) {
    while let Some(better) = lowered(model, order, floor, work) {
        *order = better;
    }
}

/// The order with one window around its peak ordered anew.
fn lowered(
    model: &CostModel,
    order: &[GroupId],
    floor: u64,
    work: &mut Work<'_, '_>,
) -> Option<Vec<GroupId>> {
    let alive = model.alive(order);
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
            if !work.spend(order.len() as u64) {
                return None;
            }
            let scope = Scope::new(model, order, from, to);
            let goal = floor.max(elsewhere.min(peak - 1));
            let found = work.with_share(SHARE, |work| best_order(&scope, goal, *peak, work));
            if let Found::Best(window, _) = found {
                let mut better = order.to_vec();
                better[from..to].copy_from_slice(&window);
                return Some(better);
            }
        }
    }
    None
}
