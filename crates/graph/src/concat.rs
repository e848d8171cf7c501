//! Concats, splits and slices without copies.
//!
//! ```text
//!   a ──▶ ┐                      a ──▶ [ a │ b ]   a and b are parts of the output, and whoever
//!   b ──▶ concat ──▶ y           b ──▶ [   y   ]   makes them writes them there: no step is left
//! ```
//!
//! That is possible where every input is made by a node that leaves it to us where it writes, and
//! where the parts are stretches of memory; or, where the kernels concerned know strides, rows that
//! are apart: parts of an inner axis. Then splits, slices and repetitions along an inner axis can be
//! views as well. A concat of values that lie in a row in a larger output already, as in a dense
//! block, is a view of that output. So the largest come first.
//!
//! It is not always better: the output is there from the first part on, and parts are needed as
//! long as the output is. [`join_concats`] compares plans.
//!
//! A part begins wherever the one before it ends. A kernel that wants more of what it writes says
//! so: values with an alignment, a guard or a size of their own stay where they are, and kernels
//! that do not work in place either, whose nodes write bytes of their own, are left alone.

mod told;

use std::ops::ControlFlow;

use plimsoll::{
    AccessKind, Execution, Layout, Options, Pulse, Role, Rows, Storage, ValueId, View, arena_bytes,
};
pub use told::{JoinError, joined_as_told};

use crate::graph::{
    Aliases, End, Graph, GraphError, Kernels, Node, NodeId, Value, ValueFault, topological_order,
};
use crate::op::{Cut, Op};
use crate::scheduled::{LoweringOptions, ScheduledGraph};
use crate::shape::product;

/// How many plans are made to find out which concats to do without.
const MOST_PLANS: usize = 64;

/// After so many plans that were no better than the best, no more are made: the largest concats come
/// first, and the rest matters less and less.
const PATIENCE: usize = 8;

/// A graph without some of its copies.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The graph, with concats elided. Ids are as before.
    pub graph: Graph,
    /// The concats that are no steps any more, and the splits and slices that are views; in the order
    /// in which they were taken, on which the graph depends.
    pub vanished: Vec<NodeId>,
    /// The bytes that steps which only move bytes wrote in a run before.
    pub moved_before: u64,
    /// The bytes that they write now.
    pub moved: u64,
}

/// Does without the copies of concats where the arena is not larger for it.
///
/// Plans by rules alone are compared: with all copies, with as few as possible, and with one more or
/// one fewer than in the best so far. The smallest arena counts, then the fewest bytes moved.
#[must_use]
pub fn join_concats(graph: &Graph, lowering: &LoweringOptions, options: &Options) -> Joined {
    join_concats_watched(graph, lowering, options, &mut || ControlFlow::Continue(()))
}

/// The same, while somebody is asked now and then whether to go on.
pub(crate) fn join_concats_watched(
    graph: &Graph,
    lowering: &LoweringOptions,
    options: &Options,
    pulse: &mut Pulse<'_>,
) -> Joined {
    let mut comparing = Comparing { graph, lowering, options: options.clone(), plans: 0, pulse };
    comparing.options.pack.work = Some(0);
    let boundary = |value: &ValueId| !options.place.outputs && graph.outputs().contains(value);
    let mut candidates = sized_candidates(graph, lowering);
    candidates.retain(|node| !touched(graph, *node).any(|value| boundary(&value)));
    if candidates.is_empty() {
        let moved = moved_bytes(graph, &lowering.kernels);
        let graph = graph.clone();
        return Joined { graph, vanished: Vec::new(), moved_before: moved, moved };
    }
    let mut chosen = Vec::new();
    let mut best = comparing.cost(&chosen, None);
    let all = comparing.cost(&candidates, best);
    if all.is_some() && (best.is_none() || all <= best) {
        (chosen, best) = (candidates.clone(), all);
    }
    let mut last_better = comparing.plans;
    for candidate in candidates {
        let is_enough = comparing.plans >= MOST_PLANS.min(last_better + PATIENCE);
        if is_enough || (comparing.pulse)().is_break() {
            break;
        }
        let mut toggled = chosen.clone();
        match toggled.iter().position(|other| *other == candidate) {
            Some(index) => drop(toggled.remove(index)),
            None => toggled.push(candidate),
        }
        let cost = comparing.cost(&toggled, best);
        if cost.is_some() && cost < best {
            (chosen, best, last_better) = (toggled, cost, comparing.plans);
        }
    }
    let kernels = &lowering.kernels;
    let joined = without_concats(graph, kernels, &chosen).unwrap_or_else(|_| graph.clone());
    let (before, after) = (graph.aliases(kernels), joined.aliases(kernels));
    let vanished = |node: &NodeId| {
        joined.node(*node).elided && !graph.node(*node).elided
            || after.is_pure_view(*node) && !before.is_pure_view(*node)
    };
    chosen.retain(vanished);
    Joined {
        vanished: chosen,
        moved_before: moved_bytes(graph, &lowering.kernels),
        moved: moved_bytes(&joined, &lowering.kernels),
        graph: joined,
    }
}

