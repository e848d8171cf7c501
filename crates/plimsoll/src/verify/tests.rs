use plimsoll_pack::testing::Rng;

use super::*;
use crate::testing::{Shape, random_program, unshared_plan};

#[test]
fn unshared_plans_are_always_right() {
    for seed in 0..30_000 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, &Shape::everything());
        let plan = unshared_plan(&program, 1 << rng.below(3));
        assert_eq!(violations(&program, &plan), [], "seed {seed}: {program:#?}\n{plan:#?}");
    }
}
