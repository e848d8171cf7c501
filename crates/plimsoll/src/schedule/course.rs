//! What an order costs: the bytes alive while each step of it runs, after aliasing and reuse.
//!
//! Values that are the same bytes are one *buffer* here. A buffer is alive from the first step that
//! touches it to the last, so after any set of steps the bytes alive depend on the set and not on
//! the order in which they ran. While a step runs, what it makes and what it reads are alive at the
//! same time, except for an output that takes over an input that dies with this step.
//!
//! This is an estimate of what a plan needs. Sizes are rounded up to the alignment of the plan, which
//! a packing can often do without. A buffer counts as a whole while any byte of it is needed, and
//! an input as long as the step that reads it runs, even if it is over before the step writes. And
//! a plan may do without an output in the place of a larger input if that packs better. Where none
//! of this happens, the peak of an order is the load of its plan.
//!
//! Steps that have to run one after another without others in between are a *unit*; most units are
//! one step. All searches order units.

use crate::ids::{StepId, ValueId};
use crate::options::{Apart, Options};
use crate::program::{Overwrite, Program, Role, Storage, Until, ValueInfo};

/// A unit of steps, from 0.
pub(crate) type UnitId = u32;

/// A buffer, from 0.
pub(crate) type BufferId = u32;

/// The units of a program, and what they do to memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    units: Vec<Unit>,
    buffers: Vec<Buffer>,
    /// What is alive before the first step.
    base: u64,
    /// Whether time runs backwards: inputs are made and outputs die.
    backwards: bool,
}

#[derive(Clone, Debug, Default)]
struct Unit {
    /// The program's steps, in order.
    ids: Vec<StepId>,
    steps: Vec<Step>,
    /// The buffers that it touches; sorted.
    touches: Vec<BufferId>,
    /// The units that it waits for, and those that wait for it; sorted.
    before: Vec<UnitId>,
    behind: Vec<UnitId>,
}

/// What a step does to buffers.
#[derive(Clone, Debug, Default)]
struct Step {
    touches: Vec<Touch>,
    /// Outputs that may take over inputs: (output, input).
    overwrites: Vec<(BufferId, BufferId)>,
    scratch: u64,
}

#[derive(Clone, Copy, Debug)]
struct Touch {
    buffer: BufferId,
    /// Whether no earlier step of the unit touches it.
    first: bool,
    /// Whether no later one does.
    last: bool,
}

#[derive(Clone, Debug, Default)]
struct Buffer {
    bytes: u64,
    /// The units that touch it; sorted.
    units: Vec<UnitId>,
    /// Whether it lives from the beginning.
    given: bool,
    /// Whether it lives to the end.
    kept: bool,
}

/// What a unit does to the bytes that are alive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// How many more are alive at most while it runs.
    pub(crate) during: i64,
    /// How many more are alive afterwards.
    pub(crate) after: i64,
}

impl Course {
    /// What the steps of a program do to memory. `waits` has for every step those that it waits
    /// for; steps of the same `block` are one unit.
    pub(crate) fn of(
        program: &dyn Program,
        waits: &[Vec<StepId>],
        block: impl Fn(StepId) -> Option<u32>,
        options: &Options,
    ) -> Self {
        let (buffers, buffer_of) = buffers(program, options);
        let mut course = Course { buffers, ..Course::default() };
        let unit_of = course.divide(program.steps(), block);
        let by_step = touched(program, &buffer_of, &mut course.buffers);
        for step in (0..program.steps()).map(StepId::new) {
            let unit = &mut course.units[unit_of[step.index()] as usize];
            unit.before.extend(waits[step.index()].iter().map(|s| unit_of[s.index()]));
            let touches = &by_step[step.index()];
            let mut buffers: Vec<BufferId> = touches.iter().map(|(buffer, _)| *buffer).collect();
            buffers.dedup();
            let touch = |buffer: BufferId| Touch { buffer, first: true, last: true };
            unit.steps.push(Step {
                overwrites: overwrites(program, step, touches, &buffer_of, options),
                touches: buffers.into_iter().map(touch).collect(),
                scratch: program.scratch(step).map_or(0, |s| rounded(s.bytes, options)),
            });
        }
        course.finish();
        course
    }

