//! Branches and iterations.

use super::*;
use crate::model::{Binary, Branches, Iteration, Unary};

fn if_of(then: Body, otherwise: Body) -> Operator {
    Operator::If(Box::new(Branches { then, otherwise }))
}

/// A node that makes `[2, 3]` or `[2, 5]` of two outer tensors, and both its branches' results.
fn branching(build: &mut Build, condition: TensorId) -> [TensorId; 3] {
    let a = build.known("a", Dtype::F32, &[2, 3]);
    let b = build.known("b", Dtype::F32, &[2, 5]);
    build.open();
    let one = build.node(Operator::Unary(Unary::Exp), &[a]);
    let then = build.close(&[], &[one]);
    build.open();
    let other = build.node(Operator::Unary(Unary::Exp), &[b]);
    let otherwise = build.close(&[], &[other]);
    let y = build.node(if_of(then, otherwise), &[condition]);
    [y, one, other]
}

#[test]
fn a_known_condition_takes_its_branch() {
    for (truth, len) in [(true, 3), (false, 5)] {
        let mut build = Build::new();
        let condition = build.truth(truth);
        let [y, then, otherwise] = branching(&mut build, condition);
        let facts = all(&build.finish(&[y]));
        assert_eq!(facts[y.index()].shape, Some(Shape::from([2, len])));
        let skipped = if truth { otherwise } else { then };
        assert_eq!(facts[skipped.index()], Fact::default());
    }
}

#[test]
fn an_unknown_condition_joins_its_branches() {
    let mut build = Build::new();
    let condition = build.known("condition", Dtype::Bool, &[]);
    let [y, ..] = branching(&mut build, condition);
    let shape = Shape(vec![Dim::Known(2), Dim::AtMost(5)]);
    assert_eq!(found(build, y), Fact::new(Dtype::F32, shape));
}

/// How a loop begins and goes on.
#[derive(Clone, Copy)]
struct Turns {
    trips: Option<i64>,
    condition: Option<bool>,
    /// Whether the body hands out the condition that it is given.
    goes_on: bool,
}

/// A loop that carries `x` and a tensor that grows, and collects a scalar. What it makes.
fn looping(turns: Turns) -> [Fact; 4] {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[4]);
    let trips = turns.trips.map(|trips| build.scalar(trips));
    let condition = turns.condition.map(|truth| build.truth(truth));
    let unknown = build.known("unknown", Dtype::Bool, &[]);
    let zero = build.scalar(0);
    build.open();
    let ins: Vec<TensorId> = (0..5).map(|_| build.handed_in()).collect();
    let same = build.node(Operator::Unary(Unary::Exp), &[ins[2]]);
    let longer = build.node(Operator::Concat { axis: 0 }, &[ins[3], x]);
    let one = build.scalar(1);
    let count = build.node(Operator::Binary(Binary::Add), &[ins[4], one]);
    let goes_on = build.node(Operator::Identity, &[if turns.goes_on { ins[1] } else { unknown }]);
    let body = build.close(&ins, &[goes_on, same, longer, count, ins[0]]);
    let inputs = vec![trips, condition, Some(x), Some(x), Some(zero)];
    let outputs = build.optional(Operator::Loop(Box::new(body)), inputs, 4);
    let facts = all(&build.finish(&outputs));
    [0, 1, 2, 3].map(|index| facts[outputs[index].index()].clone())
}

#[test]
fn what_a_loop_changes_is_not_known() {
    let turns = Turns { trips: Some(3), condition: None, goes_on: true };
    let [same, longer, count, trips] = looping(turns);
    assert_eq!(same, Fact::new(Dtype::F32, [4]));
    assert_eq!(longer, Fact::new(Dtype::F32, Shape(vec![Dim::Unknown])));
    assert_eq!(count, Fact::new(Dtype::I64, Shape::default()));
    assert_eq!(trips, Fact::new(Dtype::I64, [3]));
}

