//! Random programs, valid by construction, with every feature of the model.
//!
//! Steps are made in order of their ids, which is a valid order of execution. For every root the
//! maker remembers who touched it, when what was written can be read, and until when somebody
//! reads it, and declares waits where the execution does not imply the order by itself.

use std::ops::Range;

use plimsoll_pack::Span;
use plimsoll_pack::testing::Rng;

use crate::declared::{DeclaredProgram, DeclaredStep};
use crate::ids::{StepId, ValueId};
use crate::program::{
    Access, AccessKind, Execution, Overwrite, Role, Scratch, Storage, Strided, Until, ValueInfo,
    View,
};

/// What random programs look like: ranges, and per cent of cases.
#[derive(Clone, Debug)]
pub struct Shape {
    /// How many steps.
    pub steps: Range<u64>,
    /// Sizes of values.
    pub sizes: Range<u64>,
    /// In which order steps run; any if there is none.
    pub execution: Option<Execution>,
    /// How many values from outside.
    pub given: Range<u64>,
    /// Values that survive, are external or donated; elided ones.
    pub storage: u64,
    /// Values that are views.
    pub views: u64,
    /// Outputs that may or must overwrite.
    pub overwrites: u64,
    /// Accesses with windows of their own.
    pub windows: u64,
    /// Values that are written in parts, and reads of parts.
    pub parts: u64,
    /// Steps with scratch memory.
    pub scratch: u64,
    /// Values with guards or alignments.
    pub guards: u64,
    /// Whether values that nobody reads are made outputs.
    pub all_read: bool,
}

impl Shape {
    /// Values and steps, in order, and nothing else.
    #[must_use]
    pub fn plain() -> Self {
        Shape {
            steps: 1..7,
            sizes: 1..4,
            execution: Some(Execution::InOrder),
            given: 0..2,
            storage: 0,
            views: 0,
            overwrites: 0,
            windows: 0,
            parts: 0,
            scratch: 0,
            guards: 0,
            all_read: true,
        }
    }

    /// Every feature of the model.
    #[must_use]
    pub fn everything() -> Self {
        Shape {
            execution: None,
            given: 0..4,
            storage: 40,
            views: 25,
            overwrites: 35,
            windows: 15,
            parts: 20,
            scratch: 20,
            guards: 15,
            all_read: false,
            ..Shape::plain()
        }
    }
}

/// A random valid program.
#[must_use]
pub fn random_program(rng: &mut Rng, shape: &Shape) -> DeclaredProgram {
    let steps = rng.within(shape.steps.clone()) as usize;
    let any = [Execution::InOrder, Execution::Partial, Execution::Queues];
    let execution = shape.execution.unwrap_or(any[rng.below(3) as usize]);
    let mut program = DeclaredProgram::new(execution);
    program.steps = vec![DeclaredStep::default(); steps];
    for step in &mut program.steps {
        step.queue = rng.below(3) as u32;
    }
    let mut maker = Maker { rng, shape, program, roots: Vec::new(), readable: Vec::new() };
    for _ in 0..maker.rng.within(shape.given.clone()) {
        maker.given();
    }
    for step in 0..steps {
        maker.step(step);
    }
    maker.finish();
    maker.program
}

/// What is known of a root while the program is made.
#[derive(Clone, Debug, Default)]
struct Root {
    /// Steps after which it can be read.
    written_by: Vec<StepId>,
    /// Every step that is in the way of a change: accesses and the ends of their windows.
    touched_by: Vec<StepId>,
    /// The first step that may read it.
    ready: usize,
    /// The first step that may change it.
    free: usize,
    /// Bytes that are still to be written.
    rest: Option<Span>,
    read: bool,
    gone: bool,
}

struct Maker<'a> {
    rng: &'a mut Rng,
    shape: &'a Shape,
    program: DeclaredProgram,
    /// By value; only those of roots are used.
    roots: Vec<Root>,
    /// Values that have bytes: candidates for reading.
    readable: Vec<ValueId>,
}

