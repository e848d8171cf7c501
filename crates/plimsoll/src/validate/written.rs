//! Whatever is read, and whatever a run hands out, was written before: every byte of it.
//!
//! By steps, in whole or in parts, or from outside. The rule is one: every byte of a read was written by
//! a write that is over before the read begins. What is over before what is a matter of points where
//! steps run in order, and of the declared order where they do not; there a temporary is written
//! by nobody who is not before all who read it. An output that must overwrite reads as many bytes of
//! its input as it has, and then writes all of its own.
//!
//! Cost: O(n log n) in accesses and rows where steps run in order, and for each read one for each
//! write of its root where they do not, or where a write goes on longer than its step.

use std::collections::BTreeMap;

use plimsoll_pack::Span;

use super::{Touch, ValidatedProgram, comes_from_outside};
use crate::ids::{StepId, ValueId};
use crate::point::{LiveRange, Point};
use crate::program::{AccessKind, Overwrite};
use crate::validate::{Fault, HappensBefore, ProgramError};

/// Every access to some bytes, with those that follow from what must be overwritten, in order of the
/// schedule.
pub(crate) fn all_touches(validated: &ValidatedProgram<'_>) -> Vec<Touch> {
    let mut all = validated.accesses.clone();
    for step in &validated.schedule {
        let must = validated.overwrites.row(step.index()).iter().filter(|overwrite| overwrite.must);
        all.extend(must.flat_map(|overwrite| implied(validated, *step, overwrite)));
    }
    all.retain(|touch| !touch.within.is_empty());
    all.sort_by_key(|touch| validated.position[touch.step.index()]);
    all
}

/// What a step reads of a value that it must overwrite, and what it writes there.
fn implied(validated: &ValidatedProgram<'_>, step: StepId, overwrite: &Overwrite) -> [Touch; 2] {
    let within = Span::new(0, validated.values[overwrite.output.index()].bytes);
    let at = validated.position[step.index()];
    let touch = |value: ValueId, kind, start, end| Touch {
        step,
        value,
        kind,
        span: validated.roots[value.index()].layout().hull(within),
        within,
        live: LiveRange::new(start, end),
        first: step,
        last: Some(step),
        ends_with_step: true,
    };
    let (reads, writes, after) = (Point::reads(at), Point::writes(at), Point::after(at));
    [
        touch(overwrite.input, AccessKind::Read, reads, writes),
        touch(overwrite.output, AccessKind::Write, writes, after),
    ]
}

/// An error for the first bytes that are read before they are written, where steps run in order.
pub(super) fn check_in_order(validated: &ValidatedProgram<'_>) -> Result<(), ProgramError> {
    let mut written = filled(validated);
    if is_step_by_step(validated) {
        check_steps(validated, &mut written)?;
        return check_outputs(validated, &written);
    }
    let touches = all_touches(validated);
    check_finished(validated, &touches)?;
    // A write is over before a read that begins then.
    let moment = |touch: &Touch| match touch.kind {
        AccessKind::Write => (touch.live.end, false),
        AccessKind::Read => (touch.live.start, true),
    };
    let mut in_time: Vec<&Touch> = touches.iter().collect();
    in_time.sort_by_key(|touch| moment(touch));
    for touch in in_time {
        let root = validated.roots[touch.value.index()].root.index();
        match touch.kind {
            AccessKind::Write => written[root].add(validated, touch.value, touch.within),
            AccessKind::Read => check_read(validated, touch, &written[root])?,
        }
    }
    check_outputs(validated, &written)
}

/// Whether every access begins and is over with its step, and nothing follows from what must be
/// overwritten: then the schedule is the order of time.
fn is_step_by_step(validated: &ValidatedProgram<'_>) -> bool {
    let within_step = |touch: &Touch| touch.ends_with_step && touch.first == touch.step;
    let must = validated.overwrites.items().iter().any(|overwrite| overwrite.must);
    !must && validated.accesses.iter().all(within_step)
}

