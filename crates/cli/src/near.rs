//! `--near`: where things are in a plan that was written before, by name.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use plimsoll::{BankId, Near, PLAN_FORMAT, Program, StepId, ValueId, object_from_json};
use serde::Deserialize;

use crate::input::Source;
use crate::kind::Wanted;

/// Of a plan only where things are.
#[derive(Deserialize)]
struct Places {
    format: Option<String>,
    #[serde(default)]
    banks: Vec<Bank>,
    #[serde(default)]
    values: Vec<Value>,
    #[serde(default)]
    scratch: Vec<Scratch>,
}

#[derive(Deserialize)]
struct Bank {
    name: String,
}

#[derive(Deserialize)]
struct Value {
    name: String,
    bank: Option<String>,
    offset: Option<u64>,
}

#[derive(Deserialize)]
struct Scratch {
    step: String,
    bank: String,
    offset: u64,
}

/// A bank and an offset in it.
type At = (BankId, u64);

/// Reads a plan: where the values and the scratch memory of a program are in it.
pub(crate) fn read(source: &Source, program: &dyn Program) -> Result<Near> {
    let read = || -> Result<Places> {
        let text = source.text(Wanted::Other)?;
        let places: Places = object_from_json(&text).context("not JSON of a plan")?;
        let is_plan = places.format.as_deref() == Some(PLAN_FORMAT);
        ensure!(is_plan, "no plan: its format is not {PLAN_FORMAT:?}");
        Ok(places)
    };
    let places = read().with_context(|| format!("--near {source}"))?;
    let banks: Vec<String> = places.banks.into_iter().map(|bank| bank.name).collect();
    let bank = |name: &str| banks.iter().position(|bank| bank == name).map(BankId::new);
    let values = places.values.iter();
    let values: BTreeMap<&str, At> = values
        .filter_map(|row| Some((row.name.as_str(), (bank(row.bank.as_deref()?)?, row.offset?))))
        .collect();
    let scratch: BTreeMap<&str, At> = places
        .scratch
        .iter()
        .filter_map(|row| Some((row.step.as_str(), (bank(&row.bank)?, row.offset))))
        .collect();
    let value =
        |index: usize| values.get(program.value_name(ValueId::new(index)).as_ref()).copied();
    let step = |index: usize| scratch.get(program.step_name(StepId::new(index)).as_ref()).copied();
    Ok(Near {
        values: (0..program.values()).map(value).collect(),
        scratch: (0..program.steps()).map(step).collect(),
        banks,
    })
}
