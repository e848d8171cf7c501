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
//! | `holes` | the state where windows and fixed offsets leave holes |
//! | `search` | depth first: place or pass over; jumps, parts, nogoods |
//! | `order` | which buffer first: orders that take turns |
//! | `minimise` | which capacities are asked for, and for how long |
//! | `reason` | a smallest set of buffers that does not fit |
//!
//! Every rule is a switch of [`Options`]: answers are the same with each of them on or off, which the
//! tests hold; what each is worth is in `docs/search.md`. The search is deterministic, and its
//! limit is work: entries of lists looked at, of which there are about 10⁸ in a second.

mod holes;
mod instance;
mod minimise;
mod order;
mod reason;
mod search;
#[cfg(test)]
mod tests;
mod tree;
mod why;

use std::collections::BTreeMap;

use instance::Instance;
pub(crate) use minimise::minimise_watched;
pub use minimise::{Minimum, minimise};
use order::Order;
pub use reason::{Misfit, misfit, misfit_watched};
pub(crate) use search::mix;
use search::{Answer, Search};

use crate::problem::Problem;
use crate::solution::Solution;
use crate::sweep::Sweep;
use crate::watch::{Watched, nobody};

/// A slice of work is so many times the estimate of a walk to the bottom.
const WALKS: u64 = 4;
/// After so many runs for a capacity slices are twice as long.
const DOUBLING: u64 = 96;
/// The first runs for a capacity begin with half of what the one before has learned: a short memory
/// finds most packings sooner, since blame that has grown for long keeps every run on one way.
const FORGETFUL: u64 = 48;
/// Later ones only do so after so many runs: a long memory finds some that a short one does not.
const MEMORY: u64 = 8;

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
    /// Too many pairs are kept apart, or what is fixed is in each other's way.
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
    let ends = problem.buffers().iter().map(|b| b.fixed.unwrap_or(0) + b.size);
    if capacity < sweep.peak().0.max(ends.max().unwrap_or(0)) {
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

/// Asks for capacities, with orders that take turns.
struct Solver<'a> {
    instance: &'a Instance,
    options: &'a Options,
    search: Search<'a>,
    /// The work of a run in the first round.
    slice: u64,
    /// How many runs each capacity has had.
    runs: BTreeMap<u64, u64>,
}

impl<'a> Solver<'a> {
    fn new(instance: &'a Instance, capacity: u64, options: &'a Options) -> Self {
        let search = Search::new(instance, capacity, options);
        let square = |m| (search.tree.members(m).len() as u64).pow(2);
        let walk: u64 = (0..instance.moments).map(square).sum();
        Solver { instance, options, search, slice: (WALKS * walk).max(1000), runs: BTreeMap::new() }
    }

    fn work(&self) -> u64 {
        self.search.tree.work
    }

    /// Whether everything fits, as far as that much work can tell. Whoever asks for a capacity again
    /// goes on where it was left.
    fn ask(&mut self, capacity: u64, work: u64, watched: &mut Watched<'_>) -> Answer {
        let capacity = if self.is_padded() { capacity } else { self.in_units(capacity) };
        self.search.set_capacity(capacity);
        let first = self.runs.get(&capacity).copied().unwrap_or(0);
        let stop = self.work().saturating_add(work);
        let mut answer = Answer::Stopped;
        let mut run = first;
        while answer == Answer::Stopped && self.work() < stop && !watched.is_stopped() {
            let left = stop - self.work();
            let slice = self.slice.saturating_mul(1 << (run / DOUBLING).min(40));
            let slice = if self.options.restarts { slice.min(left) } else { left };
            if run < FORGETFUL || run.is_multiple_of(MEMORY) {
                self.search.forget();
            }
            let order = Order::of_run(self.instance, if self.options.restarts { run } else { 0 });
            answer = self.search.run(&order, slice, watched);
            run += 1;
        }
        self.runs.insert(capacity, run);
        answer
    }

    /// The smallest arena above a capacity that was exhausted: all ends are sums of units.
    fn above(&self, capacity: u64) -> u64 {
        if self.is_padded() { capacity + 1 } else { self.in_units(capacity) + self.instance.unit }
    }

    /// Whether some sizes are not whole units: then every byte of a capacity may count.
    fn is_padded(&self) -> bool {
        self.instance.padding.iter().any(|p| *p > 0)
    }

    /// The capacity rounded down to whole units.
    fn in_units(&self, capacity: u64) -> u64 {
        capacity / self.instance.unit * self.instance.unit
    }

    fn solution(&self) -> Solution {
        let mut offsets = vec![0; self.instance.len() + self.instance.fixed.len()];
        for (id, offset) in &self.instance.fixed {
            offsets[id.index()] = *offset;
        }
        for (v, id) in self.instance.ids.iter().enumerate() {
            offsets[id.index()] = self.search.tree.low[v] * self.instance.unit;
        }
        Solution::new(offsets)
    }
}
