//! The parts of a concat: where its inputs are in its output, and what it still copies where some of them
//! are made there.
//!
//! ```text
//!   a ──▶ ┐                      a ──▶ [ a │   ]   a is a part of the output: the concat copies b,
//!   b ──▶ concat ──▶ y           b ──▶ [   │ b ]   and neither reads nor writes the bytes of a
//! ```
//!
//! That follows from where values are. Cost: linear in the inputs of the concat.

use plimsoll::{Layout, Strided, ValueId, View};
use plimsoll_pack::Span;

use super::{Aliases, Graph, Node, NodeId};
use crate::effect::{ConcatPart, ConcatParts, Views, concat_parts, traits};

/// The inputs of a concat, and where they are in the output.
pub(crate) struct Parts {
    /// How many rows each part has; one if the parts are stretches.
    pub(crate) rows: u64,
    /// From row to row.
    pub(crate) stride: u64,
    pub(crate) list: Vec<Part>,
}

/// An input of a concat.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) value: ValueId,
    /// Its first byte in the output, and the bytes of each row.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Parts {
    /// A part as a view of the output.
    pub(crate) fn view(&self, of: ValueId, part: &Part) -> View {
        let rows = Strided { bytes: part.bytes, stride: self.stride };
        View { of, offset: part.offset, rows: (self.rows > 1).then_some(rows) }
    }
}

/// Whether nothing but the operands is declared of a node.
pub(crate) fn is_bare(node: &Node) -> bool {
    let Node { also_reads, scratch, overwrites, windows, after, elided, .. } = node;
    let bare = also_reads.is_empty() && overwrites.is_empty() && windows.is_empty();
    bare && scratch.is_none() && after.is_empty() && !*elided
}

/// The inputs of a concat and where they are in the output, as far as they are whole bytes.
pub(crate) fn parts(graph: &Graph, id: NodeId) -> Option<Parts> {
    let node = graph.node(id);
    if !copies_parts(node) {
        return None;
    }
    let (inputs, outputs) = graph.operands(id);
    let ConcatParts { rows, stride, list } = concat_parts(&node.op, &inputs, &outputs)?;
    let output = graph.value((*node.outputs.first()?)?);
    let part = |(value, part): (&Option<ValueId>, ConcatPart)| {
        Some(Part { value: (*value)?, offset: part.offset, bytes: part.bytes })
    };
    let list = node.inputs.iter().zip(list).map(part).collect::<Option<_>>()?;
    let fits = output.native_size().known() == stride.checked_mul(rows);
    fits.then_some(Parts { rows, stride, list })
}

/// Whether all that a node does is to copy its inputs into its output.
pub(crate) fn copies_parts(node: &Node) -> bool {
    is_concat(node) && is_bare(node)
}

/// Whether the inputs of a node are parts of its output.
pub(crate) fn is_concat(node: &Node) -> bool {
    matches!(traits(&node.op).views, Views::Concat { .. })
}

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
    if !is_concat(graph.node(id)) {
        return None;
    }
    let output = graph.node(id).outputs.first().copied()??;
    let of = aliases.resolve(output);
    let place = Layout { first: of.offset, rows: of.rows };
    // Mostly none is.
    let mut inputs = graph.node(id).inputs.iter().flatten();
    if !inputs.any(|input| aliases.resolve(*input).root == of.root) {
        return None;
    }
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
