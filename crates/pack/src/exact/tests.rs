//! Every rule switched on and off against brute force, and what must not change the optimum.

use super::*;
use crate::check::check;
use crate::problem::{Buffer, BufferId, Life};
use crate::testing::{
    Rng, Shape, brute_force, permuted, random_problem, reversed, scaled, with_random_conflicts,
};

/// All combinations of the switches.
fn all_options() -> impl Iterator<Item = Options> {
    (0..256u32).map(|bits| {
        let on = |bit: u32| bits >> bit & 1 == 1;
        Options {
            not_first: on(0),
            blocked: on(1),
            split: on(2),
            nogoods: on(3),
            jump: on(4),
            twins: on(5),
            learn: on(6),
            restarts: on(7),
            work: u64::MAX,
        }
    })
}

fn shapes() -> [Shape; 4] {
    let plain = Shape { buffers: 1..8, ..Shape::plain() };
    [
        plain.clone(),
        // Many equal buffers, and more of them at once.
        Shape { sizes: 1..3, times: 5, ..plain.clone() },
        Shape { sizes: 2..6, times: 4, ..plain.clone() },
        Shape { aligned: 40, buffers: 1..7, ..plain },
    ]
}

fn minimum(problem: &Problem, options: &Options) -> Minimum {
    let found = minimise(problem, &Sweep::new(problem), None, options);
    let solution = found.solution.as_ref().expect("there is always one");
    assert_eq!(check(problem, &solution.into()), []);
    assert!(found.optimal, "{found:?}");
    assert_eq!(solution.arena_bytes(problem), found.lower_bound);
    found
}

#[test]
fn every_combination_of_rules_finds_the_optimum() {
    let mut rng = Rng::new(3);
    for shape in shapes() {
        for _ in 0..10 {
            let problem = random_problem(&mut rng, &shape);
            let best = brute_force(&problem);
            for options in all_options() {
                let found = minimum(&problem, &options);
                assert_eq!(found.lower_bound, best, "{options:?}\n{problem:?}");
            }
        }
    }
}

#[test]
fn all_rules_and_each_one_off_on_many_problems() {
    let mut rng = Rng::new(4);
    let few: Vec<Options> = all_options()
        .enumerate()
        .filter(|(bits, _)| (*bits as u32).count_ones() >= 7)
        .map(|(_, o)| o)
        .collect();
    for shape in shapes() {
        for _ in 0..80 {
            let problem = random_problem(&mut rng, &shape);
            let best = brute_force(&problem);
            for options in &few {
                assert_eq!(
                    minimum(&problem, options).lower_bound,
                    best,
                    "{options:?}\n{problem:?}"
                );
            }
        }
    }
}

/// Small problems with everything that there is, and pairs kept apart in every other one.
fn everything(rng: &mut Rng, buffers: std::ops::Range<u64>) -> Problem {
    let shapes = [
        Shape { gapped: 60, ..Shape::plain() },
        Shape { gapped: 50, aligned: 40, ..Shape::plain() },
        Shape { fixed: 30, ..Shape::plain() },
        Shape { sizes: 1..5, times: 6, ..Shape::everything() },
        Shape::plain(),
    ];
    let shape = Shape { buffers, ..shapes[rng.below(5) as usize].clone() };
    let problem = random_problem(rng, &shape);
    if rng.chance(50) { with_random_conflicts(rng, &problem, 30) } else { problem }
}

#[test]
fn every_combination_of_rules_finds_the_optimum_with_gaps_fixed_offsets_and_pairs_kept_apart() {
    let mut rng = Rng::new(11);
    for _ in 0..40 {
        let problem = everything(&mut rng, 1..6);
        if crate::bound::bound(&problem, &Sweep::new(&problem)).bytes == 0
            || !instance_is_there(&problem)
        {
            continue;
        }
        let best = brute_force(&problem);
        for options in all_options() {
            let found = minimum(&problem, &options);
            assert_eq!(found.lower_bound, best, "{options:?}\n{problem:?}");
        }
    }
}

