//! Control flow, planned: what has to live for how long, and that no iteration and no branch finds
//! anything else than what it should.

mod bodies;

use std::path::Path;

use plimsoll::{Options, Place, Plan, Slot, plan};
use plimsoll_graph::testing::Wrong;
use plimsoll_graph::{LoweringOptions, ScheduledGraph};
use plimsoll_model::{Bindings, Inferred, Model, infer};
use plimsoll_onnx::proto::{GraphProto, ModelProto};
use plimsoll_onnx::testing::{
    BOOL, F32, OnnxMachine, body, encode, graph, int, list, model, node, value,
};
use plimsoll_onnx::{load, read};

fn inferred(model: &Model) -> Inferred {
    infer(model, &Bindings::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn planned(inferred: &Inferred, options: &Options) -> Plan {
    let program = ScheduledGraph::new(&inferred.graph, &LoweringOptions::default());
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let plan = plan(&program, options).unwrap_or_else(|error| panic!("{error}"));
    plan.into_plan()
}

/// Offsets are multiples of 1, so that numbers are sums.
fn dense() -> Options {
    let mut options = Options::default();
    options.align = 1;
    options
}

fn slot(inferred: &Inferred, plan: &Plan, name: &str) -> Slot {
    let id = inferred.graph.value_by_name(name).unwrap_or_else(|| panic!("there is no {name}"));
    match plan.places[id.index()] {
        Place::Bank(slot) => slot,
        other => panic!("{name} is at {other:?}"),
    }
}

/// Whether no two of these have a byte in common.
fn are_apart(inferred: &Inferred, plan: &Plan, names: &[&str]) -> bool {
    let mut slots: Vec<Slot> = names.iter().map(|name| slot(inferred, plan, name)).collect();
    slots.sort_by_key(|slot| slot.offset);
    slots.windows(2).all(|pair| pair[0].offset + pair[0].bytes <= pair[1].offset)
}

#[test]
fn the_sample_lives_as_long_as_it_must() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/models/bodies.onnx");
    let inferred = inferred(&load(&path).unwrap_or_else(|error| panic!("{error}")));
    let plan = planned(&inferred, &dense());
    // The loop ends with `choice`, which its body reads, what it carries, before and after, `seen`,
    // all that was seen, and the result: 5 * 16 + 48.
    assert!(are_apart(&inferred, &plan, &["choice", "state", "state.next", "seen", "all", "last"]));
    // What is collected is there from the first iteration on.
    assert!(are_apart(&inferred, &plan, &["all", "state", "choice"]));
    assert!(are_apart(&inferred, &plan, &["totals", "sum", "element", "all", "last"]));
    // The scan ends with its operands `last` and `all`, the sum before and after, and both results:
    // 16 + 48 + 2 * 16 + 16 + 48.
    assert_eq!(plan.banks[0].bytes, 160);
}

/// `x` twice, as 128 bytes, and its sum.
fn summing(name: &str) -> GraphProto {
    let (twice, sum) = (format!("{name}.twice"), format!("{name}.sum"));
    let nodes = vec![
        node(&twice, "Concat", &["x", "x"], &[&twice]).with(int("axis", 0)),
        node(&sum, "ReduceSum", &[&twice, "axes"], &[&sum]),
    ];
    graph(vec![], vec![value(&sum, F32, &[1])], nodes)
}

fn branching(then: GraphProto, otherwise: GraphProto) -> ModelProto {
    let choose = node("if", "If", &["condition"], &["y"])
        .with(body("then_branch", then))
        .with(body("else_branch", otherwise));
    let inputs = vec![value("condition", BOOL, &[]), value("x", F32, &[16])];
    let mut graph = graph(inputs, vec![value("y", F32, &[1])], vec![choose]);
    graph.initializer = vec![list("axes", &[0]), list("dims", &[3])];
    model(17, graph)
}

#[test]
fn branches_share_bytes() {
    let model = read(encode(&branching(summing("then"), summing("else")))).expect("a good model");
    let inferred = inferred(&model);
    let plan = planned(&inferred, &dense());
    // One 128 for both, and the sum of either.
    assert_eq!(plan.banks[0].bytes, 136);
    let offset = |name| slot(&inferred, &plan, name).offset;
    assert_eq!(offset("then.twice"), offset("else.twice"));
}

#[test]
fn a_branch_that_cannot_run_takes_no_bytes() {
    let misfit = graph(
        vec![],
        vec![value("three", F32, &[3])],
        vec![node("three", "Reshape", &["x", "dims"], &["three"])],
    );
    let model = read(encode(&branching(summing("then"), misfit))).expect("a good model");
    let inferred = inferred(&model);
    let refused: Vec<String> = inferred.refused.iter().map(ToString::to_string).collect();
    let [refused] = &refused[..] else { panic!("{refused:?}") };
    let words = "node `if`: its else branch cannot run with these shapes (node `three` (Reshape): ";
    assert!(refused.starts_with(words), "{refused}");
    assert!(inferred.graph.node_by_name("three").is_none());
    // The sum is a view of what the branch makes: 128 + 4.
    assert_eq!(planned(&inferred, &dense()).banks[0].bytes, 132);
}

fn random_model(seed: u64) -> (ModelProto, Inferred) {
    let proto = bodies::random_model(seed);
    let model = read(encode(&proto)).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let inferred = inferred(&model);
    (proto, inferred)
}

/// Runs a plan some times; what is wrong, if anything is.
fn run(proto: &ModelProto, inferred: &Inferred, plan: &Plan) -> Result<(), Wrong> {
    let program = ScheduledGraph::new(&inferred.graph, &LoweringOptions::default());
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let mut machine = OnnxMachine::new(proto, &inferred.graph, &program, plan);
    (0..4).try_for_each(|seed| machine.run(seed).map(drop))
}

#[test]
fn nothing_is_overwritten_that_is_still_read() {
    let mut placed = dense();
    placed.place.inputs = true;
    placed.reclaim_inputs = true;
    for seed in 0..1500 {
        let (proto, inferred) = random_model(seed);
        assert_eq!(inferred.refused, []);
        let options = if seed % 2 == 0 { dense() } else { placed.clone() };
        let plan = planned(&inferred, &options);
        run(&proto, &inferred, &plan).unwrap_or_else(|wrong| panic!("seed {seed}: {wrong}"));
    }
}

#[test]
fn the_machine_sees_what_is_overwritten() {
    let found = (0..100).filter(|seed| {
        let (proto, inferred) = random_model(*seed);
        let mut plan = planned(&inferred, &dense());
        for place in &mut plan.places {
            if let Place::Bank(slot) = place {
                slot.offset = 0;
            }
        }
        run(&proto, &inferred, &plan).is_err()
    });
    let found = found.count();
    assert!(found > 80, "{found}");
}
