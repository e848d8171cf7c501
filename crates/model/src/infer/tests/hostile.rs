//! Models that do not hang together.

use super::*;
use crate::model::{Branches, Iteration};

fn error(model: &Model) -> String {
    facts(model, &Bindings::default()).expect_err("a bad model").to_string()
}

#[test]
fn nodes_may_be_listed_in_any_order() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[2, 3]);
    let y = build.node(Operator::Transpose(None), &[x]);
    let z = build.node(Operator::Identity, &[y]);
    build.open[0].reverse();
    assert_eq!(found_dims(build, z), [3, 2]);
}

#[test]
fn what_a_body_reads_is_made_before() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[2, 3]);
    let condition = build.truth(true);
    let y = build.node(Operator::Transpose(None), &[x]);
    build.open();
    let then = build.close(&[], &[y]);
    build.open();
    let otherwise = build.close(&[], &[x]);
    let branches = Branches { then, otherwise };
    let z = build.node(Operator::If(Box::new(branches)), &[condition]);
    build.open[0].reverse();
    assert_eq!(found_dims(build, z), [3, 2]);
}

#[test]
fn a_cycle_is_an_error() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[2]);
    let y = build.node(Operator::Identity, &[x]);
    let z = build.node(Operator::Identity, &[y]);
    build.open[0][0].inputs = vec![Some(z)];
    let expected = "node `n3` never runs: it, or what it waits for, waits for itself";
    assert_eq!(error(&build.finish(&[z])), expected);
}

#[test]
fn ids_are_in_range() {
    let far = TensorId(77);
    let mut build = Build::new();
    build.node(Operator::Identity, &[far]);
    assert_eq!(error(&build.finish(&[])), "node `n2`: there is no tensor 77");
    assert_eq!(error(&Build::new().finish(&[far])), "the model: there is no tensor 77");
    let mut build = Build::new();
    build.model.body.inputs.push(far);
    assert_eq!(error(&build.finish(&[])), "the model: there is no tensor 77");
}

#[test]
fn a_tensor_is_made_once() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[2]);
    build.node(Operator::Identity, &[x]);
    build.open[0][0].outputs = vec![Some(x)];
    assert_eq!(error(&build.finish(&[])), "node `n3`: tensor `x` is made already");
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[2]);
    build.model.body.inputs.push(x);
    assert_eq!(error(&build.finish(&[])), "the model: tensor `x` is made already");
}

#[test]
fn a_tensor_comes_from_somewhere() {
    let mut build = Build::new();
    let nowhere = build.model.add(Tensor::computed("nowhere"));
    build.node(Operator::Identity, &[nowhere]);
    assert_eq!(error(&build.finish(&[])), "node `n2`: nothing makes tensor `nowhere` there");
    let mut build = Build::new();
    let nowhere = build.model.add(Tensor::computed("nowhere"));
    assert_eq!(error(&build.finish(&[nowhere])), "the model: nothing makes tensor `nowhere` there");
}

#[test]
fn a_body_is_not_seen_from_outside() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[2]);
    let condition = build.truth(true);
    build.open();
    let inside = build.node(Operator::Identity, &[x]);
    let then = build.close(&[], &[inside]);
    let otherwise = Body { outputs: vec![x], ..Body::default() };
    build.node(Operator::If(Box::new(Branches { then, otherwise })), &[condition]);
    build.node(Operator::Identity, &[inside]);
    assert_eq!(error(&build.finish(&[])), "node `n8`: nothing makes tensor `v3` there");
}

