//! The search for an order with a low peak.
//!
//! 1. Orders by rules: the program's own, depth first, greedy, forwards and backwards. The best is
//!    kept, part by part between cut points; on a tie the program's own.
//! 2. Smallest cuts at the highest units say how low the peak can be there.
//! 3. Parts with the highest peak are ordered exactly, or by a beam search if they are too large.
//! 4. Windows around the peak are ordered anew.
//!
//! It ends where the peak is at the lower bound, or the work is used up. Never worse than the
//! program's own order.

use std::cmp::Reverse;

use super::beam::beam;
use super::bound::lower_bound;
use super::course::{Course, UnitId};
use super::cut::least_alive;
use super::depth_first::depth_first;
use super::exact::{Found, best_order};
use super::greedy::{Rule, greedy};
use super::parts::parts;
use super::scope::Scope;
use super::windows::improve;

/// The beam's width at first; it is doubled as long as there is work left.
const WIDTH: usize = 16;

/// Larger parts than this are left to the windows.
const MOST_BEAMED: usize = 512;

/// An order, and how good it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ordered {
    pub(crate) order: Vec<UnitId>,
    /// The most bytes alive in it.
    pub(crate) peak: u64,
    /// No order has a lower peak.
    pub(crate) lower_bound: u64,
}

/// Searches for the best order, with so much work.
pub(crate) fn search(course: &Course, mut work: u64) -> Ordered {
    let own: Vec<UnitId> = (0..course.len() as UnitId).collect();
    let mut bound = lower_bound(course, &own);
    let mut order = own.clone();
    let mut peak = course.peak(&order);
    for candidate in candidates(course, &own, work > 0) {
        if peak <= bound {
            break;
        }
        order = best_of(course, &order, &candidate());
        peak = course.peak(&order);
    }
    if peak > bound && work > 0 {
        bound = bound.max(bound_by_cuts(course, &order, bound, &mut work));
        let proven = order_parts(course, &mut order, bound, &mut work);
        bound = bound.max(proven);
        improve(course, &mut order, bound, &mut work);
        peak = course.peak(&order);
        bound = bound.max(bound_by_cuts(course, &order, bound, &mut work));
    }
    Ordered { order, peak, lower_bound: bound.min(peak) }
}

/// A better lower bound, from the units with the most alive in an order: no other unit can say
/// more than what is alive there.
pub(crate) fn bound_by_cuts(
    course: &Course,
    order: &[UnitId],
    mut bound: u64,
    work: &mut u64,
) -> u64 {
    let alive = course.alive(order);
    let mut places: Vec<usize> = (0..order.len()).collect();
    places.sort_by_key(|place| (Reverse(alive[*place]), *place));
    let mut share = *work / 4;
    let before = share;
    for place in places {
        if alive[place] <= bound {
            break;
        }
        let (least, cost) = least_alive(course, order[place]);
        bound = bound.max(least);
        let Some(left) = share.checked_sub(cost) else { break };
        share = left;
    }
    *work -= before - share;
    bound
}

/// Orders by rules, made one by one.
fn candidates<'a>(
    course: &'a Course,
    own: &'a [UnitId],
    thorough: bool,
) -> Vec<Box<dyn Fn() -> Vec<UnitId> + 'a>> {
    let mut candidates: Vec<Box<dyn Fn() -> Vec<UnitId> + 'a>> = vec![
        Box::new(move || depth_first(course, own)),
        Box::new(move || greedy(course, Rule::Net)),
    ];
    if thorough {
        candidates.push(Box::new(move || greedy(course, Rule::Peak)));
        candidates.push(Box::new(move || greedy(course, Rule::Chain)));
        for rule in Rule::ALL {
            candidates
                .push(Box::new(move || backwards(&greedy(&course.reversed(), rule), course.len())));
        }
    }
    candidates
}

/// An order of the reversed course, for the course itself.
fn backwards(order: &[UnitId], units: usize) -> Vec<UnitId> {
    order.iter().rev().map(|unit| units as UnitId - 1 - unit).collect()
}

/// The better of two orders, part by part; the first on a tie.
fn best_of(course: &Course, first: &[UnitId], second: &[UnitId]) -> Vec<UnitId> {
    let (alive, other) = (course.alive(first), course.alive(second));
    let mut best = first.to_vec();
    let mut from = 0;
    for part in parts(course, first) {
        let to = from + part.len();
        if other[from..to].iter().max() < alive[from..to].iter().max() {
            best[from..to].copy_from_slice(&second[from..to]);
        }
        from = to;
    }
    best
}

/// Orders the parts with the highest peaks as well as can be; gives the bound that follows.
fn order_parts(course: &Course, order: &mut [UnitId], bound: u64, work: &mut u64) -> u64 {
    let mut proven = bound;
    loop {
        let alive = course.alive(order);
        let mut spans = Vec::new();
        let mut from = 0;
        for part in parts(course, order) {
            let to = from + part.len();
            spans.push((alive[from..to].iter().max().copied().unwrap_or(0), from, to));
            from = to;
        }
        let Some((peak, from, to)) =
            spans.iter().copied().max_by_key(|(peak, from, _)| (*peak, *from))
        else {
            return proven;
        };
        if peak <= proven {
            return proven;
        }
        let scope = Scope::new(course, order, from, to);
        let mut share = *work / 2;
        let before = share;
        let found = best_order(&scope, proven, peak, &mut share);
        *work -= before - share;
        match found {
            Found::Best(part, peak) => {
                order[from..to].copy_from_slice(&part);
                proven = proven.max(peak);
            }
            Found::None => return proven.max(peak),
            Found::GaveUp => {
                let Some(part) = beamed(&scope, proven, peak, work) else { return proven };
                order[from..to].copy_from_slice(&part);
            }
        }
    }
}

/// A better order of a part, by wider and wider beams.
fn beamed(scope: &Scope<'_>, floor: u64, peak: u64, work: &mut u64) -> Option<Vec<UnitId>> {
    if scope.len() > MOST_BEAMED {
        return None;
    }
    let (mut best, mut peak, mut width) = (None, peak, WIDTH);
    let mut share = *work / 2;
    *work -= share;
    while let Some((order, lower)) = beam(scope, floor, peak, width, &mut share) {
        (best, peak) = (Some(order), lower);
        width *= 2;
    }
    *work += share;
    best
}
