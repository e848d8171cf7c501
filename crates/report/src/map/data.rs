//! What the page reads: the plan in columns, as JSON.
//!
//! A column is an array by value, step or buffer; −1 stands for none. Steps go by their position
//! in the schedule, since that is their place on the axis of time. What is looked up by many is told
//! once: the names of ops and types are tables. Numbers beyond 2⁵³ lose their last digits in the
//! page, and nowhere else.

use std::borrow::Cow;
use std::collections::BTreeMap;

use plimsoll::{
    AccessKind, BankId, Buffer, Labels, LiveRange, Place, Plan, Point, Program, Role, Slot, StepId,
    Storage, Totals, ValueId, ValueInfo, follows,
};
use plimsoll_pack::{Life, Problem, Span, Sweep, bound};
use serde::Serialize;

/// A row of something, or −1.
type Index = i64;

#[derive(Serialize)]
pub(super) struct Data<'a> {
    pub(super) title: &'a str,
    pub(super) arena_bytes: u64,
    pub(super) bound_bytes: u64,
    pub(super) unshared_bytes: u64,
    /// Weights and constants that are in the caller's memory.
    pub(super) weights_bytes: u64,
    /// The arena, and all that is outside of it.
    pub(super) total_bytes: u64,
    pub(super) optimal: bool,
    pub(super) banks: Vec<BankRow<'a>>,
    /// What ops, types and kinds of storage are called.
    pub(super) ops: Vec<Cow<'a, str>>,
    pub(super) types: Vec<Cow<'a, str>>,
    pub(super) classes: Vec<Cow<'a, str>>,
    pub(super) steps: Steps<'a>,
    pub(super) values: Values<'a>,
    pub(super) buffers: Buffers,
    pub(super) gaps: Gaps,
    pub(super) curve: Curve,
}

#[derive(Serialize)]
pub(super) struct BankRow<'a> {
    pub(super) name: &'a str,
    pub(super) bytes: u64,
    pub(super) capacity: Option<u64>,
    pub(super) bound: u64,
}

/// By position in the schedule.
#[derive(Default, Serialize)]
pub(super) struct Steps<'a> {
    pub(super) name: Vec<Cow<'a, str>>,
    pub(super) op: Vec<usize>,
    /// What it is a part of; nothing at all if no step is of any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) part_of: Vec<&'a str>,
}

/// By value.
#[derive(Default, Serialize)]
pub(super) struct Values<'a> {
    pub(super) name: Vec<Cow<'a, str>>,
    pub(super) bytes: Vec<u64>,
    /// Where it is; its bank is −1 if it has no bytes in any.
    pub(super) bank: Vec<Index>,
    pub(super) offset: Vec<u64>,
    /// Its life in points; empty if it is in no bank.
    pub(super) start: Vec<u64>,
    pub(super) end: Vec<u64>,
    pub(super) buffer: Vec<Index>,
    /// The position of the step that makes it, and its op.
    pub(super) made_by: Vec<Index>,
    pub(super) op: Vec<usize>,
    pub(super) r#type: Vec<usize>,
    pub(super) class: Vec<usize>,
    /// The value that it is a view of, itself not a view.
    pub(super) root: Vec<Index>,
    pub(super) in_place_of: Vec<Index>,
    /// Whose bytes it follows: those of value `v` are `follows[first[v]..first[v + 1]]`.
    pub(super) first: Vec<usize>,
    pub(super) follows: Vec<u32>,
    /// Whose sizes are only limits.
    pub(super) limits: Vec<usize>,
}

/// By buffer.
#[derive(Default, Serialize)]
pub(super) struct Buffers {
    pub(super) bank: Vec<usize>,
    pub(super) offset: Vec<u64>,
    pub(super) bytes: Vec<u64>,
    pub(super) start: Vec<u64>,
    pub(super) end: Vec<u64>,
    /// The position of the step whose scratch memory it is.
    pub(super) scratch: Vec<Index>,
}

