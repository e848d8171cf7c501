//! Concats, splits and slices without copies.
//!
//! ```text
//!   a ──▶ ┐                      a ──▶ [ a │ b ]   a and b are parts of the output, and whoever
//!   b ──▶ concat ──▶ y           b ──▶ [   y   ]   makes them writes them there: no step is left
//! ```
//!
//! That is possible where every input is made by a node that leaves it to us where it writes, as it is
//! or in another shape, and where the parts are stretches of memory; or, where the kernels concerned know strides, rows that
//! are apart: parts of an inner axis. Then splits, slices and repetitions along an inner axis can be
//! views as well. A concat of values that lie in a row in a larger output already, as in a dense
//! block, is a view of that output. So the largest come first. Where not all inputs can be made in the
//! output, or not all should be, a concat copies the rest.
//!
//! It is not always better: the output is there from the first part on, and parts are needed as
//! long as the output is. [`join_concats`] compares plans of [choices](Choice).
//!
//! A part begins wherever the one before it ends. A kernel that wants more of what it writes says
//! so: values with an alignment, a guard or a size of their own stay where they are, and kernels
//! that do not work in place either, whose nodes write bytes of their own, are left alone.

mod choice;
mod recorded;
mod search;
mod takeover;
mod views;

pub use choice::Choice;
use choice::Layouts;
use plimsoll::{AccessKind, Execution, Layout, Role, Storage, Strided, ValueId, View};
pub use recorded::{JoinError, RecordedChoice, joined_as_recorded};
pub(crate) use search::join_concats_watched;
pub use search::{Joined, join_concats};

use crate::effect::{StridedEffect, strided_views};
use crate::graph::{
    Aliases, End, Graph, GraphError, Kernels, NodeId, Part, Parts, Value, ValueFault, can_be_left,
    copied, is_bare, is_concat, parts, topological_order,
};
use crate::scheduled::LoweringOptions;

/// The bytes that steps which only move bytes write in a run, at the native width.
#[must_use]
pub fn moved_bytes(graph: &Graph, kernels: &Kernels) -> u64 {
    moved_by(graph, &graph.aliases(kernels))
}

fn moved_by(graph: &Graph, aliases: &Aliases) -> u64 {
    let moves = |node: &NodeId| {
        let runs = !graph.node(*node).elided && !aliases.is_pure_view(*node);
        runs && graph.native_effect(*node).copies
    };
    let written = |node: NodeId| {
        if let Some(copied) = copied(graph, aliases, node) {
            return copied.spans.iter().map(|span| span.len()).sum();
        }
        let made = graph.node(node).results();
        let made = made.filter(|value| aliases.are_written(graph, node, *value));
        let bytes = made.filter_map(|value| {
            match graph.node(node).window(value, AccessKind::Write).bytes {
                Some(part) => Some(part.len()),
                None => graph.value(value).native_size().known(),
            }
        });
        bytes.sum::<u64>()
    };
    graph.node_ids().filter(moves).map(written).sum()
}

/// A node that could do with fewer copies.
pub(super) struct Candidate {
    node: NodeId,
    /// The bytes that it would not copy, at the most.
    bytes: u64,
    /// Whether it could take no step.
    elides: bool,
    /// Whether inputs of it could be made in its output while others are copied.
    joins: bool,
    /// Which inputs could.
    inputs: Vec<usize>,
}

/// With more inputs than this, only all of them and all but one are tried.
const MOST_SUBSETS: usize = 5;

impl Candidate {
    /// Every choice there is for it, the largest first.
    fn all(&self) -> Vec<Choice> {
        let count = self.inputs.len();
        if !self.joins || count > MOST_SUBSETS {
            return self.largest().into_iter().chain(self.fewer()).collect();
        }
        let subset = |bits: u32| {
            let inputs = self.inputs.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
            Choice::Join(self.node, inputs.map(|(_, input)| *input).collect())
        };
        // All of them together are more than a choice of inputs where the node takes no step then.
        let most = (1 << count) - u32::from(self.elides);
        let subsets = (1..most).rev().map(subset);
        self.elides.then_some(Choice::Elide(self.node)).into_iter().chain(subsets).collect()
    }

    /// Whether a choice is one for it. Inputs are in order and each named once.
    fn allows(&self, choice: &Choice) -> bool {
        let can = |inputs: &[usize]| {
            inputs.is_sorted_by(|a, b| a < b) && inputs.iter().all(|i| self.inputs.contains(i))
        };
        self.node == choice.node()
            && match choice {
                Choice::Elide(_) => self.elides,
                Choice::Join(_, inputs) => self.joins && can(inputs),
                Choice::Copy(..) | Choice::TakeOver(..) => false,
            }
    }

