//! What two plans differ in: totals and choices, the order, the values, and the peak.
//!
//! Plans are compared as they were written, by name: no program is needed, and they may be for two
//! editions of a model. Everything is in a fixed order, so that equal plans give equal reports: that
//! of the second plan, and what only the first has behind it in its own.

mod order;
mod peak;
mod text;

use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use order::OrderDiff;
pub use peak::{AtPeak, Peak, PeakDiff};
use plimsoll::json::{PlanFile, ScratchRow, ValueRow};
use plimsoll::{PLAN_FORMAT, PlanReadError, object_from_json};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
pub use text::DiffReport;
use thiserror::Error;

/// What the `format` key says.
pub const DIFF_FORMAT: &str = "plimsoll.diff/1";

/// Something that was one thing, and is another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change<T> {
    /// In the first plan.
    pub before: T,
    /// In the second.
    pub after: T,
}

impl<T: PartialEq> Change<T> {
    fn new(before: T, after: T) -> Self {
        Change { before, after }
    }

    /// Whether it is one at all.
    pub fn is_any(&self) -> bool {
        self.before != self.after
    }

    /// The change, if it is one.
    fn if_any(before: T, after: T) -> Option<Self> {
        Some(Change { before, after }).filter(Change::is_any)
    }
}

/// What two plans differ in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct PlanDiff {
    /// [`DIFF_FORMAT`].
    pub format: &'static str,
    /// Whether they differ in nothing.
    pub same: bool,
    /// Numbers of bytes by name, those that are equal too.
    pub totals: Vec<Named<u64>>,
    /// What else is recorded of the plans and is not equal: options, and how they came about.
    pub recorded: Vec<Named<Value>>,
    /// The sizes of banks that are not equal; `None` for a bank that is not there.
    pub banks: Vec<Named<Option<u64>>>,
    /// The order of the steps.
    pub order: OrderDiff,
    /// The values.
    pub values: ValuesDiff,
    /// Scratch memory that is not equal, by step.
    pub scratch: Vec<Named<Option<Spot>>>,
    /// The moments at which most is alive.
    pub peak: PeakDiff,
}

/// A change of something that has a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named<T> {
    /// The name.
    pub name: String,
    /// The change.
    #[serde(flatten)]
    pub change: Change<T>,
}

/// What the values differ in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValuesDiff {
    /// How many both plans have.
    pub common: usize,
    /// Those that only the first has.
    pub removed: Vec<ValueSize>,
    /// Those that only the second has.
    pub added: Vec<ValueSize>,
    /// Those that both have, and that are not the same.
    pub changed: Vec<ValueDiff>,
}

/// A value and its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueSize {
    /// Its name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
}

/// What a value differs in; nothing where it is the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ValueDiff {
    /// Its name.
    pub name: String,
    /// Its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Change<u64>>,
    /// Where it is; `None` outside of the banks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Change<Option<Spot>>>,
    /// How it is stored: `arena`, `persistent`, `shared`, `external`, `elided`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Change<String>>,
    /// What it is a view of, and where in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view_of: Option<Change<Option<Within>>>,
    /// Whose bytes it took over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_place_of: Option<Change<Option<String>>>,
    /// How long it is needed, in points of time: two a step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<Change<Option<u64>>>,
}

/// A place in a bank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spot {
    /// The bank.
    pub bank: String,
    /// The first byte.
    pub offset: u64,
    /// How many bytes, with those that are left free behind it.
    pub bytes: u64,
}

/// A place in another value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Within {
    /// The value, which is not a view itself.
    pub root: String,
    /// The first byte in it.
    pub offset: u64,
}

impl ValueDiff {
    /// Whether it begins elsewhere, in a bank both times.
    #[must_use]
    pub fn is_moved(&self) -> bool {
        let start = |spot: &Option<Spot>| spot.as_ref().map(|s| (s.bank.clone(), s.offset));
        self.place.as_ref().is_some_and(|place| {
            let (before, after) = (start(&place.before), start(&place.after));
            before.is_some() && after.is_some() && before != after
        })
    }

    /// Whether it shares its bytes with others than before, or is kept elsewhere.
    #[must_use]
    pub fn is_shared_otherwise(&self) -> bool {
        self.storage.is_some() || self.view_of.is_some() || self.in_place_of.is_some()
    }

