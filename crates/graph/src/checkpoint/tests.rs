//! Checkpoints of small training graphs: outputs stay what they were, and arenas fall.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use plimsoll::ValueId;
use plimsoll_pack::testing::Rng;

use super::*;
use crate::graph::{GraphBuilder, Value};
use crate::op::Op;
use crate::{Dtype, Shape};

/// A chain of layers and its backward pass: each layer is a product and an activation, which the second half reads.
fn chain(layers: usize, rng: &mut Rng) -> Graph {
    let mut builder = GraphBuilder::new();
    let size = |rng: &mut Rng| Shape::from(&[16 * (1 + rng.below(8))][..]);
    let add =
        |builder: &mut GraphBuilder, name: String, op: Op, shape: Shape, inputs: &[ValueId]| {
            let made = builder.value(Value::new(&name, Dtype::F32, shape)).unwrap();
            builder.node(Node::new(&name, op, inputs, &[made]).with_kind(name.clone())).unwrap();
            made
        };
    let mut x = builder
        .value(Value::new("x", Dtype::F32, Shape::from(&[16][..])).with_role(plimsoll::Role::Input))
        .unwrap();
    let mut kept = Vec::new();
    for layer in 0..layers {
        let shape = size(rng);
        let product =
            add(&mut builder, format!("product {layer}"), Op::Custom, shape.clone(), &[x]);
        let skip = if layer > 1 && rng.below(3) == 0 { Some(kept[layer - 2]) } else { None };
        let inputs: Vec<ValueId> = [product].into_iter().chain(skip.map(|(_, y)| y)).collect();
        let y = add(&mut builder, format!("relu {layer}"), Op::Variadic, shape, &inputs);
        kept.push((product, y));
        x = y;
    }
    let mut gradient =
        add(&mut builder, "loss".to_owned(), Op::Custom, Shape::from(&[16][..]), &[x]);
    for (layer, (product, y)) in kept.into_iter().enumerate().rev() {
        let shape = builder.value_mut(product).shape.clone();
        let inputs = [gradient, product, y];
        gradient = add(&mut builder, format!("back {layer}"), Op::Custom, shape, &inputs);
    }
    builder.output(gradient);
    builder.finish().unwrap()
}

/// What outputs are made of: every node makes a token of its kind and of what it reads.
fn tokens(graph: &Graph) -> Vec<String> {
    let mut made: BTreeMap<ValueId, u64> = BTreeMap::new();
    let mut numbers: BTreeMap<(String, Vec<u64>, usize), u64> = BTreeMap::new();
    let mut texts = Vec::new();
    for node in crate::topological_order(graph) {
        let node = graph.node(node);
        let read: Vec<u64> =
            node.reads().map(|read| made.get(&read).map_or(0, |at| at + 1)).collect();
        for (slot, output) in node.outputs.iter().enumerate() {
            let key = (node.kind.clone(), read.clone(), slot);
            let next = texts.len() as u64;
            let number = *numbers.entry(key.clone()).or_insert(next);
            if number == next {
                texts.push(format!("{key:?}"));
            }
            made.extend(output.map(|output| (output, number)));
        }
    }
    let text = |output: &ValueId| texts[usize::try_from(made[output]).unwrap()].clone();
    graph.outputs().iter().map(text).collect()
}

fn found(graph: &Graph, is_repeatable: &dyn Fn(&Node) -> bool) -> Checkpoints {
    let case = Case::by_rules(graph.clone());
    checkpoint(&case, is_repeatable, &mut || ControlFlow::Continue(())).unwrap()
}

#[test]
fn outputs_are_made_of_the_same_and_arenas_fall() {
    let (mut points, mut halved) = (0, 0);
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let layers = 8 + usize::try_from(rng.below(40)).unwrap();
        let graph = chain(layers, &mut rng);
        let found = found(&graph, &|node| node.name != "loss");
        let expected = tokens(&graph);
        for point in &found.points {
            assert_eq!(tokens(&point.graph), expected, "seed {seed}");
            let more: u64 = point
                .recomputed
                .iter()
                .map(|again| {
                    let outputs = graph.node(again.node).results();
                    outputs
                        .map(|value| graph.value(value).native_size().known().unwrap())
                        .sum::<u64>()
                })
                .sum();
            assert_eq!(point.written_bytes, found.source_written_bytes + more, "seed {seed}");
            points += 1;
        }
        let falls = |pair: &[Checkpointed]| {
            pair[1].arena_bytes < pair[0].arena_bytes
                && pair[1].written_bytes > pair[0].written_bytes
        };
        assert!(found.points.windows(2).all(falls), "seed {seed}");
        let even = found.even.as_ref().map(|even| (even.arena_bytes, even.written_bytes));
        let (least, most) = (&found.points[found.points.len() - 1], even.expect("segments"));
        assert!(least.arena_bytes <= most.0, "seed {seed}: {} {most:?}", least.arena_bytes);
        halved += u64::from(2 * least.arena_bytes <= found.source_arena_bytes);
    }
    assert!(points > 120 && halved > 20, "{points} {halved}");
}

#[test]
fn what_cannot_be_computed_again_is_kept() {
    let graph = chain(20, &mut Rng::new(1));
    assert_eq!(found(&graph, &|_| false).points.len(), 1);
    let found = found(&graph, &|node| node.name != "product 7");
    assert!(found.points.len() > 1);
    let names = |point: &Checkpointed| -> Vec<String> {
        point.recomputed.iter().map(|again| graph.node(again.node).name.clone()).collect()
    };
    assert!(found.points.iter().all(|point| !names(point).contains(&"product 7".to_owned())));
    assert!(found.points.iter().any(|point| names(point).contains(&"product 6".to_owned())));
}

#[test]
fn it_ends_when_it_is_told_to() {
    let graph = chain(20, &mut Rng::new(2));
    let case = Case::by_rules(graph);
    let found = checkpoint(&case, &|_| true, &mut || ControlFlow::Break(())).unwrap();
    assert_eq!(found.points.len(), 1);
    assert!(found.even.is_none());
}
