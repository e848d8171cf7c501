//! The frontier as a table for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use super::{FrontierPoint, FrontierReport, Region, RegionPeak, Wanted};
use crate::size;
use crate::words::{bold, counted, plain};

/// So many regions of a point are listed.
const MOST_REGIONS: usize = 12;

/// So many tensors at a peak are listed.
const MOST_TENSORS: usize = 3;

impl FrontierReport<'_> {
    /// Writes all of it.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let style = Style::new().bold();
        writeln!(out, "{style}{}{style:#}: fit", plain(&self.source.name))?;
        let source = size::long(self.source_arena_bytes);
        writeln!(out, "{:>12}  arena {source}", "as it is")?;
        writeln!(out, "{:14}{} multiply-adds", "", self.source_multiply_adds)?;
        self.write_table(out)?;
        self.write_answer(out)?;
        if self.stopped {
            writeln!(out, "\nthe time limit ended the search before everything was tried")?;
        }
        Ok(())
    }

    fn write_table(&self, out: &mut dyn Write) -> io::Result<()> {
        let style = Style::new().bold();
        writeln!(out, "\n{style}{:>12}{:>10}  arithmetic     nodes{style:#}", "arena", "of it")?;
        for (index, point) in self.points.iter().enumerate() {
            let share = size::percent(point.arena_bytes, self.source_arena_bytes);
            let mark = if self.chosen == Some(index) { "  *" } else { "" };
            let (bytes, extra) = (point.arena_bytes, self.extra(point));
            writeln!(out, "{bytes:>12}{share:>10}{extra:>12}{:>10}{mark}", point.nodes)?;
        }
        Ok(())
    }

    fn write_answer(&self, out: &mut dyn Write) -> io::Result<()> {
        let chosen = self.chosen.map(|index| &self.points[index]);
        match (self.wanted, chosen) {
            (Wanted::Frontier, _) => Ok(()),
            (Wanted::Budget(budget), Some(point)) => {
                let (green, budget) = (bold(AnsiColor::Green), size::long(budget));
                let (arena, extra) = (size::long(point.arena_bytes), self.extra(point));
                writeln!(
                    out,
                    "\n{green}fits{green:#} a budget of {budget}: {arena} for {extra} arithmetic"
                )?;
                write_regions(out, point)
            }
            (Wanted::MostArithmetic(percent), Some(point)) => {
                let (arena, extra) = (size::long(point.arena_bytes), self.extra(point));
                writeln!(out, "\n{arena} for {extra} arithmetic, of at most {percent} %")?;
                write_regions(out, point)
            }
            (Wanted::Budget(_) | Wanted::MostArithmetic(_), None) => {
                let red = bold(AnsiColor::Red);
                writeln!(out, "\n{red}does not fit{red:#}: {}", self.refusal())
            }
        }
    }

    /// Why there is no answer.
    #[must_use]
    pub fn refusal(&self) -> String {
        let least = self.points.iter().min_by_key(|point| point.arena_bytes);
        let Some(least) = least else { return "nothing was found".to_owned() };
        let arena = size::long(least.arena_bytes);
        match self.wanted {
            Wanted::Budget(budget) => {
                let (over, extra) = (size::long(least.arena_bytes - budget), self.extra(least));
                format!(
                    "the smallest arena found has {arena}, for {extra} arithmetic; that is {over} too many; {}",
                    in_the_way(least)
                )
            }
            Wanted::MostArithmetic(_) | Wanted::Frontier => {
                format!(
                    "the smallest arena found has {arena}, for {} arithmetic",
                    self.extra(least)
                )
            }
        }
    }
}

fn write_regions(out: &mut dyn Write, point: &FrontierPoint) -> io::Result<()> {
    if point.regions.is_empty() {
        return writeln!(out, "{:14}the model as it is", "");
    }
    for region in point.regions.iter().take(MOST_REGIONS) {
        let nodes = counted(region.nodes.len(), "node");
        writeln!(out, "{:>12}  {nodes}, {}: {}", region.way, ends(region), region.words)?;
        if let Some(peak) = &region.peak {
            writeln!(out, "{:14}{}", "", taken(region, peak))?;
        }
    }
    let more = point.regions.len().saturating_sub(MOST_REGIONS);
    if more > 0 { writeln!(out, "{:14}and {}", "", counted(more, "region")) } else { Ok(()) }
}

/// What is there when most bytes are in use.
fn in_the_way(point: &FrontierPoint) -> String {
    let when = point.peak_node.as_deref().map_or("the end".to_owned(), plain);
    let tensor =
        |(name, bytes): &(String, u64)| format!("{} ({})", plain(name), size::short(*bytes));
    let mut tensors: Vec<String> =
        point.peak_tensors.iter().take(MOST_TENSORS).map(tensor).collect();
    let more = point.peak_tensors.len().saturating_sub(MOST_TENSORS);
    if more > 0 {
        tensors.push(format!("{more} more"));
    }
    format!("at {when} there are {}", tensors.join(", "))
}

/// What a region takes, before and now.
fn taken(region: &Region, peak: &RegionPeak) -> String {
    let (before, now) = (region.source_peak_bytes, peak.bytes);
    let at =
        peak.source.as_deref().map_or(String::new(), |source| format!(", at {}", plain(source)));
    let carried = match peak.carried_bytes {
        0 => "nothing is carried on".to_owned(),
        bytes => format!("at most {bytes} are carried on"),
    };
    let nodes = counted(peak.nodes, "node");
    format!("peak {before}, now {now} in step {}{at}; {carried}; {nodes} now", peak.step + 1)
}

/// The first and the last node of a region.
fn ends(region: &Region) -> String {
    match &region.nodes[..] {
        [] => "none".to_owned(),
        [one] => plain(one),
        [first, .., last] => format!("{} to {}", plain(first), plain(last)),
    }
}
