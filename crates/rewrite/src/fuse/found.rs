//! What of a model can be fused.

use std::collections::BTreeSet;

use plimsoll_model::{Form, FusedStep, Fusing, Operator, Role, TensorId};

use super::attention::attentions;
use super::chain::{beginnings, only_output};
use super::kinds::FusionKind;

/// What of a model can be fused.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Steps from a product or an element on; no node is in two of them.
    pub(super) groups: Vec<Group>,
    /// Nodes that can be read through, the last to run first.
    pub(super) inlined: Vec<Inlined>,
}

/// A step that can be fused in one way or another.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The kinds of fusions that each way takes, and its nodes; what fuses most comes last.
    pub(super) ways: Vec<(BTreeSet<FusionKind>, Vec<usize>)>,
}

/// Nodes that can be computed again, or read through, by all who read what they make.
#[derive(Clone, Debug)]
pub(super) struct Inlined {
    /// Of which kind.
    pub(super) kind: FusionKind,
    /// The nodes, in the order in which they run.
    pub(super) nodes: Vec<usize>,
    /// Who reads what the last of them makes.
    pub(super) readers: Vec<usize>,
}

/// Everything of a model that can be fused, by kinds that are allowed.
pub(super) fn found(fusing: &Fusing<'_>, kinds: &BTreeSet<FusionKind>) -> Found {
    let count = fusing.model.body.nodes.len();
    let mut taken = vec![false; count];
    let mut groups = Vec::new();
    if kinds.contains(&FusionKind::Attention) {
        for FusedStep { nodes } in attentions(fusing) {
            if nodes.iter().all(|node| !taken[*node] || is_early(fusing, *node)) {
                for node in &nodes {
                    taken[*node] |= !is_early(fusing, *node);
                }
                groups.push(Group { ways: vec![(BTreeSet::from([FusionKind::Attention]), nodes)] });
            }
        }
    }
    let mut firsts: Vec<usize> = (0..count).collect();
    firsts.sort_by_cached_key(|node| std::cmp::Reverse(fusing.wiring.place(*node)));
    let products = firsts.iter().filter(|node| fusing.role(**node) == Role::Product);
    let is_element = |node: usize| matches!(fusing.role(node), Role::Elementwise | Role::Reduce);
    let elements = firsts.iter().rev().filter(|node| is_element(**node));
    for first in products.chain(elements) {
        if taken[*first] {
            continue;
        }
        let ways = beginnings(fusing, *first, &taken);
        let ways = ways.into_iter().filter_map(|nodes| Some((needed(fusing, &nodes)?, nodes)));
        let ways: Vec<_> = ways.filter(|(needed, _)| needed.is_subset(kinds)).collect();
        if let Some((_, most)) = ways.last() {
            for node in most {
                taken[*node] = true;
            }
            groups.push(Group { ways });
        }
    }
    let inlined = inlined(fusing, &groups, &firsts, kinds);
    Found { groups, inlined }
}

/// Whether a node of attention may also run by itself.
fn is_early(fusing: &Fusing<'_>, node: usize) -> bool {
    matches!(fusing.role(node), Role::Reshape | Role::Transpose | Role::Layout)
}

/// The kinds of fusions that a step takes; `None` if it is no step.
fn needed(fusing: &Fusing<'_>, nodes: &[usize]) -> Option<BTreeSet<FusionKind>> {
    let accesses = fusing.accesses(&FusedStep { nodes: nodes.to_vec() }).ok()?;
    let kinds: &[FusionKind] = match (accesses.form, accesses.overwrites.is_empty()) {
        (Form::Chain, _) => &[FusionKind::Activation],
        (Form::Rows { .. }, _) => &[FusionKind::Norm],
        (Form::Product { .. }, true) => &[FusionKind::Epilogue],
        (Form::Product { .. }, false) => &[FusionKind::Epilogue, FusionKind::Residual],
        (Form::Attention { .. }, _) => &[FusionKind::Attention],
    };
    Some(kinds.iter().copied().collect())
}

/// The nodes that can be read through. Those that run last come first, so that what reads a node is decided before it.
fn inlined(
    fusing: &Fusing<'_>,
    groups: &[Group],
    firsts: &[usize],
    kinds: &BTreeSet<FusionKind>,
) -> Vec<Inlined> {
    let mut last_of = vec![None; fusing.model.body.nodes.len()];
    for (_, nodes) in groups.iter().filter_map(|group| group.ways.last()) {
        if let Some(last) = nodes.last() {
            last_of[*last] = Some(nodes);
        }
    }
    let mut found = Vec::new();
    for node in firsts {
        let nodes = match last_of[*node] {
            Some(nodes) => nodes.clone(),
            None => vec![*node],
        };
        let elements = nodes.iter().all(|node| fusing.role(*node) == Role::Elementwise);
        let kind = match fusing.role(*node) {
            Role::Elementwise if elements => FusionKind::Prologue,
            Role::Layout | Role::Transpose if moves(fusing, *node) => FusionKind::Layout,
            Role::Elementwise
            | Role::Reshape
            | Role::Layout
            | Role::Transpose
            | Role::Product
            | Role::Softmax
            | Role::Reduce
            | Role::None => continue,
        };
        let Some(made) = only_output(fusing, *node).filter(|made| !fusing.wiring.is_output(*made))
        else {
            continue;
        };
        if kinds.contains(&kind) {
            found.push(Inlined { kind, nodes, readers: fusing.wiring.readers(made).to_vec() });
        }
    }
    found
}

/// Whether a layout is more than another shape for the same bytes.
fn moves(fusing: &Fusing<'_>, node: usize) -> bool {
    let operator = &fusing.model.body.nodes[node].operator;
    matches!(
        operator,
        Operator::Concat { .. }
            | Operator::Pad(_)
            | Operator::Resize(_)
            | Operator::Expand
            | Operator::Transpose(_)
    )
}

/// Whether a product reads a tensor as data and nowhere else: what can be computed again.
pub(super) fn reads_as_data(fusing: &Fusing<'_>, product: usize, tensor: TensorId) -> bool {
    let node = &fusing.model.body.nodes[product];
    let data = match node.operator {
        Operator::Conv(_) | Operator::FusedConv(_) | Operator::ConvTranspose { .. } => 1,
        _ => 2,
    };
    let places = node.inputs.iter().enumerate().filter(|(_, input)| **input == Some(tensor));
    places.into_iter().all(|(place, _)| place < data)
}
