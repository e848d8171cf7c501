//! What a back end asks of a plan: slots, the arena, the alignment of its base, and the bytes of each access.

use plimsoll::testing::{Shape, random_program};
use plimsoll::{
    Access, AccessKind, BankId, DeclaredProgram, Execution, Memory, Options, Place, Program, Role,
    Scratch, StepId, Strided, ValueId, ValueInfo, VerifiedPlan, View, plan,
};
use plimsoll_pack::Span;
use plimsoll_pack::testing::Rng;

/// An input, a tensor of four rows of 16 bytes, its right half as a strided view, and a cache that is
/// changed in place outside of the plan.
fn program() -> (DeclaredProgram, [ValueId; 5]) {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let input = program.add(ValueInfo { role: Role::Input, ..ValueInfo::new(10) });
    let rows = program.add(ValueInfo { align: Some(48), ..ValueInfo::new(64) });
    let half = Some(Strided { bytes: 8, stride: 16 });
    let half = View { of: rows, offset: 8, rows: half };
    let right = program.add(ValueInfo { view_of: Some(half), ..ValueInfo::new(32) });
    let cache = ValueInfo { role: Role::Input, donated: true, ..ValueInfo::new(100) };
    let cache = program.add(cache);
    let next = program.temporary(100);
    let out = program.output(32);
    program.step(&[input], &[rows]);
    let append = program.step(&[right, cache], &[next]);
    program.overwrite(append, next, cache, true);
    let last = program.step(&[right, next], &[out]);
    program.steps[last.index()].accesses[0].bytes = Some(Span::new(4, 12));
    program.steps[last.index()].scratch = Some(Scratch { bytes: 8, align: 256 });
    (program, [input, rows, right, cache, next])
}

fn planned(program: &DeclaredProgram) -> VerifiedPlan {
    plan(program, &Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_slot_is_one_call_and_what_is_outside_has_none() {
    let (program, [input, rows, right, cache, next]) = program();
    let plan = planned(&program);
    let at = plan.slot(rows).expect("it is in the arena");
    assert_eq!((at.bytes, at.offset % 48), (64, 0));
    // From the first to the last of its bytes.
    let part = plan.slot(right).expect("it is in the arena");
    assert_eq!((part.offset, part.bytes), (at.offset + 8, 56));
    assert_eq!([input, cache, next].map(|value| plan.slot(value)), [None; 3]);
    assert_eq!(plan.slot(ValueId::new(99)), None);
}

#[test]
fn the_arena_says_how_much_to_allocate_and_what_its_address_is_a_multiple_of() {
    let (mut program, _) = program();
    let plan = planned(&program);
    let arena = plan.arena().expect("there is a bank");
    assert_eq!((arena.name.as_str(), arena.bytes), ("arena", plan.arena_bytes()));
    // The scratch memory asks for most.
    assert_eq!(plan.base_align(&program, BankId(0)), 256);
    assert_eq!(plan.base_align(&program, BankId(1)), 1);
    program.steps[2].scratch = None;
    assert_eq!(planned(&program).base_align(&program, BankId(0)), 64);
    // Of 48 an address keeps 16.
    let mut options = Options::default();
    options.align = 1;
    let plan = plimsoll::plan(&program, &options).expect("it can be planned");
    assert_eq!(plan.base_align(&program, BankId(0)), 16);
}

#[test]
fn accesses_have_their_memory_and_their_bytes() {
    let (program, [input, rows, right, cache, next]) = program();
    let plan = planned(&program);
    let first = plan.accesses(&program, StepId(0));
    let memory: Vec<_> = first.iter().map(|access| (access.value, access.memory)).collect();
    assert_eq!(memory, [(input, Memory::Caller(input)), (rows, Memory::Bank(BankId(0)))]);
    let base = plan.slot(rows).expect("it is in the arena").offset;
    assert_eq!(first[1].spans(), [Span::new(base, base + 64)]);
    // The next state of the cache is in the memory of the cache.
    let second = plan.accesses(&program, StepId(1));
    assert_eq!(second[2].memory, Memory::Caller(cache));
    assert_eq!((second[2].value, second[2].kind), (next, AccessKind::Write));
    // Bytes 4..12 of a view of rows of 8: the end of one row and the beginning of the next.
    let third = plan.accesses(&program, StepId(2));
    assert_eq!(third[0].value, right);
    let at = |lo: u64, hi: u64| Span::new(base + lo, base + hi);
    assert_eq!(third[0].spans(), [at(12, 16), at(24, 28)]);
}

#[test]
fn every_access_of_random_programs_lies_in_the_slot_of_its_value() {
    let mut seen = 0;
    for seed in 0..400 {
        let program = random_program(&mut Rng::new(seed), &Shape::everything());
        let Ok(plan) = plan(&program, &Options::default()) else { continue };
        for step in (0..program.steps()).map(StepId::new) {
            let declared = program.accesses(step);
            let resolved = plan.accesses(&program, step);
            assert_eq!(resolved.len(), declared.len(), "seed {seed}");
            for (Access { value, .. }, found) in declared.iter().zip(&resolved) {
                assert_eq!(*value, found.value);
                seen += usize::from(matches!(found.memory, Memory::Bank(_)));
                let Memory::Bank(bank) = found.memory else {
                    assert!(!matches!(plan.places[value.index()], Place::Bank(_)));
                    continue;
                };
                let slot = plan.slot(*value).expect("it is in a bank");
                let slot_span = Span::new(slot.offset, slot.offset + slot.bytes);
                let inside = |span: &Span| slot_span.lo <= span.lo && span.hi <= slot_span.hi;
                assert!(slot.bank == bank && found.spans().iter().all(inside), "seed {seed}");
            }
        }
    }
    assert!(seen > 1000, "{seen} accesses");
}
