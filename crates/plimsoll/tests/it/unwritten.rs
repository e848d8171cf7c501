//! Programs that read bytes which nobody has written by then: each is an error that names the step and
//! the value, and none a plan that the verifier rejects.

use plimsoll::{
    Access, AccessKind, DeclaredProgram, Execution, Fault, Options, PlanError, Role, StepId,
    Storage, Until, ValueId, ValueInfo, plan,
};
use plimsoll_pack::Span;
use plimsoll_pack::testing::Rng;

const EXECUTIONS: [Execution; 3] = [Execution::InOrder, Execution::Partial, Execution::Queues];

/// A random program whose accesses need not make sense.
fn wild_program(rng: &mut Rng) -> DeclaredProgram {
    let mut program = DeclaredProgram::new(EXECUTIONS[rng.below(3) as usize]);
    for _ in 0..rng.within(1..5) {
        let mut info = ValueInfo::new(8);
        info.output = rng.chance(20);
        match rng.below(8) {
            0 => info.role = Role::Input,
            1 => info.role = Role::Constant,
            2 => info.storage = Storage::Persistent,
            3 => info.storage = Storage::External,
            _ => {}
        }
        program.add(info);
    }
    for _ in 0..rng.below(3) {
        let of = ValueId(rng.below(program.values.len() as u64) as u32);
        let bytes = program.values[of.index()].bytes;
        if bytes >= 2 {
            let part = program.view(of, bytes / 2 * rng.below(2), bytes / 2);
            program.values[part.index()].output = rng.chance(20);
            if rng.chance(15) {
                program.values[part.index()].role = Role::Input;
            }
        }
    }
    let steps = rng.within(1..6);
    for _ in 0..steps {
        program.step(&[], &[]);
    }
    for step in 0..steps {
        for _ in 0..rng.within(1..4) {
            let access = wild_access(rng, &program, step, steps);
            program.steps[step as usize].accesses.push(access);
        }
        if rng.chance(15) {
            let [output, input] = [(); 2].map(|()| rng.below(program.values.len() as u64) as u32);
            let must = rng.chance(70);
            program.overwrite(StepId(step as u32), ValueId(output), ValueId(input), must);
        }
        let test_step = &mut program.steps[step as usize];
        test_step.queue = rng.below(2) as u32;
        if step > 0 && rng.chance(60) {
            test_step.after.push(StepId(rng.below(step) as u32));
        }
    }
    program
}

fn wild_access(rng: &mut Rng, program: &DeclaredProgram, step: u64, steps: u64) -> Access {
    let value = ValueId(rng.below(program.values.len() as u64) as u32);
    let bytes = program.values[value.index()].bytes;
    let mut access = if rng.chance(55) { Access::write(value) } else { Access::read(value) };
    if rng.chance(40) {
        let lo = rng.below(bytes);
        access.bytes = Some(Span::new(lo, rng.within(lo..bytes + 1)));
    }
    if rng.chance(15) {
        access.from = Some(StepId(rng.below(step + 1) as u32));
    }
    if rng.chance(15) {
        access.until = match rng.below(3) {
            0 => Until::After(StepId(rng.within(step..steps) as u32)),
            1 => Until::EndOfRun,
            _ if access.kind == AccessKind::Read => Until::Writes,
            _ => Until::Step,
        };
    }
    access
}

/// Whatever a program declares, there is a plan or an error of the program.
#[test]
fn no_program_ends_in_a_plan_that_is_rejected() {
    let (mut planned, mut refused) = (0, 0);
    for seed in 0..20_000 {
        let program = wild_program(&mut Rng::new(seed));
        let mut options = Options::default();
        options.pack.work = Some(0);
        match plan(&program, &options) {
            Ok(_) => planned += 1,
            Err(PlanError::Program(_)) => refused += 1,
            Err(error) => panic!("seed {seed}: {error}\n{program:?}"),
        }
    }
    assert!(planned > 1000 && refused > 1000, "{planned} planned, {refused} refused");
}

