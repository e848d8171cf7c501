//! What can be wrong with a graph, with the place.

use std::fmt;

use thiserror::Error;

/// Why a graph is rejected. Values and nodes are named as the client named them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphError {
    /// Something is wrong with a value.
    Value {
        /// Its name.
        name: String,
        /// What is wrong.
        fault: ValueFault,
    },
    /// Something is wrong with a node.
    Node {
        /// Its name.
        name: String,
        /// What is wrong.
        fault: NodeFault,
    },
    /// Nodes that wait for each other, each for the one before it and the first for the last.
    Cycle(Vec<String>),
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum ValueFault {
    #[error("a value needs a name")]
    NoName,
    #[error("the name is used twice")]
    Duplicate,
    #[error("its size does not fit 64 bits")]
    TooLarge,
    #[error("an alignment is at least 1")]
    BadAlign,
    #[error("written again by node `{by}`")]
    WrittenTwice { by: String },
    #[error("node `{node}` both reads and writes it")]
    WrittenByWhoReadsIt { node: String },
    #[error("comes from outside, but node `{by}` writes it")]
    Boundary { by: String },
    #[error("read, but no node writes it")]
    NeverWritten,
    #[error("an output that no node makes and that does not come from outside")]
    OutputNeverWritten,
    #[error("only what comes from outside can be donated")]
    NotGiven,
    #[error("a view of a value that is not there")]
    UnknownRoot,
    #[error("a view up to byte {end} of `{root}`, which has {bytes}")]
    ViewOutside { root: String, end: u64, bytes: u64 },
    #[error("a view of itself")]
    ViewCircle,
    #[error("a view of a strided value that does not cover whole rows")]
    ViewOfRows,
    #[error("strided, but a node that reads or writes it cannot handle strides")]
    RowsUnread,
    #[error("an output cannot be elided")]
    ElidedOutput,
    #[error("a view of `{root}`, which is elided, has to be elided too")]
    ElidedRoot { root: String },
    #[error("elided, but node `{by}` reads its bytes")]
    ElidedRead { by: String },
    #[error("listed twice among the outputs")]
    DuplicateOutput,
    #[error("an output that is not there")]
    UnknownOutput,
}

/// What is wrong with a node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum NodeFault {
    #[error("a node needs a name")]
    NoName,
    #[error("the name is used twice")]
    Duplicate,
    #[error("there is no value `{what}`")]
    UnknownValue { what: String },
    #[error("there is no node `{what}`")]
    UnknownNode { what: String },
    #[error("{why}")]
    Misfit { why: String },
    #[error("overwrites by `{value}`, which is not an output of it")]
    OverwriteOfOthers { value: String },
    #[error("`{value}` must overwrite two values")]
    OverwriteTwice { value: String },
    #[error("`{output}` does not fit into `{input}`, which it overwrites")]
    OverwriteSmaller { output: String, input: String },
    #[error("`{output}` cannot overwrite `{input}`, which its step reads by another operand too")]
    OverwriteReadTwice { output: String, input: String },
    #[error("`{output}` cannot take the bytes of `{input}`, which are still read")]
    OverwriteStillRead { output: String, input: String },
    #[error("a window of `{value}`, which it does not access that way")]
    WindowOfOthers { value: String },
    #[error("two windows of `{value}`")]
    WindowTwice { value: String },
    #[error("a window of bytes that `{value}` does not have")]
    WindowBytes { value: String },
    #[error("the write of `{value}` cannot be over before the node writes")]
    WriteUntilWrites { value: String },
    #[error("refers to the step of `{node}`, which is elided and takes none")]
    ElidedNode { node: String },
    #[error("waits for itself")]
    WaitsForItself,
    #[error("on a queue, but the graph does not execute in queues")]
    QueueWithoutQueues,
    #[error("an alignment of scratch memory is at least 1")]
    BadScratch,
    #[error("elided, and no single step that runs writes `{value}` in its place")]
    NobodyWrites { value: String },
}

impl GraphError {
    pub(crate) fn value(name: &str, fault: ValueFault) -> Self {
        GraphError::Value { name: name.to_owned(), fault }
    }

    pub(crate) fn node(name: &str, fault: NodeFault) -> Self {
        GraphError::Node { name: name.to_owned(), fault }
    }
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::Value { name, fault } => write!(f, "value `{name}`: {fault}"),
            GraphError::Node { name, fault } => write!(f, "node `{name}`: {fault}"),
            GraphError::Cycle(nodes) => {
                write!(f, "nodes wait for each other: ")?;
                for node in nodes {
                    write!(f, "`{node}` -> ")?;
                }
                write!(f, "`{}`", nodes.first().map_or("", String::as_str))
            }
        }
    }
}

impl std::error::Error for GraphError {}
