//! Random programs with every feature of the model: planned, verified, and run by the oracle.

use std::ops::ControlFlow;

use plimsoll::testing::{Orders, Shape, corrupts, random_program};
use plimsoll::{
    DeclaredProgram, Execution, NoShare, Options, PlanError, Program, Recorded, SharedLayout,
    SharedSlot, StepId, Storage, ValueId, plan, plan_watched, write_plan,
};
use plimsoll_pack::Limit;
use plimsoll_pack::testing::Rng;

/// Options under which the shared values of a program are where somebody has put them.
fn options_for(program: &DeclaredProgram) -> Options {
    let mut layout = SharedLayout::default();
    for (index, info) in program.values.iter().enumerate() {
        if info.storage == Storage::Shared {
            let (bank, offset) = ("arena".to_owned(), 128 * index as u64);
            let slot = SharedSlot { bank, offset, bytes: info.bytes };
            layout.values.insert(format!("v{index}"), slot);
        }
    }
    let mut options = Options::default();
    options.shared = Some(layout);
    options.pack.work = Some(0);
    options
}

/// Random options that every program can be planned with.
fn random_options(rng: &mut Rng, program: &DeclaredProgram) -> Options {
    let mut options = options_for(program);
    options.align = [1, 1, 2, 4, 16][rng.below(5) as usize];
    options.place.inputs = rng.chance(60);
    options.place.params = rng.chance(60);
    options.place.constants = rng.chance(60);
    options.place.outputs = rng.chance(85);
    options.reclaim_inputs = rng.chance(40);
    options.in_place = rng.chance(85);
    if rng.chance(15) {
        options.guards.inputs = rng.below(3);
        options.guards.outputs = rng.below(3);
        options.min_slot = rng.below(4);
    }
    if rng.chance(10) {
        options.no_share = NoShare::Everything;
    }
    options
}

/// Plans, and expects that the verifier and the oracle have nothing to say.
fn planned(program: &DeclaredProgram, options: &Options, seed: u64) -> Option<u64> {
    match plan(program, options) {
        Ok(planned) => {
            assert!(!corrupts(program, &planned, Orders(40)), "seed {seed}: {program:?}");
            Some(planned.banks.iter().map(|bank| bank.bytes).sum())
        }
        // What is in a bank and must overwrite something outside, or the reverse, has no plan.
        Err(PlanError::Program(error)) => {
            let message = error.to_string();
            assert!(message.contains("must overwrite"), "seed {seed}: {message}\n{program:?}");
            None
        }
        Err(error) => panic!("seed {seed}: {error}\n{program:?}"),
    }
}

fn plan_many(shape: &Shape, cases: u64, first_seed: u64) {
    let mut without_plan = 0;
    for seed in first_seed..first_seed + cases {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, shape);
        let options = random_options(&mut rng, &program);
        without_plan += u64::from(planned(&program, &options, seed).is_none());
    }
    assert!(without_plan * 5 < cases, "{without_plan} of {cases} programs have no plan");
}

#[test]
fn programs_with_every_feature_are_planned_and_never_corrupt() {
    plan_many(&Shape::everything(), 20_000, 0);
}

#[test]
fn programs_in_order_are_planned_and_never_corrupt() {
    let shape = Shape { execution: Some(Execution::InOrder), ..Shape::everything() };
    // Fewer values of storage of their own: one that must be changed in place leaves no plan.
    plan_many(&Shape { steps: 5..30, sizes: 1..40, storage: 12, ..shape }, 5_000, 1_000_000);
}

#[test]
fn partial_orders_and_queues_are_planned_and_never_corrupt() {
    for (execution, seed) in [(Execution::Partial, 2_000_000), (Execution::Queues, 3_000_000)] {
        let shape = Shape { execution: Some(execution), ..Shape::everything() };
        plan_many(&shape, 5_000, seed);
    }
}

#[test]
fn in_place_never_makes_the_arena_larger() {
    for seed in 0..2_000 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, &Shape { steps: 3..15, ..Shape::everything() });
        let mut options = options_for(&program);
        options.align = 1;
        let Some(with) = planned(&program, &options, seed) else { continue };
        options.in_place = false;
        let Some(without) = planned(&program, &options, seed) else { continue };
        assert!(with <= without, "seed {seed}: {with} with, {without} without\n{program:?}");
    }
}

