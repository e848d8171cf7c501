//! Why the shapes of a model cannot be found.

use std::fmt;

use plimsoll_graph::GraphError;

/// Why the shapes of a model cannot be found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeError {
    /// What the caller says of the inputs is not enough, or does not fit. All that is wrong.
    Bindings(Vec<BindingFault>),
    /// The operands of a node do not fit together.
    Node {
        /// Its name.
        node: String,
        /// What the model calls its operator, if it does.
        op: String,
        /// What is known of the operands that it is about, each with its name.
        operands: Vec<String>,
        /// What is wrong.
        fault: String,
    },
    /// Something refers to a tensor beyond the end of the table.
    NoTensor {
        /// The name of the node; `None` for the model itself.
        node: Option<String>,
        /// The id.
        id: u32,
    },
    /// A tensor comes from two places.
    MadeTwice {
        /// Its name.
        tensor: String,
        /// The name of the node; `None` for the model itself.
        node: Option<String>,
    },
    /// A tensor comes from nowhere, or is inside a body that its reader is not in.
    NotMade {
        /// Its name.
        tensor: String,
        /// The name of the node that reads it; `None` for the model itself, which hands it out.
        node: Option<String>,
    },
    /// A node waits for its own result, or for one that does.
    Cycle {
        /// Its name.
        node: String,
    },
    /// Bodies are nested too deeply.
    TooDeep {
        /// The name of the node.
        node: String,
        /// How deeply they may be.
        most: usize,
    },
    /// The graph that it would be breaks a rule.
    Graph(GraphError),
}

/// A branch that cannot run, whatever its condition says: its shapes do not fit together. A model is
/// planned with the other one alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The name of the node that has the branch.
    pub node: String,
    /// Which of the two.
    pub branch: Branch,
    /// What does not fit.
    pub fault: ShapeError,
}

/// One of two branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Branch {
    Then,
    Else,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { node, branch, fault } = self;
        let branch = match branch {
            Branch::Then => "then",
            Branch::Else => "else",
        };
        write!(f, "node `{node}`: its {branch} branch cannot run with these shapes ({fault})")
    }
}

impl From<GraphError> for ShapeError {
    fn from(error: GraphError) -> Self {
        ShapeError::Graph(error)
    }
}

/// What is wrong with what the caller says of the inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BindingFault {
    /// Nobody says how many a symbol stands for.
    Unbound {
        /// The symbol.
        symbol: String,
        /// The inputs and axes that it is the dim of.
        places: Vec<(String, usize)>,
    },
    /// The model says nothing of a dim, so the shape has to be given.
    NoDim {
        /// The input.
        input: String,
        /// The axis.
        axis: usize,
    },
    /// The model does not even say how many dims there are, so the shape has to be given.
    NoRank {
        /// The input.
        input: String,
    },
    /// The model does not say the type of the elements.
    NoType {
        /// The input.
        input: String,
    },
    /// A symbol is said to stand for two numbers.
    Conflict {
        /// The symbol.
        symbol: String,
        /// What it stands for.
        first: u64,
        /// What it stands for as well.
        second: u64,
        /// The input whose shape says so.
        input: String,
    },
    /// A given shape has another number of dims than the model says.
    Rank {
        /// The input.
        input: String,
        /// How many the model says.
        declared: usize,
        /// How many are given.
        given: usize,
    },
    /// A given shape has another dim than the model says.
    Dim {
        /// The input.
        input: String,
        /// The axis.
        axis: usize,
        /// What the model says.
        declared: u64,
        /// What is given.
        given: u64,
    },
    /// The model has no such symbol.
    NoSymbol {
        /// What is not there.
        symbol: String,
        /// What there is.
        symbols: Vec<String>,
    },
    /// The model has no such input.
    NoInput {
        /// What is not there.
        input: String,
        /// What there is.
        inputs: Vec<String>,
    },
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |node: &Option<String>| match node {
            Some(node) => format!("node `{node}`"),
            None => "the model".to_owned(),
        };
        match self {
            ShapeError::Bindings(faults) => {
                for (index, fault) in faults.iter().enumerate() {
                    let semicolon = if index == 0 { "" } else { "; " };
                    write!(f, "{semicolon}{fault}")?;
                }
                Ok(())
            }
            ShapeError::Node { node, op, operands, fault } => {
                write!(f, "node `{node}`")?;
                if !op.is_empty() {
                    write!(f, " ({op})")?;
                }
                if !operands.is_empty() {
                    write!(f, ": {}", operands.join(", "))?;
                }
                write!(f, ": {fault}")
            }
            ShapeError::NoTensor { node, id } => {
                write!(f, "{}: there is no tensor {id}", place(node))
            }
            ShapeError::MadeTwice { tensor, node } => {
                write!(f, "{}: tensor `{tensor}` is made already", place(node))
            }
            ShapeError::NotMade { tensor, node } => {
                write!(f, "{}: nothing makes tensor `{tensor}` there", place(node))
            }
            ShapeError::Cycle { node } => {
                write!(f, "node `{node}` never runs: it, or what it waits for, waits for itself")
            }
            ShapeError::TooDeep { node, most } => {
                write!(f, "node `{node}`: bodies are nested more than {most} deep")
            }
            ShapeError::Graph(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ShapeError {}

impl fmt::Display for BindingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BindingFault::Unbound { symbol, places } => {
                write!(f, "symbol `{symbol}` is not bound: it is ")?;
                for (index, (input, axis)) in places.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}axis {axis} of input `{input}`")?;
                }
                Ok(())
            }
            BindingFault::NoDim { input, axis } => {
                write!(f, "axis {axis} of input `{input}` is not known: its shape has to be given")
            }
            BindingFault::NoRank { input } => {
                write!(f, "the rank of input `{input}` is not known: its shape has to be given")
            }
            BindingFault::NoType { input } => {
                write!(f, "the element type of input `{input}` is not known")
            }
            BindingFault::Conflict { symbol, first, second, input } => write!(
                f,
                "symbol `{symbol}` is {first}, but {second} by the shape of input `{input}`"
            ),
            BindingFault::Rank { input, declared, given } => {
                write!(f, "input `{input}` has {declared} dims, not {given}")
            }
            BindingFault::Dim { input, axis, declared, given } => {
                write!(f, "axis {axis} of input `{input}` is {declared}, not {given}")
            }
            BindingFault::NoSymbol { symbol, symbols } => {
                write!(f, "there is no symbol `{symbol}`; {}", listed("symbols", symbols))
            }
            BindingFault::NoInput { input, inputs } => {
                write!(f, "there is no input `{input}`; {}", listed("inputs", inputs))
            }
        }
    }
}

fn listed(what: &str, names: &[String]) -> String {
    if names.is_empty() {
        return format!("there are no {what}");
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("the {what} are {}", names.join(", "))
}