impl Maker<'_> {
    fn add(&mut self, mut info: ValueInfo) -> ValueId {
        if info.view_of.is_none() && self.rng.chance(self.shape.guards) {
            info.guard = self.rng.below(3);
        }
        if info.view_of.is_none() && self.rng.chance(self.shape.guards) {
            info.align = Some(1 << self.rng.below(3));
        }
        self.roots.push(Root::default());
        self.program.add(info)
    }

    fn size(&mut self) -> u64 {
        self.rng.within(self.shape.sizes.clone())
    }

    fn root(&self, mut value: ValueId) -> ValueId {
        while let Some(view) = self.program.values[value.index()].view_of {
            value = view.of;
        }
        value
    }

    fn given(&mut self) {
        let mut info = ValueInfo::new(self.size());
        info.role = [Role::Input, Role::Param, Role::Constant][self.rng.below(3) as usize];
        if self.rng.chance(self.shape.storage) {
            match self.rng.below(4) {
                0 => (info.role, info.storage) = (Role::Temporary, Storage::Persistent),
                1 => info.storage = Storage::External,
                2 => info.storage = Storage::Shared,
                _ => info.donated = info.role == Role::Input,
            }
        }
        let value = self.add(info);
        self.readable.push(value);
        if self.rng.chance(self.shape.storage / 4) {
            self.add(ValueInfo { elided: true, ..ValueInfo::new(3) });
        }
    }

    fn step(&mut self, step: usize) {
        let reads = self.rng.below(4);
        for _ in 0..reads {
            self.read(step);
        }
        if self.rng.chance(self.shape.views) {
            self.view();
        }
        if self.rng.chance(self.shape.overwrites) && self.must_overwrite(step) {
            return;
        }
        if self.rng.chance(self.shape.parts) && (self.write_rest(step) || self.change(step)) {
            return;
        }
        if self.program.execution == Execution::InOrder && self.rng.chance(self.shape.parts) {
            self.write_rows(step);
            return;
        }
        self.write(step);
        if self.rng.chance(25) {
            self.write(step);
        }
        if self.rng.chance(self.shape.scratch) {
            let (bytes, align) = (self.rng.below(4), 1 << self.rng.below(2));
            self.program.steps[step].scratch = Some(Scratch { bytes, align });
        }
    }

    /// A value that can be read by this step.
    fn pick(&mut self, step: usize) -> Option<ValueId> {
        let fits = |maker: &Self, value: ValueId| {
            let root = &maker.roots[maker.root(value).index()];
            root.ready <= step && root.rest.is_none() && !root.gone
        };
        let candidates: Vec<ValueId> =
            self.readable.iter().copied().filter(|value| fits(self, *value)).collect();
        let count = candidates.len() as u64;
        (count > 0).then(|| candidates[self.rng.below(count) as usize])
    }

    fn read(&mut self, step: usize) {
        let Some(value) = self.pick(step) else { return };
        if self.touches(step, value) {
            return;
        }
        let root = self.root(value).index();
        let mut access = Access::read(value);
        let bytes = self.program.values[value.index()].bytes;
        if self.rng.chance(self.shape.parts) && bytes > 1 {
            let lo = self.rng.below(bytes);
            access.bytes = Some(Span::new(lo, lo + 1 + self.rng.below(bytes - lo)));
        }
        self.wait(step, self.roots[root].written_by.clone());
        let ready = self.roots[root].ready;
        if self.rng.chance(self.shape.windows) && ready < step {
            let from = ready + self.rng.below((step - ready) as u64 + 1) as usize;
            access.from = Some(StepId::new(from));
            self.wait(from, self.roots[root].written_by.clone());
            self.wait(step, vec![StepId::new(from)]);
            self.roots[root].touched_by.push(StepId::new(from));
        }
        let last = self.until(step, &mut access);
        if access.until == Until::Step && self.rng.chance(self.shape.windows) {
            access.until = Until::Writes;
        }
        let known = &mut self.roots[root];
        known
            .touched_by
            .extend([StepId::new(step), StepId::new(last.min(self.program.steps.len() - 1))]);
        known.free = known.free.max(last + 1);
        known.read = true;
        self.program.steps[step].accesses.push(access);
    }

    /// A late end for an access, at times; the last step of it.
    fn until(&mut self, step: usize, access: &mut Access) -> usize {
        let steps = self.program.steps.len();
        if !self.rng.chance(self.shape.windows) {
            return step;
        }
        if access.kind == AccessKind::Read && self.rng.chance(30) {
            access.until = Until::EndOfRun;
            return steps;
        }
        let last = step + self.rng.below((steps - step) as u64) as usize;
        access.until = Until::After(StepId::new(last));
        self.wait(last, vec![StepId::new(step)]);
        last
    }

    /// Declares that a step is after others, unless the execution is in order.
    fn wait(&mut self, step: usize, mut others: Vec<StepId>) {
        others.retain(|other| other.index() < step);
        if self.program.execution != Execution::InOrder {
            let after = &mut self.program.steps[step].after;
            after.extend(others);
            after.sort_unstable();
            after.dedup();
        }
    }

    fn view(&mut self) {
        let stretch = |v: &ValueId| {
            self.program.values[v.index()].view_of.is_none_or(|view| view.rows.is_none())
        };
        let candidates: Vec<ValueId> = self.readable.iter().copied().filter(stretch).collect();
        if candidates.is_empty() {
            return;
        }
        let of = candidates[self.rng.below(candidates.len() as u64) as usize];
        let whole = self.program.values[of.index()].bytes;
        let offset = self.rng.below(whole);
        let mut info = ValueInfo::new(1 + self.rng.below(whole - offset));
        info.view_of = Some(View::new(of, offset));
        if self.program.execution == Execution::InOrder && self.rng.chance(self.shape.parts) {
            self.rows(of, &mut info);
        }
        let view = self.add(info);
        self.readable.push(view);
    }

    /// Makes a view of a root one of rows.
    fn rows(&mut self, of: ValueId, info: &mut ValueInfo) {
        let root = &self.program.values[of.index()];
        let Some(view) = info.view_of.as_mut().filter(|_| root.view_of.is_none()) else { return };
        let bytes = 1 + self.rng.below(info.bytes);
        let stride = if self.rng.chance(20) { 0 } else { bytes + self.rng.below(4) };
        let most = match stride {
            0 => 3,
            stride => (root.bytes - view.offset - bytes) / stride + 1,
        };
        view.rows = Some(Strided { bytes, stride });
        info.bytes = bytes * (1 + self.rng.below(most));
    }

    /// Writes a new value in two parts whose rows take turns.
    fn write_rows(&mut self, step: usize) {
        let (bytes, rows) = (1 + self.rng.below(3), 1 + self.rng.below(4));
        let whole = self.add(ValueInfo::new(2 * bytes * rows));
        self.readable.push(whole);
        for offset in [0, bytes] {
            let rows_at = Strided { bytes, stride: 2 * bytes };
            let view = View { of: whole, offset, rows: Some(rows_at) };
            let part = self.add(ValueInfo { view_of: Some(view), ..ValueInfo::new(bytes * rows) });
            self.readable.push(part);
            self.written(step, Access::write(part));
        }
    }

    /// A new value, or the first half of it.
    fn write(&mut self, step: usize) {
        let mut info = ValueInfo::new(self.size());
        if self.rng.chance(self.shape.storage / 3) {
            let storage = [Storage::Persistent, Storage::External][self.rng.below(2) as usize];
            info.storage = storage;
        }
        let value = self.add(info);
        self.readable.push(value);
        let mut access = Access::write(value);
        if info.bytes > 1 && self.rng.chance(self.shape.parts) {
            let half = info.bytes / 2;
            access.bytes = Some(Span::new(0, half));
            if self.rng.chance(self.shape.storage) && self.can_be_filled(&info) {
                self.fill(step, value, half);
            } else {
                self.roots[value.index()].rest = Some(Span::new(half, info.bytes));
            }
        }
        let overwrites = self.may_overwrite(step, value);
        if !overwrites && step > 0 && self.rng.chance(self.shape.windows) {
            let from = StepId::new(self.rng.below(step as u64) as usize);
            access.from = Some(from);
            self.wait(step, vec![from]);
        }
        self.written(step, access);
    }

    fn can_be_filled(&self, info: &ValueInfo) -> bool {
        info.storage == Storage::Arena && self.program.execution == Execution::InOrder
    }

    /// Has the caller fill what is behind some bytes of a value, and a step read it that need not
    /// wait for anybody.
    fn fill(&mut self, step: usize, of: ValueId, offset: u64) {
        let info = ValueInfo::new(self.program.values[of.index()].bytes - offset);
        let view_of = Some(View::new(of, offset));
        let part = self.add(ValueInfo { role: Role::Input, view_of, ..info });
        let reader = self.rng.below(step as u64 + 1) as usize;
        self.program.steps[reader].accesses.push(Access::read(part));
        self.readable.push(part);
    }

    fn written(&mut self, step: usize, mut access: Access) {
        let root = self.root(access.value).index();
        let last = self.until(step, &mut access);
        let known = &mut self.roots[root];
        known.written_by.extend([StepId::new(step), StepId::new(last)]);
        known.touched_by.extend([StepId::new(step), StepId::new(last)]);
        known.ready = known.ready.max(last + 1);
        known.free = known.free.max(last + 1);
        self.program.steps[step].accesses.push(access);
    }

    fn may_overwrite(&mut self, step: usize, output: ValueId) -> bool {
        let bytes = self.program.values[output.index()].bytes;
        let reads = self.program.steps[step].accesses.iter();
        let reads = reads.filter(|a| a.kind == AccessKind::Read).map(|a| a.value);
        let mut large = reads.filter(|v| self.program.values[v.index()].bytes >= bytes);
        let Some(input) = large.next_back() else { return false };
        if !self.rng.chance(self.shape.overwrites) {
            return false;
        }
        self.program.steps[step].overwrites.push(Overwrite { output, input, must: false });
        true
    }

    /// A root that nobody needs any more from this step on, and that this step does not touch.
    fn pick_free(&mut self, step: usize) -> Option<ValueId> {
        let candidates = self.readable.iter().copied().filter(|v| {
            let known = &self.roots[v.index()];
            self.root(*v) == *v
                && known.ready <= step
                && known.free <= step
                && known.rest.is_none()
                && !known.gone
                && !self.touches(step, *v)
        });
        let candidates: Vec<ValueId> = candidates.collect();
        let count = candidates.len() as u64;
        (count > 0).then(|| candidates[self.rng.below(count) as usize])
    }

    fn touches(&self, step: usize, value: ValueId) -> bool {
        let root = self.root(value);
        self.program.steps[step].accesses.iter().any(|a| self.root(a.value) == root)
    }

    /// An output that must overwrite, and of which only a part is written.
    fn must_overwrite(&mut self, step: usize) -> bool {
        let Some(input) = self.pick_free(step) else { return false };
        let whole = self.program.values[input.index()].bytes;
        let mut info = ValueInfo::new(1 + self.rng.below(whole));
        info.align = self.program.values[input.index()].align;
        self.roots.push(Root::default());
        let output = self.program.add(info);
        self.readable.push(output);
        let waits = self.roots[input.index()].touched_by.clone();
        self.wait(step, waits);
        self.roots[input.index()].gone = true;
        self.roots[input.index()].read = true;
        let hi = 1 + self.rng.below(info.bytes);
        self.program.steps[step].overwrites.push(Overwrite { output, input, must: true });
        if self.rng.chance(50) {
            self.program.steps[step].accesses.push(Access::read(input));
        }
        let access = Access { bytes: Some(Span::new(0, hi)), ..Access::write(output) };
        self.written(step, access);
        true
    }

    /// The second half of a value.
    fn write_rest(&mut self, step: usize) -> bool {
        let open = self
            .readable
            .iter()
            .copied()
            .find(|v| self.roots[v.index()].rest.is_some() && !self.touches(step, *v));
        let Some(value) = open else { return false };
        let rest = self.roots[value.index()].rest.take();
        if let Some(part) = rest.filter(|_| self.shape.overwrites > 0 && self.rng.chance(50)) {
            // As a value of its own, which may be made in the place of an input.
            let view_of = Some(View::new(value, part.lo));
            let part = self.add(ValueInfo { view_of, ..ValueInfo::new(part.len()) });
            self.readable.push(part);
            self.may_overwrite(step, part);
            self.written(step, Access::write(part));
            return true;
        }
        self.written(step, Access { bytes: rest, ..Access::write(value) });
        true
    }

    /// A new state of a persistent value.
    fn change(&mut self, step: usize) -> bool {
        let Some(value) = self.pick_free(step) else { return false };
        if self.program.values[value.index()].storage != Storage::Persistent {
            return false;
        }
        let waits = self.roots[value.index()].touched_by.clone();
        self.wait(step, waits);
        self.written(step, Access::write(value));
        true
    }

    fn finish(&mut self) {
        let steps = self.program.steps.len();
        for value in self.readable.clone() {
            let known = &self.roots[self.root(value).index()];
            let there = known.ready <= steps && known.rest.is_none() && !known.gone;
            let unread = self.shape.all_read && !known.read;
            if there && (unread || self.rng.chance(20)) {
                self.program.values[value.index()].output = true;
            }
        }
    }
}
