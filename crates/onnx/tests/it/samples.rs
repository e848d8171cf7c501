//! The samples of `corpus/models`: what is kept, and what is read of it.

use std::fs;
use std::path::{Path, PathBuf};

use plimsoll_graph::Dtype;
use plimsoll_model::{
    Axis, Content, Gemm, Model, ModelNode, Operator, Origin, Reduce, Reduction, Tensor, Unary,
};
use plimsoll_onnx::load;
use plimsoll_onnx::testing::{encode, samples};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/models")
}

fn sample(name: &str) -> Model {
    load(&folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn node<'m>(model: &'m Model, name: &str) -> &'m ModelNode {
    let found = model.body.nodes.iter().find(|node| node.name == name);
    found.unwrap_or_else(|| panic!("there is no node {name}"))
}

fn tensor<'m>(model: &'m Model, name: &str) -> &'m Tensor {
    let found = model.tensors.iter().find(|tensor| tensor.name == name);
    found.unwrap_or_else(|| panic!("there is no tensor {name}"))
}

/// The names of what a node reads; an absent operand is empty.
fn inputs<'m>(model: &'m Model, node: &ModelNode) -> Vec<&'m str> {
    let name = |id: &Option<_>| id.map_or("", |id| &model.tensor(id).name[..]);
    node.inputs.iter().map(name).collect()
}

#[test]
fn the_files_are_those_that_the_example_writes() {
    for (name, model) in samples() {
        let kept = fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(kept, encode(&model), "{name}");
    }
}

#[test]
fn the_network_is_read() {
    let model = sample("sample.onnx");
    assert_eq!(model.body.nodes.len(), 19);
    assert_eq!(model.tensors.len(), 14 + 1 + 19);
    assert_eq!(model.body.inputs.len(), 1);
    let image = model.tensor(model.body.inputs[0]);
    assert_eq!((&image.name[..], image.origin), ("image", Origin::Caller));
    assert_eq!(image.dims, Some([1, 3, 32, 32].map(Axis::Known).to_vec()));
    assert_eq!(image.dtype, Some(Dtype::F32));
    let outputs: Vec<&str> =
        model.body.outputs.iter().map(|id| &model.tensor(*id).name[..]).collect();
    assert_eq!(outputs, ["classes"]);
    // What shapes are made of is read, weights are not.
    assert_eq!(tensor(&model, "rest").content, Some(Content::Ints(vec![-1])));
    let weights = tensor(&model, "block.1.weight");
    assert_eq!((weights.origin, &weights.content), (Origin::Stored, &None));
    let classifier = node(&model, "classifier");
    let gemm = Gemm { transpose_b: true, ..Gemm::default() };
    assert_eq!(classifier.operator, Operator::Gemm(gemm));
    assert_eq!(inputs(&model, classifier), ["flat", "classifier.weight", "classifier.bias"]);
}

#[test]
fn bodies_read_what_is_around_them() {
    let model = sample("bodies.onnx");
    let kinds: Vec<&str> = model.body.nodes.iter().map(|node| &node.kind[..]).collect();
    assert_eq!(kinds, ["If", "Loop", "Scan"]);
    let Operator::If(branches) = &node(&model, "if").operator else { panic!("not an If") };
    // The names of the second branch are those of the first, so they say where they are.
    assert_eq!(branches.then.nodes[0].name, "pick");
    assert_eq!(branches.otherwise.nodes[0].name, "if/else/pick");
    assert_eq!(inputs(&model, &branches.then.nodes[0]), ["x", "y"]);
    assert_eq!(inputs(&model, &branches.otherwise.nodes[0]), ["x", "y"]);
    assert_eq!(model.tensor(branches.then.outputs[0]).name, "chosen");
    assert_eq!(model.tensor(branches.otherwise.outputs[0]).name, "if/else/chosen");
    let repeat = node(&model, "loop");
    assert_eq!(inputs(&model, repeat), ["trips", "", "x"]);
    let Operator::Loop(body) = &repeat.operator else { panic!("not a Loop") };
    assert_eq!((body.inputs.len(), body.outputs.len()), (3, 3));
    assert_eq!(inputs(&model, &body.nodes[1]), ["state", "choice"]);
    let Operator::Scan(iteration) = &node(&model, "scan").operator else { panic!("not a Scan") };
    assert_eq!(iteration.sequences, 1);
    assert_eq!((&iteration.input_axes[..], &iteration.output_axes[..]), (&[0][..], &[0][..]));
}

