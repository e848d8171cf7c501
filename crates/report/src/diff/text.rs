//! What two plans differ in, for people.

use std::cmp::Reverse;
use std::io::{self, Write};

use anstyle::AnsiColor;
use serde_json::Value;

use super::{
    AtPeak, Change, Named, OrderDiff, Peak, PeakDiff, PlanDiff, Spot, ValueDiff, ValueSize, Within,
};
use crate::origin::Origin;
use crate::size;
use crate::words::{bold, counted, one_line, plain};

/// So many rows of a kind are shown.
const MOST_ROWS: usize = 8;

/// A difference, and between what.
pub struct DiffReport<'a> {
    /// Where the first plan came from.
    pub before: &'a Origin,
    /// Where the second came from.
    pub after: &'a Origin,
    /// What they differ in.
    pub diff: &'a PlanDiff,
    /// Whether every row is shown.
    pub is_full: bool,
}

/// A row of a list: how large the matter is, and what it is.
type Row = (u64, String);

impl DiffReport<'_> {
    /// Writes all of it.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let PlanDiff { same, totals, recorded, banks, order, values, scratch, peak, .. } =
            self.diff;
        let name = |source: &Origin| one_line(&source.name);
        writeln!(out, "{} → {}\n", name(self.before), name(self.after))?;
        if *same {
            let style = bold(AnsiColor::Green);
            let count = counted(values.common, "value");
            return writeln!(out, "{style}the same plan{style:#}: {count}, none changed");
        }
        for total in totals.iter().filter(|total| total.change.is_any() || is_main(total)) {
            let label = total.name.trim_end_matches("_bytes").replace('_', " ");
            writeln!(out, "{label:<12} {}", change_in_words(&total.change))?;
        }
        if banks.len() > 1 || banks.iter().any(|bank| bank.change.before.is_none()) {
            for bank in banks {
                let size = |bytes: Option<u64>| bytes.map_or("none".to_owned(), size::short);
                let (before, after) = (size(bank.change.before), size(bank.change.after));
                writeln!(out, "{:<12} {}: {before} → {after}", "bank", plain(&bank.name))?;
            }
        }
        for one in recorded {
            let (label, name) = match one.name.strip_prefix("options.") {
                Some(option) => ("option", option),
                None => ("recorded", one.name.as_str()),
            };
            let (before, after) = (in_short(&one.change.before), in_short(&one.change.after));
            writeln!(out, "{label:<12} {}: {before} → {after}", plain(name))?;
        }
        writeln!(out, "{:<12} {}", "order", order_in_words(order))?;
        self.write_peak(out, peak)?;
        let named = |names: &[String]| names.iter().map(|name| (0, plain(name))).collect();
        self.write_rows(out, "steps removed", named(&order.removed))?;
        self.write_rows(out, "steps added", named(&order.added))?;
        self.write_rows(out, "steps moved", named(&order.moved))?;
        let sized = |all: &[ValueSize]| {
            all.iter()
                .map(|of| (of.bytes, format!("{}  {}", plain(&of.name), size::short(of.bytes))))
                .collect()
        };
        self.write_rows(out, "values removed", sized(&values.removed))?;
        self.write_rows(out, "values added", sized(&values.added))?;
        self.write_rows(
            out,
            "values grown or shrunk",
            values.changed.iter().filter_map(resized).collect(),
        )?;
        self.write_rows(
            out,
            "values shared or stored otherwise",
            values.changed.iter().filter_map(shared).collect(),
        )?;
        self.write_rows(out, "values moved", values.changed.iter().filter_map(moved).collect())?;
        self.write_rows(out, "scratch changed", scratch.iter().map(scratch_row).collect())?;
        self.write_rows(
            out,
            "values needed longer or shorter",
            values.changed.iter().filter_map(lived).collect(),
        )
    }

    fn write_peak(&self, out: &mut dyn Write, peak: &PeakDiff) -> io::Result<()> {
        let moment = |peak: &Peak| match &peak.step {
            Some(step) => format!("{} in {}", size::short(peak.bytes), plain(step)),
            None if peak.bytes == 0 => "nothing alive".to_owned(),
            None => format!("{} at the end", size::short(peak.bytes)),
        };
        let by = difference(peak.before.bytes, peak.after.bytes);
        writeln!(out, "\n{:<12} {} → {}: {by}", "peak", moment(&peak.before), moment(&peak.after))?;
        let of = |at: &AtPeak| {
            if at.scratch { format!("scratch of {}", plain(&at.name)) } else { plain(&at.name) }
        };
        let mut rows: Vec<(i128, String)> = Vec::new();
        rows.extend(peak.entered.iter().map(|at| (i128::from(at.bytes), of(at))));
        rows.extend(peak.left.iter().map(|at| (-i128::from(at.bytes), of(at))));
        rows.extend(peak.resized.iter().map(|of| {
            let Change { before, after } = of.change;
            let name = plain(&of.name);
            let text = format!("{name}, {} before", size::short(before));
            (i128::from(after) - i128::from(before), text)
        }));
        rows.sort_by_cached_key(|(by, _)| Reverse(by.abs()));
        let shown = self.shown(rows.len());
        for (by, name) in &rows[..shown] {
            writeln!(out, "{:12} {by:>+12}  {name}", "")?;
        }
        if shown < rows.len() {
            let by: i128 = rows[shown..].iter().map(|(by, _)| by).sum();
            writeln!(out, "{:12} {by:>+12}  in {} more", "", rows.len() - shown)?;
        }
        Ok(())
    }

    /// Writes a list under a title, the largest first; nothing if there is nothing in it.
    fn write_rows(&self, out: &mut dyn Write, title: &str, mut rows: Vec<Row>) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        rows.sort_by_cached_key(|(size, _)| Reverse(*size));
        let shown = self.shown(rows.len());
        writeln!(out, "\n{title}: {}", rows.len())?;
        for (_, text) in &rows[..shown] {
            writeln!(out, "  {text}")?;
        }
        if shown < rows.len() {
            writeln!(out, "  and {} more", rows.len() - shown)?;
        }
        Ok(())
    }

    /// How many of the rows are shown. The last line may have to say how many more there are.
    fn shown(&self, rows: usize) -> usize {
        if self.is_full || rows <= MOST_ROWS { rows } else { MOST_ROWS - 1 }
    }
}

