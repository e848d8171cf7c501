//! `plimsoll.plan/1`: the plan as one JSON object, and back.
//!
//! No time stamps and no durations: the same plan is the same bytes. Values and steps go by name,
//! so the names of a program that is written or read must differ.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use plimsoll_pack::Limit;
use serde::{Deserialize, Serialize};

use super::Totals;
use super::follows::follows;
use crate::ids::{BankId, StepId, ValueId};
use crate::plan::{Bank, Derivation, Place, Plan, Slot};
use crate::program::{Layout, Program, Role, Storage, root_of};

/// What the `format` key says.
pub const PLAN_FORMAT: &str = "plimsoll.plan/1";

/// What the command line or another caller wants to be told beside the plan: the options and
/// bindings that made it, by name.
pub type Told = BTreeMap<String, serde_json::Value>;

#[derive(Serialize, Deserialize)]
pub(super) struct PlanFile {
    pub(super) format: String,
    #[serde(default)]
    pub(super) arena_bytes: u64,
    #[serde(default)]
    pub(super) lower_bound_bytes: u64,
    #[serde(default)]
    pub(super) status: String,
    /// What kept the packer from knowing more.
    #[serde(default)]
    pub(super) limit: Option<String>,
    /// Only there where it is false: somebody has stopped the packer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reproducible: Option<bool>,
    #[serde(default)]
    pub(super) unshared_bytes: u64,
    #[serde(default)]
    pub(super) saved_bytes: i64,
    #[serde(default)]
    pub(super) buffers_bytes: u64,
    #[serde(default)]
    pub(super) weights_bytes: u64,
    #[serde(default)]
    pub(super) static_bytes: u64,
    #[serde(default)]
    pub(super) inputs_bytes: u64,
    #[serde(default)]
    pub(super) outputs_bytes: u64,
    #[serde(default)]
    pub(super) won_by: String,
    pub(super) align: u64,
    #[serde(flatten)]
    pub(super) found: Told,
    #[serde(default)]
    pub(super) options: Told,
    pub(super) banks: Vec<BankRow>,
    pub(super) schedule: Vec<String>,
    pub(super) values: Vec<ValueRow>,
    #[serde(default)]
    pub(super) scratch: Vec<ScratchRow>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct BankRow {
    pub(super) name: String,
    pub(super) bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) capacity: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ValueRow {
    pub(super) name: String,
    /// The bank; absent for values outside of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) bank: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) offset: Option<u64>,
    pub(super) bytes: u64,
    /// Whether that is only a limit: how many are used depends on data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) at_most: bool,
    /// The bytes of its place, if they are more: some are left free behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) slot_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) start: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) end: Option<u64>,
    pub(super) storage: String,
    /// Who makes it, if not a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) role: Option<String>,
    /// What it is a view of, or what of the caller's it is written over, and where in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) root: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) root_offset: Option<u64>,
    /// The bytes of each of its rows and how far they are apart, if it is not one stretch of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) row_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pitch_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) buffer: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) in_place_of: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) follows: Vec<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ScratchRow {
    pub(super) step: String,
    pub(super) bank: String,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

/// The plan as JSON, one value a line.
/// `found` is what else is known of it, under keys of its own.
///
/// # Panics
/// Never: names and numbers can always be written.
#[must_use]
pub fn write_plan(program: &dyn Program, plan: &Plan, options: Told, found: Told) -> String {
    let totals = Totals::new(program, plan);
    let is_view = |value| program.value(value).view_of.is_some();
    let follows = follows(plan, is_view);
    let name = |value: ValueId| program.value_name(value).into_owned();
    let bank_name = |bank: BankId| plan.banks[bank.index()].name.clone();
    let value = |index: usize| {
        let (id, place) = (ValueId::new(index), plan.places[index]);
        let info = program.value(id);
        let slot = if let Place::Bank(slot) = place { Some(slot) } else { None };
        let member = plan.derivation.members.get(index).copied().flatten();
        let root = match (place, info.view_of) {
            (_, Some(_)) => Some(root_of(program, id)),
            (Place::Outside { root, offset }, None) => {
                Some((root, Layout { first: offset, rows: None }))
            }
            _ => None,
        };
        let rows = root.and_then(|(_, layout)| layout.rows);
        ValueRow {
            name: name(id),
            bank: slot.map(|s| bank_name(s.bank)),
            offset: slot.map(|s| s.offset),
            bytes: info.bytes,
            at_most: program.is_limit(id),
            slot_bytes: slot.map(|s| s.bytes).filter(|bytes| *bytes != info.bytes),
            start: member.map(|m| m.live.start.0),
            end: member.map(|m| m.live.end.0),
            storage: storage(place, info.storage).to_owned(),
            role: role(info.role).map(str::to_owned),
            root: root.map(|(root, _)| name(root)),
            root_offset: root.map(|(_, layout)| layout.first),
            row_bytes: rows.map(|rows| rows.bytes),
            pitch_bytes: rows.map(|rows| rows.pitch),
            buffer: member.map(|m| m.buffer.0),
            in_place_of: member.and_then(|m| m.took_over).map(name),
            follows: follows[index].iter().copied().map(name).collect(),
        }
    };
    let scratch = |(index, slot): (usize, &Option<Slot>)| {
        let step = program.step_name(StepId::new(index)).into_owned();
        slot.map(|s| ScratchRow { step, bank: bank_name(s.bank), offset: s.offset, bytes: s.bytes })
    };
    let bank = |bank: &Bank| BankRow {
        name: bank.name.clone(),
        bytes: bank.bytes,
        capacity: bank.capacity,
    };
    let file = PlanFile {
        format: PLAN_FORMAT.to_owned(),
        arena_bytes: totals.arena_bytes,
        lower_bound_bytes: totals.lower_bound_bytes,
        status: if plan.derivation.optimal { "optimal" } else { "feasible" }.to_owned(),
        limit: plan.derivation.limit.map(|limit| limit.name().to_owned()),
        reproducible: (plan.derivation.limit == Some(Limit::Stopped)).then_some(false),
        unshared_bytes: totals.unshared_bytes,
        saved_bytes: totals.saved_bytes(),
        buffers_bytes: totals.buffers_bytes,
        weights_bytes: totals.weights_bytes,
        static_bytes: totals.static_bytes,
        inputs_bytes: totals.inputs_bytes,
        outputs_bytes: totals.outputs_bytes,
        won_by: plan.derivation.won_by.clone(),
        align: plan.align,
        found,
        options,
        banks: plan.banks.iter().map(bank).collect(),
        schedule: plan.schedule.iter().map(|s| program.step_name(*s).into_owned()).collect(),
        values: (0..plan.places.len()).map(value).collect(),
        scratch: plan.scratch.iter().enumerate().filter_map(scratch).collect(),
    };
    serde_json::to_string_pretty(&file).expect("names and numbers") + "\n"
}

fn storage(place: Place, storage: Storage) -> &'static str {
    match (place, storage) {
        (Place::Elided, _) => "elided",
        (Place::External | Place::Outside { .. }, _) => "external",
        (Place::Bank(_), Storage::Persistent) => "persistent",
        (Place::Bank(_), Storage::Shared) => "shared",
        (Place::Bank(_), _) => "arena",
    }
}

fn role(role: Role) -> Option<&'static str> {
    match role {
        Role::Input => Some("input"),
        Role::Param => Some("param"),
        Role::Constant => Some("constant"),
        Role::Static => Some("static"),
        Role::Temporary => None,
    }
}

