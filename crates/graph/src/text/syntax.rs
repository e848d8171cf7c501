//! What a text says, statement by statement, with names not yet looked up.

use plimsoll::{AccessKind, Execution, Role, Scratch, Storage, Strided};

use super::error::Position;
use crate::dtype::Dtype;
use crate::op::Op;
use crate::shape::Shape;

/// The words of the language. As names they are written in quotes.
pub(super) const WORDS: [&str; 43] = [
    "_",
    "after",
    "align",
    "also_reads",
    "arena",
    "as",
    "at",
    "block",
    "bytes",
    "constant",
    "custom",
    "do",
    "donated",
    "elided",
    "end",
    "execution",
    "exempt",
    "external",
    "from",
    "guard",
    "in_order",
    "input",
    "may_overwrite",
    "must_overwrite",
    "notes",
    "output",
    "param",
    "partial",
    "persistent",
    "plim",
    "queue",
    "queues",
    "reads",
    "scratch",
    "shared",
    "state",
    "static",
    "step",
    "until",
    "value",
    "view",
    "waits",
    "writes",
];

/// Something that can be found by its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct At<T> {
    pub(super) it: T,
    pub(super) at: Position,
}

/// A name in a text.
pub(super) type Name = At<String>;

/// One line.
#[derive(Clone, Debug)]
pub(super) enum Statement {
    Execution(Execution),
    Value(Declaration),
    Node(Box<NodeLine>),
    Output(Vec<Name>),
}

/// A value with its type and what else is said of it.
#[derive(Clone, Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "independent facts, each said by a word of its own"
)]
pub(super) struct Declaration {
    pub(super) name: Name,
    pub(super) role: Role,
    /// `None` for an output whose type follows from the op or is declared elsewhere.
    pub(super) of_type: Option<(Dtype, Shape)>,
    pub(super) storage: Storage,
    pub(super) bytes: Option<u64>,
    pub(super) view: Option<(Name, u64, Option<Strided>)>,
    pub(super) align: Option<u64>,
    pub(super) guard: u64,
    pub(super) exempt: bool,
    pub(super) elided: bool,
    pub(super) donated: bool,
    pub(super) copied: bool,
}

impl Declaration {
    pub(super) fn new(name: Name, role: Role, storage: Storage) -> Self {
        Declaration {
            name,
            role,
            of_type: None,
            storage,
            bytes: None,
            view: None,
            align: None,
            guard: 0,
            exempt: false,
            elided: false,
            donated: false,
            copied: false,
        }
    }
}

/// A node.
#[derive(Clone, Debug)]
pub(super) struct NodeLine {
    pub(super) at: Position,
    pub(super) name: Option<Name>,
    pub(super) op: Op,
    pub(super) kind: String,
    pub(super) inputs: Vec<Option<Name>>,
    pub(super) outputs: Vec<Option<Declaration>>,
    pub(super) also_reads: Vec<Name>,
    pub(super) scratch: Option<Scratch>,
    pub(super) overwrites: Vec<(Name, Name, bool)>,
    pub(super) windows: Vec<WindowText>,
    pub(super) queue: u32,
    pub(super) after: Vec<Name>,
    pub(super) block: Option<u32>,
    pub(super) elided: bool,
    pub(super) notes: Vec<(Name, String)>,
}

/// A window of an access.
#[derive(Clone, Debug)]
pub(super) struct WindowText {
    pub(super) value: Name,
    pub(super) kind: AccessKind,
    pub(super) from: Option<Name>,
    pub(super) until: UntilText,
    pub(super) bytes: Option<(u64, u64)>,
}

/// The end of an access.
#[derive(Clone, Debug)]
pub(super) enum UntilText {
    Writes,
    Step,
    End,
    Node(Name),
}
