//! The plan for people: totals, the whole picture, the peak, a map of each bank.

use std::cmp::Reverse;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use plimsoll::explain::{What, account, alive, peaks};
use plimsoll::{Execution, Ordering, Program, ValueId};
use plimsoll_graph::{Best, Graph, NodeId, Op};
use plimsoll_pack::Limit;

use super::{Boundaries, PlanReport, Split};
use crate::input::Source;
use crate::output::one_line;
use crate::report::moment::Story;
use crate::report::{bold, gap, limit_in_words, plain, ranges_in_words, saving_in_words};
use crate::size;

/// So many values are shown at the peak.
const MOST_ALIVE: usize = 8;

impl PlanReport<'_> {
    /// Writes all of it.
    pub(crate) fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        write_title(out, self.source, self.program, "plan")?;
        self.write_totals(out)?;
        self.write_boundaries(out)?;
        self.write_banks(out)?;
        self.write_peak(out)?;
        for picture in &self.pictures {
            if self.pictures.len() > 1 && picture.bytes > 0 {
                writeln!(out, "\n{}", plain(&picture.name))?;
            }
            picture.drawing().write_text(out)?;
        }
        match self.refusal() {
            Some(refusal) => {
                let style = bold(AnsiColor::Red);
                writeln!(out, "\n{style}{refusal}{style:#}")
            }
            None => Ok(()),
        }
    }

    fn write_totals(&self, out: &mut dyn Write) -> io::Result<()> {
        let totals = &self.totals;
        let style = Style::new().bold();
        let arena = format!("{style}{}{style:#}", size::long(totals.arena_bytes));
        line(out, "arena", &arena)?;
        let bound = size::long(totals.lower_bound_bytes);
        line(out, "lower bound", &format!("{bound}, with this order and this sharing"))?;
        line(out, "gap", &gap(totals.arena_bytes, totals.lower_bound_bytes))?;
        let (colour, status, what) = match self.optimal_for() {
            Some(what) => (AnsiColor::Green, "optimal", format!(" {}", what.in_words())),
            None => {
                (AnsiColor::Yellow, "feasible", ": valid, but a smaller arena may exist".to_owned())
            }
        };
        let style = bold(colour);
        line(out, "status", &format!("{style}{status}{style:#}{what}"))?;
        let limit = self.plan.derivation.limit;
        if let Some(limit) = limit {
            line(out, "stopped by", limit_in_words(limit))?;
        }
        if self.asked.is_timed && limit != Some(Limit::Stopped) {
            line(out, "time limit", "not reached")?;
        }
        if !self.plan.derivation.won_by.is_empty() {
            line(out, "won by", &self.plan.derivation.won_by)?;
        }
        let left = match totals.buffers_bytes {
            bytes if bytes == totals.unshared_bytes => String::new(),
            bytes => format!("; {} after views and in place", size::short(bytes)),
        };
        let unshared = size::long(totals.unshared_bytes);
        line(out, "unshared", &format!("{unshared}, every tensor apart{left}"))?;
        line(out, "saved", &saving_in_words(totals.saved_bytes(), totals.unshared_bytes))?;
        let members = self.plan.derivation.members.iter().flatten();
        let in_place = members.filter(|member| member.took_over.is_some()).count();
        let values = (0..self.program.values()).map(ValueId::new);
        let views =
            values.clone().filter(|value| self.program.value(*value).view_of.is_some()).count();
        line(
            out,
            "in place",
            &count(in_place, "value takes", "values take", "over the bytes of others"),
        )?;
        line(out, "views", &count(views, "value is a part", "values are parts", "of others"))?;
        let limits = values.filter(|value| self.program.is_limit(*value)).count();
        if limits > 0 {
            let what =
                count(limits, "size depends", "sizes depend", "on data; planned is the limit");
            line(out, "limits", &what)?;
        }
        let Best { vanished, moved_bytes, moved_before, .. } = self.asked.best;
        if !vanished.is_empty() {
            let what = vanished_in_words(self.program.graph(), vanished);
            let moved =
                format!("{} instead of {}", size::short(*moved_bytes), size::short(*moved_before));
            line(out, "joined", &format!("{what}: copies move {moved} in a run"))?;
        }
        if let Some(ordering) = &self.asked.best.ordering {
            line(out, "order", &order_in_words(ordering, totals.arena_bytes))?;
        }
        for (heading, words) in self.asked.proof.map(ranges_in_words).into_iter().flatten() {
            line(out, heading, &words)?;
        }
        for (at, used) in self.asked.corners {
            line(out, "in use", &format!("{} at {}", size::long(*used), one_line(at)))?;
        }
        let Some(budget) = self.asked.budget else { return Ok(()) };
        let verdict = match budget.checked_sub(totals.arena_bytes) {
            Some(0) => "fits exactly".to_owned(),
            Some(spare) => format!("fits, {} to spare", size::long(spare)),
            None => format!("{} too small", size::long(totals.arena_bytes - budget)),
        };
        line(out, "budget", &format!("{}: {verdict}", size::long(budget)))
    }

    fn write_boundaries(&self, out: &mut dyn Write) -> io::Result<()> {
        let sums = Boundaries::new(self.program, self.plan);
        writeln!(out)?;
        line(out, "weights", &where_bytes_are(sums.weights))?;
        if sums.statics != Split::default() {
            line(out, "static", &where_bytes_are(sums.statics))?;
        }
        line(out, "inputs", &where_bytes_are(sums.inputs))?;
        line(out, "outputs", &where_bytes_are(sums.outputs))?;
        let total = self.totals.arena_bytes.saturating_add(sums.outside());
        line(out, "total", &format!("{}, arena and outside together", size::long(total)))
    }

    fn write_banks(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.pictures.len() < 2 {
            return Ok(());
        }
        writeln!(out)?;
        for picture in &self.pictures {
            let of = picture.capacity.map_or(String::new(), |c| format!(" of {}", size::short(c)));
            let buffers = count(picture.buffers, "buffer", "buffers", "");
            let bytes = size::long(picture.bytes);
            writeln!(out, "bank {}: {bytes}{of}, {}", plain(&picture.name), buffers.trim_end())?;
        }
        Ok(())
    }

    fn write_peak(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(peak) = peaks(self.plan, 1).first().copied() else { return Ok(()) };
        let story = Story { program: self.program, plan: self.plan };
        writeln!(out)?;
        line(out, "peak", &format!("{} {}", size::long(peak.bytes), story.when(&peak)))?;
        let account = account(self.program, self.plan, peak.point);
        let mut rows: Vec<(u64, String, String)> = alive(self.program, self.plan, &account)
            .iter()
            .map(|alive| (alive.bytes, story.value(alive.value), story.life(alive)))
            .collect();
        for piece in &account.pieces {
            if let What::Scratch(step) = piece.what {
                let name = format!("{} (scratch)", story.step(step));
                rows.push((piece.span.len(), name, "in this step".to_owned()));
            }
        }
        rows.sort_by_key(|(bytes, ..)| Reverse(*bytes));
        // The last line may have to say how many more there are.
        let shown = match rows.len() {
            n if n > MOST_ALIVE => MOST_ALIVE - 1,
            n => n,
        };
        let (shown, rest) = rows.split_at(shown);
        let bytes_width = peak.bytes.to_string().len();
        let name_width = shown.iter().map(|(_, name, _)| name.chars().count()).max().unwrap_or(0);
        for (bytes, name, life) in shown {
            writeln!(out, "{:12} {bytes:>bytes_width$}  {name:name_width$}  {life}", "")?;
        }
        if !rest.is_empty() {
            let bytes: u64 = rest.iter().map(|(bytes, ..)| bytes).sum();
            writeln!(out, "{:12} {bytes:>bytes_width$}  in {} more", "", rest.len())?;
        }
        Ok(())
    }
}