struct Comparing<'a, 'p> {
    graph: &'a Graph,
    lowering: &'a LoweringOptions,
    options: Options,
    plans: usize,
    pulse: &'a mut Pulse<'p>,
}

impl Comparing<'_, '_> {
    /// The arena without these concats, and the bytes that are moved; nothing if there is no plan.
    /// What is not better than the best so far may be given too large.
    fn cost(&mut self, chosen: &[NodeId], best: Option<(u64, u64)>) -> Option<(u64, u64)> {
        self.plans += 1;
        let graph = without_concats(self.graph, &self.lowering.kernels, chosen).ok()?;
        let program = ScheduledGraph::new(&graph, self.lowering).ok()?;
        let moved = moved_by(&graph, program.aliases());
        let as_small = |(arena, least): (u64, u64)| arena + u64::from(moved <= least);
        self.options.pack.below = best.map(as_small).filter(|_| self.options.banks.len() < 2);
        let arena = arena_bytes(&program, &self.options, self.pulse).ok()?;
        Some((arena, moved))
    }
}

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
        let made = graph.node(node).results().filter(|value| aliases.view(*value).is_none());
        made.filter_map(move |value| {
            match graph.node(node).window(value, AccessKind::Write).bytes {
                Some(part) => Some(part.len()),
                None => graph.value(value).native_size().known(),
            }
        })
    };
    graph.node_ids().filter(moves).flat_map(written).sum()
}

/// The nodes whose copies could be done without, the largest first.
#[must_use]
pub fn concat_candidates(graph: &Graph, kernels: &Kernels) -> Vec<NodeId> {
    // Between queues, waits are for steps: one that is gone would be missed.
    if !kernels.overwrites() || graph.execution() == Execution::Queues {
        return Vec::new();
    }
    let (rules, viewing) = (Rules::of(graph, kernels), kernels.viewing(graph));
    let mut candidates: Vec<(u64, NodeId)> = graph
        .node_ids()
        .filter(|node| viewing[node.index()])
        .filter_map(|node| Some((rules.bytes(node)?, node)))
        .collect();
    candidates.sort_by_key(|(bytes, node)| (std::cmp::Reverse(*bytes), *node));
    candidates.into_iter().map(|(_, node)| node).collect()
}

/// The same, but for nodes whose operands have sizes of their own: parts of an output are as large as
/// their types and shapes say.
fn sized_candidates(graph: &Graph, lowering: &LoweringOptions) -> Vec<NodeId> {
    let sized = |value: ValueId| lowering.sizes.contains_key(&graph.value(value).name);
    let mut candidates = concat_candidates(graph, &lowering.kernels);
    candidates.retain(|node| !touched(graph, *node).any(sized));
    candidates
}

/// The operands of a node.
fn touched(graph: &Graph, node: NodeId) -> impl Iterator<Item = ValueId> + '_ {
    graph.node(node).reads().chain(graph.node(node).results())
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
                declared[overwrite.output.index()] = true;
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

    /// The bytes that a node would not copy, if it could do without.
    fn bytes(&self, id: NodeId) -> Option<u64> {
        let made = match parts(self.graph, id) {
            Some(parts) => self.is_joined(id, &parts).then_some(self.graph.node(id).outputs[0]?)?,
            None => self.viewed(id)?,
        };
        self.graph.value(made).native_size().known()
    }

    /// Whether a concat could do without its copy.
    fn is_joined(&self, id: NodeId, parts: &Parts) -> bool {
        let inputs = || parts.list.iter().map(|part| part.value);
        let once =
            |index: usize| inputs().take(index).all(|other| other != parts.list[index].value);
        let output = self.graph.node(id).outputs[0];
        output.is_some_and(|output| self.is_plain(output))
            && !self.referred[id.index()]
            && inputs().all(|input| self.is_made_alone(input))
            && (parts.rows == 1 || inputs().all(|input| self.rows[input.index()]))
            && (0..parts.list.len()).all(once)
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
        let Value { role, storage, view, align, guard, bytes, elided, .. } = self.graph.value(id);
        (*role, *storage) == (Role::Temporary, Storage::Arena)
            && view.is_none()
            && align.is_none()
            && (*guard, *bytes, *elided) == (0, None, false)
            && !self.declared[id.index()]
    }

    /// Whether a value is plain, and written by the node that makes it.
    fn is_made_alone(&self, value: ValueId) -> bool {
        let runs = |node: NodeId| !self.graph.node(node).elided && !self.aliases.is_pure_view(node);
        self.is_plain(value)
            && self.aliases.view(value).is_none()
            && self.graph.producer(value).is_some_and(runs)
    }
}

