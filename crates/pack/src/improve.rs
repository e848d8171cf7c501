//! From a good packing to a better one: an allocator from the peak outwards, new orders for first fit, repair, then exact search.
//!
//! - **Outward.** [`outward`](crate::outward), for very many buffers: an allocator that starts at the peak, with
//!   lower and lower capacities.
//! - **Reordering.** Pack in some order by first fit; whatever ends above the bound goes to the front
//!   of the order, everything else stays as it is; again. Those that hold up the peak are few, and
//!   once they come first they are where they don't: on training graphs of thousands of buffers the
//!   bound itself is often met after a handful of rounds (`pangu_2.6B`: one).
//! - **Repair.** [`repair`](crate::repair), from the best that there is: what ends too high is put
//!   where it is least in the way, and what it was in the way of is put elsewhere.
//! - **Search.** [`exact::minimise`], from the best that there is. It meets the bound on tight
//!   memories, where no order does, and it proves bounds above the load.
//!
//! All count work, of which an [`Effort`] allows so much; the answer never depends on the time that
//! it takes. Cost of a round: that of first fit.

use crate::algorithm::{self, Algorithm, Order};
use crate::blocks::Blocks;
use crate::canonical::Canonical;
use crate::exact;
use crate::outward;
use crate::problem::{BufferId, Problem};
use crate::repair::repair;
use crate::solution::Solution;
use crate::sweep::Sweep;
use crate::watch::{Watched, nobody};

/// Rounds without progress after which an order is given up.
const PATIENCE: u32 = 12;
/// The search keeps every pair of a buffer and a section of its life: at most so many.
const MOST_PAIRS: u64 = 40_000_000;
/// With more buffers than this an allocator is worth a try, and this many times the work: its units are short.
const MANY: usize = 20_000;
const ALLOCATING: u64 = 3;
/// Blocks are looked for among at most so many buffers.
const MOST_JOINED: usize = 20_000;
/// Search with buffers and search with blocks take turns of these parts of the work; then search with buffers has
/// what is left of it.
const TURNS: [u64; 4] = [1024, 128, 16, 8];
/// Repair gets no better after so much work.
const MOST_REPAIRING: u64 = 2_000_000_000;
/// Where there are more sections than this, and repair ends more than a hundredth above the bound, search
/// does not come closer unless it has this much work.
const WIDE: usize = 1024;
const FROM_AFAR: u64 = 100_000_000;
/// Orders that are worth a start, by what they reach on the corpus.
const STARTS: [Order; 7] = [
    Order::Urgency,
    Order::UrgencyDeath,
    Order::Length,
    Order::Birth,
    Order::Degree,
    Order::Area,
    Order::Size,
];

/// How much work to put into a packing that does not meet its lower bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// None: the greedy rules only.
    Fast,
    /// About a second or two.
    #[default]
    Default,
    /// A minute or so.
    High,
    /// Until it is proven that no packing is smaller, however long that takes.
    Exhaustive,
}

impl Effort {
    /// All of them.
    pub const ALL: [Effort; 4] = [Effort::Fast, Effort::Default, Effort::High, Effort::Exhaustive];

    /// Its name, as in `--effort high`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Effort::Fast => "fast",
            Effort::Default => "default",
            Effort::High => "high",
            Effort::Exhaustive => "exhaustive",
        }
    }

    /// How much work that is, for each of the ways.
    #[must_use]
    pub fn work(self) -> u64 {
        match self {
            Effort::Fast => 0,
            Effort::Default => 200_000_000,
            Effort::High => 8_000_000_000,
            Effort::Exhaustive => u64::MAX,
        }
    }
}

/// Which way led to a packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The one that was given.
    Given,
    /// Allocating from the peak outwards.
    Outward,
    /// First fit in a new order.
    Reordering,
    /// Putting out what is in the way of what ends too high.
    Repair,
    /// Exact search.
    Search,
}

/// Which ways may be gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each way is a switch, and any set of them is fine"
)]
pub(crate) struct Ways {
    pub(crate) outward: bool,
    pub(crate) reordering: bool,
    pub(crate) repair: bool,
    pub(crate) search: bool,
}

