//! Break a right plan in each possible way, and expect exactly that violation.

use super::super::*;
use super::{at, moved, region, slot, value};
use crate::declared::DeclaredProgram;
use crate::ids::{BankId, StepId, ValueId};
use crate::plan::{Place, Slot};
use crate::program::{
    Access, AccessKind, Execution, Role, Scratch, Storage, Until, ValueInfo, View,
};

/// a → b → c (an output), 8 bytes each: s0 writes a, s1 reads a and writes b, s2 reads b.
fn line(execution: Execution) -> (DeclaredProgram, [ValueId; 3], [StepId; 3]) {
    let mut program = DeclaredProgram::new(execution);
    let [a, b] = [program.temporary(8), program.temporary(8)];
    let c = program.output(8);
    let s0 = program.step(&[], &[a]);
    let s1 = program.step(&[a], &[b]);
    let s2 = program.step(&[b], &[c]);
    (program, [a, b, c], [s0, s1, s2])
}

fn plain() -> (DeclaredProgram, Plan) {
    let (program, ..) = line(Execution::InOrder);
    let plan = at(&program, &[0, 8, 0]);
    (program, plan)
}

const V: [ValueId; 4] = [ValueId(0), ValueId(1), ValueId(2), ValueId(3)];
const S: [StepId; 4] = [StepId(0), StepId(1), StepId(2), StepId(3)];

#[test]
fn a_right_plan_is_verified_and_a_wrong_one_is_rejected_with_counts() {
    let (program, plan) = plain();
    let verified = verify(&program, plan.clone()).expect("right");
    assert_eq!((verified.plan(), verified.banks[0].bytes), (&plan, 16));
    assert_eq!(verified.into_plan(), plan);
    let wrong = at(&program, &[0, 0, 0]);
    let rejected = verify(&program, wrong.clone()).expect_err("wrong");
    assert_eq!((*rejected.plan.clone(), rejected.violations.len()), (wrong, 2));
    assert!(rejected.to_string().starts_with("the plan is wrong in 2 ways, the first: "));
}

#[test]
fn lists_of_other_lengths() {
    let (program, mut plan) = plain();
    plan.scratch.pop();
    let (of, found, expected) = (Counted::Scratch, 2, 3);
    assert_eq!(violations(&program, &plan), [Violation::WrongCounts { of, found, expected }]);
    let (program, mut plan) = plain();
    plan.places.push(Place::External);
    let (of, found, expected) = (Counted::Places, 4, 3);
    assert_eq!(violations(&program, &plan), [Violation::WrongCounts { of, found, expected }]);
}

#[test]
fn schedules_that_are_no_permutation() {
    let (program, mut plan) = plain();
    plan.schedule = vec![S[0], S[1], S[1], StepId(9)];
    assert_eq!(
        violations(&program, &plan),
        [
            Violation::UnknownStep { step: StepId(9) },
            Violation::StepTwice { step: S[1] },
            Violation::StepMissing { step: S[2] }
        ]
    );
}

