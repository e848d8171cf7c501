//! The packing for people: a summary and a map.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use plimsoll_pack::exact::Misfit;
use plimsoll_pack::{Limit, Reason, Status};

use super::PackingReport;
use crate::size;
use crate::words::{bold, counted, gap, limit_in_words, one_line, plain};

/// So many buffers are shown that do not fit together.
const MOST_MISFITS: usize = 20;

impl PackingReport<'_> {
    /// Writes the summary and the map.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        self.write_title(out)?;
        self.write_summary(out)?;
        if let Some(solution) = &self.outcome.solution {
            self.drawing(solution).write_text(out)?;
        }
        let Some(refusal) = self.refusal() else { return Ok(()) };
        let style = bold(AnsiColor::Red);
        writeln!(out, "\n{style}{refusal}{style:#}")?;
        self.misfit.as_ref().map_or(Ok(()), |misfit| self.write_misfit(out, misfit))
    }

    fn write_title(&self, out: &mut dyn Write) -> io::Result<()> {
        let buffers = counted(self.table.problem.len(), "buffer");
        if self.source.is_sample {
            return writeln!(
                out,
                "the built-in sample, a little residual network: {buffers}\n\
                 (`plimsoll solve PROBLEM.csv` packs your own)\n"
            );
        }
        writeln!(out, "{}: {buffers}\n", one_line(&self.source.name))
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
        if let Some(limit) = outcome.limit {
            line("stopped by", limit_in_words(limit))?;
        }
        if self.timing.is_limited && outcome.limit != Some(Limit::Stopped) {
            line("time limit", if self.timing.is_over { "reached" } else { "not reached" })?;
        }
        if let Some(algorithm) = outcome.won_by {
            line("packed by", &algorithm.to_string())?;
        }
        line("unshared", &size::long(problem.unshared_bytes()))?;
        if let Some(saved) = self.saved_bytes() {
            line("saved", &saving_in_words(saved, problem.unshared_bytes()))?;
        }
        if let Some(capacity) = problem.capacity() {
            line("budget", &self.capacity_in_words(capacity))?;
        }
        Ok(())
    }

    fn status_in_words(&self) -> String {
        let (colour, more) = match &self.outcome.status {
            Status::Optimal => (AnsiColor::Green, "no arena can be smaller"),
            Status::Infeasible(Reason::Capacity { .. }) => {
                (AnsiColor::Red, "no packing can keep to the budget")
            }
            Status::Infeasible(_) => (AnsiColor::Red, "no valid packing exists"),
            _ if !self.outcome.fits(&self.table.problem) => {
                let style = bold(AnsiColor::Yellow);
                return format!(
                    "{style}not found{style:#}: no packing keeps to the budget, but one may exist"
                );
            }
            _ => (AnsiColor::Yellow, "valid, but a smaller arena may exist"),
        };
        let style = bold(colour);
        format!("{style}{}{style:#}: {more}", self.status())
    }

    /// Writes the buffers that do not fit together: size, life and id.
    fn write_misfit(&self, out: &mut dyn Write, misfit: &Misfit) -> io::Result<()> {
        let how = match (misfit.buffers.len(), misfit.irreducible) {
            (1, _) => "this one is too large alone",
            (_, true) => "these do not fit together, and without any one of them the others do",
            (_, false) => "these do not fit together, though not all of them may be needed",
        };
        writeln!(out, "{how}:")?;
        // The last line may have to say how many more there are.
        let shown = match misfit.buffers.len() {
            n if n > MOST_MISFITS => MOST_MISFITS - 1,
            n => n,
        };
        let (shown, rest) = misfit.buffers.split_at(shown);
        let rows = shown.iter().map(|id| {
            let buffer = self.table.problem.buffer(*id);
            (buffer.size.to_string(), buffer.life.to_string(), plain(self.table.name(*id)))
        });
        let rows: Vec<_> = rows.collect();
        let size_width = rows.iter().map(|row| row.0.len()).max().unwrap_or(0);
        let life_width = rows.iter().map(|row| row.1.len()).max().unwrap_or(0);
        for (size, life, name) in rows {
            writeln!(out, "  {size:>size_width$}  {life:<life_width$}  {name}")?;
        }
        if !rest.is_empty() {
            let bytes: u64 = rest.iter().map(|id| self.table.problem.buffer(*id).size).sum();
            writeln!(out, "  and {bytes} bytes in {} more", rest.len())?;
        }
        Ok(())
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
fn saving_in_words(saved: i64, unshared_bytes: u64) -> String {
    match u64::try_from(saved) {
        Ok(0) => "none".to_owned(),
        Ok(saved) => {
            let percent = size::percent(saved, unshared_bytes);
            format!("{}, {percent} of that", size::long(saved))
        }
        Err(_) => format!("none; holes take {}", size::long(saved.unsigned_abs())),
    }
}
