//! From problems and solutions to CSV.
//!
//! Always half-open (`upper`); optional columns appear where some buffer needs them. What is
//! written reads back as the same table.

use std::borrow::Cow;
use std::io::{self, Write};

use super::Table;
use super::cell::to_cell;
use crate::problem::{Buffer, Gap};
use crate::solution::Solution;

/// Writes the problem; `offset` holds what is fixed.
pub fn write_problem(out: impl Write, table: &Table) -> io::Result<()> {
    let fixed: Vec<_> = table.problem.buffers().iter().map(|b| b.fixed).collect();
    write(out, table, &fixed)
}

/// Writes the problem with the offsets of a solution: `MiniMalloc`'s output.
pub fn write_solution(out: impl Write, table: &Table, solution: &Solution) -> io::Result<()> {
    let offsets: Vec<_> = solution.offsets().iter().copied().map(Some).collect();
    write(out, table, &offsets)
}

fn write(mut out: impl Write, table: &Table, offsets: &[Option<u64>]) -> io::Result<()> {
    let buffers = table.problem.buffers();
    let some = |test: fn(&Buffer) -> bool| buffers.iter().any(test);
    let (alignment, hint, gaps, offset) = (
        some(|b| b.align != 1),
        some(|b| b.hint.is_some()),
        some(|b| !b.gaps.is_empty()),
        offsets.iter().any(Option::is_some),
    );
    write!(out, "id,lower,upper,size")?;
    for (wanted, name) in
        [(alignment, "alignment"), (hint, "hint"), (gaps, "gaps"), (offset, "offset")]
    {
        if wanted {
            write!(out, ",{name}")?;
        }
    }
    writeln!(out)?;
    for ((id, buffer), place) in table.ids.iter().zip(buffers).zip(offsets) {
        let Buffer { life, size, .. } = buffer;
        write!(out, "{},{},{},{size}", quote(&to_cell(id)), life.start, life.end)?;
        if alignment {
            write!(out, ",{}", buffer.align)?;
        }
        if hint {
            write!(out, ",{}", or_blank(buffer.hint))?;
        }
        if gaps {
            let gaps: Vec<String> = buffer.gaps.iter().map(gap).collect();
            write!(out, ",{}", gaps.join(" "))?;
        }
        if offset {
            write!(out, ",{}", or_blank(*place))?;
        }
        writeln!(out)?;
    }
    out.flush()
}

fn or_blank(number: Option<u64>) -> String {
    number.map_or(String::new(), |n| n.to_string())
}

fn gap(gap: &Gap) -> String {
    let window = gap.window.map_or(String::new(), |w| format!("@{}:{}", w.lo, w.hi));
    format!("{}-{}{window}", gap.life.start, gap.life.end)
}

/// The id, in quotes if it would not come back whole without.
fn quote(id: &str) -> Cow<'_, str> {
    if id.trim() == id && !id.contains([',', '"']) {
        Cow::Borrowed(id)
    } else {
        Cow::Owned(format!("\"{}\"", id.replace('"', "\"\"")))
    }
}
