//! From when until when bytes are live: arenas and bounds of small programs, worked out by hand.
//!
//! Alignment is 1, so that sums are plain.

use plimsoll::{
    Access, AccessKind, DeclaredProgram, Execution, Options, Role, Strided, Until, ValueId,
    ValueInfo, View, plan,
};
use plimsoll_pack::Span;

fn in_order() -> DeclaredProgram {
    DeclaredProgram::new(Execution::InOrder)
}

/// The arena of the plan, which is verified, and its bound.
fn planned(program: &DeclaredProgram) -> (u64, u64) {
    let mut options = Options::default();
    options.align = 1;
    options.place.inputs = true;
    let plan = plan(program, &options).unwrap_or_else(|error| panic!("{error}"));
    (plan.banks.iter().map(|bank| bank.bytes).sum(), plan.derivation.lower_bound_bytes)
}

fn part(value: ValueId, lo: u64, hi: u64, kind: AccessKind) -> Access {
    Access { bytes: Some(Span::new(lo, hi)), kind, ..Access::read(value) }
}

#[test]
fn what_is_written_anew_is_free_before() {
    let mut program = in_order();
    let (a, b, out) = (program.temporary(10), program.temporary(10), program.output(1));
    program.step(&[], &[a]);
    program.step(&[a], &[]);
    program.step(&[], &[b]);
    program.step(&[b], &[]);
    program.step(&[], &[a]);
    program.step(&[a], &[out]);
    // b is where a was and will be.
    assert_eq!(planned(&program), (11, 11));
}

#[test]
fn what_the_caller_fills_is_read_before_a_step_writes_it() {
    let mut program = in_order();
    let (a, b, out) = (program.temporary(20), program.temporary(20), program.output(1));
    let view_of = Some(View::new(a, 0));
    let filled = program.add(ValueInfo { role: Role::Input, view_of, ..ValueInfo::new(20) });
    program.step(&[filled], &[b]);
    program.step(&[], &[a]);
    program.step(&[a], &[out]);
    // b is written while the filled bytes are read.
    assert_eq!(planned(&program), (40, 40));
}

#[test]
fn the_caller_fills_a_part_before_the_first_step() {
    let mut program = in_order();
    let (a, b, out) = (program.temporary(20), program.temporary(20), program.output(1));
    let view_of = Some(View::new(a, 0));
    let filled = program.add(ValueInfo { role: Role::Input, view_of, ..ValueInfo::new(20) });
    program.step(&[], &[b]);
    program.step(&[b], &[]);
    program.step(&[filled], &[]);
    program.step(&[], &[a]);
    program.step(&[a], &[out]);
    // b comes and goes while what was filled waits for its reader.
    assert_eq!(planned(&program), (40, 40));
}

#[test]
fn what_a_step_leaves_as_it_was_comes_from_the_state_before() {
    let mut program = in_order();
    let (early, state, next) =
        (program.temporary(20), program.temporary(20), program.temporary(20));
    let out = program.output(1);
    program.step(&[], &[early]);
    program.step(&[early], &[]);
    program.step(&[], &[state]);
    let change = program.step(&[state], &[next]);
    *program.access(change, next, AccessKind::Write) = part(next, 0, 10, AccessKind::Write);
    program.overwrite(change, next, state, true);
    program.step(&[next], &[out]);
    // The second half of the next state is there since the first was made, and not longer.
    assert_eq!(planned(&program), (21, 21));
}

#[test]
fn a_write_that_goes_on_lasts_longer_than_a_later_one() {
    let mut program = in_order();
    let (a, b, out) = (program.temporary(20), program.temporary(20), program.output(1));
    let long = program.step(&[], &[]);
    program.step(&[], &[]);
    program.step(&[], &[b]);
    let last = program.step(&[b], &[]);
    program.step(&[], &[out]);
    let write = part(a, 0, 10, AccessKind::Write);
    let going_on = Access { until: Until::After(last), ..write };
    program.steps[long.index()].accesses.extend([going_on, part(a, 10, 20, AccessKind::Write)]);
    program.steps[1].accesses.extend([part(a, 10, 20, AccessKind::Read), write]);
    program.steps[4].accesses.push(part(a, 0, 10, AccessKind::Read));
    // b beside the first half of a, which is written all the time.
    assert_eq!(planned(&program), (30, 30));
}

/// Ten bytes out of every twenty of a value of thirty.
fn first_and_last(program: &mut DeclaredProgram, of: ValueId) -> ValueId {
    let view_of = Some(View { of, offset: 0, rows: Some(Strided { bytes: 10, stride: 20 }) });
    program.add(ValueInfo { view_of, ..ValueInfo::new(20) })
}

#[test]
fn bytes_between_rows_are_no_part_of_a_bound() {
    let mut program = in_order();
    let (a, b, out) = (program.temporary(30), program.temporary(10), program.output(1));
    let rows = first_and_last(&mut program, a);
    program.step(&[], &[a]);
    program.step(&[], &[b]);
    program.step(&[b], &[]);
    program.step(&[rows], &[out]);
    // b could be between the rows of a: no packer puts it there, but no bound says that it cannot be.
    assert_eq!(planned(&program), (40, 30));
}

#[test]
fn bytes_between_rows_are_no_part_of_a_bound_behind_a_gap() {
    let mut program = in_order();
    let (a, b, out) = (program.temporary(30), program.temporary(10), program.output(1));
    let rows = first_and_last(&mut program, a);
    program.step(&[], &[a]);
    program.step(&[a], &[]);
    program.step(&[], &[]);
    program.step(&[], &[a]);
    program.step(&[], &[b]);
    program.step(&[b], &[]);
    program.step(&[rows], &[out]);
    assert_eq!(planned(&program), (40, 30));
}

/// A step that makes ten bytes in place of the second half of twenty, the value that they are, and
/// all of it by another name with 8 bytes behind it.
fn in_second_half(program: &mut DeclaredProgram) -> [ValueId; 3] {
    let (a, b) = (program.temporary(20), program.temporary(10));
    let second = program.view(a, 10, 10);
    let guarded = ValueInfo { view_of: Some(View::new(b, 0)), guard: 8, ..ValueInfo::new(10) };
    let guarded = program.add(guarded);
    program.step(&[], &[a]);
    [second, b, guarded]
}

#[test]
fn a_guard_of_a_part_is_behind_what_was_taken_over() {
    let mut program = in_order();
    let [second, b, guarded] = in_second_half(&mut program);
    let out = program.output(1);
    let change = program.step(&[second], &[b]);
    program.overwrite(change, b, second, true);
    program.step(&[], &[guarded]);
    program.step(&[b], &[out]);
    // b in the second half of a, and behind it the 8 bytes that are written later.
    assert_eq!(planned(&program), (28, 28));
}

#[test]
fn what_is_written_by_another_name_is_not_in_place() {
    let mut program = in_order();
    let [second, b, guarded] = in_second_half(&mut program);
    let out = program.output(1);
    let change = program.step(&[second], &[guarded]);
    program.overwrite(change, b, second, false);
    program.step(&[b], &[out]);
    // The second half of a beside b and its guard.
    assert_eq!(planned(&program), (28, 28));
}
