//! Random models with branches, loops and scans, in each other too.

use plimsoll_onnx::proto::{GraphProto, ModelProto, NodeProto, TensorProto};
use plimsoll_onnx::testing::{BOOL, F32, I64, body, graph, int, model, node, stored, value};
use plimsoll_pack::testing::Rng;

/// The model of a seed.
pub(crate) fn random_model(seed: u64) -> ModelProto {
    Generator { rng: Rng::new(seed), names: 0, stored: Vec::new() }.model()
}

/// Makes nodes of what is in scope: a tensor is its name and its dims.
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