#[test]
fn schedules_that_are_not_topological() {
    for execution in [Execution::InOrder, Execution::Partial, Execution::Queues] {
        let mut program = DeclaredProgram::new(execution);
        let [a, b] = [program.output(1), program.output(1)];
        program.step(&[], &[a]);
        program.step(&[], &[b]);
        program.steps[1].after.push(S[0]);
        let mut plan = at(&program, &[0, 1]);
        plan.schedule.reverse();
        let expected = Violation::OrderViolated { step: S[1], needs: S[0] };
        assert_eq!(violations(&program, &plan), [expected]);
    }
    // A step that touches nothing, and data that flow through it all the same.
    for execution in [Execution::InOrder, Execution::Partial, Execution::Queues] {
        for schedule in [[S[1], S[0], S[2]], [S[0], S[2], S[1]]] {
            let mut program = DeclaredProgram::new(execution);
            let [a, b] = [program.output(1), program.output(1)];
            program.step(&[], &[a]);
            program.step(&[], &[]);
            program.step(&[], &[b]);
            program.steps[1].flows_from.push(S[0]);
            program.steps[2].flows_from.push(S[1]);
            let mut plan = at(&program, &[0, 1]);
            assert_eq!(violations(&program, &plan), []);
            plan.schedule = schedule.to_vec();
            let (step, needs) = if schedule[0] == S[1] { (S[1], S[0]) } else { (S[2], S[1]) };
            assert_eq!(violations(&program, &plan), [Violation::OrderViolated { step, needs }]);
        }
    }
    // By the flow of data alone; under partial order it does not matter that nothing is shared.
    let (program, ..) = line(Execution::Partial);
    let mut plan = at(&program, &[0, 8, 16]);
    plan.schedule.swap(0, 1);
    let expected = Violation::OrderViolated { step: S[1], needs: S[0] };
    assert_eq!(violations(&program, &plan), [expected]);
    // A window that turns around.
    let (mut program, ..) = line(Execution::InOrder);
    program.values[0].output = true;
    let d = program.output(1);
    program.step(&[], &[d]);
    program.access(S[1], V[0], AccessKind::Read).until = Until::After(S[3]);
    let mut plan = at(&program, &[0, 8, 16, 24]);
    plan.schedule = vec![S[0], S[3], S[1], S[2]];
    let expected = Violation::OrderViolated { step: S[3], needs: S[1] };
    assert_eq!(violations(&program, &plan), [expected]);
}

#[test]
fn old_state_is_read_before_it_is_changed() {
    // A counter that survives: s0 reads it, s1 changes it. The other way round s0 sees the new.
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let info = ValueInfo { storage: Storage::Persistent, ..ValueInfo::new(4) };
    let state = program.add(info);
    program.step(&[state], &[]);
    program.step(&[], &[state]);
    let mut plan = at(&program, &[0]);
    assert_eq!(violations(&program, &plan), []);
    plan.schedule.reverse();
    let expected = Violation::OrderViolated { step: S[1], needs: S[0] };
    assert_eq!(violations(&program, &plan), [expected]);
}

#[test]
fn places_that_cannot_be() {
    let thing = Thing::Value(V[1]);
    let (program, mut plan) = plain();
    slot(&mut plan, V[1]).bank = BankId(7);
    plan.banks[0].bytes = 8;
    assert_eq!(violations(&program, &plan), [Violation::UnknownBank { thing, bank: BankId(7) }]);

    let (program, mut plan) = plain();
    plan.banks[0].bytes = 15;
    let outside = Violation::OutsideBank { thing, bank: BankId(0), end: 16, bank_bytes: 15 };
    assert_eq!(violations(&program, &plan), [outside]);

    let (program, plan) = plain();
    let plan = moved(&program, plan, V[1], 8);
    let mut far = plan.clone();
    slot(&mut far, V[1]).offset = u64::MAX - 3;
    let end = u64::MAX;
    let outside = Violation::OutsideBank { thing, bank: BankId(0), end, bank_bytes: 16 };
    assert_eq!(violations(&program, &far), [outside]);

    let mut large = plan.clone();
    large.banks[0].bytes = 17;
    let expected = Violation::BankSizeWrong { bank: BankId(0), bytes: 17, end: 16 };
    assert_eq!(violations(&program, &large), [expected]);

    let mut capped = plan.clone();
    capped.banks[0].capacity = Some(12);
    let expected = Violation::OverCapacity { bank: BankId(0), bytes: 16, capacity: 12 };
    assert_eq!(violations(&program, &capped), [expected]);

    let mut skew = moved(&program, plan.clone(), V[1], 9);
    skew.align = 8;
    let expected = Violation::Misaligned { thing, offset: 9, align: 8 };
    assert_eq!(violations(&program, &skew), [expected]);

    let mut small = plan.clone();
    slot(&mut small, V[1]).bytes = 7;
    let expected = Violation::TooSmall { thing, bytes: 7, needs: 8 };
    assert_eq!(violations(&program, &small), [expected]);
}

