//! How long the bytes of each value are needed: what a plan tells of a value's life.
//!
//! A life is about bytes. It begins where the first of a value's bytes is written, and ends where the
//! last of them is no longer needed for anything: a read of the value, of its root, of any view that
//! has some of the same bytes, or a caller who fetches an output. So a value lives at least as long
//! as the views of it. What takes over its bytes in place is another value, with a life of its own.
//!
//! Cost: O(needs + values), times the needs of a root for each view of it.

use plimsoll_pack::Span;

use crate::home::Home;
use crate::ids::ValueId;
use crate::liveness::Need;
use crate::point::{LiveRange, Point};
use crate::program::AccessKind;
use crate::validate::Checked;

/// The life of every value, by [`ValueId`]. Those of values that are not placed mean nothing.
pub(crate) fn lives(checked: &Checked<'_>, homes: &[Home], needs: &[Vec<Need>]) -> Vec<LiveRange> {
    let life = |value: ValueId| {
        let root = checked.roots[value.index()].root;
        if homes[root.index()] == Home::Kept {
            return LiveRange::whole_run(checked.steps());
        }
        life(checked, value, &needs[root.index()])
    };
    checked.value_ids().map(life).collect()
}

/// The life of a value, from what its root is needed for.
fn life(checked: &Checked<'_>, value: ValueId, needs: &[Need]) -> LiveRange {
    let info = &checked.values[value.index()];
    let span = checked.roots[value.index()].hull(info.bytes);
    let ours: Vec<&Need> = needs.iter().filter(|need| concerns(need, value, span)).collect();
    let fills = ours.iter().filter(|need| begins(need));
    let start = fills.map(|need| need.live.start).min().unwrap_or(Point(0));
    let end = ours.iter().map(|need| need.live.end).max().unwrap_or(start);
    let fetched = info.output.then(|| Point::end_of_run(checked.steps()));
    LiveRange::new(start, end.max(start).max(fetched.unwrap_or(end)))
}

/// Whether bytes of a value are among those that are needed; a value without bytes is needed where it
/// is named.
fn concerns(need: &Need, value: ValueId, span: Span) -> bool {
    need.span.meets(span) || need.touch.is_some_and(|touch| touch.value == value)
}

/// Whether bytes come to be by what they are needed for: a step that writes them, or a caller who
/// fills them before the first step.
fn begins(need: &Need) -> bool {
    need.is_fill() || need.touch.is_some_and(|touch| touch.kind == AccessKind::Write)
}