/// Not where pairs that are kept apart are fixed over each other.
fn instance_is_there(problem: &Problem) -> bool {
    Instance::new(problem, &Sweep::new(problem)).is_some()
}

#[test]
fn all_rules_find_the_optimum_of_many_problems_with_everything() {
    let mut rng = Rng::new(12);
    let mut asked = 0;
    for _ in 0..1500 {
        let problem = everything(&mut rng, 1..7);
        if instance_is_there(&problem) {
            let best = brute_force(&problem);
            assert_eq!(minimum(&problem, &Options::default()).lower_bound, best, "{problem:?}");
            asked += 1;
        }
    }
    assert!(asked > 1400, "{asked}");
}

#[test]
fn larger_problems_agree_between_rules() {
    let mut rng = Rng::new(5);
    let shape = Shape { buffers: 12..22, times: 9, sizes: 1..12, ..Shape::plain() };
    let plain = Options { jump: false, nogoods: false, not_first: false, ..Options::default() };
    for _ in 0..100 {
        let problem = random_problem(&mut rng, &shape);
        let found = minimum(&problem, &Options::default());
        let slow = Options { work: 1_000_000, ..plain.clone() };
        let other = minimise(&problem, &Sweep::new(&problem), None, &slow);
        assert!(other.lower_bound <= found.lower_bound);
        assert!(!other.optimal || other.lower_bound == found.lower_bound);
    }
}

#[test]
fn permuted_reversed_and_scaled_problems_have_the_same_optimum() {
    let mut rng = Rng::new(6);
    let shape = Shape { buffers: 8..16, times: 8, sizes: 1..9, ..Shape::plain() };
    for _ in 0..100 {
        let problem = random_problem(&mut rng, &shape);
        let options = Options::default();
        let best = minimum(&problem, &options).lower_bound;
        let mut ids: Vec<_> = problem.ids().collect();
        rng.shuffle(&mut ids);
        assert_eq!(minimum(&permuted(&problem, &ids), &options).lower_bound, best);
        assert_eq!(minimum(&reversed(&problem), &options).lower_bound, best);
        assert_eq!(minimum(&scaled(&problem, 3), &options).lower_bound, 3 * best);
    }
}

#[test]
fn decisions_agree_with_brute_force_just_below_and_at_the_optimum() {
    let mut rng = Rng::new(7);
    for _ in 0..150 {
        let problem = random_problem(&mut rng, &Shape::plain());
        let sweep = Sweep::new(&problem);
        let best = brute_force(&problem);
        let ask = |capacity| decide(&problem, &sweep, capacity, &Options::default()).verdict;
        assert_eq!(ask(best - 1), Verdict::Never);
        let Verdict::Fits(solution) = ask(best) else { panic!("it fits") };
        assert_eq!(check(&problem, &(&solution).into()), []);
        assert!(solution.arena_bytes(&problem) <= best);
    }
}

#[test]
fn the_same_question_gets_the_same_answer() {
    let mut rng = Rng::new(8);
    let shape = Shape { buffers: 30..40, times: 12, sizes: 1..40, ..Shape::plain() };
    for _ in 0..20 {
        let problem = random_problem(&mut rng, &shape);
        let options = Options { work: 300_000, ..Options::default() };
        let sweep = Sweep::new(&problem);
        let once = minimise(&problem, &sweep, None, &options);
        assert_eq!(once, minimise(&problem, &sweep, None, &options));
    }
}

#[test]
fn limits_and_what_the_search_does_not_know() {
    let life = Life::new(0, 2);
    let pair = [Buffer::new(1, life).fixed_at(3), Buffer::new(2, life).fixed_at(2)];
    let fixed = Problem::new(pair.to_vec()).expect("valid");
    let sweep = Sweep::new(&fixed);
    let options = Options::default();
    assert_eq!(decide(&fixed, &sweep, 4, &options).verdict, Verdict::DoesNotApply);
    assert!(!minimise(&fixed, &sweep, None, &options).applies);

    let mut rng = Rng::new(9);
    let shape = Shape { buffers: 60..61, times: 8, sizes: 50..1000, ..Shape::plain() };
    let problem = random_problem(&mut rng, &shape);
    let sweep = Sweep::new(&problem);
    let short = Options { work: 10, ..Options::default() };
    let load = sweep.peak().0;
    assert_eq!(decide(&problem, &sweep, load, &short).verdict, Verdict::Stopped);
    let start = Solution::new(vec![0; problem.len()]);
    let found = minimise(&problem, &sweep, Some(&start), &short);
    assert!(!found.optimal || found.lower_bound == load);
}

