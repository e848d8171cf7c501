//! What the kernels of a runtime can do, and how people select nodes.
//!
//! The table of effects says what an op *could* share. Kernels that were not written for it can
//! be told apart here: all of them, or some kinds of ops, or some nodes of a kind. What is
//! declared on a node or a value holds in any case.

use std::fmt;
use std::str::FromStr;

use plimsoll::{Role, ValueId};
use thiserror::Error;

use crate::graph::{Graph, NodeId};
use crate::op::Op;

/// What kernels can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kernels {
    /// What they can do in general.
    pub preset: Preset,
    /// Nodes whose outputs are not views, whatever the op.
    pub no_views: Vec<Selector>,
    /// Nodes whose outputs do not overwrite inputs, whatever the op.
    pub no_overwrites: Vec<Selector>,
    /// Nodes that read and write strided rows, though not all do.
    pub strided: Vec<Selector>,
}

/// What kernels can do in general.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// Views are free, and ops that can work in place do.
    #[default]
    Standard,
    /// The same, and every op reads and writes strided rows: parts of inner axes are views.
    Strided,
    /// Views are free; nothing works in place.
    Views,
    /// Every op writes bytes of its own.
    Copying,
    /// The reference kernels of TensorFlow Lite Micro: a reshape whose ends are at the same place does nothing, or
    /// copies bytes onto themselves; what goes element by element, from one operand or two, reads an element
    /// before it writes there. Others write before they have read everything, or are not known not to.
    Tflm,
}

impl Preset {
    /// Whether outputs of an op may be views.
    fn views(self, op: &Op) -> bool {
        match self {
            Preset::Standard | Preset::Strided | Preset::Views => true,
            Preset::Copying => false,
            Preset::Tflm => matches!(op, Op::Reshape | Op::Squeeze | Op::Unsqueeze | Op::Flatten),
        }
    }

    /// Whether an op may overwrite its inputs.
    fn overwrites(self, op: &Op) -> bool {
        match self {
            Preset::Standard | Preset::Strided => true,
            Preset::Views | Preset::Copying => false,
            Preset::Tflm => matches!(op, Op::Unary | Op::Binary),
        }
    }
}

impl Kernels {
    /// The kernels of a preset.
    #[must_use]
    pub fn new(preset: Preset) -> Self {
        Kernels { preset, ..Kernels::default() }
    }

    /// The nodes whose ops may make views, by node.
    pub(crate) fn viewing(&self, graph: &Graph) -> Vec<bool> {
        except(graph, |op| self.preset.views(op), &self.no_views)
    }

    /// The nodes whose ops may overwrite, by node.
    pub(crate) fn overwriting(&self, graph: &Graph) -> Vec<bool> {
        except(graph, |op| self.preset.overwrites(op), &self.no_overwrites)
    }

    /// Whether all ops that can work in place do.
    pub(crate) fn overwrites(&self) -> bool {
        match self.preset {
            Preset::Standard | Preset::Strided => true,
            Preset::Views | Preset::Copying | Preset::Tflm => false,
        }
    }

    /// The nodes that read and write strided rows, by node.
    pub(crate) fn striding(&self, graph: &Graph) -> Vec<bool> {
        let mut nodes = vec![self.preset == Preset::Strided; graph.nodes().len()];
        for node in selected_nodes(graph, &self.strided) {
            nodes[node.index()] = true;
        }
        for node in selected_nodes(graph, &self.no_views) {
            nodes[node.index()] = false;
        }
        nodes
    }

    /// Whether every op may make views: nothing has to be looked up.
    pub(crate) fn all_view(&self) -> bool {
        let all = match self.preset {
            Preset::Standard | Preset::Strided | Preset::Views => true,
            Preset::Copying | Preset::Tflm => false,
        };
        all && self.no_views.is_empty()
    }
}

fn except(graph: &Graph, on: impl Fn(&Op) -> bool, selectors: &[Selector]) -> Vec<bool> {
    let mut nodes: Vec<bool> = graph.nodes().iter().map(|node| on(&node.op)).collect();
    for node in selected_nodes(graph, selectors) {
        nodes[node.index()] = false;
    }
    nodes
}

/// Nodes of a kind, all or the n-th to m-th of them in the order of the graph: `Transpose`,
/// `Narrow:0-9`, `relu:3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// What the nodes are called by [kind](crate::graph::Node::kind) or by class, in any case of
    /// letters. `narrow` means every slice.
    pub kind: String,
    /// The first and the last that are meant, from 0.
    pub range: Option<(usize, usize)>,
}

/// A text that is no [`Selector`].
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` does not select nodes: write KIND, KIND:N or KIND:FIRST-LAST")]
pub struct BadSelector(pub String);

impl FromStr for Selector {
    type Err = BadSelector;

    fn from_str(text: &str) -> Result<Self, BadSelector> {
        let bad = || BadSelector(text.to_owned());
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| bad());
        // The last colon: kinds such as `custom::op` have colons of their own.
        let ends_in_numbers =
            |range: &str| range.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let (kind, range) = match text.rsplit_once(':') {
            Some((kind, range)) if ends_in_numbers(range.trim()) => (kind, Some(range)),
            Some((_, "")) => return Err(bad()),
            _ => (text, None),
        };
        let range = match range.map(|range| range.split_once('-').ok_or(range)) {
            None => None,
            Some(Ok((first, last))) => Some((number(first)?, number(last)?)),
            Some(Err(one)) => Some((number(one)?, number(one)?)),
        };
        let backwards = range.is_some_and(|(first, last)| first > last);
        if kind.trim().is_empty() || backwards {
            return Err(bad());
        }
        Ok(Selector { kind: kind.trim().to_owned(), range })
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.range {
            None => f.write_str(&self.kind),
            Some((first, last)) if first == last => write!(f, "{}:{first}", self.kind),
            Some((first, last)) => write!(f, "{}:{first}-{last}", self.kind),
        }
    }
}

impl Selector {
    fn is_of_kind(&self, graph: &Graph, node: NodeId) -> bool {
        let node = graph.node(node);
        let class = node.op.class();
        let is = |name: &str| self.kind.eq_ignore_ascii_case(name);
        is(&node.kind) || is(class) || (is("narrow") && class == "slice")
    }

    /// The nodes that are meant, in the order of the graph.
    fn nodes<'a>(&'a self, graph: &'a Graph) -> impl Iterator<Item = NodeId> + 'a {
        let of_kind = graph.node_ids().filter(|node| self.is_of_kind(graph, *node));
        let (first, last) = self.range.unwrap_or((0, usize::MAX));
        of_kind.skip(first).take((last - first).saturating_add(1))
    }
}

/// The nodes that any of the selectors means, in the order of the graph.
#[must_use]
pub fn selected_nodes(graph: &Graph, selectors: &[Selector]) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = selectors.iter().flat_map(|s| s.nodes(graph)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

/// The values that nodes of the selectors make: those whose bytes nobody else shall have, to
/// bisect a fault.
#[must_use]
pub fn no_reuse(graph: &Graph, selectors: &[Selector]) -> Vec<ValueId> {
    let nodes = selected_nodes(graph, selectors);
    let made = nodes.iter().flat_map(|node| graph.node(*node).results());
    let mut values: Vec<ValueId> =
        made.filter(|value| graph.value(*value).role == Role::Temporary).collect();
    values.sort_unstable();
    values
}
