//! Every byte of every bank is accounted for, at every moment of random programs.

use plimsoll::explain::{Stage, What, account, alive, group_peaks, peaks, step_loads};
use plimsoll::testing::{Shape, random_program};
use plimsoll::{BankId, BankSpec, Options, Plan, Point, Program, plan};
use plimsoll_pack::testing::Rng;
use plimsoll_pack::{Problem, Sweep};

/// So many programs of each kind.
const PROGRAMS: u64 = 150;

fn planned(seed: u64, shape: &Shape) -> Option<(impl Program + use<>, Plan)> {
    let mut rng = Rng::new(seed);
    let program = random_program(&mut rng, shape);
    let mut options =
        if seed.is_multiple_of(3) { Options::inference() } else { Options::default() };
    options.align = [1, 4, 16][(seed % 3) as usize];
    options.guards.outputs = seed % 5;
    options.pack.work = Some(0);
    if seed.is_multiple_of(4) {
        let mut first = BankSpec::new("first");
        first.capacity = Some(48);
        options.banks = vec![first, BankSpec::new("second")];
    }
    let plan = plan(&program, &options).ok()?;
    Some((program, Plan::clone(&plan)))
}

#[test]
fn the_pieces_of_a_bank_are_all_of_it() {
    let (mut moments, mut scratch, mut padding, mut free, mut guards) = (0, 0, 0, 0, 0);
    for shape in [Shape::plain(), Shape::everything()] {
        for seed in 0..PROGRAMS {
            let Some((program, plan)) = planned(seed, &shape) else { continue };
            let buffers = plan.derivation.buffers.iter().map(plimsoll::Buffer::packed).collect();
            let problem = Problem::new(buffers).expect("it was packed");
            let sweep = Sweep::new(&problem);
            for point in (0..=2 * program.steps() as u64).map(Point) {
                let account = account(&program, &plan, point);
                for (index, bank) in plan.banks.iter().enumerate() {
                    let here = account.pieces.iter().filter(|p| p.bank == BankId::new(index));
                    let mut end = 0;
                    for piece in here {
                        assert_eq!(piece.span.lo, end, "seed {seed}, {point}");
                        assert!(piece.span.hi > piece.span.lo);
                        end = piece.span.hi;
                    }
                    assert_eq!(end, bank.bytes, "seed {seed}, {point}");
                }
                // What is in use is the load of the packing, and what another plan lends.
                let in_use = account
                    .bytes(|what| !matches!(what, What::Padding | What::Free | What::Imported(_)));
                let now = point.0.cast_signed();
                let section = (0..sweep.len()).find(|s| {
                    let life = sweep.life_of(*s);
                    life.start <= now && now < life.end
                });
                assert_eq!(in_use, section.map_or(0, |s| sweep.load()[s]), "seed {seed}, {point}");
                let listed: u64 =
                    alive(&program, &plan, &account).iter().map(|alive| alive.bytes).sum();
                assert_eq!(listed, account.bytes(|what| matches!(what, What::Value(_))));
                moments += 1;
                scratch += u64::from(account.bytes(|w| matches!(w, What::Scratch(_))) > 0);
                guards += u64::from(account.bytes(|w| matches!(w, What::Guard(_))) > 0);
                padding += u64::from(account.bytes(|w| w == What::Padding) > 0);
                free += u64::from(account.bytes(|w| w == What::Free) > 0);
            }
            let highest = peaks(&plan, 1).first().map_or(0, |peak| peak.bytes);
            assert_eq!(highest, sweep.peak().0, "seed {seed}");
        }
    }
    // Each kind of piece has come up.
    assert!(moments > 1000, "{moments}");
    assert!([scratch, guards, padding, free].iter().all(|count| *count > 20));
}

/// The most that a group takes and carries, buffer by buffer and step by step.
fn plain_group(plan: &Plan, stages: &[Option<Stage>], group: usize) -> Option<(u64, u64)> {
    let stage_at =
        |position: u64| stages[plan.schedule[usize::try_from(position).unwrap()].index()];
    let mut found = None;
    for position in 0..plan.schedule.len() as u64 {
        let Some(own) = stage_at(position).filter(|own| own.group == group) else { continue };
        let (mut most, mut carried) = found.unwrap_or((0, 0));
        for point in [2 * position, 2 * position + 1] {
            let now = point.cast_signed();
            let packed = plan.derivation.buffers.iter().map(plimsoll::Buffer::packed);
            let in_use: u64 = packed
                .flat_map(|buffer| buffer.pieces().collect::<Vec<_>>())
                .filter(|piece| piece.life.start <= now && now < piece.life.end)
                .map(|piece| piece.span.len())
                .sum();
            most = most.max(in_use);
        }
        let kept = plan.derivation.buffers.iter().filter(|buffer| {
            let now = Point(2 * position);
            let is_alive = buffer.live.start <= now && now < buffer.live.end;
            is_alive
                && stage_at(buffer.live.start.0 / 2)
                    .is_some_and(|made| made.group == group && made < own)
        });
        carried = carried.max(kept.map(|buffer| buffer.slot.bytes).sum());
        found = Some((most, carried));
    }
    found
}

#[test]
fn what_groups_of_steps_take_and_carry_is_what_a_walk_finds() {
    let (mut groups, mut carry) = (0, 0);
    for seed in 0..PROGRAMS {
        let Some((program, plan)) = planned(seed, &Shape::everything()) else { continue };
        let mut rng = Rng::new(seed);
        let stage = |_| Stage { group: rng.below(3) as usize, stage: rng.below(4) };
        let mut stages: Vec<Option<Stage>> = (0..program.steps()).map(stage).map(Some).collect();
        stages.iter_mut().step_by(5).for_each(|stage| *stage = None);
        for (group, found) in group_peaks(&plan, &stages, 4).iter().enumerate() {
            let told = found.map(|found| (found.peak.bytes, found.carried_bytes));
            assert_eq!(told, plain_group(&plan, &stages, group), "seed {seed}, group {group}");
            let at = found.and_then(|found| stages[found.peak.step?.index()]);
            assert_eq!(at, found.map(|found| Stage { group, stage: found.stage }));
            groups += u64::from(found.is_some());
            carry += u64::from(found.is_some_and(|found| found.carried_bytes > 0));
        }
        let all = vec![Some(Stage { group: 0, stage: 0 }); program.steps()];
        let highest = group_peaks(&plan, &all, 1)[0].map(|found| found.peak.bytes);
        assert_eq!(highest, step_loads(&plan).into_iter().max(), "seed {seed}");
    }
    assert!(groups > 200 && carry > 15, "{groups} {carry}");
}