/// Step by step, what is read and then what is written.
fn check_steps(
    validated: &ValidatedProgram<'_>,
    written: &mut [Written],
) -> Result<(), ProgramError> {
    for touches in validated.accesses.chunk_by(|a, b| a.step == b.step) {
        let touched = |kind: AccessKind| {
            let own = touches.iter().filter(move |touch| touch.kind == kind);
            own.filter(|touch| !touch.within.is_empty())
        };
        let root = |touch: &Touch| validated.roots[touch.value.index()].root.index();
        for read in touched(AccessKind::Read) {
            check_read(validated, read, &written[root(read)])?;
        }
        for write in touched(AccessKind::Write) {
            written[root(write)].add(validated, write.value, write.within);
        }
    }
    Ok(())
}

/// The same where steps do not run in order, which is closed over.
pub(super) fn check_unordered(
    validated: &ValidatedProgram<'_>,
    order: &HappensBefore,
) -> Result<(), ProgramError> {
    let touches = all_touches(validated);
    let mut by_root: Vec<Vec<&Touch>> = vec![Vec::new(); validated.values.len()];
    let root = |touch: &Touch| validated.roots[touch.value.index()].root.index();
    let writes = touches.iter().filter(|touch| touch.kind == AccessKind::Write);
    writes.for_each(|touch| by_root[root(touch)].push(touch));
    for read in touches.iter().filter(|touch| touch.kind == AccessKind::Read) {
        let mut written = Written::default();
        for write in by_root[root(read)]
            .iter()
            .filter(|write| order.ordered(&write.access(), &read.access()))
        {
            written.add(validated, write.value, write.within);
        }
        check_read(validated, read, &written)?;
    }
    let mut written = filled(validated);
    for write in touches.iter().filter(|touch| touch.kind == AccessKind::Write) {
        written[root(write)].add(validated, write.value, write.within);
    }
    check_outputs(validated, &written)
}

/// What the caller fills of what steps make; by root.
fn filled(validated: &ValidatedProgram<'_>) -> Vec<Written> {
    let mut written = vec![Written::default(); validated.values.len()];
    for part in validated.filled_parts() {
        let bytes = Span::new(0, validated.values[part.index()].bytes);
        written[validated.roots[part.index()].root.index()].add(validated, part, bytes);
    }
    written
}

/// An error if a read finds less than it wants.
fn check_read(
    validated: &ValidatedProgram<'_>,
    read: &Touch,
    written: &Written,
) -> Result<(), ProgramError> {
    let Touch { step, value, within, .. } = *read;
    let Some(bytes) = written.missing(validated, value, within) else { return Ok(()) };
    let root = |value: ValueId| validated.roots[value.index()].root;
    let mut ever = Written::default();
    let touches = all_touches(validated);
    for write in touches.iter().filter(|touch| touch.kind == AccessKind::Write) {
        if root(write.value) == root(value) {
            ever.add(validated, write.value, write.within);
        }
    }
    let fault = match ever.missing(validated, value, within) {
        Some(bytes) => Fault::NeverWritten { step, value, bytes },
        None => Fault::ReadBeforeWrite { step, value, bytes },
    };
    Err(fault.named(validated.program))
}

fn check_outputs(
    validated: &ValidatedProgram<'_>,
    written: &[Written],
) -> Result<(), ProgramError> {
    for value in validated.value_ids().filter(|value| validated.values[value.index()].output) {
        let all = Span::new(0, validated.values[value.index()].bytes);
        let written = &written[validated.roots[value.index()].root.index()];
        if let Some(bytes) = written.missing(validated, value, all) {
            return Err(Fault::OutputNeverWritten { value, bytes }.named(validated.program));
        }
    }
    Ok(())
}

/// No step reads what another has begun to write anew and not finished, where steps run in order.
fn check_finished(validated: &ValidatedProgram<'_>, touches: &[Touch]) -> Result<(), ProgramError> {
    let mut long: Vec<Vec<&Touch>> = vec![Vec::new(); validated.values.len()];
    let root = |touch: &Touch| validated.roots[touch.value.index()].root.index();
    let is_long = |touch: &&Touch| {
        touch.kind == AccessKind::Write && (!touch.ends_with_step || touch.first != touch.step)
    };
    touches.iter().filter(is_long).for_each(|touch| long[root(touch)].push(touch));
    for read in touches.iter().filter(|touch| touch.kind == AccessKind::Read) {
        let goes_on = |write: &&&Touch| {
            let is_open = write.live.start <= read.live.start && read.live.start < write.live.end;
            is_open && meet(validated, write, read)
        };
        if let Some(write) = long[root(read)].iter().find(goes_on) {
            let (reader, writer, value) = (read.step, write.step, read.value);
            return Err(Fault::Unfinished { reader, writer, value }.named(validated.program));
        }
    }
    Ok(())
}

