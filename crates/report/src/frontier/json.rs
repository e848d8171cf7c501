//! The frontier as JSON.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::{FrontierPoint, FrontierReport, Region, Wanted};
use crate::words::write_json;

/// What such an object says of itself.
const FIT_FORMAT: &str = "plimsoll.fit/1";

impl FrontierReport<'_> {
    /// Writes all of it.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut object = json!({
            "format": FIT_FORMAT,
            "source": {
                "arena_bytes": self.source_arena_bytes,
                "multiply_adds": self.source_multiply_adds,
                "nodes": self.source_nodes,
            },
            "points": self.points.iter().map(|point| self.point(point)).collect::<Vec<_>>(),
            "chosen": self.chosen,
        });
        match self.wanted {
            Wanted::Budget(budget) => object["budget_bytes"] = json!(budget),
            Wanted::MostArithmetic(percent) => object["most_arithmetic_percent"] = json!(percent),
            Wanted::Frontier => {}
        }
        if self.chosen.is_none() && self.wanted != Wanted::Frontier {
            object["reason"] = json!(self.refusal());
        }
        if self.stopped {
            object["reproducible"] = json!(false);
        }
        write_json(out, &object)
    }

    fn point(&self, point: &FrontierPoint) -> Value {
        let regions = point.regions.iter().map(region);
        let tensors = point.peak_tensors.iter();
        let tensors = tensors.map(|(name, bytes)| json!({ "name": name, "bytes": bytes }));
        json!({
            "arena_bytes": point.arena_bytes,
            "multiply_adds": point.multiply_adds,
            "extra_percent": self.extra_percent(point),
            "nodes": point.nodes,
            "regions": regions.collect::<Vec<_>>(),
            "peak": { "node": point.peak_node, "tensors": tensors.collect::<Vec<_>>() },
        })
    }
}

fn region(region: &Region) -> Value {
    let mut row = json!({
        "way": region.way,
        "how": region.words,
        "nodes": region.nodes,
        "source_peak_bytes": region.source_peak_bytes,
    });
    if let Some(peak) = &region.peak {
        row["new_nodes"] = json!(peak.nodes);
        row["carried_bytes"] = json!(peak.carried_bytes);
        row["peak"] = json!({ "bytes": peak.bytes, "step": peak.step, "source": peak.source });
    }
    row
}
