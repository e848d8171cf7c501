//! Two memories: bytes moved against all choices of small programs, and plans with copies that are verified.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use plimsoll::{
    DeclaredProgram, Leave, Options, Place, Role, SpillBanks, SpillError, Spilled, StepId, ValueId,
    ValueInfo, Violation, spill, violations, with_copies,
};

fn banks(capacity: u64) -> SpillBanks {
    SpillBanks { fast: "fast".to_owned(), capacity, slow: "slow".to_owned() }
}

fn spilled(program: &DeclaredProgram, capacity: u64) -> Result<Spilled, SpillError> {
    let options = Options::default().with_align(1);
    spill(program, &options, &banks(capacity), &mut || ControlFlow::Continue(()))
}

/// `a` is made first and read last; between them `b` and `c` take the room.
fn waiting() -> DeclaredProgram {
    let mut program = DeclaredProgram::default();
    let [a, b, c] = [40, 60, 50].map(|bytes| program.temporary(bytes));
    let y = program.output(10);
    program.step(&[], &[a]);
    program.step(&[], &[b]);
    program.step(&[b], &[c]);
    program.step(&[a, c], &[y]);
    program
}

#[test]
fn what_has_room_does_not_move() {
    let found = spilled(&waiting(), 150).unwrap();
    assert_eq!((found.moved.bytes(), found.proven, found.leaves), (0, true, vec![]));
    assert_eq!((found.plan.banks[0].bytes, found.plan.banks[1].bytes), (150, 0));
}

#[test]
fn what_is_not_needed_for_a_while_waits_in_the_slow_memory() {
    let found = spilled(&waiting(), 110).unwrap();
    assert_eq!((found.moved.out_bytes, found.moved.back_bytes), (40, 40));
    assert_eq!((found.moved.out, found.moved.back, found.proven), (1, 1, true));
    assert_eq!(found.leaves, [Leave { value: ValueId(0), after: StepId(0) }]);
    assert_eq!(found.program.steps.len(), 6);
    let names: Vec<&str> = found.program.steps.iter().map(|step| &step.name[..]).collect();
    assert_eq!(names, ["s0", "v0.out", "s1", "s2", "v0.back.1", "s3"]);
    assert!(found.plan.banks[0].bytes <= 110);
    assert_eq!(found.plan.banks[1].bytes, 40);
    assert_eq!(found.plan.banks[0].capacity, Some(110));
}

#[test]
fn a_step_that_touches_more_than_there_is_has_no_room() {
    let Err(SpillError::NoRoom { step, bytes, capacity }) = spilled(&waiting(), 109) else {
        panic!("b and c have 110 bytes together")
    };
    assert_eq!((&step[..], bytes, capacity), ("s2", 110, 109));
}

#[test]
fn an_output_can_wait_for_the_end_in_the_slow_memory() {
    let mut program = DeclaredProgram::default();
    let y = program.output(40);
    let [b, c] = [60, 50].map(|bytes| program.temporary(bytes));
    let z = program.output(10);
    program.step(&[], &[y]);
    program.step(&[], &[b]);
    program.step(&[b], &[c]);
    program.step(&[c], &[z]);
    let found = spilled(&program, 110).unwrap();
    assert_eq!((found.moved.out_bytes, found.moved.back_bytes), (40, 0));
    let outputs = found.program.values.iter().filter(|value| value.output).count();
    assert_eq!((outputs, found.program.values[y.index()].output), (2, false));
}

#[test]
fn inputs_with_a_place_are_brought_in_and_never_written_back() {
    let mut program = DeclaredProgram::default();
    let x = program.add(ValueInfo { role: Role::Input, ..ValueInfo::new(30) });
    let [b, c] = [60, 50].map(|bytes| program.temporary(bytes));
    let y = program.output(10);
    program.step(&[x], &[b]);
    program.step(&[b], &[c]);
    program.step(&[x, c], &[y]);
    let mut options = Options::default().with_align(1);
    options.place.inputs = true;
    let found = spill(&program, &options, &banks(110), &mut || ControlFlow::Continue(())).unwrap();
    assert_eq!((found.moved.out_bytes, found.moved.back_bytes), (0, 60));
    let Place::Bank(slot) = found.plan.places[x.index()] else { panic!("it has a place") };
    assert_eq!(found.plan.banks[slot.bank.index()].name, "slow");
}