/// Bytes of buffers that are not in use for a while.
#[derive(Default, Serialize)]
pub(super) struct Gaps {
    pub(super) buffer: Vec<usize>,
    pub(super) bank: Vec<usize>,
    pub(super) offset: Vec<u64>,
    pub(super) bytes: Vec<u64>,
    pub(super) start: Vec<i64>,
    pub(super) end: Vec<i64>,
}

/// Live bytes of all banks: `bytes[k]` from `times[k]` to `times[k + 1]`.
#[derive(Default, Serialize)]
pub(super) struct Curve {
    pub(super) times: Vec<i64>,
    pub(super) bytes: Vec<u64>,
}

/// Words that are told once and go by number.
#[derive(Default)]
struct Table<'a> {
    words: Vec<Cow<'a, str>>,
    rows: BTreeMap<Cow<'a, str>, usize>,
}

#[derive(Default)]
struct Tables<'a> {
    ops: Table<'a>,
    types: Table<'a>,
    classes: Table<'a>,
}

impl<'a> Table<'a> {
    fn row(&mut self, word: Cow<'a, str>) -> usize {
        *self.rows.entry(word).or_insert_with_key(|word| {
            self.words.push(word.clone());
            self.words.len() - 1
        })
    }
}

/// The columns of a plan.
pub(super) fn gather<'a>(program: &'a dyn Program, plan: &'a Plan, labels: &'a Labels) -> Data<'a> {
    let totals = Totals::new(program, plan);
    let mut tables = Tables::default();
    Data {
        title: &labels.title,
        arena_bytes: totals.arena_bytes,
        bound_bytes: totals.lower_bound_bytes,
        unshared_bytes: totals.unshared_bytes,
        weights_bytes: totals.weights_bytes,
        total_bytes: total(program, plan, &totals),
        optimal: plan.derivation.optimal,
        banks: banks(plan),
        steps: steps(program, plan, labels, &mut tables.ops),
        values: values(program, plan, labels, &mut tables),
        ops: tables.ops.words,
        types: tables.types.words,
        classes: tables.classes.words,
        buffers: buffers(program, plan),
        gaps: gaps(plan),
        curve: curve(plan),
    }
}

/// The arena and what is in the caller's memory.
fn total(program: &dyn Program, plan: &Plan, totals: &Totals) -> u64 {
    let Totals { arena_bytes, weights_bytes, static_bytes, inputs_bytes, .. } = *totals;
    let is_outside = |(row, place): &(usize, &Place)| {
        let info = program.value(ValueId::new(*row));
        **place == Place::External && info.role == Role::Temporary && info.output
    };
    let outputs = plan.places.iter().enumerate().filter(is_outside);
    let outputs = outputs.map(|(row, _)| program.value(ValueId::new(row)).bytes);
    [weights_bytes, static_bytes, inputs_bytes]
        .into_iter()
        .chain(outputs)
        .fold(arena_bytes, u64::saturating_add)
}

/// Where each step stands in the schedule, by step.
fn positions(program: &dyn Program, plan: &Plan) -> Vec<Index> {
    let mut positions = vec![-1; program.steps()];
    for (position, step) in plan.schedule.iter().enumerate() {
        positions[step.index()] = index(position);
    }
    positions
}

pub(super) fn index(row: usize) -> Index {
    Index::try_from(row).expect("fewer than 2^32 of anything")
}

fn banks(plan: &Plan) -> Vec<BankRow<'_>> {
    let rows = plan.banks.iter().enumerate().map(|(index, bank)| BankRow {
        name: &bank.name,
        bytes: bank.bytes,
        capacity: bank.capacity,
        bound: bound_of(plan, BankId::new(index)),
    });
    rows.collect()
}

/// Below this a bank cannot be.
fn bound_of(plan: &Plan, bank: BankId) -> u64 {
    if plan.banks.len() == 1 {
        return plan.derivation.lower_bound_bytes;
    }
    let here = plan.derivation.buffers.iter().filter(|buffer| buffer.slot.bank == bank);
    let problem = Problem::new(here.map(packed).collect());
    problem.map_or(0, |problem| bound(&problem, &Sweep::new(&problem)).bytes)
}

