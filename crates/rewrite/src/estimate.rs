//! How much memory a rewritten model will take, nearly, for a search that looks at thousands of them.
//!
//! What is reckoned is the bytes alive while each node runs, in the order of the nodes: an output takes over an
//! operand of its size that is read for the last time where most kernels can do so, and views take nothing. Whatever
//! a search keeps is planned; nothing but the order in which candidates are planned depends on this.

use plimsoll_model::{Body, Model, ModelNode, Operator, TensorId};

/// The most bytes that are alive at once, if some tensors are there at first, and some are needed at last.
/// `bytes` is by tensor.
pub(crate) fn estimate(
    model: &Model,
    bytes: &[u64],
    at_first: &[TensorId],
    at_last: &[TensorId],
) -> u64 {
    let start: u64 = at_first.iter().map(|there| bytes[there.index()]).sum();
    alive(model, bytes, at_first, at_last).into_iter().max().unwrap_or(0).max(start)
}

/// The most bytes that one node touches.
pub(crate) fn widest(model: &Model, bytes: &[u64]) -> u64 {
    let of = |tensor: &TensorId| bytes.get(tensor.index()).copied().unwrap_or(0);
    let touched = |node: &ModelNode| {
        let mut reads: Vec<TensorId> = node.inputs.iter().flatten().copied().collect();
        reads.sort_unstable();
        reads.dedup();
        let made: u64 = node.outputs.iter().flatten().map(of).sum();
        let read: u64 = reads.iter().map(of).sum();
        if takes_over(node) { made.max(read) } else { made + read }
    };
    model.body.nodes.iter().map(touched).max().unwrap_or(0)
}

/// The bytes alive while each node runs.
fn alive(model: &Model, bytes: &[u64], at_first: &[TensorId], at_last: &[TensorId]) -> Vec<u64> {
    let (body, tensors) = (&model.body, model.tensors.len());
    let bytes = |tensor: usize| bytes.get(tensor).copied().unwrap_or(0);
    // The node behind the last one that reads a tensor; outputs are read at the end.
    let mut until = vec![0; tensors];
    for (at, node) in body.nodes.iter().enumerate() {
        node.inputs.iter().flatten().for_each(|read| until[read.index()] = at);
    }
    body.outputs.iter().for_each(|made| until[made.index()] = body.nodes.len());
    for kept in at_last {
        until[kept.index()] = body.nodes.len();
    }
    body.inputs.iter().for_each(|given| until[given.index()] = usize::MAX);
    // What is there and nobody reads goes before the first node.
    let there =
        at_first.iter().filter(|there| until[there.index()] != 0 || is_read_first(body, **there));
    let mut live: u64 = there.map(|there| bytes(there.index())).sum();
    let mut most = Vec::with_capacity(body.nodes.len());
    for (at, node) in body.nodes.iter().enumerate() {
        let mut dying: Vec<usize> = node.inputs.iter().flatten().map(|read| read.index()).collect();
        dying.retain(|read| until[*read] == at);
        dying.sort_unstable();
        dying.dedup();
        let made = node.outputs.iter().flatten().map(|made| made.index());
        let made: u64 = made.map(bytes).sum();
        let taken = dying.iter().map(|read| bytes(*read)).filter(|read| *read >= made).min();
        let taken = taken.filter(|_| takes_over(node)).unwrap_or(0);
        most.push(live + made - taken.min(made));
        live += made;
        let idle = node.outputs.iter().flatten().filter(|made| until[made.index()] <= at);
        live -= idle.map(|made| bytes(made.index())).sum::<u64>();
        live -= dying.iter().map(|read| bytes(*read)).sum::<u64>();
    }
    most
}

fn is_read_first(body: &Body, tensor: TensorId) -> bool {
    body.nodes.first().is_some_and(|node| node.inputs.contains(&Some(tensor)))
}

/// Whether an output of a node can be the bytes of an operand.
pub(crate) fn takes_over(node: &ModelNode) -> bool {
    matches!(
        node.operator,
        Operator::Unary(_)
            | Operator::Binary(_)
            | Operator::Variadic(_)
            | Operator::Where
            | Operator::Clip
            | Operator::Identity
            | Operator::BatchNorm(_)
            | Operator::Softmax(_)
            | Operator::Reshape { .. }
            | Operator::Squeeze
            | Operator::Unsqueeze
            | Operator::Flatten { .. }
    )
}
