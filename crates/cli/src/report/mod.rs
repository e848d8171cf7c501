//! A packing, told to people and to programs.
//!
//! A [`Report`] is a problem with what came of it; every rendering is a file of its own and adds
//! nothing to it.

mod comparison;
mod diff;
mod drawing;
mod explain;
mod json;
mod map;
mod moment;
mod optimal;
mod plan;
#[allow(clippy::similar_names, reason = "ranges, and what is ranged over them")]
mod ranges;
mod svg;
mod text;

pub(crate) use comparison::{Comparison, Row};
pub(crate) use diff::DiffReport;
pub(crate) use drawing::{Clock, Drawing};
pub(crate) use explain::ExplainReport;
pub(crate) use json::SOLUTION_FORMAT;
pub(crate) use optimal::OptimalFor;
pub(crate) use plan::{Asked, PlanReport, write_title};
use plimsoll_pack::csv::Table;
use plimsoll_pack::exact::Misfit;
use plimsoll_pack::{Limit, Outcome, Solution, Status, Sweep};
use plimsoll_report::{Packing, write_packing_map};
pub(crate) use ranges::{ranges_in_words, ranges_json};
pub(crate) use svg::{Panel, write_svg};
pub(crate) use text::bold;

use crate::input::Source;
use crate::size;

/// A problem, where it came from, and what came of it.
pub(crate) struct Report<'a> {
    pub(crate) source: &'a Source,
    pub(crate) table: &'a Table,
    pub(crate) outcome: &'a Outcome,
    /// Buffers that do not fit the capacity together.
    misfit: Option<Misfit>,
    timing: Timing,
    sweep: Sweep,
}

/// What time had to do with it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Whether there was a limit.
    pub(crate) is_limited: bool,
    /// Whether that changed the result, perhaps.
    pub(crate) is_over: bool,
}

impl<'a> Report<'a> {
    pub(crate) fn new(
        source: &'a Source,
        table: &'a Table,
        outcome: &'a Outcome,
        misfit: Option<Misfit>,
        timing: Timing,
    ) -> Self {
        Report { source, table, outcome, misfit, timing, sweep: Sweep::new(&table.problem) }
    }

    /// What there is to see.
    pub(crate) fn drawing(&'a self, solution: &'a Solution) -> Drawing<'a> {
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
    pub(crate) fn page(&self, solution: &Solution) -> String {
        write_packing_map(&Packing {
            title: &self.source.title(),
            ids: &self.table.ids,
            problem: &self.table.problem,
            solution,
            arena_bytes: self.outcome.arena_bytes,
            lower_bound_bytes: self.outcome.lower_bound.bytes,
            optimal: matches!(self.outcome.status, Status::Optimal),
        })
    }

    /// What to write above the picture.
    pub(crate) fn caption(&self) -> String {
        let (arena, bound) = (self.outcome.arena_bytes, self.outcome.lower_bound.bytes);
        let (source, buffers) = (self.source, counted(self.table.problem.len(), "buffer"));
        format!("{source}: {buffers}, {}", levels(arena, bound))
    }

    /// Why the answer is no, in a line; `None` if it is yes.
    pub(crate) fn refusal(&self) -> Option<String> {
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

/// What kept an answer from being better, in words.
pub(crate) fn limit_in_words(limit: Limit) -> &'static str {
    match limit {
        Limit::Work => "the effort: a higher one may find or prove more",
        Limit::Stopped => "the time limit: another run may end elsewhere",
        // Rules, or constraints that search does not know.
        _ => "the rules: nothing else applies or was asked for",
    }
}

/// `1 buffer`, `2 buffers`.
pub(crate) fn counted(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// The distance of an arena from its lower bound, in words.
pub(crate) fn gap(arena_bytes: u64, lower_bound_bytes: u64) -> String {
    match arena_bytes.saturating_sub(lower_bound_bytes) {
        0 => "none".to_owned(),
        gap if lower_bound_bytes == 0 => size::long(gap),
        gap => format!("{}, {}", size::long(gap), size::percent(gap, lower_bound_bytes)),
    }
}

/// An arena and its lower bound, in a line.
pub(crate) fn levels(arena_bytes: u64, lower_bound_bytes: u64) -> String {
    let (arena, bound) = (size::long(arena_bytes), size::long(lower_bound_bytes));
    let gap = gap(arena_bytes, lower_bound_bytes);
    format!("arena {arena}, lower bound {bound}, gap {gap}")
}

/// Somebody else's text in a line for people: as it is if it is plain, else quoted and escaped;
/// not too long.
pub(crate) fn plain(id: &str) -> String {
    const MOST: usize = 60;
    let (shown, more) = match id.char_indices().nth(MOST) {
        Some((end, _)) => (&id[..end], "…"),
        None => (id, ""),
    };
    let quoted = format!("{shown:?}");
    let is_plain = !id.is_empty() && quoted[1..quoted.len() - 1] == *shown;
    if is_plain { format!("{shown}{more}") } else { format!("{quoted}{more}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_that_could_do_harm_is_quoted() {
        assert_eq!(plain("block1.conv/é"), "block1.conv/é");
        assert_eq!(plain(""), "\"\"");
        assert_eq!(plain("a\u{1b}[2J"), "\"a\\u{1b}[2J\"");
        assert_eq!(plain(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
        assert_eq!(plain("say \"hi\""), "\"say \\\"hi\\\"\"");
    }

    #[test]
    fn a_gap_is_in_bytes_and_percent_of_the_bound() {
        assert_eq!(gap(96, 96), "none");
        assert_eq!(gap(64, 0), "64 bytes");
        assert_eq!(gap(128, 96), "32 bytes, 33.3 %");
        assert_eq!(gap(6144, 4096), "2048 bytes (2 KiB), 50.0 %");
    }
}
