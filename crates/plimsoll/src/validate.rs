//! Validation: a program is read once, checked against the preconditions of [`Program`], and kept as
//! plain arrays. Everything behind it can rely on them.
//!
//! Cost: O(steps + values + accesses), and the happens-before closure where steps are not in order.

mod fault;
mod happens_before;
pub(crate) mod written;

pub use fault::{Fault, ProgramError};
pub(crate) use happens_before::HappensBefore;
use plimsoll_pack::Span;
use plimsoll_pack::dense::CompressedRows;

use crate::ids::{StepId, ValueId};
use crate::point::{LiveRange, Point};
use crate::program::{
    Access, AccessKind, Execution, Layout, Overwrite, Program, Role, Scratch, Storage, Strided,
    Until, ValueInfo,
};

/// A program that keeps to its preconditions, with its schedule.
pub(crate) struct ValidatedProgram<'p> {
    pub(crate) program: &'p dyn Program,
    /// By value.
    pub(crate) values: Vec<ValueInfo>,
    /// The value that is not a view, and where in it the value begins; by value.
    pub(crate) roots: Vec<Rooted>,
    /// The steps in order.
    pub(crate) schedule: Vec<StepId>,
    /// All accesses, in order of the schedule.
    pub(crate) accesses: Vec<Touch>,
    /// What each step's outputs may or must take over; by step.
    pub(crate) overwrites: CompressedRows<Overwrite>,
    /// By step.
    pub(crate) scratch: Vec<Option<Scratch>>,
    /// The position of each step in the schedule.
    pub(crate) position: Vec<usize>,
    /// Whether a value must overwrite another; by value.
    pub(crate) is_next_state: Vec<bool>,
    /// Which steps are certainly over before which; `None` if that is the schedule.
    pub(crate) order: Option<HappensBefore>,
}

/// A value as a part of its root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rooted {
    pub(crate) root: ValueId,
    /// The first byte.
    pub(crate) offset: u64,
    /// Where the rest is, if it is not one stretch.
    pub(crate) rows: Option<Strided>,
}

impl Rooted {
    pub(crate) fn layout(&self) -> Layout {
        Layout { first: self.offset, rows: self.rows }
    }

    /// From the first to the last byte of so many.
    pub(crate) fn hull(&self, bytes: u64) -> Span {
        self.layout().hull(Span::new(0, bytes))
    }
}

/// An access in terms of time and of bytes of the root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) step: StepId,
    pub(crate) value: ValueId,
    pub(crate) kind: AccessKind,
    /// Which bytes of the root, from the first to the last.
    pub(crate) span: Span,
    /// Which bytes of the value.
    pub(crate) within: Span,
    /// From when it may begin until it is certainly over.
    pub(crate) live: LiveRange,
    /// The step with which it may begin, and the one with which it is over: `None` for the run.
    pub(crate) first: StepId,
    pub(crate) last: Option<StepId>,
    /// Whether it is over with its own step, as far as is known: what is declared to go on until
    /// some step may go on after the writes of that step, its own or not.
    pub(crate) ends_with_step: bool,
}

/// Who makes an access, and with which steps it begins and is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepAccess {
    pub(crate) step: StepId,
    pub(crate) value: ValueId,
    pub(crate) kind: AccessKind,
    /// As in [`Touch`].
    pub(crate) first: StepId,
    pub(crate) last: Option<StepId>,
    pub(crate) ends_with_step: bool,
}

impl Touch {
    /// The access without its bytes.
    pub(crate) fn access(&self) -> StepAccess {
        let Touch { step, value, kind, first, last, ends_with_step, .. } = *self;
        StepAccess { step, value, kind, first, last, ends_with_step }
    }
}

