//! Exact search: does it fit, and how small can the arena be?
//!
//! Branch and bound over *canonical* packings. Take a packing and let every buffer fall until it
//! lies on another or on the bottom: what is left is a packing in which each buffer rests on
//! something, and it is no higher. So it is enough to place buffers from the bottom up, each at the
//! lowest offset that it can have, in the order of their offsets.
//!
//! | file | what |
//! |---|---|
//! | `instance` | the problem in coarse units, over maximal moments |
//! | `tree` | the state: floors, how low each buffer can go, what follows, undo |
//! | `search` | depth first: place or pass over; jumps, parts, nogoods |
//! | `order` | which buffer first: orders that take turns |
//! | `reason` | a smallest set of buffers that does not fit |
//!
//! Every rule is a switch of [`Options`]: answers are the same with each of them on or off, which the
//! tests hold; what each is worth is in `docs/search.md`. The search is deterministic, and its
//! limit is work: entries of lists looked at, of which there are about 10⁸ in a second.

mod instance;
mod order;
mod reason;
mod search;
#[cfg(test)]
mod tests;
mod tree;

use instance::Instance;
use order::{Order, ROUND};
use search::{Answer, Search};

pub use reason::{Misfit, misfit, misfit_watched};

use crate::problem::Problem;
use crate::solution::Solution;
use crate::sweep::Sweep;
use crate::watch::{Watched, nobody};

/// A slice of work is so many times the estimate of a walk to the bottom.
const WALKS: u64 = 4;

/// Which rules to use, and how much work to do.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each rule is a switch, and any set of them is fine"
)]
pub struct Options {
    /// What can't be the lowest at a moment goes above one that can.
    pub not_first: bool,
    /// What was passed over must be blocked by something from below.
    pub blocked: bool,
    /// Independent parts are searched one by one.
    pub split: bool,
    /// States that failed are remembered.
    pub nogoods: bool,
    /// Dead ends jump back over decisions that they don't rest on.
    pub jump: bool,
    /// Of equal buffers with equal lives the first lies lowest.
    pub twins: bool,
    /// Moments that had no room are looked at earlier.
    pub learn: bool,
    /// Several orders take turns, a slice of work each; otherwise the first gets all of it.
    pub restarts: bool,
    /// The most work to do.
    pub work: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            not_first: true,
            blocked: true,
            split: true,
            nogoods: true,
            jump: true,
            twins: true,
            learn: true,
            restarts: true,
            work: 200_000_000,
        }
    }
}

/// Whether a problem fits a capacity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It does, like this.
    Fits(Solution),
    /// It does not: the search was exhausted.
    Never,
    /// Nobody knows: the work was used up, or somebody has said stop.
    Stopped,
    /// The search does not know fixed offsets, gaps and pairs kept apart.
    DoesNotApply,
}

/// What [`decide`] found, and the work that it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// Entries of lists looked at.
    pub work: u64,
}

/// Whether all buffers fit into `capacity` bytes together.
#[must_use]
pub fn decide(problem: &Problem, sweep: &Sweep, capacity: u64, options: &Options) -> Decision {
    decide_watched(problem, sweep, capacity, options, &mut Watched::new(&mut nobody, 0))
}

fn decide_watched(
    problem: &Problem,
    sweep: &Sweep,
    capacity: u64,
    options: &Options,
    watched: &mut Watched<'_>,
) -> Decision {
    if capacity < sweep.peak().0 {
        return Decision { verdict: Verdict::Never, work: 0 };
    }
    let Some(instance) = Instance::new(problem, sweep) else {
        return Decision { verdict: Verdict::DoesNotApply, work: 0 };
    };
    let mut solver = Solver::new(&instance, capacity, options);
    let verdict = match solver.ask(capacity, options.work, watched) {
        Answer::Fits => Verdict::Fits(solver.solution()),
        Answer::Never => Verdict::Never,
        Answer::Stopped => Verdict::Stopped,
    };
    let work = solver.work();
    watched.finished(work);
    Decision { verdict, work }
}

/// What [`minimise`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimum {
    /// The best packing, if one was found or given.
    pub solution: Option<Solution>,
    /// No arena is smaller than this: the load, or one more than what the search exhausted.
    pub lower_bound: u64,
    /// Whether the solution is as small as can be.
    pub optimal: bool,
    /// Whether the search knows everything that the problem has; if not, the above are the start.
    pub applies: bool,
    /// Entries of lists looked at.
    pub work: u64,
}

