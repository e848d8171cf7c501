//! The graph at the largest sizes, without what does not hold at others.

use std::collections::BTreeSet;

use plimsoll::{AccessKind, ValueId};
use plimsoll_graph::effect::traits;
use plimsoll_graph::{
    Aliases, Graph, GraphBuilder, GraphError, Kernels, Node, NodeId, Op, Window, packed_bytes,
};

use super::compare::Shared;
use super::{Proof, RangeError, Why};

/// The graph with nothing declared but what holds at every size, with kernels that view whatever can
/// be viewed, or less.
pub(super) fn adapted(
    top: &Graph,
    mut shared: Shared,
    proof: &mut Proof,
) -> Result<Graph, RangeError> {
    copy_moving_outputs(top, &mut shared);
    let mut builder = GraphBuilder::from(top);
    for (name, value, bytes) in larger(top, &shared) {
        builder.value_mut(value).bytes = Some(bytes);
        proof.larger.insert(name, bytes);
        // What has a size of its own is no view.
        if let Some(link) = shared.views.get_mut(&value) {
            link.holds = false;
        }
    }
    for id in top.node_ids() {
        builder.node_mut(id).op = viewing_op(top, &shared, id);
    }
    let viewing = builder.clone().finish()?;
    let places = Places { aliases: viewing.aliases(&Kernels::default()), shared: &shared };
    for id in top.node_ids() {
        let node = builder.node_mut(id);
        let ops = shared.overwrites.range((id, 0, 0)..=(id, usize::MAX, usize::MAX));
        for over in ops.into_iter().map(|(_, over)| over) {
            let input = over.input;
            if !over.holds || places.moves(input) || places.has_twin(&viewing, id, input) {
                keep_apart(node, input);
            }
        }
        let mut declared = shared.declared.range((id, 0)..=(id, usize::MAX));
        node.overwrites.retain(|_| {
            declared.next().is_none_or(|(_, over)| over.holds && !places.moves(over.input))
        });
        places.read_whole(node);
    }
    let mut named = BTreeSet::new();
    proof.given_up = shared.given_up;
    proof.given_up.retain(|given_up| named.insert(given_up.value.clone()));
    Ok(builder.finish()?)
}

/// A graph at one size in which exactly those values are views that are views in the planned one, as
/// far as they can be: an op makes all of its views or none, so those of a node that copies
/// some of its outputs are declared on the others.
pub(super) fn with_views_of(planned: &Graph, there: &Graph) -> Result<Graph, GraphError> {
    let kernels = Kernels::default();
    let (views, more) = (planned.aliases(&kernels), there.aliases(&kernels));
    let mut builder = GraphBuilder::from(there);
    for id in there.node_ids() {
        let is_planned = |value: &ValueId| views.view(*value).is_some();
        let is_copied = |value: ValueId| more.view(value).is_some() && !is_planned(&value);
        if there.node(id).results().any(is_copied) {
            builder.node_mut(id).op = Op::Gather;
            for value in there.node(id).results().filter(is_planned) {
                builder.value_mut(value).view = more.view(value);
            }
        }
    }
    builder.finish()
}

/// Declares that a node reads an input until it is done: nothing takes over what has a window.
fn keep_apart(node: &mut Node, input: ValueId) {
    let read = Window::new(input, AccessKind::Read);
    if node.windows.iter().all(|window| (window.value, window.kind) != (read.value, read.kind)) {
        node.windows.push(read);
    }
}

/// The values that are larger at some size than at the largest, with their bytes.
fn larger(top: &Graph, shared: &Shared) -> Vec<(String, ValueId, u64)> {
    let mut found = Vec::new();
    for id in top.value_ids() {
        let value = top.value(id);
        let most = shared.elements[id.index()];
        let bytes = most.and_then(|most| packed_bytes(most, value.dtype.bits()));
        if let (Some(bytes), Some(now)) = (bytes, value.native_size().known())
            && bytes > now
        {
            found.push((value.name.clone(), id, bytes));
        }
    }
    found
}

/// Gives up the views by which an output would be other bytes at other sizes: nobody reads the whole
/// when the run is over.
fn copy_moving_outputs(top: &Graph, shared: &mut Shared) {
    for output in top.outputs() {
        let mut value = *output;
        while let Some(link) = shared.views.get(&value).copied().filter(|link| link.holds) {
            if !link.is_settled() {
                shared.give_up_view(value, Why::Moves);
                break;
            }
            value = link.of;
        }
    }
}

/// The op of a node, or one that does the same with copies where its views do not hold at every
/// size, or where they would have to be found again for each.
fn viewing_op(top: &Graph, shared: &Shared, id: NodeId) -> Op {
    let node = top.node(id);
    let links = || node.results().filter_map(|value| shared.views.get(&value));
    let lost = links().any(|link| !link.holds);
    // These can become rows of each other once an order is known.
    let parts = traits(&node.op).views.can_be_strided();
    let constant = node.reads().chain(node.results()).all(|v| shared.constant[v.index()]);
    if lost || parts && links().next().is_none() && !constant {
        Op::Gather
    } else {
        node.op.clone()
    }
}

/// Where values are at every size.
struct Places<'a> {
    aliases: Aliases,
    shared: &'a Shared,
}

impl Places<'_> {
    /// Whether a value is not the same bytes of what it is a part of at every size.
    fn moves(&self, value: ValueId) -> bool {
        let mut at = value;
        while let Some(view) = self.aliases.view(at) {
            if !self.shared.views.get(&at).is_some_and(|link| link.is_settled()) {
                return true;
            }
            at = view.of;
        }
        false
    }

    /// Whether a node reads another value that is the same bytes as one at the largest sizes: it
    /// need not be at others.
    fn has_twin(&self, graph: &Graph, id: NodeId, value: ValueId) -> bool {
        let alias = self.aliases.resolve(value);
        let stays = |value: ValueId| self.shared.constant[value.index()] && !self.moves(value);
        let twin = |other: ValueId| {
            let same = other != value && self.aliases.resolve(other) == alias;
            same && !(stays(value) && stays(other))
        };
        graph.node(id).reads().any(twin)
    }

    /// Declares that a node reads all of that of which it reads a part that moves.
    fn read_whole(&self, node: &mut Node) {
        let parts: Vec<ValueId> = node.reads().filter(|value| self.moves(*value)).collect();
        for part in parts {
            let root = self.aliases.resolve(part).root;
            if node.reads().all(|read| read != root) {
                node.also_reads.push(root);
            }
        }
    }
}
