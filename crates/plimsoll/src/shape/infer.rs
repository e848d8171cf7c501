//! Goes through a model, node by node.

use std::collections::BTreeMap;
use std::fmt;

use super::{Fact, arithmetic, rules};
use crate::graph::GraphError;
use crate::model::Model;

/// What the caller says of a model's inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// How many a symbol stands for.
    pub symbols: BTreeMap<String, u64>,
    /// The whole shape of an input, by its name.
    pub inputs: BTreeMap<String, Vec<u64>>,
}

/// Why the shapes of a model cannot be found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeError {
    /// The operands of a node do not fit together.
    Node {
        /// Its name.
        node: String,
        /// What is wrong.
        fault: String,
    },
    /// The graph that it would be breaks a rule.
    Graph(GraphError),
}

impl From<GraphError> for ShapeError {
    fn from(error: GraphError) -> Self {
        ShapeError::Graph(error)
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeError::Node { node, fault } => write!(f, "node `{node}`: {fault}"),
            ShapeError::Graph(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ShapeError {}

/// What is known of every tensor of a model, by its id, inside bodies too.
pub fn facts(model: &Model, bindings: &Bindings) -> Result<Vec<Fact>, ShapeError> {
    let _ = bindings;
    let mut facts = vec![Fact::default(); model.tensors.len()];
    for node in &model.body.nodes {
        let inputs: Vec<_> = node.inputs.iter().map(|id| id.map(|id| &facts[id.index()])).collect();
        let fault = |fault| ShapeError::Node { node: node.name.clone(), fault };
        let mut outputs =
            rules::outputs(&node.operator, &inputs, node.outputs.len()).map_err(fault)?;
        let numbers = arithmetic::numbers(&node.operator, &inputs, &outputs);
        for (output, numbers) in outputs.iter_mut().zip(numbers) {
            output.numbers = numbers;
        }
        for (id, fact) in node.outputs.iter().zip(outputs) {
            if let Some(id) = id {
                facts[id.index()] = fact;
            }
        }
    }
    Ok(facts)
}

/// Whether each tensor depends on stored ones only.
pub fn statics(model: &Model, facts: &[Fact]) -> Vec<bool> {
    let _ = facts;
    vec![false; model.tensors.len()]
}