impl ValidatedProgram<'_> {
    pub(crate) fn steps(&self) -> usize {
        self.schedule.len()
    }

    pub(crate) fn value_ids(&self) -> impl Iterator<Item = ValueId> + Clone + use<> {
        (0..self.values.len()).map(ValueId::new)
    }

    /// The accesses of a step.
    pub(crate) fn touches_of(&self, step: StepId) -> &[Touch] {
        let at = self.position[step.index()];
        let behind = |at: usize| {
            self.accesses.partition_point(|touch| self.position[touch.step.index()] < at)
        };
        &self.accesses[behind(at)..behind(at + 1)]
    }

    /// Whether the value is one that others are views of, and no view itself.
    pub(crate) fn is_root(&self, value: ValueId) -> bool {
        self.roots[value.index()].root == value
    }

    /// The values that are parts of something that steps make, and which the caller fills.
    pub(crate) fn filled_parts(&self) -> impl Iterator<Item = ValueId> + Clone + '_ {
        self.value_ids().filter(|value| {
            let root = self.roots[value.index()].root;
            self.values[value.index()].role == Role::Input
                && root != *value
                && !comes_from_outside(&self.values[root.index()])
        })
    }
}

/// What a validated program is kept in, to be filled again.
#[derive(Default)]
pub(crate) struct ValidationMemory {
    values: Vec<ValueInfo>,
    roots: Vec<Rooted>,
    schedule: Vec<StepId>,
    accesses: Vec<Touch>,
    overwrites: CompressedRows<Overwrite>,
    scratch: Vec<Option<Scratch>>,
    position: Vec<usize>,
    is_next_state: Vec<bool>,
}

impl ValidationMemory {
    /// Takes back what a program was kept in.
    pub(crate) fn recycle(&mut self, used: ValidatedProgram<'_>) {
        let ValidatedProgram { values, roots, schedule, accesses, overwrites, scratch, .. } = used;
        let (position, is_next_state) = (used.position, used.is_next_state);
        *self = ValidationMemory {
            values,
            roots,
            schedule,
            accesses,
            overwrites,
            scratch,
            position,
            is_next_state,
        };
        self.accesses.clear();
        self.overwrites.clear();
        self.scratch.clear();
    }
}

/// Reads and checks a program.
pub(crate) fn validate<'p>(
    program: &'p dyn Program,
    schedule: Option<&[StepId]>,
    buffers: &mut ValidationMemory,
) -> Result<ValidatedProgram<'p>, ProgramError> {
    let steps = program.steps();
    let ValidationMemory {
        mut values,
        mut roots,
        schedule: mut order,
        accesses,
        overwrites,
        scratch,
        mut position,
        mut is_next_state,
    } = std::mem::take(buffers);
    values.clear();
    values.extend((0..program.values()).map(|v| program.value(ValueId::new(v))));
    if let Some(zero) = values.iter().position(|v| v.align == Some(0)) {
        return Err(Fault::Misaligned(ValueId::new(zero)).named(program));
    }
    follow_roots(program, &values, &mut roots)?;
    order.clear();
    match schedule {
        Some(schedule) => order.extend_from_slice(schedule),
        None => order.extend((0..steps).map(StepId::new)),
    }
    positions(&order, steps, &mut position).map_err(|fault| fault.named(program))?;
    is_next_state.clear();
    is_next_state.resize(program.values(), false);
    let mut validated = ValidatedProgram {
        program,
        values,
        roots,
        schedule: order,
        accesses,
        overwrites,
        scratch,
        position,
        is_next_state,
        order: None,
    };
    read_steps(&mut validated)?;
    check_order(&validated)?;
    if program.execution() == Execution::InOrder {
        written::check_in_order(&validated)?;
    } else {
        if let Some(part) = validated.filled_parts().next() {
            return Err(Fault::FilledPart(part).named(program));
        }
        if let Some(value) =
            validated.value_ids().find(|v| validated.roots[v.index()].rows.is_some())
        {
            return Err(Fault::BadStrides(value).named(program));
        }
        let order = HappensBefore::new(&validated)?;
        written::check_unordered(&validated, &order)?;
        validated.order = Some(order);
    }
    Ok(validated)
}

