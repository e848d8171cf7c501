//! Why bytes are no model that can be planned, or cannot have a plan written into them.

use std::fmt;

use plimsoll_graph::GraphError;

use crate::flatbuffer::Malformed;

/// Why bytes are no model that can be planned, or cannot have a plan written into them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TfliteError {
    /// Not a flatbuffer, or not of that form.
    Flatbuffer(String),
    /// Something is wrong with the model as a whole.
    Model(String),
    /// Something is wrong with a tensor.
    Tensor {
        /// Its subgraph.
        subgraph: usize,
        /// Its index there.
        index: usize,
        /// Its name, which may be empty.
        name: String,
        /// What.
        fault: String,
    },
    /// Something is wrong with an operator.
    Operator {
        /// Its subgraph.
        subgraph: usize,
        /// Its place there, from 0.
        index: usize,
        /// What it is called.
        kind: String,
        /// What.
        fault: String,
    },
    /// What the operators do is no graph.
    Graph(GraphError),
}

impl fmt::Display for TfliteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TfliteError::Flatbuffer(fault) => write!(f, "not a TensorFlow Lite model: {fault}"),
            TfliteError::Model(fault) => f.write_str(fault),
            TfliteError::Tensor { subgraph, index, name, fault } => {
                write!(f, "subgraph {subgraph}, tensor {index} (`{name}`): {fault}")
            }
            TfliteError::Operator { subgraph, index, kind, fault } => {
                write!(f, "subgraph {subgraph}, operator {index} ({kind}): {fault}")
            }
            TfliteError::Graph(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TfliteError {}

impl From<Malformed> for TfliteError {
    fn from(Malformed { what, at }: Malformed) -> Self {
        TfliteError::Flatbuffer(format!("{what} at byte {at} is not within the file"))
    }
}

impl From<GraphError> for TfliteError {
    fn from(error: GraphError) -> Self {
        TfliteError::Graph(error)
    }
}