#[test]
fn a_view_is_brought_back_with_what_it_is_a_part_of() {
    let mut program = DeclaredProgram::default();
    let a = program.temporary(40);
    let part = program.view(a, 8, 16);
    let [b, c] = [60, 50].map(|bytes| program.temporary(bytes));
    let y = program.output(10);
    program.step(&[], &[a]);
    program.step(&[], &[b]);
    program.step(&[b], &[c]);
    program.step(&[part, c], &[y]);
    let found = spilled(&program, 110).unwrap();
    assert_eq!(found.moved.bytes(), 80);
    let read = found.program.steps[5].accesses[0].value;
    let view = found.program.values[read.index()].view_of.unwrap();
    assert_eq!(
        (view.offset, found.program.value_names[view.of.index()].as_str()),
        (8, "v0.fast.1")
    );
}

#[test]
fn a_plan_with_a_value_in_the_other_memory_is_wrong() {
    let found = spilled(&waiting(), 110).unwrap();
    let mut plan = found.plan.clone().into_plan();
    plan.banks.swap(0, 1);
    let wrong = violations(&found.program, &plan);
    let strays = wrong.iter().filter(|wrong| matches!(wrong, Violation::WrongBank { .. })).count();
    assert_eq!(strays, found.program.values.len());
}

#[test]
fn what_cannot_leave_is_an_error() {
    let (program, options) = (waiting(), Options::default());
    for (value, after) in [(9, 0), (0, 9), (0, 1), (1, 0)] {
        let leaves = [Leave { value: ValueId(value), after: StepId(after) }];
        let found = with_copies(&program, &options, &banks(110), &leaves, &[]);
        assert!(matches!(found, Err(SpillError::BadLeave { .. })), "{leaves:?}");
    }
}

/// Three pieces of 40 bytes are made one after the other, and put together to an output.
fn joining() -> DeclaredProgram {
    let mut program = DeclaredProgram::default();
    let pieces = [(); 3].map(|()| program.temporary(40));
    let y = program.output(120);
    for piece in pieces {
        program.step(&[], &[piece]);
    }
    let join = program.step(&pieces, &[y]);
    program.steps[join.index()].only_moves = true;
    program
}

#[test]
fn what_is_put_together_of_more_than_there_is_room_for_is_put_together_in_the_slow_memory() {
    let (program, found) = (joining(), spilled(&joining(), 50).unwrap());
    let moved = found.moved;
    assert_eq!((moved.out_bytes, moved.back_bytes, moved.streamed_bytes), (120, 0, 240));
    assert_eq!((moved.bytes(), &found.streamed[..]), (360, &[StepId(3)][..]));
    let names: Vec<&str> = found.program.steps.iter().map(|step| &step.name[..]).collect();
    assert_eq!(names, ["s0", "v0.out", "s1", "v1.out", "s2", "v2.out", "s3"]);
    assert_eq!([0, 1].map(|bank| found.plan.banks[bank].bytes), [40, 240]);
    assert_eq!(found.program.banks[3].as_deref(), Some("slow"));
    let options = Options::default().with_align(1);
    let again = with_copies(&program, &options, &banks(50), &found.leaves, &found.streamed);
    let again = again.unwrap().0;
    assert_eq!(again.steps.len(), 7);
    assert_eq!(violations(&again, &found.plan), []);
}

#[test]
fn what_has_room_is_put_together_in_the_fast_memory() {
    let found = spilled(&joining(), 240).unwrap();
    assert_eq!((found.moved.bytes(), found.streamed.len()), (0, 0));
}

#[test]
fn what_was_put_together_in_the_slow_memory_is_brought_back() {
    let mut program = joining();
    let (x, y) = (program.temporary(10), program.output(20));
    program.values[3].output = false;
    program.step(&[ValueId(0)], &[x]);
    program.step(&[ValueId(3), x], &[y]);
    let found = spilled(&program, 150).unwrap();
    let moved = found.moved;
    // The first piece is read again behind the step that joins: it comes back too.
    assert_eq!((moved.out_bytes, moved.back_bytes, moved.streamed_bytes), (120, 160, 240));
}