#[test]
fn alignments_far_above_the_sizes_are_no_trouble() {
    // 10 at 0, and 20 at the next multiple of 64; or the other way round.
    let life = Life::new(0, 2);
    let aligned = |size| Buffer::new(size, life).aligned(64);
    let problem = Problem::new(vec![aligned(10), aligned(20)]).expect("valid");
    let sweep = Sweep::new(&problem);
    let start = Solution::new(vec![0, 640]);
    let found = minimise(&problem, &sweep, Some(&start), &Options::default());
    assert_eq!((found.lower_bound, found.optimal), (74, true));
}

#[test]
fn nothing_needs_nothing() {
    let problem = Problem::new(Vec::new()).expect("valid");
    let found = minimise(&problem, &Sweep::new(&problem), None, &Options::default());
    assert_eq!((found.lower_bound, found.optimal), (0, true));
    assert_eq!(found.solution, Some(Solution::new(Vec::new())));
}

#[test]
fn a_misfit_is_irreducible() {
    let mut rng = Rng::new(10);
    let shapes = [Shape::plain(), Shape { aligned: 40, buffers: 1..7, ..Shape::plain() }];
    for shape in shapes.iter().cycle().take(120) {
        let problem = random_problem(&mut rng, shape);
        let best = brute_force(&problem);
        let options = Options::default();
        assert_eq!(misfit(&problem, best, &options), None);
        for capacity in [best - 1, best * 2 / 3] {
            let found = misfit(&problem, capacity, &options).expect("too small");
            assert!(found.irreducible);
            assert!(brute_force(&permuted(&problem, &found.buffers)) > capacity);
            for leave in 0..found.buffers.len() {
                let mut others = found.buffers.clone();
                others.remove(leave);
                assert!(brute_force(&permuted(&problem, &others)) <= capacity);
            }
        }
    }
}

#[test]
fn a_misfit_by_load_is_found_where_the_search_does_not_apply_and_at_any_size() {
    let mut buffers: Vec<_> = (0..100_000).map(|i| Buffer::new(3, Life::new(i, i + 3))).collect();
    buffers.push(Buffer::new(7, Life::new(500, 501)));
    buffers[9] = Buffer::new(3, Life::new(9, 12)).fixed_at(30);
    let problem = Problem::new(buffers).expect("valid");
    let found = misfit(&problem, 12, &Options::default()).expect("16 bytes are alive at 500");
    assert_eq!(found.buffers.len(), 3);
    assert!(found.irreducible && found.buffers.contains(&BufferId(100_000)), "{found:?}");
}

#[test]
fn without_work_a_misfit_is_larger_or_not_found() {
    let all = [(2, 0, 1), (2, 0, 2), (1, 1, 3), (1, 2, 3), (1, 1, 4), (1, 2, 4)];
    let rest = [(1, 0, 5), (2, 3, 5), (2, 4, 5)];
    let buffer = |(size, start, end)| Buffer::new(size, Life::new(start, end));
    let buffers = all.into_iter().chain(rest).map(buffer).collect();
    let problem = Problem::new(buffers).expect("valid");
    let none = Options { work: 0, ..Options::default() };
    assert_eq!(misfit(&problem, 5, &none), None);
    let whole = misfit(&problem, 5, &Options::default()).expect("six are needed");
    assert!(whole.irreducible);
    let short = (10..whole.work).find_map(|work| {
        misfit(&problem, 5, &Options { work, ..Options::default() }).filter(|m| !m.irreducible)
    });
    assert!(short.expect("some limit is too small").buffers.len() >= whole.buffers.len());
}