    /// Puts steps into units; gives the unit of each.
    fn divide(&mut self, steps: usize, block: impl Fn(StepId) -> Option<u32>) -> Vec<UnitId> {
        let mut unit_of: Vec<UnitId> = Vec::with_capacity(steps);
        let mut current = None;
        for step in (0..steps).map(StepId::new) {
            let block = block(step);
            if block.is_none() || block != current {
                self.units.push(Unit::default());
            }
            current = block;
            let unit = self.units.len() - 1;
            self.units[unit].ids.push(step);
            unit_of.push(unit as UnitId);
        }
        unit_of
    }

    /// Fills in what follows from the rest.
    fn finish(&mut self) {
        for index in 0..self.units.len() {
            let id = index as UnitId;
            let mut before = std::mem::take(&mut self.units[index].before);
            before.sort_unstable();
            before.dedup();
            before.retain(|other| *other != id);
            for other in &before {
                self.units[*other as usize].behind.push(id);
            }
            let unit = &mut self.units[index];
            unit.before = before;
            mark_ends(&mut unit.steps);
            let firsts = unit.steps.iter().flat_map(|step| &step.touches).filter(|t| t.first);
            unit.touches = firsts.map(|touch| touch.buffer).collect();
            unit.touches.sort_unstable();
            for buffer in &unit.touches {
                self.buffers[*buffer as usize].units.push(id);
            }
        }
        self.base = self.buffers.iter().filter(|b| b.given).map(|b| b.bytes).sum();
    }

    /// How many units there are.
    pub(crate) fn len(&self) -> usize {
        self.units.len()
    }

    /// The units that a unit waits for.
    pub(crate) fn before(&self, unit: UnitId) -> &[UnitId] {
        &self.units[unit as usize].before
    }

    /// The units that wait for a unit.
    pub(crate) fn behind(&self, unit: UnitId) -> &[UnitId] {
        &self.units[unit as usize].behind
    }

    /// The buffers that a unit touches.
    pub(crate) fn touches(&self, unit: UnitId) -> &[BufferId] {
        &self.units[unit as usize].touches
    }

    /// The units that touch a buffer.
    pub(crate) fn touching(&self, buffer: BufferId) -> &[UnitId] {
        &self.buffers[buffer as usize].units
    }

    /// The size of a buffer.
    pub(crate) fn bytes(&self, buffer: BufferId) -> u64 {
        self.buffers[buffer as usize].bytes
    }

    /// How many buffers there are.
    pub(crate) fn buffers(&self) -> usize {
        self.buffers.len()
    }

    /// Whether a buffer lives from the beginning, and whether it lives to the end.
    pub(crate) fn ends(&self, buffer: BufferId) -> (bool, bool) {
        let buffer = &self.buffers[buffer as usize];
        (buffer.given, buffer.kept)
    }

    /// What is alive before the first step.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The steps of units, in order.
    pub(crate) fn steps(&self, order: &[UnitId]) -> Vec<StepId> {
        order.iter().flat_map(|unit| &self.units[*unit as usize].ids).copied().collect()
    }

