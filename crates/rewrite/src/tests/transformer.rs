//! Transformers in parts: they compute the same to the last bit.

use std::ops::ControlFlow;

use plimsoll_model::{Binary, Bindings, LayerNorm, Model, Operator, Softmax, TensorId, Unary};

use super::net::Net;
use super::values::run;
use crate::parts::{InParts, Look, in_parts_of_parts, made_apart};
use crate::{FitOptions, Goal, Rewritten, fit};

const TOKENS: u64 = 24;
const HEADS: u64 = 4;
const WIDTH: u64 = 32;

/// From a row to a row.
fn dense(net: &mut Net, x: TensorId, from: u64, to: u64) -> TensorId {
    let (weights, bias) = (net.weights(&[from, to]), net.weights(&[to]));
    let product = net.node(Operator::MatMul, &[x, weights]);
    net.add(bias, product)
}

fn norm(net: &mut Net, x: TensorId) -> TensorId {
    let (scale, bias) = (net.weights(&[WIDTH]), net.weights(&[WIDTH]));
    net.node(Operator::LayerNorm(LayerNorm::default()), &[x, scale, bias])
}

/// Rows as heads, with axes permuted.
fn heads(net: &mut Net, x: TensorId, permutation: [usize; 4]) -> TensorId {
    let dims = net.ints(&[1, -1, HEADS.cast_signed(), (WIDTH / HEADS).cast_signed()]);
    let split = net.node(Operator::Reshape { allow_zero: false }, &[x, dims]);
    net.node(Operator::Transpose(Some(permutation.to_vec())), &[split])
}

fn attention(net: &mut Net, x: TensorId) -> TensorId {
    let [q, k, v] = [0; 3].map(|_| dense(net, x, WIDTH, WIDTH));
    let q = heads(net, q, [0, 2, 1, 3]);
    let k = heads(net, k, [0, 2, 3, 1]);
    let v = heads(net, v, [0, 2, 1, 3]);
    let scores = net.node(Operator::MatMul, &[q, k]);
    let shares = net.node(Operator::Softmax(Softmax::along(-1)), &[scores]);
    let seen = net.node(Operator::MatMul, &[shares, v]);
    let seen = net.node(Operator::Transpose(Some(vec![0, 2, 1, 3])), &[seen]);
    let dims = net.ints(&[1, TOKENS.cast_signed(), WIDTH.cast_signed()]);
    let rows = net.node(Operator::Reshape { allow_zero: false }, &[seen, dims]);
    dense(net, rows, WIDTH, WIDTH)
}

fn perceptron(net: &mut Net, x: TensorId) -> TensorId {
    let wide = dense(net, x, WIDTH, 4 * WIDTH);
    let erf = net.node(Operator::Unary(Unary::Erf), &[wide]);
    let wide = net.node(Operator::Binary(Binary::Mul), &[wide, erf]);
    dense(net, wide, 4 * WIDTH, WIDTH)
}

fn transformer() -> Model {
    let mut net = Net::default();
    let mut x = net.input(&[1, TOKENS, WIDTH]);
    x = norm(&mut net, x);
    for _ in 0..2 {
        let seen = attention(&mut net, x);
        let sum = net.add(x, seen);
        let middle = norm(&mut net, sum);
        let thought = perceptron(&mut net, middle);
        let sum = net.add(middle, thought);
        x = norm(&mut net, sum);
    }
    net.finish(&[x])
}

#[test]
fn parts_compute_the_same() {
    let model = transformer();
    let expected = run(&model, &model, 1);
    let source = Rewritten::unchanged(model.clone());
    for target in [0, 9_000, 11_000, 14_000] {
        for (in_place, deep) in [(false, false), (true, false), (true, true)] {
            let look = Look { in_place, deep };
            let how = InParts { look, target };
            let parted = in_parts_of_parts(&source, &Bindings::default(), how);
            let parted = parted.expect("shapes").expect("there are large tensors");
            assert!(
                parted.rewritten.regions.len() >= 2,
                "{target}: {:?}",
                parted.rewritten.regions
            );
            assert_eq!(run(&parted.rewritten.model, &model, 1), expected, "{target}, {look:?}");
        }
    }
}

