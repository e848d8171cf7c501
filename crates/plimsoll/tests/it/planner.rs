//! A planner that is kept finds what one that is made anew for every program finds.

use plimsoll::testing::{Shape, chain, random_program};
use plimsoll::{DeclaredProgram, Execution, Options, Plan, PlanError, Planner, VerifiedPlan, plan};
use plimsoll_pack::testing::Rng;

/// What came of it, to be compared.
fn outcome(planned: Result<Plan, PlanError>) -> Result<Plan, String> {
    planned.map_err(|error| error.to_string())
}

fn options() -> Options {
    Options::default().with_work(0)
}

#[test]
fn a_planner_that_is_kept_finds_the_same_plans_and_errors() {
    let (mut planner, mut rng) = (Planner::default(), Rng::new(41));
    let (mut plans, mut errors) = (0, 0);
    for round in 0..600 {
        let shape = if round % 2 == 0 { Shape::plain() } else { Shape::everything() };
        let program = random_program(&mut rng, &shape);
        let anew = outcome(plan(&program, &options()).map(VerifiedPlan::into_plan));
        let kept = outcome(planner.plan(&program, &options()).map(VerifiedPlan::into_plan));
        assert_eq!(kept, anew, "round {round}: {program:?}");
        assert_eq!(outcome(planner.plan_unverified(&program, &options())), anew);
        if anew.is_ok() { plans += 1 } else { errors += 1 }
    }
    assert!(plans > 300 && errors > 10, "{plans} plans, {errors} errors");
}

#[test]
fn large_and_small_programs_follow_each_other() {
    let mut planner = Planner::default();
    for steps in [300, 3, 0, 120, 1] {
        for execution in [Execution::InOrder, Execution::Partial] {
            let program = chain(steps, execution);
            let kept = planner.plan(&program, &options()).expect("a plan");
            assert_eq!(kept, plan(&program, &options()).expect("a plan"), "{steps} steps");
        }
    }
    let nothing = DeclaredProgram::default();
    assert_eq!(planner.plan(&nothing, &options()).expect("a plan").arena_bytes(), 0);
}
