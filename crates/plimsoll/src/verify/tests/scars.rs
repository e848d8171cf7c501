//! The scars: a program with the declaration, a plan made without it, and what is found.

use super::super::*;
use super::{at, moved, region, value};
use crate::declared::DeclaredProgram;
use crate::ids::{StepId, ValueId};
use crate::plan::Place;
use crate::program::{Access, AccessKind, Execution, Role, Scratch, Storage, Until, ValueInfo};

const S: [StepId; 4] = [StepId(0), StepId(1), StepId(2), StepId(3)];

fn clobbered(step: StepId, lost: ValueId, by: Culprit, lo: u64, hi: u64) -> Violation {
    let (value, at, earlier_run) = (lost, region(lo, hi), false);
    Violation::Clobbered { step, value, by, at, earlier_run }
}

#[test]
fn a10_out_of_order_executors() {
    // Two branches from x: s1 makes a, s2 makes b, s3 reads both... in order x is dead after s2,
    // and d of s3 may take its bytes. Two more branches may not share at all.
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let [a, b, c] = [program.temporary(8), program.output(8), program.temporary(8)];
    let d = program.output(8);
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    program.step(&[], &[c]);
    program.step(&[c], &[d]);
    // c takes the bytes of a, which is dead by then in order; nothing orders s1 and s2.
    let plan = at(&program, &[0, 8, 0, 16]);
    assert_eq!(violations(&program, &plan), []);
    program.execution = Execution::Partial;
    let at_both = region(0, 8);
    assert_eq!(
        violations(&program, &plan),
        [
            Violation::NotOrdered { a: value(a, S[0]), b: value(c, S[2]), at: at_both },
            Violation::NotOrdered { a: value(a, S[0]), b: value(c, S[3]), at: at_both },
            Violation::NotOrdered { a: value(a, S[1]), b: value(c, S[2]), at: at_both },
        ]
    );
    program.steps[2].after.push(S[1]);
    assert_eq!(violations(&program, &plan), []);
}

#[test]
fn a14_a_fused_attention_reads_the_parent_behind_slices() {
    // qkv (12) is sliced by copies; the attention reads the slices, and qkv itself.
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let [qkv, q] = [program.temporary(12), program.temporary(4)];
    let [k, out] = [program.temporary(4), program.output(4)];
    program.step(&[], &[qkv]);
    program.step(&[qkv], &[q]);
    program.step(&[q], &[k]);
    let attention = program.step(&[q, k], &[out]);
    let plan = at(&program, &[0, 12, 0, 4]);
    assert_eq!(violations(&program, &plan), []);
    program.steps[attention.index()].accesses.push(Access::read(qkv));
    let found = violations(&program, &plan);
    assert!(found.contains(&clobbered(attention, qkv, value(k, S[2]), 0, 4)), "{found:?}");
    let right = at(&program, &[0, 12, 16, 20]);
    assert_eq!(violations(&program, &right), []);
}

#[test]
fn a15_a_read_that_is_later_than_its_step() {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let [a, b] = [program.temporary(4), program.temporary(4)];
    let [c, d] = [program.temporary(4), program.output(4)];
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    program.step(&[b], &[c]);
    program.step(&[c], &[d]);
    // c takes the bytes of a.
    let plan = at(&program, &[0, 4, 0, 4]);
    assert_eq!(violations(&program, &plan), []);
    // The host reads a of s1 when s2 flushes.
    program.access(S[1], a, AccessKind::Read).until = Until::After(S[2]);
    assert_eq!(violations(&program, &plan), [clobbered(S[1], a, value(c, S[2]), 0, 4)]);
    program.access(S[1], a, AccessKind::Read).until = Until::EndOfRun;
    assert_eq!(violations(&program, &plan), [clobbered(S[1], a, value(c, S[2]), 0, 4)]);
    let right = at(&program, &[0, 4, 8, 4]);
    assert_eq!(violations(&program, &right), []);
}

#[test]
fn a16_a_write_that_is_earlier_than_its_step() {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let [a, b] = [program.temporary(4), program.temporary(4)];
    let c = program.output(4);
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    program.step(&[b], &[c]);
    // c takes the bytes of a; the epilogue of s1 already writes it.
    let plan = at(&program, &[0, 4, 0]);
    assert_eq!(violations(&program, &plan), []);
    program.access(S[2], c, AccessKind::Write).from = Some(S[1]);
    assert_eq!(violations(&program, &plan), [clobbered(S[1], a, value(c, S[2]), 0, 4)]);
    let right = at(&program, &[0, 4, 8]);
    assert_eq!(violations(&program, &right), []);
}

#[test]
fn a17_a_value_is_folded_away_only_if_every_reader_folds() {
    // b is folded into its reader in the mind of the planner, but somebody reads its bytes.
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let [a, b] = [program.temporary(4), program.temporary(4)];
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    let reader = program.step(&[b], &[]);
    let mut plan = at(&program, &[0, 4]);
    plan.places[b.index()] = Place::Elided;
    plan.banks[0].bytes = 4;
    assert_eq!(violations(&program, &plan), [Violation::NotPlaced { value: b }]);
    program.values[b.index()].elided = true;
    assert_eq!(
        violations(&program, &plan),
        [
            Violation::ElidedTouched { step: S[1], value: b },
            Violation::ElidedTouched { step: reader, value: b }
        ]
    );
}

