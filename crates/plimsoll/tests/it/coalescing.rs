//! Two sets of values that are one storage become one: outputs that are parts of something take over
//! inputs, with numbers worked out by hand.

use plimsoll::{
    Access, AccessKind, BankId, BankSpec, DeclaredProgram, Execution, Options, Plan, Recorded,
    Role, Strided, ValueId, ValueInfo, View, plan, read_plan, write_plan,
};

fn in_order() -> DeclaredProgram {
    DeclaredProgram::new(Execution::InOrder)
}

fn planned(program: &DeclaredProgram, align: u64) -> Plan {
    let mut options = Options::default();
    options.align = align;
    plan(program, &options).unwrap_or_else(|error| panic!("{error}")).into_plan()
}

fn arena(plan: &Plan) -> u64 {
    plan.banks.iter().map(|bank| bank.bytes).sum()
}

fn offset(plan: &Plan, value: ValueId) -> u64 {
    plan.slot(value).expect("it is in a bank").offset
}

/// Two chains whose ends are the parts of a whole, which the last step reads.
fn two_chains() -> (DeclaredProgram, [ValueId; 5]) {
    let mut program = in_order();
    let whole = program.temporary(200);
    let (a, b) = (program.temporary(100), program.temporary(100));
    let (first, second) = (program.view(whole, 0, 100), program.view(whole, 100, 100));
    let last = program.output(10);
    program.step(&[], &[a]);
    let one = program.step(&[a], &[first]);
    program.step(&[first], &[b]);
    let two = program.step(&[b], &[second]);
    program.step(&[whole], &[last]);
    program.overwrite(one, first, a, false);
    program.overwrite(two, second, b, false);
    (program, [whole, a, b, first, second])
}

#[test]
fn inputs_are_where_the_parts_will_be() {
    let (program, [whole, a, b, first, second]) = two_chains();
    let plan = planned(&program, 1);
    // The whole and what is made of it; apart, `b` would be beside the whole.
    assert_eq!(arena(&plan), 210);
    assert_eq!((offset(&plan, a), offset(&plan, b)), (offset(&plan, first), offset(&plan, second)));
    assert_eq!(offset(&plan, b), offset(&plan, whole) + 100);
    let member = |value: ValueId| plan.derivation.members[value.index()].expect("a member");
    assert_eq!((member(first).took_over, member(second).took_over), (Some(a), Some(b)));
    assert_eq!(plan.derivation.buffers.len(), 2);
    // It is read back as it is.
    let written = write_plan(&program, &plan, Recorded::new(), Recorded::new());
    assert_eq!(read_plan(&program, &written).expect("a plan"), plan);
}

#[test]
fn what_is_unaligned_in_the_whole_is_not_there_before() {
    let (program, [whole, a, b, ..]) = two_chains();
    let plan = planned(&program, 64);
    // The first part begins with the whole; the second at byte 100, where `b` must not be.
    assert_eq!(offset(&plan, a), offset(&plan, whole));
    assert!(offset(&plan, b).is_multiple_of(64));
    // It is before the whole, which begins at the next multiple of 64.
    assert_eq!((offset(&plan, b), arena(&plan)), (0, 128 + 200));
}

#[test]
fn an_input_that_is_needed_later_is_not_taken_over() {
    let (mut program, [_, a, ..]) = two_chains();
    let late = program.output(1);
    program.step(&[a], &[late]);
    let plan = planned(&program, 1);
    // `a` beside the whole and what is made of it.
    assert_eq!(arena(&plan), 100 + 200 + 10);
}

#[test]
fn bytes_of_the_whole_that_are_needed_are_not_those_of_an_input() {
    // The input is twice as large as the part, and would lie over the other part, which is there.
    let mut program = in_order();
    let whole = program.temporary(200);
    let (first, second) = (program.view(whole, 0, 100), program.view(whole, 100, 100));
    let (large, last) = (program.temporary(200), program.output(10));
    program.step(&[], &[second]);
    program.step(&[], &[large]);
    let step = program.step(&[large], &[first]);
    program.step(&[whole], &[last]);
    program.overwrite(step, first, large, false);
    let plan = planned(&program, 1);
    // The first part is written while all of the input is read: 200 + 100 + 100.
    assert_eq!(arena(&plan), 400);
    // Where the other part comes later, it lies over what was the input.
    let mut program = in_order();
    let whole = program.temporary(200);
    let (first, second) = (program.view(whole, 0, 100), program.view(whole, 100, 100));
    let (large, last) = (program.temporary(200), program.output(10));
    program.step(&[], &[large]);
    let step = program.step(&[large], &[first]);
    program.step(&[], &[second]);
    program.step(&[whole], &[last]);
    program.overwrite(step, first, large, false);
    assert_eq!(arena(&planned(&program, 1)), 210);
}

