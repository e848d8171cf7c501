//! The bodies of fuzz targets: any bytes are rejected, or what they mean is planned, and the plan is
//! right.
//!
//! Right means: the verifier has nothing to say, the oracle sees no wrong byte, the bound is not
//! above the arena, and what was written is read back the same. Each body says whether the bytes
//! were accepted, which the tests count: they run the same bodies over mutated files. What is too
//! large for a fuzzer, which wants many cases a second, is read and not planned.

use plimsoll::testing::{Orders, Shape, corrupts, random_program, unshared_plan};
use plimsoll::verify::{verify, violations};
use plimsoll::{
    DeclaredProgram, Options, OrderEffort, Plan, PlanError, Program, Recorded, SharedLayout,
    SharedSlot, StepId, Storage, ValueId, plan, read_plan, write_plan,
};
use plimsoll_pack::testing::Rng;

use crate::best::{Tries, best};
use crate::graph::{Graph, Kernels, Preset};
use crate::scheduled::{LoweringOptions, ScheduledGraph};
use crate::testing::random::random_graph;
use crate::{text, training_json};

/// Graphs with more nodes or values are read and not planned.
const MOST_NODES: usize = 40;
const MOST_VALUES: usize = 120;
/// For graphs with more nodes no order is searched for.
const MOST_ORDERED: usize = 12;
/// Programs with more steps or bytes are not run by the oracle.
const MOST_STEPS: usize = 8;
const MOST_BYTES: u64 = 600;
/// So many orders of a partial order are run.
const ORDERS: Orders = Orders(6);

/// Any bytes as a text: it is printed and read back the same, and planned.
///
/// # Panics
/// If any of that fails.
#[must_use]
pub fn fuzz_plim(bytes: &[u8]) -> bool {
    let Some(graph) = std::str::from_utf8(bytes).ok().and_then(|text| text::parse(text).ok())
    else {
        return false;
    };
    assert_plans_are_right(&graph);
    true
}

/// Any bytes as the graph of a training step: it survives as a text, and is planned.
///
/// # Panics
/// If any of that fails.
#[must_use]
pub fn fuzz_training_json(bytes: &[u8]) -> bool {
    let Ok(graph) = training_json::read(bytes) else { return false };
    assert_plans_are_right(&graph);
    true
}

/// Any bytes as a plan: the first says for which of 256 programs, the rest is JSON. Says whether the
/// plan is valid; then the oracle has to agree, and it is written and read back the same.
///
/// # Panics
/// If any of that fails.
#[must_use]
pub fn fuzz_plan_json(bytes: &[u8]) -> bool {
    let Some((which, json)) = bytes.split_first() else { return false };
    let program = fuzzed_program(*which);
    let read = std::str::from_utf8(json).ok().and_then(|json| read_plan(&program, json).ok());
    let Some(read) = read else { return false };
    match verify(&program, read) {
        Ok(plan) => {
            assert!(!corrupts(&program, &plan, ORDERS), "{plan:?} is wrong for {program:?}");
            assert_is_read_back(&program, &plan);
            true
        }
        Err(rejected) => {
            for violation in &rejected.violations {
                let words = violation.describe(&program, &rejected.plan).to_string();
                assert!(!words.is_empty(), "{violation:?} has no words");
            }
            false
        }
    }
}

/// One of the programs whose plans are fuzzed.
fn fuzzed_program(which: u8) -> DeclaredProgram {
    random_program(&mut Rng::new(u64::from(which)), &Shape::everything())
}

