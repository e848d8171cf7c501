//! Records and fields: commas, quotes, line ends; bounded in memory.

use std::io::BufRead;

use super::{CsvError, Fault};

/// The longest record that is accepted.
pub const MAX_RECORD_BYTES: usize = 1 << 20;

/// Reads records one by one, skipping blank lines and a byte-order mark.
pub(super) struct Records<R> {
    reader: R,
    /// The line that the next record starts on.
    next_line: u64,
}

/// A record: the line it starts on, and its fields without quotes and surrounding blanks.
pub(super) struct Record {
    pub(super) line: u64,
    pub(super) fields: Vec<String>,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(reader: R) -> Self {
        Records { reader, next_line: 1 }
    }

    /// The line of the next record.
    pub(super) fn line(&self) -> u64 {
        self.next_line
    }

    /// The next record that is not blank.
    pub(super) fn next(&mut self) -> Result<Option<Record>, CsvError> {
        loop {
            let line = self.next_line;
            let fail = |fault| CsvError { line, fault };
            let Some(bytes) = self.take(line)? else { return Ok(None) };
            let text = str::from_utf8(&bytes).map_err(|_| fail(Fault::NotText))?;
            let text = if line == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
            if !text.trim().is_empty() {
                let fields = split(text).ok_or_else(|| fail(Fault::Quote))?;
                return Ok(Some(Record { line, fields }));
            }
        }
    }

    /// The bytes up to the next line end that is not inside quotes; `None` at the end.
    fn take(&mut self, line: u64) -> Result<Option<Vec<u8>>, CsvError> {
        let fail = |fault| CsvError { line, fault };
        let mut bytes = Vec::new();
        let mut in_quotes = false;
        loop {
            let before = bytes.len();
            let left = (MAX_RECORD_BYTES + 1 - before) as u64;
            let mut limited = std::io::Read::take(&mut self.reader, left);
            limited.read_until(b'\n', &mut bytes).map_err(|e| fail(Fault::Io(e)))?;
            if bytes.len() > MAX_RECORD_BYTES {
                return Err(fail(Fault::TooLong));
            }
            let fresh = &bytes[before..];
            let ended = fresh.last() == Some(&b'\n');
            self.next_line += u64::from(ended);
            // A line end inside quotes belongs to the field. Quotes come in pairs, escaped ones too.
            in_quotes = fresh.iter().filter(|b| **b == b'"').fold(in_quotes, |inside, _| !inside);
            if fresh.is_empty() || (ended && !in_quotes) {
                return Ok(if bytes.is_empty() { None } else { Some(bytes) });
            }
        }
    }
}

/// The fields of a record; `None` if its quotes are not in order.
fn split(text: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut rest = text.strip_suffix('\n').unwrap_or(text);
    rest = rest.strip_suffix('\r').unwrap_or(rest);
    loop {
        let (field, after) = if let Some(inside) = rest.trim_start().strip_prefix('"') {
            unquote(inside)?
        } else {
            let end = rest.find([',', '"']).unwrap_or(rest.len());
            (rest[..end].trim().to_owned(), &rest[end..])
        };
        fields.push(field);
        match after.strip_prefix(',') {
            Some(more) => rest = more,
            None => return after.is_empty().then_some(fields),
        }
    }
}

/// A quoted field from behind its opening quote: its text, and what follows it.
fn unquote(inside: &str) -> Option<(String, &str)> {
    let mut field = String::new();
    let mut rest = inside;
    loop {
        let quote = rest.find('"')?;
        field.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        let Some(more) = rest.strip_prefix('"') else {
            let after = rest.trim_start();
            return (after.is_empty() || after.starts_with(',')).then_some((field, after));
        };
        field.push('"');
        rest = more;
    }
}
