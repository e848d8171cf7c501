//! Words that several writers share: counts, gaps, names of somebody else in a line for people.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use plimsoll_pack::Limit;
use serde::Serialize;

use crate::size;

/// What kept an answer from being better, in words.
#[must_use]
pub fn limit_in_words(limit: Limit) -> &'static str {
    match limit {
        Limit::Work => "the effort: a higher one may find or prove more",
        Limit::Stopped => "the time limit: another run may end elsewhere",
        // Rules, or constraints that search does not know.
        _ => "the rules: nothing else applies or was asked for",
    }
}

/// `1 buffer`, `2 buffers`.
#[must_use]
pub fn counted(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// The distance of an arena from its lower bound, in words.
#[must_use]
pub fn gap(arena_bytes: u64, lower_bound_bytes: u64) -> String {
    match arena_bytes.saturating_sub(lower_bound_bytes) {
        0 => "none".to_owned(),
        gap if lower_bound_bytes == 0 => size::long(gap),
        gap => format!("{}, {}", size::long(gap), size::percent(gap, lower_bound_bytes)),
    }
}

/// An arena and its lower bound, in a line.
#[must_use]
pub(crate) fn levels(arena_bytes: u64, lower_bound_bytes: u64) -> String {
    let (arena, bound) = (size::long(arena_bytes), size::long(lower_bound_bytes));
    let gap = gap(arena_bytes, lower_bound_bytes);
    format!("arena {arena}, lower bound {bound}, gap {gap}")
}

/// Somebody else's text in a line for people: as it is if it is plain, else quoted and escaped;
/// not too long.
#[must_use]
pub fn plain(id: &str) -> String {
    const MOST: usize = 60;
    let (shown, more) = match id.char_indices().nth(MOST) {
        Some((end, _)) => (&id[..end], "…"),
        None => (id, ""),
    };
    let quoted = format!("{shown:?}");
    let is_plain = !id.is_empty() && quoted[1..quoted.len() - 1] == *shown;
    if is_plain { format!("{shown}{more}") } else { format!("{quoted}{more}") }
}

/// The text with control characters escaped: names of files may hold anything.
#[must_use]
pub fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}

/// A colour for what is to be seen first. It is an escape sequence: who writes to no terminal strips it.
#[must_use]
pub fn bold(colour: AnsiColor) -> Style {
    colour.on_default().bold()
}

/// Writes an object as JSON, with a line for each key.
///
/// # Errors
/// What the writer says.
pub fn write_json(mut out: &mut dyn Write, object: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, object)?;
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_that_could_do_harm_is_quoted() {
        assert_eq!(plain("block1.conv/é"), "block1.conv/é");
        assert_eq!(plain(""), "\"\"");
        assert_eq!(plain("a\u{1b}[2J"), "\"a\\u{1b}[2J\"");
        assert_eq!(plain(&"é".repeat(61)), format!("{}…", "é".repeat(60)));
        assert_eq!(plain("say \"hi\""), "\"say \\\"hi\\\"\"");
    }

    #[test]
    fn a_gap_is_in_bytes_and_percent_of_the_bound() {
        assert_eq!(gap(96, 96), "none");
        assert_eq!(gap(64, 0), "64 bytes");
        assert_eq!(gap(128, 96), "32 bytes, 33.3 %");
        assert_eq!(gap(6144, 4096), "2048 bytes (2 KiB), 50.0 %");
    }
}
