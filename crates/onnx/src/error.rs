//! Why bytes are no model that can be planned.

use std::fmt;

use crate::proto::NodeProto;

/// What is wrong with a node, a tensor or a function, in words.
pub(crate) type Fault = String;

/// Why bytes are no model that can be planned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnnxError {
    /// The file cannot be read.
    File(String),
    /// Not protobuf, or not of that form.
    Protobuf(String),
    /// Something is wrong with the model as a whole.
    Model(String),
    /// Something is wrong with a function.
    Function {
        /// Its domain and name.
        name: String,
        /// What.
        fault: String,
    },
    /// Something is wrong with a tensor: a weight, an input, an output.
    Tensor {
        /// Its name.
        name: String,
        /// What.
        fault: String,
    },
    /// Something is wrong with a node.
    Node {
        /// Its name, which may be empty.
        name: String,
        /// Its place among the nodes that it is listed with, from 0.
        index: usize,
        /// The operator.
        kind: String,
        /// What.
        fault: String,
    },
}

/// Bytes that are no protobuf.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

impl From<Malformed> for OnnxError {
    fn from(fault: Malformed) -> Self {
        OnnxError::Protobuf(fault.0.to_owned())
    }
}

impl OnnxError {
    pub(crate) fn tensor(name: &str, fault: impl Into<Fault>) -> Self {
        OnnxError::Tensor { name: name.to_owned(), fault: fault.into() }
    }

    pub(crate) fn node(index: usize, node: &NodeProto, fault: impl Into<Fault>) -> Self {
        OnnxError::Node {
            name: node.name().to_owned(),
            index,
            kind: node.op_type().to_owned(),
            fault: fault.into(),
        }
    }
}

impl fmt::Display for OnnxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OnnxError::File(fault) => write!(f, "cannot be read: {fault}"),
            OnnxError::Protobuf(fault) => write!(f, "not an ONNX model: {fault}"),
            OnnxError::Model(fault) => f.write_str(fault),
            OnnxError::Function { name, fault } => write!(f, "function `{name}`: {fault}"),
            OnnxError::Tensor { name, fault } => write!(f, "tensor `{name}`: {fault}"),
            OnnxError::Node { name, index, kind, fault } if name.is_empty() => {
                write!(f, "node {index} ({kind}): {fault}")
            }
            OnnxError::Node { name, kind, fault, .. } => {
                write!(f, "node `{name}` ({kind}): {fault}")
            }
        }
    }
}

impl std::error::Error for OnnxError {}

/// What stops the reading of a node.
pub(crate) enum Stop {
    /// Something that is wrong with the node itself.
    Here(Fault),
    /// Something inside of it, which is named already.
    Within(OnnxError),
}

impl Stop {
    /// The error, for the node at that place.
    pub(crate) fn at(self, index: usize, node: &NodeProto) -> OnnxError {
        match self {
            Stop::Here(fault) => OnnxError::node(index, node, fault),
            Stop::Within(error) => error,
        }
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Stop::Here(fault)
    }
}

impl From<OnnxError> for Stop {
    fn from(error: OnnxError) -> Self {
        Stop::Within(error)
    }
}
