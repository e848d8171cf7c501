//! From a packing that is too high to a lower one: what sticks out is put in, and what is in its way
//! goes out, until nothing is left outside.
//!
//! ```text
//!   ┄┄┄┄┄┄┄┄┄┄┄┄┄ capacity         b is outside. Of all places it takes the one where the buffers
//!   │ c ├─────┐                    in its way count least: a alone. Then a is outside, and so on.
//!   ├───┤  a  │ ◀── b
//!   │ d └─────┤
//! ```
//!
//! A buffer counts for more whenever it has been put out, so that the same few are not moved to and
//! fro; those counts are halved now and then. Large buffers that live long count for more from the
//! beginning, and are put in first. Nothing is placed anew but what is moved, so a packing that is
//! nearly good enough costs little: it is what first fit cannot do, which begins again every time.
//! On graphs that are computed in bands (thousands of small buffers, the load high all the time) it
//! ends 1 or 2 % above the bound where the rules end at 11 %.
//!
//! Buffers are taken as whole rectangles: what lives in another's gaps stays there until it is moved.
//! The choice among equal places is random, from a fixed seed.
//!
//! Cost of a move: O(k log k) for a buffer that meets k others. Lists of who meets whom are kept.

use std::collections::BinaryHeap;

use crate::exact::mix;
use crate::problem::{BufferId, Problem};
use crate::solution::Solution;
use crate::sweep::Sweep;
use crate::watch::Watched;

/// Lists of who meets whom have at most so many entries.
const MOST_MEETINGS: u64 = 1 << LIST_BITS;
/// Looking at an entry, with sorting, takes as long as so many units of work elsewhere.
const ENTRY: u64 = 8;
/// A capacity is tried for as long as it takes to look at all lists so many times, at first.
const ROUNDS: u64 = 32;
/// A gap of one part in so many is narrow.
const NARROW: u128 = 32;
/// After so many failures, each with twice the work of the one before, it is given up.
const PATIENCE: u32 = 5;
/// After so many moves all counts are halved.
const HALVING: u64 = 2000;
/// Where a buffer is that is outside.
const OUTSIDE: u64 = u64::MAX;
/// Places are sorted with who is there in the low bits: enough for the longest list. What has places that
/// do not fit above them is left alone.
const LIST_BITS: u32 = 24;
/// What stays where it is counts for this much; more than all others together.
const IMMOVABLE: u64 = 1 << 60;
/// What a buffer counts at most, and at first.
const MOST_COUNT: u64 = 1 << 32;
const MOST_BASE: u64 = 1 << 26;

/// A packing that was made lower, and the work that it took.
pub(crate) struct Repaired {
    pub(crate) solution: Solution,
    pub(crate) work: u64,
}

/// Makes a packing lower, down to the goal or as far as the work goes.
pub(crate) fn repair(
    problem: &Problem,
    sweep: &Sweep,
    given: &Solution,
    goal: u64,
    work: u64,
    watched: &mut Watched<'_>,
) -> Repaired {
    let mut best = given.clone();
    let meetings: u64 = problem.ids().map(|id| u64::from(sweep.degree(id))).sum();
    if meetings > MOST_MEETINGS || problem.conflicts().is_some() {
        return Repaired { solution: best, work: 0 };
    }
    let mut bytes = best.arena_bytes(problem);
    let unit = unit(problem);
    if (bytes / unit) >> (u64::BITS - LIST_BITS) > 0 {
        return Repaired { solution: best, work: 0 };
    }
    let mut moving = Moving::new(problem, sweep, unit);
    let mut slice = (ROUNDS * ENTRY).saturating_mul(meetings.max(64));
    let mut failures = 0;
    while bytes > goal && moving.work < work && failures < PATIENCE && !watched.is_stopped() {
        let gap = bytes - goal;
        // Half of a wide gap is soon closed; of a narrow one a third; where that failed, a quarter.
        let twelfths = match gap {
            _ if failures > 0 => 9,
            gap if u128::from(gap) * NARROW > u128::from(goal) => 6,
            _ => 8,
        };
        let left = (u128::from(gap) * twelfths / 12 / u128::from(unit)) as u64;
        let capacity = goal / unit + left;
        moving.begin(&best, capacity);
        let limit = work.min(moving.work.saturating_add(slice));
        if moving.run(capacity, limit, watched) {
            failures = 0;
            best = Solution::new(moving.offsets.iter().map(|offset| offset * unit).collect());
            bytes = best.arena_bytes(problem);
            watched.found(bytes, moving.work);
        } else {
            failures += 1;
            slice = slice.saturating_mul(2);
        }
    }
    watched.finished(moving.work);
    Repaired { solution: best, work: moving.work }
}

