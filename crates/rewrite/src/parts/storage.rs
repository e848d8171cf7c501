//! Which tensors of a model are the same bytes: what a search counts once.
//!
//! A reshape is its operand, a slice along the outermost axis a part of it, and what is put together along the
//! outermost axis is written in place by those who make the pieces.

use plimsoll_model::{ModelNode, Operator, TensorId};

use super::needs::Shapes;

/// By tensor, the one whose bytes it lies in.
pub(super) fn roots(shapes: &Shapes<'_>, is_output: &[bool], is_made: &[bool]) -> Vec<TensorId> {
    let mut roots: Vec<TensorId> = (0..shapes.dims.len()).map(TensorId::new).collect();
    for node in &shapes.model.body.nodes {
        if let Some(whole) = viewed(shapes, node) {
            for part in node.outputs.iter().flatten().filter(|part| !is_output[part.index()]) {
                roots[part.index()] = whole;
            }
        }
        let (Operator::Concat { axis }, Some(Some(whole))) = (&node.operator, node.outputs.first())
        else {
            continue;
        };
        let rank = shapes.dims(*whole).map_or(0, <[u64]>::len);
        let axis = if *axis < 0 { *axis + rank.cast_signed() as i64 } else { *axis };
        if !is_run(shapes, *whole, usize::try_from(axis).unwrap_or(rank)) {
            continue;
        }
        for piece in node.inputs.iter().flatten() {
            let at = piece.index();
            if is_made[at] && !is_output[at] && roots[at] == *piece {
                roots[at] = *whole;
            }
        }
    }
    for at in 0..roots.len() {
        while roots[roots[at].index()] != roots[at] {
            roots[at] = roots[roots[at].index()];
        }
    }
    roots
}

/// The tensor of which a node makes views.
fn viewed(shapes: &Shapes<'_>, node: &ModelNode) -> Option<TensorId> {
    let whole = node.inputs.first().copied().flatten()?;
    let part = node.outputs.first().copied().flatten()?;
    match node.operator {
        Operator::Reshape { .. }
        | Operator::Squeeze
        | Operator::Unsqueeze
        | Operator::Flatten { .. }
        | Operator::Identity => Some(whole),
        Operator::Slice | Operator::Split { .. } => {
            let (from, to) = (shapes.dims(whole)?, shapes.dims(part)?);
            let has_steps = node.operator == Operator::Slice && node.inputs.len() > 4;
            let cut = (0..from.len().min(to.len())).filter(|axis| from[*axis] != to[*axis]);
            let is_view = cut.clone().all(|axis| is_run(shapes, whole, axis));
            (is_view && !has_steps && from.len() == to.len()).then_some(whole)
        }
        _ => None,
    }
}

/// Whether a part along an axis is one run of bytes.
pub(super) fn is_run(shapes: &Shapes<'_>, id: TensorId, axis: usize) -> bool {
    let dims = shapes.dims(id).unwrap_or_default();
    axis < dims.len() && dims.iter().take(axis).all(|dim| *dim == 1)
}
