//! Control flow, planned: what has to live for how long, and that no iteration and no branch finds
//! anything else than what it should.

use std::path::Path;

use plimsoll::{Options, Place, Plan, Slot, plan};
use plimsoll_graph::testing::Wrong;
use plimsoll_graph::{LoweringOptions, ScheduledGraph};
use plimsoll_model::{Bindings, Inferred, Model, infer};
use plimsoll_onnx::proto::{GraphProto, ModelProto, NodeProto, TensorProto};
use plimsoll_onnx::testing::{
    BOOL, F32, I64, OnnxMachine, body, encode, graph, int, list, model, node, stored, value,
};
use plimsoll_onnx::{load, read};
use plimsoll_pack::testing::Rng;

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

/// Random models: a tensor is its name and its dims.
struct Generator {
    rng: Rng,
    names: usize,
    stored: Vec<TensorProto>,
}

type Known = (String, Vec<i64>);

/// Inputs that decide which branch is taken.
const CONDITIONS: [&str; 3] = ["c1", "c2", "c3"];

impl Generator {
    fn name(&mut self) -> String {
        self.names += 1;
        format!("t{}", self.names)
    }

    fn pick(&mut self, scope: &[Known]) -> Known {
        scope[self.rng.below(scope.len() as u64) as usize].clone()
    }

    /// One of those dims, the last ones first.
    fn like(&mut self, scope: &[Known], dims: &[i64]) -> String {
        let same: Vec<&Known> = scope.iter().filter(|known| known.1 == dims).collect();
        let back = self.rng.below(same.len().min(3) as u64) as usize;
        same[same.len() - 1 - back].0.clone()
    }

    fn model(&mut self) -> ModelProto {
        let mut scope: Vec<Known> =
            vec![("x".to_owned(), vec![4]), ("y".to_owned(), vec![4]), ("z".to_owned(), vec![9])];
        let mut inputs: Vec<_> = scope.iter().map(|known| value(&known.0, F32, &known.1)).collect();
        inputs.extend(CONDITIONS.map(|name| value(name, BOOL, &[])));
        let count = self.rng.within(3..9);
        let nodes = self.nodes(&mut scope, count, 2);
        let outputs = scope.iter().rev().take(2).map(|known| value(&known.0, F32, &known.1));
        let mut graph = graph(inputs, outputs.collect(), nodes);
        graph.initializer = std::mem::take(&mut self.stored);
        model(17, graph)
    }

    /// Nodes, listed in any order half of the time.
    fn nodes(&mut self, scope: &mut Vec<Known>, count: u64, depth: usize) -> Vec<NodeProto> {
        let mut nodes: Vec<NodeProto> = (0..count).map(|_| self.node(scope, depth)).collect();
        if self.rng.chance(50) {
            self.rng.shuffle(&mut nodes);
        }
        nodes
    }

    fn node(&mut self, scope: &mut Vec<Known>, depth: usize) -> NodeProto {
        let made = self.name();
        let (a, dims) = self.pick(scope);
        let (kind, inputs, dims) = match self.rng.below(if depth > 0 { 10 } else { 5 }) {
            1 => ("Identity", vec![a], dims),
            2 | 3 => ("Add", vec![a, self.like(scope, &dims)], dims),
            4 if dims.len() == 1 && dims[0] < 12 => {
                ("Concat", vec![a.clone(), a], vec![2 * dims[0]])
            }
            5 | 6 => return self.branch(scope, depth - 1),
            7 | 8 => return self.iterate(scope, depth - 1),
            9 => match scope.iter().rev().find(|known| known.1.len() == 2).cloned() {
                Some(sequence) => return self.scan(scope, depth - 1, &sequence),
                None => ("Relu", vec![a], dims),
            },
            _ => ("Relu", vec![a], dims),
        };
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        scope.push((made.clone(), dims));
        let node = node(&made, kind, &inputs, &[&made]);
        if kind == "Concat" { node.with(int("axis", 0)) } else { node }
    }