impl Ways {
    /// Those that were asked for by name; all where nothing was.
    pub(crate) fn asked(algorithms: &[Algorithm]) -> Ways {
        let asked = |way| algorithms.is_empty() || algorithms.contains(&way);
        Ways {
            outward: asked(Algorithm::Outward),
            reordering: asked(Algorithm::Reordering),
            repair: asked(Algorithm::Repair),
            search: asked(Algorithm::Search),
        }
    }

    /// Whether there is any.
    pub(crate) fn any(self) -> bool {
        self.outward || self.reordering || self.repair || self.search
    }
}

/// What [`improve`] made of a packing.
#[derive(Clone, Debug)]
pub struct Improved {
    /// The best packing.
    pub solution: Solution,
    /// No arena is smaller: the bound that was given, or a better one.
    pub lower_bound: u64,
    /// Which way led to it.
    pub way: Way,
    /// Whether more work could change anything.
    pub more_to_try: bool,
    /// The work of all ways.
    pub work: u64,
}

/// Makes a packing smaller, as far as the work allows and down to the bound.
#[must_use]
pub fn improve(
    problem: &Problem,
    sweep: &Sweep,
    given: Solution,
    bound: u64,
    work: u64,
) -> Improved {
    let all = Ways::asked(&[]);
    improve_watched(problem, sweep, given, bound, work, all, &mut Watched::new(&mut nobody, bound))
}

/// The same by some ways only, while somebody watches.
pub(crate) fn improve_watched(
    problem: &Problem,
    sweep: &Sweep,
    given: Solution,
    bound: u64,
    work: u64,
    ways: Ways,
    watched: &mut Watched<'_>,
) -> Improved {
    let arena = given.arena_bytes(problem);
    if arena <= bound || work == 0 {
        let way = Way::Given;
        return Improved {
            solution: given,
            lower_bound: bound,
            way,
            more_to_try: ways.search,
            work: 0,
        };
    }
    if problem.len() > MOST_JOINED || problem.conflicts().is_some() {
        let task = Task { problem, sweep, bound, work, ways };
        return task.improve(given, watched);
    }
    let canonical = Canonical::new(problem, sweep);
    let sweep = Sweep::new(&canonical.problem);
    let task = Task { problem: &canonical.problem, sweep: &sweep, bound, work, ways };
    let improved = task.improve(canonical.told(&given), watched);
    Improved { solution: canonical.retold(&improved.solution), ..improved }
}

/// What is to be improved, and how far.
#[derive(Clone, Copy)]
struct Task<'a> {
    problem: &'a Problem,
    sweep: &'a Sweep,
    bound: u64,
    work: u64,
    ways: Ways,
}

impl Task<'_> {
    fn improve(self, given: Solution, watched: &mut Watched<'_>) -> Improved {
        let Task { problem, sweep, bound, work, ways } = self;
        let given_arena = given.arena_bytes(problem);
        let is_wide = sweep.len() > WIDE;
        let (way, more_to_try) = (Way::Given, ways.search);
        let best =
            Improved { solution: given.clone(), lower_bound: bound, way, more_to_try, work: 0 };
        let mut improving = Improving { task: self, arena: given_arena, best };
        if problem.len() > MANY {
            improving.outward(watched);
            let is_over = problem.len() > MOST_JOINED && outward::applies(problem);
            if is_over && ways.outward && work <= Effort::Default.work() {
                return improving.best;
            }
        }
        if improving.goes_on(ways.reordering, watched) {
            let (solution, used) = reorder(problem, sweep, bound, work / 4, watched);
            improving.best.work = improving.best.work.saturating_add(used);
            // What was given depends on the order of the buffers; what follows should not.
            if !is_wide && improving.best.way == Way::Given {
                improving.arena = u64::MAX;
            }
            improving.take(solution, Way::Reordering);
        }
        if is_wide {
            improving.repair(watched);
        }
        if !is_wide || !improving.is_far() {
            improving.search_with_blocks(watched);
        }
        if !is_wide && improving.is_a_hundredth_above() {
            improving.repair(watched);
        }
        if given_arena <= improving.arena {
            (improving.best.solution, improving.best.way) = (given, Way::Given);
        }
        improving.best
    }
}

