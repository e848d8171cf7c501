//! Whatever is read, and whatever a run hands out, is written by somebody: every byte of it.
//!
//! By a step, or from outside; and where steps run in order, no read begins while a write goes on that
//! was begun before it. Cost: O(n log n) in accesses and rows, and for each read one for each write of
//! its root that goes on after its step.

use plimsoll_pack::Span;

use super::{Touch, ValidatedProgram, comes_from_outside};
use crate::ids::{StepId, ValueId};
use crate::program::{Access, AccessKind, Execution};
use crate::validate::{Fault, ProgramError};

/// An error for the first bytes that nobody writes although somebody wants them.
pub(super) fn check(validated: &ValidatedProgram<'_>) -> Result<(), ProgramError> {
    let program = validated.program;
    let written = written(validated);
    let never = |value: ValueId, bytes: Span| {
        let rooted = validated.roots[value.index()];
        let given = comes_from_outside(&validated.values[rooted.root.index()]);
        if given || validated.values[value.index()].elided {
            return None;
        }
        let mut spans = rooted.layout().spans(bytes).into_iter();
        let gap = spans.find_map(|span| missing(&written[rooted.root.index()], span))?;
        // Of a stretch exactly what is missing, of rows all that is wanted.
        let is_stretch = rooted.rows.is_none();
        let gap = is_stretch.then(|| (gap.lo - rooted.offset, gap.hi - rooted.offset));
        Some(gap.unwrap_or((bytes.lo, bytes.hi)))
    };
    for step in &validated.schedule {
        for (value, bytes) in reads(validated, *step) {
            if let Some(bytes) = never(value, bytes) {
                return Err(Fault::NeverWritten { step: *step, value, bytes }.named(program));
            }
        }
    }
    for value in validated.value_ids().filter(|value| validated.values[value.index()].output) {
        if let Some(bytes) = never(value, Span::new(0, validated.values[value.index()].bytes)) {
            return Err(Fault::OutputNeverWritten { value, bytes }.named(program));
        }
    }
    check_finished(validated)
}

/// No step reads what another has begun to write and not finished, where steps run in order.
fn check_finished(validated: &ValidatedProgram<'_>) -> Result<(), ProgramError> {
    let mut late: Vec<Vec<&Touch>> = vec![Vec::new(); validated.values.len()];
    let root = |touch: &Touch| validated.roots[touch.value.index()].root.index();
    let is_late = |touch: &&Touch| touch.kind == AccessKind::Write && !touch.ends_with_step;
    validated.accesses.iter().filter(is_late).for_each(|touch| late[root(touch)].push(touch));
    let is_stretch = |touch: &Touch| validated.roots[touch.value.index()].rows.is_none();
    for read in validated.accesses.iter().filter(|touch| touch.kind == AccessKind::Read) {
        let goes_on = |write: &&&Touch| {
            let is_open = write.live.start <= read.live.start && read.live.start < write.live.end;
            let meets = is_stretch(write) && is_stretch(read) && write.span.meets(read.span);
            write.step != read.step && is_open && meets
        };
        let in_order = validated.program.execution() == Execution::InOrder;
        if let Some(write) = late[root(read)].iter().find(goes_on).filter(|_| in_order) {
            let (reader, writer, value) = (read.step, write.step, read.value);
            return Err(Fault::Unfinished { reader, writer, value }.named(validated.program));
        }
    }
    Ok(())
}

/// What a step reads, and what it finds where it must overwrite.
fn reads(validated: &ValidatedProgram<'_>, step: StepId) -> Vec<(ValueId, Span)> {
    let bytes = |value: ValueId| validated.values[value.index()].bytes;
    let all = |access: &Access| access.bytes.unwrap_or(Span::new(0, bytes(access.value)));
    let accesses = validated.program.accesses(step);
    let read = accesses.iter().filter(|access| access.kind == AccessKind::Read);
    let must = validated.overwrites[step.index()].iter().filter(|overwrite| overwrite.must);
    let found = must.map(|overwrite| (overwrite.input, Span::new(0, bytes(overwrite.output))));
    read.map(|access| (access.value, all(access))).chain(found).collect()
}

/// The stretches of each root that somebody writes, sorted and apart; by root.
fn written(validated: &ValidatedProgram<'_>) -> Vec<Vec<Span>> {
    let mut written: Vec<Vec<Span>> = vec![Vec::new(); validated.values.len()];
    let mut add = |value: ValueId, bytes: Option<Span>| {
        let rooted = validated.roots[value.index()];
        let bytes = bytes.unwrap_or(Span::new(0, validated.values[value.index()].bytes));
        if !comes_from_outside(&validated.values[rooted.root.index()]) {
            written[rooted.root.index()].extend(rooted.layout().spans(bytes));
        }
    };
    for step in &validated.schedule {
        for access in validated.program.accesses(*step).iter() {
            if access.kind == AccessKind::Write {
                add(access.value, access.bytes);
            }
        }
        // What it does not write of this stays what it was.
        let must = validated.overwrites[step.index()].iter().filter(|overwrite| overwrite.must);
        must.for_each(|overwrite| add(overwrite.output, None));
    }
    validated.filled_parts().for_each(|part| add(part, None));
    written.iter_mut().for_each(merge);
    written
}

/// Sorts stretches, and joins those that touch.
fn merge(spans: &mut Vec<Span>) {
    spans.retain(|span| !span.is_empty());
    spans.sort_unstable_by_key(|span| (span.lo, span.hi));
    let mut merged: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans.drain(..) {
        match merged.last_mut() {
            Some(last) if span.lo <= last.hi => last.hi = last.hi.max(span.hi),
            _ => merged.push(span),
        }
    }
    *spans = merged;
}

/// The first bytes of a stretch that are in none of these.
fn missing(written: &[Span], span: Span) -> Option<Span> {
    let next = written.partition_point(|other| other.hi <= span.lo);
    let mut lo = span.lo;
    let mut end = span.hi;
    if let Some(other) = written.get(next) {
        if other.lo <= lo {
            lo = other.hi.min(span.hi);
            end = written.get(next + 1).map_or(end, |behind| behind.lo.min(end));
        } else {
            end = other.lo.min(end);
        }
    }
    (lo < end).then_some(Span { lo, hi: end })
}
