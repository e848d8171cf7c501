//! The scratch of a fused step.

use plimsoll_graph::Fact;

use crate::model::{Model, TensorId};

/// How many rows of scores attention has at a time. More make it no faster.
pub const BLOCK_ROWS: u64 = 16;

/// The bytes that functions of rows need beside their operands: two rows, of which one is reckoned from the other.
pub(super) fn rows_bytes(len: u64) -> Option<u64> {
    len.checked_mul(2)?.checked_mul(4)
}

/// The bytes that attention needs beside its operands: for a block of rows the queries, the scores and the sums, and a
/// block of as many keys or values. `None` if shapes are not known.
pub(super) fn attention_bytes(
    model: &Model,
    facts: &[Fact],
    scores: usize,
    values: usize,
) -> Option<u64> {
    let last = |node: usize, input: Option<usize>| {
        let node = &model.body.nodes[node];
        let id: Option<TensorId> = match input {
            Some(input) => node.inputs.get(input).copied().flatten(),
            None => node.outputs.first().copied().flatten(),
        };
        facts[id?.index()].shape.as_ref()?.known()?.last().copied()
    };
    let keys = last(scores, None)?;
    let depth = last(scores, Some(0))?;
    let sums = last(values, None)?;
    let width = 4;
    let numbers = depth.checked_add(keys)?.checked_add(sums)?.checked_add(depth.max(sums))?;
    numbers.checked_mul(BLOCK_ROWS)?.checked_mul(width)
}
