//! `plimsoll.plan/1`: the plan as one JSON object, and back.
//!
//! No time stamps and no durations: the same plan is the same bytes, and what is read and written
//! again is the same bytes too. Values and steps go by name, and by number too where a name stands
//! for two of them ([`names`]).

mod claims;
mod names;
mod read;

use std::collections::BTreeMap;

use plimsoll_pack::{Gap, Limit};
use serde::{Deserialize, Serialize};

pub use claims::{FalseClaim, false_claims, unreserved};
use names::Names;
pub use read::{PlanFileRead, PlanReadError, read_plan, read_plan_file};

use super::Totals;
use super::follows::follows;
use crate::ids::{BankId, StepId, ValueId};
use crate::plan::{self, Bank, Place, Plan, Slot};
use crate::program::{Layout, Program, Role, Storage, root_of};

/// What the `format` key says.
pub const PLAN_FORMAT: &str = "plimsoll.plan/1";

/// The key of the bound over all orders.
const ORDER_BOUND: &str = "schedule_lower_bound_bytes";

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
    /// What was packed; values say which of these they are in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) buffers: Vec<BufferRow>,
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

#[derive(Serialize, Deserialize)]
pub(super) struct BufferRow {
    pub(super) bank: String,
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) align: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) gaps: Vec<GapRow>,
}

/// A stretch of a buffer's life in which it uses nothing, or only the bytes of a window.
#[derive(Serialize, Deserialize)]
pub(super) struct GapRow {
    pub(super) start: i64,
    pub(super) end: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) window: Option<(u64, u64)>,
}

/// The plan as JSON, one value a line.
/// `found` is what else is known of it, under keys of its own.
///
/// # Panics
/// Never: names and numbers can always be written.
#[must_use]
pub fn write_plan(program: &dyn Program, plan: &Plan, options: Told, mut found: Told) -> String {
    if let Some(bound) = plan.derivation.order_bound_bytes {
        found.insert(ORDER_BOUND.to_owned(), bound.into());
    }
    let totals = Totals::new(program, plan);
    let is_view = |value| program.value(value).view_of.is_some();
    let follows = follows(plan, is_view);
    let names = Names::of(program, plan.banks.iter().map(|bank| bank.name.clone()));
    let name = |value: ValueId| names.values[value.index()].clone();
    let step_name = |step: StepId| names.steps[step.index()].clone();
    let bank_name = |bank: BankId| names.banks[bank.index()].clone();
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
            slot_bytes: slot.map(|s| s.reserved).filter(|bytes| *bytes != info.bytes),
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
        let step = step_name(StepId::new(index));
        slot.map(|s| ScratchRow { step, bank: bank_name(s.bank), offset: s.offset, bytes: s.bytes })
    };
    let bank = |(index, bank): (usize, &Bank)| BankRow {
        name: bank_name(BankId::new(index)),
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
        banks: plan.banks.iter().enumerate().map(bank).collect(),
        schedule: plan.schedule.iter().copied().map(step_name).collect(),
        values: (0..plan.places.len()).map(value).collect(),
        scratch: plan.scratch.iter().enumerate().filter_map(scratch).collect(),
        buffers: plan.derivation.buffers.iter().map(|buffer| packed(buffer, bank_name)).collect(),
    };
    serde_json::to_string_pretty(&file).expect("names and numbers") + "\n"
}

/// A buffer as a row.
fn packed(buffer: &plan::Buffer, bank_name: impl Fn(BankId) -> String) -> BufferRow {
    let plan::Buffer { slot, live, align, gaps } = buffer;
    let gap = |gap: &Gap| GapRow {
        start: gap.life.start,
        end: gap.life.end,
        window: gap.window.map(|window| (window.lo, window.hi)),
    };
    BufferRow {
        bank: bank_name(slot.bank),
        offset: slot.offset,
        bytes: slot.bytes,
        start: live.start.0,
        end: live.end.0,
        align: *align,
        gaps: gaps.iter().map(gap).collect(),
    }
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
