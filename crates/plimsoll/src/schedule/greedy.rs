//! Greedy: of all units that wait for nothing any more, the one that is best now.
//!
//! A unit that leaves no more bytes alive than it finds, and does not lift the peak on its way, can
//! always be next without harm: whatever runs later runs with no more alive. All other units are
//! compared by a [`Rule`]. Cost: O(units × ready units × touches).

use super::course::{Course, UnitId, Walk};

/// What makes a unit better than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// It leaves fewer bytes alive.
    Net,
    /// It lifts the peak less, then it leaves fewer bytes alive.
    Peak,
    /// What can run right behind it, and only behind it, lifts the peak less and leaves fewer bytes
    /// alive, looking ahead a few units.
    Chain,
}

impl Rule {
    pub(crate) const ALL: [Rule; 3] = [Rule::Net, Rule::Peak, Rule::Chain];
}

/// How far a chain is followed.
const LOOK_AHEAD: i64 = 12;

/// More ready units than this are not looked ahead from.
const MOST_CHAINS: usize = 48;

/// An order of the units.
pub(crate) fn greedy(course: &Course, rule: Rule) -> Vec<UnitId> {
    let mut waits: Vec<usize> =
        (0..course.len()).map(|unit| course.before(unit as UnitId).len()).collect();
    let mut ready: Vec<UnitId> =
        (0..course.len() as UnitId).filter(|unit| waits[*unit as usize] == 0).collect();
    let mut walk = Walk::new(course);
    let mut order = Vec::with_capacity(course.len());
    let mut peak = course.base();
    while !ready.is_empty() {
        let next = pick(course, &walk, &waits, &ready, peak, rule);
        let unit = ready.remove(next);
        peak = peak.max(walk.run(unit));
        order.push(unit);
        for behind in course.behind(unit) {
            waits[*behind as usize] -= 1;
            if waits[*behind as usize] == 0 {
                let at = ready.partition_point(|other| other < behind);
                ready.insert(at, *behind);
            }
        }
    }
    order
}

/// The place in the list of ready units of the one that is next.
fn pick(
    course: &Course,
    walk: &Walk<'_>,
    waits: &[usize],
    ready: &[UnitId],
    peak: u64,
    rule: Rule,
) -> usize {
    let mut best: Option<((u64, i64, i64), usize)> = None;
    let ahead = rule == Rule::Chain && ready.len() <= MOST_CHAINS;
    for (index, unit) in ready.iter().enumerate() {
        let change = walk.change(*unit);
        let most = walk.live().saturating_add_signed(change.during);
        if change.after <= 0 && most <= peak {
            return index;
        }
        let key = match rule {
            Rule::Chain if ahead => chain(course, walk, waits, *unit, peak),
            Rule::Net => (0, change.after, change.during),
            Rule::Peak | Rule::Chain => (most.max(peak), change.after, change.during),
        };
        if best.is_none_or(|(least, _)| key < least) {
            best = Some((key, index));
        }
    }
    best.map_or(0, |(_, index)| index)
}

/// The peak on the way to the lowest point that a chain of units reaches, and that point.
fn chain(
    course: &Course,
    walk: &Walk<'_>,
    waits: &[usize],
    unit: UnitId,
    peak: u64,
) -> (u64, i64, i64) {
    let mut walk = walk.clone();
    let from = i64::try_from(walk.live()).unwrap_or(i64::MAX);
    let mut released: Vec<(UnitId, usize)> = Vec::new();
    let (mut most, mut next) = (peak, Some(unit));
    let mut best = (u64::MAX, i64::MAX, 0i64);
    for length in 1..=LOOK_AHEAD {
        let Some(unit) = next else { break };
        most = most.max(walk.run(unit));
        let gain = i64::try_from(walk.live()).unwrap_or(i64::MAX).saturating_sub(from);
        best = best.min((most, gain, length));
        if gain <= 0 {
            break;
        }
        for behind in course.behind(unit) {
            match released.iter_mut().find(|(other, _)| other == behind) {
                Some((_, left)) => *left -= 1,
                None => released.push((*behind, waits[*behind as usize] - 1)),
            }
        }
        next = released
            .iter()
            .filter(|(_, left)| *left == 0)
            .map(|(unit, _)| *unit)
            .min_by_key(|unit| (walk.change(*unit).after, *unit));
        released.retain(|(unit, _)| Some(*unit) != next);
    }
    best
}