fn fault(program: &DeclaredProgram) -> (Fault, String) {
    match plan(program, &Options::default()) {
        Err(PlanError::Program(error)) => (error.fault.clone(), error.to_string()),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it is planned"),
    }
}

fn arena(program: &DeclaredProgram) -> u64 {
    let plan = plan(program, &Options::default()).unwrap_or_else(|error| panic!("{error}"));
    plan.banks[0].bytes
}

fn part(access: Access, lo: u64, hi: u64) -> Access {
    Access { bytes: Some(Span::new(lo, hi)), ..access }
}

/// `a` is written in halves by s0 and s2, and s1 reads something of it.
fn halves(execution: Execution, read: (u64, u64)) -> (DeclaredProgram, ValueId) {
    let mut program = DeclaredProgram::new(execution);
    let (a, b) = (program.temporary(8), program.output(8));
    program.step(&[], &[]);
    program.step(&[], &[b]);
    program.step(&[], &[]);
    program.steps[0].accesses.push(part(Access::write(a), 0, 4));
    program.steps[1].accesses.push(part(Access::read(a), read.0, read.1));
    program.steps[2].accesses.push(part(Access::write(a), 4, 8));
    (program, a)
}

#[test]
fn bytes_that_are_written_later_are_an_error() {
    let (program, value) = halves(Execution::InOrder, (2, 6));
    let (found, words) = fault(&program);
    assert_eq!(found, Fault::ReadBeforeWrite { step: StepId(1), value, bytes: (4, 6) });
    assert_eq!(words, "step \"s1\" reads bytes 4..6 of value \"v0\" before they are written");
    let (program, _) = halves(Execution::InOrder, (0, 4));
    assert_eq!(arena(&program), 64 + 8);
}

#[test]
fn what_is_not_ordered_is_written_before_all_reads() {
    for execution in [Execution::Partial, Execution::Queues] {
        let (program, value) = halves(execution, (2, 6));
        let (found, _) = fault(&program);
        let (reader, writer) = (StepId(1), StepId(2));
        assert_eq!(found, Fault::Race { reader, writer, value }, "{execution:?}");
        let (program, _) = halves(execution, (0, 4));
        assert!(plan(&program, &Options::default()).is_ok(), "{execution:?}");
    }
}

#[test]
fn a_step_does_not_read_what_it_writes_itself() {
    for execution in EXECUTIONS {
        let (mut program, value) = halves(execution, (0, 8));
        let late = program.steps[2].accesses.remove(0);
        program.steps[1].accesses.push(late);
        let (found, _) = fault(&program);
        let expected = Fault::ReadBeforeWrite { step: StepId(1), value, bytes: (4, 8) };
        assert_eq!(found, expected, "{execution:?}");
    }
}

#[test]
fn a_read_that_may_begin_early_finds_what_is_written_then() {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let (a, b) = (program.temporary(8), program.output(8));
    program.step(&[], &[a]);
    let reader = program.step(&[a], &[b]);
    assert_eq!(arena(&program), 64 + 8);
    program.access(reader, a, AccessKind::Read).from = Some(StepId(0));
    let expected = Fault::ReadBeforeWrite { step: reader, value: a, bytes: (0, 8) };
    assert_eq!(fault(&program).0, expected);
}

#[test]
fn a_write_that_begins_early_takes_what_was_there() {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let (a, b) = (program.temporary(8), program.output(8));
    let first = program.step(&[], &[a]);
    let reader = program.step(&[a], &[b]);
    let writer = program.step(&[], &[a]);
    assert_eq!(arena(&program), 64 + 8);
    program.access(writer, a, AccessKind::Write).from = Some(reader);
    let (found, words) = fault(&program);
    assert_eq!(found, Fault::Unfinished { reader, writer, value: a });
    assert_eq!(words, "step \"s1\" reads value \"v0\" before step \"s2\" has finished to write it");
    program.access(writer, a, AccessKind::Write).from = Some(first);
    assert_eq!(fault(&program).0, Fault::Unfinished { reader, writer, value: a });
}

