//! The smallest arena: which capacities are asked for, and for how long.
//!
//! On tight problems a tight capacity is often found sooner than a loose one, since dead ends show
//! early; and how long it takes is heavy-tailed. So the load itself is asked for first and gets, in
//! the end, half of all the work. The other half goes to capacities between what is proven and what
//! is found:
//!
//! ```text
//!    load          half way      three quarters     best
//!     ├───────────────┼───────────────┼──────────────┤
//!   short runs: load, then half way and three quarters, again and again while that helps;
//!   long ones:  half way and the load in turns, twice as long every time.
//! ```
//!
//! A capacity that the problem was given comes right after the first short runs: whether that is met
//! is what the caller wants to know.

use super::instance::Instance;
use super::order::ROUND;
use super::search::Answer;
use super::{Options, Solver};
use crate::bound::bound;
use crate::problem::{Buffer, Problem};
use crate::solution::Solution;
use crate::sweep::Sweep;
use crate::watch::{Watched, nobody};

/// The first long runs take so many rounds.
const LONG: u64 = 4;

/// What [`minimise`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minimum {
    /// The best packing, if one was found or given.
    pub solution: Option<Solution>,
    /// No arena is smaller than this: the bound, or one more than what the search exhausted.
    pub lower_bound: u64,
    /// Whether the solution is as small as can be.
    pub optimal: bool,
    /// Whether the search knows everything that the problem has; if not, the above are the start.
    pub applies: bool,
    /// Entries of lists looked at.
    pub work: u64,
}

/// The smallest arena, as far as the work allows; never above that of `start`.
#[must_use]
pub fn minimise(
    problem: &Problem,
    sweep: &Sweep,
    start: Option<&Solution>,
    options: &Options,
) -> Minimum {
    let least = bound(problem, sweep).bytes;
    minimise_watched(problem, sweep, start, least, options, &mut Watched::new(&mut nobody, 0))
}

/// The same, while somebody watches, where no arena is below `least`.
pub(crate) fn minimise_watched(
    problem: &Problem,
    sweep: &Sweep,
    start: Option<&Solution>,
    least: u64,
    options: &Options,
    watched: &mut Watched<'_>,
) -> Minimum {
    let mut best = start.cloned();
    let mut best_bytes = start.map_or(u64::MAX, |s| s.arena_bytes(problem));
    let mut lower_bound = least;
    let Some(instance) = Instance::new(problem, sweep) else {
        return Minimum { solution: best, lower_bound, optimal: false, applies: false, work: 0 };
    };
    let mut solver = Solver::new(&instance, lower_bound, options);
    // One on top of the other they fit, whatever the alignment.
    let above = |b: &Buffer| b.size + b.align + b.fixed.unwrap_or(0);
    let ceiling: u64 = problem.buffers().iter().map(above).sum();
    let mut step = Step::first();
    while lower_bound < best_bytes && solver.work() < options.work && !watched.is_stopped() {
        let left = options.work - solver.work();
        let top = best_bytes.min(ceiling);
        let given = problem.capacity().filter(|given| lower_bound <= *given && *given < top);
        if step == Step::Given && given.is_none() {
            step = Step::Short(2);
        }
        let (target, work) = if let (Step::Given, Some(given)) = (step, given) {
            (given, options.work / 2)
        } else {
            let gap = u128::from(top - lower_bound);
            let above = (gap * u128::from(step.quarters()) / 4) as u64;
            (lower_bound + above, step.rounds().saturating_mul(ROUND * solver.slice))
        };
        let answer = solver.ask(target, work.min(left), watched);
        match answer {
            Answer::Fits => {
                let found = solver.solution();
                best_bytes = found.arena_bytes(problem);
                best = Some(found);
                watched.found(best_bytes, solver.work());
            }
            Answer::Never => {
                lower_bound = lower_bound.max(solver.above(target));
                watched.proved(lower_bound.min(best_bytes), solver.work());
            }
            Answer::Stopped => {}
        }
        step = step.after(answer);
    }
    let optimal = best_bytes == lower_bound;
    let work = solver.work();
    watched.finished(work);
    Minimum { solution: best, lower_bound, optimal, applies: true, work }
}

/// What is asked for, and for how many rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The capacity of the problem.
    Given,
    /// So many quarters above the bound, for a round.
    Short(u64),
    /// The same, for longer.
    Long { quarters: u64, rounds: u64 },
}

impl Step {
    fn first() -> Step {
        Step::Short(0)
    }

    fn quarters(self) -> u64 {
        match self {
            Step::Given => 0,
            Step::Short(quarters) | Step::Long { quarters, .. } => quarters,
        }
    }

    fn rounds(self) -> u64 {
        if let Step::Long { rounds, .. } = self { rounds } else { 1 }
    }

    /// The next step. Where there was an answer, the gap is smaller, and the same may help again.
    fn after(self, answer: Answer) -> Step {
        match (self, answer) {
            (Step::Short(0), Answer::Stopped) => Step::Given,
            (Step::Short(0) | Step::Given, _) => Step::Short(2),
            (Step::Short(2), Answer::Stopped) => Step::Short(3),
            (Step::Short(_), Answer::Stopped) => Step::Long { quarters: 2, rounds: LONG },
            (Step::Long { quarters: 0, rounds }, _) => {
                Step::Long { quarters: 2, rounds: rounds.saturating_mul(2) }
            }
            (Step::Long { rounds, .. }, Answer::Stopped) => Step::Long { quarters: 0, rounds },
            (step, _) => step,
        }
    }
}
