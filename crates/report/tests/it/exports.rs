//! Traces of random programs: every life is there, and the counters are the load of each bank.

use std::collections::BTreeMap;

use plimsoll::testing::{Shape, random_program};
use plimsoll::{
    BankId, BankSpec, DeclaredProgram, Execution, Options, Overwrite, Place, Plan, Role,
    SharedLayout, SharedSlot, StepId, Storage, Strided, ValueId, ValueInfo, View, plan,
};
use plimsoll_pack::testing::Rng;
use plimsoll_report::{OfflineMemoryAllocation, TflmError, write_chrome_trace};
use serde_json::Value;

/// The most bytes in use in a bank, moment by moment.
fn peak(plan: &Plan, bank: BankId) -> u64 {
    let in_use = |moment: u64| -> u64 {
        let alive = plan.derivation.buffers.iter().filter(|buffer| {
            buffer.slot.bank == bank && buffer.live.start.0 <= moment && moment < buffer.live.end.0
        });
        let bytes = alive.map(|buffer| {
            let at = moment.cast_signed();
            let gap = buffer.gaps.iter().find(|g| g.life.start <= at && at < g.life.end);
            gap.map_or(buffer.slot.bytes, |gap| {
                gap.window.map_or(0, |window| window.hi - window.lo)
            })
        });
        bytes.sum()
    };
    (0..=2 * plan.schedule.len() as u64 + 1).map(in_use).max().unwrap_or(0)
}

#[test]
fn counters_are_the_load_and_lives_are_those_of_the_plan() {
    let mut with_gaps = 0;
    let mut planned = 0;
    for seed in 0..400 {
        let mut rng = Rng::new(seed);
        let program = random_program(&mut rng, &Shape::everything());
        let mut options = Options::default();
        options.align = 4;
        options.pack.work = Some(0);
        let mut small = BankSpec::new("small");
        small.buffer_capacity = Some(16);
        options.banks = vec![small, BankSpec::new("large")];
        let Ok(plan) = plan(&program, &options) else { continue };
        planned += 1;
        with_gaps += usize::from(plan.derivation.buffers.iter().any(|b| !b.gaps.is_empty()));
        let events: Vec<Value> =
            serde_json::from_str(&write_chrome_trace(&program, &plan)).expect("JSON");
        for bank in 0..plan.banks.len() {
            let live = events.iter().filter(|event| {
                event["name"] == "live bytes" && event["ph"] == "C" && event["pid"] == bank + 1
            });
            let live: Vec<u64> =
                live.map(|event| event["args"]["bytes"].as_u64().expect("a number")).collect();
            assert_eq!(live.iter().max(), Some(&peak(&plan, BankId::new(bank))), "seed {seed}");
            assert_eq!(live.last(), Some(&0), "seed {seed}");
        }
        let mut lives: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for event in events.iter().filter(|event| event["cat"] == "value") {
            let (id, at) = (event["id"].to_string(), event["ts"].as_u64().expect("a number"));
            lives.entry(id).and_modify(|(_, end)| *end = at).or_insert((at, at));
        }
        for (index, member) in plan.derivation.members.iter().enumerate() {
            let live = member.map(|member| (member.live.start.0, member.live.end.0));
            let live = live.filter(|_| matches!(plan.places[index], Place::Bank(_)));
            assert_eq!(lives.get(&format!("\"{index}\"")), live.as_ref(), "seed {seed}");
        }
    }
    assert!(planned > 100 && with_gaps > 10, "{planned} plans, {with_gaps} of them with gaps");
}

