//! From CSV to problems and claims.

use std::collections::HashMap;
use std::io::BufRead;

use super::cell::from_cell;
use super::column::{Column, Header};
use super::record::{Record, Records};
use super::{CsvError, Fault, Table};
use crate::check::Claim;
use crate::problem::{Buffer, Gap, Life, Problem, Span};

const MOMENT: &str = "a whole number below 2^63";
const BYTES: &str = "a whole number of bytes below 2^64";
const GAPS: &str = "gaps like 3-5 or 3-5@0:16, separated by blanks";

/// Reads a problem; an alignment that the file does not give is 1.
pub fn read(reader: impl BufRead) -> Result<Table, CsvError> {
    read_aligned(reader, 1)
}

/// Reads a problem; an alignment that the file does not give is `align`.
pub fn read_aligned(reader: impl BufRead, align: u64) -> Result<Table, CsvError> {
    let mut records = Records::new(reader);
    let required = [Column::Id, Column::Lower, Column::Upper, Column::Size];
    let header = read_header(&mut records, &required, "id,lower,upper,size")?;
    let mut names = Names::default();
    let mut buffers = Vec::new();
    while let Some(row) = next_row(&mut records, &header)? {
        let fail = |fault| CsvError { line: row.line, fault };
        buffers.push(read_buffer(&header, &row.fields, align).map_err(fail)?);
        names.push(&header, &row)?;
    }
    names.reject_duplicates()?;
    let Names { ids, lines } = names;
    let problem = Problem::new(buffers).map_err(|error| {
        let at = error.buffer.index();
        let (line, id) = (lines.get(at).copied().unwrap_or(1), ids.get(at).cloned());
        CsvError { line, fault: Fault::Rule { id: id.unwrap_or_default(), rule: error.rule } }
    })?;
    Ok(Table { ids, problem })
}

/// Reads the offsets that somebody claims for the buffers of a table. Only the columns `id` and
/// `offset` count; a row without an offset is as good as no row.
pub fn read_solution(reader: impl BufRead, table: &Table) -> Result<Claim, CsvError> {
    let mut records = Records::new(reader);
    let header = read_header(&mut records, &[Column::Id, Column::Offset], "id,offset")?;
    let known: HashMap<&str, usize> =
        table.ids.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
    let mut names = Names::default();
    let mut claim = Claim { offsets: vec![None; table.ids.len()], unknown: Vec::new() };
    while let Some(row) = next_row(&mut records, &header)? {
        let fail = |fault| CsvError { line: row.line, fault };
        let offset = bytes(&header, &row.fields, Column::Offset).map_err(fail)?;
        let id = names.push(&header, &row)?;
        match known.get(id) {
            Some(i) => claim.offsets[*i] = offset,
            None => claim.unknown.push(id.to_owned()),
        }
    }
    names.reject_duplicates()?;
    Ok(claim)
}

/// The ids of the rows, and their lines.
#[derive(Default)]
struct Names {
    ids: Vec<String>,
    lines: Vec<u64>,
}

impl Names {
    /// Keeps the id of a row, and gives it back.
    fn push(&mut self, header: &Header, row: &Record) -> Result<&str, CsvError> {
        let Some(id) = header.field(&row.fields, Column::Id) else {
            let fault = header.fault(&row.fields, Column::Id, "an id");
            return Err(CsvError { line: row.line, fault });
        };
        self.lines.push(row.line);
        self.ids.push(from_cell(id).into_owned());
        Ok(&self.ids[self.ids.len() - 1])
    }

    fn reject_duplicates(&self) -> Result<(), CsvError> {
        let mut first = HashMap::with_capacity(self.ids.len());
        for (id, line) in self.ids.iter().zip(&self.lines) {
            if let Some(first) = first.insert(id, *line) {
                return Err(CsvError {
                    line: *line,
                    fault: Fault::DuplicateId { id: id.clone(), first },
                });
            }
        }
        Ok(())
    }
}

fn read_header(
    records: &mut Records<impl BufRead>,
    required: &[Column],
    example: &'static str,
) -> Result<Header, CsvError> {
    let Some(record) = records.next()? else {
        return Err(CsvError { line: records.line(), fault: Fault::Empty(example) });
    };
    let header = Header::parse(record.line, &record.fields)?;
    header.require(record.line, required)?;
    Ok(header)
}

fn next_row(
    records: &mut Records<impl BufRead>,
    header: &Header,
) -> Result<Option<Record>, CsvError> {
    let Some(record) = records.next()? else { return Ok(None) };
    let (found, expected) = (record.fields.len(), header.len());
    if found != expected {
        return Err(CsvError { line: record.line, fault: Fault::FieldCount { found, expected } });
    }
    Ok(Some(record))
}

fn read_buffer(header: &Header, row: &[String], align: u64) -> Result<Buffer, Fault> {
    let needed = |column, expected| move || header.fault(row, column, expected);
    let lower = moment(header, row, Column::Lower)?;
    let upper = moment(header, row, Column::Upper)?;
    let upper = half_open(header, upper).ok_or_else(needed(Column::Upper, MOMENT))?;
    let size = bytes(header, row, Column::Size)?.ok_or_else(needed(Column::Size, BYTES))?;
    let gaps = header.field(row, Column::Gaps).unwrap_or("").split_whitespace();
    let gaps = gaps.map(|gap| read_gap(header, gap)).collect::<Option<Vec<Gap>>>();
    Ok(Buffer {
        align: bytes(header, row, Column::Alignment)?.unwrap_or(align),
        fixed: bytes(header, row, Column::Offset)?,
        hint: bytes(header, row, Column::Hint)?,
        gaps: gaps.ok_or_else(needed(Column::Gaps, GAPS))?,
        ..Buffer::new(size, Life::new(lower, upper))
    })
}

fn moment(header: &Header, row: &[String], column: Column) -> Result<i64, Fault> {
    let parsed = header.field(row, column).and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| header.fault(row, column, MOMENT))
}

fn bytes(header: &Header, row: &[String], column: Column) -> Result<Option<u64>, Fault> {
    let parsed = header.field(row, column).map(str::parse).transpose();
    parsed.map_err(|_| header.fault(row, column, BYTES))
}

/// The end of a life or a gap as the first moment after it.
fn half_open(header: &Header, end: i64) -> Option<i64> {
    if header.inclusive { end.checked_add(1) } else { Some(end) }
}

/// `a-b` or `a-b@lo:hi`; moments may be negative.
fn read_gap(header: &Header, text: &str) -> Option<Gap> {
    let (life, window) = text.split_once('@').map_or((text, None), |(l, w)| (l, Some(w)));
    let dash = life.char_indices().skip(1).find(|(_, c)| *c == '-')?.0;
    let (start, end) = (life[..dash].parse().ok()?, life[dash + 1..].parse().ok()?);
    let window = match window {
        Some(window) => {
            let (lo, hi) = window.split_once(':')?;
            Some(Span::new(lo.parse().ok()?, hi.parse().ok()?))
        }
        None => None,
    };
    Some(Gap { life: Life::new(start, half_open(header, end)?), window })
}