#[test]
fn values_in_the_wrong_kind_of_place() {
    let (program, mut plan) = plain();
    plan.places[1] = Place::Elided;
    plan.banks[0].bytes = 8;
    assert_eq!(violations(&program, &plan), [Violation::NotPlaced { value: V[1] }]);
    plan.places[1] = Place::External;
    assert_eq!(violations(&program, &plan), [Violation::PlacedOutside { value: V[1] }]);

    let (mut program, plan) = plain();
    program.values[1].storage = Storage::External;
    assert_eq!(violations(&program, &plan), [Violation::PlacedInBank { value: V[1] }]);

    let (mut program, mut plan) = plain();
    let elided = program.add(ValueInfo { elided: true, ..ValueInfo::new(8) });
    plan.places.push(Place::Bank(Slot::new(BankId(0), 0, 8)));
    assert_eq!(violations(&program, &plan), [Violation::PlacedElided { value: elided }]);
    plan.places[elided.index()] = Place::Elided;
    assert_eq!(violations(&program, &plan), []);
}

#[test]
fn views_that_are_elsewhere() {
    let (mut program, ..) = line(Execution::InOrder);
    let view = program.view(V[1], 4, 4);
    let inner = program.view(view, 2, 2);
    program.step(&[inner], &[]);
    let plan = at(&program, &[0, 8, 16]);
    assert_eq!(violations(&program, &plan), []);
    let wrong = moved(&program, plan, inner, 12);
    let expected = Violation::ViewMoved { value: inner, root: V[1], offset: 6 };
    assert_eq!(violations(&program, &wrong), [expected]);
}

#[test]
fn reads_of_what_is_not_there() {
    let (mut program, ..) = line(Execution::InOrder);
    program.access(S[0], V[0], AccessKind::Write).bytes = Some(plimsoll_pack::Span::new(0, 6));
    let plan = at(&program, &[0, 8, 16]);
    let expected = Violation::ReadBeforeWrite { step: S[1], value: V[0], at: region(6, 8) };
    assert_eq!(violations(&program, &plan), [expected]);
    program.execution = Execution::Partial;
    assert_eq!(violations(&program, &plan), [expected]);
}

#[test]
fn a_value_that_is_overwritten_before_it_is_read() {
    // s0 writes a, s1 writes b, s2 reads both.
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let [a, b] = [program.temporary(8), program.temporary(4)];
    program.step(&[], &[a]);
    program.step(&[], &[b]);
    program.step(&[a, b], &[]);
    let plan = at(&program, &[0, 2]);
    let by = value(b, S[1]);
    let (at_both, earlier_run) = (region(2, 6), false);
    let expected = Violation::Clobbered { step: S[2], value: a, by, at: at_both, earlier_run };
    assert_eq!(violations(&program, &plan), [expected]);
    assert_eq!(
        expected.describe(&program, &plan).to_string(),
        "step \"s2\" reads \"v0\", overwritten by \"v1\" (step \"s1\") (bytes 2..6 of bank \"arena\")"
    );
    assert_eq!(
        expected.to_string(),
        "step 2 reads value 0, overwritten by value 1 (step 1) (bytes 2..6 of bank 0)"
    );
    // Of a partial order more is known: nothing says which of the two is written first.
    program.execution = Execution::Partial;
    let (x, y) = (value(a, S[0]), value(b, S[1]));
    let expected = Violation::NotOrdered { a: x, b: y, at: at_both };
    assert_eq!(violations(&program, &plan), [expected]);
    // Ordered, it is as clear as in order.
    program.steps[1].after.push(S[0]);
    let (at, value) = (at_both, a);
    let expected = Violation::Clobbered { step: S[2], value, by, at, earlier_run };
    assert_eq!(violations(&program, &plan), [expected]);
}

#[test]
fn what_is_lost_at_the_end_of_a_run_is_missed_in_the_next() {
    // A weight that may be overwritten: s1 puts y over it, and finds nothing wrong with that in the
    // first run, in which nobody wants it any more.
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let info = ValueInfo { role: Role::Param, donated: true, ..ValueInfo::new(4) };
    let (weight, middle, y) = (program.add(info), program.temporary(4), program.output(4));
    program.step(&[weight], &[middle]);
    program.step(&[middle], &[y]);
    assert_eq!(violations(&program, &at(&program, &[0, 4, 8])), []);
    let (by, at_all) = (value(y, S[1]), region(0, 4));
    let expected =
        Violation::Clobbered { step: S[0], value: weight, by, at: at_all, earlier_run: true };
    assert_eq!(violations(&program, &at(&program, &[0, 4, 0])), [expected]);
}

