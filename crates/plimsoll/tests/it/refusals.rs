//! Programs and options that cannot be kept to: each is an error that says what is wrong.

use plimsoll::{
    Access, BankSpec, DeclaredProgram, Execution, Fault, NoShare, Options, OptionsError, PlanError,
    StepId, ValueId, plan,
};
use plimsoll_pack::Span;

/// x → y, of 64 bytes each.
fn two_steps() -> (DeclaredProgram, ValueId, ValueId) {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let (x, y) = (program.temporary(64), program.output(64));
    program.step(&[], &[x]);
    program.step(&[x], &[y]);
    (program, x, y)
}

fn refused(program: &DeclaredProgram, options: &Options) -> PlanError {
    plan(program, options).expect_err("it cannot be planned")
}

#[test]
fn an_alignment_is_at_least_1() {
    let (program, ..) = two_steps();
    let mut options = Options::default();
    options.align = 0;
    let error = refused(&program, &options);
    assert!(matches!(error, PlanError::Options(OptionsError::NoAlign)));
    assert_eq!(error.to_string(), "the alignment of offsets is 0: it is at least 1");
    let mut bank = BankSpec::new("sram");
    bank.align = Some(0);
    let mut options = Options::default();
    options.banks = vec![BankSpec::new("dram"), bank];
    let error = refused(&program, &options);
    assert_eq!(error.to_string(), "the alignment of bank \"sram\" is 0: it is at least 1");
}

#[test]
fn what_is_kept_from_sharing_exists() {
    let (program, x, _) = two_steps();
    let mut options = Options::default();
    options.no_share = NoShare::Values(vec![x, ValueId(7)]);
    let error = refused(&program, &options);
    assert_eq!(
        error.to_string(),
        format!("{} is to be kept from sharing, and does not exist", ValueId(7))
    );
}

#[test]
fn what_a_step_reads_twice_it_does_not_overwrite() {
    let (mut program, x, y) = two_steps();
    program.overwrite(StepId(1), y, x, false);
    let arena = |program: &DeclaredProgram| {
        plan(program, &Options::default()).map(|plan| plan.into_plan().banks[0].bytes)
    };
    assert_eq!(arena(&program).ok(), Some(64));
    // The two halves of it are one read.
    let half = |lo| Access { bytes: Some(Span::new(lo, lo + 32)), ..Access::read(x) };
    let mut halves = program.clone();
    halves.steps[1].accesses = vec![half(0), half(32), Access::write(y)];
    assert_eq!(arena(&halves).ok(), Some(64));
    for again in [Access::read(x), half(0)] {
        let mut twice = program.clone();
        twice.steps[1].accesses.push(again);
        let PlanError::Program(error) = refused(&twice, &Options::default()) else { panic!() };
        let step = StepId(1);
        assert_eq!(error.fault, Fault::OverwriteReadTwice { step, output: y, input: x });
        assert_eq!(
            error.to_string(),
            "step \"s1\": value \"v1\" cannot overwrite value \"v0\", which the step reads twice"
        );
    }
}