/// A buffer as the packer has seen it.
fn packed(buffer: &Buffer) -> plimsoll_pack::Buffer {
    let time = |point: Point| point.0.cast_signed();
    let life = Life::new(time(buffer.live.start), time(buffer.live.end));
    let packed = plimsoll_pack::Buffer::new(buffer.slot.bytes, life).aligned(buffer.align);
    plimsoll_pack::Buffer { gaps: buffer.gaps.clone(), ..packed }
}

fn steps<'a>(
    program: &'a dyn Program,
    plan: &Plan,
    labels: &'a Labels,
    ops: &mut Table<'a>,
) -> Steps<'a> {
    let mut columns = Steps::default();
    for step in &plan.schedule {
        columns.name.push(program.step_name(*step));
        columns.op.push(ops.row(op_of(labels, *step)));
        if !labels.places.is_empty() {
            columns.part_of.push(labels.places.get(step.index()).map_or("", String::as_str));
        }
    }
    columns
}

fn op_of(labels: &Labels, step: StepId) -> Cow<'_, str> {
    Cow::Borrowed(labels.ops.get(step.index()).map_or("", |op| op))
}

fn values<'a>(
    program: &'a dyn Program,
    plan: &Plan,
    labels: &'a Labels,
    tables: &mut Tables<'a>,
) -> Values<'a> {
    let positions = positions(program, plan);
    let writers = writers(program, plan);
    let follows = follows(plan, |value| program.value(value).view_of.is_some());
    let mut columns = Values { first: vec![0], ..Values::default() };
    for (row, place) in plan.places.iter().enumerate() {
        let value = ValueId::new(row);
        let info = program.value(value);
        let label = labels.values.get(row);
        let member = plan.derivation.members.get(row).copied().flatten();
        let (slot, live) = lies(program, *place, member.map(|member| member.live));
        let r#type = label.map_or(String::new(), |label| format!("{}{}", label.dtype, label.shape));
        let made_by = label.and_then(|label| label.made_by).or(writers[row]);
        columns.name.push(program.value_name(value));
        columns.bytes.push(info.bytes);
        columns.bank.push(slot.map_or(-1, |slot| index(slot.bank.index())));
        columns.offset.push(slot.map_or(0, |slot| slot.offset));
        columns.start.push(live.map_or(0, |live| live.start.0));
        columns.end.push(live.map_or(0, |live| live.end.0));
        columns.buffer.push(member.map_or(-1, |member| index(member.buffer.index())));
        let position = made_by.and_then(|step| positions.get(step.index()).copied());
        columns.made_by.push(position.unwrap_or(-1));
        let op = match (label, made_by) {
            (Some(label), _) if !label.op.is_empty() => Cow::Borrowed(&label.op[..]),
            (_, Some(step)) => op_of(labels, step),
            (_, None) => Cow::Borrowed(""),
        };
        columns.op.push(tables.ops.row(op));
        columns.r#type.push(tables.types.row(r#type.into()));
        columns.class.push(tables.classes.row(class(*place, info).into()));
        columns.root.push(info.view_of.map_or(-1, |_| root(program, value)));
        let taken = member.and_then(|member| member.took_over);
        columns.in_place_of.push(taken.map_or(-1, |taken| index(taken.index())));
        columns.follows.extend(follows[row].iter().map(|value| value.0));
        columns.first.push(columns.follows.len());
        if program.is_limit(value) {
            columns.limits.push(row);
        }
    }
    columns
}

/// The first step that writes each value, by value.
fn writers(program: &dyn Program, plan: &Plan) -> Vec<Option<StepId>> {
    let mut writers = vec![None; program.values()];
    for step in &plan.schedule {
        for access in program.accesses(*step).iter() {
            if access.kind == AccessKind::Write {
                writers[access.value.index()].get_or_insert(*step);
            }
        }
    }
    writers
}