/// What goes on from a packing, one way after the other.
struct Improving<'a> {
    task: Task<'a>,
    arena: u64,
    best: Improved,
}

impl Improving<'_> {
    /// Whether there is anything left to do, and somebody who wants it done.
    fn goes_on(&self, way: bool, watched: &Watched<'_>) -> bool {
        way && self.arena > self.task.bound && self.task.work > 0 && !watched.is_stopped()
    }

    fn take(&mut self, solution: Solution, way: Way) {
        let found = solution.arena_bytes(self.task.problem);
        if found < self.arena {
            (self.best.solution, self.best.way, self.arena) = (solution, way, found);
        }
    }

    /// Allocates from the peak outwards, again and again where that comes close.
    fn outward(&mut self, watched: &mut Watched<'_>) {
        let Task { problem, sweep, bound, work, ways } = self.task;
        if !self.goes_on(ways.outward, watched) || !outward::applies(problem) {
            return;
        }
        let mut used = 0;
        if problem.len() <= MOST_JOINED {
            let first = outward::outward(problem, sweep, bound);
            used = first.work;
            watched.finished(used);
            let is_near = first.solution.arena_bytes(problem) / 11 <= self.arena / 10;
            self.take(first.solution, Way::Outward);
            if !is_near {
                self.best.work = self.best.work.saturating_add(used);
                return;
            }
        }
        let work = work.saturating_mul(ALLOCATING);
        let lower = outward::lower(problem, sweep, &self.best.solution, bound, work, watched);
        self.best.work = self.best.work.saturating_add(used).saturating_add(lower.work);
        self.take(lower.solution, Way::Outward);
    }

    /// Puts in what is too high.
    fn repair(&mut self, watched: &mut Watched<'_>) {
        if self.goes_on(self.task.ways.repair, watched) {
            let twice = self.task.work.saturating_mul(2).min(MOST_REPAIRING);
            let (problem, best) = (self.task.problem, &self.best.solution);
            let repaired = repair(problem, self.task.sweep, best, self.task.bound, twice, watched);
            self.best.work = self.best.work.saturating_add(repaired.work);
            self.take(repaired.solution, Way::Repair);
        }
    }

    fn is_a_hundredth_above(&self) -> bool {
        u128::from(self.arena - self.task.bound) * 100 > u128::from(self.task.bound)
    }

    /// Whether repair has ended so far away that search is not worth its time.
    fn is_far(&self) -> bool {
        let is_far = u128::from(self.arena - self.task.bound) * 100 > u128::from(self.task.bound);
        is_far
            && self.task.work < FROM_AFAR
            && self.best.way == Way::Repair
            && self.task.ways.repair
    }

    /// Searches with buffers and with blocks in turns, for longer every time.
    fn search_with_blocks(&mut self, watched: &mut Watched<'_>) {
        if !self.goes_on(self.task.ways.search, watched) {
            return;
        }
        let (work, before) = (self.task.work, self.best.work);
        let blocks = [true, false].map(|stacks| self.joined(stacks, watched));
        let has_blocks = blocks.iter().any(Option::is_some);
        for (turn, part) in TURNS.into_iter().enumerate().filter(|_| has_blocks) {
            for (blocks, sweep) in blocks.iter().flatten() {
                self.search_blocks(blocks, sweep, work / part, watched);
            }
            if turn + 1 < TURNS.len() {
                self.search(work / part, watched);
            }
        }
        self.search(work.saturating_sub(self.best.work - before), watched);
    }

    /// The blocks, if there are any and search can be asked about them.
    fn joined(&mut self, stacks: bool, watched: &mut Watched<'_>) -> Option<(Blocks, Sweep)> {
        if self.task.problem.len() > MOST_JOINED {
            return None;
        }
        let blocks = Blocks::new(self.task.problem, stacks, self.task.work / 32)?;
        self.best.work = self.best.work.saturating_add(blocks.work);
        watched.finished(blocks.work);
        let sweep = Sweep::new(&blocks.problem);
        (pairs(&blocks.problem, &sweep) <= MOST_PAIRS).then_some((blocks, sweep))
    }

    fn search_blocks(
        &mut self,
        blocks: &Blocks,
        sweep: &Sweep,
        work: u64,
        watched: &mut Watched<'_>,
    ) {
        if self.goes_on(self.task.ways.search, watched) {
            let options = exact::Options { work, ..exact::Options::default() };
            let problem = &blocks.problem;
            let found =
                exact::minimise_watched(problem, sweep, None, self.task.bound, &options, watched);
            self.best.work = self.best.work.saturating_add(found.work);
            if let Some(packing) = found.solution {
                self.take(blocks.apart(&packing), Way::Search);
            }
        }
    }

    /// Searches for the smallest arena.
    fn search(&mut self, work: u64, watched: &mut Watched<'_>) {
        let is_small = pairs(self.task.problem, self.task.sweep) <= MOST_PAIRS;
        if is_small && self.goes_on(self.task.ways.search, watched) {
            let options = exact::Options { work, ..exact::Options::default() };
            let (problem, start) = (self.task.problem, Some(&self.best.solution));
            let found = exact::minimise_watched(
                problem,
                self.task.sweep,
                start,
                self.task.bound,
                &options,
                watched,
            );
            self.best.work = self.best.work.saturating_add(found.work);
            self.best.lower_bound = self.best.lower_bound.max(found.lower_bound);
            self.task.bound = self.best.lower_bound;
            self.best.more_to_try = found.applies && !found.optimal;
            if let Some(solution) = found.solution {
                self.take(solution, Way::Search);
            }
        }
    }
}