/// A value that is recorded, in a few words.
fn in_short(value: &Value) -> String {
    const MOST: usize = 60;
    match value {
        Value::String(text) => plain(text),
        Value::Null => "none".to_owned(),
        other => {
            let text = one_line(&other.to_string());
            if text.chars().count() <= MOST {
                return text;
            }
            text.chars().take(MOST - 1).chain(['…']).collect()
        }
    }
}

/// Whether a total is shown even where it is equal.
fn is_main(total: &Named<u64>) -> bool {
    matches!(total.name.as_str(), "arena_bytes" | "lower_bound_bytes")
}

fn change_in_words(change: &Change<u64>) -> String {
    if !change.is_any() {
        return format!("{}, as before", size::long(change.after));
    }
    let Change { before, after } = *change;
    format!("{} → {}: {}", size::long(before), size::long(after), difference(before, after))
}

/// How much more or less it is.
fn difference(before: u64, after: u64) -> String {
    let share = |by: u64| match before {
        0 => String::new(),
        before => format!(", {}", size::percent(by, before)),
    };
    match after.cmp(&before) {
        std::cmp::Ordering::Equal => "no change".to_owned(),
        std::cmp::Ordering::Greater => {
            format!("{} more{}", size::short(after - before), share(after - before))
        }
        std::cmp::Ordering::Less => {
            format!("{} less{}", size::short(before - after), share(before - after))
        }
    }
}

fn order_in_words(order: &OrderDiff) -> String {
    if order.is_same() {
        return format!("the same, {}", counted(order.common, "step"));
    }
    let parts = [
        (order.moved.len(), "moved"),
        (order.added.len(), "added"),
        (order.removed.len(), "removed"),
    ];
    let parts = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> =
        parts.map(|(count, what)| format!("{} {what}", counted(*count, "step"))).collect();
    format!("{}; {} common", parts.join(", "), counted(order.common, "step"))
}

fn resized(value: &ValueDiff) -> Option<Row> {
    let Change { before, after } = *value.bytes.as_ref()?;
    let (name, by) = (plain(&value.name), difference(before, after));
    let text = format!("{name}  {} → {}: {by}", size::short(before), size::short(after));
    Some((before.abs_diff(after), text))
}

fn moved(value: &ValueDiff) -> Option<Row> {
    let place = value.place.as_ref().filter(|_| value.is_moved())?;
    let bytes = place.after.as_ref()?.bytes;
    let too = if value.bytes.is_some() { ", with another size" } else { "" };
    let (before, after) = (spot(place.before.as_ref()), spot(place.after.as_ref()));
    Some((bytes, format!("{}  {before} → {after}{too}", plain(&value.name))))
}

fn spot(spot: Option<&Spot>) -> String {
    spot.map_or("nowhere".to_owned(), |spot| format!("{}+{}", plain(&spot.bank), spot.offset))
}

fn scratch_row(of: &Named<Option<Spot>>) -> Row {
    let place = |at: &Option<Spot>| match at {
        Some(at) => format!("{} at {}", size::short(at.bytes), spot(Some(at))),
        None => "none".to_owned(),
    };
    let Change { before, after } = &of.change;
    let bytes = |at: &Option<Spot>| at.as_ref().map_or(0, |at| at.bytes);
    let text = format!("{}  {} → {}", plain(&of.name), place(before), place(after));
    (bytes(before).max(bytes(after)), text)
}

fn shared(value: &ValueDiff) -> Option<Row> {
    let mut parts = Vec::new();
    if let Some(storage) = &value.storage {
        parts.push(format!("{} → {}", plain(&storage.before), plain(&storage.after)));
    }
    if let Some(view) = &value.view_of {
        let of = |within: &Option<Within>| match within {
            Some(within) => format!("a view of {} at {}", plain(&within.root), within.offset),
            None => "no view".to_owned(),
        };
        parts.push(format!("{} → {}", of(&view.before), of(&view.after)));
    }
    if let Some(taken) = &value.in_place_of {
        let of = |name: &Option<String>| match name {
            Some(name) => format!("in place of {}", plain(name)),
            None => "not in place".to_owned(),
        };
        parts.push(format!("{} → {}", of(&taken.before), of(&taken.after)));
    }
    let at = value.place.as_ref().and_then(|place| place.after.as_ref());
    let size = at.map_or(0, |spot| spot.bytes);
    (!parts.is_empty()).then(|| (size, format!("{}  {}", plain(&value.name), parts.join("; "))))
}

fn lived(value: &ValueDiff) -> Option<Row> {
    let length = value.length.as_ref()?;
    let words = |points: Option<u64>| match points {
        None => "unknown".to_owned(),
        Some(points) if points.is_multiple_of(2) => counted(points as usize / 2, "step"),
        Some(points) => format!("{}.5 steps", points / 2),
    };
    let (before, after) = (length.before, length.after);
    let by = before.unwrap_or(0).abs_diff(after.unwrap_or(0));
    Some((by, format!("{}  {} → {}", plain(&value.name), words(before), words(after))))
}
