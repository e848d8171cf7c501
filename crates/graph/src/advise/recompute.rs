//! Making a cheap value again where it is needed late, instead of keeping it.
//!
//! ```text
//!   a ──▶ relu ──▶ b ──▶ early          a ──▶ relu ──▶ b ──▶ early
//!                  └───────▶ late       a ──────────▶ relu again ──▶ b again ──▶ late
//! ```
//!
//! `b` need not be kept until the late reader; what it is made of has to be there then. Whether that
//! is better is for the plan to say.

use plimsoll::{Role, Storage, ValueId};

use super::draft::{Draft, is_plain};
use crate::effect::{Recompute, traits};
use crate::graph::{Graph, NodeId, Value};
use crate::shape::Elements;

/// The elements that it takes to make the output of a node again, if that is cheap.
pub(super) fn elements(graph: &Graph, node: NodeId) -> Option<u64> {
    let node = graph.node(node);
    let is_cheap = match traits(&node.op).recompute {
        Recompute::Never => false,
        Recompute::Cheap => true,
        Recompute::CheapIfUnary => node.inputs.len() == 1,
    };
    let count = |value: ValueId| match graph.value(value).shape.elements() {
        Elements::Known(count) => count,
        Elements::Unknown | Elements::TooMany => 0,
    };
    let most = node.inputs.iter().flatten().chain(node.outputs.iter().flatten());
    (is_cheap && is_plain(node)).then(|| most.map(|value| count(*value)).max().unwrap_or(0))
}

/// The graph in which these readers read a second making of a node's output.
pub(super) fn again(graph: &Graph, node: NodeId, readers: &[NodeId]) -> Option<Graph> {
    let made = graph.node(node).outputs.first().copied().flatten()?;
    let Value { role, storage, .. } = graph.value(made);
    if (*role, *storage) != (Role::Temporary, Storage::Arena) {
        return None;
    }
    let mut draft = Draft::of(graph);
    let name = format!("{} again", graph.value(made).name);
    let copy = draft.add_value(graph.value(made).clone(), &name);
    let mut first = usize::MAX;
    for reader in readers {
        let at = draft.place_of(*reader)?;
        if !is_free(graph, *reader, made) {
            return None;
        }
        let inputs = draft.node_mut(at).inputs.iter_mut().flatten();
        inputs.filter(|input| **input == made).for_each(|input| *input = copy);
        first = first.min(at);
    }
    let mut second = graph.node(node).clone();
    second.name = format!("{} again", second.name);
    second.outputs = vec![Some(copy)];
    draft.insert(first, second);
    draft.finish()
}

/// Whether a node reads a value and says nothing else of it.
fn is_free(graph: &Graph, reader: NodeId, value: ValueId) -> bool {
    let node = graph.node(reader);
    node.inputs.contains(&Some(value))
        && !node.also_reads.contains(&value)
        && !node.windows.iter().any(|window| window.value == value)
        && !node.overwrites.iter().any(|overwrite| overwrite.input == value)
        && node.block.is_none()
        && !node.elided
}
