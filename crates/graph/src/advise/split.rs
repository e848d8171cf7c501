//! Doing some steps in parts, so that less of what is between them is there at a time.
//!
//! ```text
//!   x ─▶ a ─▶ b ─▶ y        x[..4] ─▶ a.0 ─▶ b.0 ─▶ y[..4]
//!                           x[4..] ─▶ a.1 ─▶ b.1 ─▶ y[4..]
//! ```
//!
//! That is possible where rows do not depend on each other: element by element, in the rows of a matrix
//! product, in the channels of pooling and of what a convolution makes. Parts of `x` are views of it, and parts of `y` are made in their places, so that
//! nothing is copied; of `a` only a part is there at any time, and what is done with of `x` is free.

use plimsoll::{Execution, Role, ValueId};

use super::draft::{Draft, is_plain};
use crate::effect::{OuterAxis, needs_rows};
use crate::graph::{Graph, Node, NodeId, Value};
use crate::op::{Cut, Op};
use crate::shape::Shape;

/// Steps that can be done in parts together: one value comes out of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    /// In order of execution.
    pub(super) nodes: Vec<NodeId>,
    /// The bytes that are made and used up inside.
    pub(super) inside_bytes: u64,
}

/// So many steps are done in parts together at most.
const MOST_STEPS: usize = 24;

/// The segments of an order around one of its places, those with most inside first.
pub(super) fn segments(graph: &Graph, order: &[NodeId], at: usize) -> Vec<Segment> {
    if graph.execution() != Execution::InOrder {
        return Vec::new();
    }
    let readers = readers(graph);
    let mut segments: Vec<Segment> = Vec::new();
    let earliest = (at + 1).saturating_sub(MOST_STEPS);
    for from in earliest..=at {
        for to in at..order.len().min(from + MOST_STEPS) {
            segments.extend(segment(graph, &readers, &order[from..=to]));
        }
    }
    segments.sort_by_cached_key(|s| (std::cmp::Reverse(s.inside_bytes), s.nodes.len()));
    segments
}

fn readers(graph: &Graph) -> Vec<Vec<NodeId>> {
    let mut readers = vec![Vec::new(); graph.values().len()];
    for node in graph.node_ids() {
        for value in graph.node(node).reads() {
            readers[value.index()].push(node);
        }
    }
    readers
}

/// The nodes as a segment, if they are one.
fn segment(graph: &Graph, readers: &[Vec<NodeId>], nodes: &[NodeId]) -> Option<Segment> {
    let result = output(graph, *nodes.last()?)?;
    let rows = rows_of(graph, result)?;
    // Along the innermost axis much that is called element by element is not.
    let is_outer = |value: ValueId| {
        let rank = graph.value(value).shape.known().map_or(0, |dims| dims.len());
        rows_of(graph, value).is_some_and(|own| own.count == rows.count && own.axis + 1 < rank)
    };
    let mut inside_bytes = 0;
    for node in nodes {
        let made = output(graph, *node)?;
        let inside = readers[made.index()].iter().all(|reader| nodes.contains(reader))
            && !graph.outputs().contains(&made);
        // What is made inside is there in parts only, so nobody inside may need all of it.
        let made_inside = |value: ValueId| nodes.iter().any(|n| output(graph, *n) == Some(value));
        let mut read = graph.node(*node).inputs.iter().zip(operands(graph, *node)?);
        let fits = inside != (made == result)
            && is_outer(made)
            && read.all(|(value, by_rows)| by_rows || !value.is_some_and(made_inside));
        if !fits {
            return None;
        }
        if inside {
            inside_bytes += graph.value(made).native_size().known()?;
        }
    }
    Some(Segment { nodes: nodes.to_vec(), inside_bytes })
}

/// The one output of a node, if it is ours to change.
fn output(graph: &Graph, node: NodeId) -> Option<ValueId> {
    let node = graph.node(node);
    let made = node.outputs.first().copied().flatten()?;
    let Value { role, view, bytes, align, guard, elided, .. } = graph.value(made);
    let free = *role == Role::Temporary && view.is_none() && bytes.is_none() && align.is_none();
    (is_plain(node) && free && *guard == 0 && !elided).then_some(made)
}

/// The rows of a value.
fn rows_of(graph: &Graph, value: ValueId) -> Option<OuterAxis> {
    OuterAxis::of(&graph.value(value).shape.known()?)
}

