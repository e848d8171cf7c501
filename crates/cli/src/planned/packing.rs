//! Packings of bare buffers.

use std::ffi::OsString;
use std::path::Path;

use plimsoll_pack::csv::Table;
use plimsoll_pack::{Options, Outcome, Problem, Solution, solve_watched};
use plimsoll_report::{Origin, PackingReport, Timing};

use super::{NoAnswer, Watcher, parse};
use crate::output::OutputArgs;
use crate::packing::PackingArgs;
use crate::solve;

/// A problem with a packing that keeps to its capacity. Buffers go by their numbers.
pub struct PackedProblem {
    problem: Problem,
    outcome: Outcome,
    solution: Solution,
}

impl PackedProblem {
    /// Packs a problem as `plimsoll solve` does with these arguments.
    pub fn new(
        problem: Problem,
        arguments: &[OsString],
        watcher: Watcher,
    ) -> Result<Self, NoAnswer> {
        let args: PackingArgs = parse("solve", arguments)?;
        let options = args.resolve(Options::default())?;
        let options = options.ok_or_else(|| NoAnswer::Bad("a list is no packing".to_owned()))?;
        let mut clock = args.start_watched(watcher);
        let outcome = solve_watched(&problem, &options, &mut |progress| clock.look(progress));
        match outcome.solution.clone() {
            Some(solution) if outcome.fits(&problem) => {
                Ok(PackedProblem { problem, outcome, solution })
            }
            _ => {
                let refusal = |report: &PackingReport<'_>| {
                    report.refusal().unwrap_or_else(|| "no packing was found".to_owned())
                };
                Err(NoAnswer::No(report(problem, &outcome, refusal)))
            }
        }
    }

    /// The problem.
    #[must_use]
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// What came of packing it.
    #[must_use]
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// An offset for every buffer.
    #[must_use]
    pub fn solution(&self) -> &Solution {
        &self.solution
    }

    /// Writes the packing to a file, whole or not at all, in the form that its extension says.
    pub fn save(&self, path: &Path) -> Result<(), NoAnswer> {
        let outputs = OutputArgs::to_file(path).resolve(&[])?;
        Ok(report(self.problem.clone(), &self.outcome, |report| {
            outputs.write(|format, out| solve::render(out, format, report))
        })?)
    }
}

fn report<T>(problem: Problem, outcome: &Outcome, tell: impl FnOnce(&PackingReport<'_>) -> T) -> T {
    let ids = (0..problem.len()).map(|id| id.to_string()).collect();
    let origin =
        Origin { title: "packing".to_owned(), name: "packing".to_owned(), is_sample: false };
    let timing = Timing { is_limited: false, is_over: false };
    tell(&PackingReport::new(&origin, &Table { ids, problem }, outcome, None, timing))
}
