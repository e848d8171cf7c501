//! From a problem to the best answer that we have: the portfolio.
//!
//! Rules are tried in a fixed order until one meets the lower bound. The best answer wins, the
//! earlier rule on a tie; threads only change how long it takes. If none meets the bound,
//! [`improve`] takes over from the best, for as much work as the [`Effort`] allows.

use std::fmt;

use crate::algorithm::{Algorithm, Limits, Packing, two_ends};
use crate::bound::{Bound, Proof, bound};
use crate::check::{Claim, Violation, check_at_most};
use crate::improve::{Effort, Way, Ways, improve_watched};
use crate::outward;
use crate::problem::{BufferId, Problem};
use crate::solution::Solution;
use crate::sweep::Sweep;
use crate::watch::{Watch, Watched, nobody};

/// What to try, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The rules to try, in this order; [`Algorithm::portfolio`] if it is empty.
    pub algorithms: Vec<Algorithm>,
    /// How many rules run at once. The answer does not depend on it.
    pub threads: usize,
    /// What to do when the rules leave a gap to the bound. Rules that were asked for by name stay
    /// alone, whatever the effort, unless reordering, repair or search is among them.
    pub effort: Effort,
    /// The work to put into that, if it is not to be the effort's own.
    pub work: Option<u64>,
    /// Only an arena below this is of any use: where the bound is not, one rule is enough.
    pub below: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            algorithms: Vec::new(),
            threads: 1,
            effort: Effort::default(),
            work: None,
            below: None,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// The best packing that was found. Where the capacity is too small it is the one that comes
    /// closest; there is none only where fixed buffers are in each other's way.
    pub solution: Option<Solution>,
    /// The size of the arena of that solution, 0 without one.
    pub arena_bytes: u64,
    /// Below this no arena can be.
    pub lower_bound: Bound,
    /// How good the solution is known to be.
    pub status: Status,
    /// Whose solution it is.
    pub won_by: Option<Algorithm>,
    /// Spans looked at by all the rules that ran, up to the one that met the bound, and list
    /// entries looked at by the search.
    pub work: u64,
    /// What kept us from knowing more; `None` where all is known and nobody said stop.
    pub limit: Option<Limit>,
}

/// Why an answer is not known to be the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// The work of the effort was used up: a higher one may find or prove more.
    Work,
    /// There is nothing else to try: rules only, or constraints that the search does not know.
    Rules,
    /// Whoever watched has said stop. Another run may end elsewhere.
    Stopped,
}

impl Limit {
    /// Its name in reports; being stopped goes by the usual cause.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Limit::Work => "work",
            Limit::Rules => "rules",
            Limit::Stopped => "time",
        }
    }
}

impl Outcome {
    /// Whether there is a solution and it keeps to the capacity.
    #[must_use]
    pub fn fits(&self, problem: &Problem) -> bool {
        self.solution.is_some() && problem.capacity().is_none_or(|c| self.arena_bytes <= c)
    }
}

/// How good an answer is known to be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Status {
    /// No arena can be smaller: it equals the lower bound, or the search has tried all.
    Optimal,
    /// Valid; nobody knows whether a smaller one exists.
    Feasible,
    /// No valid packing exists.
    Infeasible(Reason),
}

/// Why no valid packing exists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The lower bound is above the capacity.
    Capacity {
        /// The bound, with its proof.
        bound: Bound,
        /// The capacity.
        capacity: u64,
    },
    /// Two buffers that are alive together are fixed on the same bytes.
    FixedOverlap {
        /// One.
        a: BufferId,
        /// The other.
        b: BufferId,
    },
}

impl Reason {
    /// The reason in words, with the buffers called as `name` says.
    pub fn describe<'a>(
        &'a self,
        name: impl Fn(BufferId) -> String + 'a,
    ) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| match self {
            Reason::Capacity { bound, capacity } => write!(
                f,
                "at least {} bytes are needed ({}), and only {capacity} are allowed",
                bound.bytes, bound.proof
            ),
            Reason::FixedOverlap { a, b } => {
                write!(
                    f,
                    "{} and {} are alive together and fixed on the same bytes",
                    name(*a),
                    name(*b)
                )
            }
        })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(|id| id.to_string()).fmt(f)
    }
}

/// Packs the problem with every rule of the options, until one meets the lower bound.
///
/// ```
/// use plimsoll_pack::{Buffer, Life, Options, Problem, Status, solve};
///
/// let problem = Problem::new(vec![
///     Buffer::new(64, Life::new(0, 2)),
///     Buffer::new(32, Life::new(1, 3)),
///     Buffer::new(64, Life::new(2, 4)), // takes the bytes of the first
/// ])?;
/// let outcome = solve(&problem, &Options::default());
/// assert_eq!(outcome.arena_bytes, 96);
/// assert_eq!(outcome.status, Status::Optimal);
/// # Ok::<(), plimsoll_pack::ProblemError>(())
/// ```
#[must_use]
pub fn solve(problem: &Problem, options: &Options) -> Outcome {
    solve_watched(problem, options, &mut nobody)
}

