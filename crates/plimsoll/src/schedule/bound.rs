//! A lower bound on the peak of any order.
//!
//! While a unit runs, a buffer is alive in every order if something that touches it has to run
//! before the unit, or is the unit, and something that touches it has to run after it, or is the
//! unit; one that lives from the beginning or to the end needs only the other half. What the unit
//! makes can be less by outputs that could take over inputs. The largest sum counts.
//!
//! Cost: O((edges + touches) × units / 64) time and O(units²) bits. With more than [`MOST_UNITS`]
//! units only the buffers that a unit touches itself count.

use super::course::{BufferId, Course, UnitId};

/// More units than this are not all compared with each other.
const MOST_UNITS: usize = 16_384;

/// No order of the units has a lower peak. `base` is any order in which they can run.
pub(crate) fn lower_bound(course: &Course, base: &[UnitId]) -> u64 {
    if course.len() > MOST_UNITS {
        let touched = |unit: &UnitId| least_touched(course, *unit);
        return base.iter().map(touched).max().unwrap_or(0).max(course.base());
    }
    let before = Reach::new(course.len(), base.iter().copied(), |unit| course.before(unit));
    let behind = Reach::new(course.len(), base.iter().rev().copied(), |unit| course.behind(unit));
    let alive = alive(course, &before, &behind);
    let bound = |unit: &UnitId| {
        let meets = |reach: &Reach, buffer: BufferId| {
            course.touching(buffer).iter().any(|other| reach.has(*unit, *other))
        };
        let fresh = |buffer: BufferId| !course.ends(buffer).0 && !meets(&before, buffer);
        let last = |buffer: BufferId| !meets(&behind, buffer);
        let made = course.touches(*unit).iter().filter(|buffer| fresh(**buffer));
        let made: u64 = made.map(|buffer| course.bytes(*buffer)).sum();
        let during = course.change(*unit, fresh, last).during;
        (alive[*unit as usize] - made).saturating_add_signed(during)
    };
    base.iter().map(bound).max().unwrap_or(0).max(course.base())
}

/// What a unit touches, less what it could take over.
fn least_touched(course: &Course, unit: UnitId) -> u64 {
    let touched: u64 = course.touches(unit).iter().map(|buffer| course.bytes(*buffer)).sum();
    let made: u64 = course
        .touches(unit)
        .iter()
        .filter(|buffer| !course.ends(**buffer).0)
        .map(|buffer| course.bytes(*buffer))
        .sum();
    let during = course.change(unit, |_| true, |_| true).during;
    (touched - made).saturating_add_signed(during)
}

/// The bytes that are alive while each unit runs, whatever the order.
fn alive(course: &Course, before: &Reach, behind: &Reach) -> Vec<u64> {
    let mut alive = vec![0u64; course.len()];
    for buffer in 0..course.buffers() as BufferId {
        let (given, kept) = course.ends(buffer);
        let touching = course.touching(buffer);
        // Whatever has a touching unit before it comes behind that unit.
        let begun = behind.union(touching, given);
        let needed = before.union(touching, kept);
        for (word, (begun, needed)) in begun.iter().zip(&needed).enumerate() {
            let mut both = begun & needed;
            while both != 0 {
                let unit = word * 64 + both.trailing_zeros() as usize;
                alive[unit] += course.bytes(buffer);
                both &= both - 1;
            }
        }
    }
    alive
}

/// For every unit the units that can be reached from it.
struct Reach {
    units: usize,
    words: usize,
    bits: Vec<u64>,
}

impl Reach {
    /// `order` has a unit behind all that it leads to.
    fn new<'c>(
        units: usize,
        order: impl Iterator<Item = UnitId>,
        next: impl Fn(UnitId) -> &'c [UnitId],
    ) -> Self {
        let words = units.div_ceil(64);
        let mut reach = Reach { units, words, bits: vec![0; units * words] };
        for unit in order {
            for other in next(unit) {
                let (from, to) = (*other as usize * words, unit as usize * words);
                for word in 0..words {
                    reach.bits[to + word] |= reach.bits[from + word];
                }
                reach.bits[unit as usize * words + *other as usize / 64] |= 1 << (other % 64);
            }
        }
        reach
    }

    fn has(&self, unit: UnitId, other: UnitId) -> bool {
        self.bits[unit as usize * self.words + other as usize / 64] >> (other % 64) & 1 == 1
    }

    /// The units that some of these reach, and these; or simply all.
    fn union(&self, units: &[UnitId], all: bool) -> Vec<u64> {
        let mut union = vec![if all { u64::MAX } else { 0 }; self.words];
        if all {
            if let Some(last) = union.last_mut().filter(|_| !self.units.is_multiple_of(64)) {
                *last = (1 << (self.units % 64)) - 1;
            }
            return union;
        }
        for unit in units {
            let from = *unit as usize * self.words;
            let reached = &self.bits[from..from + self.words];
            union.iter_mut().zip(reached).for_each(|(word, bits)| *word |= bits);
            union[*unit as usize / 64] |= 1 << (unit % 64);
        }
        union
    }
}