/// Reads a plan for a program: anybody's, as long as it has the keys that matter. How it came
/// about is not read.
pub fn read_plan(program: &dyn Program, text: &str) -> Result<Plan, PlanReadError> {
    let file: PlanFile = serde_json::from_str(text).map_err(PlanReadError::Json)?;
    if file.format != PLAN_FORMAT {
        return Err(PlanReadError::Format(file.format));
    }
    let values =
        names((0..program.values()).map(|v| program.value_name(ValueId::new(v)).into_owned()))?;
    let steps =
        names((0..program.steps()).map(|s| program.step_name(StepId::new(s)).into_owned()))?;
    let banks = names(file.banks.iter().map(|bank| bank.name.clone()))?;
    let find = |known: &HashMap<String, usize>, name: &str| {
        known.get(name).copied().ok_or_else(|| PlanReadError::Unknown(name.to_owned()))
    };
    let slot = |bank: &str, offset, bytes| {
        Ok(Slot { bank: BankId::new(find(&banks, bank)?), offset, bytes })
    };
    let mut places = vec![None; values.len()];
    for row in &file.values {
        let index = find(&values, &row.name)?;
        let place = match (&row.bank, row.offset, row.storage.as_str()) {
            (Some(bank), Some(offset), _) => {
                Place::Bank(slot(bank, offset, row.slot_bytes.unwrap_or(row.bytes))?)
            }
            (_, _, "elided") => Place::Elided,
            (..) => match (root_of(program, ValueId::new(index)), &row.root) {
                ((root, _), Some(over)) if root.index() == index => {
                    let root = ValueId::new(find(&values, over)?);
                    Place::Outside { root, offset: row.root_offset.unwrap_or(0) }
                }
                ((root, _), None) if root.index() == index => Place::External,
                ((root, layout), _) => Place::Outside { root, offset: layout.first },
            },
        };
        if places[index].replace(place).is_some() {
            return Err(PlanReadError::Twice(row.name.clone()));
        }
    }
    follow_roots(program, &mut places);
    let missing = places.iter().position(Option::is_none);
    if let Some(missing) = missing {
        let name = program.value_name(ValueId::new(missing)).into_owned();
        return Err(PlanReadError::Missing(name));
    }
    let mut scratch = vec![None; steps.len()];
    for row in &file.scratch {
        scratch[find(&steps, &row.step)?] = Some(slot(&row.bank, row.offset, row.bytes)?);
    }
    let schedule = file.schedule.iter().map(|s| Ok(StepId::new(find(&steps, s)?)));
    let bank = |row: BankRow| Bank { name: row.name, bytes: row.bytes, capacity: row.capacity };
    Ok(Plan {
        schedule: schedule.collect::<Result<_, PlanReadError>>()?,
        places: places.into_iter().flatten().collect(),
        scratch,
        banks: file.banks.into_iter().map(bank).collect(),
        align: file.align,
        derivation: Derivation::default(),
    })
}

