//! Outputs and inputs that are the same rows.
//!
//! Who takes over whom is for the planner to decide, where both are stretches of bytes. Rows are
//! declared. So that an output can take over an input that is in rows, or be in rows and take over an
//! input that is not, both are declared to be the same rows of one value.
//!
//! ```text
//!   qkv ──▶ q, k, v ──▶ attention ──▶ o     [ q │ k │ v ]   o is in the rows of q, which nobody
//!                                           [ o │ k │ v ]   reads any more
//!
//!   c ──▶ relu ──▶ r ──▶ concat ──▶ y       [ c │   ]       c is in the rows that the concat gives
//!                                           [ r │   ]       to r
//! ```
//!
//! That is right where whatever is in these bytes before the node runs is read before it runs, and by
//! nobody else while it runs. The order of the graph says what is before; that two nodes write the same
//! bytes keeps it so in all others. Cost: linear in the graph, and in the values of one root for each.

use std::collections::BTreeMap;

use plimsoll::{Execution, Role, Storage, ValueId};

use super::choice::Choice;
use super::{Rules, is_placed_freely};
use crate::graph::{Aliases, Graph, GraphError, NodeFault, NodeId, Resolved, topological_order};
use crate::scheduled::LoweringOptions;

/// An output and an input of a node that are to be the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Takeover {
    pub(super) node: NodeId,
    pub(super) output: ValueId,
    pub(super) input: ValueId,
}

impl Takeover {
    /// That of a node's operands, by index.
    pub(super) fn of(graph: &Graph, node: NodeId, output: usize, input: usize) -> Option<Self> {
        let operands = graph.node(node);
        let output = operands.outputs.get(output).copied()??;
        let input = operands.inputs.get(input).copied()??;
        Some(Takeover { node, output, input })
    }

    /// Whether it is that of a choice.
    pub(super) fn is(&self, graph: &Graph, choice: &Choice) -> bool {
        match choice {
            Choice::TakeOver(node, output, input) => {
                Takeover::of(graph, *node, *output, *input) == Some(*self)
            }
            Choice::Elide(_) | Choice::Join(..) | Choice::Copy(..) => false,
        }
    }
}

/// All outputs that could take over an input in rows; those behind others first, since a row of ops
/// begins where the last of them is in rows.
pub(super) fn takeovers(graph: &Graph, lowering: &LoweringOptions) -> Vec<Choice> {
    let kernels = &lowering.kernels;
    if !kernels.overwrites() || graph.execution() != Execution::InOrder {
        return Vec::new();
    }
    let rules = Rules::of(graph, kernels);
    if !rules.rows.contains(&true) {
        return Vec::new();
    }
    let overwriting = kernels.overwriting(graph);
    let sized = |value: ValueId| lowering.sizes.contains_key(&graph.value(value).name);
    let mut found = Vec::new();
    for node in topological_order(graph).into_iter().rev().filter(|node| rules.runs(*node)) {
        for (output, input) in pairs(graph, node, overwriting[node.index()]) {
            let takeover = Takeover::of(graph, node, output, input);
            let fits = |t: Takeover| rules.may(t) && !sized(t.output) && !sized(t.input);
            if takeover.is_some_and(fits) {
                found.push(Choice::TakeOver(node, output, input));
            }
        }
    }
    found
}

/// The outputs of a node that may overwrite an input, by index: as the op says, if its kernel does
/// that, and as is declared.
fn pairs(graph: &Graph, id: NodeId, by_op: bool) -> Vec<(usize, usize)> {
    let node = graph.node(id);
    let mut pairs = if by_op { graph.native_effect(id).overwrites } else { Vec::new() };
    let at = |list: &[Option<ValueId>], value: ValueId| list.iter().position(|v| *v == Some(value));
    for overwrite in node.overwrites.iter().filter(|overwrite| !overwrite.must) {
        let pair = at(&node.outputs, overwrite.output).zip(at(&node.inputs, overwrite.input));
        pairs.extend(pair.filter(|pair| !pairs.contains(pair)));
    }
    pairs
}

impl Rules<'_> {
    fn runs(&self, node: NodeId) -> bool {
        !self.graph.node(node).elided && !self.aliases.is_pure_view(node)
    }

    /// Whether output and input are as large, may both be in rows, and leave it to us where they are.
    fn may(&self, Takeover { node, output, input }: Takeover) -> bool {
        let value = |id: ValueId| self.graph.value(id);
        let bytes = |id: ValueId| value(id).native_size().known();
        let reads = self.graph.node(node).reads().filter(|read| *read == input).count();
        let in_rows = |id: ValueId| self.rows[id.index()] && !self.declared[id.index()];
        reads == 1
            && in_rows(output)
            && in_rows(input)
            && self.is_plain(output)
            && self.aliases.view(output).is_none()
            && value(output).dtype == value(input).dtype
            && bytes(output).is_some()
            && bytes(output) == bytes(input)
            && value(input).role == Role::Temporary
            && value(input).storage == Storage::Arena
    }
}