    /// What a unit does where `fresh` buffers are touched by it first and `last` ones by nobody
    /// after it.
    pub(crate) fn change(
        &self,
        unit: UnitId,
        fresh: impl Fn(BufferId) -> bool,
        last: impl Fn(BufferId) -> bool,
    ) -> Change {
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let (mut most, mut live) = (i64::MIN, 0i64);
        for step in &self.units[unit as usize].steps {
            let (mut made, mut freed) = (0u64, 0u64);
            for touch in &step.touches {
                let buffer = &self.buffers[touch.buffer as usize];
                if touch.first && !buffer.given && fresh(touch.buffer) {
                    made += buffer.bytes;
                }
                if touch.last && !buffer.kept && last(touch.buffer) {
                    freed += buffer.bytes;
                }
            }
            let taken =
                if step.overwrites.is_empty() { 0 } else { self.taken(step, &fresh, &last) };
            most = most.max(live + signed(made + step.scratch) - signed(taken));
            live += signed(made) - signed(freed);
        }
        Change { during: most, after: live }
    }

    /// How many bytes of outputs take over inputs.
    fn taken(
        &self,
        step: &Step,
        fresh: &impl Fn(BufferId) -> bool,
        last: &impl Fn(BufferId) -> bool,
    ) -> u64 {
        let touch = |buffer: BufferId| step.touches.iter().find(|touch| touch.buffer == buffer);
        let mut done: Vec<BufferId> = Vec::new();
        let mut taken = 0;
        for (output, input) in &step.overwrites {
            let fits = self.bytes(*output) <= self.bytes(*input);
            let (new, old) = if self.backwards { (*input, *output) } else { (*output, *input) };
            let born = touch(new).is_some_and(|t| t.first) && !self.ends(new).0 && fresh(new);
            let dies = touch(old).is_some_and(|t| t.last) && !self.ends(old).1 && last(old);
            if fits && born && dies && !done.contains(&new) && !done.contains(&old) {
                done.extend([new, old]);
                taken += self.bytes(*output);
            }
        }
        taken
    }

    /// What is alive while each unit of an order runs.
    pub(crate) fn alive(&self, order: &[UnitId]) -> Vec<u64> {
        let mut walk = Walk::new(self);
        order.iter().map(|unit| walk.run(*unit)).collect()
    }

    /// The same, with time running backwards: the last unit is unit 0, and what lives to the end
    /// lives from the beginning. An order of it, read backwards, has the same peak here.
    pub(crate) fn reversed(&self) -> Course {
        let mirrored = |unit: &UnitId| self.units.len() as UnitId - 1 - unit;
        let mirror = |units: &[UnitId]| units.iter().rev().map(mirrored).collect::<Vec<_>>();
        let unit = |unit: &Unit| Unit {
            ids: unit.ids.clone(),
            steps: unit.steps.iter().rev().map(Step::reversed).collect(),
            touches: unit.touches.clone(),
            before: mirror(&unit.behind),
            behind: mirror(&unit.before),
        };
        let buffer = |buffer: &Buffer| Buffer {
            bytes: buffer.bytes,
            units: mirror(&buffer.units),
            given: buffer.kept,
            kept: buffer.given,
        };
        let buffers: Vec<Buffer> = self.buffers.iter().map(buffer).collect();
        Course {
            units: self.units.iter().rev().map(unit).collect(),
            base: buffers.iter().filter(|b| b.given).map(|b| b.bytes).sum(),
            buffers,
            backwards: !self.backwards,
        }
    }

    /// The most bytes that are alive in an order.
    pub(crate) fn peak(&self, order: &[UnitId]) -> u64 {
        self.alive(order).into_iter().max().unwrap_or(0).max(self.base)
    }
}

impl Step {
    fn reversed(&self) -> Self {
        let touch = |touch: &Touch| Touch { first: touch.last, last: touch.first, ..*touch };
        Step { touches: self.touches.iter().map(touch).collect(), ..self.clone() }
    }
}

/// Says which touches of steps that run in a row are the first and the last of their buffer.
fn mark_ends(steps: &mut [Step]) {
    if steps.len() < 2 {
        return;
    }
    let mut seen = std::collections::BTreeSet::new();
    for touch in steps.iter_mut().flat_map(|step| &mut step.touches) {
        touch.first = seen.insert(touch.buffer);
    }
    seen.clear();
    for touch in steps.iter_mut().rev().flat_map(|step| &mut step.touches) {
        touch.last = seen.insert(touch.buffer);
    }
}