/// First fit in orders in which those that end above the goal come first, until none does; and the work
/// that it took.
fn reorder(
    problem: &Problem,
    sweep: &Sweep,
    goal: u64,
    work: u64,
    watched: &mut Watched<'_>,
) -> (Solution, u64) {
    let mut best: Option<(u64, Solution)> = None;
    let mut used: u64 = 0;
    let share = work / STARTS.len() as u64;
    for (turn, start) in STARTS.into_iter().enumerate() {
        let mut order = start.sorted(problem, sweep);
        let mut lowest = u64::MAX;
        let mut idle = 0;
        // Each start may use its share, and what those before it have left.
        while idle < PATIENCE && (best.is_none() || used < share.saturating_mul(turn as u64 + 1)) {
            let (packing, work) = algorithm::first_fit_in(problem, sweep, &order);
            used = used.saturating_add(work);
            let arena = packing.arena_bytes(problem);
            idle = if arena < lowest { 0 } else { idle + 1 };
            lowest = lowest.min(arena);
            let end = |id: &BufferId| packing.offset(*id) + problem.buffer(*id).size;
            order.sort_by_key(|id| end(id) <= goal);
            if best.as_ref().is_none_or(|(bytes, _)| arena < *bytes) {
                best = Some((arena, packing));
            }
            watched.found(arena, used);
            if arena <= goal || watched.is_stopped() {
                break;
            }
        }
        if watched.is_stopped() || best.as_ref().is_some_and(|(bytes, _)| *bytes <= goal) {
            break;
        }
    }
    watched.finished(used);
    let (_, packing) = best.expect("there is a first start");
    (packing, used)
}

