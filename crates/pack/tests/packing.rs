//! Every rule against brute force on small problems, and what must not change when a problem is
//! renamed, permuted, scaled or reversed.

use plimsoll_pack::testing::{
    Rng, Shape, brute_force, permuted, random_problem, reversed, scaled, training_like,
    with_random_conflicts,
};
use plimsoll_pack::{
    Algorithm, Buffer, BufferId, Claim, Effort, Life, Options, Outcome, Problem, Reason, Status,
    Sweep, bound, check, check_plain, csv, solve,
};

fn with(algorithm: Algorithm) -> Options {
    let mut options = Options::default();
    options.algorithms = vec![algorithm];
    options
}

/// The problem as CSV, so that a failing case can be pasted into a file.
fn shown(problem: &Problem) -> String {
    let ids = (0..problem.len()).map(|i| i.to_string()).collect();
    let mut text = Vec::new();
    csv::write_problem(&mut text, &csv::Table { ids, problem: problem.clone() })
        .expect("to memory");
    String::from_utf8(text).expect("text")
}

fn bound_of(problem: &Problem) -> u64 {
    bound(problem, &Sweep::new(problem)).bytes
}

fn assert_valid(problem: &Problem, outcome: &Outcome) {
    let solution = outcome.solution.as_ref().expect("nothing is fixed over another");
    assert_eq!(check_plain(problem, &solution.into()), [], "{}", shown(problem));
    assert_eq!(solution.arena_bytes(problem), outcome.arena_bytes);
}

#[test]
fn every_rule_is_valid_and_between_the_bound_and_nothing_better_than_brute_force() {
    let mut rng = Rng::new(1);
    let shapes = [
        Shape::plain(),
        Shape { aligned: 60, ..Shape::plain() },
        Shape { fixed: 30, ..Shape::plain() },
        Shape { gapped: 60, ..Shape::plain() },
        Shape { sizes: 1..6, ..Shape::everything() },
    ];
    let mut optimal = 0;
    for shape in shapes.iter().cycle().take(1500) {
        let problem = random_problem(&mut rng, shape);
        let best = brute_force(&problem);
        let lower = bound_of(&problem);
        assert!(lower <= best, "bound {lower}, optimum {best}\n{}", shown(&problem));
        for algorithm in Algorithm::all() {
            let outcome = solve(&problem, &with(algorithm));
            assert_valid(&problem, &outcome);
            assert!(outcome.arena_bytes >= best, "{algorithm}\n{}", shown(&problem));
            let proven = outcome.status == Status::Optimal;
            assert_eq!(proven, outcome.arena_bytes == lower);
            optimal += usize::from(proven);
        }
        let portfolio = solve(&problem, &Options::default());
        let won_by = portfolio.won_by.expect("somebody won");
        assert_eq!(solve(&problem, &with(won_by)).arena_bytes, portfolio.arena_bytes);
        assert!(portfolio.status != Status::Optimal || portfolio.arena_bytes == best);
    }
    assert!(optimal > 10_000, "only {optimal} answers met the bound");
}

#[test]
fn the_portfolio_is_the_best_of_its_rules_and_the_earliest_on_a_tie() {
    let mut rng = Rng::new(2);
    let shape = Shape { buffers: 15..40, times: 30, sizes: 1..60, ..Shape::everything() };
    for _ in 0..100 {
        let problem = random_problem(&mut rng, &shape);
        let rules: Vec<_> =
            Algorithm::portfolio().into_iter().filter(|a| *a != Algorithm::Hinted).collect();
        let arenas: Vec<_> = rules.iter().map(|a| solve(&problem, &with(*a)).arena_bytes).collect();
        let least = arenas.iter().min().expect("some rules");
        let first = arenas.iter().position(|a| a == least).expect("the least is one of them");
        let mut options = Options::default();
        options.effort = Effort::Fast;
        let portfolio = solve(&problem, &options);
        assert_eq!(portfolio.arena_bytes, *least);
        assert_eq!(portfolio.won_by, Some(rules[first]));
    }
}

