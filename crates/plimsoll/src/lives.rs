//! How long the bytes of each value are needed: what a plan tells of a value's life.
//!
//! A life is about bytes. It begins where the first of a value's bytes is written, and ends where the
//! last of them is no longer needed for anything: a read of the value, of its root, of any view that
//! has some of the same bytes, or a caller who fetches an output. So a value lives at least as long
//! as the views of it. What takes over its bytes in place is another value, with a life of its own.
//!
//! Cost: O(needs + values), times the needs of a root for each view of it.

use plimsoll_pack::Span;
use plimsoll_pack::dense::CompressedRows;

use crate::assignment::Assignment;
use crate::ids::ValueId;
use crate::liveness::LiveSpan;
use crate::point::{LiveRange, Point};
use crate::program::AccessKind;
use crate::validate::ValidatedProgram;

/// The life of every value, by [`ValueId`]. Those of values that are not placed mean nothing.
pub(crate) fn lives(
    validated: &ValidatedProgram<'_>,
    assignments: &[Assignment],
    live_spans: &CompressedRows<LiveSpan>,
) -> Vec<LiveRange> {
    let life = |value: ValueId| {
        let root = validated.roots[value.index()].root;
        if assignments[root.index()] == Assignment::Kept {
            return LiveRange::whole_run(validated.steps());
        }
        life(validated, value, live_spans.row(root.index()))
    };
    validated.value_ids().map(life).collect()
}

/// The life of a value, from what its root is needed for.
fn life(validated: &ValidatedProgram<'_>, value: ValueId, live_spans: &[LiveSpan]) -> LiveRange {
    let info = &validated.values[value.index()];
    let span = validated.roots[value.index()].hull(info.bytes);
    let ours = || live_spans.iter().filter(|live_span| concerns(live_span, value, span));
    let fills = ours().filter(|live_span| begins(live_span));
    let start = fills.map(|live_span| live_span.live.start).min().unwrap_or(Point(0));
    let end = ours().map(|live_span| live_span.live.end).max().unwrap_or(start);
    let fetched = info.output.then(|| Point::end_of_run(validated.steps()));
    LiveRange::new(start, end.max(start).max(fetched.unwrap_or(end)))
}

/// Whether bytes of a value are among those that are needed; a value without bytes is needed where it
/// is named.
fn concerns(live_span: &LiveSpan, value: ValueId, span: Span) -> bool {
    live_span.span.meets(span) || live_span.access.is_some_and(|access| access.value == value)
}

/// Whether bytes come to be by what they are needed for: a step that writes them, or a caller who
/// fills them before the first step.
fn begins(live_span: &LiveSpan) -> bool {
    live_span.is_fill() || live_span.access.is_some_and(|access| access.kind == AccessKind::Write)
}
