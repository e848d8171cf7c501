//! Places that one plan lends to another: from its plan, or from a layout that was written down.

use anyhow::{Context, Result};
use plimsoll::{PLAN_FORMAT, SharedLayout, SharedSlot};
use serde::Deserialize;

use crate::input::Source;

/// Of a plan only what lends its places.
#[derive(Deserialize)]
struct Lender {
    format: Option<String>,
    #[serde(default)]
    values: serde_json::Value,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    bytes: u64,
    bank: Option<String>,
    offset: Option<u64>,
    role: Option<String>,
    root: Option<String>,
}

/// Reads a layout: of a plan, the places of all its params.
pub(crate) fn read(source: &Source) -> Result<SharedLayout> {
    let read = || -> Result<SharedLayout> {
        let text = source.text("")?;
        let lender: Lender = serde_json::from_str(&text).context("not JSON of a plan or layout")?;
        if lender.format.as_deref() != Some(PLAN_FORMAT) {
            return Ok(SharedLayout::from_json(&text)?);
        }
        let rows: Vec<Row> = serde_json::from_value(lender.values).context("not a plan: values")?;
        let lent = rows.into_iter().filter(|row| row.role.as_deref() == Some("param"));
        let slot = |row: Row| match (row.bank, row.offset, row.root) {
            (Some(bank), Some(offset), None) => {
                Some((row.name, SharedSlot { bank, offset, bytes: row.bytes }))
            }
            _ => None,
        };
        Ok(SharedLayout { values: lent.filter_map(slot).collect() })
    };
    read().with_context(|| source.to_string())
}
