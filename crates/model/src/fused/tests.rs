//! What can be one step, and what it does to memory.

use super::*;
use crate::infer::Bindings;
use crate::lower::{Inferred, infer};
use crate::model::{BatchNorm, Binary, Convolution, Operator, Softmax, Unary};
use crate::testing::ModelBuilder;

fn unary(function: Unary) -> Operator {
    Operator::Unary(function)
}

fn add() -> Operator {
    Operator::Binary(Binary::Add)
}

fn mul() -> Operator {
    Operator::Binary(Binary::Mul)
}

fn conv() -> Operator {
    Operator::Conv(Convolution::default())
}

/// What the nodes, by index, do to memory as one step.
fn accesses(model: &Model, nodes: &[usize]) -> Result<FusedAccesses, FusedFault> {
    let Inferred { facts, statics, order, .. } = infer(model, &Bindings::default()).unwrap();
    let wiring = Wiring::new(model, &order);
    let fusing =
        Fusing { model, facts: &facts, statics: &statics, wiring: &wiring, kernels: &AllKernels };
    fusing.accesses(&FusedStep { nodes: nodes.to_vec() })
}

#[test]
fn a_chain_may_overwrite_every_operand_that_is_not_broadcast() {
    let mut build = ModelBuilder::default();
    let (x, y, row) = (build.input(&[4, 8]), build.input(&[4, 8]), build.input(&[8]));
    let s = build.node(unary(Unary::Sigmoid), &[x]);
    let xs = build.node(mul(), &[x, s]);
    let sum = build.node(add(), &[xs, row]);
    let out = build.node(add(), &[sum, y]);
    let found = accesses(&build.finish(&[out]), &[0, 1, 2, 3]).unwrap();
    assert_eq!((found.form, found.output, found.scratch_bytes), (Form::Chain, out, 0));
    assert_eq!(found.inputs, [x, row, y]);
    assert_eq!(found.overwrites, [x, y]);
}

#[test]
fn elements_may_have_another_shape_on_the_way() {
    let mut build = ModelBuilder::default();
    let (x, mask) = (build.input(&[2, 3, 4]), build.input(&[3, 8]));
    let shape = build.ints(&[3, 8]);
    let a = build.node(unary(Unary::Relu), &[x]);
    let b = build.node(Operator::Reshape { allow_zero: false }, &[a, shape]);
    let out = build.node(add(), &[b, mask]);
    let found = accesses(&build.finish(&[out]), &[0, 1, 2]).unwrap();
    assert_eq!((found.inputs, found.overwrites), (vec![x, shape, mask], vec![x, mask]));
}

#[test]
fn a_residual_is_overwritten_unless_the_product_reads_it_too() {
    for reads_both in [false, true] {
        let mut build = ModelBuilder::default();
        let (x, w) = (build.input(&[1, 4, 8, 8]), build.weight(&[4, 4, 1, 1]));
        let r = if reads_both { x } else { build.input(&[1, 4, 8, 8]) };
        let y = build.node(conv(), &[x, w]);
        let sum = build.node(add(), &[y, r]);
        let out = build.node(unary(Unary::Relu), &[sum]);
        let found = accesses(&build.finish(&[out]), &[0, 1, 2]).unwrap();
        assert_eq!(found.form, Form::Product { core: 0 });
        assert_eq!(found.overwrites, if reads_both { vec![] } else { vec![r] });
    }
}

#[test]
fn what_is_broadcast_over_the_sums_is_not_overwritten() {
    let mut build = ModelBuilder::default();
    let (x, w, gate) =
        (build.input(&[1, 4, 2, 2]), build.weight(&[1, 4, 2, 2]), build.input(&[4, 1, 1, 1]));
    let y = build.node(conv(), &[x, w]);
    let wide = build.node(mul(), &[y, gate]);
    let refused = accesses(&build.finish(&[wide]), &[0, 1]);
    assert_eq!(refused, Err(FusedFault::Node("t4".to_owned())), "one sum becomes four elements");
}

#[test]
fn a_prologue_is_read_and_never_overwritten() {
    let mut build = ModelBuilder::default();
    let (x, w) = (build.input(&[1, 4, 8, 8]), build.weight(&[4, 4, 1, 1]));
    let [scale, bias, mean, variance] = [(); 4].map(|()| build.weight(&[4]));
    let norm = Operator::BatchNorm(BatchNorm::default());
    let a = build.node(norm, &[x, scale, bias, mean, variance]);
    let b = build.node(unary(Unary::Relu), &[a]);
    let out = build.node(conv(), &[b, w]);
    let found = accesses(&build.finish(&[out]), &[0, 1, 2]).unwrap();
    assert_eq!(found.form, Form::Product { core: 2 });
    assert_eq!(found.inputs, [x, scale, bias, mean, variance, w]);
    assert_eq!(found.overwrites, []);
}

