//! At the two ends: where at most two buffers are alive at a time, one is at the bottom of the arena and the
//! other at its top.
//!
//! ```text
//!   top      ├──b──┤ ├──d──┤      each begins while the one before it is alive,
//!   bottom  ├──a──┤├──c──┤        and goes to the end where that is not
//! ```
//!
//! A chain of steps is such a problem: each reads what the step before it has made. Largest first often
//! leaves a gap there; this meets the bound wherever alignments leave room for it. Cost: O(n log n).

use crate::problem::{BufferId, Problem};
use crate::solution::Solution;
use crate::sweep::Sweep;

/// A packing in an arena of `bytes`, if there is one with every buffer at an end.
pub(crate) fn pack(problem: &Problem, sweep: &Sweep, bytes: u64) -> Option<Solution> {
    let is_given = problem.buffers().iter().any(|buffer| buffer.fixed.is_some());
    if sweep.most_alive() > 2 || is_given || problem.conflicts().is_some() {
        return None;
    }
    let mut order: Vec<BufferId> = problem.ids().collect();
    order.sort_unstable_by_key(|id| (sweep.life(*id).start, *id));
    let mut offsets = vec![0; problem.len()];
    // The last buffer at the bottom, and the last at the top: whoever is alive is one of them.
    let mut ends: [Option<BufferId>; 2] = [None, None];
    for id in order {
        let buffer = problem.buffer(id);
        let alive = ends.map(|end| end.filter(|other| sweep.life(*other).meets(sweep.life(id))));
        let end = usize::from(alive[0].is_some());
        let top = bytes.checked_sub(buffer.size)?;
        offsets[id.index()] = if end == 1 { top - top % buffer.align } else { 0 };
        ends[end] = Some(id);
        let pair = if end == 1 { (alive[0], Some(id)) } else { (Some(id), alive[1]) };
        if let (Some(bottom), Some(top)) = pair
            && problem.buffer(bottom).size > offsets[top.index()]
        {
            return None;
        }
    }
    Some(Solution::new(offsets))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Claim, check_plain};
    use crate::problem::{Buffer, Life};
    use crate::testing::Rng;

    fn packed(buffers: Vec<Buffer>, bytes: u64) -> Option<Vec<u64>> {
        let problem = Problem::new(buffers).expect("valid");
        let solution = pack(&problem, &Sweep::new(&problem), bytes)?;
        Some(solution.offsets().to_vec())
    }

    fn buffer(size: u64, start: i64, end: i64) -> Buffer {
        Buffer::new(size, Life::new(start, end))
    }

    #[test]
    fn a_chain_goes_from_end_to_end() {
        let chain = || vec![buffer(4, 0, 2), buffer(6, 1, 3), buffer(2, 2, 4), buffer(8, 3, 5)];
        // Each where the one before it is not; the load is 10.
        assert_eq!(packed(chain(), 10), Some(vec![0, 4, 0, 2]));
        assert_eq!(packed(chain(), 9), None);
    }

    #[test]
    fn three_at_a_time_and_what_is_fixed_are_for_others() {
        assert_eq!(packed(vec![buffer(1, 0, 2), buffer(1, 0, 2), buffer(1, 1, 3)], 9), None);
        assert_eq!(packed(vec![buffer(1, 0, 2).fixed_at(3)], 9), None);
    }

    #[test]
    fn an_offset_at_the_top_is_aligned_downwards() {
        let two = |align| vec![buffer(4, 0, 2), buffer(3, 1, 3).aligned(align)];
        assert_eq!(packed(two(4), 8), Some(vec![0, 4]));
        assert_eq!(packed(two(8), 8), None);
    }

    #[test]
    fn whatever_is_packed_is_right_and_chains_meet_their_load() {
        let mut rng = Rng::new(3);
        let mut met = 0;
        for _ in 0..2000 {
            // Each begins before the last ends, after the last but one has.
            let (mut buffers, mut over, mut last) = (Vec::new(), 0u64, 0u64);
            for _ in 0..rng.within(1..12) {
                let start = rng.within(over..last + 1);
                let end = last.max(start) + rng.within(1..5);
                let (size, life) = (rng.within(1..9), (start.cast_signed(), end.cast_signed()));
                buffers.push(buffer(size, life.0, life.1));
                (over, last) = (last.max(start), end);
            }
            let problem = Problem::new(buffers).expect("valid");
            let sweep = Sweep::new(&problem);
            let load = sweep.peak().0;
            let solution = pack(&problem, &sweep, load).expect("at most two at a time");
            assert!(solution.arena_bytes(&problem) <= load);
            let offsets = solution.offsets().iter().map(|offset| Some(*offset)).collect();
            assert_eq!(check_plain(&problem, &Claim { offsets, unknown: Vec::new() }), []);
            met += 1;
        }
        assert_eq!(met, 2000);
    }
}
