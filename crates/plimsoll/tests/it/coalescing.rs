//! Two sets of values that are one storage become one: outputs that are parts of something take over
//! inputs, with numbers worked out by hand.

use plimsoll::{
    DeclaredProgram, Execution, Options, Plan, Recorded, ValueId, plan, read_plan, write_plan,
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