/// The same, while somebody watches, who may stop it: then the best so far is the answer. If they
/// never do, the answer is that of [`solve`].
///
/// ```
/// use std::ops::ControlFlow;
/// use plimsoll_pack::{Buffer, Life, Options, Problem, solve_watched};
///
/// let problem = Problem::new(vec![Buffer::new(64, Life::new(0, 2))])?;
/// let mut told = Vec::new();
/// solve_watched(&problem, &Options::default(), &mut |progress| {
///     told.push((progress.arena_bytes, progress.lower_bound_bytes));
///     ControlFlow::Continue(())
/// });
/// assert_eq!(told, [(64, 64)]);
/// # Ok::<(), plimsoll_pack::ProblemError>(())
/// ```
#[must_use]
pub fn solve_watched(problem: &Problem, options: &Options, watch: &mut Watch<'_>) -> Outcome {
    let sweep = Sweep::new(problem);
    let lower_bound = bound(problem, &sweep);
    if let Some((a, b)) = fixed_overlap(problem) {
        return Outcome {
            solution: None,
            arena_bytes: 0,
            lower_bound,
            status: Status::Infeasible(Reason::FixedOverlap { a, b }),
            won_by: None,
            work: 0,
            limit: None,
        };
    }
    let mut watched = Watched::new(watch, lower_bound.bytes);
    let is_useless = options.below.is_some_and(|below| lower_bound.bytes >= below);
    let mut algorithms = worth_trying(problem, &options.algorithms);
    algorithms.truncate(if is_useless { 1 } else { algorithms.len() });
    let search_work = options.work.unwrap_or(options.effort.work());
    // Search goes on from the best, of use or not.
    let below = options.below.filter(|_| search_work == 0).unwrap_or(u64::MAX);
    let asked = &options.algorithms;
    let at_ends = asked.is_empty() && !is_useless || asked.contains(&Algorithm::TwoEnds);
    let most_work = most_work(problem, asked);
    let threads = options.threads;
    let rules = Rules { problem, sweep: &sweep, threads, below, at_ends, most_work };
    let (best, mut work) = rules.best(&algorithms, lower_bound.bytes, &mut watched);
    let mut lower_bound = lower_bound;
    let (mut solution, mut won_by) = (best.solution, best.won_by);
    let mut limit = Limit::Rules;
    let ways = Ways::asked(&options.algorithms);
    let go_on = ways.any() && !is_useless && !watched.is_stopped();
    if best.arena_bytes > lower_bound.bytes && go_on {
        let goal = lower_bound.bytes;
        let better =
            improve_watched(problem, &sweep, solution, goal, search_work, ways, &mut watched);
        work = work.saturating_add(better.work);
        if better.lower_bound > lower_bound.bytes {
            lower_bound = Bound { bytes: better.lower_bound, proof: Proof::Exhausted };
        }
        if better.more_to_try {
            limit = Limit::Work;
        }
        solution = better.solution;
        won_by = match better.way {
            Way::Given => won_by,
            Way::Outward => Algorithm::Outward,
            Way::Reordering => Algorithm::Reordering,
            Way::Repair => Algorithm::Repair,
            Way::Search => Algorithm::Search,
        };
    }
    let arena_bytes = solution.arena_bytes(problem);
    let status = match problem.capacity() {
        Some(capacity) if lower_bound.bytes > capacity => {
            Status::Infeasible(Reason::Capacity { bound: lower_bound.clone(), capacity })
        }
        _ if arena_bytes == lower_bound.bytes => Status::Optimal,
        _ => Status::Feasible,
    };
    let limit = match status {
        _ if watched.is_stopped() && arena_bytes > lower_bound.bytes => Some(Limit::Stopped),
        Status::Feasible => Some(limit),
        _ => None,
    };
    let solution = Some(solution);
    Outcome { solution, arena_bytes, lower_bound, status, won_by: Some(won_by), work, limit }
}

/// From so many buffers on, the allocator comes before all rules, and these look at so many spans a buffer together: they
/// take long, and are seldom better.
const LARGE: usize = 20_000;
const SPANS_EACH: u64 = 20;

/// What all rules together may look at.
fn most_work(problem: &Problem, asked: &[Algorithm]) -> u64 {
    let is_large = asked.is_empty() && problem.len() > LARGE;
    if is_large { SPANS_EACH * problem.len() as u64 } else { u64::MAX }
}

