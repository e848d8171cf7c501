//! Outputs have the same bits with any number of threads, and a run with threads allocates nothing. Alone in its
//! process: all threads are counted.

use plimsoll_graph::Dtype;
use plimsoll_model::{
    Convolution, Model, ModelNode, Operator, Origin, Padding, Tensor, TensorId, Unary, Windows,
};
use plimsoll_run::{Counted, Options, SeededWeights, Session, random_inputs};

#[global_allocator]
static COUNTED: Counted = Counted::new();

fn input(model: &mut Model, name: &str, dims: &[u64]) -> TensorId {
    let tensor = Tensor { origin: Origin::Caller, ..Tensor::stored(name, Dtype::F32, dims) };
    let id = model.add(tensor);
    model.body.inputs.push(id);
    id
}

fn node(model: &mut Model, operator: Operator, inputs: &[TensorId]) -> TensorId {
    let name = format!("node{}", model.body.nodes.len());
    let made = model.add(Tensor::computed(&name));
    let inputs = inputs.iter().map(|id| Some(*id)).collect();
    let outputs = vec![Some(made)];
    model.body.nodes.push(ModelNode { name, kind: "kind".to_owned(), operator, inputs, outputs });
    made
}

fn convolution(model: &mut Model, x: TensorId, name: &str, dims: &[u64], group: u64) -> TensorId {
    let weights = model.add(Tensor::stored(name, Dtype::F32, dims));
    let windows = Windows { padding: Padding::SameUpper, ..Windows::default() };
    let convolved = node(model, Operator::Conv(Convolution { windows, group }), &[x, weights]);
    node(model, Operator::Unary(Unary::Sigmoid), &[convolved])
}

/// A general, a depthwise and a pointwise convolution, a product with weights, one of a single row, and a stack of them:
/// each large enough for several threads.
fn model() -> Model {
    let mut model = Model::default();
    let x = input(&mut model, "x", &[1, 16, 48, 47]);
    let y = convolution(&mut model, x, "general", &[50, 16, 3, 3], 1);
    let y = convolution(&mut model, y, "depthwise", &[150, 1, 3, 3], 50);
    let y = convolution(&mut model, y, "pointwise", &[31, 150, 1, 1], 1);
    let a = input(&mut model, "a", &[67, 300]);
    let fixed = model.add(Tensor::stored("fixed", Dtype::F32, &[300, 250]));
    let b = node(&mut model, Operator::MatMul, &[a, fixed]);
    let c = input(&mut model, "c", &[1, 1500]);
    let row = model.add(Tensor::stored("row", Dtype::F32, &[1500, 2300]));
    let d = node(&mut model, Operator::MatMul, &[c, row]);
    let (e, f) = (input(&mut model, "e", &[5, 64, 100]), input(&mut model, "f", &[5, 100, 130]));
    let g = node(&mut model, Operator::MatMul, &[e, f]);
    model.body.outputs = vec![y, b, d, g];
    model
}

#[test]
fn bits_are_the_same_with_any_number_of_threads_and_nothing_is_allocated() {
    let model = model();
    let weights = SeededWeights::new(&model, &(), 1);
    let mut expected: Option<Vec<Vec<u8>>> = None;
    let mut scratch = Vec::new();
    for threads in [1, 2, 3] {
        let options = Options::default().with_threads(threads);
        let mut session = Session::new(&model, &weights, &options).unwrap();
        session.fill(&random_inputs(1, session.inputs())).unwrap();
        session.poison();
        let before = COUNTED.count();
        session.run().unwrap();
        session.run().unwrap();
        assert_eq!(COUNTED.count() - before, 0, "{threads} threads");
        let bytes = |port: &plimsoll_run::Port| session.output_bytes(&port.name).unwrap().to_vec();
        let outputs: Vec<Vec<u8>> = session.outputs().iter().map(bytes).collect();
        assert_eq!(outputs.len(), 4);
        let is_same = expected.get_or_insert_with(|| outputs.clone()) == &outputs;
        assert!(is_same, "{threads} threads");
        let slots = session.planned().plan.scratch.iter().flatten();
        scratch.push(slots.map(|slot| slot.bytes).sum::<u64>());
    }
    // Scratch for each thread is in the plan; the arena may have room for it anyway.
    assert!(scratch[0] < scratch[1] && scratch[1] < scratch[2], "{scratch:?}");
}