    /// As much as there is.
    fn largest(&self) -> Option<Choice> {
        let join = || Choice::Join(self.node, self.inputs.clone());
        let join = self.joins.then(join).filter(|_| !self.inputs.is_empty());
        if self.elides { Some(Choice::Elide(self.node)) } else { join }
    }

    /// One input fewer than all, each in turn.
    fn fewer(&self) -> Vec<Choice> {
        if !self.joins || self.inputs.len() < 2 {
            return Vec::new();
        }
        let without = |input: &usize| self.inputs.iter().copied().filter(|i| i != input).collect();
        self.inputs.iter().map(|input| Choice::Join(self.node, without(input))).collect()
    }

    /// Whether it is no concat, but a node whose outputs could be rows of its input.
    fn makes_views(&self) -> bool {
        !self.joins && self.inputs.is_empty()
    }

    /// The operands of the node, and what they are made as.
    fn touches(&self, graph: &Graph, aliases: &Aliases) -> impl Iterator<Item = ValueId> {
        let node = graph.node(self.node);
        let made = |value: ValueId| [value, made_as(graph, aliases, value)];
        let values = node.reads().chain(node.results()).flat_map(made);
        values.collect::<Vec<_>>().into_iter()
    }
}

/// The nodes that could do with fewer copies, those that copy most first; but for nodes whose operands
/// have sizes of their own: parts of an output are as large as their types and shapes say.
fn candidates(graph: &Graph, aliases: &Aliases, lowering: &LoweringOptions) -> Vec<Candidate> {
    let sized = |value: ValueId| lowering.sizes.contains_key(&graph.value(value).name);
    let mut candidates = all_candidates(graph, &lowering.kernels);
    if !lowering.sizes.is_empty() {
        candidates.retain(|candidate| !candidate.touches(graph, aliases).any(sized));
    }
    candidates
}

fn all_candidates(graph: &Graph, kernels: &Kernels) -> Vec<Candidate> {
    // Between queues, waits are for steps: one that is gone would be missed.
    if !kernels.overwrites() || graph.execution() == Execution::Queues {
        return Vec::new();
    }
    let (rules, viewing) = (Rules::of(graph, kernels), kernels.viewing(graph));
    let nodes = graph.node_ids().filter(|node| viewing[node.index()]);
    let mut candidates: Vec<Candidate> = nodes.filter_map(|node| rules.candidate(node)).collect();
    candidates.sort_by_cached_key(|candidate| (std::cmp::Reverse(candidate.bytes), candidate.node));
    candidates
}

/// The nodes that could take no step, those that copy most first.
#[must_use]
pub fn concat_candidates(graph: &Graph, kernels: &Kernels) -> Vec<NodeId> {
    let candidates = all_candidates(graph, kernels);
    candidates.iter().filter(|candidate| candidate.elides).map(|c| c.node).collect()
}

/// What nodes and operands must be like to do without copies.
struct Rules<'g> {
    graph: &'g Graph,
    aliases: Aliases,
    /// The values that nodes say more of than that they are operands.
    declared: Vec<bool>,
    /// The nodes whose steps others refer to.
    referred: Vec<bool>,
    /// The values that may be in rows: everybody who touches them knows strides.
    rows: Vec<bool>,
}

impl<'g> Rules<'g> {
    fn of(graph: &'g Graph, kernels: &Kernels) -> Self {
        let mut declared = vec![false; graph.values().len()];
        let mut referred = vec![false; graph.nodes().len()];
        for node in graph.nodes() {
            for window in &node.windows {
                declared[window.value.index()] = true;
                let until = match window.until {
                    End::After(other) => Some(other),
                    End::Writes | End::Step | End::EndOfRun => None,
                };
                for other in window.from.into_iter().chain(until) {
                    referred[other.index()] = true;
                }
            }
            for overwrite in &node.overwrites {
                declared[overwrite.output.index()] |= overwrite.must;
                declared[overwrite.input.index()] |= overwrite.must;
            }
            for other in &node.after {
                referred[other.index()] = true;
            }
        }
        let aliases = graph.aliases(kernels);
        let rows = rows(graph, &aliases, kernels);
        Rules { graph, aliases, declared, referred, rows }
    }

    /// What a node could do without.
    fn candidate(&self, node: NodeId) -> Option<Candidate> {
        let Some(parts) = parts(self.graph, node) else {
            let bytes = self.graph.value(self.viewed(node)?).native_size().known()?;
            let (elides, inputs) = (true, Vec::new());
            return Some(Candidate { node, bytes, elides, joins: false, inputs });
        };
        self.graph.node(node).outputs[0].filter(|output| self.is_plain(*output))?;
        let inputs = self.joinable(&parts);
        let all = inputs.len() == parts.list.len();
        let elides = all && !self.referred[node.index()];
        let joins = can_be_left(&parts) && self.graph.execution() == Execution::InOrder;
        let joins = joins && !inputs.is_empty();
        let joined = |index: &usize| parts.list[*index].bytes * parts.rows;
        let bytes = inputs.iter().map(joined).sum();
        (elides || joins).then_some(Candidate { node, bytes, elides, joins, inputs })
    }

