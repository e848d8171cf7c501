//! Ids as cells of a table that people open with a spreadsheet or show in a terminal.
//!
//! Ids are anybody's text. A control character is written as `\u{1b}`, so that every row is one line
//! and a terminal does nothing of its own; an id that begins like a formula has a `'` before it, so that a
//! spreadsheet shows it and does not run it. Reading undoes both. Linear.

use std::borrow::Cow;

/// What a formula begins with.
const FORMULA: [char; 4] = ['=', '+', '-', '@'];

/// What a control character is written as begins like this.
const ESCAPE: &str = "\\u{";

/// The id as it stands in a cell; reading gives it back.
#[must_use]
pub fn to_cell(id: &str) -> Cow<'_, str> {
    let is_plain = !id.contains(char::is_control) && !id.contains(ESCAPE) && !needs_mark(id);
    if is_plain {
        return Cow::Borrowed(id);
    }
    let mut cell = String::with_capacity(id.len() + 8);
    if needs_mark(id) {
        cell.push('\'');
    }
    for (at, c) in id.char_indices() {
        // A backslash that could be taken for the beginning of an escape is escaped itself.
        if c.is_control() || id[at..].starts_with(ESCAPE) {
            cell.extend(c.escape_unicode());
        } else {
            cell.push(c);
        }
    }
    Cow::Owned(cell)
}

/// The id that a cell means.
pub(super) fn from_cell(cell: &str) -> Cow<'_, str> {
    let marked = cell.strip_prefix('\'').filter(|rest| is_marked(rest));
    let text = marked.unwrap_or(cell);
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut id = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(ESCAPE) {
        id.push_str(before);
        let digits = behind.split_once('}');
        let code = digits.and_then(|(digits, after)| {
            let code = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
            Some((code, after))
        });
        if let Some((c, after)) = code {
            id.push(c);
            rest = after;
        } else {
            // Somebody else's backslash.
            id.push_str(ESCAPE);
            rest = behind;
        }
    }
    id.push_str(rest);
    Cow::Owned(id)
}

/// Whether a mark has to stand before the id.
fn needs_mark(id: &str) -> bool {
    id.starts_with(FORMULA) || id.strip_prefix('\'').is_some_and(is_marked)
}

/// Whether a `'` before this is a mark, and not part of the id.
fn is_marked(rest: &str) -> bool {
    rest.starts_with(FORMULA) || rest.starts_with('\'')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_do_nothing_in_a_terminal_or_a_spreadsheet() {
        let cases = [
            ("conv/é 1", "conv/é 1"),
            ("=HYPERLINK(\"x\")", "'=HYPERLINK(\"x\")"),
            ("+1", "'+1"),
            ("-x", "'-x"),
            ("@SUM", "'@SUM"),
            ("a=b", "a=b"),
            ("'quoted'", "'quoted'"),
            ("'=x", "''=x"),
            ("''", "'''"),
            ("a\tb\r\n\u{1b}[2J\u{7f}", "a\\u{9}b\\u{d}\\u{a}\\u{1b}[2J\\u{7f}"),
            ("\\u{1b}", "\\u{5c}u{1b}"),
            ("C:\\users", "C:\\users"),
            ("\t=x", "\\u{9}=x"),
        ];
        for (id, cell) in cases {
            assert_eq!(to_cell(id), cell, "{id:?}");
            assert_eq!(from_cell(cell), id, "{cell:?}");
        }
    }

    /// Whatever the ids, two are never written alike: reading gives each back.
    #[test]
    fn every_short_id_comes_back() {
        let letters = ['\'', '=', '-', 'a', '\\', 'u', '{', '9', '}', '\t', '"', ','];
        let mut ids = vec![String::new()];
        for _ in 0..4 {
            let longer = ids.iter().flat_map(|id| letters.map(|c| format!("{id}{c}")));
            ids = longer.collect();
            for id in &ids {
                let cell = to_cell(id);
                assert_eq!(from_cell(&cell), id.as_str(), "{cell:?}");
                assert!(!cell.starts_with(FORMULA) && !cell.contains(char::is_control), "{cell:?}");
            }
        }
    }

    #[test]
    fn what_is_no_escape_stays() {
        for id in ["\\u{", "\\u{}", "\\u{xyz}", "\\u{110000}", "\\u{d800}", "a\\u{12"] {
            assert_eq!(from_cell(id), id);
            assert_eq!(from_cell(&to_cell(id)), id);
        }
    }
}
