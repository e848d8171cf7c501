//! From the peak outwards: an allocator that begins where most is alive, and goes both ways in time.
//!
//! ```text
//!  bytes ▲      ┌────────────┐ old     At the peak nothing is wasted: all that live then are a stack. Those who
//!        │    ┌─┘      ┌─────┘         die first are on top, those born last at the bottom, so that what is free
//!        │ ┌──┘        │               is in one piece on either side. From there on each side is on its own: an
//!        │ └────────┐  └──┐            allocator whose time runs away from the peak takes the hole that fits best.
//!        │   young  └─────┴──────
//!        └───────────▲──────────▶ time
//! ```
//!
//! An allocator does not look ahead, but it can go back. Where a buffer finds no hole below the capacity, the place is
//! looked for that was taken last; time goes back to then, the place is *reserved*, and whoever comes meanwhile
//! goes elsewhere ([`side`]). A few reservations are often all that is missing.
//!
//! This is for very many buffers: the load itself, or a hundredth above it, for most kinds of lives in seconds for a
//! million (`docs/algorithms.md` has the measurements). With a few hundred that have to fit without a
//! byte to spare it ends far above.
//!
//! Buffers are taken as whole rectangles, and what is fixed or kept apart from others is not known here. Cost: O(n log n)
//! without going back.

mod heap;
mod side;

use side::{Attempt, Side};

use crate::problem::{BufferId, Problem};
use crate::solution::Solution;
use crate::sweep::{Sections, Sweep};
use crate::watch::{Watched, nobody};

/// The first attempt looks at so many holes, reserves a place for a buffer so many times, and goes back for so much work for each
/// buffer, and in all, with so much more for each that there is.
const FIRST: Attempt = Attempt {
    capacity: 0,
    holes: 16,
    patience: 2,
    work: 30_000_000,
    work_each: 1_000_000,
    gives_up: false,
};
const FIRST_EACH: u64 = 60;
/// Later ones take turns with other numbers of holes and reservations: which are best differs from problem to
/// problem.
const TURNS: [(usize, u32); 8] =
    [(16, 8), (64, 8), (16, 30), (4, 8), (32, 16), (8, 30), (128, 16), (24, 60)];
/// And with other stacks: who was born so many parts before the peak and dies so many after it is neither young nor old.
const BIASES: [(u64, u64); 3] = [(1, 1), (1, 2), (2, 1)];
/// So many attempts in a row may fail.
const MOST_FAILURES: usize = TURNS.len() * BIASES.len();
/// A gap of one part in so many to the goal is not worth an attempt.
const NARROW: u64 = 20_000;

/// A packing and the work that it took.
pub(crate) struct Packed {
    pub(crate) solution: Solution,
    pub(crate) work: u64,
}

/// Whether all that the problem has is known here.
pub(crate) fn applies(problem: &Problem) -> bool {
    problem.conflicts().is_none() && problem.buffers().iter().all(|b| b.fixed.is_none())
}

/// Packs a problem to which this applies, towards the goal.
pub(crate) fn outward(problem: &Problem, sweep: &Sweep, goal: u64) -> Packed {
    let mut allocator = Allocator::new(problem, sweep);
    let work = FIRST.work + FIRST_EACH * problem.len() as u64;
    let attempt = Attempt { capacity: goal, work, ..FIRST };
    let solution = allocator.attempt(&attempt, &mut Watched::new(&mut nobody, goal));
    Packed { solution: solution.expect("it does not give up"), work: allocator.work }
}

