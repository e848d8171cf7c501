//! What a model costs beside its arithmetic: nodes that are called, bytes that are copied, weights that are read.
//!
//! A runtime takes time for every node, copies what is cut out and put together, and reads a weight anew for every
//! node that multiplies by it. So a model in many small parts is slower than one in few, though both do the same
//! arithmetic. All is counted in bytes, one node as [`NODE`]: about what a processor moves in the few microseconds
//! that a call takes. Where arenas and arithmetic are equal, the model with the least overhead is taken.

use plimsoll_model::{Model, ModelNode, Operator, TensorId};

/// What calling a node costs, in bytes that could be moved meanwhile.
pub(crate) const NODE: u64 = 32 << 10;

/// The overhead of the nodes of a model. `moved` says how many bytes a tensor has that is made in a run, `stored`
/// how many a stored one has.
pub(crate) fn overhead(
    model: &Model,
    moved: impl Fn(TensorId) -> u64,
    stored: impl Fn(TensorId) -> u64,
) -> u64 {
    let of_node = |node: &ModelNode| {
        let copied = if is_copy(&node.operator) {
            // Read and written.
            2 * node.outputs.iter().flatten().map(|made| moved(*made)).sum::<u64>()
        } else {
            0
        };
        let weights: u64 = node.inputs.iter().flatten().map(|read| stored(*read)).sum();
        NODE + copied + weights
    };
    model.body.nodes.iter().map(of_node).sum()
}

/// Whether a node only moves bytes.
fn is_copy(operator: &Operator) -> bool {
    matches!(operator, Operator::Slice | Operator::Concat { .. } | Operator::Split { .. })
}

#[cfg(test)]
mod tests {
    use plimsoll_graph::Dtype;
    use plimsoll_model::Tensor;

    use super::*;
    use crate::Draft;

    #[test]
    fn nodes_copies_and_weights_are_counted() {
        let mut model = Model::default();
        let w = model.add(Tensor::stored("w", Dtype::F32, &[6, 4]));
        let x = model.add(Tensor::computed("x"));
        let mut draft = Draft::new(&model);
        let product = draft.node("product", Operator::MatMul, &[Some(x), Some(w)], None);
        draft.node("joined", Operator::Concat { axis: 0 }, &[Some(product), Some(product)], None);
        let rewritten = draft.finish();
        let stored = |id: TensorId| if id == w { 96 } else { 0 };
        let found = overhead(&rewritten.model, |_| 1000, stored);
        assert_eq!(found, 2 * NODE + 96 + 2000);
    }
}