    fn new(before: &ValueRow, after: &ValueRow) -> Self {
        ValueDiff {
            name: after.name.clone(),
            bytes: Change::if_any(before.bytes, after.bytes),
            place: Change::if_any(spot(before), spot(after)),
            storage: Change::if_any(before.storage.clone(), after.storage.clone()),
            view_of: Change::if_any(within(before), within(after)),
            in_place_of: Change::if_any(before.in_place_of.clone(), after.in_place_of.clone()),
            length: Change::if_any(length(before), length(after)),
        }
    }

    fn is_any(&self) -> bool {
        let ValueDiff { name: _, bytes, place, storage: _, view_of: _, in_place_of: _, length } =
            self;
        bytes.is_some() || place.is_some() || length.is_some() || self.is_shared_otherwise()
    }
}

fn spot(row: &ValueRow) -> Option<Spot> {
    let (bank, offset) = (row.bank.clone()?, row.offset?);
    Some(Spot { bank, offset, bytes: row.slot_bytes.unwrap_or(row.bytes) })
}

fn within(row: &ValueRow) -> Option<Within> {
    Some(Within { root: row.root.clone()?, offset: row.root_offset.unwrap_or(0) })
}

fn length(row: &ValueRow) -> Option<u64> {
    Some(row.end?.saturating_sub(row.start?))
}

/// A plan as it was written, for whatever program.
pub struct WrittenPlan(PlanFile);

/// Why two plans could not be compared.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WrittenPlanError {
    /// It cannot be read.
    #[error("{0}")]
    Read(PlanReadError),
    /// It says that there is no plan.
    #[error("no plan: it says that the program does not fit")]
    Infeasible,
    /// A value, or all of them together, are larger than any memory.
    #[error("larger than any memory: 2^63 bytes or more")]
    TooLarge,
}

impl WrittenPlan {
    /// Reads a plan; names of values, steps and banks must differ.
    pub fn read(text: &str) -> Result<Self, WrittenPlanError> {
        #[derive(Deserialize)]
        struct Header {
            format: String,
            #[serde(default)]
            status: String,
        }
        let json = |error| WrittenPlanError::Read(PlanReadError::Json(error));
        let header: Header = object_from_json(text).map_err(json)?;
        if header.format != PLAN_FORMAT {
            return Err(WrittenPlanError::Read(PlanReadError::Format(header.format)));
        }
        if header.status == "infeasible" {
            return Err(WrittenPlanError::Infeasible);
        }
        let file: PlanFile = object_from_json(text).map_err(json)?;
        let names = [
            twice(file.values.iter().map(|row| &row.name)),
            twice(&file.schedule),
            twice(file.scratch.iter().map(|row| &row.step)),
            twice(file.banks.iter().map(|row| &row.name)),
        ];
        if let Some(name) = names.into_iter().flatten().next() {
            return Err(WrittenPlanError::Read(PlanReadError::Twice(name)));
        }
        // So that no sum of sizes and no end overflows.
        let values = file.values.iter().map(|row| row.slot_bytes.unwrap_or(row.bytes));
        let bytes = values.chain(file.scratch.iter().map(|row| row.bytes)).map(u128::from);
        let offsets = file.values.iter().filter_map(|row| row.offset);
        let offsets = offsets.chain(file.scratch.iter().map(|row| row.offset)).map(u128::from);
        if bytes.sum::<u128>() + offsets.max().unwrap_or(0) >= 1 << 63 {
            return Err(WrittenPlanError::TooLarge);
        }
        Ok(WrittenPlan(file))
    }
}

/// A name that comes twice.
fn twice<'a>(names: impl IntoIterator<Item = &'a String>) -> Option<String> {
    let mut known = BTreeSet::new();
    names.into_iter().find(|name| !known.insert(*name)).cloned()
}

/// Compares two plans. O(n log n) for n values and steps.
#[must_use]
pub fn diff_plans(before: &WrittenPlan, after: &WrittenPlan) -> PlanDiff {
    let (WrittenPlan(before), WrittenPlan(after)) = (before, after);
    let mut diff = PlanDiff {
        format: DIFF_FORMAT,
        same: false,
        totals: totals(before, after),
        recorded: recorded(before, after),
        banks: changes(bank_sizes(before), bank_sizes(after)),
        order: OrderDiff::new(&before.schedule, &after.schedule),
        values: values(before, after),
        scratch: changes(scratch(before), scratch(after)),
        peak: PeakDiff::new(before, after),
    };
    diff.same = diff.totals.iter().all(|total| !total.change.is_any())
        && diff.recorded.is_empty()
        && diff.banks.is_empty()
        && diff.order.is_same()
        && diff.values.is_same()
        && diff.scratch.is_empty();
    diff
}

