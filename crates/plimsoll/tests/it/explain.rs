//! Every byte of every bank is accounted for, at every moment of random programs.

use plimsoll::explain::{What, account, alive, peaks};
use plimsoll::testing::{Shape, random_program};
use plimsoll::{BankId, BankSpec, Options, Plan, Point, Program, plan};
use plimsoll_pack::testing::Rng;
use plimsoll_pack::{Problem, Sweep};

/// So many programs of each kind.
const PROGRAMS: u64 = 150;

fn planned(seed: u64, shape: &Shape) -> Option<(impl Program, Plan)> {
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
