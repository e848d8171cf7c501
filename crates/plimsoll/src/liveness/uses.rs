//! What is done with the bytes of each root, by whom: the declarations, resolved to roots.

use plimsoll_pack::Span;
use plimsoll_pack::dense::CompressedRows;

use super::extent::whole;
use crate::assignment::Assignment;
use crate::ids::{StepId, ValueId};
use crate::options::Options;
use crate::point::{LiveRange, Point};
use crate::program::{AccessKind, Layout};
use crate::validate::{Rooted, StepAccess, Touch, ValidatedProgram, comes_from_outside};

/// One use of some bytes of a root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) by: By,
    /// While it lasts, in the order of the schedule.
    pub(crate) live: LiveRange,
    /// From the first to the last byte.
    pub(crate) span: Span,
    /// The value whose layout says which of these bytes, if not all are used.
    pub(crate) strided: Option<ValueId>,
}

/// Who uses bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    /// The caller, who fills them before the first step.
    Caller,
    /// A step.
    Step(Touch),
    /// The caller, who fetches an output after the last step.
    Output,
    /// Everybody: the bytes are kept from run to run.
    Run,
}

impl Use {
    /// Whether the bytes hold something new afterwards.
    pub(crate) fn writes(&self) -> bool {
        match self.by {
            By::Caller => true,
            By::Step(touch) => touch.kind == AccessKind::Write,
            By::Output | By::Run => false,
        }
    }

    /// Whether it is only that bytes last from run to run.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.by, By::Run)
    }

    /// The step's access, if a step it is.
    pub(crate) fn touch(&self) -> Option<Touch> {
        match self.by {
            By::Step(touch) => Some(touch),
            By::Caller | By::Output | By::Run => None,
        }
    }

    /// The same without its bytes.
    pub(crate) fn access(&self) -> Option<StepAccess> {
        self.touch().map(|touch| touch.access())
    }

    /// The stretches of the root that are used, in order.
    pub(crate) fn spans(
        &self,
        validated: &ValidatedProgram<'_>,
    ) -> impl Iterator<Item = Span> + Clone + use<> {
        let within = match self.by {
            By::Step(touch) => Some(touch.within),
            By::Caller | By::Output | By::Run => None,
        };
        let (layout, bytes) = match self.strided {
            None => (Layout::WHOLE, self.span),
            Some(value) => {
                let whole = Span::new(0, validated.values[value.index()].bytes);
                (validated.roots[value.index()].layout(), within.unwrap_or(whole))
            }
        };
        layout.spans(bytes)
    }
}

/// The uses of every root that is placed, or is changed in place wherever it is; by value, empty
/// for all others.
pub(crate) fn uses(
    validated: &ValidatedProgram<'_>,
    assignments: &[Assignment],
    options: &Options,
) -> CompressedRows<Use> {
    let mut uses = CompressedRows::new();
    fill_uses(validated, assignments, options, &mut Vec::new(), &mut uses);
    uses
}

/// The same into memory of the caller's.
pub(super) fn fill_uses(
    validated: &ValidatedProgram<'_>,
    assignments: &[Assignment],
    options: &Options,
    found: &mut Vec<(u32, Use)>,
    uses: &mut CompressedRows<Use>,
) {
    let changed = changed(validated);
    let has_uses = |root: ValueId| match assignments[root.index()] {
        Assignment::Kept | Assignment::Packed => validated.is_root(root),
        Assignment::External | Assignment::Shared(_) => {
            validated.is_root(root) && changed[root.index()]
        }
        Assignment::Elided => false,
    };
    found.clear();
    let mut add = |(value, by, live, span): Found| {
        let Rooted { root, rows, .. } = validated.roots[value.index()];
        if has_uses(root) {
            found.push((root.0, Use { by, live, span, strided: rows.map(|_| value) }));
        }
    };
    by_caller(validated, assignments, options).for_each(&mut add);
    by_steps(validated, options).for_each(&mut add);
    by_outputs(validated, options).for_each(&mut add);
    let found = found.iter().map(|(root, one)| (*root as usize, *one));
    uses.fill_by_index(validated.values.len(), found);
}

/// A use of a value: by whom, when, and of which bytes of its root.
type Found = (ValueId, By, LiveRange, Span);

