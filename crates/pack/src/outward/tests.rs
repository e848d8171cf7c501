//! Packings from the peak outwards: valid, and near the load.

use super::*;
use crate::bound::bound;
use crate::check::check;
use crate::problem::{Buffer, Life};
use crate::testing::scale::{Lives, Sizes, scale};
use crate::testing::{Rng, Shape, random_problem};
use crate::watch::nobody;

fn packed(problem: &Problem, work: u64) -> u64 {
    let sweep = Sweep::new(problem);
    let goal = bound(problem, &sweep).bytes;
    let first = outward(problem, &sweep, goal).solution;
    assert_eq!(check(problem, &(&first).into()), []);
    let mut nobody = nobody;
    let mut watched = Watched::new(&mut nobody, goal);
    let again = lower(problem, &sweep, &first, goal, work, &mut watched).solution;
    assert_eq!(check(problem, &(&again).into()), []);
    again.arena_bytes(problem)
}

#[test]
fn every_packing_is_valid_whatever_there_is() {
    let mut rng = Rng::new(11);
    let shape = Shape { buffers: 1..40, fixed: 0, ..Shape::everything() };
    for _ in 0..600 {
        let problem = random_problem(&mut rng, &shape);
        let arena = packed(&problem, 1_000_000);
        assert!(arena >= bound(&problem, &Sweep::new(&problem)).bytes);
    }
}

#[test]
fn a_reserved_place_makes_room_for_what_comes_later() {
    // After the peak, the small one would be put into the best hole, and split what the large one needs.
    let buffers = [(4, 0, 1), (4, 0, 3), (2, 1, 9), (6, 3, 9)];
    let buffer = |(size, start, end)| Buffer::new(size, Life::new(start, end));
    let problem = Problem::new(buffers.map(buffer).to_vec()).expect("valid");
    assert_eq!(packed(&problem, 0), 8);
}

#[test]
fn lives_within_one_another_are_packed_into_their_load() {
    for sizes in Sizes::ALL {
        let problem = scale(Lives::Nested, sizes, 3000, 5);
        assert_eq!(packed(&problem, 0), Sweep::new(&problem).peak().0, "{sizes}");
    }
}

#[test]
fn long_lives_are_packed_within_a_hundredth() {
    for lives in [Lives::Random, Lives::Training] {
        for sizes in Sizes::ALL {
            let problem = scale(lives, sizes, 10_000, 5);
            let load = Sweep::new(&problem).peak().0;
            let arena = packed(&problem, 10_000_000);
            assert!((arena - load) * 100 <= load, "{lives}/{sizes}: {arena} of {load}");
        }
    }
}