/// The buffers that are placed, and the buffer of each value.
fn buffers(program: &dyn Program, options: &Options) -> (Vec<Buffer>, Vec<Option<BufferId>>) {
    let values: Vec<ValueInfo> =
        (0..program.values()).map(|value| program.value(ValueId::new(value))).collect();
    let roots = roots(program, &values);
    let mut of_root: Vec<Option<BufferId>> = vec![None; values.len()];
    let mut buffers: Vec<Buffer> = Vec::new();
    for (index, info) in values.iter().enumerate() {
        let home = &values[roots[index]];
        let placed = match home.storage {
            Storage::Arena => options.place.of(home, true),
            Storage::Persistent => true,
            Storage::External | Storage::Shared => false,
        };
        if info.view_of.is_some() || info.elided || !placed || reserved(info, options) == 0 {
            continue;
        }
        let bytes = rounded(reserved(info, options), options);
        let persistent = info.storage == Storage::Persistent || options.apart == Apart::Everything;
        let given = info.role != Role::Temporary || persistent;
        let reclaimed = info.role == Role::Input && (options.reclaim_inputs || info.donated);
        let id = *of_root[roots[index]].get_or_insert_with(|| {
            buffers.push(Buffer::default());
            buffers.len() as BufferId - 1
        });
        let buffer = &mut buffers[id as usize];
        buffer.bytes = buffer.bytes.max(bytes);
        buffer.given |= given;
        buffer.kept |= given && (persistent || !reclaimed);
    }
    let of_value: Vec<Option<BufferId>> = roots.iter().map(|root| of_root[*root]).collect();
    for (info, buffer) in values.iter().zip(&of_value) {
        if let (Some(buffer), true) = (buffer, info.output) {
            buffers[*buffer as usize].kept = true;
        }
    }
    if let Apart::Values(apart) = &options.apart {
        for buffer in apart.iter().filter_map(|value| of_value[value.index()]) {
            let buffer = &mut buffers[buffer as usize];
            (buffer.given, buffer.kept) = (true, true);
        }
    }
    (buffers, of_value)
}

/// The value whose bytes each value is a part of, in the end, or has to take over.
fn roots(program: &dyn Program, values: &[ValueInfo]) -> Vec<usize> {
    let mut parents: Vec<usize> = (0..values.len()).collect();
    for (index, info) in values.iter().enumerate() {
        parents[index] = info.view_of.map_or(index, |view| view.of.index());
    }
    for step in (0..program.steps()).map(StepId::new) {
        for overwrite in program.overwrites(step).iter().filter(|overwrite| overwrite.must) {
            if values[overwrite.output.index()].view_of.is_none() {
                parents[overwrite.output.index()] = overwrite.input.index();
            }
        }
    }
    let root = |mut index: usize| {
        while parents[index] != index {
            index = parents[index];
        }
        index
    };
    (0..values.len()).map(root).collect()
}

/// What a value that is no view takes, with what lies behind its end.
fn reserved(info: &ValueInfo, options: &Options) -> u64 {
    let guard = info.guard.saturating_add(options.guards.of(info, 0));
    let bytes = info.bytes.saturating_add(guard);
    if info.role == Role::Temporary { bytes } else { bytes.max(options.min_slot) }
}

/// A buffer that a step touches, with the value if that is its own access and no other's.
type Touched = (BufferId, Option<ValueId>);

