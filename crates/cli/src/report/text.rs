//! The packing for people: a summary and a map.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use plimsoll_pack::{Reason, Status};

use super::{Report, gap};
use crate::input::Source;
use crate::output::one_line;
use crate::size;

impl Report<'_> {
    /// Writes the summary and the map.
    pub(crate) fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_title(out)?;
        self.write_summary(out)?;
        if let Some(solution) = &self.outcome.solution {
            self.drawing(solution).write_text(out)?;
        }
        match self.refusal() {
            Some(refusal) => {
                let style = bold(AnsiColor::Red);
                writeln!(out, "\n{style}{refusal}{style:#}")
            }
            None => Ok(()),
        }
    }

    fn write_title(&self, out: &mut dyn Write) -> io::Result<()> {
        let buffers = match self.table.problem.len() {
            1 => "1 buffer".to_owned(),
            n => format!("{n} buffers"),
        };
        match self.source {
            Source::Sample => writeln!(
                out,
                "the built-in sample, a little residual network: {buffers}\n\
                 (`plimsoll solve PROBLEM.csv` packs your own)\n"
            ),
            source => writeln!(out, "{}: {buffers}\n", one_line(&source.to_string())),
        }
    }

    fn write_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        let (problem, outcome) = (&self.table.problem, self.outcome);
        let bound = &outcome.lower_bound;
        let mut line = |label: &str, value: &str| writeln!(out, "{label:<12} {value}");
        if outcome.solution.is_some() {
            let style = Style::new().bold();
            line("arena", &format!("{style}{}{style:#}", size::long(outcome.arena_bytes)))?;
        } else {
            line("arena", "none")?;
        }
        line("lower bound", &format!("{}: {}", size::long(bound.bytes), bound.proof))?;
        if outcome.solution.is_some() {
            line("gap", &gap(outcome.arena_bytes, bound.bytes))?;
        }
        line("status", &self.status_in_words())?;
        if let Some(algorithm) = outcome.won_by {
            line("won by", &algorithm.to_string())?;
        }
        line("unshared", &size::long(problem.unshared_bytes()))?;
        if let Some(saved) = self.saved_bytes() {
            line("saved", &saving_in_words(saved, problem.unshared_bytes()))?;
        }
        if let Some(capacity) = problem.capacity() {
            line("capacity", &self.capacity_in_words(capacity))?;
        }
        Ok(())
    }

    fn status_in_words(&self) -> String {
        let (colour, more) = match &self.outcome.status {
            Status::Optimal => (AnsiColor::Green, "no arena can be smaller"),
            Status::Infeasible(Reason::Capacity { .. }) => {
                (AnsiColor::Red, "no packing can keep to the capacity")
            }
            Status::Infeasible(_) => (AnsiColor::Red, "no valid packing exists"),
            _ => (AnsiColor::Yellow, "valid, but a smaller arena may exist"),
        };
        let style = bold(colour);
        format!("{style}{}{style:#}: {more}", self.status())
    }

    fn capacity_in_words(&self, capacity: u64) -> String {
        let arena = self.outcome.arena_bytes;
        let verdict = match (&self.outcome.solution, capacity.checked_sub(arena)) {
            (None, _) => return size::long(capacity),
            (Some(_), Some(0)) => "fits exactly".to_owned(),
            (Some(_), Some(spare)) => format!("fits, {} to spare", size::long(spare)),
            (Some(_), None) => format!("{} too small", size::long(arena - capacity)),
        };
        format!("{}: {verdict}", size::long(capacity))
    }
}

/// What sharing saves of the bytes that it would take without.
pub(crate) fn saving_in_words(saved: i64, unshared_bytes: u64) -> String {
    match u64::try_from(saved) {
        Ok(0) => "none".to_owned(),
        Ok(saved) => {
            let percent = size::percent(saved, unshared_bytes);
            format!("{}, {percent} of that", size::long(saved))
        }
        Err(_) => format!("none; holes take {}", size::long(saved.unsigned_abs())),
    }
}

pub(crate) fn bold(colour: AnsiColor) -> Style {
    colour.on_default().bold()
}
