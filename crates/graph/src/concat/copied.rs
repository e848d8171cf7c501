//! What a concat still copies where some of its inputs are made in its output.
//!
//! ```text
//!   a ──▶ ┐                      a ──▶ [ a │   ]   a is a part of the output: the concat copies b,
//!   b ──▶ concat ──▶ y           b ──▶ [   │ b ]   and neither reads nor writes the bytes of a
//! ```
//!
//! That follows from where values are. Cost: linear in the inputs of the concat.

use plimsoll::ValueId;
use plimsoll_pack::Span;

use super::{Part, parts};
use crate::graph::{Alias, Aliases, Graph, NodeId};

/// What a concat copies.
pub(crate) struct Copied {
    /// The output.
    pub(crate) output: ValueId,
    /// Its inputs that are somewhere else.
    pub(crate) inputs: Vec<ValueId>,
    /// The bytes of the output that it writes, at the native width; none of them meet.
    pub(crate) spans: Vec<Span>,
}

/// What a concat copies beside what is in its output already; nothing is said of other nodes, or if
/// nothing is.
pub(crate) fn copied(graph: &Graph, aliases: &Aliases, id: NodeId) -> Option<Copied> {
    let output = graph.node(id).outputs.first().copied()??;
    let place = aliases.resolve(output);
    let in_place = |part: &Part| {
        let offset = place.offset.checked_add(part.offset);
        offset.is_some_and(|offset| aliases.resolve(part.value) == Alias { offset, ..place })
    };
    let is_concat = matches!(graph.node(id).op, crate::op::Op::Concat { .. });
    if !is_concat || place.rows.is_some() {
        return None;
    }
    let parts = parts(graph, id).filter(|parts| parts.rows == 1)?;
    let (mut inputs, mut spans) = (Vec::new(), Vec::<Span>::new());
    for part in parts.list.iter().filter(|part| !in_place(part)) {
        inputs.push(part.value);
        let span = Span::new(part.offset, part.offset + part.bytes);
        match spans.last_mut() {
            Some(last) if last.hi == span.lo => last.hi = span.hi,
            _ => spans.push(span),
        }
    }
    (inputs.len() < parts.list.len()).then_some(Copied { output, inputs, spans })
}
