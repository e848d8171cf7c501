//! Plans read back: anybody's, as long as they have the keys that matter.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use plimsoll_pack::{Gap, Life, Limit, Span};
use serde_json::Value;
use thiserror::Error;

use super::names::Names;
use super::{BankRow, BufferRow, PLAN_FORMAT, PlanFile, Recorded, ValueRow};
use crate::ids::{BankId, BufferId, StepId, ValueId};
use crate::json_fault::{JsonFault, object_from_json};
use crate::plan::{Bank, Buffer, Derivation, Member, Place, Plan, Slot};
use crate::point::{LiveRange, Point};
use crate::program::{Layout, Program, roots_of};

/// A plan, and what it tells beside itself.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanFileRead {
    /// The plan, with how it came about as far as it tells.
    pub plan: Plan,
    /// The options and bindings that made it.
    pub options: Recorded,
    /// What else is known of it.
    pub found: Recorded,
}

/// Reads a plan for a program.
pub fn read_plan(program: &dyn Program, text: &str) -> Result<Plan, PlanReadError> {
    Ok(read_plan_file(program, text)?.plan)
}

/// Reads all of a plan for a program: written again, it is the same bytes.
pub fn read_plan_file(program: &dyn Program, text: &str) -> Result<PlanFileRead, PlanReadError> {
    let file: PlanFile = object_from_json(text).map_err(PlanReadError::Json)?;
    if file.format != PLAN_FORMAT {
        return Err(PlanReadError::Format(file.format));
    }
    let known = Known::of(program, &file.banks)?;
    let roots = roots_of(program);
    let mut places = vec![None; program.values()];
    for row in &file.values {
        let index = known.value(&row.name)?.index();
        if places[index].replace(place(program, &known, &roots, row)?).is_some() {
            return Err(PlanReadError::Twice(row.name.clone()));
        }
    }
    follow_roots(program, &mut places);
    let missing = places.iter().position(Option::is_none);
    if let Some(missing) = missing {
        let name = program.value_name(ValueId::new(missing)).into_owned();
        return Err(PlanReadError::Missing(name));
    }
    let places: Vec<Place> = places.into_iter().flatten().collect();
    let mut scratch = vec![None; program.steps()];
    for row in &file.scratch {
        let slot = Slot::new(known.bank(&row.bank)?, row.offset, row.bytes);
        scratch[known.step(&row.step)?.index()] = Some(slot);
    }
    let schedule: Result<_, _> = file.schedule.iter().map(|step| known.step(step)).collect();
    let derivation = derivation(&known, &file, &places)?;
    let bank = |row: BankRow| Bank { name: row.name, bytes: row.bytes, capacity: row.capacity };
    Ok(PlanFileRead {
        plan: Plan {
            schedule: schedule?,
            places,
            scratch,
            banks: file.banks.into_iter().map(bank).collect(),
            align: file.align,
            derivation,
        },
        options: file.options,
        found: file.found,
    })
}

/// What the names of a plan stand for.
struct Known<'a> {
    values: HashMap<Cow<'a, str>, usize>,
    steps: HashMap<Cow<'a, str>, usize>,
    banks: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Known<'a> {
    /// Values and steps are told apart as they were when the plan was written; its banks say
    /// themselves what they are called.
    fn of(program: &'a dyn Program, banks: &'a [BankRow]) -> Result<Self, PlanReadError> {
        let names = Names::of(program, std::iter::empty());
        let index = |names: Vec<Cow<'a, str>>| {
            let mut known = HashMap::with_capacity(names.len());
            for (index, name) in names.into_iter().enumerate() {
                match known.entry(name) {
                    Entry::Vacant(entry) => entry.insert(index),
                    Entry::Occupied(twice) => {
                        return Err(PlanReadError::Twice(twice.key().clone().into_owned()));
                    }
                };
            }
            Ok(known)
        };
        Ok(Known {
            values: index(names.values)?,
            steps: index(names.steps)?,
            banks: index(banks.iter().map(|bank| Cow::Borrowed(bank.name.as_str())).collect())?,
        })
    }

    fn value(&self, name: &str) -> Result<ValueId, PlanReadError> {
        find(&self.values, name).map(ValueId::new)
    }

    fn step(&self, name: &str) -> Result<StepId, PlanReadError> {
        find(&self.steps, name).map(StepId::new)
    }

    fn bank(&self, name: &str) -> Result<BankId, PlanReadError> {
        find(&self.banks, name).map(BankId::new)
    }
}

fn find(known: &HashMap<Cow<'_, str>, usize>, name: &str) -> Result<usize, PlanReadError> {
    known.get(name).copied().ok_or_else(|| PlanReadError::Unknown(name.to_owned()))
}

