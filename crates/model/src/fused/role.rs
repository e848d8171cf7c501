//! What an operator can be in a fused step.

use plimsoll_graph::Fact;
use plimsoll_graph::shape::dims::axis_of;

use crate::model::{
    BatchNorm, Interpolation, ModelNode, Operator, PadMode, Resize, RowFunction, Softmax, TensorId,
};

/// What an operator can be in a fused step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// An element of the output depends on one of each operand, broadcast.
    Elementwise,
    /// A sum of products.
    Product,
    /// A softmax along the last axis.
    Softmax,
    /// One number of all elements along the last axis, which stays as an axis of one.
    Reduce,
    /// Another shape for the same elements in the same order.
    Reshape,
    /// Axes in another order.
    Transpose,
    /// Elements of operands, in other places, beside each other, or between pixels: whoever reads them can
    /// find them by arithmetic on indices.
    Layout,
    /// Nothing of it.
    None,
}

/// What a node can be. Its operands are known by the facts.
pub(super) fn role(node: &ModelNode, facts: &[Fact], statics: &[bool]) -> Role {
    let is_static = |input: usize| operand(node, input).is_some_and(|id| statics[id.index()]);
    match &node.operator {
        Operator::Unary(_)
        | Operator::Binary(_)
        | Operator::Variadic(_)
        | Operator::Where
        | Operator::Clip
        | Operator::Cast { .. }
        | Operator::CastLike(_)
        | Operator::Identity
        | Operator::BatchNorm(BatchNorm { training: false, .. }) => {
            one_output(node, Role::Elementwise)
        }
        Operator::Dropout { .. } if operand(node, 2).is_none() => {
            one_output(node, Role::Elementwise)
        }
        Operator::MatMul
        | Operator::FusedMatMul(_)
        | Operator::Gemm(_)
        | Operator::FusedGemm { .. }
        | Operator::Conv(_)
        | Operator::FusedConv(_)
        | Operator::ConvTranspose { .. } => one_output(node, Role::Product),
        Operator::Softmax(softmax) if is_of_rows(softmax, node, facts) => Role::Softmax,
        Operator::Reduce(_) if keeps_rows(node, facts) => one_output(node, Role::Reduce),
        Operator::Transpose(_) => Role::Transpose,
        Operator::Reshape { .. }
        | Operator::Squeeze
        | Operator::Unsqueeze
        | Operator::Flatten { .. } => Role::Reshape,
        Operator::Slice
        | Operator::Split { .. }
        | Operator::Concat { .. }
        | Operator::Expand
        | Operator::Pad(PadMode::Constant)
        | Operator::Resize(Resize {
            mode: Interpolation::Nearest(_) | Interpolation::Linear,
            antialias: false,
            ..
        }) => Role::Layout,
        Operator::Gather { .. } if is_static(1) => Role::Layout,
        _ => Role::None,
    }
}

fn operand(node: &ModelNode, input: usize) -> Option<TensorId> {
    node.inputs.get(input).copied().flatten()
}

/// Masks, running means and the like are not made by fused steps.
fn one_output(node: &ModelNode, role: Role) -> Role {
    if node.outputs.iter().flatten().count() == 1 { role } else { Role::None }
}

/// Whether the last axis alone is reduced, of more than one element, and stays.
fn keeps_rows(node: &ModelNode, facts: &[Fact]) -> bool {
    let dims = |id: Option<TensorId>| facts[id?.index()].shape.as_ref()?.known();
    let (from, to) = (dims(operand(node, 0)), dims(node.outputs.first().copied().flatten()));
    let (Some(mut from), Some(to)) = (from, to) else { return false };
    match from.last_mut() {
        Some(last) if *last > 1 => *last = 1,
        _ => return false,
    }
    from == to
}

fn is_of_rows(softmax: &Softmax, node: &ModelNode, facts: &[Fact]) -> bool {
    let rank = operand(node, 0).and_then(|id| facts[id.index()].rank());
    let is_last = |rank: usize| axis_of(softmax.axis, rank).is_ok_and(|axis| axis + 1 == rank);
    softmax.function == RowFunction::Softmax && rank.is_some_and(is_last)
}
