//! Concats without copies: inputs that are made in their place in the output.
//!
//! ```text
//!   a ──▶ ┐                      a ──▶ [ a │ b ]   a and b are parts of the output, and whoever
//!   b ──▶ concat ──▶ y           b ──▶ [   y   ]   makes them writes them there: no step is left
//! ```
//!
//! That is possible where the parts are stretches of memory, and where every input is made by a
//! node that leaves it to us where it writes. A concat of values that lie in a row in a larger
//! output already, as in a dense block, is a view of that output. So the largest come first.
//!
//! It is not always better: the output is there from the first part on, and parts are needed as
//! long as the output is. [`join_concats`] compares plans.
//!
//! A part begins wherever the one before it ends. A kernel that wants more of what it writes says
//! so: values with an alignment, a guard or a size of their own stay where they are, and kernels
//! that are not of the standard [`Preset`], whose nodes write bytes of their own, are left alone.

use plimsoll_pack::Span;

use crate::graph::{Aliases, End, Graph, GraphBuilder, GraphError, Node, NodeId, Value};
use crate::ids::ValueId;
use crate::kernels::{Kernels, Preset};
use crate::op::Op;
use crate::options::Options;
use crate::pipeline::plan;
use crate::program::{AccessKind, Execution, Role, Storage, View};
use crate::scheduled::{LoweringOptions, ScheduledGraph};

/// How many plans are made to find out which concats to do without.
const MOST_PLANS: usize = 64;

/// A graph without some of its copies.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The graph, with concats elided. Ids are as before.
    pub graph: Graph,
    /// The concats that are no steps any more.
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
    let mut comparing = Comparing { graph, lowering, options: options.clone(), plans: 0 };
    comparing.options.pack.work = Some(0);
    let named = |value: &ValueId| lowering.sizes.contains_key(&graph.value(*value).name);
    let boundary = |value: &ValueId| !options.place.outputs && graph.outputs().contains(value);
    let mut candidates = concat_candidates(graph, &lowering.kernels);
    candidates.retain(|node| {
        let node = graph.node(*node);
        !node.reads().chain(node.results()).any(|value| named(&value) || boundary(&value))
    });
    let mut chosen = Vec::new();
    let mut best = comparing.cost(&chosen);
    let all = comparing.cost(&candidates);
    if all.is_some() && (best.is_none() || all <= best) {
        (chosen, best) = (candidates.clone(), all);
    }
    for candidate in candidates {
        if comparing.plans >= MOST_PLANS {
            break;
        }
        let mut toggled = chosen.clone();
        match toggled.iter().position(|other| *other == candidate) {
            Some(index) => drop(toggled.remove(index)),
            None => toggled.push(candidate),
        }
        let cost = comparing.cost(&toggled);
        if cost.is_some() && cost < best {
            (chosen, best) = (toggled, cost);
        }
    }
    let joined = without_concats(graph, &chosen).unwrap_or_else(|_| graph.clone());
    let elided = |node: &NodeId| joined.node(*node).elided && !graph.node(*node).elided;
    Joined {
        vanished: joined.node_ids().filter(elided).collect(),
        moved_before: moved_bytes(graph, &lowering.kernels),
        moved: moved_bytes(&joined, &lowering.kernels),
        graph: joined,
    }
}

struct Comparing<'a> {
    graph: &'a Graph,
    lowering: &'a LoweringOptions,
    options: Options,
    plans: usize,
}

impl Comparing<'_> {
    /// The arena without these concats, and the bytes that are moved; nothing if there is no plan.
    fn cost(&mut self, chosen: &[NodeId]) -> Option<(u64, u64)> {
        self.plans += 1;
        let graph = without_concats(self.graph, chosen).ok()?;
        let program = ScheduledGraph::new(&graph, self.lowering).ok()?;
        let plan = plan(&program, &self.options).ok()?;
        let arena = plan.banks.iter().map(|bank| bank.bytes).sum();
        Some((arena, moved_bytes(&graph, &self.lowering.kernels)))
    }
}

