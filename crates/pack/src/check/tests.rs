//! Break a valid packing in each possible way, and expect exactly that violation.

use super::*;
use crate::problem::{Buffer, Gap};
use crate::testing::{Rng, Shape, random_problem};
use crate::{Options, solve};

fn both(problem: &Problem, claim: &Claim) -> Vec<Violation> {
    let found = check(problem, claim);
    assert_eq!(found, check_plain(problem, claim));
    found
}

fn claim(offsets: &[u64]) -> Claim {
    Claim { offsets: offsets.iter().copied().map(Some).collect(), unknown: Vec::new() }
}

/// Three buffers, the second aligned and the third fixed, valid at 0, 8 and 16.
fn example() -> Problem {
    let life = |start, end| Life::new(start, end);
    let buffers = vec![
        Buffer::new(8, life(0, 4)),
        Buffer::new(8, life(2, 6)).aligned(4),
        Buffer::new(8, life(3, 9)).fixed_at(16),
    ];
    Problem::new(buffers).expect("valid").with_capacity(Some(24))
}

#[test]
fn a_valid_packing_has_no_violations() {
    assert_eq!(both(&example(), &claim(&[0, 8, 16])), []);
}

#[test]
fn each_way_to_be_wrong_is_its_own_violation() {
    let (a, b, c) = (BufferId(0), BufferId(1), BufferId(2));
    let problem = example();
    let missing = Claim { offsets: vec![Some(0), None, Some(16)], unknown: Vec::new() };
    assert_eq!(both(&problem, &missing), [Violation::Missing { buffer: b }]);

    let short = Claim { offsets: vec![Some(0), Some(8)], unknown: vec!["x".to_owned()] };
    assert_eq!(
        both(&problem, &short),
        [Violation::Missing { buffer: c }, Violation::Unknown { id: "x".to_owned() }]
    );

    let plain = Problem::new(problem.buffers()[..2].to_vec()).expect("valid");
    assert_eq!(
        both(&plain, &claim(&[0, 9])),
        [Violation::Misaligned { buffer: b, offset: 9, align: 4 }]
    );
    assert_eq!(
        both(&problem.clone().with_capacity(None), &claim(&[0, 8, 24])),
        [Violation::NotFixed { buffer: c, offset: 24, fixed: 16 }]
    );
    assert_eq!(
        both(&problem.clone().with_capacity(Some(23)), &claim(&[0, 8, 16])),
        [Violation::OverCapacity { buffer: c, end: 24, capacity: 23 }]
    );
    assert_eq!(
        both(&problem, &claim(&[0, 4, 16])),
        [Violation::Overlap { a, b, bytes: Span::new(4, 8), life: Life::new(2, 4) }]
    );
}

#[test]
fn the_end_of_the_address_space_is_a_violation_and_not_an_overflow() {
    let problem = Problem::new(vec![Buffer::new(8, Life::new(0, 1))]).expect("valid");
    for offset in [u64::MAX, u64::MAX - 3] {
        assert_eq!(
            both(&problem, &claim(&[offset])),
            [Violation::OverCapacity { buffer: BufferId(0), end: u64::MAX, capacity: u64::MAX }]
        );
    }
}

#[test]
fn windows_may_lie_in_each_others_gaps() {
    // While the first uses only its upper half, the second may have the lower one.
    let gaps = vec![Gap { life: Life::new(2, 4), window: Some(Span::new(4, 8)) }];
    let wide = Buffer { gaps, ..Buffer::new(8, Life::new(0, 6)) };
    let guest = |start, end| Buffer::new(4, Life::new(start, end));
    let problem = Problem::new(vec![wide.clone(), guest(2, 4)]).expect("valid");
    assert_eq!(both(&problem, &claim(&[0, 0])), []);
    // A moment longer, and they meet.
    let problem = Problem::new(vec![wide, guest(2, 5)]).expect("valid");
    let (a, b, bytes) = (BufferId(0), BufferId(1), Span::new(0, 4));
    let overlap = Violation::Overlap { a, b, bytes, life: Life::new(4, 5) };
    assert_eq!(both(&problem, &claim(&[0, 0])), [overlap]);
}

#[test]
fn the_fast_checker_equals_the_plain_one() {
    let mut rng = Rng::new(3);
    let mut overlaps = 0;
    for round in 0..3000 {
        let shape = if round % 2 == 0 { Shape::plain() } else { Shape::everything() };
        let problem = random_problem(&mut rng, &Shape { buffers: 1..20, ..shape });
        let height = 1 + rng.below(60);
        let offsets = problem.ids().map(|_| rng.chance(95).then(|| rng.below(height))).collect();
        let claim = Claim { offsets, unknown: Vec::new() };
        overlaps += both(&problem.with_capacity(Some(40)), &claim).len();
    }
    assert!(overlaps > 10_000, "the cases are meant to be full of violations, not {overlaps}");
}

#[test]
fn moving_one_buffer_of_a_valid_packing_is_found_where_it_matters() {
    let mut rng = Rng::new(4);
    let shape = Shape { buffers: 2..12, ..Shape::everything() };
    let mut broken = 0;
    for _ in 0..500 {
        let problem = random_problem(&mut rng, &shape);
        let solution = solve(&problem, &Options::default()).solution.expect("never infeasible");
        let mut claim = Claim::from(&solution);
        assert_eq!(both(&problem, &claim), []);
        let moved = rng.below(problem.len() as u64) as usize;
        claim.offsets[moved] = claim.offsets[moved].map(|o| o.div_ceil(2));
        let found = both(&problem, &claim);
        broken += usize::from(!found.is_empty());
        let names = |v: &Violation| match v {
            Violation::Overlap { a, b, .. } => [*a, *b].contains(&BufferId(moved as u32)),
            Violation::Misaligned { buffer, .. } | Violation::NotFixed { buffer, .. } => {
                buffer.index() == moved
            }
            _ => false,
        };
        assert!(found.iter().all(names), "{found:?} is not about buffer {moved}");
    }
    assert!(broken > 100, "only {broken} moves mattered");
}

#[test]
fn a_flood_of_overlaps_is_cut_off() {
    let problem = Problem::new(vec![Buffer::new(1, Life::new(0, 1)); 3000]).expect("valid");
    let found = check_at_most(&problem, &claim(&vec![0; 3000]), 100);
    assert!((101..=3100).contains(&found.len()), "{}", found.len());
}
