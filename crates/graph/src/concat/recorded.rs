//! Copies that a plan tells it does without: by name, in the order in which they were taken.
//!
//! A plan is somebody's text. So each of them is held against the rules: it has to be one whose copy
//! can be done without, and without which the graph is another one.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::choice::{Choice, Layouts};
use super::{candidates, takeover, views};
use crate::graph::{Graph, GraphError, NodeId, OrderError, order_by_names};
use crate::scheduled::LoweringOptions;

/// Why a graph cannot do without the copies that a plan names.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum JoinError {
    /// A name that no node has.
    #[error(transparent)]
    Unknown(OrderError),
    /// A node that is named twice.
    #[error("node `{0}` is named twice")]
    Twice(String),
    /// A node that copies whatever is done.
    #[error("the copy of node `{0}` cannot be elided")]
    Copies(String),
    /// A node that wants a value in a place where another, taken before it, does not leave it.
    #[error("the copy of node `{0}` cannot be elided after those before it")]
    Excluded(String),
    /// The graph breaks a rule then.
    #[error(transparent)]
    Graph(GraphError),
}

/// Whether two choices are about the same.
fn excludes(a: &Choice, b: &Choice) -> bool {
    let is_of_a_value = |c: &Choice| matches!(c, Choice::Copy(..) | Choice::TakeOver(..));
    a == b || a.node() == b.node() && !(is_of_a_value(a) && is_of_a_value(b))
}

/// A choice as a plan keeps it: the name of a node that takes no step, or a concat with the inputs that
/// are made in its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordedChoice {
    /// [`Choice::Elide`].
    Elide(String),
    /// [`Choice::Join`].
    Join {
        /// The name of the concat.
        node: String,
        /// Its inputs, by index.
        inputs: Vec<usize>,
    },
    /// [`Choice::Copy`].
    Copy {
        /// The name of the node.
        node: String,
        /// Its output, by index.
        copied: usize,
    },
    /// [`Choice::TakeOver`].
    TakeOver {
        /// The name of the node.
        node: String,
        /// Its output, by index.
        output: usize,
        /// The input that it takes over, by index.
        takes_over: usize,
    },
}

impl RecordedChoice {
    /// A choice about a node of a graph.
    #[must_use]
    pub fn of(graph: &Graph, choice: &Choice) -> Self {
        let name = graph.node(choice.node()).name.clone();
        match choice {
            Choice::Elide(_) => RecordedChoice::Elide(name),
            Choice::Join(_, inputs) => RecordedChoice::Join { node: name, inputs: inputs.clone() },
            Choice::Copy(_, output) => RecordedChoice::Copy { node: name, copied: *output },
            Choice::TakeOver(_, output, input) => {
                RecordedChoice::TakeOver { node: name, output: *output, takes_over: *input }
            }
        }
    }

    fn name(&self) -> &str {
        match self {
            RecordedChoice::Elide(name)
            | RecordedChoice::Join { node: name, .. }
            | RecordedChoice::Copy { node: name, .. }
            | RecordedChoice::TakeOver { node: name, .. } => name,
        }
    }

    fn about(&self, node: NodeId) -> Choice {
        match self {
            RecordedChoice::Elide(_) => Choice::Elide(node),
            RecordedChoice::Join { inputs, .. } => Choice::Join(node, inputs.clone()),
            RecordedChoice::Copy { copied, .. } => Choice::Copy(node, *copied),
            RecordedChoice::TakeOver { output, takes_over, .. } => {
                Choice::TakeOver(node, *output, *takes_over)
            }
        }
    }
}

impl<S: Into<String>> From<S> for RecordedChoice {
    fn from(name: S) -> Self {
        RecordedChoice::Elide(name.into())
    }
}

/// The graph with choices that a plan tells, taken in this order, and these choices. That is what
/// [`join_concats`](super::join_concats) made, if they are [`Joined::choices`](super::Joined::choices).
pub fn joined_as_recorded<C: Clone + Into<RecordedChoice>>(
    graph: &Graph,
    lowering: &LoweringOptions,
    recorded: &[C],
) -> Result<(Graph, Vec<Choice>), JoinError> {
    let recorded: Vec<RecordedChoice> = recorded.iter().cloned().map(Into::into).collect();
    if recorded.is_empty() {
        return Ok((graph.clone(), Vec::new()));
    }
    let names: Vec<&str> = recorded.iter().map(RecordedChoice::name).collect();
    let nodes = order_by_names(graph, &names).map_err(JoinError::Unknown)?;
    let name = |node: NodeId| graph.node(node).name.clone();
    let aliases = graph.aliases(&lowering.kernels);
    let can = candidates(graph, &aliases, lowering);
    let views = views::copyable(graph, &aliases, lowering);
    let takeovers = takeover::takeovers(graph, lowering);
    let mut layouts = Layouts::of(graph, &aliases);
    let mut choices = Vec::with_capacity(nodes.len());
    for (node, recorded) in nodes.into_iter().zip(&recorded) {
        let choice = recorded.about(node);
        if choices.iter().any(|before| excludes(before, &choice)) {
            return Err(JoinError::Twice(name(node)));
        }
        let allowed = can.iter().any(|candidate| candidate.allows(&choice));
        if !allowed && !views.contains(&choice) && !takeovers.contains(&choice) {
            return Err(JoinError::Copies(name(node)));
        }
        if !layouts.take(&choice) {
            return Err(JoinError::Excluded(name(node)));
        }
        choices.push(choice);
    }
    let (joined, _) = layouts.finish(&lowering.kernels).map_err(JoinError::Graph)?;
    Ok((joined, choices))
}
