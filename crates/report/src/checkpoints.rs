//! What a training step can compute again, as a table for people and as JSON.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use plimsoll_graph::checkpoint::{Checkpointed, Checkpoints, Recomputed};
use plimsoll_graph::{Graph, NodeId};
use serde_json::{Value, json};

use crate::frontier::Wanted;
use crate::origin::Origin;
use crate::size;
use crate::words::{bold, counted, plain, write_json};

/// What such an object says of itself.
const CHECKPOINTS_FORMAT: &str = "plimsoll.checkpoints/1";

/// So many nodes that are computed again are listed for people.
const MOST_NODES: usize = 12;

/// A training step in forms that keep less and compute more.
pub struct CheckpointReport<'a> {
    /// The graph.
    pub source: &'a Origin,
    /// The graph as it is.
    pub graph: &'a Graph,
    /// What was found.
    pub found: &'a Checkpoints,
    /// What was asked for.
    pub wanted: Wanted,
    /// The point that is the answer, if there is one.
    pub chosen: Option<usize>,
    /// Whether the time was over before everything was tried.
    pub stopped: bool,
}

impl CheckpointReport<'_> {
    /// Writes a table.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let style = Style::new().bold();
        let Checkpoints { source_arena_bytes, source_written_bytes, points, even } = self.found;
        writeln!(out, "{style}{}{style:#}: fit", plain(&self.source.name))?;
        writeln!(out, "{:>12}  arena {}", "as it is", size::long(*source_arena_bytes))?;
        writeln!(out, "{:14}{source_written_bytes} bytes written by its nodes", "")?;
        writeln!(out, "\n{style}{:>12}{:>10}     written     again{style:#}", "arena", "of it")?;
        for (index, point) in points.iter().enumerate() {
            let mark = if self.chosen == Some(index) { "  *" } else { "" };
            self.write_row(out, point, mark)?;
        }
        if let Some(even) = even {
            self.write_row(out, even, "  as many even segments as each has nodes")?;
        }
        self.write_answer(out)?;
        if self.stopped {
            writeln!(out, "\nthe time was over before everything was tried")?;
        }
        Ok(())
    }

    fn write_row(&self, out: &mut dyn Write, point: &Checkpointed, mark: &str) -> io::Result<()> {
        let share = size::percent(point.arena_bytes, self.found.source_arena_bytes);
        let (bytes, extra) = (point.arena_bytes, self.extra(point));
        writeln!(out, "{bytes:>12}{share:>10}{extra:>12}{:>10}{mark}", point.recomputed.len())
    }

    fn extra(&self, point: &Checkpointed) -> String {
        format!("{:+.1} %", self.found.extra_percent(point))
    }

    fn write_answer(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.wanted == Wanted::Frontier {
            return Ok(());
        }
        let Some(point) = self.chosen.map(|chosen| &self.found.points[chosen]) else {
            let red = bold(AnsiColor::Red);
            return writeln!(out, "\n{red}does not fit{red:#}: {}", self.refusal());
        };
        let (arena, extra) = (size::long(point.arena_bytes), self.extra(point));
        writeln!(out, "\n{arena} for {extra} bytes written")?;
        for again in point.recomputed.iter().take(MOST_NODES) {
            let (node, before) = self.names(*again);
            writeln!(out, "{:>12}  {} before {}", "again", plain(node), plain(before))?;
        }
        let more = point.recomputed.len().saturating_sub(MOST_NODES);
        if more > 0 { writeln!(out, "{:14}and {}", "", counted(more, "node")) } else { Ok(()) }
    }

    /// Why there is no answer.
    #[must_use]
    pub fn refusal(&self) -> String {
        let least = self.found.points.iter().min_by_key(|point| point.arena_bytes);
        let Some(least) = least else { return "nothing was found".to_owned() };
        let (arena, extra) = (size::long(least.arena_bytes), self.extra(least));
        format!("the smallest arena found has {arena}, for {extra} bytes written")
    }

    /// Writes one object.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut object = json!({
            "format": CHECKPOINTS_FORMAT,
            "source": {
                "arena_bytes": self.found.source_arena_bytes,
                "written_bytes": self.found.source_written_bytes,
                "nodes": self.graph.nodes().len(),
            },
            "points": self.found.points.iter().map(|point| self.point(point)).collect::<Vec<_>>(),
            "even": self.found.even.as_ref().map(|even| self.point(even)),
            "chosen": self.chosen,
        });
        match self.wanted {
            Wanted::Budget(budget) => object["budget_bytes"] = json!(budget),
            Wanted::MostArithmetic(percent) => object["most_written_percent"] = json!(percent),
            Wanted::Frontier => {}
        }
        if self.stopped {
            object["reproducible"] = json!(false);
        }
        write_json(out, &object)
    }

    fn point(&self, point: &Checkpointed) -> Value {
        let again = |again: &Recomputed| {
            let (node, before) = self.names(*again);
            json!({ "node": node, "before": before })
        };
        json!({
            "arena_bytes": point.arena_bytes,
            "written_bytes": point.written_bytes,
            "extra_percent": self.found.extra_percent(point),
            "recomputed": point.recomputed.iter().map(again).collect::<Vec<_>>(),
        })
    }

    fn names(&self, again: Recomputed) -> (&str, &str) {
        let name = |node: NodeId| &self.graph.node(node).name[..];
        (name(again.node), name(again.before))
    }
}