/// For each operand of a node, whether a part of its output needs the same rows of it, or all of it.
fn operands(graph: &Graph, id: NodeId) -> Option<Vec<bool>> {
    let (inputs, outputs) = graph.operands(id);
    needs_rows(&graph.node(id).op, &inputs, &outputs)
}

/// The graph with these segments, none of which meets another, done in so many parts each.
pub(super) fn in_parts(graph: &Graph, segments: &[Vec<NodeId>], parts: u64) -> Option<Graph> {
    let mut draft = Draft::of(graph);
    for nodes in segments {
        let result = output(graph, *nodes.last()?)?;
        let rows = rows_of(graph, result)?;
        if rows.count < parts || parts < 2 {
            return None;
        }
        let mut splitting =
            Splitting { graph, draft: &mut draft, nodes, result, joined: Vec::new() };
        for part in 0..parts {
            let (from, to) = (rows.count * part / parts, rows.count * (part + 1) / parts);
            splitting.part(part, Cut::new(rows.axis, from, to - from))?;
        }
        let joined = splitting.joined;
        let name = format!("{} joined", graph.value(result).name);
        let node = Node::new(name, Op::Concat { axis: rows.axis }, &joined, &[result]);
        draft.insert(draft.end_of(nodes)?, node);
    }
    draft.finish()
}

struct Splitting<'g> {
    graph: &'g Graph,
    draft: &'g mut Draft,
    nodes: &'g [NodeId],
    result: ValueId,
    /// The parts of the result.
    joined: Vec<ValueId>,
}

impl Splitting<'_> {
    /// Makes one part: of nodes and values inside the first is what was there before.
    fn part(&mut self, part: u64, rows: Cut) -> Option<()> {
        let mut now: Vec<(ValueId, ValueId)> = Vec::new();
        for id in self.nodes {
            let node = self.graph.node(*id);
            let by_rows = operands(self.graph, *id)?;
            let mut inputs = node.inputs.clone();
            for (input, by_rows) in inputs.iter_mut().zip(by_rows) {
                let Some(value) = input.filter(|_| by_rows) else { continue };
                if let Some((_, inside)) = now.iter().find(|(whole, _)| *whole == value) {
                    *input = Some(*inside);
                } else {
                    let slice = self.slice(*id, value, rows, part)?;
                    now.push((value, slice));
                    *input = Some(slice);
                }
            }
            let whole = output(self.graph, *id)?;
            let made = self.made(whole, rows.len, part)?;
            now.push((whole, made));
            let changed = Node { inputs, outputs: vec![Some(made)], ..node.clone() };
            if part == 0 {
                let at = self.draft.place_of(*id)?;
                *self.draft.node_mut(at) = changed;
            } else {
                let name = format!("{}.{part}", node.name);
                let at = self.end()?;
                self.draft.insert(at, Node { name, ..changed });
            }
        }
        self.joined.push(now.last()?.1);
        Some(())
    }

    /// Behind the last node that there is of the segment.
    fn end(&self) -> Option<usize> {
        self.draft.end_of(self.nodes)
    }

    /// Some rows of a value from outside: a view.
    fn slice(&mut self, reader: NodeId, value: ValueId, rows: Cut, part: u64) -> Option<ValueId> {
        let axis = rows_of(self.graph, value)?.axis;
        let name = format!("{}.{part}", self.graph.value(value).name);
        let view = self.draft.add_value(self.with_rows(value, rows.len)?, &name);
        let op = Op::Slice { cuts: vec![Cut { axis, ..rows }] };
        let at = if part == 0 { self.draft.place_of(reader)? } else { self.end()? };
        self.draft.insert(at, Node::new(name, op, &[value], &[view]));
        Some(view)
    }

    /// What a node makes of some rows.
    fn made(&mut self, whole: ValueId, rows: u64, part: u64) -> Option<ValueId> {
        let value = self.with_rows(whole, rows)?;
        if part == 0 && whole != self.result {
            self.draft.values[whole.index()].shape = value.shape;
            return Some(whole);
        }
        let name = format!("{}.{part}", self.graph.value(whole).name);
        Some(self.draft.add_value(value, &name))
    }

    /// A value like another, with so many rows.
    fn with_rows(&self, value: ValueId, rows: u64) -> Option<Value> {
        let like = self.graph.value(value);
        let mut dims = like.shape.known()?;
        *dims.get_mut(rows_of(self.graph, value)?.axis)? = rows;
        Some(Value::new("", like.dtype, Shape::from(&dims[..])))
    }
}
