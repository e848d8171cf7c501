//! Whatever the oracle finds, the verifier finds; and in a language without dead writes nothing
//! else.

use plimsoll_pack::Span;
use plimsoll_pack::testing::Rng;

use super::super::*;
use crate::declared::DeclaredProgram;
use crate::ids::{StepId, ValueId};
use crate::plan::Place;
use crate::program::{Access, AccessKind, Execution, Program, Scratch, Until, View};
use crate::testing::{Orders, Shape, corrupts, plan_at, random_program, unshared_plan};

#[test]
fn unshared_plans_are_always_right() {
    for seed in 0..40_000 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, &Shape::everything());
        let plan = unshared_plan(&program, 1 << rng.below(3));
        assert_eq!(violations(&program, &plan), [], "seed {seed}: {program:#?}\n{plan:#?}");
        if seed < 4_000 {
            assert!(!corrupts(&program, &plan, Orders(20)), "seed {seed}: {program:#?}");
        }
    }
}

/// Some values somewhere, some where they may overwrite, most where they have been.
fn random_plan(rng: &mut Rng, program: &DeclaredProgram) -> Plan {
    let (scatter, room) = (rng.below(60), 4 + rng.below(20));
    let mut offsets: Vec<u64> = vec![0; program.values.len()];
    let mut end: u64 = 0;
    plan_at(program, 1, |value, bytes, align| {
        let mut offset = end.next_multiple_of(align);
        if rng.chance(scatter) {
            offset = rng.below(room).next_multiple_of(align);
        }
        let all = program.steps.iter().flat_map(|s| &s.overwrites);
        let mut over = all.filter(|o| Some(o.output) == value && !o.must);
        if let Some(over) = over.next()
            && over.input.0 < over.output.0
            && rng.chance(60)
        {
            offset = offsets[over.input.index()].next_multiple_of(align);
        }
        if let Some(value) = value {
            offsets[value.index()] = offset;
        }
        end = end.max(offset + bytes);
        offset
    })
}

/// Runs many cases; how many the oracle corrupts, the verifier rejects, and there were.
fn compare(shape: &Shape, seeds: std::ops::Range<u64>, exact: bool) -> (u32, u32, u32) {
    let (mut corrupt, mut rejected, mut all) = (0, 0, 0);
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, shape);
        for _ in 0..4 {
            let plan = random_plan(&mut rng, &program);
            let found = violations(&program, &plan);
            let seen = corrupts(&program, &plan, Orders(60));
            let case = || format!("seed {seed}: {found:#?}\n{program:#?}\n{plan:#?}");
            assert!(!seen || !found.is_empty(), "missed: {}", case());
            assert!(!exact || seen || found.is_empty(), "too strict: {}", case());
            corrupt += u32::from(seen);
            rejected += u32::from(!found.is_empty());
            all += 1;
        }
    }
    (corrupt, rejected, all)
}

#[test]
fn what_the_oracle_corrupts_is_rejected() {
    let (corrupt, rejected, all) = compare(&Shape::everything(), 0..6_000, false);
    assert!(corrupt > all / 4 && rejected < all * 3 / 4, "{corrupt} {rejected} {all}");
}

#[test]
fn without_dead_writes_nothing_else_is_rejected() {
    let plain = Shape { overwrites: 40, ..Shape::plain() };
    compare(&plain, 0..3_000, true);
    for execution in [Execution::Partial, Execution::Queues] {
        // A root counts as a whole there: one that is overwritten in part, because it must, is
        // judged more strictly than by its bytes.
        let shape = Shape { execution: Some(execution), steps: 1..6, ..Shape::plain() };
        compare(&shape, 0..1_500, true);
    }
}

#[test]
fn a_schedule_that_swaps_two_steps_is_rejected_where_it_matters() {
    let shape = Shape { execution: Some(Execution::InOrder), ..Shape::everything() };
    let (mut corrupt, mut all) = (0, 0);
    for seed in 0..6_000 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, &shape);
        let mut plan = unshared_plan(&program, 1);
        rng.shuffle(&mut plan.schedule);
        let seen = corrupts(&program, &plan, Orders(1));
        let found = violations(&program, &plan);
        assert!(!seen || !found.is_empty(), "seed {seed}: {program:#?}\n{plan:#?}");
        corrupt += u32::from(seen);
        all += u32::from(!found.is_empty());
    }
    assert!(corrupt > 2_000 && all < 5_000, "{corrupt} {all}");
}

/// The program in which step i writes value i and reads those of the bits of `reads[i]`.
fn small(sizes: &[u64], reads: &[usize], execution: Execution, in_place: bool) -> DeclaredProgram {
    let mut program = DeclaredProgram::new(execution);
    let values: Vec<ValueId> = sizes.iter().map(|bytes| program.temporary(*bytes)).collect();
    for (index, value) in values.iter().enumerate() {
        let inputs: Vec<ValueId> =
            (0..index).filter(|i| reads[index] >> i & 1 == 1).map(|i| values[i]).collect();
        let step = program.step(&inputs, &[*value]);
        for input in inputs {
            program.values[input.index()].output = false;
            if in_place && sizes[input.index()] >= sizes[index] {
                program.overwrite(step, *value, input, false);
            }
            if execution == Execution::Queues {
                program.steps[index].after.push(StepId(input.0));
            }
        }
        program.steps[index].queue = index as u32 % 2;
    }
    let read = |v: ValueId| {
        let mut all = program.steps.iter().flat_map(|s| &s.accesses);
        all.any(|a| a.value == v && a.kind == AccessKind::Read)
    };
    let unread: Vec<ValueId> = values.iter().copied().filter(|v| !read(*v)).collect();
    for value in unread {
        program.values[value.index()].output = true;
    }
    program
}

