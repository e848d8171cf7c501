//! What is declared, executed: random models of all operators, planned in all ways, run in a poisoned arena
//! and with every tensor apart.

#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::if_same_then_else,
    clippy::needless_pass_by_value,
    clippy::single_match_else,
    clippy::branches_sharing_code,
    clippy::same_functions_in_if_condition,
    reason = "small random numbers, as sizes and as attributes that count from either end"
)]
mod generator;

use std::collections::BTreeMap;

use generator::{Generator, Known};
use plimsoll::{Options, OrderEffort, Plan, Role, plan};
use plimsoll_graph::advise::{Action, rewrites};
use plimsoll_graph::testing::Wrong;
use plimsoll_graph::{
    Case, Donation, Graph, Kernels, LoweringOptions, PlannedGraph, Preset, ScheduledGraph, Tries,
    Value, Width, best, donate, text,
};
use plimsoll_model::{Bindings, Model, infer};
use plimsoll_onnx::proto::ModelProto;
use plimsoll_onnx::read;
use plimsoll_onnx::testing::{OnnxMachine, encode};
use plimsoll_pack::testing::Rng;

/// Reads a model.
fn model(proto: &ModelProto) -> Model {
    read(encode(proto)).unwrap_or_else(|error| panic!("{error}"))
}

/// The graph of a model.
fn inferred(proto: &ModelProto) -> Graph {
    let inferred = infer(&model(proto), &Bindings::default());
    inferred.unwrap_or_else(|error| panic!("{error}")).graph
}

/// The random model of a seed and its graph, in which all dims are what the generator says. Of some
/// tensors elements are known before anything runs, by arithmetic that is not done here: these models are left out.
fn random(seed: u64) -> Option<(ModelProto, Graph)> {
    checked(seed, Generator::model(seed))
}

/// The same for what a generator has made.
fn checked(seed: u64, made: (ModelProto, Vec<Known>)) -> Option<(ModelProto, Graph)> {
    let (proto, tensors) = made;
    let graph = inferred(&proto);
    for Known { name, dims, .. } in tensors {
        let Some(value) = graph.value_by_name(&name) else { continue };
        let found = graph.value(value).shape.known();
        let dims: Vec<u64> = dims.iter().map(|dim| dim.unsigned_abs()).collect();
        assert_eq!(found.as_ref(), Some(&dims), "seed {seed}: {name}\n{}", text::print(&graph));
    }
    let is_known = |value: &Value| {
        value.role == Role::Static && value.shape.known().is_some_and(|dims| !dims.contains(&0))
    };
    (!graph.values().iter().any(is_known)).then_some((proto, graph))
}

/// One way to plan.
#[derive(Clone, Debug)]
struct Way {
    lowering: LoweringOptions,
    options: Options,
    tries: Tries,
}

const PRESETS: [Preset; 4] = [Preset::Standard, Preset::Strided, Preset::Views, Preset::Copying];

impl Way {
    fn new(preset: Preset) -> Self {
        let mut lowering = LoweringOptions::default();
        lowering.kernels = Kernels::new(preset);
        let mut options = Options::default();
        options.align = 1;
        options.pack.work = Some(0);
        Way { lowering, options, tries: Tries { order: None, join: true } }
    }

    fn random(rng: &mut Rng) -> Self {
        let preset = PRESETS[[0, 0, 1, 1, 1, 2, 3][rng.below(7) as usize]];
        let mut way = Way::new(preset);
        if rng.chance(30) {
            let widths: Vec<Width> = Width::all().collect();
            way.lowering.width = widths[rng.below(widths.len() as u64) as usize];
        }
        match rng.below(4) {
            0 => {
                let work = way.options.pack.work;
                way.options = Options::inference();
                way.options.pack.work = work;
            }
            1 => {
                way.options.place.inputs = true;
                way.options.reclaim_inputs = true;
            }
            2 => way.options.place.outputs = false,
            _ => {}
        }
        let orders = [None, Some(OrderEffort::Fast)];
        way.tries = Tries { order: orders[rng.below(2) as usize], join: rng.chance(70) };
        way
    }

    /// A plan of the graph, and the graph as it is planned.
    fn plan(&self, graph: &Graph) -> (Graph, Plan) {
        let best = best(graph, &self.lowering, &self.options, self.tries);
        let best = best.unwrap_or_else(|error| panic!("{error}\n{}", text::print(graph)));
        let program = ScheduledGraph::new(&best.graph, &self.lowering).expect("a program");
        let mut options = self.options.clone();
        options.schedule = best.ordering.and_then(|ordering| ordering.steps);
        let plan = plan(&program, &options);
        let plan = plan.unwrap_or_else(|error| panic!("{error}\n{}", text::print(graph)));
        (best.graph, plan.into_plan())
    }

    /// Runs a plan of a graph of the model twice; the outputs.
    fn run(&self, proto: &ModelProto, graph: &Graph) -> Result<Vec<Vec<u64>>, Wrong> {
        let (planned, plan) = self.plan(graph);
        let program = ScheduledGraph::new(&planned, &self.lowering).expect("a program");
        let mut machine = OnnxMachine::new(proto, graph, &program, &plan);
        machine.run(1)?;
        machine.run(2)
    }
}

