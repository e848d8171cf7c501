//! An explanation of an arena, told to people and to programs.

mod json;
mod text;
mod words;

use plimsoll::Program;
use plimsoll_graph::PlannedGraph;
use plimsoll_graph::advise::{Advice, Fit, Variant};

use super::OptimalFor;
use crate::input::Source;

/// A plan, and what is said of it.
pub(crate) struct ExplainReport<'a> {
    pub(crate) source: &'a Source,
    pub(crate) settled: &'a PlannedGraph,
    pub(crate) variants: &'a [Variant],
    pub(crate) advice: Vec<Advice>,
    /// The budget, and what it takes to fit it.
    pub(crate) fit: Option<(u64, Fit)>,
    /// Whether the time was over before everything was tried.
    pub(crate) stopped: bool,
}

impl ExplainReport<'_> {
    /// For what the arena is known to be the smallest, if it is.
    fn optimal_for(&self) -> Option<OptimalFor> {
        let PlannedGraph { best, plan, .. } = self.settled;
        OptimalFor::of(plan, self.settled.program().execution(), best.ordering.as_ref())
    }
}

/// So many peaks below the highest are told.
const RUNNERS_UP: usize = 3;
