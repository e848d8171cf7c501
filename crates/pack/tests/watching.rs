//! Watching a solve: what is told, that it changes nothing, and what a stop leaves.

use std::ops::ControlFlow;

use plimsoll_pack::testing::{Rng, Shape, perfect, random_problem, training_like};
use plimsoll_pack::{
    Algorithm, Limit, Options, Outcome, Problem, Progress, check, solve, solve_watched,
};

fn with(threads: usize, work: u64) -> Options {
    let mut options = Options::default();
    options.threads = threads;
    options.work = Some(work);
    options
}

/// Problems that the rules alone do not settle, and some that they do.
fn problems() -> Vec<Problem> {
    let mut rng = Rng::new(31);
    let shape = Shape { buffers: 20..40, sizes: 1..30, ..Shape::plain() };
    let mut problems: Vec<_> = (0..10).map(|_| random_problem(&mut rng, &shape)).collect();
    problems.extend([perfect(&mut rng, 80, 30, 5000), training_like(500, 2)]);
    problems
}

/// What is told until the watcher has had enough, and what comes of it.
fn watched(problem: &Problem, options: &Options, most: usize) -> (Vec<Progress>, Outcome) {
    let mut told = Vec::new();
    let outcome = solve_watched(problem, options, &mut |progress| {
        told.push(*progress);
        if told.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    (told, outcome)
}

#[test]
fn watching_changes_nothing_and_what_is_told_only_gets_better() {
    for problem in problems() {
        let [one, four] = [1, 4].map(|threads| {
            let options = with(threads, 3_000_000);
            let (told, outcome) = watched(&problem, &options, usize::MAX);
            assert_eq!(format!("{outcome:?}"), format!("{:?}", solve(&problem, &options)));
            for pair in told.windows(2) {
                assert!(pair[1].arena_bytes <= pair[0].arena_bytes);
                assert!(pair[1].lower_bound_bytes >= pair[0].lower_bound_bytes);
                assert!(pair[1].work >= pair[0].work);
            }
            let last = told.last().expect("told at least once");
            assert_eq!(last.arena_bytes, outcome.arena_bytes);
            assert_eq!(last.lower_bound_bytes, outcome.lower_bound.bytes);
            told
        });
        assert_eq!(one, four);
    }
}

#[test]
fn a_search_tells_every_so_often() {
    let problem = perfect(&mut Rng::new(5), 900, 60, 100_000);
    let (told, outcome) = watched(&problem, &with(1, 20_000_000), usize::MAX);
    assert_eq!(outcome.limit, Some(Limit::Work));
    let longest = told.windows(2).map(|pair| pair[1].work - pair[0].work).max();
    assert!(longest.expect("told often") < 2_000_000, "{longest:?}");
    assert!(told.len() >= 20, "{} times", told.len());
}

#[test]
fn a_stop_leaves_the_best_so_far_whatever_the_threads() {
    let problem = perfect(&mut Rng::new(5), 200, 60, 100_000);
    for most in [1, 2, 9, 20, 40] {
        let [one, four] = [1, 4].map(|threads| {
            let (told, outcome) = watched(&problem, &with(threads, 50_000_000), most);
            assert_eq!(told.len(), most);
            assert_eq!(outcome.limit, Some(Limit::Stopped));
            let solution = outcome.solution.as_ref().expect("the first packing is finished");
            assert_eq!(check(&problem, &solution.into()), []);
            let last = told.last().expect("told");
            assert_eq!((outcome.arena_bytes, outcome.work), (last.arena_bytes, last.work));
            (told, outcome.solution)
        });
        assert_eq!(one, four);
    }
}

#[test]
fn who_stops_at_once_gets_the_first_rule() {
    let problem = training_like(500, 2);
    let (_, outcome) = watched(&problem, &Options::default(), 1);
    assert_eq!(outcome.won_by, Some(Algorithm::LargestFirst));
    let mut alone = Options::default();
    alone.algorithms = vec![Algorithm::LargestFirst];
    assert_eq!(outcome.solution, solve(&problem, &alone).solution);
}

#[test]
fn search_by_name_can_be_watched_and_keeps_to_its_effort() {
    let problem = perfect(&mut Rng::new(5), 900, 60, 100_000);
    let mut options = with(1, 5_000_000);
    options.algorithms = vec![Algorithm::Search];
    let (told, outcome) = watched(&problem, &options, usize::MAX);
    assert_eq!(outcome.limit, Some(Limit::Work));
    assert!((5_000_000..6_000_000).contains(&outcome.work), "{}", outcome.work);
    assert!(told.len() >= 5, "{} times", told.len());
    assert_eq!(watched(&problem, &options, 3).1.limit, Some(Limit::Stopped));
    options.algorithms = vec![Algorithm::Reordering];
    let outcome = solve(&problem, &options);
    assert_eq!((outcome.won_by, outcome.limit), (Some(Algorithm::Reordering), Some(Limit::Rules)));
}