#[test]
fn with_search_plans_are_verified_too_and_never_larger() {
    for seed in 0..150 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, &Shape { sizes: 1..40, ..Shape::everything() });
        let mut options = options_for(&program);
        let Some(fast) = planned(&program, &options, seed) else { continue };
        options.pack.work = Some(1_000_000);
        let Some(searched) = planned(&program, &options, seed) else { continue };
        assert!(searched <= fast, "seed {seed}: {searched} with search, {fast} without");
    }
}

#[test]
fn a_watched_plan_is_the_same_and_a_stopped_one_is_still_right() {
    let mut stopped = 0;
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, &Shape { sizes: 1..40, ..Shape::everything() });
        let mut options = options_for(&program);
        options.pack.work = Some(100_000);
        let Ok(alone) = plan(&program, &options) else { continue };
        let mut told = 0;
        let watched = plan_watched(&program, &options, &mut |_| {
            told += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(*watched.expect("as before"), *alone, "seed {seed}");
        assert!(told > 0, "seed {seed}");

        let cut = plan_watched(&program, &options, &mut |_| ControlFlow::Break(()));
        let cut = cut.expect("the first rule alone gives a plan");
        assert!(!corrupts(&program, &cut, Orders(40)), "seed {seed}: {program:?}");
        assert_eq!(cut.derivation.limit, Some(Limit::Stopped), "seed {seed}");
        stopped += 1;
        let json = write_plan(&program, &cut, Recorded::new(), Recorded::new());
        assert!(json.contains("\"limit\": \"time\",\n  \"reproducible\": false,"), "{json}");
        assert!(
            !write_plan(&program, &alone, Recorded::new(), Recorded::new())
                .contains("reproducible")
        );
    }
    assert!(stopped > 150, "{stopped}");
}

/// A program that is called by other names, whose ids stay the same.
struct Renamed<'p>(&'p DeclaredProgram);

impl Program for Renamed<'_> {
    fn steps(&self) -> usize {
        self.0.steps()
    }
    fn values(&self) -> usize {
        self.0.values()
    }
    fn value(&self, value: ValueId) -> plimsoll::ValueInfo {
        self.0.value(value)
    }
    fn accesses(&self, step: StepId) -> std::borrow::Cow<'_, [plimsoll::Access]> {
        self.0.accesses(step)
    }
    fn overwrites(&self, step: StepId) -> std::borrow::Cow<'_, [plimsoll::Overwrite]> {
        self.0.overwrites(step)
    }
    fn scratch(&self, step: StepId) -> Option<plimsoll::Scratch> {
        self.0.scratch(step)
    }
    fn execution(&self) -> Execution {
        self.0.execution()
    }
    fn queue(&self, step: StepId) -> u32 {
        self.0.queue(step)
    }
    fn after(&self, step: StepId) -> std::borrow::Cow<'_, [StepId]> {
        self.0.after(step)
    }
    fn value_name(&self, value: ValueId) -> std::borrow::Cow<'_, str> {
        format!("LayerNorm/{}\u{1b}[31m", 1000 - value.0).into()
    }
    fn step_name(&self, _step: StepId) -> std::borrow::Cow<'_, str> {
        "all the same".into()
    }
}

#[test]
fn names_never_matter() {
    for seed in 0..1_000 {
        let mut rng = Rng::new(seed);
        let mut program = random_program(&mut rng, &Shape::everything());
        // Shared values are found by name: the one thing that names are for.
        for info in &mut program.values {
            info.storage =
                if info.storage == Storage::Shared { Storage::Persistent } else { info.storage };
        }
        let options = random_options(&mut rng, &program);
        match (plan(&program, &options), plan(&Renamed(&program), &options)) {
            (Ok(one), Ok(other)) => assert_eq!(one, other, "seed {seed}"),
            (Err(PlanError::Program(one)), Err(PlanError::Program(other))) => {
                assert_eq!(one.fault, other.fault, "seed {seed}");
            }
            (one, other) => panic!("seed {seed}: {one:?} but {other:?}"),
        }
    }
}
