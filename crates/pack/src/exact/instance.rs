//! A problem as the search sees it: dense, in the coarsest unit, without sections that say nothing.
//!
//! - **Unit.** Every offset that the search can come to is a sum of sizes, rounded up to
//!   alignments; so all of them are multiples of a common unit, and the capacity may be rounded
//!   down to one. Sizes of buffers whose alignments share a factor are rounded up to it first.
//! - **Moments.** A section in which no buffer is born, or at whose end none dies, holds a subset of
//!   its neighbour: keeping them apart there follows from keeping them apart in the neighbour. What
//!   is left are the *moments*, the maximal sets of buffers alive together.
//!
//! Cost: O(n log n) time, and memory for every pair (buffer, moment of its life).

use std::ops::Range;

use crate::problem::{Buffer, BufferId, Problem, gcd};
use crate::sweep::Sweep;

/// The buffers of a problem by birth, over moments instead of time, in units instead of bytes.
#[derive(Clone, Debug)]
pub(super) struct Instance {
    /// Bytes in a unit.
    pub(super) unit: u64,
    /// Whose buffers these are, by our own dense number.
    pub(super) ids: Vec<BufferId>,
    pub(super) size: Vec<u64>,
    /// How many bytes of the last unit are not really used.
    pub(super) padding: Vec<u64>,
    /// In units; 1 where it does not matter.
    pub(super) align: Vec<u64>,
    /// The moments of each life.
    pub(super) life: Vec<(u32, u32)>,
    /// How many moments there are.
    pub(super) moments: usize,
    /// Buffers are sorted by birth: those born at moment `m` are `born[m]..born[m + 1]`.
    pub(super) born: Vec<u32>,
    /// The next buffer with the same size, life and alignment, or `u32::MAX`.
    pub(super) twin: Vec<u32>,
}

impl Instance {
    /// The instance, unless the problem has something that the search does not know: fixed offsets,
    /// gaps, or pairs that are kept apart whatever their lives.
    pub(super) fn new(problem: &Problem, sweep: &Sweep) -> Option<Instance> {
        let unknown = |b: &Buffer| b.fixed.is_some() || !b.gaps.is_empty();
        if problem.conflicts().is_some() || problem.buffers().iter().any(unknown) {
            return None;
        }
        let moment_of = moments(problem, sweep);
        let moments = moment_of.last().map_or(0, |m| *m as usize);
        let life_of = |id: BufferId| {
            let sections = sweep.life(id);
            (moment_of[sections.start as usize], moment_of[sections.end as usize])
        };
        let mut ids: Vec<BufferId> = problem.ids().collect();
        let key = |id: &BufferId| {
            let (start, end) = life_of(*id);
            let buffer = problem.buffer(*id);
            (start, std::cmp::Reverse(end), std::cmp::Reverse(buffer.size), buffer.align, *id)
        };
        ids.sort_unstable_by_key(key);
        let unit = unit(problem);
        let of = |id: &BufferId| problem.buffer(*id);
        let size: Vec<u64> = ids.iter().map(|id| of(id).size.div_ceil(unit)).collect();
        let padding = ids.iter().zip(&size).map(|(id, s)| s * unit - of(id).size).collect();
        let align: Vec<u64> = ids.iter().map(|id| (of(id).align / unit).max(1)).collect();
        let life: Vec<_> = ids.iter().map(|id| life_of(*id)).collect();
        let mut born = vec![0; moments + 1];
        for (start, _) in &life {
            born[*start as usize + 1] += 1;
        }
        for m in 0..moments {
            born[m + 1] += born[m];
        }
        let same = |i: usize| {
            i + 1 < ids.len()
                && life[i] == life[i + 1]
                && of(&ids[i]).size == of(&ids[i + 1]).size
                && of(&ids[i]).align == of(&ids[i + 1]).align
        };
        let twin = (0..ids.len()).map(|i| if same(i) { i as u32 + 1 } else { u32::MAX }).collect();
        Some(Instance { unit, ids, size, padding, align, life, moments, born, twin })
    }

    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// The moments of a life, as indices.
    pub(super) fn span(&self, v: usize) -> Range<usize> {
        self.life[v].0 as usize..self.life[v].1 as usize
    }

    /// The buffers that are born in these moments.
    pub(super) fn born_in(&self, moments: Range<usize>) -> Range<usize> {
        self.born[moments.start] as usize..self.born[moments.end] as usize
    }

    /// The load of each moment.
    pub(super) fn load(&self) -> Vec<u64> {
        let mut load = vec![0; self.moments];
        for v in 0..self.len() {
            for m in self.span(v) {
                load[m] += self.size[v];
            }
        }
        load
    }
}

/// The number of the first moment at or after each section (and after the last).
fn moments(problem: &Problem, sweep: &Sweep) -> Vec<u32> {
    let mut birth = vec![false; sweep.len() + 1];
    let mut death = vec![false; sweep.len() + 1];
    for id in problem.ids() {
        let life = sweep.life(id);
        birth[life.start as usize] = true;
        death[life.end as usize] = true;
    }
    // A section is a moment if births came since the last death, and a death follows.
    let mut number = Vec::with_capacity(sweep.len() + 1);
    let mut count = 0;
    let mut fresh = false;
    for section in 0..sweep.len() {
        number.push(count);
        fresh |= birth[section];
        if death[section + 1] && fresh {
            count += 1;
            fresh = false;
        }
    }
    number.push(count);
    number
}

/// The largest number that divides every offset the search can come to.
fn unit(problem: &Problem) -> u64 {
    let aligns = problem.buffers().iter().map(|b| b.align);
    let common = aligns.clone().fold(0, gcd).max(1);
    let sizes = problem.buffers().iter().map(|b| b.size.next_multiple_of(common));
    let size = sizes.fold(0, gcd).max(1);
    if aligns.clone().all(|a| size.is_multiple_of(a)) {
        return size;
    }
    aligns.fold(size, gcd)
}