/// The bytes that steps which only move bytes write in a run, at the native width.
#[must_use]
pub fn moved_bytes(graph: &Graph, kernels: &Kernels) -> u64 {
    let aliases = graph.aliases(kernels);
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

/// The concats whose copies could be done without, the largest first.
#[must_use]
pub fn concat_candidates(graph: &Graph, kernels: &Kernels) -> Vec<NodeId> {
    // Between queues, waits are for steps: one that is gone would be missed.
    if kernels.preset != Preset::Standard || graph.execution() == Execution::Queues {
        return Vec::new();
    }
    let (rules, viewing) = (Rules::of(graph, kernels), kernels.viewing(graph));
    let mut candidates: Vec<(u64, NodeId)> = graph
        .node_ids()
        .filter(|node| viewing[node.index()])
        .filter_map(|node| Some((rules.parts(node)?.last()?.1.hi, node)))
        .collect();
    candidates.sort_by_key(|(bytes, node)| (std::cmp::Reverse(*bytes), *node));
    candidates.into_iter().map(|(_, node)| node).collect()
}

/// What a concat and its operands must be like.
struct Rules<'g> {
    graph: &'g Graph,
    aliases: Aliases,
    /// The values that nodes say more of than that they are operands.
    declared: Vec<bool>,
    /// The nodes whose steps others refer to.
    referred: Vec<bool>,
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
        Rules { graph, aliases: graph.aliases(kernels), declared, referred }
    }

    /// The inputs of a concat with their bytes in the output, if it could do without its copy.
    fn parts(&self, id: NodeId) -> Option<Vec<(ValueId, Span)>> {
        let parts = parts(self.graph, id)?;
        let output = self.graph.node(id).outputs[0]?;
        let once = |index: usize| parts[..index].iter().all(|(other, _)| *other != parts[index].0);
        let fits = self.is_plain(output)
            && !self.referred[id.index()]
            && parts.iter().all(|(input, _)| self.is_made_alone(*input))
            && (0..parts.len()).all(once);
        fits.then_some(parts)
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

/// The inputs of a concat and their bytes in the output, if these are stretches of memory.
pub(crate) fn parts(graph: &Graph, id: NodeId) -> Option<Vec<(ValueId, Span)>> {
    let node = graph.node(id);
    let Op::Concat { axis } = node.op else { return None };
    let Node { also_reads, scratch, overwrites, windows, after, elided, .. } = node;
    let bare = also_reads.is_empty() && overwrites.is_empty() && windows.is_empty();
    if !bare || scratch.is_some() || !after.is_empty() || *elided || node.outputs.len() != 1 {
        return None;
    }
    let output = graph.value(node.outputs[0]?);
    let dims = output.shape.known()?;
    if dims.get(..axis)?.iter().any(|dim| *dim != 1) {
        return None;
    }
    let mut parts = Vec::with_capacity(node.inputs.len());
    let mut bits = 0u64;
    for input in &node.inputs {
        let id = (*input)?;
        let value = graph.value(id);
        let elements: u64 = value.shape.known()?.iter().product();
        let end = bits.checked_add(elements.checked_mul(value.dtype.bits())?)?;
        if value.dtype != output.dtype || elements == 0 || !(bits | end).is_multiple_of(8) {
            return None;
        }
        parts.push((id, Span::new(bits / 8, end / 8)));
        bits = end;
    }
    (output.native_size().known() == Some(bits / 8)).then_some(parts)
}

/// The graph without the copies of these concats, as far as they do not want the same value in
/// two places. They have to be [candidates](concat_candidates), and are taken in this order.
pub fn without_concats(graph: &Graph, chosen: &[NodeId]) -> Result<Graph, GraphError> {
    let mut views: Vec<Option<View>> = graph.values().iter().map(|value| value.view).collect();
    let mut elided: Vec<bool> = graph.nodes().iter().map(|node| node.elided).collect();
    for node in chosen {
        let (Some(parts), Some(output)) = (parts(graph, *node), graph.node(*node).outputs[0])
        else {
            continue;
        };
        if parts.iter().all(|(input, _)| views[input.index()].is_none()) {
            for (input, span) in parts {
                views[input.index()] = Some(View { of: output, offset: span.lo });
            }
            elided[node.index()] = true;
        } else if let Some(view) = in_a_row(&views, &parts)
            && views[output.index()].is_none()
        {
            views[output.index()] = Some(view);
            elided[node.index()] = true;
        }
    }
    let mut builder = GraphBuilder::from(graph);
    for (value, view) in graph.value_ids().zip(views) {
        builder.value_mut(value).view = view;
    }
    for (node, elided) in graph.node_ids().zip(elided) {
        builder.node_mut(node).elided = elided;
    }
    builder.finish()
}

/// Where the parts lie in one value already, one behind the other as a concat wants them.
fn in_a_row(views: &[Option<View>], parts: &[(ValueId, Span)]) -> Option<View> {
    let place = |value: ValueId| {
        let (mut of, mut offset) = (value, 0);
        while let Some(view) = views[of.index()] {
            (of, offset) = (view.of, offset + view.offset);
        }
        View { of, offset }
    };
    let first = place(parts[0].0);
    let expected = |span: &Span| View { of: first.of, offset: first.offset + span.lo };
    parts.iter().all(|(input, span)| place(*input) == expected(span)).then_some(first)
}
