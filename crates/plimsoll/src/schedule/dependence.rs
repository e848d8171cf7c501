//! Which steps come before which in every order of a program.
//!
//! A step comes behind
//! - the steps that it is declared to be [after](Program::after), and those that data
//!   [flow from](Program::flows_from);
//! - whoever wrote bytes that it reads, and whoever read or wrote bytes that it writes, before it in the
//!   program's own order: which of two writers is the last is what the program means;
//! - the step with which one of its accesses begins; and the step until which an access lasts comes
//!   behind the step that makes it.
//!
//! Bytes are looked at by [class](crate::liveness::classes), so that parts of a value that are written or
//! read on their own, strided ones too, are ordered on their own. Cost: that of the classes, and the uses
//! of every class.

use crate::assignment::Assignment;
use crate::ids::StepId;
use crate::liveness::classes::classes;
use crate::liveness::uses::{Use, uses};
use crate::options::Options;
use crate::program::{AccessKind, Until};
use crate::validate::{Touch, ValidatedProgram};

/// For every step those that come before it; sorted, without repetition.
pub(crate) fn dependences(validated: &ValidatedProgram<'_>) -> Vec<Vec<StepId>> {
    let mut before = declared(validated);
    // Wherever values live, data flow through them.
    let everywhere = vec![Assignment::Packed; validated.values.len()];
    for uses in uses(validated, &everywhere, &Options::default()).iter() {
        for class in classes(validated, uses) {
            let touched = class.uses.iter().map(|index| &uses[*index]);
            add_flow(validated, touched.collect(), &mut before);
        }
    }
    for (step, before) in before.iter_mut().enumerate() {
        before.sort_unstable();
        before.dedup();
        before.retain(|other| other.index() != step);
    }
    before
}

/// What is declared, and what follows from when accesses begin and are over.
fn declared(validated: &ValidatedProgram<'_>) -> Vec<Vec<StepId>> {
    let program = validated.program;
    let mut before: Vec<Vec<StepId>> = Vec::with_capacity(validated.steps());
    for step in (0..validated.steps()).map(StepId::new) {
        let mut waits = program.after(step).into_owned();
        waits.extend(program.flows_from(step).iter());
        before.push(waits);
    }
    for step in (0..validated.steps()).map(StepId::new) {
        for access in program.accesses(step).iter() {
            before[step.index()].extend(access.from);
            if let Until::After(later) = access.until {
                before[later.index()].push(step);
            }
        }
    }
    before
}

/// Adds what follows from the uses of bytes of one class.
fn add_flow(validated: &ValidatedProgram<'_>, uses: Vec<&Use>, before: &mut [Vec<StepId>]) {
    let mut touches: Vec<Touch> = uses.into_iter().filter_map(Use::touch).collect();
    let phase = |kind: AccessKind| kind == AccessKind::Write;
    touches.sort_by_key(|touch| (validated.position[touch.step.index()], phase(touch.kind)));
    let mut writer: Option<Touch> = None;
    let mut readers: Vec<Touch> = Vec::new();
    for touch in touches {
        if let Some(writer) = &writer {
            keep_apart(validated, writer, &touch, before);
        }
        match touch.kind {
            AccessKind::Read => readers.push(touch),
            AccessKind::Write => {
                readers.drain(..).for_each(|read| keep_apart(validated, &read, &touch, before));
                writer = Some(touch);
            }
        }
    }
}

/// Of two accesses to the same bytes, the later one begins once the earlier one is over.
fn keep_apart(
    validated: &ValidatedProgram<'_>,
    earlier: &Touch,
    later: &Touch,
    before: &mut [Vec<StepId>],
) {
    let position = |step: StepId| validated.position[step.index()];
    for over in
        [Some(earlier.step), earlier.last].into_iter().chain(changing(validated, earlier)).flatten()
    {
        for begin in [later.step, later.first] {
            if position(over) < position(begin) {
                before[begin.index()].push(over);
            }
        }
    }
}

/// The steps with which a step has changed what it must overwrite: bytes that it leaves as they were are
/// as good as written until then.
fn changing(
    validated: &ValidatedProgram<'_>,
    touch: &Touch,
) -> impl Iterator<Item = Option<StepId>> {
    let overwrites = validated.overwrites.row(touch.step.index());
    let changes = overwrites.iter().any(|o| o.must && o.output == touch.value);
    let own = if changes { validated.touches_of(touch.step) } else { &[] };
    let value = touch.value;
    let writes = move |o: &&Touch| o.value == value && o.kind == AccessKind::Write;
    own.iter().filter(writes).map(|other| other.last)
}
