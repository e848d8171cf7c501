//! A topological order that keeps the given one where it can.
//!
//! Of all nodes that wait for nothing any more, the one that comes first in the graph is next. An
//! order that is valid already is kept as it is, and parts of the graph that have nothing to do
//! with each other are no trouble. Cost: O((nodes + edges) log nodes).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::graph::{Flow, Folds, Graph, NodeId};
use crate::kernels::Kernels;

/// The nodes of a graph, elided ones included, in an order in which they can run.
///
/// # Panics
/// Never: a checked graph has no cycle.
#[must_use]
pub fn topological_order(graph: &Graph) -> Vec<NodeId> {
    let aliases = graph.aliases(&Kernels::default());
    let folds = Folds::of(graph, &aliases).expect("the folds of a checked graph are sound");
    let flow = Flow::of(graph, &aliases, &folds);
    order_of(graph.nodes().len(), &flow).expect("a checked graph has no cycle")
}

/// An order of so many nodes, or a cycle: nodes of which each waits for the one before it, and the
/// first for the last.
pub(crate) fn order_of(nodes: usize, flow: &Flow) -> Result<Vec<NodeId>, Vec<NodeId>> {
    let mut behind = vec![Vec::new(); nodes];
    let mut waits: Vec<usize> = Vec::with_capacity(nodes);
    for node in (0..nodes).map(NodeId::new) {
        for before in flow.before(node) {
            behind[before.index()].push(node);
        }
        waits.push(flow.before(node).len());
    }
    let ready = |node: &NodeId| waits[node.index()] == 0;
    let mut heap: BinaryHeap<Reverse<NodeId>> =
        (0..nodes).map(NodeId::new).filter(ready).map(Reverse).collect();
    let mut order = Vec::with_capacity(nodes);
    while let Some(Reverse(node)) = heap.pop() {
        order.push(node);
        for next in &behind[node.index()] {
            waits[next.index()] -= 1;
            if waits[next.index()] == 0 {
                heap.push(Reverse(*next));
            }
        }
    }
    if order.len() == nodes { Ok(order) } else { Err(cycle(flow, &waits)) }
}

/// Every node that still waits has one before it that still waits: going back far enough comes
/// round.
fn cycle(flow: &Flow, waits: &[usize]) -> Vec<NodeId> {
    let stuck = |node: &NodeId| waits[node.index()] > 0;
    let mut at = (0..waits.len()).map(NodeId::new).find(stuck).expect("some node still waits");
    let mut seen = vec![usize::MAX; waits.len()];
    let mut path = Vec::new();
    while seen[at.index()] == usize::MAX {
        seen[at.index()] = path.len();
        path.push(at);
        let before = flow.before(at).iter().copied().find(stuck);
        at = before.expect("a node that waits, waits for one that waits");
    }
    let mut cycle = path.split_off(seen[at.index()]);
    cycle.reverse();
    let first = cycle.iter().enumerate().min_by_key(|(_, node)| **node).map_or(0, |(i, _)| i);
    cycle.rotate_left(first);
    cycle
}
