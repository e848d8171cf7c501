//! The rules that place buffers one after another, and never move one again.
//!
//! One file each, one signature: a problem and its sweep in, offsets and the work done out.
//! Buffers with a fixed offset are placed before all others; gaps and alignment are respected by
//! all, since the [`Timeline`] under them does.

mod best_fit;
mod first_fit;
mod hinted;
mod largest_first;
mod order;
pub(crate) mod two_ends;

use std::fmt;

pub use order::Order;

use crate::outward;
use crate::problem::{BufferId, Problem};
use crate::solution::Solution;
use crate::sweep::Sweep;
use crate::timeline::Timeline;

/// A rule, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Algorithm {
    /// Each at its hint if that is free; the others first fit.
    Hinted,
    /// The largest first, each at the lowest offset that is free: what XLA, `TFLite` and rlx do.
    LargestFirst,
    /// In that order, each at the lowest offset that is free.
    FirstFit(Order),
    /// In that order, each in the hole that it fills best.
    BestFit(Order),
    /// Where at most two are alive at a time, each at the bottom or at the top; not one of the rules that
    /// [`Algorithm::all`] lists, but tried behind the first of them.
    TwoEnds,
    /// An allocator from the peak outwards in both directions of time, which goes back where a buffer finds no hole; not
    /// one of the rules that [`Algorithm::all`] lists. By size where something is fixed or kept apart.
    Outward,
    /// First fit again and again, those that end above the bound first, for as much work as the
    /// effort allows; not one of the rules that [`Algorithm::all`] lists.
    Reordering,
    /// What ends too high is put where it is least in the way, and what is in its way elsewhere, for
    /// as much work as the effort allows; not one of the rules that [`Algorithm::all`] lists.
    Repair,
    /// Exact search, for as much work as the effort allows; not one of the rules that
    /// [`Algorithm::all`] lists.
    Search,
}

/// What a rule made of a problem.
#[derive(Clone, Debug)]
pub(crate) struct Packing {
    /// Nothing if the arena would not have been as small as was wanted, or there was too much to look at.
    pub(crate) solution: Option<Solution>,
    pub(crate) work: u64,
}

impl Algorithm {
    /// All greedy rules, in the order in which they are tried and ties are broken.
    #[must_use]
    pub fn all() -> Vec<Algorithm> {
        let mut all = vec![Algorithm::Hinted, Algorithm::LargestFirst];
        for order in Order::ALL {
            all.extend([Algorithm::FirstFit(order), Algorithm::BestFit(order)]);
        }
        all
    }

    /// Those that are tried where nobody asks for one by name: all but best fit over sizes, which
    /// costs most on large problems and was the only one to reach the least arena in 3 of 400
    /// generated ones.
    #[must_use]
    pub fn portfolio() -> Vec<Algorithm> {
        let left_out =
            |a: &Algorithm| matches!(a, Algorithm::BestFit(Order::Size | Order::SizeLength));
        Algorithm::all().into_iter().filter(|a| !left_out(a)).collect()
    }

    /// Everything that can be asked for by name: the rules, and what goes on from a packing.
    #[must_use]
    pub fn named() -> Vec<Algorithm> {
        let mut named = Algorithm::all();
        named.extend([Algorithm::Reordering, Algorithm::Repair, Algorithm::Search]);
        named
    }

