//! A problem told in one way, whatever the order of its rows and the direction of its time.
//!
//! What search finds in a given time depends on where it begins, and that on who comes first. Which row of a file
//! is the first says nothing about a problem, and neither does the direction of time. So buffers are sorted by
//! what they are, with sections for times; of both directions the one is taken that comes first in order.
//!
//! Cost: O(n log n).

use crate::problem::{Buffer, BufferId, Gap, Life, Problem, Time};
use crate::solution::Solution;
use crate::sweep::Sweep;

/// A problem in its canonical order, and whose buffers these are.
pub(crate) struct Canonical {
    pub(crate) problem: Problem,
    ids: Vec<BufferId>,
}

impl Canonical {
    /// The problem in its canonical order; without pairs that are kept apart, of which there must be none.
    pub(crate) fn new(problem: &Problem, sweep: &Sweep) -> Canonical {
        debug_assert!(problem.conflicts().is_none(), "pairs are by number");
        let end = Time::from(sweep.len() as u32);
        let forwards = |life: Life| {
            let sections = sweep.sections(life);
            Life::new(sections.start.into(), sections.end.into())
        };
        let backwards = |life: Life| {
            let life = forwards(life);
            Life::new(end - life.end, end - life.start)
        };
        let (one, other) = (sorted(problem, forwards), sorted(problem, backwards));
        let keys = |told: &[(Buffer, BufferId)]| {
            let keys = told.iter().map(|(buffer, _)| key(buffer));
            keys.collect::<Vec<_>>()
        };
        let first = if keys(&one) <= keys(&other) { one } else { other };
        let (buffers, ids) = first.into_iter().unzip();
        let told = Problem::new(buffers).expect("the same buffers");
        Canonical { problem: told.with_capacity(problem.capacity()), ids }
    }

    /// A packing of the problem as it was, for the problem as it is told here.
    pub(crate) fn told(&self, packing: &Solution) -> Solution {
        Solution::new(self.ids.iter().map(|id| packing.offset(*id)).collect())
    }

    /// A packing of this for the problem as it was.
    pub(crate) fn retold(&self, packing: &Solution) -> Solution {
        let mut offsets = vec![0; self.ids.len()];
        for (id, offset) in self.ids.iter().zip(packing.offsets()) {
            offsets[id.index()] = *offset;
        }
        Solution::new(offsets)
    }
}

/// The buffers over other times, by what they are.
fn sorted(problem: &Problem, time: impl Fn(Life) -> Life) -> Vec<(Buffer, BufferId)> {
    let retold = |id: BufferId| {
        let buffer = problem.buffer(id);
        let mut gaps: Vec<Gap> =
            buffer.gaps.iter().map(|gap| Gap { life: time(gap.life), ..*gap }).collect();
        gaps.sort_unstable_by_key(|gap| gap.life);
        (Buffer { life: time(buffer.life), gaps, ..buffer.clone() }, id)
    };
    let mut all: Vec<_> = problem.ids().map(retold).collect();
    all.sort_by_cached_key(|(buffer, id)| (key(buffer), *id));
    all
}

/// All that a buffer is.
fn key(buffer: &Buffer) -> impl Ord + use<> {
    let gaps: Vec<_> = buffer.gaps.iter().map(|gap| (gap.life, gap.window)).collect();
    (buffer.life, buffer.size, buffer.align, buffer.fixed, buffer.hint, gaps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Rng, Shape, permuted, random_problem, reversed};

    #[test]
    fn every_order_and_direction_is_told_in_one_way() {
        let mut rng = Rng::new(31);
        for _ in 0..200 {
            let problem = random_problem(&mut rng, &Shape::everything());
            let told = |problem: &Problem| Canonical::new(problem, &Sweep::new(problem)).problem;
            let mut ids: Vec<_> = problem.ids().collect();
            rng.shuffle(&mut ids);
            let shuffled = permuted(&problem, &ids);
            assert_eq!(told(&problem), told(&shuffled));
            assert_eq!(told(&problem), told(&reversed(&shuffled)));
        }
    }

    #[test]
    fn packings_go_there_and_back() {
        let problem = random_problem(&mut Rng::new(32), &Shape::plain());
        let canonical = Canonical::new(&problem, &Sweep::new(&problem));
        let packing = Solution::new((0..problem.len() as u64).collect());
        assert_eq!(canonical.retold(&canonical.told(&packing)), packing);
    }
}
