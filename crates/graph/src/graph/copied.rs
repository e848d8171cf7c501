//! What a concat still copies where some of its inputs are made in its output.
//!
//! ```text
//!   a ──▶ ┐                      a ──▶ [ a │   ]   a is a part of the output: the concat copies b,
//!   b ──▶ concat ──▶ y           b ──▶ [   │ b ]   and neither reads nor writes the bytes of a
//! ```
//!
//! That follows from where values are. Cost: linear in the inputs of the concat.

use plimsoll::{Layout, ValueId};
use plimsoll_pack::Span;

use super::parts::{Part, Parts, parts};
use super::{Aliases, Graph, NodeId};
use crate::op::Op;

/// What a concat copies.
pub(crate) struct Copied {
    /// The output.
    pub(crate) output: ValueId,
    /// Its inputs that are somewhere else.
    pub(crate) inputs: Vec<ValueId>,
    /// The bytes of the output that it writes, at the native width; none of them meet.
    pub(crate) spans: Vec<Span>,
}

/// More stretches of the output than this are not written one by one.
const MOST_STRETCHES: u64 = 1024;

/// What a concat copies beside what is in its output already; nothing is said of other nodes, or if
/// nothing is.
pub(crate) fn copied(graph: &Graph, aliases: &Aliases, id: NodeId) -> Option<Copied> {
    if !matches!(graph.node(id).op, Op::Concat { .. }) {
        return None;
    }
    let output = graph.node(id).outputs.first().copied()??;
    let of = aliases.resolve(output);
    let place = Layout { first: of.offset, rows: of.rows };
    let parts = parts(graph, id).filter(can_be_left)?;
    let in_place = |part: &Part| {
        let alias = aliases.resolve(part.value);
        let layout = Layout { first: alias.offset, rows: alias.rows };
        let wanted = place.view(&parts.view(output, part), part.bytes * parts.rows);
        alias.root == of.root && wanted == Some(layout)
    };
    let (mut inputs, mut row) = (Vec::new(), Vec::<Span>::new());
    for part in parts.list.iter().filter(|part| !in_place(part)) {
        inputs.push(part.value);
        let span = Span::new(part.offset, part.offset + part.bytes);
        match row.last_mut() {
            Some(last) if last.hi == span.lo => last.hi = span.hi,
            _ => row.push(span),
        }
    }
    let firsts = (0..parts.rows).map(|index| index * parts.stride);
    let spans = firsts.flat_map(|first| row.iter().map(move |span| span.shifted(first)));
    let spans = spans.collect();
    (inputs.len() < parts.list.len()).then_some(Copied { output, inputs, spans })
}

/// Whether some parts of a concat can be written while others are left alone.
pub(crate) fn can_be_left(parts: &Parts) -> bool {
    let stretches = parts.rows.checked_mul(parts.list.len() as u64);
    parts.rows == 1 || stretches.is_some_and(|stretches| stretches <= MOST_STRETCHES)
}
