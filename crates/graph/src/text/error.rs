//! What can be wrong with a text, and where.

use thiserror::Error;

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
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}:{}: {}", .at.line, .at.column, .fault)]
pub struct TextError {
    /// Where.
    pub at: Position,
    /// What.
    pub fault: TextFault,
}

/// What is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say what each is")]
pub enum TextFault {
    #[error("unexpected character `{}`", .0.escape_default())]
    BadCharacter(char),
    #[error("not an escape: write \\\", \\\\, \\n, \\r, \\t or \\u{{hex}}")]
    BadEscape,
    #[error("a quoted name ends on its own line")]
    OpenString,
    #[error("the number does not fit 64 bits")]
    NumberTooLarge,
    #[error("expected {what}, found {found}")]
    Expected { what: &'static str, found: String },
    #[error("`{0}` is not an element type")]
    UnknownDtype(String),
    #[error("unknown op `{0}`: write custom \"{0}\" if that is what it is called")]
    UnknownOp(String),
    #[error("`{0}` is not a class of ops")]
    UnknownClass(String),
    #[error("{of} has no `{what}`")]
    UnknownAttribute { what: String, of: &'static str },
    #[error("{of} needs `{what}`")]
    MissingAttribute { what: &'static str, of: &'static str },
    #[error("`{0}` is given twice")]
    AttributeTwice(String),
    #[error("there is no value `{0}`")]
    UnknownValue(String),
    #[error("there is no node `{0}`")]
    UnknownNode(String),
    #[error("the type of `{0}` does not follow from its op: write it")]
    NoType(String),
    #[error(transparent)]
    Graph(GraphError),
}

impl TextError {
    pub(super) fn new(at: Position, fault: TextFault) -> Self {
        TextError { at, fault }
    }
}
