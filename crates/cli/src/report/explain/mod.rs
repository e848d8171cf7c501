//! An explanation of an arena, told to people and to programs.

mod json;
mod text;
mod words;

use plimsoll::advise::{Advice, Fit, Settled, Variant};

use crate::input::Source;

/// A plan, and what is said of it.
pub(crate) struct ExplainReport<'a> {
    pub(crate) source: &'a Source,
    pub(crate) settled: &'a Settled,
    pub(crate) variants: &'a [Variant],
    pub(crate) advice: Vec<Advice>,
    /// The budget, and what it takes to fit it.
    pub(crate) fit: Option<(u64, Fit)>,
    /// Whether the time was over before everything was tried.
    pub(crate) stopped: bool,
}

/// So many peaks below the highest are told.
const RUNNERS_UP: usize = 3;