/// Whether everybody who touches a value knows strides; by value. What a run hands out is whole, and
/// so is what other views are made of than those that only have another shape.
fn rows(graph: &Graph, aliases: &Aliases, kernels: &Kernels) -> Vec<bool> {
    let striding = kernels.striding(graph);
    let mut rows = vec![graph.execution() == Execution::InOrder; graph.values().len()];
    graph.outputs().iter().for_each(|output| rows[output.index()] = false);
    // A concat may be one that is no step any more: what is left of them is checked in the end.
    let is_step = |id: &NodeId| {
        let Node { op, elided, .. } = graph.node(*id);
        !*elided && !matches!(op, Op::Concat { .. })
    };
    for id in topological_order(graph).into_iter().rev().filter(is_step) {
        let node = graph.node(id);
        if let Some((output, input)) = reshaped(graph, aliases, id) {
            rows[input.index()] &= rows[output.index()];
            continue;
        }
        let views = aliases.is_pure_view(id) || !graph.native_effect(id).views.is_empty();
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

/// The inputs of a concat, and where they are in the output.
pub(crate) struct Parts {
    /// How many rows each part has; one if the parts are stretches.
    pub(crate) rows: u64,
    /// From row to row.
    pitch: u64,
    pub(crate) list: Vec<Part>,
}

/// An input of a concat.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) value: ValueId,
    /// Its first byte in the output, and the bytes of each row.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Parts {
    fn view(&self, of: ValueId, part: &Part) -> View {
        let rows = Rows { bytes: part.bytes, pitch: self.pitch };
        View { of, offset: part.offset, rows: (self.rows > 1).then_some(rows) }
    }
}

/// Whether nothing but the operands is declared of a node.
fn is_bare(node: &Node) -> bool {
    let Node { also_reads, scratch, overwrites, windows, after, elided, .. } = node;
    let bare = also_reads.is_empty() && overwrites.is_empty() && windows.is_empty();
    bare && scratch.is_none() && after.is_empty() && !*elided
}

/// The inputs of a concat and where they are in the output, as far as they are whole bytes.
pub(crate) fn parts(graph: &Graph, id: NodeId) -> Option<Parts> {
    let node = graph.node(id);
    let Op::Concat { axis } = node.op else { return None };
    if !is_bare(node) || node.outputs.len() != 1 {
        return None;
    }
    let output = graph.value(node.outputs[0]?);
    let rows: u64 = product(output.shape.known()?.get(..axis)?)?;
    if rows == 0 || rows > Rows::MOST {
        return None;
    }
    let mut list = Vec::with_capacity(node.inputs.len());
    let mut bits = 0u64;
    for input in &node.inputs {
        let id = (*input)?;
        let value = graph.value(id);
        let elements = product(&value.shape.known()?)?;
        let end = bits.checked_add((elements / rows).checked_mul(value.dtype.bits())?)?;
        let whole = elements.is_multiple_of(rows) && (bits | end).is_multiple_of(8);
        if value.dtype != output.dtype || elements == 0 || !whole {
            return None;
        }
        list.push(Part { value: id, offset: bits / 8, bytes: (end - bits) / 8 });
        bits = end;
    }
    let pitch = bits / 8;
    (output.native_size().known() == pitch.checked_mul(rows)).then_some(Parts { rows, pitch, list })
}

/// The outputs of a split, a slice or a repetition as rows of the input.
fn row_views(graph: &Graph, id: NodeId) -> Option<Vec<(ValueId, View)>> {
    let node = graph.node(id);
    let of = (*node.inputs.first()?)?;
    let input = graph.value(of);
    let dims = input.shape.known()?;
    if !is_bare(node) || input.bytes.is_some() {
        return None;
    }
    let bytes = |elements: u64| {
        let bits = elements.checked_mul(input.dtype.bits())?;
        bits.is_multiple_of(8).then_some(bits / 8)
    };
    // So many elements of an axis, from the start-th on, of every row.
    let part = |value: ValueId, axis: usize, start: u64, len: u64| {
        let inner = product(dims.get(axis + 1..)?)?;
        let size = |elements: u64| bytes(inner.checked_mul(elements)?);
        let rows = Rows { bytes: size(len)?, pitch: size(*dims.get(axis)?)? };
        let made = graph.value(value);
        let count = product(dims.get(..axis)?)?;
        let same = made.dtype == input.dtype
            && made.native_size().known() == rows.bytes.checked_mul(count)
            && (2..=Rows::MOST).contains(&count)
            && rows.bytes > 0;
        same.then_some((value, View { of, offset: size(start)?, rows: Some(rows) }))
    };
    match &node.op {
        Op::Split { axis } => {
            let mut start = 0;
            let mut views = Vec::with_capacity(node.outputs.len());
            for output in &node.outputs {
                let len = *graph.value((*output)?).shape.known()?.get(*axis)?;
                views.push(part((*output)?, *axis, start, len)?);
                start += len;
            }
            Some(views)
        }
        Op::Slice { cuts } => {
            let is_part = |cut: &&Cut| !dims.get(cut.axis).is_some_and(|dim| cut.keeps_all(*dim));
            let mut cut = cuts.iter().filter(is_part);
            let (cut, None) = (cut.next()?, cut.next()) else { return None };
            let output = node.outputs.first().copied()??;
            cut.is_run().then(|| part(output, cut.axis, cut.start, cut.len))?.map(|view| vec![view])
        }
        Op::Expand => {
            let output = node.outputs.first().copied()??;
            let made = graph.value(output).shape.known()?;
            let ones = dims.iter().take_while(|dim| **dim == 1).count();
            let repeated = &dims[ones..];
            let whole = bytes(product(&dims)?)?;
            let rows = product(&made)?.checked_div(product(&dims)?)?;
            let fits =
                made.ends_with(repeated) && rows > 1 && graph.value(output).dtype == input.dtype;
            let rows = Some(Rows { bytes: whole, pitch: 0 });
            fits.then(|| vec![(output, View { of, offset: 0, rows })])
        }
        _ => None,
    }
}

/// The graph without the copies of these nodes, as far as they do not want the same value in two
/// places. They have to be [candidates](concat_candidates), and are taken in this order.
pub fn without_concats(
    graph: &Graph,
    kernels: &Kernels,
    chosen: &[NodeId],
) -> Result<Graph, GraphError> {
    let mut views: Vec<Option<View>> = graph.values().iter().map(|value| value.view).collect();
    let mut elided: Vec<bool> = graph.nodes().iter().map(|node| node.elided).collect();
    for node in chosen {
        let (Some(parts), Some(output)) = (parts(graph, *node), graph.node(*node).outputs[0])
        else {
            let made = row_views(graph, *node).unwrap_or_default();
            if made.iter().all(|(value, _)| views[value.index()].is_none()) {
                for (value, view) in made {
                    views[value.index()] = Some(view);
                }
            }
            continue;
        };
        if parts.list.iter().all(|part| views[part.value.index()].is_none()) {
            for part in &parts.list {
                views[part.value.index()] = Some(parts.view(output, part));
            }
            elided[node.index()] = true;
        } else if let Some(view) = in_a_row(graph, &views, &parts)
            && views[output.index()].is_none()
        {
            views[output.index()] = Some(view);
            elided[node.index()] = true;
        }
    }
    let joined = graph.sharing(&views, &elided)?;
    check_rows(graph, &joined, kernels)?;
    Ok(joined)
}

/// Whoever touches rows that were none before knows strides, and rows end where an axis does.
fn check_rows(before: &Graph, joined: &Graph, kernels: &Kernels) -> Result<(), GraphError> {
    // Views that ops make are stretches.
    if joined.values().iter().all(|value| value.view.is_none_or(|view| view.rows.is_none())) {
        return Ok(());
    }
    let (aliases, old) = (joined.aliases(kernels), before.aliases(kernels));
    let striding = kernels.striding(joined);
    let in_rows = |value: &ValueId| {
        aliases.resolve(*value).rows.is_some() && old.resolve(*value).rows.is_none()
    };
    let runs = |id: &NodeId| !joined.node(*id).elided && !aliases.is_pure_view(*id);
    let blind = joined.node_ids().filter(runs).filter(|id| !striding[id.index()]);
    let touched = blind.flat_map(|id| joined.node(id).reads().chain(joined.node(id).results()));
    let handed_out = joined.outputs().iter().copied();
    let torn = joined.value_ids().filter(|value| !has_whole_rows(joined, &aliases, *value));
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
fn in_a_row(graph: &Graph, views: &[Option<View>], parts: &Parts) -> Option<View> {
    let place = |part: &Part| {
        let (mut of, mut chain) = (part.value, Vec::new());
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
    let pitch = first.rows.map(|rows| rows.pitch);
    let expected = |part: &Part| {
        let rows = pitch.map(|pitch| Rows { bytes: part.bytes, pitch });
        (of, Layout { first: first.first + part.offset, rows })
    };
    let fits = (parts.rows > 1) == pitch.is_some();
    let all = fits && parts.list.iter().all(|part| place(part) == Some(expected(part)));
    let rows = pitch.map(|pitch| Rows { bytes: parts.pitch, pitch });
    all.then_some(View { of, offset: first.first, rows })
}
