//! What can be done about an arena, and what that costs.

use plimsoll::advise::PlanChange;
use plimsoll::{Overwrite, ValueId};

use super::{Variant, half, recompute, split};
use crate::driver::{Case, PlannedGraph};
use crate::graph::{Graph, Kernels, Node, NodeId, Preset};

/// Something that may lower an arena. Ids are those of the case that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// Plan the same graph in another way.
    Plan(PlanChange),
    /// Let these nodes, of which nobody knows it, work in place.
    InPlaceAt(Vec<(NodeId, Overwrite)>),
    /// Read and write strided rows, so that parts of inner axes are no copies.
    Strided,
    /// Do without the copies of concats.
    JoinConcats,
    /// Make the output of a cheap node again for these readers.
    Recompute {
        /// The node.
        node: NodeId,
        /// Who reads what is made again.
        readers: Vec<NodeId>,
    },
    /// Do these nodes in so many parts: each segment for itself, its nodes part by part.
    Split {
        /// The nodes of each segment, in order of execution.
        segments: Vec<Vec<NodeId>>,
        /// How many parts.
        parts: u64,
    },
    /// Plan at smaller dims: the variant of that index.
    Smaller(usize),
    /// Compute several nodes as one: the variant of that index.
    Fuse(usize),
    /// Hold these values in half precision.
    Half(Vec<ValueId>),
}

/// What an action costs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cost {
    /// Nothing but time to plan.
    Nothing,
    /// Kernels that can do it.
    Kernels,
    /// So many bytes of memory elsewhere.
    BytesElsewhere(u64),
    /// So many elements gone over again in every run.
    Elements(u64),
    /// So many more steps in every run.
    Steps(usize),
    /// Another result: fewer bits, or less of it in one run.
    Result,
}

impl Action {
    /// The case after the action; nothing if that is no case.
    #[must_use]
    pub fn apply(&self, case: &Case, variants: &[Variant]) -> Option<Case> {
        let mut case = case.clone();
        match self {
            Action::Plan(change) => {
                let mut request = case.request();
                change.apply(&mut request);
                (case.options, case.tries.order) = (request.options, request.order);
                match change {
                    PlanChange::InPlace => case.lowering.kernels = Kernels::new(Preset::Standard),
                    PlanChange::SecondBank(_) => case.spills = true,
                    _ => {}
                }
            }
            Action::InPlaceAt(overwrites) => case.graph = overwriting(&case.graph, overwrites)?,
            Action::Strided => {
                case.lowering.kernels.preset = Preset::Strided;
                case.tries.join = true;
            }
            Action::JoinConcats => case.tries.join = true,
            Action::Recompute { node, readers } => {
                case.graph = recompute::again(&case.graph, *node, readers)?;
            }
            Action::Split { segments, parts } => {
                case.graph = split::in_parts(&case.graph, segments, *parts)?;
                case.tries.join = true;
            }
            Action::Smaller(variant) | Action::Fuse(variant) => {
                case.graph = variants.get(*variant)?.graph.clone();
            }
            Action::Half(values) => case.graph = half::halved(&case.graph, values)?,
        }
        Some(case)
    }

    /// How much it asks of whoever does it: lower ranks are preferred. Actions of the same kind have the
    /// same rank.
    #[must_use]
    pub fn rank(&self) -> u8 {
        match self {
            Action::Plan(PlanChange::Order) => 0,
            Action::JoinConcats => 1,
            Action::Plan(PlanChange::SecondBank(_)) => 14,
            Action::Plan(change) => 1 + change.rank(), // from 2 to 7
            Action::Strided => 8,
            Action::InPlaceAt(_) | Action::Fuse(_) => 9,
            Action::Recompute { .. } => 10,
            Action::Split { .. } => 11,
            Action::Half(_) => 12,
            Action::Smaller(_) => 13,
        }
    }

    /// Whether a run computes what it did before, all of it, in one arena.
    #[must_use]
    pub fn keeps_result(&self) -> bool {
        !matches!(
            self,
            Action::Half(_) | Action::Smaller(_) | Action::Plan(PlanChange::SecondBank(_))
        )
    }

    /// Whether it changes the graph, so that ids are others afterwards.
    pub(super) fn changes_graph(&self) -> bool {
        matches!(
            self,
            Action::InPlaceAt(_)
                | Action::Recompute { .. }
                | Action::Split { .. }
                | Action::Smaller(_)
                | Action::Fuse(_)
                | Action::Half(_)
        )
    }

    /// Of how many actions of this kind it is worth telling.
    pub(super) fn most_alike(&self) -> usize {
        match self {
            Action::Recompute { .. } | Action::Half(_) => 2,
            // Each is another kernel to write.
            Action::Fuse(_) => 4,
            _ => 1,
        }
    }

    /// What it costs, once both plans are known.
    pub(super) fn cost(&self, before: &PlannedGraph, after: &PlannedGraph) -> Cost {
        let graph = &before.case.graph;
        match self {
            Action::Plan(PlanChange::OutputsOutside) => {
                let bytes = |value: &ValueId| graph.value(*value).native_size().known();
                Cost::BytesElsewhere(graph.outputs().iter().filter_map(bytes).sum())
            }
            Action::Plan(PlanChange::SecondBank(_)) => Cost::BytesElsewhere(after.spilled_bytes()),
            Action::Plan(change) if change.asks_for_kernels() => Cost::Kernels,
            Action::Plan(_) | Action::JoinConcats => Cost::Nothing,
            Action::Strided | Action::InPlaceAt(_) | Action::Fuse(_) => Cost::Kernels,
            Action::Recompute { node, .. } => {
                Cost::Elements(recompute::elements(graph, *node).unwrap_or(0))
            }
            Action::Split { segments, parts } => {
                let parts = usize::try_from(*parts).unwrap_or(usize::MAX);
                Cost::Steps(segments.iter().map(Vec::len).sum::<usize>() * (parts - 1))
            }
            Action::Half(_) | Action::Smaller(_) => Cost::Result,
        }
    }
}

/// The graph with more overwrites declared.
fn overwriting(graph: &Graph, overwrites: &[(NodeId, Overwrite)]) -> Option<Graph> {
    let mut draft = super::draft::Draft::of(graph);
    for (node, overwrite) in overwrites {
        let at = draft.place_of(*node)?;
        let Node { overwrites, .. } = draft.node_mut(at);
        overwrites.push(*overwrite);
    }
    draft.finish()
}
