//! Copies that a plan tells it does without: by name, in the order in which they were taken.
//!
//! A plan is somebody's text. So each of them is held against the rules: it has to be one whose copy
//! can be done without, and without which the graph is another one.

use std::fmt;

use super::{sized_candidates, without_concats};
use crate::graph::{Graph, GraphError, NodeId, OrderError, order_by_names};
use crate::scheduled::LoweringOptions;

/// Why a graph cannot do without the copies that a plan names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JoinError {
    /// A name that no node has.
    Unknown(OrderError),
    /// A node that is named twice.
    Twice(String),
    /// A node that copies whatever is done.
    Copies(String),
    /// A node that wants a value in a place where another, taken before it, does not leave it.
    Excluded(String),
    /// The graph breaks a rule then.
    Graph(GraphError),
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JoinError::Unknown(error) => error.fmt(f),
            JoinError::Twice(node) => write!(f, "node `{node}` is named twice"),
            JoinError::Copies(node) => write!(f, "node `{node}` cannot do without its copy"),
            JoinError::Excluded(node) => {
                write!(f, "node `{node}` cannot do without its copy after those before it")
            }
            JoinError::Graph(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for JoinError {}

/// The graph without the copies of the nodes of these names, taken in this order, and these nodes.
/// That is what [`join_concats`](super::join_concats) made, if the names are those of
/// [`Joined::vanished`](super::Joined::vanished).
pub fn joined_as_recorded<S: AsRef<str>>(
    graph: &Graph,
    lowering: &LoweringOptions,
    names: &[S],
) -> Result<(Graph, Vec<NodeId>), JoinError> {
    let nodes = order_by_names(graph, names).map_err(JoinError::Unknown)?;
    let name = |node: NodeId| graph.node(node).name.clone();
    let mut can = vec![false; graph.nodes().len()];
    if !nodes.is_empty() {
        for node in sized_candidates(graph, lowering) {
            can[node.index()] = true;
        }
    }
    let mut seen = vec![false; graph.nodes().len()];
    for node in &nodes {
        if std::mem::replace(&mut seen[node.index()], true) {
            return Err(JoinError::Twice(name(*node)));
        }
        if !can[node.index()] {
            return Err(JoinError::Copies(name(*node)));
        }
    }
    let joined = without_concats(graph, &lowering.kernels, &nodes).map_err(JoinError::Graph)?;
    let aliases = joined.aliases(&lowering.kernels);
    let runs = |node: &&NodeId| !joined.node(**node).elided && !aliases.is_pure_view(**node);
    if let Some(copies) = nodes.iter().find(runs) {
        return Err(JoinError::Excluded(name(*copies)));
    }
    Ok((joined, nodes))
}
