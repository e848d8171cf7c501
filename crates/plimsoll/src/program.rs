//! The access model: what a runtime tells us of its program, and all that we know of it.
//!
//! A client declares every access to memory: which bytes of which value are read or written, by
//! which step, from when on and until when. Lives, conflicts, the plan and the verifier follow from
//! these declarations and from nothing else. Whoever has a graph of steps over values implements
//! [`Program`]; our own `Graph` (`plimsoll_graph`) is just the first to do so.

use std::borrow::Cow;

use plimsoll_pack::Span;
use serde::{Deserialize, Serialize};

use crate::ids::{StepId, ValueId};

/// A tensor program: dense steps over dense values.
///
/// What must hold, and is checked once by [`plan`](crate::plan()):
///
/// - ids in declarations are below [`steps`](Program::steps) and [`values`](Program::values);
/// - a value is written before it is read, and an output is written: every byte by a step, or from
///   outside if its [`Role`] or [`Storage`] says so;
/// - a view lies within the value that it is a view of, and views do not go in circles;
/// - a view of [rows](Strided) has no guard, rows that are the same bytes are not written, and there are
///   rows only where steps run in order; a view of such a view is a stretch or rows of the root;
/// - byte ranges of accesses lie within the value;
/// - an access begins no later than its step and is over no earlier than its step;
/// - an elided value has no accesses;
/// - a schedule has every step behind those that it is [after](Program::after) and that data
///   [flow from](Program::flows_from);
/// - an overwritten value is read or dead in that step, and at least as large as the output; no
///   byte of it is read by two accesses of the step;
/// - under [`Execution::InOrder`] the steps in order of their ids are a valid order of execution;
///   under [`Execution::Queues`] waits cover every flow of data between queues.
pub trait Program {
    /// How many steps there are.
    fn steps(&self) -> usize;

    /// How many values there are.
    fn values(&self) -> usize;

    /// What is known of a value.
    fn value(&self, value: ValueId) -> ValueInfo;

    /// Every access that a step makes.
    fn accesses(&self, step: StepId) -> Cow<'_, [Access]>;

    /// What a step's outputs may, or must, take over the bytes of.
    fn overwrites(&self, step: StepId) -> Cow<'_, [Overwrite]> {
        let _ = step;
        Cow::Borrowed(&[])
    }

    /// Memory that a step needs while it runs, and only then.
    fn scratch(&self, step: StepId) -> Option<Scratch> {
        let _ = step;
        None
    }

    /// In which order steps run.
    fn execution(&self) -> Execution {
        Execution::InOrder
    }

    /// The queue of a step, under [`Execution::Queues`].
    fn queue(&self, step: StepId) -> u32 {
        let _ = step;
        0
    }

    /// Steps that are certainly over before this one begins, beside those that the flow of data
    /// (or, under [`Execution::Queues`], the order of its queue) puts before it.
    fn after(&self, step: StepId) -> Cow<'_, [StepId]> {
        let _ = step;
        Cow::Borrowed(&[])
    }

    /// Steps that come before this one in every schedule, since data flow from them to it, whether
    /// bytes are touched or not: a step that only makes a view is behind the step that makes what it
    /// is a view of. That says nothing of when accesses are over, which follows from
    /// [`accesses`](Program::accesses) and [`after`](Program::after) alone.
    fn flows_from(&self, step: StepId) -> Cow<'_, [StepId]> {
        let _ = step;
        Cow::Borrowed(&[])
    }

    /// The block of a step: steps of a block run in the order of their ids, right one behind the other,
    /// in every schedule, like the body of a branch.
    fn block(&self, step: StepId) -> Option<u32> {
        let _ = step;
        None
    }

    /// The bank that a value has to be in, by its name; any if it does not say. A view is where its root is, and
    /// no output takes over an input of another bank.
    fn bank(&self, value: ValueId) -> Option<Cow<'_, str>> {
        let _ = value;
        None
    }

    /// Whether a step only moves bytes, a few at a time, from wherever they are to wherever they go. In two memories
    /// it can work on what is in the slow one, and then needs no room in the fast one.
    fn only_moves(&self, step: StepId) -> bool {
        let _ = step;
        false
    }

    /// Whether a value's size is only a limit: how much of it is used depends on data. Reports say
    /// so; nothing is ever decided by it.
    fn is_limit(&self, value: ValueId) -> bool {
        let _ = value;
        false
    }

    /// What to call a value in messages and reports. Nothing is ever decided by it.
    fn value_name(&self, value: ValueId) -> Cow<'_, str> {
        Cow::Owned(value.to_string())
    }

    /// What to call a step in messages and reports. Nothing is ever decided by it.
    fn step_name(&self, step: StepId) -> Cow<'_, str> {
        Cow::Owned(step.to_string())
    }
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueInfo {
    /// Its size; 0 is allowed.
    pub bytes: u64,
    /// What its offset must be a multiple of; `None` for the default of the plan.
    pub align: Option<u64>,
    /// Bytes behind its end that whoever writes it may write too.
    pub guard: u64,
    /// Who makes it.
    pub role: Role,
    /// Where it lives.
    pub storage: Storage,
    /// The value whose bytes it is a part of.
    pub view_of: Option<View>,
    /// Whether it must be there, unchanged, when the run is over.
    pub output: bool,
    /// Whether it has no bytes at all, because every reader folds it away.
    pub elided: bool,
    /// Whether a value from outside may be overwritten once it is no longer needed.
    pub donated: bool,
}