#[test]
fn offsets_for_tflite_micro_are_below_its_limit() {
    // Two values that are alive together; the larger is below the other.
    let far = |bytes: u64| {
        let mut program = DeclaredProgram::new(Execution::InOrder);
        let first = program.add(ValueInfo { align: Some(1), ..ValueInfo::new(bytes) });
        let second = program.add(ValueInfo { output: true, align: Some(1), ..ValueInfo::new(1) });
        program.step(&[], &[first]);
        program.step(&[first], &[second]);
        let plan = plan(&program, &Options::default()).expect("a plan");
        OfflineMemoryAllocation::new(&program, &plan, None)
    };
    let limit = (1 << 31) - 16;
    let last = far(limit).expect("it fits").to_bytes();
    assert_eq!(last[12..], [[0; 4], [0xf0, 0xff, 0xff, 0x7f]].concat());
    let (name, offset) = ("v1".to_owned(), limit + 16);
    assert_eq!(far(offset), Err(TflmError::TooFar { name, offset }));
    let (name, offset) = ("v1".to_owned(), limit - 8);
    assert_eq!(far(offset), Err(TflmError::Misaligned { name, offset }));
}

/// A program of two steps, changed; planned, and told to TensorFlow Lite Micro.
fn told(
    change: impl Fn(&mut DeclaredProgram, &mut Options),
) -> Result<OfflineMemoryAllocation, TflmError> {
    let mut program = DeclaredProgram::new(Execution::InOrder);
    let given = program.add(ValueInfo { role: Role::Input, ..ValueInfo::new(32) });
    let first = program.temporary(64);
    let second = program.output(64);
    program.step(&[given], &[first]);
    program.step(&[first], &[second]);
    let mut options = Options::default();
    change(&mut program, &mut options);
    let plan = plan(&program, &options).expect("a plan");
    OfflineMemoryAllocation::new(&program, &plan, None)
}

#[test]
fn what_tflite_micro_would_do_otherwise_is_an_error() {
    let name = |value: u32| format!("v{value}");
    assert_eq!(told(|_, _| ()).expect("all is well").placed(), 2);
    let weight = |program: &mut DeclaredProgram, options: &mut Options| {
        program.values[0].role = Role::Param;
        options.place.params = true;
    };
    assert_eq!(told(weight), Err(TflmError::Weight(name(0))));
    let kept = |program: &mut DeclaredProgram, _: &mut Options| {
        program.values[0].storage = Storage::Persistent;
    };
    assert_eq!(told(kept), Err(TflmError::Kept(name(0))));
    let imported = |program: &mut DeclaredProgram, options: &mut Options| {
        program.values[0].storage = Storage::Shared;
        let slot = SharedSlot { bank: "arena".to_owned(), offset: 0, bytes: 32 };
        options.shared = Some(SharedLayout { values: [(name(0), slot)].into() });
    };
    assert_eq!(told(imported), Err(TflmError::Imported(name(0))));
    let reserved = |program: &mut DeclaredProgram, _: &mut Options| program.values[1].guard = 16;
    assert_eq!(told(reserved), Err(TflmError::Reserved(name(1))));
    let over = |program: &mut DeclaredProgram, _: &mut Options| {
        program.values[0].bytes = 64;
        program.values[0].donated = true;
        let overwrite = Overwrite { output: ValueId(1), input: ValueId(0), must: true };
        program.steps[0].overwrites.push(overwrite);
    };
    let (over_it, root) = (name(1), name(0));
    assert_eq!(told(over), Err(TflmError::Over { name: over_it, root }));
    let banks = |_: &mut DeclaredProgram, options: &mut Options| {
        let mut small = BankSpec::new("small");
        small.capacity = Some(64);
        options.banks = vec![small, BankSpec::new("large")];
    };
    assert_eq!(told(banks), Err(TflmError::Banks(2)));
    let rows = |program: &mut DeclaredProgram, _: &mut Options| {
        let rows = Some(Strided { bytes: 8, stride: 32 });
        let view = Some(View { rows, ..View::new(ValueId(1), 0) });
        program.add(ValueInfo { view_of: view, ..ValueInfo::new(16) });
    };
    assert_eq!(told(rows), Err(TflmError::Rows(name(3))));
    let beside = |program: &mut DeclaredProgram, options: &mut Options| {
        let third = program.output(64);
        program.step(&[ValueId(0)], &[third]);
        options.schedule = Some(vec![StepId(2), StepId(0), StepId(1)]);
    };
    assert_eq!(told(beside), Err(TflmError::Order));
}