/// Where a value is and when: what another plan has placed is there all the time.
fn lies(
    program: &dyn Program,
    place: Place,
    live: Option<LiveRange>,
) -> (Option<Slot>, Option<LiveRange>) {
    match place {
        Place::Bank(slot) if live.is_some() || slot.reserved > 0 => {
            let all = LiveRange::whole_run(program.steps());
            (Some(slot), Some(live.unwrap_or(all)))
        }
        Place::Bank(_) | Place::External | Place::Outside { .. } | Place::Elided => (None, None),
    }
}

/// What kind of storage it is, in a word.
fn class(place: Place, info: ValueInfo) -> &'static str {
    match (place, info.storage, info.role) {
        (Place::Elided, ..) => "elided",
        (Place::Bank(_), Storage::Persistent, _) => "persistent",
        (Place::Bank(_), Storage::Shared, _) => "shared",
        (_, _, Role::Input) => "input",
        (_, _, Role::Param) => "weight",
        (_, _, Role::Constant) => "constant",
        (_, _, Role::Static) => "static",
        (_, _, Role::Temporary) if info.output => "output",
        (_, _, Role::Temporary) => "temporary",
    }
}

/// The value that a view is a part of in the end.
fn root(program: &dyn Program, value: ValueId) -> Index {
    let mut at = value;
    while let Some(view) = program.value(at).view_of {
        at = view.of;
    }
    index(at.index())
}

fn buffers(program: &dyn Program, plan: &Plan) -> Buffers {
    let mut has_values = vec![false; plan.derivation.buffers.len()];
    for member in plan.derivation.members.iter().flatten() {
        has_values[member.buffer.index()] = true;
    }
    let mut columns = Buffers::default();
    for (buffer, has_values) in plan.derivation.buffers.iter().zip(has_values) {
        columns.bank.push(buffer.slot.bank.index());
        columns.offset.push(buffer.slot.offset);
        columns.bytes.push(buffer.slot.bytes);
        columns.start.push(buffer.live.start.0);
        columns.end.push(buffer.live.end.0);
        // It lives while its step does.
        let last = index(program.steps()) - 1;
        let step = index((buffer.live.start.0 / 2) as usize).min(last);
        columns.scratch.push(if has_values { -1 } else { step });
    }
    columns
}

impl Gaps {
    /// Adds what of a buffer is free in a gap: a window stays in use, what is free lies on both sides of it.
    pub(super) fn push(
        &mut self,
        buffer: usize,
        bank: usize,
        offset: u64,
        all: Span,
        window: Option<Span>,
        (start, end): (i64, i64),
    ) {
        let free = match window {
            None => [all, Span::new(0, 0)],
            Some(used) => [Span::new(0, used.lo), Span::new(used.hi, all.hi)],
        };
        for span in free.iter().filter(|span| !span.is_empty()) {
            self.buffer.push(buffer);
            self.bank.push(bank);
            self.offset.push(offset + span.lo);
            self.bytes.push(span.len());
            self.start.push(start);
            self.end.push(end);
        }
    }
}

fn gaps(plan: &Plan) -> Gaps {
    let mut columns = Gaps::default();
    for (row, buffer) in plan.derivation.buffers.iter().enumerate() {
        for gap in &buffer.gaps {
            let Slot { bank, offset, bytes, .. } = buffer.slot;
            let (all, life) = (Span::new(0, bytes), (gap.life.start, gap.life.end));
            columns.push(row, bank.index(), offset, all, gap.window, life);
        }
    }
    columns
}

fn curve(plan: &Plan) -> Curve {
    let packed = plan.derivation.buffers.iter().map(packed).collect();
    // Banks that each can be packed may be too much to add up; then nothing is shown.
    let Ok(problem) = Problem::new(packed) else { return Curve::default() };
    let sweep = Sweep::new(&problem);
    let mut times: Vec<i64> = (0..sweep.len()).map(|at| sweep.life_of(at).start).collect();
    times.extend(sweep.len().checked_sub(1).map(|last| sweep.life_of(last).end));
    Curve { times, bytes: sweep.load().to_vec() }
}