    /// The inputs of a concat that can be made in its output.
    fn joinable(&self, parts: &Parts) -> Vec<usize> {
        let made = |part: &Part| made_as(self.graph, &self.aliases, part.value);
        let fits = |index: &usize| {
            let part = &parts.list[*index];
            let once = parts.list[..*index].iter().all(|other| made(other) != made(part));
            let rows = || self.rows[part.value.index()] && self.rows[made(part).index()];
            once && self.is_made_alone(made(part)) && (parts.rows == 1 || rows())
        };
        (0..parts.list.len()).filter(fits).collect()
    }

    /// The largest output of a node that could be views of rows of its input, and nothing else.
    fn viewed(&self, id: NodeId) -> Option<ValueId> {
        let views = row_views(self.graph, id)?;
        let fits = |(value, _): &(ValueId, View)| {
            self.is_plain(*value) && self.aliases.view(*value).is_none() && self.rows[value.index()]
        };
        let elided = |(_, view): &(ValueId, View)| self.graph.value(view.of).elided;
        let fits =
            !self.referred[id.index()] && views.iter().all(fits) && !views.iter().any(elided);
        let bytes = |value: &ValueId| self.graph.value(*value).native_size().known();
        views.iter().map(|(value, _)| *value).max_by_key(bytes).filter(|_| fits)
    }

    /// Whether a value leaves it to us where it is.
    fn is_plain(&self, id: ValueId) -> bool {
        is_placed_freely(self.graph.value(id)) && !self.declared[id.index()]
    }

    /// Whether a value is plain, and written by the node that makes it.
    fn is_made_alone(&self, value: ValueId) -> bool {
        let runs = |node: NodeId| !self.graph.node(node).elided && !self.aliases.is_pure_view(node);
        self.is_plain(value)
            && self.aliases.view(value).is_none()
            && self.graph.producer(value).is_some_and(runs)
    }
}

/// Whether nothing is said of a value's place.
fn is_placed_freely(value: &Value) -> bool {
    let Value { role, storage, view, align, guard, bytes, elided, .. } = value;
    (*role, *storage) == (Role::Temporary, Storage::Arena)
        && view.is_none()
        && align.is_none()
        && (*guard, *bytes, *elided) == (0, None, false)
}

/// Whether everybody who touches a value knows strides; by value. What a run hands out is whole, and
/// so is what other views are made of than those that only have another shape.
fn rows(graph: &Graph, aliases: &Aliases, kernels: &Kernels) -> Vec<bool> {
    let striding = kernels.striding(graph);
    if !striding.contains(&true) {
        return vec![false; graph.values().len()];
    }
    let mut rows = vec![graph.execution() == Execution::InOrder; graph.values().len()];
    graph.outputs().iter().for_each(|output| rows[output.index()] = false);
    // A concat may be one that is no step any more: what is left of them is checked in the end.
    let is_step = |id: &NodeId| {
        let node = graph.node(*id);
        !node.elided && !is_concat(node)
    };
    for id in topological_order(graph).into_iter().rev().filter(is_step) {
        let node = graph.node(id);
        if let Some((output, input)) = reshaped(graph, aliases, id) {
            rows[input.index()] &= rows[output.index()];
            continue;
        }
        let views = aliases.is_pure_view(id) || !graph.native_views(id).is_empty();
        if !striding[id.index()] || views {
            node.reads().chain(node.results()).for_each(|value| rows[value.index()] = false);
        }
    }
    rows
}

/// The output and the input of a node that does nothing but give its input another shape.
fn reshaped(graph: &Graph, aliases: &Aliases, id: NodeId) -> Option<(ValueId, ValueId)> {
    let node = graph.node(id);
    let output = *node.outputs.first()?.as_ref().filter(|_| aliases.is_pure_view(id))?;
    let view = aliases.view(output).filter(|view| (view.offset, view.rows) == (0, None))?;
    let bytes = |value: ValueId| graph.value(value).native_size().known();
    let same =
        node.outputs.len() == 1 && bytes(output).is_some() && bytes(output) == bytes(view.of);
    same.then_some((output, view.of))
}

/// The outputs of a split, a slice or a repetition as rows of the input.
fn row_views(graph: &Graph, id: NodeId) -> Option<Vec<(ValueId, View)>> {
    let node = graph.node(id);
    let of = (*node.inputs.first()?)?;
    if !is_bare(node) || graph.value(of).bytes.is_some() {
        return None;
    }
    let (inputs, outputs) = graph.operands(id);
    let view = |StridedEffect { output, offset, rows }| {
        let value = node.outputs[output].filter(|value| graph.value(*value).bytes.is_none())?;
        Some((value, View { of, offset, rows: Some(rows) }))
    };
    strided_views(&node.op, &inputs, &outputs)?.into_iter().map(view).collect()
}

