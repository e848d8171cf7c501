//! Problems and solutions as CSV, in the form that `MiniMalloc` introduced.
//!
//! A header, then a row for each buffer; `docs/formats.md` describes the columns. Ids are any
//! text ([`to_cell`] says how they are written) and stay outside of [`Problem`], which knows only numbers: a [`Table`] keeps the two side
//! by side. Reading is streamed and bounded: a record of more than [`MAX_RECORD_BYTES`] is
//! rejected, not collected.

mod cell;
mod column;
mod read;
mod record;
mod write;

use std::{fmt, io};

pub use cell::to_cell;
pub use read::{read, read_aligned, read_solution};
pub use record::MAX_RECORD_BYTES;
pub use write::{write_problem, write_solution};

use crate::problem::{BufferId, Problem};

/// A problem, and what its buffers are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// By [`BufferId`]; no two are equal.
    pub ids: Vec<String>,
    /// The buffers.
    pub problem: Problem,
}

impl Table {
    /// What a buffer is called.
    ///
    /// # Panics
    /// If it is not a buffer of this problem.
    #[must_use]
    pub fn name(&self, id: BufferId) -> &str {
        &self.ids[id.index()]
    }
}

/// Why a file was rejected, and where.
#[derive(Debug)]
pub struct CsvError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong there.
    pub fault: Fault,
}

/// What can be wrong with a CSV file.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    /// It could not be read.
    Io(io::Error),
    /// There is no header; these columns would be needed.
    Empty(&'static str),
    /// Bytes that are not UTF-8.
    NotText,
    /// A record of more than [`MAX_RECORD_BYTES`].
    TooLong,
    /// A quoted field that never ends, or that goes on after its closing quote.
    Quote,
    /// A column that nobody knows.
    UnknownColumn(String),
    /// Two columns for the same thing.
    ColumnTwice(String),
    /// A column that is needed is not there.
    MissingColumn(&'static str),
    /// A row with more or fewer fields than the header.
    FieldCount {
        /// Fields in the row.
        found: usize,
        /// Fields in the header.
        expected: usize,
    },
    /// A field that does not hold what its column wants.
    Field {
        /// The name of the column.
        column: String,
        /// What the field holds.
        found: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// Two rows with the same id.
    DuplicateId {
        /// The id.
        id: String,
        /// The line where it came first.
        first: u64,
    },
    /// A buffer that breaks a rule.
    Rule {
        /// The id of the buffer.
        id: String,
        /// The rule.
        rule: crate::Rule,
    },
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Io(error) => write!(f, "cannot read: {error}"),
            Fault::Empty(columns) => {
                write!(f, "the file is empty; expected a header like {columns}")
            }
            Fault::NotText => write!(f, "not text (invalid UTF-8)"),
            Fault::TooLong => write!(f, "longer than {MAX_RECORD_BYTES} bytes"),
            Fault::Quote => {
                write!(f, "a quoted field is not closed, or goes on after its closing quote")
            }
            Fault::UnknownColumn(name) => {
                write!(f, "unknown column {}; known are {}", quoted(name), column::KNOWN)
            }
            Fault::ColumnTwice(name) => write!(f, "a second column for {name}"),
            Fault::MissingColumn(name) => write!(f, "the header has no column {name}"),
            Fault::FieldCount { found, expected } => {
                write!(f, "{found} fields where the header has {expected}")
            }
            Fault::Field { column, found, expected } => {
                write!(f, "column {column}: expected {expected}, found {}", quoted(found))
            }
            Fault::DuplicateId { id, first } => {
                write!(f, "id {} is already on line {first}", quoted(id))
            }
            Fault::Rule { id, rule } => write!(f, "buffer {}: {rule}", quoted(id)),
        }
    }
}

/// Somebody else's text, made safe to print and not too long.
fn quoted(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}

impl std::error::Error for CsvError {}

#[cfg(test)]
mod tests;
