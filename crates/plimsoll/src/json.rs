//! `plimsoll.plan/1`: the plan as one JSON object, and back.
//!
//! No time stamps and no durations: the same plan is the same bytes, and what is read and written
//! again is the same bytes too. Values and steps go by name, and by number too where a name stands
//! for two of them (`names`).

mod claims;
mod file;
mod names;
mod read;

use std::collections::BTreeMap;
use std::io::{self, Write};

pub use claims::{FalseClaim, false_claims, unreserved};
use file::MadeRows;
pub use file::{BankRow, BufferRow, GapRow, PlanFile, Rows, ScratchRow, ValueRow};
use names::Names;
use plimsoll_pack::{Gap, Limit};
pub use read::{PlanFileRead, PlanReadError, read_plan, read_plan_file};

use crate::follows::follows;
use crate::ids::{BankId, StepId, ValueId};
use crate::plan;
use crate::plan::{Bank, Place, Plan, Slot};
use crate::program::{Layout, Program, Role, Storage, roots_of};
use crate::totals::Totals;

/// What the `format` key says.
pub const PLAN_FORMAT: &str = "plimsoll.plan/1";

/// The key of the bound over all orders.
const ORDER_BOUND: &str = "schedule_lower_bound_bytes";

/// What the command line or another caller wants to be told beside the plan: the options and
/// bindings that made it, by name.
pub type Recorded = BTreeMap<String, serde_json::Value>;

/// The plan as JSON, one value a line.
/// `found` is what else is known of it, under keys of its own.
///
/// # Panics
/// Never: names and numbers can always be written.
#[must_use]
pub fn write_plan(
    program: &dyn Program,
    plan: &Plan,
    options: Recorded,
    found: Recorded,
) -> String {
    let mut json = Vec::new();
    write_plan_to(&mut json, program, plan, options, found).expect("a vector takes everything");
    String::from_utf8(json).expect("JSON is text")
}

/// The same, written row by row: only the names are all there at once, and those of a program that hands
/// out its own are not copied.
pub fn write_plan_to(
    out: &mut dyn Write,
    program: &dyn Program,
    plan: &Plan,
    options: Recorded,
    mut found: Recorded,
) -> io::Result<()> {
    if let Some(bound) = plan.derivation.order_bound_bytes {
        found.insert(ORDER_BOUND.to_owned(), bound.into());
    }
    let totals = Totals::new(program, plan);
    let is_view = |value| program.value(value).view_of.is_some();
    let follows = follows(plan, is_view);
    let roots = roots_of(program);
    let names = Names::of(program, plan.banks.iter().map(|bank| bank.name.as_str()));
    let name = |value: ValueId| names.values[value.index()].clone().into_owned();
    let step_name = |step: StepId| names.steps[step.index()].clone().into_owned();
    let bank_name = |bank: BankId| names.banks[bank.index()].clone().into_owned();
    let value = |index: usize| {
        let (id, place) = (ValueId::new(index), plan.places[index]);
        let info = program.value(id);
        let slot = if let Place::Bank(slot) = place { Some(slot) } else { None };
        let member = plan.derivation.members.get(index).copied().flatten();
        let root = match (place, info.view_of) {
            (_, Some(_)) => Some(roots[index]),
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
            pitch_bytes: rows.map(|rows| rows.stride),
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
    let buffers = &plan.derivation.buffers;
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
        schedule: MadeRows(plan.schedule.len(), |at: usize| step_name(plan.schedule[at])),
        values: MadeRows(plan.places.len(), value),
        scratch: plan.scratch.iter().enumerate().filter_map(scratch).collect(),
        buffers: MadeRows(buffers.len(), |at: usize| packed(&buffers[at], bank_name)),
    };
    serde_json::to_writer_pretty(&mut *out, &file)?;
    out.write_all(b"\n")
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