    /// The algorithm of that name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Algorithm> {
        Algorithm::named().into_iter().find(|a| a.to_string() == name)
    }

    /// What it does, in a line.
    #[must_use]
    pub fn about(self) -> String {
        match self {
            Algorithm::Hinted => "at the hint where that is free, the rest first fit".to_owned(),
            Algorithm::LargestFirst => "largest first, lowest free offset".to_owned(),
            Algorithm::FirstFit(order) => format!("{}, lowest free offset", order.about()),
            Algorithm::BestFit(order) => format!("{}, tightest free hole", order.about()),
            Algorithm::TwoEnds => "largest first, or two at a time at both ends".to_owned(),
            Algorithm::Outward => "allocated from the peak outwards, both ways in time".to_owned(),
            Algorithm::Reordering => {
                "first fit again and again, those above the bound first".to_owned()
            }
            Algorithm::Repair => {
                "largest first, then what is too high is put in, others out".to_owned()
            }
            Algorithm::Search => "branch and bound, from largest first".to_owned(),
        }
    }

    /// Packs the problem, unless that is of no use or takes too long.
    pub(crate) fn pack(self, problem: &Problem, sweep: &Sweep, limits: Limits) -> Packing {
        let task = Task { problem, sweep, limits };
        match self {
            Algorithm::Outward if outward::applies(problem) => {
                let packed = outward::outward(problem, sweep, sweep.peak().0);
                let fits = packed.solution.arena_bytes(problem) < limits.below;
                Packing { solution: fits.then_some(packed.solution), work: packed.work }
            }
            Algorithm::Hinted => hinted::pack(task),
            // The others begin here; what they do from there on is not for a rule to do.
            Algorithm::LargestFirst
            | Algorithm::TwoEnds
            | Algorithm::Outward
            | Algorithm::Reordering
            | Algorithm::Repair
            | Algorithm::Search => largest_first::pack(task),
            Algorithm::FirstFit(order) => first_fit::pack(task, order),
            Algorithm::BestFit(order) => best_fit::pack(task, order),
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Algorithm::Hinted => write!(f, "hinted"),
            Algorithm::LargestFirst => write!(f, "largest-first"),
            Algorithm::FirstFit(order) => write!(f, "first-fit/{}", order.name()),
            Algorithm::BestFit(order) => write!(f, "best-fit/{}", order.name()),
            Algorithm::TwoEnds => write!(f, "two-ends"),
            Algorithm::Outward => write!(f, "outward"),
            Algorithm::Reordering => write!(f, "reordering"),
            Algorithm::Repair => write!(f, "repair"),
            Algorithm::Search => write!(f, "search"),
        }
    }
}

/// First fit in an order of the caller's, and the work that it took.
pub(crate) fn first_fit_in(
    problem: &Problem,
    sweep: &Sweep,
    order: &[BufferId],
) -> (Solution, u64) {
    let task = Task { problem, sweep, limits: Limits::none() };
    let Packing { solution, work } = place_in_order(task, order, |timeline, id| {
        timeline.lowest_fit(id, problem.buffer(id).align, 0)
    });
    (solution.expect("every arena is below the largest number"), work)
}

/// What a rule has to do.
#[derive(Clone, Copy)]
struct Task<'a> {
    problem: &'a Problem,
    sweep: &'a Sweep,
    limits: Limits,
}

/// When to stop.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Only an arena below this is of any use.
    pub(crate) below: u64,
    /// The most spans to look at.
    pub(crate) work: u64,
}

impl Limits {
    /// Every arena is of use, however long it takes.
    pub(crate) fn none() -> Self {
        Limits { below: u64::MAX, work: u64::MAX }
    }
}

/// Places what is fixed, then all others in `order`, each where `choose` says, until the arena is too
/// large to be of any use or there was too much to look at.
fn place_in_order(
    Task { problem, sweep, limits: Limits { below, work } }: Task<'_>,
    order: &[BufferId],
    mut choose: impl FnMut(&mut Timeline<'_>, BufferId) -> u64,
) -> Packing {
    let mut timeline = Timeline::new(problem, sweep);
    let mut offsets = vec![0; problem.len()];
    for id in problem.ids() {
        if let Some(offset) = problem.buffer(id).fixed {
            timeline.place(id, offset);
            offsets[id.index()] = offset;
        }
    }
    for id in order {
        if problem.buffer(*id).fixed.is_none() {
            let offset = choose(&mut timeline, *id);
            timeline.place(*id, offset);
            offsets[id.index()] = offset;
            if offset + problem.buffer(*id).size >= below || timeline.work() > work {
                return Packing { solution: None, work: timeline.work() };
            }
        }
    }
    let solution = Solution::new(offsets);
    let fits = solution.arena_bytes(problem) < below;
    Packing { solution: fits.then_some(solution), work: timeline.work() }
}
