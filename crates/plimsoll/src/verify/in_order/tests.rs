//! The first run tells what the second would, wherever the second is left out.

use plimsoll_pack::testing::Rng;

use super::*;
use crate::declared::DeclaredProgram;
use crate::ids::BankId;
use crate::plan::Plan;
use crate::program::{Execution, Program, Role, Storage, ValueInfo};
use crate::testing::{Shape, plan_at, random_program, unshared_plan};
use crate::verify::{facts, order};

/// Whether the second run of a plan could be left out, and what it finds that the first does not. A plan whose
/// schedule is none is not replayed.
fn second(program: &dyn Program, plan: &Plan) -> Option<(bool, usize)> {
    let mut found = Vec::new();
    let facts = Facts::derive(program, plan, &mut facts::FactsMemory::default(), &mut found);
    let positions = order::positions(&facts, &mut found)?;
    let runs = |is_enough: fn(&Facts) -> bool| {
        let (mut found, mut buffers) = (Vec::new(), ReplayMemory::default());
        check_runs(&facts, &positions, &mut buffers, &mut found, is_enough);
        found
    };
    let (one, two) = (runs(|_| true), runs(|_| false));
    let left_out = one.is_empty() && is_repeated(&facts);
    Some((left_out, if one.is_empty() { two.len() } else { 0 }))
}

/// A plan in which a part of the places is as `scatter`, and the rest apart.
fn wild_plan(rng: &mut Rng, program: &DeclaredProgram) -> Plan {
    let (scatter, room) = (rng.below(80), 4 + rng.below(16));
    let mut end: u64 = 0;
    let mut plan = if rng.chance(50) {
        unshared_plan(program, 1)
    } else {
        plan_at(program, 1, |_, bytes, align| {
            let offset = if rng.chance(scatter) { rng.below(room) } else { end };
            let offset = offset.next_multiple_of(align);
            end = end.max(offset + bytes);
            offset
        })
    };
    let values = program.values.len() as u64;
    for index in 0..program.values.len() {
        if rng.chance(scatter / 2) {
            let other = ValueId(rng.below(values) as u32);
            plan.places[index] = match rng.below(4) {
                0 => Place::External,
                1 | 2 => Place::Outside { root: other, offset: rng.below(3) },
                _ => Place::Bank(Slot::new(BankId(0), rng.below(room), rng.below(4))),
            };
        }
    }
    plan
}

#[test]
fn where_the_second_run_is_left_out_it_finds_nothing() {
    let shape = Shape { execution: Some(Execution::InOrder), given: 0..5, ..Shape::everything() };
    let (mut left_out, mut finds) = (0, 0);
    for seed in 0..60_000 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, &shape);
        let plan = wild_plan(&mut rng, &program);
        let Some((is_left_out, more)) = second(&program, &plan) else { continue };
        assert!(!is_left_out || more == 0, "seed {seed}: {program:#?}\n{plan:#?}");
        left_out += u32::from(is_left_out);
        finds += u32::from(more > 0);
    }
    // Often enough each to be worth a look.
    assert!(left_out > 15_000 && finds > 80, "{left_out} {finds}");
}

#[test]
fn an_input_in_the_memory_of_another_is_found_by_the_second_run_alone() {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let input = ValueInfo { role: Role::Input, ..ValueInfo::new(4) };
    let inside = program.add(input);
    let whole = program.add(ValueInfo { storage: Storage::External, ..input });
    let y = program.output(4);
    program.step(&[whole], &[y]);
    let mut plan = unshared_plan(&program, 1);
    plan.places[whole.index()] = Place::External;
    plan.places[inside.index()] = Place::Outside { root: whole, offset: 0 };
    // It is filled before the other, which is harmless; and in the next run over it.
    assert_eq!(second(&program, &plan), Some((false, 1)));
    plan.places[inside.index()] = Place::External;
    assert_eq!(second(&program, &plan), Some((true, 0)));
}
