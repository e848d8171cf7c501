//! Advice for any program: each saving is what its plan shows.

use plimsoll::advise::{PlanAdvice, PlanChange, PlanRequest, advise};
use plimsoll::testing::{Shape, random_program};
use plimsoll::{Boundary, DeclaredProgram, Execution, Options, OrderEffort, Role, ValueInfo, plan};
use plimsoll_pack::testing::Rng;

fn as_given(options: Options) -> PlanRequest {
    PlanRequest { options, order: None }
}

fn savings(advice: &[PlanAdvice]) -> Vec<(PlanChange, u64)> {
    advice.iter().map(|one| (one.change, one.saved_bytes)).collect()
}

/// Two branches that are both begun before either is finished.
fn branches() -> DeclaredProgram {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let wide = [program.temporary(1024), program.temporary(1024)];
    let narrow = [program.temporary(64), program.temporary(64)];
    let sum = program.output(64);
    for wide in wide {
        program.step(&[], &[wide]);
    }
    for (wide, narrow) in wide.into_iter().zip(narrow) {
        program.step(&[wide], &[narrow]);
    }
    program.step(&narrow, &[sum]);
    program
}

#[test]
fn an_order_is_advised_with_what_its_plan_saves() {
    let program = branches();
    assert_eq!(plan(&program, &Options::default()).unwrap().arena_bytes(), 2112);
    let advice = advise(&program, &as_given(Options::default())).unwrap();
    assert_eq!(savings(&advice)[0], (PlanChange::Order, 2112 - 1152));
    assert_eq!(advice[0].plan.arena_bytes(), 1152);
    // What is searched for already is not advised.
    let request = PlanRequest { options: Options::default(), order: Some(OrderEffort::Default) };
    let advice = advise(&program, &request).unwrap();
    assert!(advice.iter().all(|one| one.change != PlanChange::Order));
}

#[test]
fn options_are_advised_where_they_save_something() {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let x = program.add(ValueInfo { role: Role::Input, ..ValueInfo::new(1000) });
    let hidden = program.temporary(1300);
    let y = program.output(1000);
    program.step(&[x], &[hidden]);
    let relu = program.step(&[hidden], &[y]);
    program.overwrite(relu, y, hidden, false);

    let place = Boundary { inputs: true, params: false, constants: false, outputs: true };
    let guards = Boundary { inputs: 0, params: 0, constants: 0, outputs: 256 };
    let options = Options::default().with_place(place).with_in_place(false);
    // The input of 1000 bytes, the hidden value of 1300 and the output of 1000, each at a multiple of 64.
    let advice = advised(&program, &options, 3348);
    let saved = |change: PlanChange| advice.iter().find(|a| a.change == change).unwrap();
    assert_eq!(saved(PlanChange::InPlace).saved_bytes, 1024);
    assert_eq!(saved(PlanChange::ReclaimInputs).saved_bytes, 1024);
    let outside = saved(PlanChange::OutputsOutside);
    assert_eq!((outside.saved_bytes, outside.elsewhere_bytes), (1024, 1000));
    let second = advice.last().unwrap();
    assert_eq!(second.change, PlanChange::SecondBank(3348 / 2));
    assert_eq!(second.elsewhere_bytes, second.plan.banks[1].bytes);

    let advice = advised(&program, &options.clone().with_guards(guards), 3604);
    assert!(savings(&advice).contains(&(PlanChange::NoGuards, 256)));
}

/// The advice for a program whose arena is known; each saving is the difference to the arena of its plan.
fn advised(program: &DeclaredProgram, options: &Options, before: u64) -> Vec<PlanAdvice> {
    assert_eq!(plan(program, options).unwrap().arena_bytes(), before);
    let advice = advise(program, &as_given(options.clone())).unwrap();
    for one in &advice {
        let arena = match one.change {
            PlanChange::SecondBank(_) => one.plan.banks[0].bytes,
            _ => one.plan.arena_bytes(),
        };
        assert_eq!(before - arena, one.saved_bytes, "{:?}", one.change);
        assert!(one.saved_bytes > 0, "{:?}", one.change);
    }
    advice
}

#[test]
fn a_program_without_steps_gets_no_advice() {
    let program = DeclaredProgram::new(Execution::InOrder);
    assert!(advise(&program, &as_given(Options::default())).unwrap().is_empty());
}

#[test]
fn no_advice_for_a_random_program_is_an_estimate() {
    let mut rng = Rng::new(3);
    let mut advised = 0;
    for _ in 0..300 {
        let program = random_program(&mut rng, &Shape::plain());
        let request = as_given(Options::default().with_work(0));
        let Ok(before) = request.plan(&program) else { continue };
        for one in advise(&program, &request).unwrap() {
            let again = one.request.plan(&program).unwrap();
            assert_eq!(again.banks, one.plan.banks);
            assert!(again.banks[0].bytes < before.arena_bytes());
            advised += 1;
        }
    }
    assert!(advised > 100, "{advised}");
}
