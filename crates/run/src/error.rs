//! Why a model cannot be run, or a run has ended.

use std::fmt;

use plimsoll_graph::CaseError;
use plimsoll_kernels::OutOfRange;
use plimsoll_model::range::RangeError;
use plimsoll_model::{FusedFault, ShapeError, WeightError};

/// Why a model cannot be run.
#[derive(Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// Its shapes do not follow.
    Shape(ShapeError),
    /// Nodes without a kernel: all of them.
    Missing(Vec<MissingKernel>),
    /// A stored tensor has no elements.
    Weight(WeightError),
    /// There is no plan.
    Plan(CaseError),
    /// The plan asks for what this executor does not do.
    Place {
        /// The node or the value.
        of: String,
        /// What.
        fault: String,
    },
    /// Steps that were to be fused cannot be.
    Fused(FusedFault),
    /// What is computed once went wrong.
    Static(RunError),
    /// The memory that was given cannot be used.
    Memory(String),
    /// An output cannot be what an input is in the next run.
    State {
        /// The input.
        input: String,
        /// The output.
        output: String,
        /// Why.
        fault: String,
    },
    /// The model cannot be run for these ranges of sizes.
    Range(RangeError),
    /// A session cannot be set up for a size.
    Size(String),
    /// Something that was handed in does not fit an input.
    Input {
        /// The input.
        name: String,
        /// What is wrong.
        fault: String,
    },
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionError::Shape(error) => error.fmt(f),
            SessionError::Missing(missing) => {
                let what = if missing.len() == 1 { "1 node" } else { "nodes" };
                match missing.len() {
                    1 => write!(f, "{what} cannot be run")?,
                    count => write!(f, "{count} {what} cannot be run")?,
                }
                missing.iter().try_for_each(|missing| write!(f, "\n  {missing}"))
            }
            SessionError::Weight(error) => error.fmt(f),
            SessionError::Plan(error) => error.fmt(f),
            SessionError::Place { of, fault } => write!(f, "`{of}`: {fault}"),
            SessionError::Fused(fault) => write!(f, "a step cannot be fused: {fault}"),
            SessionError::Static(error) => error.fmt(f),
            SessionError::Memory(fault) => write!(f, "the memory for the arena: {fault}"),
            SessionError::State { input, output, fault } => {
                write!(f, "`{output}` for `{input}` of the next run: {fault}")
            }
            SessionError::Range(error) => error.fmt(f),
            SessionError::Size(fault) => write!(f, "another size: {fault}"),
            SessionError::Input { name, fault } => write!(f, "input `{name}`: {fault}"),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<ShapeError> for SessionError {
    fn from(error: ShapeError) -> Self {
        SessionError::Shape(error)
    }
}

impl From<RangeError> for SessionError {
    fn from(error: RangeError) -> Self {
        SessionError::Range(error)
    }
}

impl From<CaseError> for SessionError {
    fn from(error: CaseError) -> Self {
        SessionError::Plan(error)
    }
}

impl From<WeightError> for SessionError {
    fn from(error: WeightError) -> Self {
        SessionError::Weight(error)
    }
}

impl From<RunError> for SessionError {
    fn from(error: RunError) -> Self {
        SessionError::Static(error)
    }
}

/// A node without a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingKernel {
    /// The node.
    pub node: String,
    /// What its operator is called.
    pub op: String,
    /// What is missing.
    pub why: String,
}

impl fmt::Display for MissingKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node `{}` ({}): {}", self.node, self.op, self.why)
    }
}

/// Why a run has ended before its end: a node was given an index that is beyond its axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunError {
    /// The node.
    pub node: String,
    /// What it was given.
    pub fault: OutOfRange,
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node `{}`: {}", self.node, self.fault)
    }
}

impl std::error::Error for RunError {}
