//! An explanation of an arena, told to people and to programs.

mod json;
mod text;
mod words;

use plimsoll::Program;
use plimsoll_graph::PlannedGraph;
use plimsoll_graph::advise::{Advice, Fit, Variant};

use crate::optimal::OptimalFor;
use crate::origin::Origin;
use crate::regions::Regions;

/// A plan, and what is said of it.
pub struct ExplainReport<'a> {
    /// Where the model came from.
    pub source: &'a Origin,
    /// The plan, and how it was made.
    pub settled: &'a PlannedGraph,
    /// What a rewritten model says of its steps.
    pub regions: Option<&'a Regions>,
    /// The model at other dims.
    pub variants: &'a [Variant],
    /// What would lower the arena.
    pub advice: Vec<Advice>,
    /// The budget, and what it takes to fit it.
    pub fit: Option<(u64, Fit)>,
    /// Whether the time limit ended the search before everything was tried.
    pub stopped: bool,
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