/// Attention of tokens to themselves without projections: a node reads all rows, another one those of its part.
fn tied() -> Model {
    let mut net = Net::default();
    let x = net.input(&[1, TOKENS, WIDTH]);
    let x = norm(&mut net, x);
    let mut y = x;
    for _ in 0..2 {
        let turned = net.node(Operator::Transpose(Some(vec![0, 2, 1])), &[y]);
        let scores = net.node(Operator::MatMul, &[y, turned]);
        let shares = net.node(Operator::Softmax(Softmax::along(-1)), &[scores]);
        let seen = net.node(Operator::MatMul, &[shares, y]);
        let thought = perceptron(&mut net, seen);
        let sum = net.add(y, thought);
        y = norm(&mut net, sum);
    }
    net.finish(&[y])
}

#[test]
fn what_is_read_whole_and_in_parts_computes_the_same() {
    let model = tied();
    let expected = run(&model, &model, 2);
    let source = Rewritten::unchanged(model.clone());
    for (in_place, deep) in [(false, false), (true, false), (true, true)] {
        let look = Look { in_place, deep };
        let how = InParts { look, target: 0 };
        let parted = in_parts_of_parts(&source, &Bindings::default(), how).expect("shapes");
        let parted = parted.expect("the perceptron is large");
        assert_eq!(run(&parted.rewritten.model, &model, 2), expected, "{look:?}");
    }
}

#[test]
fn a_transformer_takes_three_times_its_tokens() {
    let model = transformer();
    let options = FitOptions::new(Goal::Frontier);
    let mut pulse = || ControlFlow::Continue(());
    let frontier = fit(&model, &Bindings::default(), &options, &mut pulse).expect("it is planned");
    let point = frontier.at_most(0.0).expect("there is a point");
    let tokens = 4 * TOKENS * WIDTH;
    // The perceptron before and behind its activation, beside the tokens that are added to it.
    assert_eq!(frontier.source_arena_bytes, 9 * tokens);
    assert!(point.arena_bytes <= 3 * tokens + tokens / 4, "{} of {tokens}", point.arena_bytes);
    assert_eq!(point.multiply_adds, frontier.source_multiply_adds);
}

/// Queries, keys and values as one product that is taken apart.
fn joined() -> Model {
    let mut net = Net::default();
    let x = net.input(&[1, TOKENS, WIDTH]);
    let x = norm(&mut net, x);
    let wide = dense(&mut net, x, WIDTH, 3 * WIDTH);
    let (heads, size) = (HEADS.cast_signed(), (WIDTH / HEADS).cast_signed());
    let dims = net.ints(&[TOKENS.cast_signed(), 3, heads, size]);
    let split = net.node(Operator::Reshape { allow_zero: false }, &[wide, dims]);
    let turned = net.node(Operator::Transpose(Some(vec![1, 2, 0, 3])), &[split]);
    let [q, k, v] = [0, 1, -1].map(|index| {
        let index = net.index(index);
        net.node(Operator::Gather { axis: 0 }, &[turned, index])
    });
    let k = net.node(Operator::Transpose(Some(vec![0, 2, 1])), &[k]);
    let scores = net.node(Operator::MatMul, &[q, k]);
    let shares = net.node(Operator::Softmax(Softmax::along(-1)), &[scores]);
    let seen = net.node(Operator::MatMul, &[shares, v]);
    net.finish(&[seen])
}

#[test]
fn joined_projections_are_made_apart() {
    let model = joined();
    let source = Rewritten::unchanged(model.clone());
    let apart = made_apart(&source, &Bindings::default()).expect("shapes").expect("one is joined");
    let products = |model: &Model| {
        model.body.nodes.iter().filter(|node| node.operator == Operator::MatMul).count()
    };
    assert_eq!((products(&model), products(&apart.model)), (3, 5));
    assert_eq!(run(&apart.model, &model, 4), run(&model, &model, 4));
    assert_eq!(made_apart(&apart, &Bindings::default()).expect("shapes"), None);
}