/// The rules that were asked for, or the portfolio; without hints, placing by hints is only another first fit.
fn worth_trying(problem: &Problem, asked: &[Algorithm]) -> Vec<Algorithm> {
    if !asked.is_empty() {
        return asked.to_vec();
    }
    let hints = problem.buffers().iter().any(|b| b.hint.is_some());
    let portfolio = Algorithm::portfolio().into_iter();
    let rules = portfolio.filter(|a| hints || *a != Algorithm::Hinted);
    let is_large = problem.len() > LARGE && !hints && outward::applies(problem);
    is_large.then_some(Algorithm::Outward).into_iter().chain(rules).collect()
}

/// The first two buffers that are fixed over each other.
fn fixed_overlap(problem: &Problem) -> Option<(BufferId, BufferId)> {
    let offsets: Vec<_> = problem.buffers().iter().map(|b| b.fixed).collect();
    if offsets.iter().all(Option::is_none) {
        return None;
    }
    let claim = Claim { offsets, unknown: Vec::new() };
    check_at_most(problem, &claim, problem.len()).into_iter().find_map(
        |violation| match violation {
            Violation::Overlap { a, b, .. } | Violation::Conflict { a, b, .. } => Some((a, b)),
            _ => None,
        },
    )
}

struct Best {
    solution: Solution,
    arena_bytes: u64,
    won_by: Algorithm,
}

/// After the first rule, so many run with the same idea of what is of use.
const ROUND: usize = 4;

/// How rules are run.
struct Rules<'a> {
    problem: &'a Problem,
    sweep: &'a Sweep,
    threads: usize,
    /// Only an arena below this is of any use.
    below: u64,
    /// Whether to try both ends behind the first.
    at_ends: bool,
    /// After so much work no other rule begins, and none but the first goes on.
    most_work: u64,
}

impl Rules<'_> {
    /// Runs the algorithms, some at a time, until one meets the goal: the best of them, and the work of
    /// all. What ran beyond the one that met the goal is forgotten, and a rule knows what those of the
    /// rounds before it have reached, which it has to be below; so the result, and the work, is that of
    /// running them one by one.
    fn best(&self, algorithms: &[Algorithm], goal: u64, watched: &mut Watched<'_>) -> (Best, u64) {
        let (first, rest) = algorithms.split_first().expect("there is at least one rule");
        let Packing { solution, mut work } = first.pack(self.problem, self.sweep, Limits::none());
        let solution = solution.expect("there is no limit");
        let arena_bytes = solution.arena_bytes(self.problem);
        let mut best = Best { solution, arena_bytes, won_by: *first };
        if arena_bytes > goal && self.at_ends {
            let solution = two_ends::pack(self.problem, self.sweep, goal);
            best.improve(self.problem, Algorithm::TwoEnds, solution);
        }
        watched.found(best.arena_bytes, work);
        'rounds: for round in rest.chunks(ROUND) {
            let below = self.below.min(best.arena_bytes);
            let limits = Limits { below, work: self.most_work.saturating_sub(work) };
            if limits.work == 0 {
                break;
            }
            for wave in round.chunks(self.threads.max(1)) {
                if best.arena_bytes == goal || watched.is_stopped() {
                    break 'rounds;
                }
                for (algorithm, packing) in wave.iter().zip(self.wave(wave, limits)) {
                    work += packing.work;
                    best.improve(self.problem, *algorithm, packing.solution);
                    watched.found(best.arena_bytes, work);
                    if best.arena_bytes == goal || watched.is_stopped() {
                        break 'rounds;
                    }
                }
            }
        }
        watched.finished(work);
        (best, work)
    }

    fn wave(&self, wave: &[Algorithm], limits: Limits) -> Vec<Packing> {
        let Rules { problem, sweep, .. } = *self;
        if let [algorithm] = wave {
            return vec![algorithm.pack(problem, sweep, limits)];
        }
        std::thread::scope(|scope| {
            let run = |a: &Algorithm| {
                let algorithm = *a;
                scope.spawn(move || algorithm.pack(problem, sweep, limits))
            };
            let running: Vec<_> = wave.iter().map(run).collect();
            running.into_iter().map(|r| r.join().expect("a rule panicked")).collect()
        })
    }
}

impl Best {
    /// Takes another packing if that is smaller.
    fn improve(&mut self, problem: &Problem, won_by: Algorithm, solution: Option<Solution>) {
        let Some(solution) = solution else { return };
        let arena_bytes = solution.arena_bytes(problem);
        if arena_bytes < self.arena_bytes {
            *self = Best { solution, arena_bytes, won_by };
        }
    }
}
