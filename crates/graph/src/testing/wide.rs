//! Graphs of any size for searches of orders: columns side by side, random layers, series and parallel
//! parts, and training steps. All are of custom ops, in an order that is not the best.

use plimsoll::ValueId;
use plimsoll_pack::testing::Rng;

use crate::dtype::Dtype;
use crate::graph::{Graph, GraphBuilder};
use crate::op::Op;

/// A graph that is being made.
struct Making {
    graph: GraphBuilder,
    nodes: usize,
}

impl Making {
    /// A graph with one input of 1 KiB.
    fn new() -> (Self, ValueId) {
        let mut graph = GraphBuilder::new();
        let input = graph.input("x", Dtype::F32, [256]).expect("a fresh name");
        (Making { graph, nodes: 0 }, input)
    }

    /// A node that makes so many KiB.
    fn node(&mut self, reads: &[ValueId], kib: u64) -> ValueId {
        self.nodes += 1;
        let name = format!("n{}", self.nodes);
        let shape = [256 * kib];
        self.graph.op(&name, Op::Custom, reads, Dtype::F32, shape).expect("a fresh name")
    }

    fn finish(mut self, output: ValueId) -> Graph {
        self.graph.output(output);
        self.graph.finish().expect("a valid graph")
    }
}

/// So many columns of three nodes, each large at first and small at its end, one layer after the other; their
/// ends are joined two by two.
///
/// # Panics
/// If there is no column.
#[must_use]
pub fn column_graph(columns: usize) -> Graph {
    let (mut making, x) = Making::new();
    let mut ends = vec![x; columns];
    for kib in [4, 2, 1] {
        ends = ends.into_iter().map(|end| making.node(&[end], kib)).collect();
    }
    while ends.len() > 1 {
        ends = ends.chunks(2).map(|pair| making.node(pair, 1)).collect();
    }
    making.finish(ends[0])
}

/// Layers of so many nodes of 1 to 64 KiB, each of which reads one to `reads` nodes of the layer before
/// it; whatever nobody reads is read by one more.
///
/// # Panics
/// If there is no node, or a layer has none.
#[must_use]
pub fn layered_graph(rng: &mut Rng, nodes: usize, width: usize, reads: u64) -> Graph {
    let (mut making, x) = Making::new();
    let mut layer = vec![x];
    while making.nodes < nodes {
        let width = width.min(nodes - making.nodes);
        let mut wanted: Vec<Vec<usize>> = vec![Vec::new(); width];
        for wanted in &mut wanted {
            for _ in 0..rng.within(1..reads + 1) {
                wanted.push(rng.below(layer.len() as u64) as usize);
            }
        }
        let mut is_read = vec![false; layer.len()];
        wanted.iter().flatten().for_each(|read| is_read[*read] = true);
        for unread in (0..layer.len()).filter(|index| !is_read[*index]) {
            wanted[unread % width].push(unread);
        }
        layer = wanted
            .into_iter()
            .map(|mut wanted| {
                wanted.sort_unstable();
                wanted.dedup();
                let reads: Vec<ValueId> = wanted.into_iter().map(|read| layer[read]).collect();
                making.node(&reads, rng.within(1..65))
            })
            .collect();
    }
    let last = making.node(&layer, 1);
    making.finish(last)
}

/// Parts one after the other or side by side, and parts of these, down to single nodes.
///
/// # Panics
/// If there is no node.
#[must_use]
pub fn series_parallel_graph(rng: &mut Rng, nodes: usize) -> Graph {
    let (mut making, x) = Making::new();
    let last = part(&mut making, rng, x, nodes);
    making.finish(last)
}

/// A part of so many nodes behind a value; gives its end.
fn part(making: &mut Making, rng: &mut Rng, from: ValueId, nodes: usize) -> ValueId {
    let kib = rng.within(1..65);
    if nodes < 4 {
        return (0..nodes.max(1)).fold(from, |from, _| making.node(&[from], rng.within(1..65)));
    }
    let first = rng.within(1..nodes as u64 - 2) as usize;
    if rng.chance(50) {
        let middle = part(making, rng, from, first);
        return part(making, rng, middle, nodes - first);
    }
    let sides = [first, nodes - 1 - first].map(|nodes| part(making, rng, from, nodes));
    making.node(&sides, kib)
}

/// A training step: layers forwards, each of which keeps what it has read; then backwards, where each makes the
/// gradient of its weights and that of what it has read; all updates at the end.
///
/// # Panics
/// If there is no layer.
#[must_use]
pub fn training_graph(rng: &mut Rng, layers: usize) -> Graph {
    let (mut making, x) = Making::new();
    let sizes: Vec<u64> = (0..layers).map(|_| rng.within(1..33)).collect();
    let mut kept = vec![x];
    for kib in &sizes {
        kept.push(making.node(&[kept[kept.len() - 1]], *kib));
    }
    let mut gradient = making.node(&kept[layers..], sizes[layers - 1]);
    let mut weights = Vec::new();
    for layer in (0..layers).rev() {
        weights.push(making.node(&[gradient, kept[layer]], rng.within(1..33)));
        gradient =
            making.node(&[gradient, kept[layer]], if layer == 0 { 1 } else { sizes[layer - 1] });
    }
    let updates: Vec<ValueId> = weights.iter().map(|weight| making.node(&[*weight], 1)).collect();
    let last = making.node(&[&updates[..], &[gradient]].concat(), 1);
    making.finish(last)
}