/// Follows views to their roots.
fn follow_roots(
    program: &dyn Program,
    values: &[ValueInfo],
    roots: &mut Vec<Rooted>,
) -> Result<(), ProgramError> {
    let own = |index: usize| Rooted { root: ValueId::new(index), offset: 0, rows: None };
    roots.clear();
    roots.extend((0..values.len()).map(own));
    if values.iter().all(|value| value.view_of.is_none()) {
        return Ok(());
    }
    let mut is_known: Vec<bool> = values.iter().map(|value| value.view_of.is_none()).collect();
    let mut walked_for = vec![usize::MAX; values.len()];
    let mut chain = Vec::new();
    for start in 0..values.len() {
        // Walk down to something known, then back up.
        let mut at = ValueId::new(start);
        let mut below = loop {
            let Some(view) = values[at.index()].view_of.filter(|_| !is_known[at.index()]) else {
                break roots[at.index()];
            };
            let fail = |fault: Fault| fault.named(program);
            let of =
                values.get(view.of.index()).ok_or_else(|| fail(Fault::UnknownValue(view.of)))?;
            if walked_for[at.index()] == start {
                return Err(fail(Fault::ViewCycle(at)));
            }
            let end = view.offset.checked_add(values[at.index()].bytes);
            if view.rows.is_none() && end.is_none()
                || !view.fits(values[at.index()].bytes, of.bytes)
            {
                return Err(fail(Fault::ViewOutside { view: at, of: view.of }));
            }
            if values[at.index()].align.is_some_and(|a| a == 0 || !view.offset.is_multiple_of(a)) {
                return Err(fail(Fault::Misaligned(at)));
            }
            walked_for[at.index()] = start;
            chain.push(at);
            at = view.of;
        };
        for view in chain.drain(..).rev() {
            let info = &values[view.index()];
            let layout = info.view_of.and_then(|of| below.layout().view(&of, info.bytes));
            let layout = layout.filter(|layout| layout.rows.is_none() || info.guard == 0);
            let bad = || Fault::BadStrides(view).named(program);
            let Layout { first, rows } = layout.ok_or_else(bad)?;
            below = Rooted { offset: first, rows, ..below };
            roots[view.index()] = below;
            is_known[view.index()] = true;
        }
    }
    Ok(())
}

fn positions(schedule: &[StepId], steps: usize, position: &mut Vec<usize>) -> Result<(), Fault> {
    position.clear();
    position.resize(steps, usize::MAX);
    for (at, step) in schedule.iter().enumerate() {
        let place = position.get_mut(step.index()).ok_or(Fault::UnknownStep(*step))?;
        if *place != usize::MAX {
            return Err(Fault::StepTwice(*step));
        }
        *place = at;
    }
    match position.iter().position(|p| *p == usize::MAX) {
        Some(missing) => Err(Fault::StepMissing(StepId::new(missing))),
        None => Ok(()),
    }
}

fn read_steps(validated: &mut ValidatedProgram<'_>) -> Result<(), ProgramError> {
    let program = validated.program;
    for index in 0..program.steps() {
        let step = StepId::new(index);
        let overwrites = program.overwrites(step);
        for overwrite in overwrites.iter() {
            check_overwrite(validated, step, overwrite).map_err(|fault| fault.named(program))?;
            validated.is_next_state[overwrite.output.index()] |= overwrite.must;
        }
        validated.overwrites.push(overwrites.iter().copied());
        let scratch = program.scratch(step).filter(|s| s.bytes > 0);
        if scratch.is_some_and(|s| s.align == 0) {
            return Err(Fault::ScratchAlign(step).named(program));
        }
        validated.scratch.push(scratch);
    }
    for position in 0..validated.schedule.len() {
        let step = validated.schedule[position];
        for access in program.accesses(step).iter() {
            let touch = touch(validated, step, access).map_err(|fault| fault.named(program))?;
            validated.accesses.push(touch);
        }
        check_read_once(validated, step).map_err(|fault| fault.named(program))?;
    }
    Ok(())
}

