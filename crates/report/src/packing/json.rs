//! The packing as one JSON object: `plimsoll.solution/1`.
//!
//! No times and no names of machines: the same problem gives the same bytes, unless a limit in time
//! has stopped it, which `reproducible` says then. `arena_bytes` and
//! `saved_bytes` are null, not 0, where there is no solution.

use std::io::{self, Write};

use plimsoll_pack::Limit;
use plimsoll_pack::exact::Misfit;
use serde::Serialize;

use super::PackingReport;
use crate::words;

/// What `format` says, here and where a solution is read.
pub const SOLUTION_FORMAT: &str = "plimsoll.solution/1";

#[derive(Serialize)]
struct Solution<'a> {
    format: &'static str,
    arena_bytes: Option<u64>,
    lower_bound_bytes: u64,
    lower_bound_proof: String,
    status: &'static str,
    limit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reproducible: Option<bool>,
    unshared_bytes: u64,
    saved_bytes: Option<i64>,
    capacity_bytes: Option<u64>,
    fits: bool,
    won_by: Option<String>,
    work: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    misfit: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    misfit_irreducible: Option<bool>,
    buffers: usize,
    offsets: Vec<Place<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    id: &'a str,
    offset: u64,
}

impl PackingReport<'_> {
    /// Writes the packing as JSON; offsets are in the order of the problem.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        words::write_json(out, &self.solution())
    }

    fn solution(&self) -> Solution<'_> {
        let (problem, outcome) = (&self.table.problem, self.outcome);
        let solution = outcome.solution.as_ref();
        let offsets = solution.map_or(&[][..], |s| s.offsets());
        let places = self.table.ids.iter().zip(offsets);
        let ids = |misfit: &Misfit| misfit.buffers.iter().map(|id| self.table.name(*id)).collect();
        Solution {
            format: SOLUTION_FORMAT,
            arena_bytes: solution.map(|_| outcome.arena_bytes),
            lower_bound_bytes: outcome.lower_bound.bytes,
            lower_bound_proof: outcome.lower_bound.proof.to_string(),
            status: self.status(),
            limit: outcome.limit.map(Limit::name),
            reproducible: self.timing.is_over.then_some(false),
            unshared_bytes: problem.unshared_bytes(),
            saved_bytes: self.saved_bytes(),
            capacity_bytes: problem.capacity(),
            fits: outcome.fits(problem),
            won_by: outcome.won_by.map(|a| a.to_string()),
            work: outcome.work,
            reason: self.reason(),
            misfit: self.misfit.as_ref().map(ids),
            misfit_irreducible: self.misfit.as_ref().map(|misfit| misfit.irreducible),
            buffers: problem.len(),
            offsets: places.map(|(id, offset)| Place { id, offset: *offset }).collect(),
        }
    }
}
