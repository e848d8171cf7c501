//! What is fused, and the arenas that come of it.

use plimsoll_model::testing::ModelBuilder;
use plimsoll_model::{
    AllKernels, Binary, Bindings, Convolution, Operator, Padding, Resize, Softmax, TensorId, Unary,
    infer,
};

use super::*;
use plimsoll_graph::Case;
use plimsoll_model::Model;

fn unary(function: Unary) -> Operator {
    Operator::Unary(function)
}

fn binary(function: Binary) -> Operator {
    Operator::Binary(function)
}

/// A convolution whose output has the height and width of its input.
fn conv(build: &mut ModelBuilder, x: TensorId, from: u64, to: u64) -> TensorId {
    let w = build.weight(&[to, from, 3, 3]);
    let mut conv = Convolution::default();
    conv.windows.padding = Padding::SameUpper;
    build.node(Operator::Conv(conv), &[x, w])
}

/// Arenas without and with fusions of these kinds, and the nodes of every fused step.
fn fused(model: &Model, kinds: &[FusionKind]) -> (u64, u64, Vec<Vec<usize>>) {
    let inferred = infer(model, &Bindings::default()).unwrap();
    let case = Case::new(inferred.graph.clone());
    let kinds = kinds.iter().copied().collect();
    let fused = fuse(model, &inferred, &case, &kinds, &AllKernels).unwrap();
    let steps = fused.steps.into_iter().map(|step| step.nodes).collect();
    (fused.unfused_bytes, fused.planned.arena_bytes(), steps)
}

/// The bytes of a tensor of four channels and 8 by 8 pixels.
const IMAGE: u64 = 4 * 8 * 8 * 4;

#[test]
fn an_activation_in_several_nodes_needs_no_second_tensor() {
    let mut build = ModelBuilder::default();
    let x = build.input(&[1, 4, 8, 8]);
    let a = conv(&mut build, x, 4, 4);
    let s = build.node(unary(Unary::Sigmoid), &[a]);
    let b = build.node(binary(Binary::Mul), &[a, s]);
    let c = conv(&mut build, b, 4, 1);
    let model = build.finish(&[c]);
    assert_eq!(fused(&model, &[]), (2 * IMAGE, 2 * IMAGE, vec![]));
    let of_elements = fused(&model, &[FusionKind::Activation]);
    assert_eq!(of_elements, (2 * IMAGE, IMAGE + IMAGE / 4, vec![vec![1, 2]]));
    let with_sums = fused(&model, &FusionKind::ALL);
    assert_eq!(with_sums.2, [[0, 1, 2]]);
}

#[test]
fn a_residual_takes_the_sums() {
    let mut build = ModelBuilder::default();
    let x = build.input(&[1, 4, 8, 8]);
    let r = conv(&mut build, x, 4, 4);
    let a = conv(&mut build, r, 4, 4);
    let b = conv(&mut build, a, 4, 4);
    let sum = build.node(binary(Binary::Add), &[b, r]);
    let y = build.node(unary(Unary::Relu), &[sum]);
    let model = build.finish(&[y]);
    let (unfused, arena, steps) = fused(&model, &FusionKind::ALL);
    assert_eq!((unfused, arena), (3 * IMAGE, 2 * IMAGE));
    assert_eq!(steps, [[2, 3, 4]]);
    let without = fused(&model, &[FusionKind::Epilogue]);
    assert_eq!(without.1, 3 * IMAGE, "the kernels cannot add a residual");
}

#[test]
fn of_two_products_that_are_added_the_later_one_adds() {
    let mut build = ModelBuilder::default();
    let x = build.input(&[1, 4, 8, 8]);
    let a = conv(&mut build, x, 4, 4);
    let b = conv(&mut build, x, 4, 4);
    let y = build.node(binary(Binary::Add), &[a, b]);
    let (_, arena, steps) = fused(&build.finish(&[y]), &FusionKind::ALL);
    assert_eq!((arena, steps), (IMAGE, vec![vec![1, 2]]));
}

#[test]
fn an_image_is_enlarged_where_it_is_read() {
    let mut build = ModelBuilder::default();
    let x = build.input(&[1, 4, 4, 4]);
    let a = conv(&mut build, x, 4, 4);
    let (roi, scales) = (build.weight(&[0]), build.weight(&[0]));
    let dims = build.ints(&[1, 4, 8, 8]);
    let b = build.node(Operator::Resize(Resize::default()), &[a, roi, scales, dims]);
    let y = conv(&mut build, b, 4, 1);
    let (unfused, arena, steps) = fused(&build.finish(&[y]), &FusionKind::ALL);
    assert_eq!((unfused, arena), (IMAGE + IMAGE / 4, IMAGE / 2));
    assert_eq!(steps, [[1, 2]]);
}

#[test]
fn a_function_is_computed_again_where_that_saves_a_tensor() {
    let mut build = ModelBuilder::default();
    let x = build.input(&[1, 4, 8, 8]);
    let a = conv(&mut build, x, 4, 4);
    let b = build.node(unary(Unary::Relu), &[a]);
    let c = conv(&mut build, b, 4, 1);
    let both = build.node(Operator::Concat { axis: 1 }, &[a, c]);
    let y = conv(&mut build, both, 5, 1);
    let model = build.finish(&[y]);
    let (unfused, arena, steps) = fused(&model, &FusionKind::ALL);
    assert_eq!((unfused, arena), (2 * IMAGE + IMAGE / 4, IMAGE + IMAGE / 2));
    assert_eq!(steps, [[1, 2], [3, 4]]);
}

#[test]
fn scores_of_attention_are_scratch() {
    let mut build = ModelBuilder::default();
    let x = build.input(&[64, 8]);
    let [wq, wk, wv] = [(); 3].map(|()| build.weight(&[8, 8]));
    let [q, k, v] = [wq, wk, wv].map(|w| build.node(Operator::MatMul, &[x, w]));
    let kt = build.node(Operator::Transpose(None), &[k]);
    let scores = build.node(Operator::MatMul, &[q, kt]);
    let weights = build.node(Operator::Softmax(Softmax::along(-1)), &[scores]);
    let y = build.node(Operator::MatMul, &[weights, v]);
    let (unfused, arena, steps) = fused(&build.finish(&[y]), &FusionKind::ALL);
    let (matrix, heads) = (64 * 64 * 4, 64 * 8 * 4);
    let scratch = 16 * (8 + 64 + 8 + 8) * 4;
    assert_eq!((unfused, arena), (matrix + 2 * heads, 4 * heads + scratch));
    assert_eq!(steps, [[3, 4, 5, 6]]);
}

#[test]
fn names_of_kinds_are_read_back() {
    for kind in FusionKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    let error = "silu".parse::<FusionKind>().unwrap_err().to_string();
    let known = "activation, norm, epilogue, residual, attention, layout, prologue";
    assert_eq!(error, format!("unknown kind of fusion \"silu\"; there are {known}"));
}
