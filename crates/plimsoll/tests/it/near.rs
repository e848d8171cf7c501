//! Plans near to others: what can stay where it was, does, and the arena never grows by it.

use plimsoll::testing::{Shape, random_program};
use plimsoll::{BankId, DeclaredProgram, Near, Options, Place, Plan, ValueId, plan};
use plimsoll_pack::testing::Rng;

fn options() -> Options {
    Options::default().with_work(0)
}

fn near(program: &DeclaredProgram, near: Near) -> Plan {
    plan(program, &options().with_near(Some(near))).expect("a plan").into_plan()
}

/// Where values are: 64 bytes each, one number for each 64 bytes.
fn at(cells: &[u64]) -> Near {
    let at = |cell: &u64| Some((BankId(0), 64 * cell));
    let values = cells.iter().map(at).collect();
    Near { banks: vec!["arena".to_owned()], values, scratch: Vec::new() }
}

fn cells(plan: &Plan) -> Vec<u64> {
    let cell = |place: &Place| match place {
        Place::Bank(slot) => slot.offset / 64,
        place => panic!("{place:?} is in no bank"),
    };
    plan.places.iter().map(cell).collect()
}

/// Four values that are alive together, and one behind them.
fn four_and_one() -> DeclaredProgram {
    let mut program = DeclaredProgram::default();
    let four: Vec<ValueId> = (0..4).map(|_| program.temporary(64)).collect();
    let y = program.output(64);
    for value in &four {
        program.step(&[], &[*value]);
    }
    program.step(&four, &[]);
    program.step(&[], &[y]);
    program
}

#[test]
fn what_fits_stays_in_any_order() {
    let program = four_and_one();
    assert_eq!(cells(&near(&program, at(&[3, 1, 0, 2, 2]))), [3, 1, 0, 2, 2]);
    assert_eq!(cells(&near(&program, at(&[2, 0, 3, 1, 0]))), [2, 0, 3, 1, 0]);
}

#[test]
fn of_two_in_the_same_place_one_moves_to_what_is_free() {
    let program = four_and_one();
    let found = cells(&near(&program, at(&[3, 1, 1, 2, 3])));
    assert_eq!(found, [3, 1, 0, 2, 3], "only the third has to move");
}

#[test]
fn what_is_above_the_arena_moves_and_the_arena_does_not_grow() {
    let program = four_and_one();
    let found = near(&program, at(&[3, 1, 7, 2, 9]));
    assert_eq!((found.arena_bytes(), &cells(&found)[..4]), (256, &[3, 1, 0, 2][..]));
}

#[test]
fn places_in_other_banks_and_of_other_alignments_mean_nothing() {
    let program = four_and_one();
    let fresh = plan(&program, &options()).expect("a plan").into_plan();
    let mut elsewhere = at(&[3, 1, 0, 2, 2]);
    elsewhere.banks = vec!["sram".to_owned()];
    assert_eq!(near(&program, elsewhere), fresh);
    let mut odd = at(&[3, 1, 0, 2, 2]);
    odd.values.iter_mut().flatten().for_each(|(_, offset)| *offset += 1);
    assert_eq!(near(&program, odd), fresh);
    assert_eq!(near(&program, Near::default()), fresh);
}

#[test]
fn a_plan_near_to_itself_is_itself_and_none_is_larger_than_a_fresh_one() {
    let mut rng = Rng::new(77);
    let mut planned = 0;
    for round in 0..150 {
        let program = random_program(&mut rng, &Shape::everything());
        let Ok(fresh) = plan(&program, &options()) else { continue };
        let own = near(&program, Near::of(&fresh));
        assert_eq!((&own.places, &own.scratch), (&fresh.places, &fresh.scratch), "round {round}");
        let mut moved = Near::of(&fresh);
        for (_, offset) in moved.values.iter_mut().flatten() {
            *offset += 64 * rng.below(4);
        }
        let moved = near(&program, moved);
        assert!(moved.arena_bytes() <= fresh.arena_bytes(), "round {round}");
        planned += 1;
    }
    assert!(planned > 75, "{planned} plans");
}
