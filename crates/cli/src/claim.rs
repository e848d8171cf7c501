//! Reads a solution that somebody claims: CSV, or the JSON that `plimsoll solve` writes.

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{Context, Result, bail, ensure};
use plimsoll::JsonFault;
use plimsoll_pack::Claim;
use plimsoll_pack::csv::{self, Table};
use serde::Deserialize;

use crate::input::Source;
use crate::kind::Wanted;
use plimsoll_report::SOLUTION_FORMAT;

/// The longest JSON that is looked at: it is kept in memory while it is read.
const MOST_JSON_BYTES: u64 = 1 << 30;

/// Of a JSON solution only the offsets count; what else is there may be anything.
#[derive(Deserialize)]
struct Solution {
    format: Option<String>,
    offsets: Vec<Place>,
}

#[derive(Deserialize)]
struct Place {
    id: String,
    offset: Option<u64>,
}

/// Reads the offsets that the source claims for the buffers of the table.
pub(crate) fn read(source: &Source, table: &Table) -> Result<Claim> {
    let read = || {
        let mut reader = source.open(Wanted::Solution)?;
        if source.has_extension("json") || starts_like_json(&mut reader)? {
            read_json(reader, table)
        } else {
            Ok(csv::read_solution(reader, table)?)
        }
    };
    read().with_context(|| source.to_string())
}

/// Whether the first byte that is not blank opens an object. Looks, and takes nothing.
fn starts_like_json(reader: &mut impl BufRead) -> Result<bool> {
    let start = reader.fill_buf().context("cannot read")?;
    Ok(start.trim_ascii_start().first() == Some(&b'{'))
}

fn read_json(reader: impl BufRead, table: &Table) -> Result<Claim> {
    let mut reader = reader.take(MOST_JSON_BYTES);
    let read: Result<Solution, _> = serde_json::from_reader(&mut reader);
    ensure!(reader.limit() > 0, "longer than {MOST_JSON_BYTES} bytes");
    let solution = read.map_err(JsonFault::from)?;
    if let Some(format) = solution.format.filter(|f| f != SOLUTION_FORMAT) {
        bail!("format is {format:?}, expected {SOLUTION_FORMAT:?}");
    }
    claim(&solution.offsets, table)
}

fn claim(places: &[Place], table: &Table) -> Result<Claim> {
    let known: HashMap<&str, usize> =
        table.ids.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
    let mut first = HashMap::with_capacity(places.len());
    let mut claim = Claim { offsets: vec![None; table.ids.len()], unknown: Vec::new() };
    for (i, Place { id, offset }) in places.iter().enumerate() {
        if let Some(first) = first.insert(id.as_str(), i) {
            bail!("offsets[{i}]: id {id:?} is already at offsets[{first}]");
        }
        match known.get(id.as_str()) {
            Some(buffer) => claim.offsets[*buffer] = *offset,
            None => claim.unknown.push(id.clone()),
        }
    }
    Ok(claim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        csv::read(&b"id,lower,upper,size\na,0,2,4\nb,0,2,4\n"[..]).expect("valid")
    }

    fn json(text: &str) -> Result<Claim, String> {
        read_json(text.as_bytes(), &table()).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn offsets_go_to_their_buffers_in_any_order() {
        let claim = json(
            r#"{"offsets":[{"id":"b","offset":4},{"id":"x","offset":1},{"id":"a","offset":0}]}"#,
        );
        let expected = Claim { offsets: vec![Some(0), Some(4)], unknown: vec!["x".to_owned()] };
        assert_eq!(claim, Ok(expected));
    }

    #[test]
    fn a_null_is_no_offset() {
        let claim = json(r#"{"offsets":[{"id":"a","offset":null}]}"#);
        assert_eq!(claim.map(|c| c.offsets), Ok(vec![None, None]));
    }

    #[test]
    fn what_is_not_a_solution_says_where() {
        let cases = [
            ("{", "line 1, column 1: the text ends inside of an object"),
            ("{}", "line 1, column 2: the key `offsets` is missing"),
            (r#"{"offsets":[]} x"#, "line 1, column 16: there is more behind the end of the value"),
            (
                r#"{"format":"plimsoll.plan/1","offsets":[]}"#,
                r#"format is "plimsoll.plan/1", expected "plimsoll.solution/1""#,
            ),
            (
                r#"{"offsets":[{"id":"a","offset":0},{"id":"a","offset":0}]}"#,
                r#"offsets[1]: id "a" is already at offsets[0]"#,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(json(text), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn json_is_known_by_its_first_byte() {
        assert!(starts_like_json(&mut &b"\n  {"[..]).expect("readable"));
        assert!(!starts_like_json(&mut &b"id,offset\n{,1\n"[..]).expect("readable"));
        assert!(!starts_like_json(&mut &b""[..]).expect("readable"));
    }
}