/// A packing in which some buffers are outside. All places are in units.
struct Moving<'a> {
    problem: &'a Problem,
    unit: u64,
    /// How large each buffer is, and what its place is a multiple of.
    sizes: Vec<u64>,
    aligns: Vec<u64>,
    /// Whom buffer `i` meets: `meets[first[i]..first[i + 1]]`.
    meets: Vec<u32>,
    first: Vec<usize>,
    offsets: Vec<u64>,
    /// What is outside, the one that is put in next on top.
    outside: BinaryHeap<(u64, u32)>,
    /// What a buffer counts at first, and now.
    base: Vec<u64>,
    count: Vec<u64>,
    random: Random,
    work: u64,
    /// Lists that are filled anew for every move: what those count that are met, and where they begin
    /// and end, with their place in the first list in the low bits.
    counts: Vec<u64>,
    starts: Vec<u64>,
    ends: Vec<u64>,
}

impl<'a> Moving<'a> {
    fn new(problem: &'a Problem, sweep: &Sweep, unit: u64) -> Self {
        let (meets, first) = meetings(problem, sweep);
        let base: Vec<u64> = problem.ids().map(|id| importance(problem, sweep, unit, id)).collect();
        Moving {
            problem,
            unit,
            sizes: problem.buffers().iter().map(|buffer| buffer.size / unit).collect(),
            aligns: problem.buffers().iter().map(|buffer| buffer.align / unit).collect(),
            work: meets.len() as u64 * ENTRY,
            meets,
            first,
            offsets: Vec::new(),
            outside: BinaryHeap::new(),
            count: base.clone(),
            base,
            random: Random(0x9E37_79B9_7F4A_7C15),
            counts: Vec::new(),
            starts: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Starts from a packing, of which everything goes outside that ends above the capacity.
    fn begin(&mut self, packing: &Solution, capacity: u64) {
        self.offsets = packing.offsets().iter().map(|offset| offset / self.unit).collect();
        self.count.copy_from_slice(&self.base);
        self.outside.clear();
        for id in self.problem.ids() {
            if self.offsets[id.index()] + self.sizes[id.index()] > capacity {
                self.put_out(id.index());
            }
        }
    }

    fn put_out(&mut self, buffer: usize) {
        self.offsets[buffer] = OUTSIDE;
        let size = self.sizes[buffer];
        // Size by the fourth root of how long it lives: of two that are as large, the longer one.
        let length = (self.base[buffer] / size.isqrt().max(1)).isqrt().max(1);
        self.outside.push((size.saturating_mul(length), buffer as u32));
    }

    /// Puts in what is outside until nothing is, or the work is done; whether nothing is.
    fn run(&mut self, capacity: u64, limit: u64, watched: &mut Watched<'_>) -> bool {
        let mut moves = 0u64;
        while let Some((_, next)) = self.outside.pop() {
            let id = BufferId(next);
            moves += 1;
            if moves.is_multiple_of(HALVING) {
                let halved = |(count, base): (&mut u64, &u64)| *count = (*count / 2).max(*base);
                self.count.iter_mut().zip(&self.base).for_each(halved);
            }
            watched.working(self.work);
            let Some(offset) = self.cheapest(id, capacity) else { return false };
            self.put_in(id, offset);
            if self.work >= limit || watched.is_stopped() {
                return self.outside.is_empty();
            }
        }
        true
    }

    /// The place where those in the way count least; nothing if only what is fixed is in the way.
    fn cheapest(&mut self, id: BufferId, capacity: u64) -> Option<u64> {
        let (size, align) = (self.sizes[id.index()], self.aligns[id.index()]);
        if self.problem.buffer(id).fixed.is_some() || size > capacity {
            return None;
        }
        self.look_around(id);
        let last = down(capacity - size, align);
        let (mut best, mut lowest) = (None, (u128::MAX, 0));
        let (mut ended, mut started) = (Counted::default(), Counted::default());
        let place = |key: u64| key >> LIST_BITS;
        let behind = |end: u64| if align == 1 { end } else { end.next_multiple_of(align) };
        let before = |start: u64| start.checked_sub(size).map(|offset| down(offset, align));
        // Both lists of places are in order: behind each that is met, and before each.
        let (mut i, mut j) = (0, self.starts.partition_point(|key| place(*key) < size));
        let mut offset = 0;
        while offset <= last {
            let over = ended.up_to(&self.ends, &self.counts, |end| end <= offset);
            let begun = started.up_to(&self.starts, &self.counts, |start| start < offset + size);
            let cost = begun - over;
            let tie = if cost == 0 { 0 } else { self.random.next() };
            if (cost, tie) < lowest {
                (best, lowest) = (Some(offset), (cost, tie));
            }
            if cost == 0 {
                break;
            }
            while i < self.ends.len() && behind(place(self.ends[i])) <= offset {
                i += 1;
            }
            while j < self.starts.len() && before(place(self.starts[j])) <= Some(offset) {
                j += 1;
            }
            let next = self.ends.get(i).map_or(last, |end| behind(place(*end)));
            let other = self.starts.get(j).and_then(|start| before(place(*start)));
            let other = other.unwrap_or(last);
            if offset == last {
                break;
            }
            offset = next.min(other).min(last);
        }
        best.filter(|_| lowest.0 < IMMOVABLE.into())
    }

    /// Lists those that are met and inside.
    fn look_around(&mut self, id: BufferId) {
        self.counts.clear();
        self.starts.clear();
        self.ends.clear();
        let list = self.first[id.index()]..self.first[id.index() + 1];
        self.work += ENTRY * (list.len() as u64 + 1);
        for other in &self.meets[list] {
            let (offset, size) = (self.offsets[*other as usize], self.sizes[*other as usize]);
            if offset != OUTSIDE {
                let index = self.counts.len() as u64;
                self.counts.push(self.count[*other as usize]);
                self.starts.push((offset << LIST_BITS) | index);
                self.ends.push(((offset + size) << LIST_BITS) | index);
            }
        }
        self.starts.sort_unstable();
        self.ends.sort_unstable();
    }

    /// Puts a buffer in, and out what is in its way.
    fn put_in(&mut self, id: BufferId, offset: u64) {
        let end = offset + self.sizes[id.index()];
        for at in self.first[id.index()]..self.first[id.index() + 1] {
            let other = self.meets[at] as usize;
            let start = self.offsets[other];
            if start < end && offset < start + self.sizes[other] {
                self.put_out(other);
                self.count[other] = (self.count[other] + 2 * self.base[other]).min(MOST_COUNT);
            }
        }
        self.offsets[id.index()] = offset;
    }
}

/// Whom every buffer meets, one list behind the other, and where each list begins.
fn meetings(problem: &Problem, sweep: &Sweep) -> (Vec<u32>, Vec<usize>) {
    let mut first = vec![0];
    for id in problem.ids() {
        first.push(first[id.index()] + sweep.degree(id) as usize);
    }
    let mut next = first.clone();
    let mut meets = vec![0; first[problem.len()]];
    let mut add = |id: BufferId, other: BufferId| {
        meets[next[id.index()]] = other.0;
        next[id.index()] += 1;
    };
    let mut by_birth: Vec<BufferId> = problem.ids().collect();
    by_birth.sort_unstable_by_key(|id| (sweep.life(*id).start, *id));
    let mut alive: Vec<BufferId> = Vec::new();
    for id in by_birth {
        let life = sweep.life(id);
        alive.retain(|other| sweep.life(*other).end > life.start);
        for other in alive.iter().filter(|other| sweep.life(**other).meets(life)) {
            add(id, *other);
            add(*other, id);
        }
        alive.push(id);
    }
    (meets, first)
}

/// How much a buffer counts at first: the root of its area.
fn importance(problem: &Problem, sweep: &Sweep, unit: u64, id: BufferId) -> u64 {
    let buffer = problem.buffer(id);
    if buffer.fixed.is_some() {
        return IMMOVABLE;
    }
    let area = u128::from(buffer.size / unit) * sweep.life(id).range().len() as u128;
    area.isqrt().clamp(1, MOST_BASE.into()) as u64
}

/// What all sizes and alignments are multiples of: what is decided does not depend on it.
fn unit(problem: &Problem) -> u64 {
    let buffers = problem.buffers().iter();
    buffers.fold(0, |unit, b| common(common(unit, b.size), b.align)).max(1)
}

/// The largest multiple that is not above.
fn down(offset: u64, align: u64) -> u64 {
    if align == 1 { offset } else { offset / align * align }
}

/// The greatest common divisor.
fn common(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common(b, a % b) }
}

/// A walk through a sorted list, and the sum of what was passed.
#[derive(Default)]
struct Counted {
    at: usize,
    sum: u128,
}

impl Counted {
    fn up_to(&mut self, list: &[u64], counts: &[u64], passed: impl Fn(u64) -> bool) -> u128 {
        while let Some(key) = list.get(self.at).filter(|key| passed(**key >> LIST_BITS)) {
            self.sum += u128::from(counts[(key & ((1 << LIST_BITS) - 1)) as usize]);
            self.at += 1;
        }
        self.sum
    }
}

/// Numbers that look random, the same in every run (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }
}

#[cfg(test)]
mod tests;
