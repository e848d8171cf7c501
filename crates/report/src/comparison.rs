//! Plans or packings side by side: a table, for people, pages and programs.

use core::time::Duration;
use std::collections::BTreeMap;
use std::io::{self, Write};

use anstyle::Style;
use serde::Serialize;

use crate::size;
use crate::words::{one_line, write_json};

/// What the `format` key says.
const COMPARISON_FORMAT: &str = "plimsoll.comparison/1";

/// Plans or packings of the same thing.
pub struct Comparison {
    /// What it is called in JSON.
    pub source: String,
    /// What it is called in text.
    pub title: String,
    /// What the rows differ in.
    columns: &'static [&'static str],
    /// One for each plan or packing.
    pub rows: Vec<Row>,
    /// Below this none of them can be, and why.
    pub bound: Option<u64>,
    /// Why it cannot be below the bound.
    pub bound_of: &'static str,
    /// What it would take if nothing shared bytes with anything.
    pub unshared: Option<u64>,
    /// What the best is compared with in words.
    pub references: Vec<(u64, &'static str)>,
    /// What was left out.
    pub skipped: Vec<String>,
    /// Whether times are shown.
    pub has_times: bool,
}

/// One of them.
pub struct Row {
    /// What it is, by column.
    pub labels: Vec<String>,
    /// `None` without a plan or packing.
    pub arena_bytes: Option<u64>,
    /// Of this row: with this order and this sharing.
    pub lower_bound_bytes: u64,
    /// How good it is known to be, in a word.
    pub status: &'static str,
    /// How long the search for an order and for concats took, which rows may share.
    pub search_time: Option<Duration>,
    /// How long planning or packing took.
    pub time: Duration,
}

#[derive(Serialize)]
struct Table<'a> {
    format: &'static str,
    source: &'a str,
    lower_bound_bytes: Option<u64>,
    unshared_bytes: Option<u64>,
    best_arena_bytes: Option<u64>,
    rows: Vec<TableRow<'a>>,
    skipped: &'a [String],
}

#[derive(Serialize)]
struct TableRow<'a> {
    #[serde(flatten)]
    labels: BTreeMap<&'a str, &'a str>,
    arena_bytes: Option<u64>,
    lower_bound_bytes: u64,
    ratio_to_bound: Option<f64>,
    ratio_to_best: Option<f64>,
    status: &'a str,
    best: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    search_seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
}

