//! Small graphs whose best order is found by trying all.

use plimsoll::{AccessKind, Overwrite, Scratch, Storage, ValueId};
use plimsoll_graph::{Cut, Dtype, End, Graph, GraphBuilder, Node, NodeId, Op, Value, Window};
use plimsoll_pack::testing::Rng;

/// The unit of sizes: what offsets are multiples of.
pub(super) const UNIT: u64 = 64;

/// What may be in a random graph beside nodes and edges.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Spice {
    /// Nodes that work in place, scratch memory and waits.
    Plain,
    /// The same, with views, slices, windows, guards and states.
    Everything,
}

/// A graph by the inputs of its nodes, as bits, and the sizes of what they make. What nobody reads
/// is an output.
pub(super) fn shaped(inputs: &[u32], sizes: &[u64], in_place: bool) -> Graph {
    let mut graph = GraphBuilder::new();
    let mut made: Vec<ValueId> = Vec::new();
    for (index, (set, size)) in inputs.iter().zip(sizes).enumerate() {
        let reads: Vec<ValueId> =
            (0..index).filter(|i| set >> i & 1 == 1).map(|i| made[i]).collect();
        let name = format!("n{index}");
        made.push(graph.op(&name, Op::Custom, &reads, Dtype::U8, [size * UNIT]).expect("fresh"));
        if in_place {
            overwrite_first_two(&mut graph, NodeId::new(index), made[index]);
        }
    }
    for (index, value) in made.iter().enumerate() {
        if inputs.iter().all(|set| set >> index & 1 == 0) {
            graph.output(*value);
        }
    }
    graph.finish().expect("a valid graph")
}

/// Lets a result take over the first two operands, if they are as large.
fn overwrite_first_two(graph: &mut GraphBuilder, node: NodeId, output: ValueId) {
    let shape = graph.value_mut(output).shape.clone();
    let first_two: Vec<ValueId> = graph.node_mut(node).reads().take(2).collect();
    for input in first_two {
        if graph.value_mut(input).shape == shape {
            graph.node_mut(node).overwrites.push(Overwrite { output, input, must: false });
        }
    }
}

/// A random graph of so many nodes; every node reads up to three of the latest values.
pub(super) fn random(rng: &mut Rng, nodes: usize, spice: Spice) -> Graph {
    let mut graph = GraphBuilder::new();
    let mut values: Vec<ValueId> = Vec::new();
    if spice == Spice::Everything && rng.chance(30) {
        values.push(graph.state("state", Dtype::U8, [rng.within(1..4) * UNIT]).expect("fresh"));
    }
    for index in 0..nodes {
        let wide = values.len().min(1 + rng.below(8) as usize);
        let mut reads: Vec<ValueId> = (0..rng.below(4).min(wide as u64))
            .map(|_| values[values.len() - 1 - rng.below(wide as u64) as usize])
            .collect();
        reads.sort_unstable();
        reads.dedup();
        let value = node(rng, &mut graph, index, &reads, spice);
        values.push(value);
        if rng.chance(10) {
            graph.output(value);
        }
    }
    graph.finish().expect("a valid graph")
}

fn node(
    rng: &mut Rng,
    graph: &mut GraphBuilder,
    index: usize,
    reads: &[ValueId],
    spice: Spice,
) -> ValueId {
    let size = |graph: &mut GraphBuilder, value: ValueId| {
        graph.value_mut(value).shape.known().expect("known")[0]
    };
    let first = reads.first().copied();
    let (op, dims) = match (first, rng.below(4)) {
        (Some(first), 0) if spice == Spice::Everything && rng.chance(50) => {
            (Op::Reshape, vec![size(graph, first), 1])
        }
        (Some(first), 0) if spice == Spice::Everything => {
            let whole = size(graph, first) / UNIT;
            let start = rng.below(whole);
            let len = rng.within(1..whole - start + 1) * UNIT;
            (Op::Slice { cuts: vec![Cut::new(0, start * UNIT, len)] }, vec![len])
        }
        (Some(first), 1 | 2) => (Op::Unary, vec![size(graph, first)]),
        _ => (Op::Custom, vec![rng.within(1..6) * UNIT]),
    };
    let is_view = matches!(op, Op::Reshape | Op::Slice { .. });
    let reads = if is_view { &reads[..1] } else { reads };
    let name = format!("n{index}");
    let mut value = Value::new(&name, Dtype::U8, &dims[..]);
    if spice == Spice::Everything && !is_view {
        if rng.chance(5) {
            value.guard = UNIT;
        }
        if rng.chance(3) {
            value.storage = Storage::Persistent;
        }
    }
    let bytes = dims[0];
    let value = graph.value(value).expect("fresh");
    let mut node = Node::new(&name, op, reads, &[value]);
    if rng.chance(15) {
        node.scratch = Some(Scratch { bytes: rng.within(1..5) * UNIT, align: UNIT });
    }
    if index > 0 && rng.chance(10) {
        node.after.push(NodeId::new(rng.below(index as u64) as usize));
    }
    if let Some(first) = first
        && node.op == Op::Custom
        && bytes <= size(graph, first)
        && rng.chance(30)
    {
        node.overwrites.push(Overwrite { output: value, input: first, must: false });
    }
    if spice == Spice::Everything && !is_view {
        windows(rng, &mut node, index, value, first);
    }
    graph.node(node).expect("fresh");
    value
}

fn windows(rng: &mut Rng, node: &mut Node, index: usize, made: ValueId, read: Option<ValueId>) {
    if rng.chance(10) && index > 0 {
        let from = Some(NodeId::new(rng.below(index as u64) as usize));
        node.windows.push(Window { from, ..Window::new(made, AccessKind::Write) });
    }
    if let Some(read) = read
        && rng.chance(5)
    {
        let until = End::EndOfRun;
        node.windows.push(Window { until, ..Window::new(read, AccessKind::Read) });
    }
}