#[test]
fn parts_that_cover_a_read_together_are_fine() {
    for execution in EXECUTIONS {
        let mut program = DeclaredProgram::new(execution);
        let (a, b) = (program.temporary(8), program.output(8));
        let half = program.view(a, 4, 4);
        let first = program.step(&[], &[]);
        let second = program.step(&[], &[half]);
        program.steps[first.index()].accesses.push(part(Access::write(a), 0, 4));
        let reader = program.step(&[a], &[b]);
        program.steps[reader.index()].after = vec![first, second];
        assert!(plan(&program, &Options::default()).is_ok(), "{execution:?}");
    }
}

#[test]
fn what_comes_from_outside_need_not_be_written() {
    for execution in EXECUTIONS {
        let states = [Storage::Persistent, Storage::External];
        let roles = [Role::Input, Role::Param, Role::Constant, Role::Static];
        let given = states.map(|storage| ValueInfo { storage, ..ValueInfo::new(8) });
        let given =
            given.into_iter().chain(roles.map(|role| ValueInfo { role, ..ValueInfo::new(8) }));
        for info in given {
            let mut program = DeclaredProgram::new(execution);
            let (a, b) = (program.add(info), program.output(8));
            let half = program.view(a, 4, 4);
            program.step(&[half], &[b]);
            assert!(plan(&program, &Options::default()).is_ok(), "{execution:?} {info:?}");
        }
    }
}

#[test]
fn an_output_that_must_overwrite_reads_its_input() {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let (a, b) = (program.temporary(8), program.output(8));
    let writer = program.step(&[], &[]);
    let step = program.step(&[], &[b]);
    program.overwrite(step, b, a, true);
    program.steps[writer.index()].accesses.push(part(Access::write(a), 0, 6));
    assert_eq!(fault(&program).0, Fault::NeverWritten { step, value: a, bytes: (6, 8) });
    program.steps[writer.index()].accesses.push(part(Access::write(a), 6, 8));
    assert_eq!(arena(&program), 8);
}

#[test]
fn two_steps_that_write_the_same_bytes_are_ordered() {
    let mut program = DeclaredProgram::new(Execution::Partial);
    let value = program.output(8);
    let steps = [program.step(&[], &[value]), program.step(&[], &[value])];
    let (found, words) = fault(&program);
    assert_eq!(found, Fault::WriteRace { steps, value });
    assert_eq!(
        words,
        "step \"s0\" and step \"s1\" both write value \"v0\", and neither waits for the other"
    );
    program.steps[1].after.push(steps[0]);
    assert_eq!(arena(&program), 8);
}

/// A state that must be overwritten by what a step makes.
fn changed_in_place(execution: Execution, storage: Storage) -> (DeclaredProgram, ValueId, ValueId) {
    let mut program = DeclaredProgram::new(execution);
    let state = program.add(ValueInfo { storage, ..ValueInfo::new(8) });
    let next = program.temporary(8);
    let step = program.step(&[], &[]);
    program.overwrite(step, next, state, true);
    (program, state, next)
}

#[test]
fn an_access_to_no_bytes_is_in_nobodys_way() {
    for execution in EXECUTIONS {
        for (storage, bytes) in [(Storage::External, 0), (Storage::Persistent, 8)] {
            let (mut program, _, next) = changed_in_place(execution, storage);
            program.steps[0].accesses.push(part(Access::read(next), 2, 2));
            assert_eq!(arena(&program), bytes, "{execution:?} {storage:?}");
        }
    }
}

#[test]
fn a_part_that_is_fetched_is_not_overwritten() {
    for execution in EXECUTIONS {
        let (mut program, state, next) = changed_in_place(execution, Storage::Persistent);
        assert!(plan(&program, &Options::default()).is_ok(), "{execution:?}");
        let half = program.view(state, 0, 4);
        program.values[half.index()].output = true;
        let expected = Fault::OverwriteImpossible { step: StepId(0), output: next, input: state };
        assert_eq!(fault(&program).0, expected, "{execution:?}");
    }
}
