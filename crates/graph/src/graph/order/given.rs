//! An order given by the caller: is it one in which the nodes can run?

use std::collections::{BTreeMap, HashMap};

use thiserror::Error;

use crate::graph::{Flow, Graph, NodeId};

/// What is wrong with an order.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OrderError {
    /// A node of the graph is not in it.
    #[error("node `{node}` is not in the order")]
    Missing {
        /// Its name.
        node: String,
    },
    /// A node is in it twice.
    #[error("node `{node}` is in the order twice")]
    Repeated {
        /// Its name.
        node: String,
    },
    /// The graph has no such node.
    #[error("there is no node `{node}`")]
    Unknown {
        /// What it was called.
        node: String,
    },
    /// A node comes before one that it waits for.
    #[error("node `{node}` comes before `{waits_for}`, for which it waits")]
    TooEarly {
        /// Its name.
        node: String,
        /// What it waits for.
        waits_for: String,
    },
    /// A node of a block does not come right behind the one before it in the block.
    #[error("node `{node}` is not right behind `{behind}`, as their block wants it")]
    Block {
        /// Its name.
        node: String,
        /// What has to be right before it.
        behind: String,
    },
}

/// The nodes of these names, in that order.
pub fn order_by_names<S: AsRef<str>>(
    graph: &Graph,
    names: &[S],
) -> Result<Vec<NodeId>, OrderError> {
    let ids: HashMap<&str, NodeId> =
        graph.node_ids().map(|node| (graph.node(node).name.as_str(), node)).collect();
    let find = |name: &S| {
        let name = name.as_ref();
        ids.get(name).copied().ok_or_else(|| OrderError::Unknown { node: name.to_owned() })
    };
    names.iter().map(find).collect()
}

/// Checks an order of the nodes of a graph, and gives the nodes that take a step in it. Elided
/// nodes may be left out.
pub(crate) fn check_order(
    graph: &Graph,
    flow: &Flow,
    order: &[NodeId],
) -> Result<Vec<NodeId>, OrderError> {
    const NOWHERE: usize = usize::MAX;
    let name = |node: NodeId| graph.node(node).name.clone();
    let mut position = vec![NOWHERE; graph.nodes().len()];
    for (index, node) in order.iter().enumerate() {
        let Some(slot) = position.get_mut(node.index()) else {
            return Err(OrderError::Unknown { node: node.to_string() });
        };
        if *slot != NOWHERE {
            return Err(OrderError::Repeated { node: name(*node) });
        }
        *slot = index;
    }
    for node in graph.node_ids().filter(|node| !graph.node(*node).elided) {
        if position[node.index()] == NOWHERE {
            return Err(OrderError::Missing { node: name(node) });
        }
        let early = |before: &NodeId| position[before.index()] > position[node.index()];
        if let Some(before) = waits_of(graph, flow, node).into_iter().find(early) {
            return Err(OrderError::TooEarly { node: name(node), waits_for: name(before) });
        }
    }
    let order: Vec<NodeId> =
        order.iter().copied().filter(|node| !graph.node(*node).elided).collect();
    check_blocks(graph, &order)?;
    Ok(order)
}

/// Whether the nodes of each block are in a row.
fn check_blocks(graph: &Graph, order: &[NodeId]) -> Result<(), OrderError> {
    let mut previous = vec![None; graph.nodes().len()];
    for pair in order.windows(2) {
        previous[pair[1].index()] = Some(pair[0]);
    }
    let mut latest: BTreeMap<u32, NodeId> = BTreeMap::new();
    for node in graph.node_ids().filter(|node| !graph.node(*node).elided) {
        let Some(block) = graph.node(node).block else { continue };
        if let Some(behind) = latest.insert(block, node)
            && previous[node.index()] != Some(behind)
        {
            let name = |node: NodeId| graph.node(node).name.clone();
            return Err(OrderError::Block { node: name(node), behind: name(behind) });
        }
    }
    Ok(())
}

/// The nodes that take a step and that a node waits for, directly or through elided ones.
pub(crate) fn waits_of(graph: &Graph, flow: &Flow, node: NodeId) -> Vec<NodeId> {
    let mut stack = flow.before(node).to_vec();
    if !stack.iter().any(|before| graph.node(*before).elided) {
        return stack;
    }
    let mut waits = Vec::new();
    let mut seen = Vec::new();
    while let Some(before) = stack.pop() {
        if !graph.node(before).elided {
            waits.push(before);
        } else if !seen.contains(&before) {
            seen.push(before);
            stack.extend(flow.before(before));
        }
    }
    waits.retain(|before| *before != node);
    waits.sort_unstable();
    waits
}