#[test]
fn functions_are_put_in_place() {
    let model = sample("functions.onnx");
    let nodes: Vec<(&str, &str)> =
        model.body.nodes.iter().map(|node| (&node.name[..], &node.kind[..])).collect();
    assert_eq!(nodes, [("product", "Mul"), ("relu", "Relu"), ("b/product", "Mul")]);
    assert_eq!(inputs(&model, &model.body.nodes[0]), ["in", "factor"]);
    assert_eq!(inputs(&model, &model.body.nodes[1]), ["scaled"]);
    assert_eq!(inputs(&model, &model.body.nodes[2]), ["between", "b/factor"]);
    assert_eq!(model.body.nodes[1].operator, Operator::Unary(Unary::Relu));
    // The default of the attribute, and what the call says.
    assert_eq!(tensor(&model, "factor").content, Some(Content::Floats(vec![2.0])));
    assert_eq!(tensor(&model, "b/factor").content, Some(Content::Floats(vec![3.0])));
    let last = model.body.nodes[2].outputs[0];
    assert_eq!(last, Some(model.body.outputs[0]));
}

#[test]
fn attributes_of_old_become_operands() {
    let model = sample("version9.onnx");
    let of = |name| inputs(&model, node(&model, name));
    let ints = |name| match &tensor(&model, name).content {
        Some(Content::Ints(values)) => values.clone(),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(of("clip"), ["x", "clip:min", "clip:max"]);
    assert_eq!(tensor(&model, "clip:max").content, Some(Content::Floats(vec![6.0])));
    assert_eq!(tensor(&model, "clip:max").dims, Some(vec![]));
    assert_eq!(of("pad"), ["clipped", "pad:pads"]);
    assert_eq!(ints("pad:pads"), [0, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(of("slice"), ["padded", "slice:starts", "slice:ends", "slice:axes"]);
    assert_eq!(ints("slice:axes"), [2, 3]);
    assert_eq!(of("split"), ["sliced", "split:split"]);
    assert_eq!(ints("split:split"), [1, 3]);
    assert_eq!(of("upsample"), ["right", "", "scales"]);
    assert!(matches!(node(&model, "upsample").operator, Operator::Resize(_)));
    assert_eq!(of("mean"), ["large", "mean:axes"]);
    let mean = Reduce { function: Reduction::Mean, keep_dims: false, none_if_empty: false };
    assert_eq!(node(&model, "mean").operator, Operator::Reduce(mean));
    assert_eq!(of("unsqueeze"), ["means", "unsqueeze:axes"]);
    assert_eq!(of("squeeze"), ["left", "squeeze:axes"]);
    assert_eq!(of("best"), ["plane", "best:k"]);
    assert_eq!(ints("best:k"), [2]);
    assert_eq!(
        node(&model, "best").operator,
        Operator::TopK { axis: -1, largest: true, sorted: true }
    );
    let bits = u128::from(1f32.to_bits());
    let fill = Operator::Fill { dtype: Dtype::F32, value: 1.0, bits };
    assert_eq!(node(&model, "fill").operator, fill);
}

#[test]
fn rows_are_as_many_as_the_caller_likes() {
    let model = sample("encoder.onnx");
    let seq = Axis::Symbol("seq".to_owned());
    assert_eq!(tensor(&model, "x").dims, Some(vec![seq, Axis::Known(32)]));
    assert_eq!(inputs(&model, node(&model, "match")), ["q", "k.t"]);
}

#[test]
fn a_cache_comes_in_and_goes_out() {
    let model = sample("decoder.onnx");
    let update = node(&model, "update");
    assert_eq!(inputs(&model, update), ["past", "position", "row"]);
    assert_eq!(update.outputs, [Some(model.body.outputs[1])]);
    assert_eq!(tensor(&model, "past").dims, Some([64, 32].map(Axis::Known).to_vec()));
}