/// The graph with these choices, as far as they do not want the same value in two places. They are taken
/// in this order.
pub fn with_choices(
    graph: &Graph,
    kernels: &Kernels,
    choices: &[Choice],
) -> Result<Graph, GraphError> {
    let aliases = graph.aliases(kernels);
    let mut layouts = Layouts::of(graph, &aliases);
    layouts.take_all(choices);
    Ok(layouts.finish(kernels)?.0)
}

/// The graph without the copies of these nodes, as far as they do not want the same value in two
/// places. They have to be [candidates](concat_candidates), and are taken in this order.
pub fn without_concats(
    graph: &Graph,
    kernels: &Kernels,
    chosen: &[NodeId],
) -> Result<Graph, GraphError> {
    let choices: Vec<Choice> = chosen.iter().map(|node| Choice::Elide(*node)).collect();
    with_choices(graph, kernels, &choices)
}

/// The value that an operand is all bytes of by nothing but other shapes: what somebody makes.
fn made_as(graph: &Graph, aliases: &Aliases, operand: ValueId) -> ValueId {
    let mut made = operand;
    let bytes = |value: ValueId| graph.value(value).native_size().known();
    while let Some(view) = aliases.view(made).filter(|_| graph.value(made).view.is_none()) {
        let whole = (view.offset, view.rows) == (0, None) && bytes(view.of).is_some();
        if !whole || bytes(view.of) != bytes(operand) {
            break;
        }
        made = view.of;
    }
    made
}

/// Whoever touches rows that were none before knows strides, and rows end where an axis does.
fn check_rows(
    before: &Graph,
    old: &Aliases,
    joined: &Graph,
    aliases: &Aliases,
    kernels: &Kernels,
) -> Result<(), GraphError> {
    if joined.values().iter().zip(before.values()).all(|(new, old)| new.view == old.view) {
        return Ok(());
    }
    let striding = kernels.striding(joined);
    let in_rows = |value: &ValueId| {
        aliases.resolve(*value).rows.is_some() && old.resolve(*value).rows.is_none()
    };
    let runs = |id: &NodeId| !joined.node(*id).elided && !aliases.is_pure_view(*id);
    let blind = joined.node_ids().filter(runs).filter(|id| !striding[id.index()]);
    let touched = blind.flat_map(|id| joined.node(id).reads().chain(joined.node(id).results()));
    let handed_out = joined.outputs().iter().copied();
    let torn = joined.value_ids().filter(|value| !has_whole_rows(joined, aliases, *value));
    match touched.chain(handed_out).chain(torn).find(in_rows) {
        None => Ok(()),
        Some(value) => Err(GraphError::value(&joined.value(value).name, ValueFault::RowsUnread)),
    }
}

/// Whether the rows of a value are those of its outer axes, so that strides can say where they are.
fn has_whole_rows(graph: &Graph, aliases: &Aliases, value: ValueId) -> bool {
    let Some(rows) = aliases.resolve(value).rows else { return true };
    let value = graph.value(value);
    let count = value.native_size().known().map(|bytes| bytes / rows.bytes);
    let Some((count, dims)) = count.zip(value.shape.known()) else { return false };
    let mut outer = 1u64;
    dims.iter().any(|dim| {
        outer = outer.saturating_mul(*dim);
        outer == count
    })
}

/// Where the parts lie in one value already, one behind the other as a concat wants them.
fn in_a_row(
    graph: &Graph,
    views: &[Option<View>],
    parts: &Parts,
    made: impl Fn(ValueId) -> ValueId,
) -> Option<View> {
    let place = |part: &Part| {
        let (mut of, mut chain) = (made(part.value), Vec::new());
        while let Some(view) = views[of.index()] {
            chain.push((view, graph.value(of).native_size().known()?));
            of = view.of;
        }
        let mut layout = Layout::WHOLE;
        for (view, bytes) in chain.iter().rev() {
            layout = layout.view(view, *bytes)?;
        }
        Some((of, layout))
    };
    let (of, first) = place(&parts.list[0])?;
    let stride = first.rows.map(|rows| rows.stride);
    let expected = |part: &Part| {
        let rows = stride.map(|stride| Strided { bytes: part.bytes, stride });
        (of, Layout { first: first.first + part.offset, rows })
    };
    let fits = (parts.rows > 1) == stride.is_some();
    let all = fits && parts.list.iter().all(|part| place(part) == Some(expected(part)));
    let rows = stride.map(|stride| Strided { bytes: parts.stride, stride });
    all.then_some(View { of, offset: first.first, rows })
}