/// Whether two accesses to one root have a byte in common.
fn meet(validated: &ValidatedProgram<'_>, a: &Touch, b: &Touch) -> bool {
    let spans = |touch: &Touch| validated.roots[touch.value.index()].layout().spans(touch.within);
    a.span.meets(b.span) && spans(a).any(|a| spans(b).any(|b| a.meets(b)))
}

/// Bytes of a root that were written: stretches that are apart. Most roots are written as one.
#[derive(Clone, Default)]
struct Written {
    /// All of it, as long as it is one stretch.
    stretch: Option<Span>,
    /// The stretches by their first byte, once there are several.
    stretches: BTreeMap<u64, u64>,
}

impl Written {
    /// Adds some bytes of a value.
    fn add(&mut self, validated: &ValidatedProgram<'_>, value: ValueId, bytes: Span) {
        let layout = validated.roots[value.index()].layout();
        match layout.rows {
            None => self.add_span(layout.hull(bytes)),
            Some(_) => layout.spans(bytes).for_each(|span| self.add_span(span)),
        }
    }

    fn add_span(&mut self, span: Span) {
        if span.is_empty() {
            return;
        }
        if self.stretches.is_empty() {
            let Some(one) = self.stretch else {
                self.stretch = Some(span);
                return;
            };
            if one.lo <= span.hi && span.lo <= one.hi {
                self.stretch = Some(Span::new(one.lo.min(span.lo), one.hi.max(span.hi)));
                return;
            }
            self.stretches.insert(one.lo, one.hi);
        }
        let Span { mut lo, mut hi } = span;
        let before = |all: &BTreeMap<u64, u64>, hi: u64| {
            all.range(..=hi).next_back().map(|(lo, hi)| (*lo, *hi))
        };
        while let Some((first, end)) = before(&self.stretches, hi) {
            if end < lo {
                break;
            }
            self.stretches.remove(&first);
            (lo, hi) = (lo.min(first), hi.max(end));
        }
        self.stretches.insert(lo, hi);
    }

    /// The first of some bytes of a value that were not written: of a stretch exactly what is missing,
    /// of rows all that is wanted. Nothing of what comes from outside is missing.
    fn missing(
        &self,
        validated: &ValidatedProgram<'_>,
        value: ValueId,
        bytes: Span,
    ) -> Option<(u64, u64)> {
        let rooted = validated.roots[value.index()];
        let given = comes_from_outside(&validated.values[rooted.root.index()]);
        if given || validated.values[value.index()].elided {
            return None;
        }
        let layout = rooted.layout();
        if rooted.rows.is_none() {
            let gap = self.gap(layout.hull(bytes))?;
            return Some((gap.lo - rooted.offset, gap.hi - rooted.offset));
        }
        layout.spans(bytes).find_map(|span| self.gap(span)).map(|_| (bytes.lo, bytes.hi))
    }

    /// The first stretch of a span that was not written.
    fn gap(&self, span: Span) -> Option<Span> {
        let (before, behind) = if self.stretches.is_empty() {
            let one = self.stretch;
            let before = one.filter(|one| one.lo <= span.lo).map(|one| one.hi);
            (before, one.filter(|one| one.lo > span.lo).map(|one| one.lo))
        } else {
            let before = self.stretches.range(..=span.lo).next_back().map(|(_, hi)| *hi);
            let lo = span.lo.max(before.unwrap_or(0));
            (before, self.stretches.range(lo..).next().map(|(lo, _)| *lo))
        };
        let lo = span.lo.max(before.unwrap_or(0));
        let gap = Span { lo, hi: span.hi.min(behind.unwrap_or(span.hi)) };
        (gap.lo < gap.hi).then_some(gap)
    }
}