#[test]
fn a_value_that_is_read_before_its_write_is_over() {
    // The write of a goes on until s1 is over, with which the read begins.
    let (mut program, [a, ..], _) = line(Execution::InOrder);
    let plan = at(&program, &[0, 8, 16]);
    program.access(S[0], a, AccessKind::Write).until = Until::After(S[1]);
    let expected = Violation::ReadBeforeWrite { step: S[1], value: a, at: region(0, 8) };
    assert_eq!(violations(&program, &plan), [expected]);
    program.access(S[0], a, AccessKind::Write).until = Until::After(S[0]);
    assert_eq!(violations(&program, &plan), []);
}

#[test]
fn a_write_that_is_not_over_is_not_written_over() {
    // Nobody reads a, but s0 is still at it while s1 writes b.
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let (a, b) = (program.temporary(4), program.output(4));
    program.step(&[], &[a]);
    program.step(&[], &[b]);
    let plan = at(&program, &[0, 2]);
    assert_eq!(violations(&program, &plan), []);
    program.access(S[0], a, AccessKind::Write).until = Until::After(S[1]);
    let (first, second) = (value(a, S[0]), value(b, S[1]));
    let expected = Violation::WriteWhileWritten { first, second, at: region(2, 4) };
    assert_eq!(violations(&program, &plan), [expected]);
}

#[test]
fn out_of_order_a_write_that_may_begin_early_is_in_the_way_from_then_on() {
    // s0 and s1 are over before s3, which puts b where a was; but b may be written as soon as s2
    // runs, for which nobody waits and which waits for nobody.
    let mut program = DeclaredProgram::new(Execution::Partial);
    let (a, b) = (program.temporary(4), program.output(4));
    program.step(&[], &[a]);
    program.step(&[a], &[]);
    program.step(&[], &[]);
    program.step(&[], &[b]);
    program.steps[3].after.extend([S[1], S[2]]);
    let plan = at(&program, &[0, 0]);
    assert_eq!(violations(&program, &plan), []);
    program.access(S[3], b, AccessKind::Write).from = Some(S[2]);
    let not_ordered = |step: StepId| Violation::NotOrdered {
        a: value(a, step),
        b: value(b, S[3]),
        at: region(0, 4),
    };
    assert_eq!(violations(&program, &plan), [not_ordered(S[0]), not_ordered(S[1])]);
}

#[test]
fn two_outputs_on_the_same_bytes() {
    for execution in [Execution::InOrder, Execution::Partial] {
        let mut program = DeclaredProgram::new(execution);
        let [a, b] = [program.temporary(2), program.temporary(2)];
        program.step(&[], &[a, b]);
        let plan = at(&program, &[0, 1]);
        let (first, second) = (value(a, S[0]), value(b, S[0]));
        let expected = Violation::WriteWhileWritten { first, second, at: region(1, 2) };
        assert_eq!(violations(&program, &plan), [expected]);
    }
}

#[test]
fn a_step_that_overwrites_what_it_reads() {
    for execution in [Execution::InOrder, Execution::Partial, Execution::Queues] {
        let (mut program, [a, b, _], _) = line(execution);
        let plan = at(&program, &[0, 0, 8]);
        let by = Thing::Value(b);
        let expected =
            Violation::OwnInputOverwritten { step: S[1], input: a, by, at: region(0, 8) };
        assert_eq!(violations(&program, &plan), [expected]);
        // Declared, it is fine; but only at the very same place.
        program.overwrite(S[1], b, a, false);
        assert_eq!(violations(&program, &plan), []);
        let shifted = at(&program, &[0, 1, 9]);
        let at_both = region(1, 8);
        let expected = Violation::OwnInputOverwritten { step: S[1], input: a, by, at: at_both };
        assert_eq!(violations(&program, &shifted), [expected]);
        // A read that is over before the step writes is no obstacle anywhere.
        program.steps[1].overwrites.clear();
        program.access(S[1], a, AccessKind::Read).until = Until::Writes;
        assert_eq!(violations(&program, &shifted), []);
    }
}