#[test]
fn a18_a_pack_that_is_kept_for_later_runs() {
    // s1 packs; s2 uses the pack. a is dead when s1 is over, and in one run could share with it.
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let [a, b] = [program.temporary(4), program.temporary(4)];
    let pack = program.temporary(4);
    let out = program.output(4);
    program.step(&[], &[a]);
    program.step(&[a], &[b]);
    program.step(&[b], &[pack]);
    program.step(&[pack], &[out]);
    let plan = at(&program, &[0, 4, 0, 4]);
    assert_eq!(violations(&program, &plan), []);
    program.values[pack.index()].storage = Storage::Persistent;
    let by = value(a, S[0]);
    let expected = Violation::PersistentLost { value: pack, by, at: region(0, 4) };
    assert_eq!(violations(&program, &plan), [expected]);
    program.execution = Execution::Partial;
    assert!(violations(&program, &plan).contains(&expected));
    assert_eq!(violations(&program, &at(&program, &[0, 4, 8, 12])), []);
}

#[test]
fn a19_hidden_scratch() {
    // kept lives through s1, whose kernel uses 4 bytes that a planner without scratch thinks free.
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let [kept, a, out] = [program.temporary(4), program.temporary(4), program.output(4)];
    program.step(&[], &[kept]);
    program.step(&[], &[a]);
    program.step(&[kept, a], &[out]);
    program.steps[1].scratch = Some(Scratch { bytes: 4, align: 1 });
    let plan = at(&program, &[0, 4, 8, 0]);
    let by = Culprit { thing: Thing::Scratch(S[1]), step: Some(S[1]) };
    assert_eq!(violations(&program, &plan), [clobbered(S[2], kept, by, 0, 4)]);
    assert_eq!(violations(&program, &at(&program, &[0, 4, 8, 8])), []);
}

/// A cache of 8 bytes; each run appends 2 bytes to it and then reads all.
fn append(execution: Execution) -> (DeclaredProgram, [ValueId; 3]) {
    let mut program = DeclaredProgram::new(execution);
    let info =
        ValueInfo { storage: Storage::Persistent, role: Role::Temporary, ..ValueInfo::new(8) };
    let cache = program.add(info);
    let longer = program.temporary(8);
    let out = program.output(2);
    program.step(&[], &[longer]);
    program.access(S[0], longer, AccessKind::Write).bytes = Some(plimsoll_pack::Span::new(2, 4));
    program.overwrite(S[0], longer, cache, true);
    program.step(&[longer], &[out]);
    (program, [cache, longer, out])
}

#[test]
fn a22_a_cache_that_is_appended_to_in_place() {
    for execution in [Execution::InOrder, Execution::Partial, Execution::Queues] {
        let (program, [cache, longer, out]) = append(execution);
        let right = at(&program, &[0, 8]);
        assert_eq!(violations(&program, &right), []);
        let copied = moved(&program, right, longer, 10);
        let expected = Violation::OverwriteIgnored { step: S[0], output: longer, input: cache };
        assert_eq!(violations(&program, &copied), [expected]);
        // The output over what is the cache of the next run.
        let shared = at(&program, &[0, 6]);
        let by = value(out, S[1]);
        let lost = Violation::PersistentLost { value: cache, by, at: region(6, 8) };
        assert!(violations(&program, &shared).contains(&lost), "{execution:?}");
    }
}

#[test]
fn a22_a_cache_that_is_written_through_a_view() {
    for execution in [Execution::InOrder, Execution::Partial] {
        let mut program = DeclaredProgram::new(execution);
        let info = ValueInfo { storage: Storage::Persistent, ..ValueInfo::new(8) };
        let cache = program.add(info);
        let row = program.view(cache, 2, 2);
        let out = program.output(2);
        program.step(&[], &[row]);
        program.step(&[cache], &[out]);
        assert_eq!(violations(&program, &at(&program, &[0, 8])), []);
        // A reader of the state before the change is ordered by its id, in order; a partial order
        // has to be told.
        program.steps.swap(0, 1);
        let found = violations(&program, &at(&program, &[0, 8]));
        let race =
            Violation::NotOrdered { a: value(cache, S[0]), b: value(row, S[1]), at: region(2, 4) };
        let expected = if execution == Execution::InOrder { vec![] } else { vec![race] };
        assert_eq!(found, expected);
        program.steps[1].after.push(S[0]);
        assert_eq!(violations(&program, &at(&program, &[0, 8])), []);
    }
}

#[test]
fn e1_a_view_of_a_value_outside_says_so() {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let weights = program.add(ValueInfo { storage: Storage::External, ..ValueInfo::new(8) });
    let row = program.view(weights, 4, 4);
    program.step(&[row], &[]);
    let mut plan = at(&program, &[]);
    assert_eq!(plan.places[row.index()], Place::Outside { root: weights, offset: 4 });
    assert_eq!(violations(&program, &plan), []);
    plan.places[row.index()] = Place::Outside { root: weights, offset: 3 };
    let expected = Violation::ViewMoved { value: row, root: weights, offset: 4 };
    assert_eq!(violations(&program, &plan), [expected]);
}

#[test]
fn e8_the_callers_memory_is_overwritten_only_if_donated() {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let info = ValueInfo { role: Role::Input, donated: true, ..ValueInfo::new(8) };
    let input = program.add(info);
    let out = program.output(8);
    program.step(&[input], &[out]);
    program.overwrite(S[0], out, input, false);
    let mut plan = at(&program, &[0, 0]);
    plan.banks[0].bytes = 0;
    plan.places = vec![Place::External, Place::Outside { root: input, offset: 0 }];
    assert_eq!(violations(&program, &plan), []);
    program.values[input.index()].donated = false;
    let at = Region { space: Space::Outside(input), lo: 0, hi: 8 };
    let expected = Violation::PersistentLost { value: input, by: value(out, S[0]), at };
    assert_eq!(violations(&program, &plan), [expected]);
}