    /// A body with results of these dims, beside those given.
    fn body(
        &mut self,
        scope: &[Known],
        depth: usize,
        inputs: &[Known],
        results: &[Vec<i64>],
    ) -> GraphProto {
        let mut inside = [scope, inputs].concat();
        let count = self.rng.within(1..5);
        let nodes = self.nodes(&mut inside, count, depth);
        let outputs = results.iter().map(|dims| {
            let name = self.like(&inside, dims);
            value(&name, F32, dims)
        });
        let outputs = outputs.collect();
        let inputs = inputs.iter().map(|known| value(&known.0, F32, &known.1)).collect();
        graph(inputs, outputs, nodes)
    }

    fn made(&mut self, scope: &mut Vec<Known>, dims: &[Vec<i64>]) -> Vec<String> {
        let names: Vec<String> = dims.iter().map(|_| self.name()).collect();
        scope.extend(names.iter().cloned().zip(dims.iter().cloned()));
        names
    }

    fn picked(&mut self, scope: &[Known]) -> Vec<Known> {
        let count = self.rng.within(1..3);
        (0..count).map(|_| self.pick(scope)).collect()
    }

    fn branch(&mut self, scope: &mut Vec<Known>, depth: usize) -> NodeProto {
        let dims: Vec<_> = self.picked(scope).into_iter().map(|known| known.1).collect();
        let then = self.body(scope, depth, &[], &dims);
        let otherwise = self.body(scope, depth, &[], &dims);
        let made = self.made(scope, &dims);
        let outputs: Vec<&str> = made.iter().map(String::as_str).collect();
        let condition = CONDITIONS[self.rng.below(3) as usize];
        node(&made[0], "If", &[condition], &outputs)
            .with(body("then_branch", then))
            .with(body("else_branch", otherwise))
    }

    fn iterate(&mut self, scope: &mut Vec<Known>, depth: usize) -> NodeProto {
        let carried = self.picked(scope);
        let trips = self.rng.below(4).cast_signed();
        let (name, trip, go) = (self.name(), self.name(), self.name());
        self.stored.push(stored(&name, I64, &[], trips.to_le_bytes().to_vec()));
        let inputs: Vec<Known> =
            carried.iter().map(|known| (self.name(), known.1.clone())).collect();
        let mut dims: Vec<Vec<i64>> = carried.iter().map(|known| known.1.clone()).collect();
        let element = self.pick(scope).1;
        if element.len() == 1 {
            dims.push(element.clone());
        }
        let mut repeated = self.body(scope, depth, &inputs, &dims);
        repeated.input.insert(0, value(&trip, I64, &[]));
        repeated.input.insert(1, value(&go, BOOL, &[]));
        repeated.output.insert(0, value(&go, BOOL, &[]));
        if element.len() == 1 {
            *dims.last_mut().expect("collected") = vec![trips, element[0]];
        }
        let made = self.made(scope, &dims);
        let outputs: Vec<&str> = made.iter().map(String::as_str).collect();
        let mut operands = vec![&name[..], ""];
        operands.extend(carried.iter().map(|known| &known.0[..]));
        node(&made[0], "Loop", &operands, &outputs).with(body("body", repeated))
    }

    fn scan(&mut self, scope: &mut Vec<Known>, depth: usize, sequence: &Known) -> NodeProto {
        let (state, dims) = self.pick(scope);
        let element = vec![sequence.1[1]];
        let inputs = [(self.name(), dims.clone()), (self.name(), element.clone())];
        let scanned = self.body(scope, depth, &inputs, &[dims.clone(), element]);
        let made = self.made(scope, &[dims, sequence.1.clone()]);
        node(&made[0], "Scan", &[&state, &sequence.0], &[&made[0], &made[1]])
            .with(int("num_scan_inputs", 1))
            .with(body("body", scanned))
    }
}

fn random_model(seed: u64) -> (ModelProto, Inferred) {
    let mut generator = Generator { rng: Rng::new(seed), names: 0, stored: Vec::new() };
    let proto = generator.model();
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