#[test]
fn scratch_memory() {
    for execution in [Execution::InOrder, Execution::Partial] {
        let (mut program, [a, b, _], _) = line(execution);
        program.steps[1].scratch = Some(Scratch { bytes: 4, align: 4 });
        let right = at(&program, &[0, 8, 0, 16]);
        assert_eq!(violations(&program, &right), []);

        let mut missing = right.clone();
        missing.scratch[1] = None;
        missing.banks[0].bytes = 16;
        let expected = Violation::ScratchMissing { step: S[1], bytes: 4 };
        assert_eq!(violations(&program, &missing), [expected]);

        let skew = at(&program, &[0, 8, 0, 17]);
        let thing = Thing::Scratch(S[1]);
        let expected = Violation::Misaligned { thing, offset: 17, align: 4 };
        assert_eq!(violations(&program, &skew), [expected]);

        let mut small = right.clone();
        small.scratch[1] = Some(Slot::new(BankId(0), 16, 3));
        let expected = Violation::TooSmall { thing, bytes: 3, needs: 4 };
        assert!(violations(&program, &small).contains(&expected));

        let over_output = at(&program, &[0, 8, 0, 12]);
        let by = value(b, S[1]);
        let expected = Violation::ScratchClobbered { step: S[1], by, at: region(12, 16) };
        assert_eq!(violations(&program, &over_output), [expected]);

        let over_input = at(&program, &[0, 8, 0, 4]);
        let (input, by) = (a, Thing::Scratch(S[1]));
        let expected = Violation::OwnInputOverwritten { step: S[1], input, by, at: region(4, 8) };
        assert_eq!(violations(&program, &over_input)[..1], [expected]);
    }
}

#[test]
fn outputs_that_are_lost() {
    for execution in [Execution::InOrder, Execution::Queues] {
        let mut program = DeclaredProgram::new(execution);
        let [a, b] = [program.output(4), program.temporary(4)];
        program.step(&[], &[a]);
        program.step(&[], &[b]);
        let plan = at(&program, &[0, 2]);
        let by = Some(value(b, S[1]));
        let expected = Violation::OutputLost { value: a, by, at: region(2, 4) };
        assert_eq!(violations(&program, &plan), [expected]);
        let mut program = DeclaredProgram::new(execution);
        let a = program.output(4);
        let plan = at(&program, &[0]);
        let expected = Violation::OutputLost { value: a, by: None, at: region(0, 4) };
        assert_eq!(violations(&program, &plan), [expected]);
    }
}

#[test]
fn values_from_outside_that_are_lost() {
    for execution in [Execution::InOrder, Execution::Partial] {
        for (role, storage) in [
            (Role::Param, Storage::Arena),
            (Role::Constant, Storage::Arena),
            (Role::Temporary, Storage::Persistent),
            (Role::Param, Storage::Shared),
        ] {
            let mut program = DeclaredProgram::new(execution);
            let weight = program.add(ValueInfo { role, storage, ..ValueInfo::new(4) });
            let [a, b] = [program.temporary(4), program.output(4)];
            program.step(&[weight], &[a]);
            program.step(&[a], &[b]);
            let plan = at(&program, &[0, 4, 2]);
            // b takes bytes of the weight when nobody reads it any more: the next run does.
            let by = value(b, S[1]);
            let lost = Violation::PersistentLost { value: weight, by, at: region(2, 4) };
            assert!(violations(&program, &plan).contains(&lost), "{role:?} {storage:?}");
        }
    }
}

#[test]
fn an_input_may_be_given_up_but_not_before_it_is_read() {
    // E6: an input that is first read late.
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let input = program.add(ValueInfo { role: Role::Input, ..ValueInfo::new(4) });
    let [a, b] = [program.temporary(4), program.output(4)];
    program.step(&[], &[a]);
    program.step(&[a, input], &[b]);
    let by = value(a, S[0]);
    let plan = at(&program, &[0, 0, 4]);
    let (step, at_all) = (S[1], region(0, 4));
    let expected = Violation::Clobbered { step, value: input, by, at: at_all, earlier_run: false };
    assert_eq!(violations(&program, &plan), [expected]);
    program.overwrite(S[1], b, input, false);
    assert_eq!(violations(&program, &at(&program, &[0, 4, 0])), []);
}

