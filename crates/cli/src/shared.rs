//! Places that one plan lends to another: from its plan, or from a layout that was written down.

use anyhow::{Context, Result};
use plimsoll::{
    JsonFault, PLAN_FORMAT, Role, SharedLayout, SharedSlot, Storage, ValueId, object_from_json,
};
use plimsoll_graph::Graph;
use serde::Deserialize;

use crate::input::Source;
use crate::kind::Wanted;

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

/// A note if a layout has places for params of a graph that are not shared: they are not looked for
/// there.
pub(crate) fn plain_params(
    graph: &Graph,
    layout: &SharedLayout,
    source: &Source,
) -> Option<String> {
    let is_plain = |value: &ValueId| {
        let value = graph.value(*value);
        let is_param = value.role == Role::Param && value.storage != Storage::Shared;
        is_param && layout.values.contains_key(&value.name)
    };
    let plain: Vec<ValueId> = graph.value_ids().filter(is_plain).collect();
    let name = &graph.value(*plain.first()?).name;
    let more = match plain.len() - 1 {
        0 => String::new(),
        more => format!(" ({more} more are like that)"),
    };
    Some(format!(
        "{source}: {name:?} is a param of this model that is not shared: it is not placed as the \
         layout says{more}"
    ))
}

/// Reads a layout: of a plan, the places of all its params.
pub(crate) fn read(source: &Source) -> Result<SharedLayout> {
    let read = || -> Result<SharedLayout> {
        let text = source.text(Wanted::Other)?;
        let lender: Lender = object_from_json(&text).context("not JSON of a plan or layout")?;
        if lender.format.as_deref() != Some(PLAN_FORMAT) {
            return Ok(SharedLayout::from_json(&text)?);
        }
        let rows: Vec<Row> = serde_json::from_value(lender.values)
            .map_err(JsonFault::from)
            .context("not a plan: values")?;
        let imported = rows.into_iter().filter(|row| row.role.as_deref() == Some("param"));
        let slot = |row: Row| match (row.bank, row.offset, row.root) {
            (Some(bank), Some(offset), None) => {
                Some((row.name, SharedSlot { bank, offset, bytes: row.bytes }))
            }
            _ => None,
        };
        Ok(SharedLayout { values: imported.filter_map(slot).collect() })
    };
    read().with_context(|| source.to_string())
}