/// What fuzzing begins with, by target: valid files, small enough for the oracle.
#[must_use]
pub fn fuzz_seeds() -> Vec<(&'static str, Vec<u8>)> {
    let mut seeds: Vec<(&'static str, Vec<u8>)> = Vec::new();
    for seed in 0..60 {
        let graph = random_graph(&mut Rng::new(seed), 6);
        seeds.push(("plim", text::print(&graph).into_bytes()));
    }
    for which in 0..60 {
        let program = fuzzed_program(which);
        let mut options = Options::inference().with_align(1);
        options.shared = Some(imported(&program));
        let planned = plan(&program, &options).map(|plan| plan.plan().clone());
        let plan = planned.unwrap_or_else(|_| unshared_plan(&program, 1));
        let json = write_plan(&program, &plan, Recorded::new(), Recorded::new());
        seeds.push(("plan_json", [&[which], json.as_bytes()].concat()));
    }
    let small = include_bytes!("../../../../corpus/graphs/small_train.json");
    seeds.push(("training_json", small.to_vec()));
    seeds
}

/// Checks a graph as a text, and its plans under some options and kernels.
///
/// # Panics
/// If one of them is wrong.
pub fn assert_plans_are_right(graph: &Graph) {
    let printed = text::print(graph);
    assert_eq!(text::parse(&printed).as_ref(), Ok(graph), "not the same again:\n{printed}");
    if graph.nodes().len() > MOST_NODES || graph.values().len() > MOST_VALUES {
        return;
    }
    let mut placed = Options::inference().with_align(1).with_reclaim_inputs(true);
    placed.guards.inputs = 3;
    placed.guards.outputs = 5;
    for (preset, mut options) in [
        (Preset::Standard, Options::default()),
        (Preset::Standard, placed.clone()),
        (Preset::Strided, placed),
        (Preset::Copying, Options::default().with_align(16).with_in_place(false)),
    ] {
        let lowering = LoweringOptions { kernels: Kernels::new(preset), ..Default::default() };
        let Ok(program) = ScheduledGraph::new(graph, &lowering) else { return };
        options.shared = Some(imported(&program));
        options.pack.work = Some(20_000);
        let Some(arena) = planned_arena(&program, &options) else { continue };
        if graph.nodes().len() <= MOST_ORDERED {
            let least = best_arena(graph, &lowering, &options);
            assert!(least.is_some_and(|least| least <= arena), "{least:?} is worse than {arena}");
        }
    }
}

/// Places for values that another plan lends: one behind the other, at multiples of 512.
fn imported(program: &dyn Program) -> SharedLayout {
    let mut layout = SharedLayout::default();
    let mut end: u64 = 0;
    for value in (0..program.values()).map(ValueId::new) {
        let info = program.value(value);
        if info.storage == Storage::Shared {
            let (bank, offset) = ("arena".to_owned(), end);
            let slot = SharedSlot { bank, offset, bytes: info.bytes };
            layout.values.insert(program.value_name(value).into_owned(), slot);
            end = end.saturating_add(info.bytes).div_ceil(512).saturating_mul(512);
        }
    }
    layout
}

/// The arena of a program's plan, if there is one: then it is right.
fn planned_arena(program: &dyn Program, options: &Options) -> Option<u64> {
    let plan = match plan(program, options) {
        Ok(plan) => plan,
        Err(PlanError::Rejected(rejected)) => {
            assert!(is_wrong_itself(program), "{rejected}: {:?}", rejected.plan);
            return None;
        }
        Err(_) => return None,
    };
    let arena = plan.banks.iter().map(|bank| bank.bytes).sum();
    assert!(plan.derivation.lower_bound_bytes <= arena, "the bound is above the arena");
    assert_is_read_back(program, &plan);
    if is_small(program) {
        assert!(!corrupts(program, &plan, ORDERS), "the oracle finds {:?} wrong", plan.plan());
    }
    Some(arena)
}

/// Whether a program has no plan at all that is right: it reads what nobody has written, say.
fn is_wrong_itself(program: &dyn Program) -> bool {
    total_bytes(program) < 1 << 60 && !violations(program, &unshared_plan(program, 1)).is_empty()
}

/// The arena with everything tried that makes it smaller.
fn best_arena(graph: &Graph, lowering: &LoweringOptions, options: &Options) -> Option<u64> {
    let tries = Tries { order: Some(OrderEffort::Fast), join: true };
    let best = best(graph, lowering, options, tries).expect("its sizes are known");
    let program = ScheduledGraph::new(&best.graph, lowering).expect("its sizes are known");
    let bound = best.ordering.as_ref().map_or(0, |found| found.schedule.arena_bound_bytes);
    let schedule = best.ordering.and_then(|ordering| ordering.steps);
    let arena = planned_arena(&program, &options.clone().with_schedule(schedule));
    assert!(arena.is_none_or(|arena| bound <= arena), "{bound} is no bound: {arena:?}");
    arena
}

/// Whether the oracle is done with it at once.
fn is_small(program: &dyn Program) -> bool {
    program.steps() <= MOST_STEPS && total_bytes(program) <= MOST_BYTES
}

/// The bytes of all values with their guards, and of scratch memory.
fn total_bytes(program: &dyn Program) -> u64 {
    let values = (0..program.values()).map(|value| program.value(ValueId::new(value)));
    let bytes = values.map(|info| info.bytes.saturating_add(info.guard));
    let scratch = (0..program.steps()).filter_map(|step| program.scratch(StepId::new(step)));
    bytes.chain(scratch.map(|scratch| scratch.bytes)).fold(0, u64::saturating_add)
}

/// Writes a plan and reads it.
fn assert_is_read_back(program: &dyn Program, plan: &Plan) {
    let json = write_plan(program, plan, Recorded::new(), Recorded::new());
    let read = read_plan(program, &json).unwrap_or_else(|error| panic!("{error}:\n{json}"));
    assert_eq!((&read.schedule, &read.places), (&plan.schedule, &plan.places), "{json}");
    assert_eq!((&read.banks, &read.scratch), (&plan.banks, &plan.scratch), "{json}");
    if let Err(rejected) = verify(program, read) {
        panic!("{rejected}:\n{json}");
    }
}