#[test]
fn bodies_are_not_nested_without_end() {
    let mut body = Body::default();
    for level in 0..200 {
        let branches = Branches { then: body, otherwise: Body::default() };
        let node = ModelNode {
            name: format!("n{level}"),
            kind: String::new(),
            operator: Operator::If(Box::new(branches)),
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        body = Body { nodes: vec![node], ..Body::default() };
    }
    let model = Model { tensors: Vec::new(), body };
    assert_eq!(error(&model), "node `n71`: bodies are nested more than 128 deep");
}

/// A node with a body that takes and makes what it should not.
fn odd(operator: impl Fn(Body) -> Operator, inputs: usize, takes: usize, makes: usize) -> String {
    let mut build = Build::new();
    let x = build.known("x", Dtype::I64, &[2]);
    let handed_in: Vec<TensorId> = (0..takes).map(|_| build.handed_in()).collect();
    let body = Body { inputs: handed_in, outputs: vec![x; makes], nodes: Vec::new() };
    build.nodes(operator(body), &vec![x; inputs], 1);
    let error = error(&build.finish(&[]));
    error.split_once(": ").expect("a node").1.to_owned()
}

#[test]
fn bodies_fit_their_nodes() {
    let branch = |body| Operator::If(Box::new(Branches { then: body, otherwise: Body::default() }));
    assert_eq!(odd(branch, 1, 0, 0), "a branch makes 0 outputs, not 1");
    assert_eq!(odd(branch, 1, 2, 1), "a branch takes 2 inputs, not 0");
    let repeat = |body| Operator::Loop(Box::new(body));
    assert_eq!(odd(repeat, 2, 1, 1), "the body does not take a trip and a condition");
    assert_eq!(odd(repeat, 2, 2, 0), "the body does not make a condition");
    assert_eq!(odd(repeat, 3, 3, 1), "there are 0 results of the body, but 1 are needed");
    assert_eq!(odd(repeat, 4, 3, 2), "there are 3 inputs of the body, but 4 are needed");
    assert_eq!(odd(repeat, 2, 3, 2), "input 2 is missing");
    let scan = |sequences: usize, axis: i64| {
        move |body| {
            let (input_axes, output_axes) = (vec![axis], vec![axis]);
            Operator::Scan(Box::new(Iteration {
                body,
                sequences,
                input_axes,
                output_axes,
                input_reversed: Vec::new(),
                output_reversed: Vec::new(),
            }))
        }
    };
    assert_eq!(odd(scan(3, 0), 2, 2, 1), "there are fewer inputs than 3 sequences");
    assert_eq!(odd(scan(1, 0), 2, 1, 1), "the body takes 1 inputs, not 2");
    assert_eq!(odd(scan(1, 1), 1, 1, 1), "a sequence of 1 axes has no axis 1");
    assert_eq!(odd(scan(1, 0), 2, 2, 0), "there are 0 outputs of the body, but 1 are needed");
}

#[test]
fn sequences_are_equally_long() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[2]);
    let y = build.known("y", Dtype::F32, &[3]);
    let inputs = vec![build.handed_in(), build.handed_in()];
    let body = Body { outputs: vec![x], inputs, nodes: Vec::new() };
    let iteration = Iteration {
        body,
        sequences: 2,
        input_axes: Vec::new(),
        output_axes: Vec::new(),
        input_reversed: Vec::new(),
        output_reversed: Vec::new(),
    };
    build.node(Operator::Scan(Box::new(iteration)), &[x, y]);
    assert!(error(&build.finish(&[])).ends_with("the sequences are not equally long"));
}

#[test]
fn branches_make_one_type() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[2]);
    let y = build.known("y", Dtype::I64, &[2]);
    let condition = build.known("condition", Dtype::Bool, &[]);
    let branch = |id| Body { outputs: vec![id], ..Body::default() };
    let branches = Branches { then: branch(x), otherwise: branch(y) };
    build.node(Operator::If(Box::new(branches)), &[condition]);
    assert!(error(&build.finish(&[])).ends_with("its bodies make f32 and i64 of one tensor"));
}

#[test]
fn large_tensors_are_reckoned_with_only_for_a_while() {
    let mut build = Build::new();
    let (large, small) = (build.list(&[1 << 16]), build.list(&[3]));
    let fill = Operator::Fill { dtype: Dtype::I64, value: 1.0, bits: 1 };
    let first = build.node(fill.clone(), &[large]);
    let mut last = first;
    for _ in 0..200 {
        last = build.node(Operator::Identity, &[last]);
    }
    let after = build.node(fill, &[small]);
    build.open[0].last_mut().expect("a node").inputs.push(Some(last));
    let facts = all(&build.finish(&[after]));
    assert!(facts[first.index()].is_constant());
    assert_eq!(facts[last.index()], Fact::new(Dtype::I64, [1 << 16]));
    assert!(facts[after.index()].is_constant());
}
