//! Orders of any program: what is found is valid, means the same, and is never worse.

use std::collections::BTreeMap;

use plimsoll::testing::{Shape, random_program};
use plimsoll::{
    AccessKind, BankSpec, DeclaredProgram, Execution, Options, OrderEffort, Program, StepId,
    ValueId, order, plan, root_of,
};
use plimsoll_pack::Span;
use plimsoll_pack::testing::Rng;

/// The step that wrote each byte last that a step reads, by reader and byte of a root, where steps run
/// in this order.
fn writers(
    program: &DeclaredProgram,
    order: &[StepId],
) -> BTreeMap<(StepId, ValueId, u64), Option<StepId>> {
    let mut last: BTreeMap<(ValueId, u64), StepId> = BTreeMap::new();
    let mut found = BTreeMap::new();
    for step in order {
        for kind in [AccessKind::Read, AccessKind::Write] {
            for access in program.accesses(*step).iter().filter(|access| access.kind == kind) {
                let (root, layout) = root_of(program, access.value);
                let whole = Span::new(0, program.value(access.value).bytes);
                let bytes = access.bytes.unwrap_or(whole);
                for byte in (bytes.lo..bytes.hi).map(|byte| layout.at(byte)) {
                    match kind {
                        AccessKind::Read => {
                            found.insert((*step, root, byte), last.get(&(root, byte)).copied());
                        }
                        AccessKind::Write => drop(last.insert((root, byte), *step)),
                    }
                }
            }
        }
    }
    found
}

#[test]
fn a_better_order_means_the_same_and_is_smaller() {
    let mut shape = Shape::plain();
    (shape.steps, shape.views, shape.overwrites, shape.parts) = (2..9, 20, 30, 40);
    hold(&shape, 11);
    (shape.windows, shape.guards, shape.scratch) = (20, 20, 20);
    hold(&shape, 12);
}

/// Holds the orders of many programs against their own.
fn hold(shape: &Shape, seed: u64) {
    let mut rng = Rng::new(seed);
    let options = Options::default().with_align(1).with_work(0);
    let mut better = 0;
    for seed in 0..3000 {
        let program = random_program(&mut rng, shape);
        let own: Vec<StepId> = (0..program.steps()).map(StepId::new).collect();
        let Ok(plain) = plan(&program, &options) else { continue };
        let found = order(&program, &options, OrderEffort::Default).expect("a valid program");
        let found = found.expect("steps run in order");
        let arena = plain.banks[0].bytes;
        assert!(
            found.schedule.arena_bound_bytes <= arena,
            "seed {seed}: {found:?} {arena} {program:?}"
        );
        assert_eq!(
            writers(&program, &found.schedule.steps),
            writers(&program, &own),
            "seed {seed}: {program:?} {found:?}"
        );
        if found.steps.is_some() {
            let planned = plan(&program, &found.applied(&options));
            let planned =
                planned.unwrap_or_else(|error| panic!("seed {seed}: {error} {}", shown(&program)));
            assert!(planned.banks[0].bytes < arena, "seed {seed}");
            better += 1;
        }
    }
    assert!(better > 100, "{better}");
}

/// The accesses of every step, a line each.
fn shown(program: &DeclaredProgram) -> String {
    let line = |access: &plimsoll::Access| format!("{access:?}\n");
    let step = |step: usize| {
        let overwrites = program.overwrites(StepId::new(step)).into_owned();
        let lines: String = program.accesses(StepId::new(step)).iter().map(line).collect();
        format!("step {step} {overwrites:?}\n{lines}")
    };
    (0..program.steps()).map(step).collect()
}

/// Two branches that are both begun before either is finished.
fn branches() -> DeclaredProgram {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let large = [program.temporary(1024), program.temporary(1024)];
    let small = [program.temporary(64), program.temporary(64)];
    let output = program.output(64);
    program.step(&[], &[large[0]]);
    program.step(&[], &[large[1]]);
    program.step(&[large[0]], &[small[0]]);
    program.step(&[large[1]], &[small[1]]);
    program.step(&small, &[output]);
    program
}

#[test]
fn a_program_that_only_declares_accesses_gets_a_better_order() {
    let found = order(&branches(), &Options::default(), OrderEffort::Default).unwrap().unwrap();
    assert_eq!(found.steps, Some([0, 2, 1, 3, 4].map(StepId).to_vec()));
    assert_eq!((found.arena_bytes, found.schedule.arena_bound_bytes), (Some(1152), 1152));
}

#[test]
fn what_is_written_twice_keeps_its_order() {
    // a is written again once c has read it: neither the second write nor its reader comes before.
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let (a, c, d) = (program.temporary(8), program.temporary(64), program.temporary(8));
    let y = program.output(8);
    program.step(&[], &[a]);
    program.step(&[a], &[c]);
    program.step(&[], &[a]);
    program.step(&[a], &[d]);
    program.step(&[c, d], &[y]);
    let found = order(&program, &Options::default().with_align(1), OrderEffort::Default);
    let found = found.unwrap().unwrap();
    assert_eq!(found.schedule.steps, [0, 1, 2, 3, 4].map(StepId));
    assert!(found.schedule.is_settled);
}

#[test]
fn what_fits_counts_for_more_than_what_does_not() {
    let mut bank = BankSpec::new("sram");
    bank.capacity = Some(1152);
    let options = Options::default().with_banks(vec![bank]);
    assert!(plan(&branches(), &options).is_err());
    let found = order(&branches(), &options, OrderEffort::Default).unwrap().unwrap();
    assert_eq!(found.arena_bytes, Some(1152));
    assert_eq!(plan(&branches(), &found.applied(&options)).unwrap().banks[0].bytes, 1152);
}