/// How many pairs of a buffer and a section of its life there are.
fn pairs(problem: &Problem, sweep: &Sweep) -> u64 {
    problem.ids().map(|id| sweep.life(id).range().len() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::{Bound, Proof, bound};
    use crate::check::check;
    use crate::problem::{Buffer, Life};
    use crate::solve::{Options, Reason, Status, solve};
    use crate::testing::{Rng, Shape, brute_force, random_problem, training_like};

    fn unshared(problem: &Problem) -> Solution {
        let mut top = 0;
        let mut above = |size: u64, align: u64| {
            let offset = u64::next_multiple_of(top, align);
            top = offset + size;
            offset
        };
        Solution::new(problem.buffers().iter().map(|b| above(b.size, b.align)).collect())
    }

    fn reorder_alone(problem: &Problem, sweep: &Sweep, goal: u64, work: u64) -> (Solution, u64) {
        reorder(problem, sweep, goal, work, &mut Watched::new(&mut nobody, goal))
    }

    #[test]
    fn small_problems_end_at_the_optimum() {
        let mut rng = Rng::new(21);
        for aligned in [0, 40] {
            for _ in 0..60 {
                let shape = Shape { aligned, buffers: 1..7, ..Shape::plain() };
                let problem = random_problem(&mut rng, &shape);
                let sweep = Sweep::new(&problem);
                let load = bound(&problem, &sweep).bytes;
                let found =
                    improve(&problem, &sweep, unshared(&problem), load, Effort::Exhaustive.work());
                assert_eq!(check(&problem, &(&found.solution).into()), []);
                let arena = found.solution.arena_bytes(&problem);
                assert_eq!(arena, brute_force(&problem));
                assert_eq!(arena, found.lower_bound);
            }
        }
    }

    #[test]
    fn solve_proves_what_the_load_does_not_show() {
        // Five bytes are alive all the time, but they can't be kept in five.
        let all = [(2, 0, 1), (2, 0, 2), (1, 1, 3), (1, 2, 3), (1, 1, 4), (1, 2, 4)];
        let rest = [(1, 0, 5), (2, 3, 5), (2, 4, 5)];
        let buffer = |(size, start, end)| Buffer::new(size, Life::new(start, end));
        let buffers = all.into_iter().chain(rest).map(buffer).collect();
        let problem = Problem::new(buffers).expect("valid");
        assert_eq!((Sweep::new(&problem).peak().0, brute_force(&problem)), (5, 6));

        let outcome = solve(&problem, &Options::default());
        assert_eq!((outcome.arena_bytes, outcome.status), (6, Status::Optimal));
        let bound = Bound { bytes: 6, proof: Proof::Exhausted };
        assert_eq!(outcome.lower_bound, bound);
        let tight = solve(&problem.with_capacity(Some(5)), &Options::default());
        assert_eq!(tight.status, Status::Infeasible(Reason::Capacity { bound, capacity: 5 }));
    }

    #[test]
    fn threads_do_not_change_the_answer() {
        let mut rng = Rng::new(24);
        for _ in 0..10 {
            let shape = Shape { buffers: 20..40, sizes: 1..30, ..Shape::plain() };
            let problem = random_problem(&mut rng, &shape);
            let [one, four] = [1, 4].map(|threads| {
                let outcome = solve(&problem, &Options { threads, ..Options::default() });
                (outcome.solution, outcome.lower_bound, outcome.work, outcome.limit)
            });
            assert_eq!(one, four);
        }
    }

    #[test]
    fn no_effort_changes_nothing() {
        let problem = training_like(50, 1);
        let sweep = Sweep::new(&problem);
        let given = unshared(&problem);
        let found = improve(&problem, &sweep, given.clone(), 1, Effort::Fast.work());
        assert_eq!((found.solution, found.work, found.way), (given, 0, Way::Given));
    }

    #[test]
    fn reordering_respects_every_constraint_and_its_limit() {
        let mut rng = Rng::new(22);
        for _ in 0..200 {
            let problem = random_problem(&mut rng, &Shape::everything());
            let sweep = Sweep::new(&problem);
            let goal = bound(&problem, &sweep).bytes;
            let (solution, _) = reorder_alone(&problem, &sweep, goal, 1_000_000);
            assert_eq!(check(&problem, &(&solution).into()), []);
        }
        let problem = training_like(2000, 3);
        let sweep = Sweep::new(&problem);
        let one = algorithm::first_fit_in(&problem, &sweep, &STARTS[0].sorted(&problem, &sweep));
        let none = reorder_alone(&problem, &sweep, 0, 0);
        assert_eq!(none, one);
    }
}