#[test]
fn a_step_that_computes_cannot_work_in_the_slow_memory() {
    let options = Options::default().with_align(1);
    let mut program = joining();
    program.steps[3].only_moves = false;
    assert!(matches!(spilled(&program, 50), Err(SpillError::NoRoom { bytes: 240, .. })));
    let leaves = [0, 1, 2].map(|at| Leave { value: ValueId(at), after: StepId(at) });
    for (streamed, left) in [(0, 3), (3, 3), (9, 3)] {
        let found =
            with_copies(&program, &options, &banks(50), &leaves[..left], &[StepId(streamed)]);
        assert!(matches!(found, Err(SpillError::BadStream { .. })), "{streamed}");
    }
    // What it reads has to have left.
    let found = with_copies(&joining(), &options, &banks(50), &leaves[..2], &[StepId(3)]);
    assert!(matches!(found, Err(SpillError::BadStream { step: StepId(3) })));
}

/// A random program: every step makes one value of a few earlier ones.
fn random(seed: u64) -> DeclaredProgram {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
    let mut random = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut program = DeclaredProgram::default();
    let mut made: Vec<ValueId> = Vec::new();
    for _ in 0..3 + random(5) {
        let reads: Vec<ValueId> = made.iter().copied().filter(|_| random(3) == 0).collect();
        let bytes = 1 + random(9);
        let value = if random(5) == 0 { program.output(bytes) } else { program.temporary(bytes) };
        program.step(&reads, &[value]);
        made.push(value);
    }
    program
}

/// The fewest bytes moved, by all that can be in the fast memory behind each step: sets of values in it and in the
/// slow one, as bits. `None` if a step has no room.
fn fewest(program: &DeclaredProgram, capacity: u64) -> Option<u64> {
    let bytes = |set: u32| -> u64 {
        let sizes = program.values.iter().enumerate();
        sizes.filter(|(at, _)| set & (1 << at) != 0).map(|(_, value)| value.bytes).sum()
    };
    let touched = |step: usize| {
        let accesses = &program.steps[step].accesses;
        accesses.iter().fold(0u32, |set, access| set | 1 << access.value.0)
    };
    let later = |step: usize| {
        let reads = (step + 1..program.steps.len()).fold(0, |set, step| set | touched(step));
        let outputs = program.values.iter().enumerate().filter(|(_, value)| value.output);
        reads | outputs.fold(0, |set, (at, _)| set | 1 << at)
    };
    let mut states: BTreeMap<(u32, u32), u64> = [((0, 0), 0)].into();
    let mut made = 0u32;
    for step in 0..program.steps.len() {
        let (needs, needed) = (touched(step), later(step));
        let mut next: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for ((fast, slow), cost) in states {
            // What leaves before the step, if it is needed later and not in the slow memory yet, is copied there.
            for stays in (0..=fast).filter(|stays| stays & !fast == 0) {
                let leaves = fast & !stays & (needed | needs) & !slow;
                let (slow, back) = (slow | leaves, needs & made & !stays);
                if back & !slow != 0 || bytes(stays | needs) > capacity {
                    continue;
                }
                let cost = cost + bytes(leaves) + bytes(back);
                let state = ((stays | needs) & needed, slow & needed);
                let best = next.entry(state).or_insert(u64::MAX);
                *best = cost.min(*best);
            }
        }
        made |= needs;
        states = next;
    }
    states.into_values().min()
}

#[test]
fn no_choice_moves_fewer_bytes() {
    let (mut moved, mut without) = (0, 0);
    for seed in 0..400 {
        let program = random(seed);
        let most: u64 = program.values.iter().map(|value| value.bytes).sum();
        for capacity in [most / 3, most / 2, most * 2 / 3] {
            match (spilled(&program, capacity), fewest(&program, capacity)) {
                (Ok(found), Some(least)) if found.proven => {
                    assert_eq!(found.moved.bytes(), least, "seed {seed}, {capacity}");
                    moved += usize::from(least > 0);
                }
                (Ok(found), Some(least)) => assert!(found.moved.bytes() >= least, "seed {seed}"),
                (Err(SpillError::NoRoom { .. }), None) => without += 1,
                (Err(SpillError::NotPacked), Some(_)) => {}
                (found, least) => panic!("seed {seed}, {capacity}: {found:?}, {least:?}"),
            }
        }
    }
    assert!(moved > 50 && without > 50, "{moved} moved, {without} had no room");
}