/// All numbers with these many digits of these bases, lowest digit first.
fn each_digits(bases: &[usize], mut each: impl FnMut(&[usize])) {
    let mut digits = vec![0; bases.len()];
    loop {
        each(&digits);
        let Some(at) = (0..digits.len()).find(|i| digits[*i] + 1 < bases[*i]) else { return };
        digits[at] += 1;
        digits[..at].fill(0);
    }
}

/// Every program and every placement of so many values; how many cases and how many corrupt.
fn every_world(count: usize, most_bytes: usize, arena: usize) -> (u32, u32) {
    let (mut all, mut corrupt) = (0, 0);
    let executions = [Execution::InOrder, Execution::Partial, Execution::Queues];
    let patterns: Vec<usize> = (0..count).map(|i| 1 << i).collect();
    each_digits(&vec![most_bytes; count], |sizes| {
        let sizes: Vec<u64> = sizes.iter().map(|s| *s as u64 + 1).collect();
        let bases: Vec<usize> = sizes.iter().map(|s| arena + 1 - *s as usize).collect();
        each_digits(&patterns, |reads| {
            for (execution, in_place) in
                executions.into_iter().flat_map(|e| [(e, false), (e, true)])
            {
                let program = small(&sizes, reads, execution, in_place);
                each_digits(&bases, |offsets| {
                    let plan = plan_at(&program, 1, |v, _, _| {
                        offsets[v.expect("no scratch").index()] as u64
                    });
                    let found = violations(&program, &plan);
                    let seen = corrupts(&program, &plan, Orders(usize::MAX));
                    assert_eq!(seen, !found.is_empty(), "{found:#?}\n{program:#?}\n{plan:#?}");
                    all += 1;
                    corrupt += u32::from(seen);
                });
            }
        });
    });
    (all, corrupt)
}

#[test]
fn every_small_world_is_judged_as_the_oracle_does() {
    // How many there are, and how many of them corrupt.
    assert_eq!(every_world(2, 3, 6), (2_700, 1_176));
    assert_eq!(every_world(3, 3, 5), (82_944, 69_771));
    assert_eq!(every_world(4, 2, 3), (240_000, 233_518));
}

#[test]
fn a_value_that_shrinks_is_too_small() {
    for seed in 0..500 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, &Shape::everything());
        let mut plan = unshared_plan(&program, 1);
        let banked = plan.places.iter().position(|place| matches!(place, Place::Bank(_)));
        let Some(index) = banked else { continue };
        let Place::Bank(slot) = &mut plan.places[index] else { continue };
        let thing = Thing::Value(ValueId::new(index));
        let needs = program.value(ValueId::new(index)).bytes;
        slot.bytes -= 1;
        slot.reserved = slot.bytes;
        let expected = Violation::TooSmall { thing, bytes: needs - 1, needs };
        assert!(violations(&program, &plan).contains(&expected));
    }
}

/// A number that nobody expects.
fn odd(rng: &mut Rng) -> u64 {
    [0, 1, 7, 1 << 32, u64::MAX / 2, u64::MAX - 1, u64::MAX][rng.below(7) as usize]
}

/// Breaks something in a program or a plan.
fn break_something(rng: &mut Rng, program: &mut DeclaredProgram, plan: &mut Plan) {
    let step = rng.below(program.steps.len() as u64) as usize;
    let value = ValueId(rng.below(program.values.len() as u64 + 1) as u32);
    let other = StepId(rng.below(program.steps.len() as u64 + 1) as u32);
    let number = odd(rng);
    let place = rng.below(plan.places.len().max(1) as u64) as usize;
    let info = &mut program.values[step % plan.places.len().max(1)];
    match rng.below(16) {
        0 => info.bytes = number,
        1 => info.guard = number,
        2 => info.align = Some(number),
        3 => info.view_of = Some(View::new(value, number)),
        4 => info.elided = !info.elided,
        5 => program.steps[step].accesses.push(Access::write(value)),
        6 => program.steps[step].after.push(other),
        7 => program.overwrite(StepId::new(step), value, ValueId(0), rng.chance(50)),
        8 => program.steps[step].scratch = Some(Scratch { bytes: number, align: number }),
        9 => {
            let (from, until) = (Some(other), Until::After(StepId(rng.below(9) as u32)));
            let bytes = Some(Span::new(rng.below(3), number));
            let access = Access { bytes, from, until, ..Access::read(value) };
            program.steps[step].accesses.push(access);
        }
        10 => plan.schedule.push(other),
        11 => plan.schedule.swap(0, step),
        12 => drop(plan.places.pop()),
        13 => plan.banks.clear(),
        14 => plan.places[place] = Place::Outside { root: value, offset: number },
        _ => {
            if let Some(Place::Bank(slot)) = plan.places.get_mut(place) {
                slot.offset = number;
            }
        }
    }
}

#[test]
fn nothing_makes_it_panic() {
    for seed in 0..10_000 {
        let mut rng = Rng::new(seed);
        let mut program = random_program(&mut rng, &Shape::everything());
        if program.values.is_empty() {
            continue;
        }
        let mut plan = unshared_plan(&program, 1);
        for _ in 0..=rng.below(3) {
            if plan.places.is_empty() {
                break;
            }
            break_something(&mut rng, &mut program, &mut plan);
        }
        for violation in violations(&program, &plan) {
            assert!(!violation.describe(&program, &plan).to_string().is_empty());
        }
    }
}