/// Puts views of what is written over the caller's memory there too.
fn follow_roots(program: &dyn Program, places: &mut [Option<Place>]) {
    for index in 0..places.len() {
        let (of, by) = root_of(program, ValueId::new(index));
        if let (Some(Place::Outside { .. }), Some(Place::Outside { root, offset })) =
            (places[index], places[of.index()])
            && of.index() != index
        {
            places[index] = Some(Place::Outside { root, offset: offset.saturating_add(by.first) });
        }
    }
}

/// Names to indices; they must differ.
fn names(names: impl Iterator<Item = String>) -> Result<HashMap<String, usize>, PlanReadError> {
    let mut known = HashMap::new();
    for (index, name) in names.enumerate() {
        if let Some(_first) = known.insert(name.clone(), index) {
            return Err(PlanReadError::Twice(name));
        }
    }
    Ok(known)
}

/// Why a plan could not be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum PlanReadError {
    /// Not JSON, or without a key that is needed; with line and column.
    Json(serde_json::Error),
    /// Another format.
    Format(String),
    /// A name that the program or the plan does not have.
    Unknown(String),
    /// A name that stands for two things.
    Twice(String),
    /// A value without a row.
    Missing(String),
}

impl fmt::Display for PlanReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanReadError::Json(error) => write!(f, "not a plan: {error}"),
            PlanReadError::Format(format) => {
                write!(f, "format is {format:?}, expected {PLAN_FORMAT:?}")
            }
            PlanReadError::Unknown(name) => write!(f, "{name:?} is not in the program"),
            PlanReadError::Twice(name) => write!(f, "{name:?} stands for two things"),
            PlanReadError::Missing(name) => write!(f, "value {name:?} has no row"),
        }
    }
}

impl std::error::Error for PlanReadError {}