/// `softmax(q kᵀ / 8) v` with heads behind tokens, as transformers have them.
fn attention(build: &mut ModelBuilder) -> [TensorId; 5] {
    let [q, k, v] = [(); 3].map(|()| build.input(&[2, 40, 4, 16]));
    let heads = |build: &mut ModelBuilder, x, perm: [usize; 4]| {
        build.node(Operator::Transpose(Some(perm.to_vec())), &[x])
    };
    let (a, b) = (heads(build, q, [0, 2, 1, 3]), heads(build, k, [0, 2, 3, 1]));
    let scores = build.node(Operator::MatMul, &[a, b]);
    let eighth = build.float(0.125);
    let scaled = build.node(mul(), &[scores, eighth]);
    let weights = build.node(Operator::Softmax(Softmax::along(-1)), &[scaled]);
    let c = heads(build, v, [0, 2, 1, 3]);
    let sums = build.node(Operator::MatMul, &[weights, c]);
    let out = heads(build, sums, [0, 2, 1, 3]);
    [q, k, v, scores, out]
}

#[test]
fn attention_has_a_block_of_scores_as_scratch() {
    let mut build = ModelBuilder::default();
    let [q, k, v, _, out] = attention(&mut build);
    let found = accesses(&build.finish(&[out]), &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
    assert_eq!(found.form, Form::Attention { scores: 2, values: 6 });
    assert_eq!(found.inputs[..2], [q, k]);
    assert!(found.inputs.contains(&v) && found.inputs.len() == 4);
    assert_eq!(found.overwrites, []);
    assert_eq!(found.scratch_bytes, 16 * (16 + 40 + 16 + 16) * 4);
}

#[test]
fn scores_that_others_read_are_not_left_out() {
    let mut build = ModelBuilder::default();
    let [.., scores, out] = attention(&mut build);
    let model = build.finish(&[out, scores]);
    let refused = accesses(&model, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(refused, Err(FusedFault::Read { tensor: model.tensor(scores).name.clone() }));
}

#[test]
fn nodes_that_are_no_step_are_refused() {
    let mut build = ModelBuilder::default();
    let (x, w) = (build.input(&[4, 4]), build.weight(&[4, 4]));
    let a = build.node(unary(Unary::Relu), &[x]);
    let b = build.node(Operator::Softmax(Softmax::along(-1)), &[a]);
    let c = build.node(Operator::MatMul, &[b, w]);
    let d = build.node(Operator::MatMul, &[c, w]);
    let model = build.finish(&[d]);
    let node = |index: usize| Err(FusedFault::Node(model.body.nodes[index].name.clone()));
    assert_eq!(accesses(&model, &[]), Err(FusedFault::Order));
    assert_eq!(accesses(&model, &[1, 0]), Err(FusedFault::Order));
    assert_eq!(accesses(&model, &[9]), Err(FusedFault::Order));
    assert_eq!(accesses(&model, &[0, 1]), node(1), "a softmax is no element by itself");
    assert_eq!(accesses(&model, &[1, 2]), node(1), "nor what a product reads through");
    assert_eq!(accesses(&model, &[2, 3]), node(3), "two products have a softmax between them");
    assert_eq!(accesses(&model, &[0, 3]), node(0), "nobody of them reads what the first makes");
}

#[test]
fn a_node_of_a_prologue_runs_by_itself_where_others_read_it() {
    let mut build = ModelBuilder::default();
    let (x, w) = (build.input(&[1, 4, 8, 8]), build.weight(&[4, 4, 1, 1]));
    let a = build.node(unary(Unary::Relu), &[x]);
    let b = build.node(conv(), &[a, w]);
    let c = build.node(conv(), &[a, w]);
    let d = build.node(unary(Unary::Relu), &[c]);
    let model = build.finish(&[b, d]);
    let Inferred { facts, statics, order, .. } = infer(&model, &Bindings::default()).unwrap();
    let wiring = Wiring::new(&model, &order);
    let fusing = Fusing {
        model: &model,
        facts: &facts,
        statics: &statics,
        wiring: &wiring,
        kernels: &AllKernels,
    };
    let step = |nodes: &[usize]| FusedStep { nodes: nodes.to_vec() };
    let own = |steps: &[FusedStep]| fusing.own_steps(steps);
    assert_eq!(own(&[]), [true; 4]);
    assert_eq!(own(&[step(&[0, 1])]), [true, false, true, true], "the second convolution reads it");
    assert_eq!(own(&[step(&[0, 1]), step(&[0, 2, 3])]), [false; 4]);
}

#[test]
fn the_graph_has_one_node_for_a_step_and_no_value_inside() {
    let mut build = ModelBuilder::default();
    let (x, w) = (build.input(&[1, 4, 8, 8]), build.weight(&[4, 4, 1, 1]));
    let y = build.node(conv(), &[x, w]);
    let out = build.node(unary(Unary::Relu), &[y]);
    let model = build.finish(&[out]);
    let inferred = infer(&model, &Bindings::default()).unwrap();
    let fused = inferred.fused(&model, &[FusedStep { nodes: vec![0, 1] }]).unwrap();
    let [node] = fused.graph.nodes() else { panic!("one node") };
    assert_eq!((&node.name[..], &node.kind[..]), ("t3", "Node+Node"));
    assert_eq!(node.notes["fused"], "t2 t3");
    assert_eq!(fused.values[y.index()], None);
    assert_eq!(fused.graph.value(fused.values[out.index()].unwrap()).name, "t3");
}