/// Whether a value that somebody makes leaves it to us where it is.
pub(super) fn is_free(graph: &Graph, aliases: &Aliases, value: ValueId) -> bool {
    let runs = |node: NodeId| !graph.node(node).elided && !aliases.is_pure_view(node);
    is_placed_freely(graph.value(value))
        && aliases.view(value).is_none()
        && graph.producer(value).is_some_and(runs)
}

/// An error for the first that would destroy what somebody still reads.
pub(super) fn check_takeovers(
    before: &Graph,
    joined: &Graph,
    resolved: &Resolved,
    takeovers: &[Takeover],
) -> Result<(), GraphError> {
    match harmful(before, joined, resolved, takeovers).first() {
        None => Ok(()),
        Some(Takeover { node, output, input }) => {
            let name = |value: &ValueId| joined.value(*value).name.clone();
            let (output, input) = (name(output), name(input));
            let fault = NodeFault::OverwriteStillRead { output, input };
            Err(GraphError::node(&joined.node(*node).name, fault))
        }
    }
}

/// Those that would destroy what somebody still reads.
pub(super) fn harmful(
    before: &Graph,
    joined: &Graph,
    resolved: &Resolved,
    takeovers: &[Takeover],
) -> Vec<Takeover> {
    if takeovers.is_empty() {
        return Vec::new();
    }
    let contents = Contents::of(before, joined, resolved);
    takeovers.iter().copied().filter(|takeover| !contents.allow(takeover)).collect()
}

/// What is in the bytes of roots, from when on, and who reads it when.
struct Contents<'a> {
    joined: &'a Graph,
    aliases: &'a Aliases,
    /// The place of every node in an order.
    position: Vec<usize>,
    /// The values of each root.
    of_root: BTreeMap<ValueId, Vec<ValueId>>,
    /// Who reads each value; all of those that were elided before read at the end.
    readers: Vec<Vec<NodeId>>,
    at_the_end: Vec<bool>,
}

impl<'a> Contents<'a> {
    fn of(before: &Graph, joined: &'a Graph, resolved: &'a Resolved) -> Self {
        let aliases = &resolved.aliases;
        let mut position = vec![0; joined.nodes().len()];
        for (place, node) in resolved.order.iter().enumerate() {
            position[node.index()] = place;
        }
        let mut of_root: BTreeMap<ValueId, Vec<ValueId>> = BTreeMap::new();
        for value in joined.value_ids() {
            of_root.entry(aliases.resolve(value).root).or_default().push(value);
        }
        let mut readers = vec![Vec::new(); joined.values().len()];
        let mut at_the_end = vec![false; joined.values().len()];
        for node in joined.node_ids().filter(|node| !aliases.is_pure_view(*node)) {
            for value in joined.node(node).reads() {
                if before.node(node).elided {
                    at_the_end[value.index()] = true;
                } else if !joined.node(node).elided {
                    readers[value.index()].push(node);
                }
            }
        }
        joined.outputs().iter().for_each(|output| at_the_end[output.index()] = true);
        Contents { joined, aliases, position, of_root, readers, at_the_end }
    }

    /// Whether a takeover destroys nothing that somebody still reads.
    fn allow(&self, Takeover { node, output, input }: &Takeover) -> bool {
        let (alias, now) = (self.aliases.resolve(*output), self.position[node.index()]);
        let root = self.joined.value(alias.root);
        let ours = (root.role, root.storage) == (Role::Temporary, Storage::Arena);
        let since = self.made(*input);
        let is_harmed = |value: &ValueId| {
            let made = self.made(*value);
            let is_there = value != output
                && made < now
                && self.aliases.share_bytes(self.joined, *output, *value);
            // What is written over the input meanwhile is no view of it.
            let is_over = made > since;
            let late = |reader: &NodeId| {
                let place = self.position[reader.index()];
                place > now || place == now && value != input
            };
            let is_read = || self.readers[value.index()].iter().any(late);
            is_there && (is_over || self.at_the_end[value.index()] || is_read())
        };
        let around = &self.of_root[&alias.root];
        // A node that reads what its output is a part of would count as one that only makes a view.
        let is_made = |value: ValueId, by: NodeId| {
            !self.aliases.is_pure_view(by) && self.aliases.are_written(self.joined, by, value)
        };
        let maker = self.joined.producer(*input);
        let runs = is_made(*output, *node)
            && maker.is_none_or(|maker| self.aliases.is_pure_view(maker) || is_made(*input, maker));
        ours && runs && self.aliases.resolve(*input) == alias && !around.iter().any(is_harmed)
    }

    /// The place of the node that made what is in a value: views are made with what they are views of.
    fn made(&self, value: ValueId) -> usize {
        let writer = self.joined.producer(value).filter(|node| !self.aliases.is_pure_view(*node));
        match (writer, self.aliases.view(value)) {
            (Some(node), _) => self.position[node.index()],
            (None, Some(view)) => self.made(view.of),
            (None, None) => 0,
        }
    }
}
