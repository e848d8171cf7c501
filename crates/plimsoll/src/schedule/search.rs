//! The search for an order with a low peak.
//!
//! 1. Orders by rules: the program's own, depth first, greedy, forwards and backwards. The best is
//!    kept, part by part between cut points; on a tie the program's own.
//! 2. Smallest cuts at the highest groups say how low the peak can be there.
//! 3. Parts with the highest peak are ordered exactly, or by a beam search if they are too large.
//! 4. Windows around the peak are ordered anew.
//!
//! It ends where the peak is at the lower bound, or the work is used up. Never worse than the
//! program's own order.

use std::cmp::Reverse;

use super::beam::beam;
use super::bound::lower_bound;
use super::cost::{CostModel, GroupId};
use super::cut::least_alive;
use super::depth_first::depth_first;
use super::exact::{Found, best_order};
use super::greedy::{Rule, greedy};
use super::parts::parts;
use super::scope::Scope;
use super::windows::improve;
use super::work::Work;

/// The beam's width at first; it is doubled as long as there is work left.
const WIDTH: usize = 16;

/// Larger parts than this are left to the windows.
const MOST_BEAMED: usize = 512;

/// An order, and how good it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RatedOrder {
    pub(crate) order: Vec<GroupId>,
    /// The most bytes alive in it.
    pub(crate) peak: u64,
    /// No order has a lower peak.
    pub(crate) lower_bound: u64,
    /// The order that is found without any work, and its peak.
    pub(crate) by_rules: (Vec<GroupId>, u64),
}

/// Searches for the best order.
pub(crate) fn search(model: &CostModel, work: &mut Work<'_, '_>) -> RatedOrder {
    let own: Vec<GroupId> = (0..model.len() as GroupId).collect();
    let mut bound = lower_bound(model, &own);
    let mut order = own.clone();
    let mut peak = model.peak(&order);
    let mut by_rules = None;
    for (index, candidate) in Candidate::list(work.is_left()).into_iter().enumerate() {
        if peak <= bound || work.is_stopped() {
            break;
        }
        if index == Candidate::QUICK {
            by_rules = Some((order.clone(), peak));
        }
        let Some(other) = candidate.order(model, &own, work) else { continue };
        order = best_of(model, &order, &other);
        peak = model.peak(&order);
    }
    let by_rules = by_rules.unwrap_or_else(|| (order.clone(), peak));
    if peak > bound && work.is_left() {
        bound = work.with_share(4, |work| bound_by_cuts(model, &order, bound, work));
        bound = bound.max(order_parts(model, &mut order, bound, work));
        improve(model, &mut order, bound, work);
        peak = model.peak(&order);
        bound = work.with_share(4, |work| bound_by_cuts(model, &order, bound, work));
    }
    RatedOrder { order, peak, lower_bound: bound.min(peak), by_rules }
}

/// A better lower bound, from the groups with the most alive in an order: no other group can say
/// more than what is alive there.
pub(crate) fn bound_by_cuts(
    model: &CostModel,
    order: &[GroupId],
    mut bound: u64,
    work: &mut Work<'_, '_>,
) -> u64 {
    let alive = model.alive(order);
    let mut places: Vec<usize> = (0..order.len()).collect();
    places.sort_by_cached_key(|place| (Reverse(alive[*place]), *place));
    for place in places {
        if alive[place] <= bound || !work.is_left() {
            break;
        }
        bound = bound.max(least_alive(model, order[place], work));
    }
    bound
}

/// An order by a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Candidate {
    DepthFirst,
    Greedy(Rule),
    /// Greedy, with time running backwards.
    Backwards(Rule),
}

impl Candidate {
    /// How many of them take little time.
    const QUICK: usize = 2;

    /// Those that are tried, in this order.
    fn list(thorough: bool) -> Vec<Candidate> {
        let mut list = vec![Candidate::DepthFirst, Candidate::Greedy(Rule::Net)];
        if thorough {
            list.extend([Rule::Peak, Rule::Chain].map(Candidate::Greedy));
            list.extend(Rule::ALL.map(Candidate::Backwards));
        }
        list
    }

    /// The order; `None` if it was stopped or gave up.
    fn order(
        self,
        model: &CostModel,
        own: &[GroupId],
        work: &mut Work<'_, '_>,
    ) -> Option<Vec<GroupId>> {
        match self {
            Candidate::DepthFirst => Some(depth_first(model, own)),
            Candidate::Greedy(rule) => greedy(model, rule, work),
            Candidate::Backwards(rule) => {
                let order = greedy(&model.reversed(), rule, work)?;
                let last = model.len() as GroupId - 1;
                Some(order.iter().rev().map(|group| last - group).collect())
            }
        }
    }
}

/// The better of two orders, part by part; the first on a tie.
fn best_of(model: &CostModel, first: &[GroupId], second: &[GroupId]) -> Vec<GroupId> {
    let (alive, other) = (model.alive(first), model.alive(second));
    let mut best = first.to_vec();
    let mut from = 0;
    for part in parts(model, first) {
        let to = from + part.len();
        if other[from..to].iter().max() < alive[from..to].iter().max() {
            best[from..to].copy_from_slice(&second[from..to]);
        }
        from = to;
    }
    best
}

/// Orders the parts with the highest peaks as well as can be; gives the bound that follows.
fn order_parts(
    model: &CostModel,
    order: &mut [GroupId],
    bound: u64,
    work: &mut Work<'_, '_>,
) -> u64 {
    let mut proven = bound;
    loop {
        let alive = model.alive(order);
        let mut spans = Vec::new();
        let mut from = 0;
        for part in parts(model, order) {
            let to = from + part.len();
            spans.push((alive[from..to].iter().max().copied().unwrap_or(0), from, to));
            from = to;
        }
        let Some((peak, from, to)) =
            spans.iter().copied().max_by_key(|(peak, from, _)| (*peak, *from))
        else {
            return proven;
        };
        if peak <= proven || !work.spend(order.len() as u64) {
            return proven;
        }
        let scope = Scope::new(model, order, from, to);
        let found = work.with_share(2, |work| best_order(&scope, proven, peak, work));
        match found {
            Found::Best(part, peak) => {
                order[from..to].copy_from_slice(&part);
                proven = proven.max(peak);
            }
            Found::None => return proven.max(peak),
            Found::GaveUp => {
                let found = work.with_share(2, |work| beamed(&scope, proven, peak, work));
                let Some(part) = found else { return proven };
                order[from..to].copy_from_slice(&part);
            }
        }
    }
}

/// A better order of a part, by wider and wider beams.
fn beamed(
    scope: &Scope<'_>,
    floor: u64,
    peak: u64,
    work: &mut Work<'_, '_>,
) -> Option<Vec<GroupId>> {
    if scope.len() > MOST_BEAMED {
        return None;
    }
    let (mut best, mut peak, mut width) = (None, peak, WIDTH);
    while let Some((order, lower)) = beam(scope, floor, peak, width, work) {
        (best, peak) = (Some(order), lower);
        width *= 2;
    }
    best
}