/// What the caller fills before the first step, and what is kept from run to run.
fn by_caller<'a>(
    validated: &'a ValidatedProgram<'_>,
    assignments: &'a [Assignment],
    options: &'a Options,
) -> impl Iterator<Item = Found> + Clone + 'a {
    let filling = LiveRange::new(Point(0), Point(1));
    let run = LiveRange::whole_run(validated.steps());
    let roots = validated.value_ids().filter(|value| validated.is_root(*value));
    let whole = move |root: ValueId| {
        let given =
            comes_from_outside(&validated.values[root.index()]).then_some((By::Caller, filling));
        let kept = (assignments[root.index()] == Assignment::Kept).then_some((By::Run, run));
        let span = whole(validated, root, options);
        given.into_iter().chain(kept).map(move |(by, live)| (root, by, live, span))
    };
    let parts = validated.filled_parts().map(move |part| {
        let span = validated.roots[part.index()].hull(validated.values[part.index()].bytes);
        (part, By::Caller, filling, span)
    });
    roots.flat_map(whole).chain(parts)
}

/// What steps access, and what they leave as it was in values that they change in place.
fn by_steps<'a>(
    validated: &'a ValidatedProgram<'_>,
    options: &'a Options,
) -> impl Iterator<Item = Found> + Clone + 'a {
    let inherited = validated.schedule.iter().flat_map(|step| inherited(validated, *step));
    validated.accesses.iter().copied().chain(inherited).map(|touch| {
        let span = with_guard(validated, &touch, options);
        (touch.value, By::Step(touch), touch.live, span)
    })
}

/// What the caller fetches after the last step.
fn by_outputs<'a>(
    validated: &'a ValidatedProgram<'_>,
    options: &'a Options,
) -> impl Iterator<Item = Found> + Clone + 'a {
    let steps = validated.steps();
    let fetching = LiveRange::new(Point::reads(steps), Point::end_of_run(steps));
    let outputs = validated.value_ids().filter(|value| validated.values[value.index()].output);
    outputs.map(move |value| (value, By::Output, fetching, whole(validated, value, options)))
}

/// The bytes of an access; those of a write up to the end of its value go on to the end of the guard.
fn with_guard(validated: &ValidatedProgram<'_>, touch: &Touch, options: &Options) -> Span {
    let mut span = touch.span;
    let bytes = validated.values[touch.value.index()].bytes;
    if touch.kind == AccessKind::Write
        && span.hi == validated.roots[touch.value.index()].hull(bytes).hi
    {
        span.hi = whole(validated, touch.value, options).hi;
    }
    span
}

/// What a step leaves as it was in values that it changes in place is as good as read and written
/// by it.
fn inherited(
    validated: &ValidatedProgram<'_>,
    step: StepId,
) -> impl Iterator<Item = Touch> + Clone {
    let position = validated.position[step.index()];
    let touch = move |value: ValueId, bytes: u64, kind: AccessKind| {
        let at = validated.roots[value.index()].offset;
        let (span, within) = (Span::new(at, at + bytes), Span::new(0, bytes));
        let start = match kind {
            AccessKind::Read => Point::reads(position),
            AccessKind::Write => Point::writes(position),
        };
        let live = LiveRange::new(start, Point::after(position));
        let (first, last) = (step, Some(step));
        Touch { step, value, kind, span, within, live, first, last, ends_with_step: true }
    };
    let must = validated.overwrites.row(step.index()).iter().filter(|overwrite| overwrite.must);
    must.flat_map(move |overwrite| {
        let bytes = validated.values[overwrite.output.index()].bytes;
        [
            touch(overwrite.input, bytes, AccessKind::Read),
            touch(overwrite.output, bytes, AccessKind::Write),
        ]
    })
}

/// Whether a root is one of the states of something that must be changed in place; by value.
fn changed(validated: &ValidatedProgram<'_>) -> Vec<bool> {
    let mut changed = vec![false; validated.values.len()];
    for overwrite in validated.overwrites.items().iter().filter(|o| o.must) {
        for state in [overwrite.input, overwrite.output] {
            changed[validated.roots[state.index()].root.index()] = true;
        }
    }
    changed
}
