//! How a verdict is told, whatever it is on: the violations, one a line, and how many there are.

use std::io::{self, Write};

use anstyle::AnsiColor;

use plimsoll_report::{bold, counted, one_line};

/// More violations than this are not listed.
pub(crate) const MOST_VIOLATIONS: usize = 10_000;

/// Writes the violations, which are `complete` if there are no more than these; `fine` is what to
/// say if there are none.
pub(crate) fn write_text<'a>(
    out: &mut dyn Write,
    violations: impl ExactSizeIterator<Item = &'a str>,
    complete: bool,
    fine: &str,
) -> io::Result<()> {
    let found = violations.len();
    for violation in violations {
        writeln!(out, "{}", one_line(violation))?;
    }
    if found == 0 {
        let style = bold(AnsiColor::Green);
        return writeln!(out, "{style}valid{style:#}: {fine}");
    }
    let count = if complete {
        counted(found, "violation")
    } else {
        format!("more than {found} violations, of which {found} are listed")
    };
    let style = bold(AnsiColor::Red);
    writeln!(out, "{style}not valid{style:#}: {count}")
}