impl Comparison {
    /// Without rows; they differ in the columns.
    #[must_use]
    pub fn new(columns: &'static [&'static str]) -> Self {
        Comparison {
            source: String::new(),
            title: String::new(),
            columns,
            rows: Vec::new(),
            bound: None,
            bound_of: "",
            unshared: None,
            references: Vec::new(),
            skipped: Vec::new(),
            has_times: true,
        }
    }

    /// The smallest arena.
    fn best_bytes(&self) -> Option<u64> {
        self.rows.iter().filter_map(|row| row.arena_bytes).min()
    }

    fn has_search_times(&self) -> bool {
        self.has_times && self.rows.iter().any(|row| row.search_time.is_some())
    }

    fn is_best(&self, row: &Row) -> bool {
        row.arena_bytes.is_some() && row.arena_bytes == self.best_bytes()
    }

    /// Writes the table and what follows from it.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}", one_line(&self.title))?;
        if let Some(bound) = self.bound {
            writeln!(out, "lower bound {}: {}", size::long(bound), self.bound_of)?;
        }
        if let Some(unshared) = self.unshared {
            writeln!(out, "unshared {}: every value in bytes of its own", size::long(unshared))?;
        }
        writeln!(out)?;
        let (header, rows) = (self.header(), self.cells());
        let width = |column: usize| {
            let cells = rows.iter().chain([&header]).map(|cells| cells[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..header.len()).map(width).collect();
        let line = |cells: &[String]| {
            let mut line = String::new();
            for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                let is_text = column < self.columns.len() || header[column] == "status";
                let cell =
                    if is_text { format!("{cell:<width$}") } else { format!("{cell:>width$}") };
                line += if column == 0 { "" } else { "  " };
                line += &cell;
            }
            line.trim_end().to_owned()
        };
        writeln!(out, "  {}", line(&header))?;
        let bold = Style::new().bold();
        for (row, cells) in self.rows.iter().zip(&rows) {
            if self.is_best(row) {
                writeln!(out, "{bold}* {}{bold:#}", line(cells))?;
            } else {
                writeln!(out, "  {}", line(cells))?;
            }
        }
        writeln!(out, "\n{}", one_line(&self.conclusion()))?;
        for skipped in &self.skipped {
            writeln!(out, "not shown: {}", one_line(skipped))?;
        }
        Ok(())
    }

    /// The best in words. The rows begin with what is simplest, so that the first is taken.
    fn conclusion(&self) -> String {
        let best = self.rows.iter().find(|row| self.is_best(row));
        let Some((row, bytes)) = best.and_then(|row| Some((row, row.arena_bytes?))) else {
            return "best: none, nothing fits".to_owned();
        };
        let named: Vec<String> = self
            .columns
            .iter()
            .zip(&row.labels)
            .map(|(key, label)| format!("{key} {label}"))
            .collect();
        let below = self.references.iter().filter(|(reference, _)| *reference > bytes);
        let below = below.map(|(reference, what)| {
            format!("{} below {what}", size::percent(reference - bytes, *reference))
        });
        let below = Some(below.collect::<Vec<_>>().join(", ")).filter(|below| !below.is_empty());
        let ties = self.rows.iter().filter(|row| self.is_best(row)).count();
        let ties = (ties > 1).then(|| format!("the first of {ties} that are as small"));
        let best = format!("best: {}: {}", named.join(", "), size::long(bytes));
        [Some(best), below, ties].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Writes a table for a page; what is best is bold.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_markdown(&self, out: &mut dyn Write) -> io::Result<()> {
        let header = self.header();
        writeln!(out, "| {} |", header.join(" | "))?;
        writeln!(out, "|{}", "---|".repeat(header.len()))?;
        for (row, cells) in self.rows.iter().zip(self.cells()) {
            let mark = if self.is_best(row) { "**" } else { "" };
            let cells: Vec<String> =
                cells.iter().map(|cell| format!("{mark}{cell}{mark}")).collect();
            writeln!(out, "| {} |", cells.join(" | "))?;
        }
        Ok(())
    }

    /// What the columns of text and pages are called.
    fn header(&self) -> Vec<String> {
        let mut header: Vec<&str> = self.columns.to_vec();
        header.extend(["arena", "size", "bound", "/ bound", "/ best", "status"]);
        header.extend(self.has_search_times().then_some("search"));
        header.extend(self.has_times.then_some("time"));
        header.into_iter().map(str::to_owned).collect()
    }

    fn cells(&self) -> Vec<Vec<String>> {
        let or_dash = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        let ratio = |ratio: Option<f64>| or_dash(ratio.map(|ratio| format!("{ratio:.3}")));
        let row = |row: &Row| {
            let mut cells = row.labels.clone();
            cells.extend([
                or_dash(row.arena_bytes.map(|bytes| bytes.to_string())),
                or_dash(row.arena_bytes.map(size::short)),
                row.lower_bound_bytes.to_string(),
                ratio(row.to_bound()),
                ratio(self.to_best(row)),
                row.status.to_owned(),
            ]);
            let time = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
            let search = self.has_search_times().then(|| or_dash(row.search_time.map(time)));
            cells.extend(search);
            cells.extend(self.has_times.then(|| time(row.time)));
            cells
        };
        self.rows.iter().map(row).collect()
    }

    fn to_best(&self, row: &Row) -> Option<f64> {
        ratio(row.arena_bytes?, self.best_bytes()?)
    }

    /// Writes a row for each.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let times = match (self.has_search_times(), self.has_times) {
            (true, _) => ",search_seconds,seconds",
            (false, true) => ",seconds",
            (false, false) => "",
        };
        let columns = self.columns.join(",");
        writeln!(
            out,
            "{columns},arena_bytes,lower_bound_bytes,ratio_to_bound,ratio_to_best,status,best{times}"
        )?;
        for row in self.table().rows {
            let number = |number: Option<f64>| number.map_or(String::new(), |n| n.to_string());
            let labels: Vec<&str> = self.columns.iter().map(|key| row.labels[key]).collect();
            let arena = row.arena_bytes.map_or(String::new(), |bytes| bytes.to_string());
            let (bound, best) = (number(row.ratio_to_bound), number(row.ratio_to_best));
            write!(out, "{},{arena},{},", labels.join(","), row.lower_bound_bytes)?;
            write!(out, "{bound},{best},{},{}", row.status, row.best)?;
            for seconds in [row.search_seconds, row.seconds].into_iter().flatten() {
                write!(out, ",{seconds}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// Writes one object.
    ///
    /// # Errors
    /// What the writer says.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        write_json(out, &self.table())
    }

    fn table(&self) -> Table<'_> {
        // Four decimals, and microseconds: no more is meant.
        let rounded = |number: f64, scale: f64| (number * scale).round() / scale;
        let short = |ratio: Option<f64>| ratio.map(|ratio| rounded(ratio, 1e4));
        let seconds = |time: Duration| rounded(time.as_secs_f64(), 1e6);
        let rows = self.rows.iter().map(|row| TableRow {
            labels: self.columns.iter().copied().zip(row.labels.iter().map(|l| &l[..])).collect(),
            arena_bytes: row.arena_bytes,
            lower_bound_bytes: row.lower_bound_bytes,
            ratio_to_bound: short(row.to_bound()),
            ratio_to_best: short(self.to_best(row)),
            status: row.status,
            best: self.is_best(row),
            search_seconds: row.search_time.filter(|_| self.has_times).map(seconds),
            seconds: self.has_times.then(|| seconds(row.time)),
        });
        Table {
            format: COMPARISON_FORMAT,
            source: &self.source,
            lower_bound_bytes: self.bound,
            unshared_bytes: self.unshared,
            best_arena_bytes: self.best_bytes(),
            rows: rows.collect(),
            skipped: &self.skipped,
        }
    }
}

impl Row {
    fn to_bound(&self) -> Option<f64> {
        ratio(self.arena_bytes?, self.lower_bound_bytes)
    }
}

/// The quotient; none by nothing, but nothing is as large as nothing.
fn ratio(bytes: u64, of: u64) -> Option<f64> {
    match (bytes, of) {
        (0, 0) => Some(1.0),
        (_, 0) => None,
        #[allow(clippy::cast_precision_loss, reason = "a ratio for people")]
        (bytes, of) => Some(bytes as f64 / of as f64),
    }
}