#[test]
fn a_part_that_is_written_early_is_not_where_the_input_is() {
    let mut program = in_order();
    let (whole, a, other) = (program.temporary(100), program.temporary(100), program.output(10));
    let (part, last) = (program.view(whole, 0, 100), program.output(10));
    program.step(&[], &[a]);
    let before = program.step(&[], &[other]);
    let step = program.step(&[a], &[part]);
    program.step(&[whole], &[last]);
    program.overwrite(step, part, a, false);
    // The whole with both outputs.
    assert_eq!(arena(&planned(&program, 1)), 100 + 10 + 10);
    program.access(step, part, AccessKind::Write).from = Some(before);
    assert_eq!(arena(&planned(&program, 1)), 100 + 100 + 10);
}

#[test]
fn what_a_step_writes_by_another_name_is_not_in_place() {
    let (mut program, [_, a, _, first, _]) = two_chains();
    let half = program.view(first, 0, 50);
    program.steps[1].accesses.push(Access::write(half));
    let plan = planned(&program, 1);
    assert_ne!(offset(&plan, a), offset(&plan, first));
    assert_eq!(arena(&plan), 210);
}

#[test]
fn the_whole_is_aligned_where_its_part_takes_over_something() {
    let mut program = in_order();
    let (large, whole) = (program.temporary(200), program.temporary(100));
    let (tail, part) = (program.view(large, 100, 100), program.view(whole, 0, 100));
    let last = program.output(10);
    program.step(&[], &[large]);
    let step = program.step(&[tail], &[part]);
    program.step(&[whole], &[last]);
    program.overwrite(step, part, tail, false);
    let plan = planned(&program, 1);
    assert_eq!((offset(&plan, part), arena(&plan)), (offset(&plan, tail), 200));
    // Byte 100 is no place for the whole; what was before the tail is free.
    let plan = planned(&program, 64);
    assert_eq!((offset(&plan, whole), offset(&plan, tail), arena(&plan)), (0, 100, 200));
}

#[test]
fn what_becomes_one_has_both_alignments() {
    let mut program = in_order();
    let mut wholes = Vec::new();
    for _ in 0..2 {
        let [whole, a] = [48, 64]
            .map(|align| program.add(ValueInfo { align: Some(align), ..ValueInfo::new(100) }));
        let part = program.view(whole, 0, 100);
        program.step(&[], &[a]);
        let step = program.step(&[a], &[part]);
        program.overwrite(step, part, a, false);
        wholes.push(whole);
    }
    let last = program.output(10);
    program.step(&wholes, &[last]);
    let plan = planned(&program, 1);
    // At multiples of 192, with the last between them; apart, three of 100 bytes are alive.
    assert_eq!(arena(&plan), 192 + 100);
    assert_eq!(offset(&plan, wholes[0]).abs_diff(offset(&plan, wholes[1])), 192);
}

#[test]
fn a_part_with_a_guard_takes_over_nothing() {
    let (mut program, [_, a, _, first, _]) = two_chains();
    program.values[first.index()].guard = 50;
    let plan = planned(&program, 1);
    // What is written behind its end is where the second part will be, so `a` is beside the whole.
    assert_ne!(offset(&plan, a), offset(&plan, first));
    assert_eq!(arena(&plan), 250);
}

#[test]
fn rows_that_are_apart_take_over_nothing() {
    let mut program = in_order();
    let whole = program.temporary(200);
    let rows = |at| {
        let rows = Some(Strided { bytes: 10, stride: 20 });
        ValueInfo { view_of: Some(View { of: whole, offset: at, rows }), ..ValueInfo::new(100) }
    };
    let (left, right) = (program.add(rows(0)), program.add(rows(10)));
    let (a, last) = (program.temporary(100), program.output(10));
    program.step(&[], &[a]);
    let step = program.step(&[a], &[left]);
    program.step(&[], &[right]);
    program.step(&[whole], &[last]);
    program.overwrite(step, left, a, false);
    let plan = planned(&program, 1);
    assert_ne!(offset(&plan, a), offset(&plan, whole));
    // The input is beside the rows, the last of which ends at byte 190.
    assert_eq!(arena(&plan), 100 + 190);
}

#[test]
fn what_the_caller_fills_stays_in_its_bank() {
    let mut program = in_order();
    let given = program.add(ValueInfo { role: Role::Input, ..ValueInfo::new(200) });
    let (part, a) = (program.view(given, 0, 100), program.temporary(100));
    let last = program.output(10);
    program.step(&[], &[a]);
    let step = program.step(&[a], &[part]);
    program.step(&[given], &[last]);
    program.overwrite(step, part, a, false);
    let mut options = Options::default().with_align(1).with_reclaim_inputs(true);
    options.place.inputs = true;
    let mut of_inputs = BankSpec::new("inputs");
    of_inputs.roles = vec![Role::Input];
    options.banks = vec![of_inputs, BankSpec::new("rest")];
    let plan = plan(&program, &options).unwrap_or_else(|error| panic!("{error}")).into_plan();
    let bank = |value: ValueId| plan.slot(value).expect("it is in a bank").bank;
    assert_eq!((bank(given), bank(a)), (BankId(0), BankId(1)));
    // One of 200 bytes; what is made takes turns in the other.
    let bytes: Vec<u64> = plan.banks.iter().map(|bank| bank.bytes).collect();
    assert_eq!(bytes, [200, 100]);
}