/// The place that a row tells.
fn place(
    program: &dyn Program,
    known: &Known<'_>,
    roots: &[(ValueId, Layout)],
    row: &ValueRow,
) -> Result<Place, PlanReadError> {
    let value = known.value(&row.name)?;
    let (root, layout) = roots[value.index()];
    Ok(match (&row.bank, row.offset, row.storage.as_str()) {
        (Some(bank), Some(offset), _) => {
            let bytes = layout.hull(Span::new(0, program.value(value).bytes)).len();
            let reserved = row.slot_bytes.unwrap_or(bytes);
            Place::Bank(Slot { bank: known.bank(bank)?, offset, bytes, reserved })
        }
        (_, _, "elided") => Place::Elided,
        (..) => match &row.root {
            Some(over) if root == value => {
                Place::Outside { root: known.value(over)?, offset: row.root_offset.unwrap_or(0) }
            }
            None if root == value => Place::External,
            _ => Place::Outside { root, offset: layout.first },
        },
    })
}

/// Puts views of what is written over the caller's memory there too.
fn follow_roots(program: &dyn Program, places: &mut [Option<Place>]) {
    for (index, (of, by)) in roots_of(program).into_iter().enumerate() {
        if let (Some(Place::Outside { .. }), Some(Place::Outside { root, offset })) =
            (places[index], places[of.index()])
            && of.index() != index
        {
            places[index] = Some(Place::Outside { root, offset: offset.saturating_add(by.first) });
        }
    }
}

/// How the plan came about. A plan without buffers does not tell which values are in which.
fn derivation(
    known: &Known<'_>,
    file: &PlanFile,
    places: &[Place],
) -> Result<Derivation, PlanReadError> {
    let buffers: Result<Vec<Buffer>, _> =
        file.buffers.iter().map(|row| buffer(known, row)).collect();
    let buffers = buffers?;
    let mut members = vec![None; places.len()];
    for row in file.values.iter().filter(|_| !buffers.is_empty()) {
        let value = known.value(&row.name)?;
        members[value.index()] = member(known, row, places[value.index()], &buffers)?;
    }
    let limits = [Limit::Work, Limit::Rules, Limit::Stopped];
    let limit = |name: &String| limits.into_iter().find(|limit| limit.name() == name);
    Ok(Derivation {
        buffers,
        members,
        lower_bound_bytes: file.lower_bound_bytes,
        order_bound_bytes: file.found.get("schedule_lower_bound_bytes").and_then(Value::as_u64),
        optimal: file.status == "optimal",
        limit: file.limit.as_ref().and_then(limit),
        unshared_bytes: file.unshared_bytes,
        won_by: file.won_by.clone(),
    })
}

fn buffer(known: &Known<'_>, row: &BufferRow) -> Result<Buffer, PlanReadError> {
    let gaps = row.gaps.iter().map(|gap| Gap {
        life: Life::new(gap.start, gap.end),
        window: gap.window.map(|(lo, hi)| Span::new(lo, hi)),
    });
    Ok(Buffer {
        slot: Slot::new(known.bank(&row.bank)?, row.offset, row.bytes),
        live: LiveRange::new(Point(row.start), Point(row.end)),
        align: row.align,
        gaps: gaps.collect(),
    })
}

/// The part of a buffer that a row says it is.
fn member(
    known: &Known<'_>,
    row: &ValueRow,
    place: Place,
    buffers: &[Buffer],
) -> Result<Option<Member>, PlanReadError> {
    let Some(index) = row.buffer else { return Ok(None) };
    let wrong = || PlanReadError::NotInBuffer(row.name.clone());
    let buffer = buffers.get(index as usize).ok_or_else(wrong)?;
    let (Place::Bank(slot), Some(start), Some(end)) = (place, row.start, row.end) else {
        return Err(wrong());
    };
    let offset = slot.offset.checked_sub(buffer.slot.offset).ok_or_else(wrong)?;
    let took_over = row.in_place_of.as_ref().map(|name| known.value(name)).transpose()?;
    let live = LiveRange::new(Point(start), Point(end));
    Ok(Some(Member { buffer: BufferId(index), offset, live, took_over }))
}

/// Why a plan could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanReadError {
    /// Not JSON, or without a key that is needed; with line and column.
    #[error("not a plan: {0}")]
    Json(JsonFault),
    /// Another format.
    #[error("format is {0:?}, expected {expected:?}", expected = PLAN_FORMAT)]
    Format(String),
    /// A name that the program or the plan does not have.
    #[error("{0:?} is not in the program")]
    Unknown(String),
    /// A name that stands for two things.
    #[error("{0:?} is used for two different things")]
    Twice(String),
    /// A value without a row.
    #[error("value {0:?} has no row")]
    Missing(String),
    /// A value that is not in the buffer that its row names.
    #[error("value {0:?} is not in the buffer that its row names")]
    NotInBuffer(String),
}
