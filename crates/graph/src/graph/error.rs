//! What can be wrong with a graph, with the place.

use std::fmt;

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
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum ValueFault {
    NoName,
    Duplicate,
    TooLarge,
    BadAlign,
    WrittenTwice { by: String },
    WrittenByWhoReadsIt { node: String },
    Boundary { by: String },
    NeverWritten,
    OutputNeverWritten,
    NotGiven,
    UnknownRoot,
    ViewOutside { root: String, end: u64, bytes: u64 },
    ViewCircle,
    ViewOfRows,
    RowsUnread,
    ElidedOutput,
    ElidedRoot { root: String },
    ElidedRead { by: String },
    DuplicateOutput,
    UnknownOutput,
}

/// What is wrong with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum NodeFault {
    NoName,
    Duplicate,
    UnknownValue { what: String },
    UnknownNode { what: String },
    Misfit { why: String },
    OverwriteOfOthers { value: String },
    OverwriteTwice { value: String },
    OverwriteSmaller { output: String, input: String },
    OverwriteReadTwice { output: String, input: String },
    OverwriteStillRead { output: String, input: String },
    WindowOfOthers { value: String },
    WindowTwice { value: String },
    WindowBytes { value: String },
    WriteUntilWrites { value: String },
    ElidedNode { node: String },
    WaitsForItself,
    QueueWithoutQueues,
    BadScratch,
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

impl fmt::Display for ValueFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueFault::NoName => write!(f, "a value needs a name"),
            ValueFault::Duplicate => write!(f, "there is another one of that name"),
            ValueFault::TooLarge => write!(f, "its size does not fit 64 bits"),
            ValueFault::BadAlign => write!(f, "an alignment is at least 1"),
            ValueFault::WrittenTwice { by } => write!(f, "written again by node `{by}`"),
            ValueFault::WrittenByWhoReadsIt { node } => {
                write!(f, "node `{node}` both reads and writes it")
            }
            ValueFault::Boundary { by } => {
                write!(f, "comes from outside, but node `{by}` writes it")
            }
            ValueFault::NeverWritten => write!(f, "read, but nobody ever writes it"),
            ValueFault::OutputNeverWritten => {
                write!(f, "an output that no node makes and that does not come from outside")
            }
            ValueFault::NotGiven => write!(f, "only what comes from outside can be donated"),
            ValueFault::UnknownRoot => write!(f, "a view of a value that is not there"),
            ValueFault::ViewOutside { root, end, bytes } => {
                write!(f, "a view up to byte {end} of `{root}`, which has {bytes}")
            }
            ValueFault::ViewCircle => write!(f, "a view of itself"),
            ValueFault::ViewOfRows => write!(f, "a view of rows that are not whole"),
            ValueFault::RowsUnread => {
                write!(f, "in rows, but somebody who reads or writes it knows no strides")
            }
            ValueFault::ElidedOutput => write!(f, "an output cannot be elided"),
            ValueFault::ElidedRoot { root } => {
                write!(f, "a view of `{root}`, which is elided, has to be elided too")
            }
            ValueFault::ElidedRead { by } => {
                write!(f, "elided, but node `{by}` reads its bytes")
            }
            ValueFault::DuplicateOutput => write!(f, "listed twice among the outputs"),
            ValueFault::UnknownOutput => write!(f, "an output that is not there"),
        }
    }
}

impl fmt::Display for NodeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeFault::NoName => write!(f, "a node needs a name"),
            NodeFault::Duplicate => write!(f, "there is another one of that name"),
            NodeFault::UnknownValue { what } => write!(f, "there is no value `{what}`"),
            NodeFault::UnknownNode { what } => write!(f, "there is no node `{what}`"),
            NodeFault::Misfit { why } => f.write_str(why),
            NodeFault::OverwriteOfOthers { value } => {
                write!(f, "overwrites by `{value}`, which is not an output of it")
            }
            NodeFault::OverwriteTwice { value } => {
                write!(f, "`{value}` must overwrite two values")
            }
            NodeFault::OverwriteSmaller { output, input } => {
                write!(f, "`{output}` does not fit into `{input}`, which it overwrites")
            }
            NodeFault::OverwriteReadTwice { output, input } => write!(
                f,
                "`{output}` cannot overwrite `{input}`, which its step reads by another operand too"
            ),
            NodeFault::OverwriteStillRead { output, input } => {
                write!(f, "`{output}` cannot be where `{input}` is, of which bytes are still read")
            }
            NodeFault::WindowOfOthers { value } => {
                write!(f, "a window of `{value}`, which it does not access that way")
            }
            NodeFault::WindowTwice { value } => write!(f, "two windows of `{value}`"),
            NodeFault::WindowBytes { value } => {
                write!(f, "a window of bytes that `{value}` does not have")
            }
            NodeFault::WriteUntilWrites { value } => {
                write!(f, "the write of `{value}` cannot be over before the node writes")
            }
            NodeFault::ElidedNode { node } => {
                write!(f, "refers to the step of `{node}`, which is elided and takes none")
            }
            NodeFault::WaitsForItself => write!(f, "waits for itself"),
            NodeFault::QueueWithoutQueues => {
                write!(f, "on a queue, but the graph does not execute in queues")
            }
            NodeFault::BadScratch => write!(f, "an alignment of scratch memory is at least 1"),
            NodeFault::NobodyWrites { value } => {
                write!(f, "elided, and no single step that runs writes `{value}` in its place")
            }
        }
    }
}
