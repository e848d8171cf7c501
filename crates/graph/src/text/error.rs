//! What can be wrong with a text, and where.

use std::fmt;

use crate::graph::GraphError;

/// A place in a text, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in it.
    pub column: usize,
}

/// Why a text is no graph. Shown as `line:column: message`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// Where.
    pub at: Position,
    /// What.
    pub fault: TextFault,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum TextFault {
    BadCharacter(char),
    BadEscape,
    OpenString,
    NumberTooLarge,
    Expected { what: &'static str, found: String },
    UnknownDtype(String),
    UnknownOp(String),
    UnknownFamily(String),
    UnknownAttribute { what: String, of: &'static str },
    MissingAttribute { what: &'static str, of: &'static str },
    AttributeTwice(String),
    UnknownValue(String),
    UnknownNode(String),
    NoType(String),
    Graph(GraphError),
}

impl TextError {
    pub(super) fn new(at: Position, fault: TextFault) -> Self {
        TextError { at, fault }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.at.line, self.at.column, self.fault)
    }
}

impl std::error::Error for TextError {}

impl fmt::Display for TextFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TextFault::BadCharacter(c) => write!(f, "`{}` means nothing here", c.escape_default()),
            TextFault::BadEscape => {
                write!(f, "not an escape: write \\\", \\\\, \\n, \\r, \\t or \\u{{hex}}")
            }
            TextFault::OpenString => write!(f, "a quoted name ends on its own line"),
            TextFault::NumberTooLarge => write!(f, "the number does not fit 64 bits"),
            TextFault::Expected { what, found } => write!(f, "expected {what}, found {found}"),
            TextFault::UnknownDtype(name) => write!(f, "`{name}` is not an element type"),
            TextFault::UnknownOp(name) => {
                write!(
                    f,
                    "unknown op `{name}`: write custom \"{name}\" if that is what it is called"
                )
            }
            TextFault::UnknownFamily(name) => write!(f, "`{name}` is not a family of ops"),
            TextFault::UnknownAttribute { what, of } => write!(f, "{of} has no `{what}`"),
            TextFault::MissingAttribute { what, of } => write!(f, "{of} needs `{what}`"),
            TextFault::AttributeTwice(what) => write!(f, "`{what}` is given twice"),
            TextFault::UnknownValue(name) => write!(f, "there is no value `{name}`"),
            TextFault::UnknownNode(name) => write!(f, "there is no node `{name}`"),
            TextFault::NoType(name) => {
                write!(f, "the type of `{name}` does not follow from its op: write it")
            }
            TextFault::Graph(error) => error.fmt(f),
        }
    }
}