/// The smallest arena, as far as the work allows; never above that of `start`.
///
/// Asks for the load first: on tight problems a tight capacity is found sooner than a loose one,
/// since dead ends show early. If that gives no answer within its share of the work, the
/// interval between what is proven and what is found is cut in half again and again, with shares that grow.
#[must_use]
pub fn minimise(
    problem: &Problem,
    sweep: &Sweep,
    start: Option<&Solution>,
    options: &Options,
) -> Minimum {
    minimise_watched(problem, sweep, start, options, &mut Watched::new(&mut nobody, 0))
}

/// The same, while somebody watches.
pub(crate) fn minimise_watched(
    problem: &Problem,
    sweep: &Sweep,
    start: Option<&Solution>,
    options: &Options,
    watched: &mut Watched<'_>,
) -> Minimum {
    let mut best = start.cloned();
    let mut best_bytes = start.map_or(u64::MAX, |s| s.arena_bytes(problem));
    let mut lower_bound = sweep.peak().0;
    let Some(instance) = Instance::new(problem, sweep) else {
        return Minimum { solution: best, lower_bound, optimal: false, applies: false, work: 0 };
    };
    let mut solver = Solver::new(&instance, lower_bound, options);
    let ceiling = problem.unshared_bytes().saturating_add(instance.len() as u64 * instance.unit);
    let mut share = ROUND * solver.slice;
    let mut floor = lower_bound;
    let mut target = lower_bound;
    while lower_bound < best_bytes && solver.work() < options.work && !watched.is_stopped() {
        let left = options.work - solver.work();
        match solver.ask(target, share.min(left), watched) {
            Answer::Fits => {
                let found = solver.solution();
                best_bytes = found.arena_bytes(problem);
                best = Some(found);
                watched.found(best_bytes, solver.work());
            }
            Answer::Never => {
                lower_bound = lower_bound.max(solver.above(target));
                floor = floor.max(lower_bound);
                watched.proved(lower_bound.min(best_bytes), solver.work());
            }
            Answer::Stopped => floor = floor.max(solver.above(target)),
        }
        // Half way between what was not found and what was; if nothing is left there, once more
        // from below, with more work.
        let top = best_bytes.min(ceiling);
        if floor >= top {
            floor = lower_bound;
            share = share.saturating_mul(2);
            target = lower_bound;
        } else {
            target = floor + (top - 1 - floor) / 2;
        }
    }
    let optimal = best_bytes == lower_bound;
    let work = solver.work();
    watched.finished(work);
    Minimum { solution: best, lower_bound, optimal, applies: true, work }
}

/// Asks for capacities, with orders that take turns.
struct Solver<'a> {
    instance: &'a Instance,
    options: &'a Options,
    search: Search<'a>,
    /// The work of a run in the first round.
    slice: u64,
}

impl<'a> Solver<'a> {
    fn new(instance: &'a Instance, capacity: u64, options: &'a Options) -> Self {
        let search = Search::new(instance, capacity, options);
        let square = |m| (search.tree.members(m).len() as u64).pow(2);
        let walk: u64 = (0..instance.moments).map(square).sum();
        Solver { instance, options, search, slice: (WALKS * walk).max(1000) }
    }

    fn work(&self) -> u64 {
        self.search.tree.work
    }

    /// Whether everything fits, as far as that much work can tell.
    fn ask(&mut self, capacity: u64, work: u64, watched: &mut Watched<'_>) -> Answer {
        self.search.set_capacity(capacity);
        let stop = self.work().saturating_add(work);
        for run in 0.. {
            let left = stop.saturating_sub(self.work());
            if left == 0 || watched.is_stopped() {
                break;
            }
            let slice = self.slice.saturating_mul(1 << (run / ROUND / 4).min(40));
            let slice = if self.options.restarts { slice.min(left) } else { left };
            let order = Order::of_run(self.instance, if self.options.restarts { run } else { 0 });
            let answer = self.search.run(&order, slice, watched);
            if answer != Answer::Stopped {
                return answer;
            }
        }
        Answer::Stopped
    }

    /// The smallest arena above a capacity that was exhausted: all ends are sums of units.
    fn above(&self, capacity: u64) -> u64 {
        let padded = self.instance.padding.iter().any(|p| *p > 0);
        if padded { capacity + 1 } else { (capacity / self.instance.unit + 1) * self.instance.unit }
    }

    fn solution(&self) -> Solution {
        let mut offsets = vec![0; self.instance.len()];
        for (v, id) in self.instance.ids.iter().enumerate() {
            offsets[id.index()] = self.search.tree.low[v] * self.instance.unit;
        }
        Solution::new(offsets)
    }
}
