//! What it costs.

use super::super::*;
use crate::declared::DeclaredProgram;
use crate::ids::{BankId, StepId};
use crate::plan::{Bank, Derivation, Place, Slot};
use crate::program::{Execution, Program};
use crate::testing::{chain, unshared_plan};

/// Value i of the chain in slot i modulo 16 of the arena, so that bytes are used again and again.
fn ring(program: &DeclaredProgram) -> Plan {
    let place =
        |i: usize, bytes: u64| Place::Bank(Slot::new(BankId(0), 512 * (i as u64 % 16), bytes));
    let places: Vec<Place> =
        program.values.iter().enumerate().map(|(i, info)| place(i, info.bytes)).collect();
    let ends = places.iter().map(|place| match place {
        Place::Bank(slot) => slot.offset + slot.bytes,
        _ => 0,
    });
    let bytes = ends.max().unwrap_or(0);
    Plan {
        schedule: (0..program.steps()).map(StepId::new).collect(),
        scratch: vec![None; program.steps()],
        banks: vec![Bank { name: "arena".to_owned(), bytes, capacity: None }],
        align: 64,
        derivation: Derivation::default(),
        places,
    }
}

/// Run with `--release -- --ignored --nocapture` for the figures.
#[test]
#[ignore = "measures"]
fn a_million_steps_in_order() {
    let program = chain(1_000_000, Execution::InOrder);
    for (name, plan) in [("ring", ring(&program)), ("unshared", unshared_plan(&program, 64))] {
        let start = std::time::Instant::now();
        assert_eq!(violations(&program, &plan), []);
        println!("{name}: {:?}", start.elapsed());
    }
    let mut plan = ring(&program);
    for pair in plan.schedule.chunks_mut(1000) {
        if pair.len() > 999 {
            pair.swap(998, 999);
        }
    }
    let start = std::time::Instant::now();
    println!("swapped: {} found in {:?}", violations(&program, &plan).len(), start.elapsed());
}

/// Run with `--release -- --ignored --nocapture` for the figures.
#[test]
#[ignore = "measures"]
fn twenty_thousand_steps_in_a_partial_order() {
    for execution in [Execution::Partial, Execution::Queues] {
        let program = chain(20_000, execution);
        for (name, plan) in [("ring", ring(&program)), ("unshared", unshared_plan(&program, 64))] {
            let start = std::time::Instant::now();
            assert_eq!(violations(&program, &plan), []);
            println!("{execution:?} {name}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn a_ring_is_right_and_a_smaller_ring_is_not() {
    for execution in [Execution::InOrder, Execution::Partial, Execution::Queues] {
        let program = chain(2_000, execution);
        let mut plan = ring(&program);
        assert_eq!(violations(&program, &plan), []);
        for (i, place) in plan.places.iter_mut().enumerate() {
            if let Place::Bank(slot) = place {
                slot.offset = 512 * (i as u64 % 8);
            }
        }
        assert!(violations(&program, &plan).len() > 100);
    }
}
