//! Repair against the oracles, on random problems and on bands.

use super::*;
use crate::algorithm::{Algorithm, Limits};
use crate::bound::bound;
use crate::check::check;
use crate::solve::{Options, solve};
use crate::testing::{Rng, Shape, brute_force, in_bands, random_problem};
use crate::watch::nobody;

fn repaired(problem: &Problem, given: &Solution, goal: u64, work: u64) -> Repaired {
    let sweep = Sweep::new(problem);
    repair(problem, &sweep, given, goal, work, &mut Watched::new(&mut nobody, goal))
}

fn largest_first(problem: &Problem) -> Solution {
    let packing = Algorithm::LargestFirst.pack(problem, &Sweep::new(problem), Limits::none());
    packing.solution.expect("there is no limit")
}

#[test]
fn every_packing_is_valid_and_never_higher() {
    let mut rng = Rng::new(71);
    let mut lower = 0;
    for _ in 0..300 {
        let problem = random_problem(&mut rng, &Shape::everything());
        let goal = bound(&problem, &Sweep::new(&problem)).bytes;
        let given = largest_first(&problem);
        if !check(&problem, &(&given).into()).is_empty() {
            continue;
        }
        let found = repaired(&problem, &given, goal, 1_000_000);
        assert_eq!(check(&problem, &(&found.solution).into()), []);
        let [before, after] = [&given, &found.solution].map(|s| s.arena_bytes(&problem));
        assert!(after <= before);
        lower += u32::from(after < before);
    }
    assert!(lower > 20, "{lower}");
}

#[test]
fn small_problems_nearly_always_end_at_the_optimum() {
    let mut rng = Rng::new(72);
    let mut missed = 0;
    for _ in 0..100 {
        let problem = random_problem(&mut rng, &Shape { buffers: 4..8, ..Shape::plain() });
        let least = brute_force(&problem);
        let found = repaired(&problem, &largest_first(&problem), least, 1_000_000);
        missed += u32::from(found.solution.arena_bytes(&problem) > least);
    }
    assert_eq!(missed, 0);
}

#[test]
fn bands_end_within_two_percent_of_the_bound() {
    let problem = in_bands(24, 12, 5);
    let load = bound(&problem, &Sweep::new(&problem)).bytes;
    let mut options = Options::default();
    let best = solve(&problem, &options);
    options.work = Some(0);
    let rules = solve(&problem, &options);
    assert!(rules.arena_bytes * 100 > load * 104, "{} of {load}", rules.arena_bytes);
    assert!(best.arena_bytes * 100 <= load * 102, "{} of {load}", best.arena_bytes);
}

#[test]
fn without_work_nothing_changes() {
    let problem = in_bands(6, 6, 1);
    let given = largest_first(&problem);
    let found = repaired(&problem, &given, 1, 0);
    assert_eq!(found.solution, given);
}
