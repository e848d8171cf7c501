//! What is done with the bytes of each root, by whom: the declarations, resolved to roots.

use plimsoll_pack::Span;

use super::extent::whole;
use crate::home::Home;
use crate::ids::{StepId, ValueId};
use crate::options::Options;
use crate::point::{LiveRange, Point};
use crate::program::AccessKind;
use crate::validate::{Checked, Touch, comes_from_outside};

/// One use of some bytes of a root.
#[derive(Clone, Debug)]
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

    /// The step's access, if a step it is.
    pub(crate) fn touch(&self) -> Option<Touch> {
        match self.by {
            By::Step(touch) => Some(touch),
            By::Caller | By::Output | By::Run => None,
        }
    }

    /// The stretches of the root that are used, in order.
    pub(crate) fn spans(&self, checked: &Checked<'_>) -> Vec<Span> {
        let within = match self.by {
            By::Step(touch) => Some(touch.within),
            By::Caller | By::Output | By::Run => None,
        };
        match self.strided {
            None => vec![self.span],
            Some(value) => {
                let whole = Span::new(0, checked.values[value.index()].bytes);
                checked.roots[value.index()].layout().spans(within.unwrap_or(whole))
            }
        }
    }
}

/// The uses of every root that is placed, or is changed in place wherever it is; by value, empty
/// for all others.
pub(crate) fn uses(checked: &Checked<'_>, homes: &[Home], options: &Options) -> Vec<Vec<Use>> {
    let changed = changed(checked);
    let has_uses = |root: ValueId| match homes[root.index()] {
        Home::Kept | Home::Packed => checked.is_root(root),
        Home::External | Home::Shared(_) => checked.is_root(root) && changed[root.index()],
        Home::Elided => false,
    };
    let mut uses: Vec<Vec<Use>> = vec![Vec::new(); checked.values.len()];
    let root_of = |value: ValueId| checked.roots[value.index()].root;
    let mut add = |root: ValueId, by: By, live: LiveRange, value: ValueId, span: Span| {
        if has_uses(root) {
            let strided = checked.roots[value.index()].rows.map(|_| value);
            uses[root.index()].push(Use { by, live, span, strided });
        }
    };
    let filling = LiveRange::new(Point(0), Point(1));
    for root in checked.value_ids().filter(|v| checked.is_root(*v)) {
        if comes_from_outside(&checked.values[root.index()]) {
            add(root, By::Caller, filling, root, whole(checked, root, options));
        }
        if homes[root.index()] == Home::Kept {
            let run = LiveRange::whole_run(checked.steps());
            add(root, By::Run, run, root, whole(checked, root, options));
        }
    }
    for part in checked.filled_parts() {
        let span = checked.roots[part.index()].hull(checked.values[part.index()].bytes);
        add(root_of(part), By::Caller, filling, part, span);
    }
    let inherited = checked.schedule.iter().flat_map(|step| inherited(checked, *step));
    for touch in checked.accesses.iter().copied().chain(inherited) {
        let span = with_guard(checked, &touch, options);
        add(root_of(touch.value), By::Step(touch), touch.live, touch.value, span);
    }
    let fetching =
        LiveRange::new(Point::reads(checked.steps()), Point::end_of_run(checked.steps()));
    for value in checked.value_ids().filter(|v| checked.values[v.index()].output) {
        add(root_of(value), By::Output, fetching, value, whole(checked, value, options));
    }
    uses
}

/// The bytes of an access; those of a write up to the end of its value go on to the end of the guard.
fn with_guard(checked: &Checked<'_>, touch: &Touch, options: &Options) -> Span {
    let mut span = touch.span;
    let bytes = checked.values[touch.value.index()].bytes;
    if touch.kind == AccessKind::Write
        && span.hi == checked.roots[touch.value.index()].hull(bytes).hi
    {
        span.hi = whole(checked, touch.value, options).hi;
    }
    span
}

/// What a step leaves as it was in values that it changes in place is as good as read and written
/// by it.
fn inherited(checked: &Checked<'_>, step: StepId) -> impl Iterator<Item = Touch> {
    let position = checked.position[step.index()];
    let touch = move |value: ValueId, bytes: u64, kind: AccessKind| {
        let at = checked.roots[value.index()].offset;
        let (span, within) = (Span::new(at, at + bytes), Span::new(0, bytes));
        let start = match kind {
            AccessKind::Read => Point::reads(position),
            AccessKind::Write => Point::writes(position),
        };
        let live = LiveRange::new(start, Point::after(position));
        let (first, last) = (step, Some(step));
        Touch { step, value, kind, span, within, live, first, last, ends_with_step: true }
    };
    let must = checked.overwrites[step.index()].iter().filter(|overwrite| overwrite.must);
    must.flat_map(move |overwrite| {
        let bytes = checked.values[overwrite.output.index()].bytes;
        [
            touch(overwrite.input, bytes, AccessKind::Read),
            touch(overwrite.output, bytes, AccessKind::Write),
        ]
    })
}

/// Whether a root is one of the states of something that must be changed in place; by value.
fn changed(checked: &Checked<'_>) -> Vec<bool> {
    let mut changed = vec![false; checked.values.len()];
    for overwrite in checked.overwrites.iter().flatten().filter(|o| o.must) {
        for state in [overwrite.input, overwrite.output] {
            changed[checked.roots[state.index()].root.index()] = true;
        }
    }
    changed
}
