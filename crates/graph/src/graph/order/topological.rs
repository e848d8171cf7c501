//! A topological order that keeps the given one where it can.
//!
//! Of all nodes that wait for nothing any more, the one that comes first in the graph is next. An
//! order that is valid already is kept as it is, and parts of the graph that have nothing to do
//! with each other are no trouble. The nodes of a block stay together. Cost: O((nodes + edges) log nodes).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::graph::{Flow, Graph, Kernels, NodeId, Resolved};

/// The nodes of a graph, elided ones included, in an order in which they can run.
///
/// # Panics
/// Never: a checked graph has no cycle.
#[must_use]
pub fn topological_order(graph: &Graph) -> Vec<NodeId> {
    Resolved::of(graph, &Kernels::default()).expect("the folds of a checked graph are sound").order
}

/// An order of the nodes, or a cycle: nodes of which each waits for the one before it, and the
/// first for the last.
pub(crate) fn order_of(graph: &Graph, flow: &Flow) -> Result<Vec<NodeId>, Vec<NodeId>> {
    if is_in_order(graph, flow) {
        return Ok(graph.node_ids().collect());
    }
    let nodes = graph.nodes().len();
    let rows = Rows::of(graph);
    let before = rows.waits(graph, flow);
    let mut behind = vec![Vec::new(); nodes];
    let mut waits: Vec<usize> = Vec::with_capacity(nodes);
    for (node, before) in before.iter().enumerate() {
        for before in before {
            behind[before.index()].push(NodeId::new(node));
        }
        waits.push(before.len());
    }
    let ready = |node: &NodeId| waits[node.index()] == 0;
    let mut heap: BinaryHeap<Reverse<NodeId>> =
        graph.node_ids().filter(ready).map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes);
    let mut follower = None;
    while let Some(node) = follower.take().or_else(|| heap.pop().map(|Reverse(node)| node)) {
        order.push(node);
        for next in &behind[node.index()] {
            waits[next.index()] -= 1;
            if waits[next.index()] > 0 {
                continue;
            }
            if rows.previous[next.index()] == Some(node) {
                follower = Some(*next);
            } else {
                heap.push(Reverse(*next));
            }
        }
    }
    if order.len() == nodes { Ok(order) } else { Err(cycle(&before, &waits)) }
}

/// Whether the nodes can run as they come; said only where no blocks keep some together.
fn is_in_order(graph: &Graph, flow: &Flow) -> bool {
    let waits = |node: NodeId| flow.before(node).iter().all(|before| *before < node);
    graph.nodes().iter().all(|node| node.block.is_none()) && graph.node_ids().all(waits)
}

/// The nodes of each block, in a row. A node outside of blocks is a row of its own.
struct Rows {
    first: Vec<NodeId>,
    last: Vec<NodeId>,
    /// The one that runs right before a node.
    previous: Vec<Option<NodeId>>,
}

impl Rows {
    fn of(graph: &Graph) -> Self {
        let own: Vec<NodeId> = graph.node_ids().collect();
        let mut rows =
            Rows { first: own.clone(), last: own, previous: vec![None; graph.nodes().len()] };
        let mut blocks: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
        for node in graph.node_ids() {
            if let Some(block) = graph.node(node).block {
                blocks.entry(block).or_default().push(node);
            }
        }
        for nodes in blocks.values() {
            for (index, node) in nodes.iter().enumerate() {
                rows.first[node.index()] = nodes[0];
                rows.last[node.index()] = nodes[nodes.len() - 1];
                rows.previous[node.index()] = index.checked_sub(1).map(|before| nodes[before]);
            }
        }
        rows
    }

    /// What the nodes wait for once rows stay together: the first of a row waits for all that any
    /// of it waits for, to the end of their rows.
    fn waits(&self, graph: &Graph, flow: &Flow) -> Vec<Vec<NodeId>> {
        let mut waits = vec![Vec::new(); graph.nodes().len()];
        for node in graph.node_ids() {
            let first = self.first[node.index()];
            for before in flow.before(node) {
                if self.first[before.index()] == first {
                    waits[node.index()].push(*before);
                } else {
                    waits[first.index()].push(self.last[before.index()]);
                }
            }
            waits[node.index()].extend(self.previous[node.index()]);
        }
        for waits in &mut waits {
            waits.sort_unstable();
            waits.dedup();
        }
        waits
    }
}

/// Every node that still waits has one before it that still waits: going back far enough comes
/// round.
fn cycle(before: &[Vec<NodeId>], waits: &[usize]) -> Vec<NodeId> {
    let stuck = |node: &NodeId| waits[node.index()] > 0;
    let mut at = (0..waits.len()).map(NodeId::new).find(stuck).expect("some node still waits");
    let mut seen = vec![usize::MAX; waits.len()];
    let mut path = Vec::new();
    while seen[at.index()] == usize::MAX {
        seen[at.index()] = path.len();
        path.push(at);
        let next = before[at.index()].iter().copied().find(stuck);
        at = next.expect("a node that waits, waits for one that waits");
    }
    let mut cycle = path.split_off(seen[at.index()]);
    cycle.reverse();
    let first = cycle.iter().enumerate().min_by_key(|(_, node)| **node).map_or(0, |(i, _)| i);
    cycle.rotate_left(first);
    cycle
}