impl ValueInfo {
    /// A temporary of so many bytes.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        ValueInfo {
            bytes,
            align: None,
            guard: 0,
            role: Role::Temporary,
            storage: Storage::Arena,
            view_of: None,
            output: false,
            elided: false,
            donated: false,
        }
    }
}

/// Who makes a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// The caller, before every run. Of a view: these bytes of what it is a view of, and no others;
    /// only where steps run [in order](Execution::InOrder).
    #[serde(rename = "inputs")]
    Input,
    /// Whoever loads the model, once: a weight.
    #[serde(rename = "params")]
    Param,
    /// Whoever loads the model, once: a constant of the program.
    #[serde(rename = "constants")]
    Constant,
    /// Whoever loads the model, once: computed from weights and constants only.
    #[serde(rename = "statics")]
    Static,
    /// A step.
    #[serde(rename = "temporaries")]
    Temporary,
}

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Storage {
    /// In a bank of the plan. What comes from outside ([`Role`]) is placed there only if the
    /// options say so, and is the caller's memory otherwise.
    Arena,
    /// In a bank of the plan, in bytes that nobody else ever uses: it survives from run to run.
    Persistent,
    /// In the caller's memory: not placed.
    External,
    /// Where another plan has put it, found by name: not ours to place, and in our way.
    Shared,
}

/// A part of another value's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The other value, which may be a view itself.
    pub of: ValueId,
    /// The first byte in it.
    pub offset: u64,
    /// Where the rest is, if the part is not one stretch of bytes.
    pub rows: Option<Strided>,
}

impl View {
    /// A stretch of bytes.
    #[must_use]
    pub fn new(of: ValueId, offset: u64) -> Self {
        View { of, offset, rows: None }
    }

    /// Whether a view of so many bytes lies within a value of so many.
    #[must_use]
    pub fn fits(&self, bytes: u64, of: u64) -> bool {
        let shaped = self.rows.is_none_or(|rows| {
            let apart = rows.stride == 0 || rows.stride >= rows.bytes;
            let few = || rows.stride <= rows.bytes || bytes / rows.bytes <= Strided::MOST;
            rows.bytes > 0 && bytes.is_multiple_of(rows.bytes) && apart && few()
        });
        let layout = Layout { first: self.offset, rows: self.rows };
        shaped && layout.hull(Span::new(0, bytes)).hi <= of
    }
}

