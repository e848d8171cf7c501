//! A node of a graph: an op on operands, and what is declared of its accesses.

use std::collections::BTreeMap;
use std::fmt;

use plimsoll::{AccessKind, Overwrite, Scratch, ValueId};
use plimsoll_pack::Span;

use crate::op::Op;

/// A node of a graph, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The id of an index.
    ///
    /// # Panics
    /// If the index does not fit: nothing has 2³² nodes.
    #[must_use]
    pub fn new(index: usize) -> Self {
        NodeId(u32::try_from(index).expect("fewer than 2^32 nodes"))
    }

    /// The id as an index into arrays by id.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node {}", self.0)
    }
}

/// An op on operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Any text, but not empty; no two nodes have the same.
    pub name: String,
    /// The class of its op, which decides what it does to memory.
    pub op: Op,
    /// What the op is called where it comes from. People select nodes by it; nothing else is
    /// decided by it.
    pub kind: String,
    /// What it reads; `None` for an optional operand that is absent.
    pub inputs: Vec<Option<ValueId>>,
    /// What it makes; `None` for an optional result that nobody wants.
    pub outputs: Vec<Option<ValueId>>,
    /// What it reads beside its inputs: the parent of a slice, say.
    pub also_reads: Vec<ValueId>,
    /// Memory that it needs while it runs.
    pub scratch: Option<Scratch>,
    /// What its outputs may or must take over, beside what follows from the op.
    pub overwrites: Vec<Overwrite>,
    /// Accesses that are not of the whole value, or reach beyond the node's own step.
    pub windows: Vec<Window>,
    /// Its queue, where there are queues.
    pub queue: u32,
    /// Nodes that are certainly over before it begins, beside those that data come from.
    pub after: Vec<NodeId>,
    /// Its block: the nodes of a block run one after another, in the order of the graph, with no
    /// other node in between.
    pub block: Option<u32>,
    /// Whether it is folded into its neighbours and takes no step. Whoever reads an elided output
    /// of it reads its inputs; whoever makes an elided input of it writes its outputs.
    pub elided: bool,
    /// Remarks for people and back ends.
    pub notes: BTreeMap<String, String>,
}

/// An access that is not as accesses are by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// An operand of the node.
    pub value: ValueId,
    /// Its read or its write.
    pub kind: AccessKind,
    /// The node with whose step it may begin; `None` for its own.
    pub from: Option<NodeId>,
    /// When it is certainly over.
    pub until: End,
    /// Which bytes, at the native width; `None` for all.
    pub bytes: Option<Span>,
}

impl Window {
    /// As accesses are by default.
    #[must_use]
    pub fn new(value: ValueId, kind: AccessKind) -> Self {
        Window { value, kind, from: None, until: End::Step, bytes: None }
    }
}

/// When an access is certainly over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Before its own node writes anything; for reads only.
    Writes,
    /// With its own node.
    Step,
    /// With that later node.
    After(NodeId),
    /// With the run.
    EndOfRun,
}

impl Node {
    /// An op on operands that are all there, with nothing else declared.
    #[must_use]
    pub fn new(name: impl Into<String>, op: Op, inputs: &[ValueId], outputs: &[ValueId]) -> Self {
        Node {
            name: name.into(),
            kind: op.class().to_owned(),
            op,
            inputs: inputs.iter().copied().map(Some).collect(),
            outputs: outputs.iter().copied().map(Some).collect(),
            also_reads: Vec::new(),
            scratch: None,
            overwrites: Vec::new(),
            windows: Vec::new(),
            queue: 0,
            after: Vec::new(),
            block: None,
            elided: false,
            notes: BTreeMap::new(),
        }
    }

    /// The same, called something else where it comes from.
    #[must_use]
    pub fn with_kind(self, kind: impl Into<String>) -> Self {
        Node { kind: kind.into(), ..self }
    }

    /// The inputs that are there, and what it reads beside them.
    pub fn reads(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.inputs.iter().flatten().chain(&self.also_reads).copied()
    }

    /// The outputs that are there.
    pub fn results(&self) -> impl Iterator<Item = ValueId> + '_ {
        self.outputs.iter().flatten().copied()
    }

    /// The window of an access, the default one if nothing is declared.
    pub(crate) fn window(&self, value: ValueId, kind: AccessKind) -> Window {
        let declared = self.windows.iter().find(|w| w.value == value && w.kind == kind);
        declared.copied().unwrap_or_else(|| Window::new(value, kind))
    }
}