/// Writes what the plan is for.
pub(crate) fn write_title(
    out: &mut dyn Write,
    source: &Source,
    program: &dyn Program,
    command: &str,
) -> io::Result<()> {
    let steps = count(program.steps(), "step", "steps", "");
    let values = count(program.values(), "value", "values", "");
    let execution = match program.execution() {
        Execution::InOrder => "in order",
        Execution::Partial => "in any order that the data allow",
        Execution::Queues => "on queues",
    };
    let size = format!("{}, {}, {execution}", steps.trim_end(), values.trim_end());
    match source {
        Source::Sample => writeln!(
            out,
            "the built-in sample, a little residual network: {size}\n\
             (`plimsoll {command} FILE` is for your own)\n"
        ),
        source => writeln!(out, "{}: {size}\n", one_line(&source.to_string())),
    }
}

fn line(out: &mut dyn Write, label: &str, value: &str) -> io::Result<()> {
    writeln!(out, "{label:<12} {value}")
}

fn count(number: usize, one: &str, many: &str, rest: &str) -> String {
    format!("{number} {} {rest}", if number == 1 { one } else { many })
}

fn where_bytes_are(Split { inside, outside }: Split) -> String {
    match (inside, outside) {
        (0, 0) => "none".to_owned(),
        (0, outside) => format!("{}, outside of the arena", size::long(outside)),
        (inside, 0) => format!("{}, in the arena", size::long(inside)),
        (inside, outside) => {
            format!("{} in the arena, {} outside", size::long(inside), size::long(outside))
        }
    }
}

/// How many concats are made in place, and how many other nodes are views of rows.
fn vanished_in_words(graph: &Graph, vanished: &[NodeId]) -> String {
    let is_concat = |node: &&NodeId| matches!(graph.node(**node).op, Op::Concat { .. });
    let concats = vanished.iter().filter(is_concat).count();
    let made = count(concats, "concat is", "concats are", "made in place");
    let rows = count(vanished.len() - concats, "part is", "parts are", "in rows");
    match (concats, vanished.len() - concats) {
        (_, 0) => made,
        (0, _) => rows,
        _ => format!("{made}, {rows}"),
    }
}

/// Which order it is, and how far it is from the best that could be.
fn order_in_words(ordering: &Ordering, arena_bytes: u64) -> String {
    let Ordering { steps, schedule, .. } = ordering;
    let best = schedule.arena_bound_bytes == arena_bytes;
    let which = match steps {
        None if best => "that of the file".to_owned(),
        None => "that of the file, no better one was found".to_owned(),
        Some(_) => {
            let saved = schedule.own_peak_bytes - schedule.peak_bytes;
            format!("not that of the file: {} less alive at the peak", size::short(saved))
        }
    };
    if best {
        return format!("{which}; no order has less");
    }
    format!("{which}; no order gets below {}", size::short(schedule.arena_bound_bytes))
}