#[test]
fn the_bound_does_not_depend_on_order_scale_or_the_direction_of_time() {
    let mut rng = Rng::new(3);
    let shape = Shape { buffers: 1..30, times: 20, ..Shape::everything() };
    for _ in 0..500 {
        let problem = random_problem(&mut rng, &shape);
        let lower = bound_of(&problem);
        let mut ids: Vec<BufferId> = problem.ids().collect();
        rng.shuffle(&mut ids);
        assert_eq!(bound_of(&permuted(&problem, &ids)), lower, "{}", shown(&problem));
        assert_eq!(bound_of(&scaled(&problem, 7)), 7 * lower, "{}", shown(&problem));
        assert_eq!(bound_of(&reversed(&problem)), lower, "{}", shown(&problem));
    }
}

#[test]
fn scaling_scales_the_answer_and_sparse_times_change_nothing() {
    let mut rng = Rng::new(4);
    let shape = Shape { buffers: 1..30, times: 20, ..Shape::everything() };
    for _ in 0..200 {
        let problem = random_problem(&mut rng, &shape);
        let mut options = Options::default();
        options.work = Some(500_000);
        let solution = |p: &Problem| solve(p, &options).solution.expect("feasible");
        let offsets = solution(&problem);
        let larger: Vec<u64> = offsets.offsets().iter().map(|o| o * 5).collect();
        assert_eq!(solution(&scaled(&problem, 5)).offsets(), larger);
        let mut later = problem.buffers().to_vec();
        let shift = |life: Life| Life::new(life.start + 1_000_000, life.end + 1_000_000);
        for buffer in &mut later {
            buffer.life = shift(buffer.life);
            buffer.gaps.iter_mut().for_each(|g| g.life = shift(g.life));
        }
        assert_eq!(solution(&Problem::new(later).expect("valid")), offsets);
    }
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    let mut rng = Rng::new(5);
    let shape = Shape { buffers: 20..60, times: 40, sizes: 1..100, ..Shape::everything() };
    for _ in 0..40 {
        let problem = random_problem(&mut rng, &shape);
        let mut options = Options::default();
        options.work = Some(500_000);
        let one = solve(&problem, &options);
        for threads in [2, 3, 16] {
            let mut options = options.clone();
            options.threads = threads;
            let many = solve(&problem, &options);
            assert_eq!(many.solution, one.solution);
            assert_eq!((many.won_by, many.work), (one.won_by, one.work));
        }
    }
}

#[test]
fn hints_that_are_free_are_kept() {
    let hinted = |size, start, end, hint| Buffer {
        hint: Some(hint),
        ..Buffer::new(size, Life::new(start, end))
    };
    // The second and third trade places compared with what any rule would do on its own.
    let buffers = vec![hinted(8, 0, 2, 16), hinted(16, 0, 2, 0), hinted(4, 2, 3, 20)];
    let problem = Problem::new(buffers).expect("valid");
    let outcome = solve(&problem, &Options::default());
    assert_eq!(outcome.won_by, Some(Algorithm::Hinted));
    assert_eq!(outcome.solution.expect("feasible").offsets(), [16, 0, 20]);
    // A hint that is taken, misaligned or beyond all bounds is not kept.
    let buffers = vec![
        hinted(8, 0, 2, 0),
        hinted(8, 0, 2, 4),
        hinted(8, 0, 2, 17).aligned(2),
        hinted(8, 0, 2, u64::MAX),
    ];
    let problem = Problem::new(buffers).expect("valid");
    let outcome = solve(&problem, &with(Algorithm::Hinted));
    assert_valid(&problem, &outcome);
    assert_eq!(outcome.arena_bytes, 32);
}