/// Packs it again with lower capacities than that of a packing, down to the goal, for as much work as is given; what it
/// was given if none is met.
pub(crate) fn lower(
    problem: &Problem,
    sweep: &Sweep,
    given: &Solution,
    goal: u64,
    work: u64,
    watched: &mut Watched<'_>,
) -> Packed {
    let mut allocator = Allocator::new(problem, sweep);
    let mut best = given.clone();
    let mut bytes = best.arena_bytes(problem);
    let (mut turn, mut failures) = (0, 0);
    while bytes.saturating_sub(goal) > goal / NARROW
        && allocator.work < work
        && failures < MOST_FAILURES
        && !watched.is_stopped()
    {
        // Half of the gap; where that failed, a quarter of it.
        let twelfths = if failures == 0 { 6 } else { 9 };
        let (holes, patience) = TURNS[turn % TURNS.len()];
        allocator.stack_up(BIASES[turn % BIASES.len()]);
        let attempt = Attempt {
            capacity: goal + (u128::from(bytes - goal) * twelfths / 12) as u64,
            holes,
            patience,
            work: work - allocator.work,
            work_each: work / 16,
            gives_up: true,
        };
        if let Some(found) = allocator.attempt(&attempt, watched) {
            best = found;
            bytes = best.arena_bytes(problem);
            failures = 0;
            watched.found(bytes, allocator.work);
        } else {
            (turn, failures) = (turn + 1, failures + 1);
        }
    }
    watched.finished(allocator.work);
    Packed { solution: best, work: allocator.work }
}

/// The stack at the peak, and what comes before and after it.
struct Allocator {
    sizes: Vec<u64>,
    aligns: Vec<u64>,
    /// Those that live at the peak, lowest first.
    stack: Vec<usize>,
    sides: [Side; 2],
    work: u64,
}

impl Allocator {
    fn new(problem: &Problem, sweep: &Sweep) -> Self {
        let peak = sweep.peak().1.unwrap_or(0) as u32;
        let end = sweep.len() as u32;
        let forwards = |id: BufferId| sweep.life(id);
        let backwards = |id: BufferId| {
            let life = sweep.life(id);
            Sections { start: end - life.end, end: end - life.start }
        };
        let sizes: Vec<u64> = problem.buffers().iter().map(|b| b.size).collect();
        let both = [
            Side::new(problem.ids().map(backwards).collect(), &sizes, end.saturating_sub(peak + 1)),
            Side::new(problem.ids().map(forwards).collect(), &sizes, peak),
        ];
        let aligns = problem.buffers().iter().map(|b| b.align).collect();
        let is_there = |id: &BufferId| sweep.life(*id).range().contains(&(peak as usize));
        let stack = problem.ids().filter(is_there).map(BufferId::index).collect();
        let mut allocator = Allocator { sizes, aligns, stack, sides: both, work: 0 };
        allocator.stack_up(BIASES[0]);
        allocator
    }

    /// Sorts the stack: at the bottom who was born last, up to the oldest of the young; then from the last of the old to die to the first, who
    /// is on top.
    fn stack_up(&mut self, (before, after): (u64, u64)) {
        let [backwards, forwards] = &self.sides;
        self.stack.sort_by_cached_key(|buffer| {
            let (age, left) = (backwards.lasts(*buffer), forwards.lasts(*buffer));
            let is_old = u64::from(age) * before >= u64::from(left) * after;
            (is_old, if is_old { u32::MAX - left } else { age }, *buffer)
        });
    }

    /// Packs all; nothing if that fails.
    fn attempt(&mut self, attempt: &Attempt, watched: &mut Watched<'_>) -> Option<Solution> {
        let mut offsets = vec![0; self.sizes.len()];
        let mut top = 0u64;
        for buffer in &self.stack {
            offsets[*buffer] = top.next_multiple_of(self.aligns[*buffer]);
            top = offsets[*buffer] + self.sizes[*buffer];
        }
        if attempt.gives_up && top > attempt.capacity {
            return None;
        }
        let mut attempt = Attempt { capacity: top.max(attempt.capacity), ..*attempt };
        for side in &self.sides {
            let mut run = side.run(&self.sizes, &self.aligns, &mut offsets, &self.stack, &attempt);
            let capacity = run.all(self.work, watched);
            self.work = self.work.saturating_add(run.work());
            attempt.capacity = capacity?;
        }
        Some(Solution::new(offsets))
    }
}

#[cfg(test)]
mod tests;
