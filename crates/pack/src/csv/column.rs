//! The header: which column holds what, under all the names that are met in the wild.

use super::{CsvError, Fault};

/// What the error for an unknown column lists.
pub(super) const KNOWN: &str = "id (buffer, buffer_id), lower (start, begin), upper, \
     end (inclusive), size, alignment, offset, hint, gaps";

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Id,
    Lower,
    Upper,
    Size,
    Alignment,
    Offset,
    Hint,
    Gaps,
}

impl Column {
    /// The column of that name, and whether its moments are inclusive ends.
    fn by_name(name: &str) -> Option<(Column, bool)> {
        let column = match name.to_ascii_lowercase().as_str() {
            "id" | "buffer" | "buffer_id" => Column::Id,
            "lower" | "start" | "begin" => Column::Lower,
            "upper" => Column::Upper,
            "end" => return Some((Column::Upper, true)),
            "size" => Column::Size,
            "alignment" => Column::Alignment,
            "offset" => Column::Offset,
            "hint" => Column::Hint,
            "gaps" => Column::Gaps,
            _ => return None,
        };
        Some((column, false))
    }

    fn name(self) -> &'static str {
        match self {
            Column::Id => "id",
            Column::Lower => "lower",
            Column::Upper => "upper",
            Column::Size => "size",
            Column::Alignment => "alignment",
            Column::Offset => "offset",
            Column::Hint => "hint",
            Column::Gaps => "gaps",
        }
    }
}

/// The header of a file.
pub(super) struct Header {
    /// What each field of a row is, and what the file calls it.
    columns: Vec<(Column, String)>,
    /// Whether the ends of lives and gaps belong to them: the file says `end`, not `upper`.
    pub(super) inclusive: bool,
}

impl Header {
    pub(super) fn parse(line: u64, fields: &[String]) -> Result<Header, CsvError> {
        let fail = |fault| CsvError { line, fault };
        let mut header = Header { columns: Vec::new(), inclusive: false };
        for name in fields {
            let Some((column, inclusive)) = Column::by_name(name) else {
                return Err(fail(Fault::UnknownColumn(name.clone())));
            };
            if header.position(column).is_some() {
                return Err(fail(Fault::ColumnTwice(column.name().to_owned())));
            }
            header.columns.push((column, name.clone()));
            header.inclusive |= inclusive;
        }
        Ok(header)
    }

    /// Rejects a header without these columns.
    pub(super) fn require(&self, line: u64, columns: &[Column]) -> Result<(), CsvError> {
        match columns.iter().find(|c| self.position(**c).is_none()) {
            Some(missing) => Err(CsvError { line, fault: Fault::MissingColumn(missing.name()) }),
            None => Ok(()),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.columns.len()
    }

    fn position(&self, column: Column) -> Option<usize> {
        self.columns.iter().position(|(c, _)| *c == column)
    }

    /// The field of a row in that column, if there is one and it is not empty.
    pub(super) fn field<'r>(&self, row: &'r [String], column: Column) -> Option<&'r str> {
        self.position(column).map(|i| row[i].as_str()).filter(|text| !text.is_empty())
    }

    /// A rejection of what a row holds in that column.
    pub(super) fn fault(&self, row: &[String], column: Column, expected: &'static str) -> Fault {
        let name = self.position(column).map_or(column.name(), |i| &self.columns[i].1);
        let found = self.field(row, column).unwrap_or("").to_owned();
        Fault::Field { column: name.to_owned(), found, expected }
    }
}