#[test]
fn infeasible_says_why() {
    let life = Life::new(3, 7);
    let fixed = |offset| Buffer::new(8, life).fixed_at(offset);
    let problem = Problem::new(vec![fixed(0), fixed(8), fixed(12)]).expect("valid");
    let outcome = solve(&problem, &Options::default());
    let (a, b) = (BufferId(1), BufferId(2));
    assert_eq!(outcome.status, Status::Infeasible(Reason::FixedOverlap { a, b }));
    assert!(outcome.solution.is_none() && !outcome.fits(&problem));

    let problem = Problem::new(vec![Buffer::new(8, life), Buffer::new(8, life)]).expect("valid");
    let tight = problem.clone().with_capacity(Some(15));
    let outcome = solve(&tight, &Options::default());
    let Status::Infeasible(reason) = &outcome.status else { panic!("{:?}", outcome.status) };
    assert_eq!(
        reason.to_string(),
        "at least 16 bytes are needed (the bytes alive together at [3, 7)), and only 15 are allowed"
    );
    assert!(!outcome.fits(&tight));
    let enough = problem.with_capacity(Some(16));
    let outcome = solve(&enough, &Options::default());
    assert_eq!(outcome.status, Status::Optimal);
    assert!(outcome.fits(&enough));
}

#[test]
fn nothing_to_place_takes_no_bytes() {
    let problem = Problem::new(Vec::new()).expect("valid");
    let outcome = solve(&problem, &Options::default());
    assert_eq!((outcome.arena_bytes, outcome.status), (0, Status::Optimal));
    assert_eq!(check(&problem, &Claim::default()), []);
}

/// All alive together, all alive after one another, and a staircase: the shapes on which a list of
/// conflicting pairs has n² entries.
#[test]
fn dense_conflicts_are_packed_without_listing_them() {
    const N: u32 = 50_000;
    let buffer = |start: u32, end: u32| Buffer::new(3, Life::new(start.into(), end.into()));
    let staircase = (0..N).map(|i| buffer(i, N)).collect();
    let together = (0..N).map(|_| buffer(0, 1)).collect();
    let one_by_one = (0..N).map(|i| buffer(i, i + 1)).collect();
    for (buffers, arena) in [(staircase, 3 * N), (together, 3 * N), (one_by_one, 3)] {
        let problem = Problem::new(buffers).expect("valid");
        for algorithm in Algorithm::all() {
            let outcome = solve(&problem, &with(algorithm));
            assert_eq!(outcome.arena_bytes, u64::from(arena), "{algorithm}");
            assert!(outcome.work < 200 * u64::from(N), "{algorithm}: {}", outcome.work);
        }
    }
}

#[test]
fn a_hundred_thousand_buffers_are_packed_within_a_percent_and_checked() {
    let problem = training_like(100_000, 1);
    let outcome = solve(&problem, &with(Algorithm::LargestFirst));
    let solution = outcome.solution.as_ref().expect("feasible");
    assert_eq!(check(&problem, &solution.into()), []);
    let percent = outcome.arena_bytes * 100 / outcome.lower_bound.bytes;
    assert_eq!(percent, 100, "{} of {}", outcome.arena_bytes, outcome.lower_bound.bytes);
}

#[test]
fn pairs_that_are_kept_apart_are_respected_by_every_rule() {
    let mut rng = Rng::new(6);
    let shapes = [Shape::plain(), Shape { aligned: 30, gapped: 40, ..Shape::plain() }];
    let mut mattered = 0;
    for shape in shapes.iter().cycle().take(600) {
        let lives_only = random_problem(&mut rng, shape);
        let problem = with_random_conflicts(&mut rng, &lives_only, 40);
        let best = brute_force(&problem);
        mattered += usize::from(best > brute_force(&lives_only));
        assert!(bound_of(&problem) <= best);
        for algorithm in Algorithm::all() {
            let outcome = solve(&problem, &with(algorithm));
            assert_valid(&problem, &outcome);
            assert!(outcome.arena_bytes >= best);
        }
        let solution = solve(&lives_only, &Options::default()).solution.expect("feasible");
        let claim = (&solution).into();
        assert_eq!(check(&problem, &claim), check_plain(&problem, &claim));
    }
    assert!(mattered > 200, "the pairs made a difference in {mattered} problems only");
}