#[test]
fn what_a_loop_collects_is_as_long_as_it_runs() {
    let collected = |trips, condition, goes_on| {
        let [.., collected] = looping(Turns { trips, condition, goes_on });
        collected.shape.expect("a list").0[0].clone()
    };
    assert_eq!(collected(Some(3), None, true), Dim::Known(3));
    assert_eq!(collected(Some(3), Some(true), true), Dim::Known(3));
    assert_eq!(collected(Some(3), Some(true), false), Dim::AtMost(3));
    assert_eq!(collected(Some(3), Some(false), true), Dim::Known(0));
    assert_eq!(collected(Some(0), None, false), Dim::Known(0));
    assert_eq!(collected(Some(-7), None, true), Dim::Known(0));
    assert_eq!(collected(None, Some(true), true), Dim::Unknown);
    assert_eq!(collected(None, None, false), Dim::Unknown);
}

#[test]
fn elements_that_a_loop_does_not_change_stay_known() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[12]);
    let (trips, target) = (build.scalar(5), build.list(&[3, 4]));
    build.open();
    let ins: Vec<TensorId> = (0..3).map(|_| build.handed_in()).collect();
    let body = build.close(&ins, &[ins[1], ins[2]]);
    let target =
        build.optional(Operator::Loop(Box::new(body)), vec![Some(trips), None, Some(target)], 1)[0];
    let y = build.node(Operator::Reshape { allow_zero: false }, &[x, target]);
    assert_eq!(found_dims(build, y), [3, 4]);
}

/// Loops in loops, each of which carries what the inner one makes.
fn nested_loops(build: &mut Build, depth: usize, x: TensorId) -> TensorId {
    let trips = build.scalar(2);
    build.open();
    let ins: Vec<TensorId> = (0..3).map(|_| build.handed_in()).collect();
    let made = match depth {
        0 => build.node(Operator::Concat { axis: 0 }, &[ins[2], ins[2]]),
        _ => nested_loops(build, depth - 1, ins[2]),
    };
    let body = build.close(&ins, &[ins[1], made]);
    build.optional(Operator::Loop(Box::new(body)), vec![Some(trips), None, Some(x)], 1)[0]
}

#[test]
fn deep_loops_end_soon() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[4, 6]);
    let y = nested_loops(&mut build, 100, x);
    assert_eq!(found(build, y).dtype, Some(Dtype::F32));
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[4, 6]);
    let y = nested_loops(&mut build, 1, x);
    let shape = Shape(vec![Dim::Unknown, Dim::Known(6)]);
    assert_eq!(found(build, y), Fact::new(Dtype::F32, shape));
}

/// A scan over the middle axis of `[2, 5, 3]` whose state is `[2, 3]`.
fn scanning(output_axis: i64) -> [Fact; 2] {
    let mut build = Build::new();
    let first = build.known("first", Dtype::F32, &[2, 3]);
    let sequence = build.known("sequence", Dtype::F32, &[2, 5, 3]);
    build.open();
    let (state, element) = (build.handed_in(), build.handed_in());
    let sum = build.node(Operator::Binary(Binary::Add), &[state, element]);
    let body = build.close(&[state, element], &[sum, sum]);
    let iteration = Iteration {
        body,
        sequences: 1,
        input_axes: vec![-2],
        output_axes: vec![output_axis],
        input_reversed: vec![false],
        output_reversed: vec![false],
    };
    let outputs = build.nodes(Operator::Scan(Box::new(iteration)), &[first, sequence], 2);
    let facts = all(&build.finish(&outputs));
    [0, 1].map(|index| facts[outputs[index].index()].clone())
}

#[test]
fn a_scan_takes_sequences_apart_and_puts_results_together() {
    for (axis, collected) in [(0, [5, 2, 3]), (-1, [2, 3, 5]), (1, [2, 5, 3])] {
        let expected = [Fact::new(Dtype::F32, [2, 3]), Fact::new(Dtype::F32, collected)];
        assert_eq!(scanning(axis), expected);
    }
}

