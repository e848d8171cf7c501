//! A packing for people and for programs.
//!
//! A [`PackingReport`] is a problem with what came of it; every rendering is a file of its own and adds
//! nothing to it.

mod json;
mod text;

pub use json::SOLUTION_FORMAT;
use plimsoll_pack::csv::Table;
use plimsoll_pack::exact::Misfit;
use plimsoll_pack::{Outcome, Solution, Status, Sweep};

use crate::map::{Packing, write_packing_map};
use crate::origin::Origin;
use crate::picture::{Clock, Drawing};
use crate::words::{counted, levels};

/// A problem, where it came from, and what came of it.
pub struct PackingReport<'a> {
    /// Where the problem came from.
    pub source: &'a Origin,
    /// The problem, with names.
    pub table: &'a Table,
    /// What came of it.
    pub outcome: &'a Outcome,
    /// Buffers that do not fit the capacity together.
    misfit: Option<Misfit>,
    timing: Timing,
    sweep: Sweep,
}

/// What time had to do with it.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Whether there was a limit.
    pub is_limited: bool,
    /// Whether that changed the result, perhaps.
    pub is_over: bool,
}

impl<'a> PackingReport<'a> {
    /// A report of that.
    #[must_use]
    pub fn new(
        source: &'a Origin,
        table: &'a Table,
        outcome: &'a Outcome,
        misfit: Option<Misfit>,
        timing: Timing,
    ) -> Self {
        PackingReport { source, table, outcome, misfit, timing, sweep: Sweep::new(&table.problem) }
    }

    /// What there is to see.
    #[must_use]
    pub fn drawing(&'a self, solution: &'a Solution) -> Drawing<'a> {
        Drawing {
            table: self.table,
            solution,
            sweep: &self.sweep,
            arena_bytes: self.outcome.arena_bytes,
            bound_bytes: self.outcome.lower_bound.bytes,
            capacity: self.table.problem.capacity(),
            clock: Clock::Moments,
        }
    }

    /// The packing as a page to walk through.
    #[must_use]
    pub fn page(&self, solution: &Solution) -> String {
        write_packing_map(&Packing {
            title: &self.source.title,
            ids: &self.table.ids,
            problem: &self.table.problem,
            solution,
            arena_bytes: self.outcome.arena_bytes,
            lower_bound_bytes: self.outcome.lower_bound.bytes,
            optimal: matches!(self.outcome.status, Status::Optimal),
        })
    }

    /// What to write above the picture.
    #[must_use]
    pub fn caption(&self) -> String {
        let (arena, bound) = (self.outcome.arena_bytes, self.outcome.lower_bound.bytes);
        let (source, buffers) = (self.source, counted(self.table.problem.len(), "buffer"));
        format!("{source}: {buffers}, {}", levels(arena, bound))
    }

    /// Why the answer is no, in a line; `None` if it is yes.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        if let Some(reason) = self.reason() {
            return Some(format!("infeasible: {reason}"));
        }
        let outcome = self.outcome;
        let capacity = self.table.problem.capacity().filter(|c| outcome.arena_bytes > *c)?;
        Some(format!(
            "not found: the best arena found has {} bytes, the budget is {capacity}; \
             at least {} are needed, so a better packing may exist",
            outcome.arena_bytes, outcome.lower_bound.bytes
        ))
    }

    /// Why no valid packing exists, if that is so.
    fn reason(&self) -> Option<String> {
        let Status::Infeasible(reason) = &self.outcome.status else { return None };
        let name = |id| format!("{:?}", self.table.name(id));
        Some(reason.describe(name).to_string())
    }

    /// What sharing saves over a place of its own for every buffer. Less than nothing where
    /// alignment or fixed offsets leave holes; `None` without a solution.
    fn saved_bytes(&self) -> Option<i64> {
        let arena = i64::try_from(self.outcome.arena_bytes).ok()?;
        let unshared = i64::try_from(self.table.problem.unshared_bytes()).ok()?;
        self.outcome.solution.as_ref().map(|_| unshared - arena)
    }

    /// One word for how good the answer is known to be.
    fn status(&self) -> &'static str {
        match self.outcome.status {
            Status::Optimal => "optimal",
            Status::Infeasible(_) => "infeasible",
            // Valid, and nothing more is claimed.
            _ => "feasible",
        }
    }
}