/// Runs a model in a way, and says which it was if anything is wrong.
fn run(seed: u64, way: &Way, proto: &ModelProto, graph: &Graph) -> Vec<Vec<u64>> {
    let shown = |wrong: Wrong| -> Vec<Vec<u64>> {
        let Way { lowering, tries, .. } = way;
        panic!("seed {seed}, {lowering:?}, {tries:?}: {wrong}\n{}", text::print(graph))
    };
    way.run(proto, graph).unwrap_or_else(shown)
}

#[test]
fn plans_of_random_models_compute_what_the_operators_say() {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    let mut models = 0;
    for seed in 0..3000 {
        let Some((proto, graph)) = random(seed) else { continue };
        models += 1;
        for node in graph.nodes() {
            *kinds.entry(node.op.class().to_owned()).or_default() += 1;
        }
        let mut rng = Rng::new(seed);
        let expected = run(seed, &Way::new(Preset::Copying), &proto, &graph);
        for _ in 0..3 {
            let way = Way::random(&mut rng);
            assert_eq!(run(seed, &way, &proto, &graph), expected, "seed {seed}");
        }
    }
    assert!(models > 2950, "{models}");
    // Every alias set but attention, of which nothing is shared, and control flow, which is run elsewhere.
    let absent = ["attention", "copy", "custom"];
    for op in plimsoll_graph::Op::every().iter().filter(|op| !absent.contains(&op.class())) {
        let count = kinds.get(op.class()).copied().unwrap_or(0);
        assert!(count >= 5, "{}: {count}", op.class());
    }
}

/// A case in the order of the file.
fn case(graph: &Graph, way: &Way) -> Case {
    let Way { lowering, options, .. } = way.clone();
    Case { graph: graph.clone(), lowering, options, tries: Tries::default(), spills: false }
}

/// Runs a case that was planned, once; the outputs.
fn run_settled(proto: &ModelProto, settled: &PlannedGraph) -> Result<Vec<Vec<u64>>, Wrong> {
    let program = settled.program();
    OnnxMachine::new(proto, &settled.case.graph, &program, &settled.plan).run(2)
}

#[test]
fn rewritten_models_compute_the_same() {
    let (mut parts, mut again, mut halves) = (0, 0, 0);
    for seed in 0..800 {
        let made =
            if seed % 4 == 0 { Generator::model(seed) } else { Generator::dense_model(seed) };
        let Some((proto, graph)) = checked(seed, made) else { continue };
        let way = Way::new(PRESETS[(seed / 4 % 2) as usize]);
        let expected = run(seed, &Way::new(Preset::Copying), &proto, &graph);
        let settled = case(&graph, &way).plan().unwrap_or_else(|error| panic!("{error}"));
        for action in rewrites(&settled) {
            let Some(after) = action.apply(&settled.case, &[]) else { continue };
            let after = after.plan().unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let outputs = run_settled(&proto, &after).unwrap_or_else(|wrong| {
                panic!("seed {seed}, {action:?}: {wrong}\n{}", text::print(&after.case.graph))
            });
            match action {
                // Fewer bits are another result, and the same in the plan as apart.
                Action::Half(_) => halves += 1,
                Action::Split { .. } => parts += 1,
                _ => again += 1,
            }
            let shown = || text::print(&after.case.graph);
            assert!(
                !action.keeps_result() || outputs == expected,
                "seed {seed}, {action:?}\n{}",
                shown()
            );
        }
    }
    assert!(parts > 500 && again > 500 && halves > 100, "{parts} {again} {halves}");
}

#[test]
fn caches_that_are_given_to_outputs_hold_what_they_should() {
    let (mut given, mut kept, mut parts) = (0, 0, 0);
    for seed in 20_000..23_000 {
        let Some((proto, graph)) = random(seed) else { continue };
        let way = Way::new(PRESETS[(seed % 2) as usize]);
        let inputs = graph.value_ids().filter(|value| graph.value(*value).role == Role::Input);
        for (input, output) in inputs.flat_map(|i| graph.outputs().iter().map(move |o| (i, *o))) {
            for is_state in [false, true] {
                let donation = Donation { input, output, is_state };
                let Ok(donated) = donate(&graph, &way.lowering.kernels, &[donation]) else {
                    continue;
                };
                let Ok(program) = ScheduledGraph::new(&donated, &way.lowering) else { continue };
                let shown = || format!("seed {seed}\n{}", text::print(&donated));
                let plan =
                    plan(&program, &way.options).unwrap_or_else(|e| panic!("{e} {}", shown()));
                let mut machine = OnnxMachine::new(&proto, &graph, &program, &plan);
                for run in 0..3 {
                    machine.run(run).unwrap_or_else(|wrong| panic!("{wrong} {}", shown()));
                    if is_state {
                        machine.hand_over(output, input);
                    }
                }
                *if is_state { &mut kept } else { &mut given } += 1;
                parts += usize::from(donated.value(input).view.is_some());
            }
        }
    }
    assert!(given > 100 && kept > 100 && parts > 10, "{given} {kept} {parts}");
}