#[test]
fn a_step_that_takes_too_long_proves_nothing() {
    let problem = Problem::new(vec![
        Buffer::new(3, Life::new(0, 2)),
        Buffer::new(2, Life::new(1, 3)),
        Buffer::new(2, Life::new(0, 3)),
    ])
    .unwrap();
    let options = Options::default();
    let instance = instance::Instance::new(&problem, &Sweep::new(&problem)).expect("it applies");
    let mut tree = tree::Tree::new(&instance, 7, &options);
    assert!(tree.settle_all().is_ok() && !tree.is_exhausted);
    tree.most_work = 0;
    assert!(tree.settle_all().is_err() && tree.is_exhausted);
}

/// Two that lie side by side, 1 and 3 bytes, and one across both.
fn bridge() -> Problem {
    let buffers = [(1, 0, 1), (1, 0, 2), (3, 1, 2)];
    let buffer = |(size, start, end)| Buffer::new(size, Life::new(start, end));
    Problem::new(buffers.into_iter().map(buffer).collect()).expect("valid")
}

// The searches of the tests below would be wrong if these did not hold, and yet no small problem is
// known of which the answer changes: millions of random ones have been asked.

#[test]
fn a_dead_end_rests_on_everything_that_lies_below() {
    let problem = bridge();
    let options = Options::default();
    let instance = instance::Instance::new(&problem, &Sweep::new(&problem)).expect("it applies");
    let [left, across, right] =
        [0, 1, 2].map(|id| instance.ids.iter().position(|i| i.0 == id).expect("all are there"));
    let mut tree = tree::Tree::new(&instance, 8, &options);
    assert!(tree.settle_all().is_ok());
    assert!(tree.place(right, 0).is_ok() && tree.place(left, 1).is_ok());
    // Only the right one has raised it; but if the left one were not placed, it could lie on that.
    assert_eq!(tree.low[across], 3);
    let why = tree.around(across);
    assert!(why.has(0) && why.has(1) && !why.has(2), "{why:?}");
}

#[test]
fn a_state_in_which_something_waits_is_another_state() {
    let problem = bridge();
    let options = Options::default();
    let instance = instance::Instance::new(&problem, &Sweep::new(&problem)).expect("it applies");
    let mut search = Search::new(&instance, 8, &options);
    let free = search.key(0, instance.moments);
    search.tree.wait[0] = 2;
    let waiting = search.key(0, instance.moments);
    search.tree.wait[0] = 0;
    search.tree.low[0] = 1;
    let higher = search.key(0, instance.moments);
    search.tree.low[0] = 0;
    assert!(free != waiting && free != higher && waiting != higher);
    assert_eq!(free, search.key(0, instance.moments));
}

#[test]
fn what_waits_is_given_up_at_its_level_and_not_below() {
    let problem = bridge();
    let options = Options::default();
    let instance = instance::Instance::new(&problem, &Sweep::new(&problem)).expect("it applies");
    let [left, across, right] =
        [0, 1, 2].map(|id| instance.ids.iter().position(|i| i.0 == id).expect("all are there"));
    let mut search = Search::new(&instance, 8, &options);
    assert!(search.tree.settle_all().is_ok());
    assert!(search.tree.place(right, 0).is_ok() && search.tree.place(left, 1).is_ok());
    // Nothing can go below 3 any more, so nothing below that can block it.
    for (wait, late) in [(0, None), (3, Some(across)), (4, None)] {
        search.tree.wait[across] = wait;
        assert_eq!(search.too_late(0, instance.moments), late, "{wait}");
    }
}

#[test]
fn a_reason_is_never_less_than_it_was() {
    // The decisions at these depths share a bit: without the deeper one the other is still there.
    let mut why = tree::Why::only(3);
    why.add(&tree::Why::only(3 + 256));
    why.remove(3 + 256);
    assert!(why.has(3));
    why.remove(3);
    assert_eq!(why, tree::Why::default());
}