/// A node of which one branch, or both, puts `[4]` and `[3]` together.
fn misfitting(build: &mut Build, misfits: [bool; 2]) -> TensorId {
    let condition = build.known("condition", Dtype::Bool, &[]);
    let four = build.known("four", Dtype::F32, &[4]);
    let three = build.known("three", Dtype::F32, &[3]);
    let bodies = misfits.map(|misfits| {
        build.open();
        let other = if misfits { three } else { four };
        let sum = build.node(Operator::Binary(Binary::Add), &[four, other]);
        build.close(&[], &[sum])
    });
    let [then, otherwise] = bodies;
    build.node(if_of(then, otherwise), &[condition])
}

#[test]
fn a_branch_that_cannot_run_does_not_count() {
    for (misfits, branch) in [([true, false], Branch::Then), ([false, true], Branch::Else)] {
        let mut build = Build::new();
        let y = misfitting(&mut build, misfits);
        let model = build.finish(&[y]);
        let found = super::super::found(&model, &Bindings::default(), &Ranged::default())
            .expect("one branch can run");
        assert_eq!(found.facts[y.index()], Fact::new(Dtype::F32, [4]));
        let refused: Vec<Branch> = found.refused.iter().map(|refused| refused.branch).collect();
        assert_eq!(refused, [branch]);
    }
    let mut build = Build::new();
    let y = misfitting(&mut build, [true, true]);
    let error = facts(&build.finish(&[y]), &Bindings::default()).expect_err("neither can run");
    assert!(matches!(error, ShapeError::Node { .. }), "{error}");
}

#[test]
fn what_cannot_run_in_the_first_round_may_in_the_next() {
    let mut build = Build::new();
    let three = build.known("three", Dtype::F32, &[3]);
    let condition = build.known("condition", Dtype::Bool, &[]);
    let trips = build.known("trips", Dtype::I64, &[]);
    build.open();
    let ins: Vec<TensorId> = (0..3).map(|_| build.handed_in()).collect();
    // Of [3] there is no [4], but of what becomes longer there may be.
    build.open();
    let four = build.list(&[4]);
    let reshaped = build.node(Operator::Reshape { allow_zero: false }, &[ins[2], four]);
    let then = build.close(&[], &[reshaped]);
    build.open();
    let longer = build.node(Operator::Concat { axis: 0 }, &[ins[2], three]);
    let otherwise = build.close(&[], &[longer]);
    let next = build.node(if_of(then, otherwise), &[condition]);
    let body = build.close(&ins, &[ins[1], next]);
    let inputs = vec![Some(trips), None, Some(three)];
    let outputs = build.optional(Operator::Loop(Box::new(body)), inputs, 1);
    let model = build.finish(&outputs);
    let found = super::super::found(&model, &Bindings::default(), &Ranged::default())
        .expect("a good model");
    assert_eq!(found.refused, []);
}

#[test]
fn the_nodes_of_a_loop_or_of_branches_are_a_block() {
    let mut build = Build::new();
    let x = build.known("x", Dtype::F32, &[4, 6]);
    let before = build.node(Operator::Unary(Unary::Exp), &[x]);
    let looped = nested_loops(&mut build, 2, before);
    let condition = build.known("condition", Dtype::Bool, &[]);
    let [y, ..] = branching(&mut build, condition);
    let graph = crate::lower::infer(&build.finish(&[looped, y]), &Bindings::default());
    let graph = graph.expect("shapes that can be found").graph;
    let blocks: Vec<Option<u32>> = graph.nodes().iter().map(|node| node.block).collect();
    // The unary; three loops that begin, a concat, and three that end; two branches and their node.
    let expected =
        [(1, None), (7, Some(0)), (3, Some(1))].map(|(nodes, block)| vec![block; nodes]).concat();
    assert_eq!(blocks, expected);
}
