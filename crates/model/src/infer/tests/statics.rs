//! What can be computed once.

use super::super::statics;
use super::*;
use crate::model::{Binary, Random, Unary};

const OTHER: Operator = Operator::Unary(Unary::Exp);

/// Which of these are the same in every run.
fn same(build: Build, ids: &[TensorId]) -> Vec<bool> {
    let model = build.finish(ids);
    let statics = statics(&model, &all(&model));
    ids.iter().map(|id| statics[id.index()]).collect()
}

#[test]
fn what_depends_on_weights_alone_is_static() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[2]);
    let weight = build.model.add(Tensor::stored("weight", Dtype::F32, &[2]));
    let packed = build.node(OTHER, &[weight]);
    let y = build.node(Operator::Binary(Binary::Mul), &[x, packed]);
    let shape = build.node(Operator::Shape { start: 0, end: None }, &[y]);
    let ids = [x, weight, packed, y, shape];
    assert_eq!(same(build, &ids), [false, true, true, false, true]);
}

#[test]
fn what_is_random_is_not() {
    let mut build = Build::new();
    let weight = build.model.add(Tensor::stored("weight", Dtype::F32, &[2]));
    let noise = build.node(Operator::RandomLike(Random::default()), &[weight]);
    let sum = build.node(Operator::Binary(Binary::Add), &[weight, noise]);
    let tossed = build.node(Operator::Bernoulli { dtype: None, seed: None }, &[weight]);
    let ratio = build.stored(Dtype::F32, &[], Content::Floats(vec![0.5]));
    let (on, off) = (build.truth(true), build.truth(false));
    let dropped = build.node(Operator::Dropout { early_mask: false }, &[weight, ratio, on]);
    let kept = build.node(Operator::Dropout { early_mask: false }, &[weight, ratio, off]);
    let ids = [noise, sum, tossed, dropped, kept];
    assert_eq!(same(build, &ids), [false, false, false, false, true]);
}

/// A loop over `first` whose body also reads `read`: what it makes, what is inside that depends on
/// what it carries, and what is inside that does not.
fn looping(build: &mut Build, first: TensorId, read: TensorId) -> [TensorId; 3] {
    let weight = build.model.add(Tensor::stored("inner", Dtype::F32, &[2]));
    let trips = build.scalar(3);
    build.open();
    let ins: Vec<TensorId> = (0..3).map(|_| build.handed_in()).collect();
    let inside = build.node(OTHER, &[weight]);
    let sum = build.node(Operator::Binary(Binary::Add), &[ins[2], read]);
    let sum = build.node(Operator::Binary(Binary::Add), &[sum, inside]);
    let body = build.close(&ins, &[ins[1], sum]);
    let inputs = vec![Some(trips), None, Some(first)];
    let y = build.optional(Operator::Loop(Box::new(body)), inputs, 1)[0];
    [y, sum, inside]
}

#[test]
fn a_loop_is_static_only_as_a_whole() {
    let ends = |read_varies: bool, first_varies: bool| {
        let mut build = Build::new();
        let x = build.known("x", Dtype::F32, &[2]);
        let weight = build.model.add(Tensor::stored("weight", Dtype::F32, &[2]));
        let first = if first_varies { x } else { weight };
        let read = if read_varies { x } else { weight };
        let [y, sum, inside] = looping(&mut build, first, read);
        let model = build.finish(&[y]);
        let statics = statics(&model, &all(&model));
        [y, sum, inside].map(|id| statics[id.index()])
    };
    assert_eq!(ends(false, false), [true, true, true]);
    assert_eq!(ends(true, false), [false, false, true]);
    assert_eq!(ends(false, true), [false, false, true]);
}