#[test]
fn an_overwrite_that_must_be() {
    for execution in [Execution::InOrder, Execution::Partial] {
        let (mut program, [_, b, _], _) = line(execution);
        let changed = program.output(8);
        program.step(&[], &[changed]);
        program.overwrite(S[3], changed, b, true);
        program.steps[3].after.push(S[2]);
        let right = at(&program, &[0, 8, 16]);
        assert_eq!(violations(&program, &right), []);
        let wrong = moved(&program, right, changed, 24);
        let expected = Violation::OverwriteIgnored { step: S[3], output: changed, input: b };
        assert_eq!(violations(&program, &wrong), [expected]);
    }
}

#[test]
fn guards_are_written_too() {
    for execution in [Execution::InOrder, Execution::Partial] {
        let (mut program, ..) = line(execution);
        program.values[1].guard = 2;
        assert_eq!(violations(&program, &at(&program, &[16, 0, 10])), []);
        let tight = at(&program, &[9, 0, 20]);
        let found = violations(&program, &tight);
        // b with its guard is 0..10, a 9..17, and s1 reads a while it writes b.
        let thing =
            if execution == Execution::InOrder { Thing::Guard(V[1]) } else { Thing::Value(V[1]) };
        let (input, at) = (V[0], region(9, 10));
        let expected = Violation::OwnInputOverwritten { step: S[1], input, by: thing, at };
        assert_eq!(found, [expected]);
    }
}

#[test]
fn queues_order_nothing_but_what_they_say() {
    let (mut program, [a, b, _], _) = line(Execution::Queues);
    program.steps[1].queue = 1;
    let plan = at(&program, &[0, 8, 16]);
    // The flow of data from s0 (queue 0) to s1 (queue 1) and back is not covered by waits.
    let ab = Violation::NotOrdered { a: value(a, S[0]), b: value(a, S[1]), at: region(0, 8) };
    let bc = Violation::NotOrdered { a: value(b, S[1]), b: value(b, S[2]), at: region(8, 16) };
    assert_eq!(violations(&program, &plan), [ab, bc]);
    program.steps[1].after.push(S[0]);
    program.steps[2].after.push(S[1]);
    assert_eq!(violations(&program, &plan), []);
}

#[test]
fn programs_that_break_the_rules_do_not_panic() {
    let (mut program, [a, b, _], _) = line(Execution::InOrder);
    let lost = ValueId(99);
    program.steps[0].accesses.push(Access::read(lost));
    program.steps[1]
        .accesses
        .push(Access { bytes: Some(plimsoll_pack::Span::new(4, 40)), ..Access::read(a) });
    program.access(S[2], b, AccessKind::Read).from = Some(StepId(77));
    program.steps[2].after.push(StepId(78));
    program.overwrite(S[2], lost, a, true);
    program.values[0].view_of = Some(View::new(b, 0));
    program.values[1].view_of = Some(View::new(a, 0));
    for execution in [Execution::InOrder, Execution::Partial, Execution::Queues] {
        program.execution = execution;
        let mut plan = at(&line(execution).0, &[0, 8, 16]);
        let found = violations(&program, &plan);
        let bad = found.iter().filter(|v| matches!(v, Violation::BadProgram { .. }));
        assert!(bad.count() >= 5, "{found:?}");
        for violation in &found {
            assert!(!violation.describe(&program, &plan).to_string().is_empty());
        }
        plan.places.clear();
        plan.banks.clear();
        plan.schedule.clear();
        assert!(!violations(&program, &plan).is_empty());
    }
}

#[test]
fn a_step_that_touches_what_is_folded_away() {
    let (mut program, mut plan) = plain();
    let folded = program.add(ValueInfo { elided: true, ..ValueInfo::new(4) });
    plan.places.push(Place::Elided);
    program.steps[1].accesses.push(Access::read(folded));
    let expected = Violation::ElidedTouched { step: S[1], value: folded };
    assert_eq!(violations(&program, &plan), [expected]);
}