/// The buffers that each step touches; sorted.
fn touched(
    program: &dyn Program,
    buffer_of: &[Option<BufferId>],
    buffers: &mut [Buffer],
) -> Vec<Vec<Touched>> {
    let mut touched = vec![Vec::new(); program.steps()];
    for step in (0..program.steps()).map(StepId::new) {
        for access in program.accesses(step).iter() {
            let Some(buffer) = buffer_of[access.value.index()] else { continue };
            touched[step.index()].push((buffer, Some(access.value)));
            if let Some(from) = access.from.filter(|from| *from != step) {
                touched[from.index()].push((buffer, None));
            }
            match access.until {
                Until::After(later) if later != step => touched[later.index()].push((buffer, None)),
                Until::EndOfRun => buffers[buffer as usize].kept = true,
                Until::After(_) | Until::Writes | Until::Step => {}
            }
        }
    }
    for buffers in &mut touched {
        buffers.sort_unstable();
        buffers.dedup();
    }
    touched
}

/// Which outputs of a step may take over which inputs, in the order in which they are tried: those
/// that fit best first. What has to be taken over is one buffer already.
fn overwrites(
    program: &dyn Program,
    step: StepId,
    touched: &[Touched],
    buffer_of: &[Option<BufferId>],
    options: &Options,
) -> Vec<(BufferId, BufferId)> {
    let info = |value: ValueId| program.value(value);
    let mut list: Vec<_> = program.overwrites(step).to_vec();
    list.retain(|o| options.in_place && !o.must && info(o.output).view_of.is_none());
    list.retain(|o| info(o.output).guard == 0 && options.guards.of(&info(o.output), 0) == 0);
    list.retain(|o| {
        let align = info(o.output).align.unwrap_or(options.align).max(1);
        offset(program, o.input).is_multiple_of(align)
    });
    list.sort_by_key(|o| info(o.input).bytes.saturating_sub(info(o.output).bytes));
    let pair = |overwrite: &Overwrite| {
        let of = |value: ValueId| buffer_of[value.index()];
        let (output, input) = of(overwrite.output).zip(of(overwrite.input))?;
        // Nobody else is at either of them in this step.
        let own = |buffer: BufferId, value: ValueId| {
            touched.iter().filter(|(b, _)| *b == buffer).all(|(_, by)| *by == Some(value))
        };
        let alone = own(output, overwrite.output) && own(input, overwrite.input);
        (output != input && alone).then_some((output, input))
    };
    list.iter().filter_map(pair).collect()
}

/// Where a value begins in its root.
fn offset(program: &dyn Program, value: ValueId) -> u64 {
    let (mut at, mut info) = (0u64, program.value(value));
    while let Some(view) = info.view_of {
        at = at.saturating_add(view.offset);
        info = program.value(view.of);
    }
    at
}

/// What a buffer takes with offsets that are aligned.
fn rounded(bytes: u64, options: &Options) -> u64 {
    bytes.checked_next_multiple_of(options.align.max(1)).unwrap_or(bytes)
}

/// A run through some order.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'c> {
    course: &'c Course,
    /// How many units have yet to touch each buffer.
    left: Vec<u32>,
    live: u64,
}

impl<'c> Walk<'c> {
    pub(crate) fn new(course: &'c Course) -> Self {
        let left = course.buffers.iter().map(|buffer| buffer.units.len() as u32).collect();
        Walk { course, left, live: course.base }
    }

    /// What is alive now.
    pub(crate) fn live(&self) -> u64 {
        self.live
    }

    /// What a unit would do now.
    pub(crate) fn change(&self, unit: UnitId) -> Change {
        let all = |buffer: BufferId| self.course.buffers[buffer as usize].units.len() as u32;
        self.course.change(
            unit,
            |buffer| self.left[buffer as usize] == all(buffer),
            |buffer| self.left[buffer as usize] == 1,
        )
    }

    /// Runs a unit; gives the most that is alive meanwhile.
    pub(crate) fn run(&mut self, unit: UnitId) -> u64 {
        let change = self.change(unit);
        for buffer in &self.course.units[unit as usize].touches {
            self.left[*buffer as usize] -= 1;
        }
        let most = self.live.saturating_add_signed(change.during);
        self.live = self.live.saturating_add_signed(change.after);
        most
    }
}
