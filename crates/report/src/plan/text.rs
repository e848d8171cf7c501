//! The plan for people: totals, the whole picture, the peak, a map of each bank.

use std::cmp::{self, Reverse};
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use plimsoll::explain::{What, account, alive, peaks};
use plimsoll::{Execution, Ordering, Program, Totals, ValueId};
use plimsoll_graph::{Best, Choice, Graph, NodeId, Op};
use plimsoll_pack::Limit;

use super::{Boundaries, PlanReport, Split};
use crate::moment::Story;
use crate::origin::Origin;
use crate::ranges::ranges_in_words;
use crate::regions::Regions;
use crate::size;
use crate::words::{bold, gap, limit_in_words, one_line, plain};

/// The first heading, which follows the title.
const FIRST: &str = "What a run needs";

/// So many values are shown at the peak.
const MOST_ALIVE: usize = 8;

impl PlanReport<'_> {
    /// Writes all of it.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        write_title(out, self.source, self.program, "plan")?;
        self.write_needs(out)?;
        self.write_banks(out)?;
        self.write_savings(out)?;
        self.write_quality(out)?;
        self.write_peak(out)?;
        if let Some(regions) = self.asked.regions {
            heading(out, "Regions of the rewritten model")?;
            regions.write_text(out, self.plan)?;
        }
        if self.pictures.iter().any(|picture| picture.bytes > 0) {
            heading(out, "Where everything is")?;
            writeln!(out, "Steps to the right, addresses upwards; each letter is a row below.")?;
        }
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

    /// What has to be there for a run, and where.
    fn write_needs(&self, out: &mut dyn Write) -> io::Result<()> {
        let sums = Boundaries::new(self.program, self.plan);
        let style = Style::new().bold();
        let arena = size::long(self.totals.arena_bytes);
        heading(out, FIRST)?;
        let what = match self.pictures.len() {
            0 | 1 => "one block in which tensors take turns".to_owned(),
            banks => format!("{banks} banks in which tensors take turns"),
        };
        line(out, "arena", &format!("{style}{arena}{style:#}: {what}"))?;
        line(out, "weights", &where_bytes_are(sums.weights))?;
        if sums.statics != Split::default() {
            let prepared = where_bytes_are(sums.statics);
            let what = "computed from weights once, before the first run";
            line(out, "prepared", &format!("{prepared}: {what}"))?;
        }
        line(out, "inputs", &where_bytes_are(sums.inputs))?;
        line(out, "outputs", &where_bytes_are(sums.outputs))?;
        let total = self.totals.arena_bytes.saturating_add(sums.outside());
        line(out, "total", &size::long(total))?;
        let Some(budget) = self.asked.budget else { return Ok(()) };
        let verdict = match budget.checked_sub(self.totals.arena_bytes) {
            Some(0) => "the arena fits exactly".to_owned(),
            Some(spare) => format!("the arena fits, {} to spare", size::long(spare)),
            None => {
                let missing = self.totals.arena_bytes - budget;
                format!("the arena needs {} more", size::long(missing))
            }
        };
        line(out, "budget", &format!("{}: {verdict}", size::long(budget)))
    }

    /// From every tensor on its own to the arena.
    fn write_savings(&self, out: &mut dyn Write) -> io::Result<()> {
        let Totals { arena_bytes, unshared_bytes, buffers_bytes, .. } = self.totals;
        let own = (unshared_bytes, "if every tensor had bytes of its own".to_owned());
        let shared = (buffers_bytes, self.sharing_in_words());
        heading(out, "How it gets there")?;
        let mut rows = vec![own];
        rows.extend(Some(shared).filter(|(_, words)| !words.is_empty()));
        let before = rows.last().map_or(0, |(bytes, _)| *bytes);
        rows.push((arena_bytes, self.placed_in_words(before)));
        let width = rows.iter().map(|(bytes, _)| size::long(*bytes).len()).max().unwrap_or(0);
        for (bytes, words) in rows {
            writeln!(out, "{:>width$}  {words}", size::long(bytes))?;
        }
        let Best { elided, moved_bytes, moved_before, .. } = self.asked.best;
        if elided.is_empty() {
            return Ok(());
        }
        let (now, before) = (size::short(*moved_bytes), size::short(*moved_before));
        writeln!(out, "Copies move {now} in a run instead of {before}.")
    }

    /// What placing makes of the bytes that are left after sharing, and what is saved in all.
    fn placed_in_words(&self, before: u64) -> String {
        let Totals { arena_bytes, unshared_bytes, .. } = self.totals;
        let why = match arena_bytes.cmp(&before) {
            cmp::Ordering::Less => ", since not all are live at the same time".to_owned(),
            cmp::Ordering::Equal => String::new(),
            cmp::Ordering::Greater => {
                let more = size::long(arena_bytes - before);
                format!(", {more} more for alignment and fixed places")
            }
        };
        let saved = match u64::try_from(self.totals.saved_bytes()) {
            Ok(0) | Err(_) => String::new(),
            Ok(saved) => format!(": {} saved", size::percent(saved, unshared_bytes)),
        };
        format!("in the arena{why}{saved}")
    }

    /// Which tensors are the same bytes as others; nothing if none are.
    fn sharing_in_words(&self) -> String {
        let members = self.plan.derivation.members.iter().flatten();
        let in_place = members.filter(|member| member.took_over.is_some()).count();
        let values = (0..self.program.values()).map(ValueId::new);
        let views = values.filter(|value| self.program.value(*value).view_of.is_some()).count();
        let choices = &self.asked.best.choices;
        let mut parts = Vec::new();
        if in_place > 0 {
            parts.push(count(in_place, "is", "are", "computed in place"));
        }
        if views > 0 {
            parts.push(counted_as(views, "is a view", "are views"));
        }
        if !choices.is_empty() {
            parts.push(choices_in_words(self.program.graph(), choices));
        }
        if parts.is_empty() { String::new() } else { format!("since {}", parts.join(", ")) }
    }

    /// How far it is from the best that could be, and what was tried.
    fn write_quality(&self, out: &mut dyn Write) -> io::Result<()> {
        let totals = &self.totals;
        heading(out, "How good it is")?;
        let (colour, status, what) = match self.optimal_for() {
            Some(what) => (AnsiColor::Green, "optimal", what.in_full()),
            None => (AnsiColor::Yellow, "feasible", "valid, but a smaller arena may exist"),
        };
        let style = bold(colour);
        line(out, "status", &format!("{style}{status}{style:#}: {what}"))?;
        let bound = size::long(totals.lower_bound_bytes);
        let below = match self.program.execution() {
            Execution::InOrder => "no arena is smaller with this order and this sharing",
            Execution::Partial | Execution::Queues => "no arena is smaller with this sharing",
        };
        line(out, "lower bound", &format!("{bound}: {below}"))?;
        line(out, "gap", &gap(totals.arena_bytes, totals.lower_bound_bytes))?;
        if let Some(ordering) = &self.asked.best.ordering {
            line(out, "order", &order_in_words(ordering, totals.arena_bytes))?;
        }
        if !self.plan.derivation.won_by.is_empty() {
            line(out, "packed by", &self.plan.derivation.won_by)?;
        }
        let limit = self.plan.derivation.limit;
        if let Some(limit) = limit {
            line(out, "stopped by", limit_in_words(limit))?;
        }
        if self.asked.is_timed && limit != Some(Limit::Stopped) {
            line(out, "time limit", "not reached")?;
        }
        let values = (0..self.program.values()).map(ValueId::new);
        let limits = values.filter(|value| self.program.is_limit(*value)).count();
        if limits > 0 {
            let what = count(limits, "depends", "depend", "on data; there is room for the largest");
            line(out, "sizes", &what)?;
        }
        for (heading, words) in self.asked.proof.map(ranges_in_words).into_iter().flatten() {
            line(out, heading, &words)?;
        }
        for (at, used) in self.asked.corners {
            line(out, "in use", &format!("{} at {}", size::long(*used), one_line(at)))?;
        }
        Ok(())
    }

    fn write_banks(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.pictures.len() < 2 {
            return Ok(());
        }
        for picture in &self.pictures {
            let of = picture.capacity.map_or(String::new(), |c| format!(" of {}", size::short(c)));
            let buffers = counted_as(picture.buffers, "buffer", "buffers");
            let bytes = size::long(picture.bytes);
            let name = plain(&picture.name);
            writeln!(out, "bank {name}: {bytes}{of}, {buffers}")?;
        }
        Ok(())
    }

    fn write_peak(&self, out: &mut dyn Write) -> io::Result<()> {
        let Some(peak) = peaks(self.plan, 1).first().copied() else { return Ok(()) };
        let story = Story { program: self.program, plan: self.plan };
        heading(out, "The peak")?;
        line(out, "peak", &format!("{} {}", size::long(peak.bytes), story.when(&peak)))?;
        let place = |regions: &Regions| regions.place(peak.step?);
        if let Some(place) = self.asked.regions.and_then(place) {
            line(out, "", &place)?;
        }
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
        rows.sort_by_cached_key(|(bytes, ..)| Reverse(*bytes));
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
///
/// # Errors
/// What the writer says.
pub fn write_title(
    out: &mut dyn Write,
    source: &Origin,
    program: &dyn Program,
    command: &str,
) -> io::Result<()> {
    let steps = counted_as(program.steps(), "step", "steps");
    let values = counted_as(program.values(), "tensor", "tensors");
    let execution = match program.execution() {
        Execution::InOrder => "",
        Execution::Partial => ", steps in any order that the data dependences allow",
        Execution::Queues => ", steps on several queues",
    };
    let size = format!("{steps}, {values}{execution}");
    if source.is_sample {
        return writeln!(
            out,
            "the built-in sample, a little residual network: {size}\n\
             (for your own model: `plimsoll {command} FILE`)\n"
        );
    }
    writeln!(out, "{}: {size}\n", one_line(&source.name))
}

/// A question that the lines below it answer.
fn heading(out: &mut dyn Write, text: &str) -> io::Result<()> {
    let (style, gap) = (Style::new().bold(), if text == FIRST { "" } else { "\n" });
    writeln!(out, "{gap}{style}{text}{style:#}")
}

fn line(out: &mut dyn Write, label: &str, value: &str) -> io::Result<()> {
    writeln!(out, "{label:<12} {value}")
}

fn count(number: usize, one: &str, many: &str, rest: &str) -> String {
    format!("{} {rest}", counted_as(number, one, many))
}

fn counted_as(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn where_bytes_are(Split { inside, outside, parts }: Split) -> String {
    let places = [
        (inside, "in the arena"),
        (outside, "outside the arena"),
        (parts, "in the bytes of others outside"),
    ];
    let told: Vec<_> = places.into_iter().filter(|(bytes, _)| *bytes > 0).collect();
    match told[..] {
        [] => "none".to_owned(),
        [(bytes, place)] => format!("{}, {place}", size::long(bytes)),
        _ => {
            let each = told.iter().map(|(bytes, place)| format!("{} {place}", size::long(*bytes)));
            each.collect::<Vec<_>>().join(", ")
        }
    }
}

/// What was chosen to share bytes.
fn choices_in_words(graph: &Graph, choices: &[Choice]) -> String {
    let is_concat = |node: NodeId| matches!(graph.node(node).op, Op::Concat { .. });
    let (mut made, mut strided, mut partly, mut copied, mut over) = (0, 0, 0, 0, 0);
    for choice in choices {
        *match choice {
            Choice::Elide(node) if is_concat(*node) => &mut made,
            Choice::Elide(_) => &mut strided,
            Choice::Join(..) => &mut partly,
            Choice::Copy(..) => &mut copied,
            Choice::TakeOver(..) => &mut over,
        } += 1;
    }
    let words = [
        (made, "concat is", "concats are", "zero-copy"),
        (partly, "concat is", "concats are", "partly zero-copy"),
        (strided, "part is", "parts are", "strided views"),
        (copied, "view is", "views are", "copied"),
        (over, "output is", "outputs are", "in place in a strided view"),
    ];
    let said = words.into_iter().filter(|(number, ..)| *number > 0);
    let said: Vec<String> =
        said.map(|(number, one, many, rest)| count(number, one, many, rest)).collect();
    said.join(", ")
}

/// Which order it is, and how far it is from the best that could be.
fn order_in_words(ordering: &Ordering, arena_bytes: u64) -> String {
    let Ordering { steps, schedule, .. } = ordering;
    let best = schedule.arena_bound_bytes == arena_bytes;
    let which = match steps {
        None if best => "as in the file".to_owned(),
        None => "as in the file; no better one was found".to_owned(),
        Some(_) => {
            let saved = schedule.own_peak_bytes - schedule.peak_bytes;
            format!("changed: {} less live at the peak", size::short(saved))
        }
    };
    if best {
        return format!("{which}; no order needs less");
    }
    format!("{which}; no order gets below {}", size::short(schedule.arena_bound_bytes))
}