impl ValuesDiff {
    fn is_same(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty() && self.changed.is_empty()
    }
}

fn totals(before: &PlanFile, after: &PlanFile) -> Vec<Named<u64>> {
    let numbers = |file: &PlanFile| {
        [
            ("arena_bytes", file.arena_bytes),
            ("lower_bound_bytes", file.lower_bound_bytes),
            ("unshared_bytes", file.unshared_bytes),
            ("saved_bytes", u64::try_from(file.saved_bytes).unwrap_or(0)),
            ("weights_bytes", file.weights_bytes),
            ("static_bytes", file.static_bytes),
            ("inputs_bytes", file.inputs_bytes),
            ("outputs_bytes", file.outputs_bytes),
        ]
    };
    let both = numbers(before).into_iter().zip(numbers(after));
    both.map(|((name, before), (_, after))| Named {
        name: name.to_owned(),
        change: Change::new(before, after),
    })
    .collect()
}

/// What is recorded beside totals, by name; an option has its name behind `options.`.
fn recorded(before: &PlanFile, after: &PlanFile) -> Vec<Named<Value>> {
    let all = |file: &PlanFile| {
        let mut all = BTreeMap::from([
            ("status".to_owned(), json!(file.status)),
            ("limit".to_owned(), json!(file.limit)),
            ("won_by".to_owned(), json!(file.won_by)),
            ("align".to_owned(), json!(file.align)),
        ]);
        all.extend(file.found.clone());
        let options = file.options.iter();
        all.extend(options.map(|(name, value)| (format!("options.{name}"), value.clone())));
        all
    };
    let (before, after) = (all(before), all(after));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let of = |all: &BTreeMap<String, Value>, name: &String| {
        all.get(name).cloned().unwrap_or(Value::Null)
    };
    let change = |name: &String| {
        let change = Change::if_any(of(&before, name), of(&after, name))?;
        Some(Named { name: name.clone(), change })
    };
    names.into_iter().filter_map(change).collect()
}

fn bank_sizes(file: &PlanFile) -> Vec<(&String, u64)> {
    file.banks.iter().map(|bank| (&bank.name, bank.bytes)).collect()
}

fn scratch(file: &PlanFile) -> Vec<(&String, Spot)> {
    let spot =
        |row: &ScratchRow| Spot { bank: row.bank.clone(), offset: row.offset, bytes: row.bytes };
    file.scratch.iter().map(|row| (&row.step, spot(row))).collect()
}

/// What is not equal by name, in the order of the second, then what only the first has.
fn changes<T: Clone + PartialEq>(
    before: Vec<(&String, T)>,
    after: Vec<(&String, T)>,
) -> Vec<Named<Option<T>>> {
    let known: HashMap<&String, T> = before.iter().cloned().collect();
    let kept: BTreeSet<&String> = after.iter().map(|(name, _)| *name).collect();
    let left = before.into_iter().filter(|(name, _)| !kept.contains(name));
    let left = left.map(|(name, value)| (name, Some(value), None)).collect::<Vec<_>>();
    let now = after.into_iter().map(|(name, value)| (name, known.get(name).cloned(), Some(value)));
    let change = |(name, before, after): (&String, Option<T>, Option<T>)| {
        Some(Named { name: name.clone(), change: Change::if_any(before, after)? })
    };
    now.chain(left).filter_map(change).collect()
}

fn by_name(file: &PlanFile) -> HashMap<&str, &ValueRow> {
    file.values.iter().map(|row| (row.name.as_str(), row)).collect()
}

fn values(before: &PlanFile, after: &PlanFile) -> ValuesDiff {
    let (old, new) = (by_name(before), by_name(after));
    let sized = |row: &ValueRow| ValueSize { name: row.name.clone(), bytes: row.bytes };
    let common: Vec<ValueDiff> = after
        .values
        .iter()
        .filter_map(|row| Some(ValueDiff::new(old.get(row.name.as_str())?, row)))
        .collect();
    let lacks =
        |known: &HashMap<&str, &ValueRow>, row: &ValueRow| !known.contains_key(&row.name[..]);
    ValuesDiff {
        common: common.len(),
        removed: before.values.iter().filter(|row| lacks(&new, row)).map(sized).collect(),
        added: after.values.iter().filter(|row| lacks(&old, row)).map(sized).collect(),
        changed: common.into_iter().filter(ValueDiff::is_any).collect(),
    }
}