/// Equal stretches of bytes, each as far behind the one before: a part of an inner axis. A step that
/// declares an access to such a value has a kernel that knows strides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strided {
    /// The bytes of each, at least 1.
    pub bytes: u64,
    /// From the first byte of one to the first byte of the next; 0 if all are the same bytes, which
    /// can only be read.
    pub stride: u64,
}

impl Strided {
    /// More than so many that are apart are not followed: the verifier looks at each.
    pub const MOST: u64 = 1 << 16;
}

/// Which bytes of another value a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The first.
    pub first: u64,
    /// Where the rest is, if they are not one stretch.
    pub rows: Option<Strided>,
}

impl Layout {
    /// All bytes from the first on.
    pub const WHOLE: Layout = Layout { first: 0, rows: None };

    /// Where a byte of the value is.
    #[must_use]
    pub fn at(&self, byte: u64) -> u64 {
        let inside = match self.rows {
            None => byte,
            Some(Strided { bytes, stride }) => {
                let bytes = bytes.max(1);
                (byte / bytes).saturating_mul(stride).saturating_add(byte % bytes)
            }
        };
        self.first.saturating_add(inside)
    }

    /// From the first to the last of some bytes of the value, with what is between them.
    #[must_use]
    #[inline]
    pub fn hull(&self, bytes: Span) -> Span {
        match self.rows {
            None if !bytes.is_empty() => bytes.shifted(self.first),
            _ => self.hull_of_rows(bytes),
        }
    }

    fn hull_of_rows(&self, bytes: Span) -> Span {
        if bytes.is_empty() {
            return Span::new(self.at(bytes.lo), self.at(bytes.lo));
        }
        let last = bytes.hi - 1;
        match self.rows {
            Some(rows)
                if rows.stride == 0 && bytes.lo / rows.bytes.max(1) != last / rows.bytes.max(1) =>
            {
                Span::new(self.first, self.first.saturating_add(rows.bytes))
            }
            _ => Span::new(self.at(bytes.lo), self.at(last).saturating_add(1)),
        }
    }

    /// The stretches that some bytes of the value are, in order.
    pub fn spans(&self, bytes: Span) -> impl Iterator<Item = Span> + Clone + use<> {
        let layout = *self;
        let row = self.rows.filter(|rows| rows.stride > rows.bytes).map(|rows| rows.bytes);
        // What is one stretch comes once, with bytes in it or not.
        let mut from = (row.is_none() || !bytes.is_empty()).then_some(bytes.lo);
        std::iter::from_fn(move || {
            let at = from?;
            let row_end = |row: u64| (at - at % row).saturating_add(row).min(bytes.hi);
            let end = row.map_or(bytes.hi, row_end);
            from = Some(end).filter(|end| row.is_some() && *end < bytes.hi);
            Some(layout.hull(Span::new(at, end)))
        })
    }

    /// The same for a view of so many bytes of the value; `None` if these would be neither one
    /// stretch nor rows.
    #[must_use]
    pub fn view(&self, view: &View, bytes: u64) -> Option<Layout> {
        let first = self.at(view.offset);
        let one = |rows: &Strided| bytes <= rows.bytes || rows.bytes == rows.stride;
        let rows = match (view.rows.filter(|rows| !one(rows)), self.rows) {
            (rows, None) => rows,
            (None, Some(below)) => {
                let start = view.offset % below.bytes.max(1);
                if start.checked_add(bytes)? <= below.bytes {
                    None
                } else if start == 0 && bytes.is_multiple_of(below.bytes) {
                    Some(below)
                } else {
                    return None;
                }
            }
            (Some(rows), Some(below)) => {
                let start = view.offset % below.bytes.max(1);
                let inside = start.checked_add(rows.bytes)? <= below.bytes;
                if !inside || !rows.stride.is_multiple_of(below.bytes) {
                    return None;
                }
                let stride = (rows.stride / below.bytes).checked_mul(below.stride)?;
                Some(Strided { bytes: rows.bytes, stride })
            }
        };
        Some(Layout { first, rows })
    }
}

