//! The planner against every placement there is, on small programs: none that the verifier accepts
//! is smaller.

use plimsoll::testing::{Shape, plan_at, random_program};
use plimsoll::verify::violations;
use plimsoll::{DeclaredProgram, Execution, Options, plan};
use plimsoll_pack::testing::Rng;

/// More placements than this are not tried.
const MOST: u64 = 5_000;

fn planned_bytes(program: &DeclaredProgram) -> u64 {
    let mut options = Options::default();
    options.align = 1;
    let planned = plan(program, &options).unwrap_or_else(|error| panic!("{error}\n{program:?}"));
    planned.banks[0].bytes
}

/// How large the things are that a plan of the program places.
fn sizes(program: &DeclaredProgram) -> Vec<u64> {
    let mut sizes = Vec::new();
    let _ = plan_at(program, 1, |_, bytes, _| {
        sizes.push(bytes);
        0
    });
    sizes
}

/// Whether some placement within `arena` bytes is right; `None` if there are too many to try.
fn fits(program: &DeclaredProgram, arena: u64) -> Option<bool> {
    let sizes = sizes(program);
    if sizes.iter().any(|bytes| *bytes > arena) {
        return Some(false);
    }
    let choices: Vec<u64> = sizes.iter().map(|bytes| arena - bytes + 1).collect();
    let all = choices.iter().try_fold(1u64, |all, n| all.checked_mul(*n)).filter(|n| *n <= MOST)?;
    Some((0..all).any(|number| {
        let mut left = number;
        let mut thing = 0;
        let tried = plan_at(program, 1, |_, _, _| {
            let offset = left % choices[thing];
            left /= choices[thing];
            thing += 1;
            offset
        });
        tried.banks[0].bytes <= arena && violations(program, &tried).is_empty()
    }))
}

#[test]
fn no_placement_is_smaller_where_steps_run_in_order() {
    let shape = Shape { steps: 2..6, given: 0..1, windows: 20, scratch: 30, ..Shape::plain() };
    let (mut tried, mut shared) = (0, 0);
    for seed in 0..900 {
        let program = random_program(&mut Rng::new(seed), &shape);
        let arena = planned_bytes(&program);
        let Some(smaller) = arena.checked_sub(1).and_then(|less| fits(&program, less)) else {
            continue;
        };
        assert!(!smaller, "seed {seed}: {arena} bytes, but fewer are enough\n{program:?}");
        assert!(fits(&program, arena).unwrap_or(true), "seed {seed}: nor are {arena} enough");
        tried += 1;
        shared += u32::from(arena < sizes(&program).iter().sum());
    }
    assert!(tried > 250 && shared > 60, "only {tried} were tried, {shared} shared anything");
}

#[test]
fn no_plan_is_below_what_the_verifier_allows_out_of_order() {
    for execution in [Execution::Partial, Execution::Queues] {
        let shape =
            Shape { execution: Some(execution), steps: 2..5, given: 0..1, ..Shape::plain() };
        let (mut tried, mut least) = (0, 0);
        for seed in 0..400 {
            let program = random_program(&mut Rng::new(seed), &shape);
            let arena = planned_bytes(&program);
            let Some(smaller) = arena.checked_sub(1).and_then(|less| fits(&program, less)) else {
                continue;
            };
            tried += 1;
            least += u32::from(!smaller);
        }
        // There the rules alone pack, and almost always that is enough.
        assert!(tried > 120 && least * 100 >= tried * 98, "{least} of {tried} are least");
    }
}