/// In place is a matter of one read: the latest accesses, which are the step's, have no other of
/// the same bytes of a value that the step overwrites.
fn check_read_once(validated: &ValidatedProgram<'_>, step: StepId) -> Result<(), Fault> {
    let own =
        validated.accesses.iter().rposition(|touch| touch.step != step).map_or(0, |at| at + 1);
    for overwrite in validated.overwrites.row(step.index()) {
        let Overwrite { output, input, .. } = *overwrite;
        let is_read = |touch: &&Touch| touch.value == input && touch.kind == AccessKind::Read;
        let own = &validated.accesses[own..];
        let again = |(at, read): (usize, &Touch)| {
            is_read(&read)
                && own[..at].iter().filter(is_read).any(|before| before.span.meets(read.span))
        };
        if own.iter().enumerate().any(again) {
            return Err(Fault::OverwriteReadTwice { step, output, input });
        }
    }
    Ok(())
}

fn check_overwrite(
    validated: &ValidatedProgram<'_>,
    step: StepId,
    overwrite: &Overwrite,
) -> Result<(), Fault> {
    let info =
        |value: ValueId| validated.values.get(value.index()).ok_or(Fault::UnknownValue(value));
    let (output, input) = (info(overwrite.output)?, info(overwrite.input)?);
    if output.bytes > input.bytes || overwrite.output == overwrite.input {
        return Err(Fault::OverwriteTooSmall {
            step,
            output: overwrite.output,
            input: overwrite.input,
        });
    }
    Ok(())
}

fn touch(validated: &ValidatedProgram<'_>, step: StepId, access: &Access) -> Result<Touch, Fault> {
    let Access { value, bytes, kind, from, until } = *access;
    let info = validated.values.get(value.index()).ok_or(Fault::UnknownValue(value))?;
    if info.elided {
        return Err(Fault::ElidedTouched { step, value });
    }
    let within = bytes.unwrap_or(Span::new(0, info.bytes));
    if within.lo > within.hi || within.hi > info.bytes {
        return Err(Fault::AccessOutside { step, value });
    }
    let here = validated.position[step.index()];
    let place = |other: StepId| {
        validated.position.get(other.index()).copied().ok_or(Fault::UnknownStep(other))
    };
    let begin = match from {
        Some(early) if place(early)? > here => return Err(Fault::WindowBackwards { step, value }),
        Some(early) if early != step => Point::reads(place(early)?),
        _ if kind == AccessKind::Write => Point::writes(here),
        _ => Point::reads(here),
    };
    let over = match until {
        Until::Writes if kind == AccessKind::Read => Point::writes(here),
        Until::Writes | Until::Step => Point::after(here),
        Until::After(late) if place(late)? < here => {
            return Err(Fault::WindowBackwards { step, value });
        }
        Until::After(late) => Point::after(place(late)?),
        Until::EndOfRun => Point::end_of_run(validated.schedule.len()),
    };
    let last = match until {
        Until::Writes | Until::Step => Some(step),
        Until::After(late) => Some(late),
        Until::EndOfRun => None,
    };
    let layout = validated.roots[value.index()].layout();
    if kind == AccessKind::Write && layout.rows.is_some_and(|rows| rows.stride == 0) {
        return Err(Fault::BadStrides(value));
    }
    Ok(Touch {
        step,
        value,
        kind,
        span: layout.hull(within),
        within,
        live: LiveRange::new(begin, over),
        first: from.unwrap_or(step),
        last,
        ends_with_step: matches!(until, Until::Writes | Until::Step),
    })
}

/// Declared waits hold in the schedule, and data flow forwards in it.
fn check_order(validated: &ValidatedProgram<'_>) -> Result<(), ProgramError> {
    for step in &validated.schedule {
        let flowing = validated.program.flows_from(*step);
        for needs in validated.program.after(*step).iter().chain(flowing.iter()) {
            let fail = |fault: Fault| fault.named(validated.program);
            let place = validated.position.get(needs.index());
            let place = place.ok_or_else(|| fail(Fault::UnknownStep(*needs)))?;
            if *place >= validated.position[step.index()] {
                return Err(fail(Fault::OutOfOrder { step: *step, needs: *needs }));
            }
        }
    }
    Ok(())
}

/// Whether somebody else than a step fills the value before the run.
pub(crate) fn comes_from_outside(info: &ValueInfo) -> bool {
    info.role != Role::Temporary || info.storage != Storage::Arena
}