/// The value that is no view and that a value is a part of in the end, and which bytes of it.
#[must_use]
pub fn root_of(program: &dyn Program, value: ValueId) -> (ValueId, Layout) {
    let mut views = Vec::new();
    let mut root = value;
    while let Some(view) = program.value(root).view_of {
        views.push((view, program.value(root).bytes));
        root = view.of;
    }
    let mut layout = Layout::WHOLE;
    for (view, bytes) in views.iter().rev() {
        let first = layout.at(view.offset);
        layout = layout.view(view, *bytes).unwrap_or(Layout { first, rows: None });
    }
    (root, layout)
}

/// The same for every value. Linear, also where views are views of views.
#[must_use]
pub fn roots_of(program: &dyn Program) -> Vec<(ValueId, Layout)> {
    let mut roots: Vec<Option<(ValueId, Layout)>> = vec![None; program.values()];
    let mut views = Vec::new();
    for start in 0..roots.len() {
        let mut at = ValueId::new(start);
        let (root, mut layout) = loop {
            if let Some(known) = roots[at.index()] {
                break known;
            }
            let info = program.value(at);
            let Some(view) = info.view_of else { break (at, Layout::WHOLE) };
            views.push((at, view, info.bytes));
            at = view.of;
        };
        roots[at.index()] = Some((root, layout));
        for (value, view, bytes) in views.drain(..).rev() {
            let first = layout.at(view.offset);
            layout = layout.view(&view, bytes).unwrap_or(Layout { first, rows: None });
            roots[value.index()] = Some((root, layout));
        }
    }
    roots.into_iter().flatten().collect()
}

/// One access of a step to the bytes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The value.
    pub value: ValueId,
    /// Which of its bytes; `None` for all.
    pub bytes: Option<Span>,
    /// Read or write.
    pub kind: AccessKind,
    /// The step with whose start it may begin; `None` for its own. A write that begins with its
    /// own step begins where the step writes.
    pub from: Option<StepId>,
    /// When it is certainly over.
    pub until: Until,
}

impl Access {
    /// A read of all bytes by the step itself.
    #[must_use]
    pub fn read(value: ValueId) -> Self {
        Access { value, bytes: None, kind: AccessKind::Read, from: None, until: Until::Step }
    }

    /// A write of all bytes by the step itself.
    #[must_use]
    pub fn write(value: ValueId) -> Self {
        Access { kind: AccessKind::Write, ..Access::read(value) }
    }
}

/// Read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// The bytes must hold what was written last.
    Read,
    /// The bytes hold something else afterwards; during the access they hold nothing.
    Write,
}

/// When an access is certainly over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Before its own step writes anything; for reads only.
    Writes,
    /// With its own step.
    Step,
    /// With that later step.
    After(StepId),
    /// With the run.
    EndOfRun,
}

/// An output that takes over the bytes of another value in the step that writes it.
///
/// The first byte of both is the same. The step reads each byte of the input for the last time
/// before it writes that byte of the output, so its own read of the input is no obstacle. In place is
/// a matter of an operand, not of a value: a step that reads the value by another operand too
/// declares one read where it reads all of them element by element together, and no overwrite
/// otherwise. Where the
/// input is in the caller's memory, an output that must overwrite it is there too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overwrite {
    /// What is written.
    pub output: ValueId,
    /// Whose bytes it takes.
    pub input: ValueId,
    /// Whether it must: the step changes the input in place, and bytes that it does not write stay
    /// what they were. Otherwise it may.
    pub must: bool,
}

/// Memory for one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// How much.
    pub bytes: u64,
    /// What its offset must be a multiple of.
    pub align: u64,
}

/// In which order steps run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// One after another, in the order of the schedule.
    #[default]
    InOrder,
    /// Whenever what they read has been written and what they are [`after`](Program::after) is
    /// over: any two steps that are not ordered by that may overlap.
    Partial,
    /// Each step on its queue, in order within the queue, and after the steps that it waits for
    /// ([`after`](Program::after)). Nothing else orders steps.
    Queues,
}
