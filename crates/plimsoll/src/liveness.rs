//! From accesses to needs: which bytes of a root must be left alone from when until when.
//!
//! A write needs its bytes while it lasts; a read needs them from the moment they were written
//! until it is over; an output needs them until the end of the run. Needs are by bytes, not by
//! values: when only a slice of a value is read later, the rest of it is free.
//!
//! Cost: O(accesses), times the number of writes of one root.

use plimsoll_pack::Span;

use crate::door::{Checked, Touch, comes_from_outside};
use crate::home::Home;
use crate::ids::{StepId, ValueId};
use crate::options::Options;
use crate::point::{LiveRange, Point};
use crate::program::{AccessKind, Role};

/// More than any value can have: the packer rejects half of it.
const MOST_BYTES: u64 = 1 << 62;

/// Some bytes that must be left alone for a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Need {
    pub(crate) live: LiveRange,
    /// Bytes of the root, or of the family once it is part of one.
    pub(crate) span: Span,
    /// The access that they are needed for; `None` if somebody outside needs them.
    pub(crate) touch: Option<Touch>,
}

impl Need {
    /// Whether it is that of the caller who fills a value, which is over before any step begins.
    pub(crate) fn is_fill(&self) -> bool {
        self.touch.is_none() && self.live.end <= Point(1)
    }
}

/// The needs of every root that is placed, or is changed in place wherever it is; by value, empty
/// for all others.
pub(crate) fn needs(checked: &Checked<'_>, homes: &[Home], options: &Options) -> Vec<Vec<Need>> {
    let mut touches: Vec<Vec<Touch>> = vec![Vec::new(); checked.values.len()];
    let inherited = checked.schedule.iter().flat_map(|step| inherited(checked, *step));
    for touch in checked.accesses.iter().copied().chain(inherited) {
        touches[checked.roots[touch.value.index()].root.index()].push(touch);
    }
    let filled = filled(checked);
    let changed = changed(checked);
    let mut needs: Vec<Vec<Need>> = checked
        .value_ids()
        .map(|root| {
            let own =
                || touched(checked, root, &touches[root.index()], &filled[root.index()], options);
            match (&homes[root.index()], checked.is_root(root)) {
                (Home::Kept, true) => {
                    let mut needs = own();
                    needs.push(kept(checked, root, options));
                    needs
                }
                (Home::Packed, true) => own(),
                (Home::External | Home::Shared(_), true) if changed[root.index()] => own(),
                _ => Vec::new(),
            }
        })
        .collect();
    for value in checked.value_ids().filter(|v| checked.values[v.index()].output) {
        let root = checked.roots[value.index()].root;
        if homes[root.index()] == Home::Packed || changed[root.index()] {
            let span = whole(checked, value, options);
            let start = birth(checked, root, span, &touches[root.index()], &filled[root.index()]);
            let live = LiveRange::new(start, Point::end_of_run(checked.steps()));
            needs[root.index()].push(Need { live, span, touch: None });
        }
    }
    needs
}

/// The bytes of a value in its root, with what lies behind its end and may be written too.
pub(crate) fn whole(checked: &Checked<'_>, value: ValueId, options: &Options) -> Span {
    let bytes = checked.values[value.index()].bytes.min(MOST_BYTES);
    let Span { lo, hi } = checked.roots[value.index()].hull(bytes);
    Span::new(lo, hi + reserved(checked, value, options) - bytes)
}

/// The bytes that a value takes up, with what lies behind its end.
pub(crate) fn reserved(checked: &Checked<'_>, value: ValueId, options: &Options) -> u64 {
    let info = &checked.values[value.index()];
    let bytes = info.bytes.min(MOST_BYTES) + guard(checked, value, options);
    let own = info.role != Role::Temporary && checked.is_root(value);
    if own { bytes.max(options.min_slot.min(MOST_BYTES)) } else { bytes }
}

/// The bytes behind the end of a value that may be written with it. What the options leave free
/// at the boundary is behind values that have bytes of their own: not behind views, nor behind
/// the next state of a value that is changed in place.
pub(crate) fn guard(checked: &Checked<'_>, value: ValueId, options: &Options) -> u64 {
    let info = &checked.values[value.index()];
    let own = checked.is_root(value) && !checked.is_next_state[value.index()];
    // Beyond what can be addressed is as good as too large, which the packer says.
    info.guard.saturating_add(if own { options.guards.of(info, 0) } else { 0 }).min(MOST_BYTES)
}

/// What a step leaves as it was in values that it changes in place is as good as read and written
/// by it.
fn inherited(checked: &Checked<'_>, step: StepId) -> impl Iterator<Item = Touch> {
    let position = checked.position[step.index()];
    let touch = move |value: ValueId, bytes: u64, kind: AccessKind| {
        let at = checked.roots[value.index()].offset;
        let span = Span::new(at, at + bytes);
        let start = match kind {
            AccessKind::Read => Point::reads(position),
            AccessKind::Write => Point::writes(position),
        };
        let live = LiveRange::new(start, Point::after(position));
        Touch { step, value, kind, span, live, first: step, last: Some(step), ends_with_step: true }
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

/// The parts of each root that the caller fills; by root.
fn filled(checked: &Checked<'_>) -> Vec<Vec<Span>> {
    let mut filled = vec![Vec::new(); checked.values.len()];
    for part in checked.filled_parts() {
        let rooted = checked.roots[part.index()];
        filled[rooted.root.index()].push(rooted.hull(checked.values[part.index()].bytes));
    }
    filled
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

fn kept(checked: &Checked<'_>, root: ValueId, options: &Options) -> Need {
    let live = LiveRange::whole_run(checked.steps());
    Need { live, span: whole(checked, root, options), touch: None }
}

fn touched(
    checked: &Checked<'_>,
    root: ValueId,
    touches: &[Touch],
    filled: &[Span],
    options: &Options,
) -> Vec<Need> {
    let mut needs = Vec::with_capacity(touches.len() + 1);
    if comes_from_outside(&checked.values[root.index()]) {
        // The caller writes it before the first step.
        let live = LiveRange::new(Point(0), Point(1));
        needs.push(Need { live, span: whole(checked, root, options), touch: None });
    }
    for span in filled {
        let live = LiveRange::new(Point(0), Point(1));
        needs.push(Need { live, span: *span, touch: None });
    }
    for touch in touches {
        let mut span = touch.span;
        let start = match touch.kind {
            AccessKind::Read => birth(checked, root, span, touches, filled),
            AccessKind::Write => {
                let all = whole(checked, touch.value, options);
                let bytes = checked.values[touch.value.index()].bytes;
                if span.hi == checked.roots[touch.value.index()].hull(bytes).hi {
                    span.hi = all.hi;
                }
                touch.live.start
            }
        };
        let live = LiveRange::new(start, touch.live.end);
        needs.push(Need { live, span, touch: Some(*touch) });
    }
    needs
}

/// When the bytes get what a read of them wants.
fn birth(
    checked: &Checked<'_>,
    root: ValueId,
    span: Span,
    touches: &[Touch],
    filled: &[Span],
) -> Point {
    let outside = comes_from_outside(&checked.values[root.index()]);
    if outside || filled.iter().any(|part| part.meets(span)) {
        return Point(0);
    }
    let writes = touches.iter().filter(|t| t.kind == AccessKind::Write && t.span.meets(span));
    writes.map(|t| t.live.start).min().unwrap_or(Point(0))
}
