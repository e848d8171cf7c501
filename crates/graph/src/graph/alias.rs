//! Which values are the same bytes: views, resolved to a root and an offset.
//!
//! A view is declared on the value, or follows from the op of the node that makes it. An op makes
//! no view of a value that asks for a place of its own: one that lives outside the arena, wants an
//! alignment or a guard, is written over something else, or has no bytes at all. Such a node copies.
//!
//! Cost: linear in values and operands.

use plimsoll::{Layout, Storage, Strided, ValueId, View};
use plimsoll_pack::Span;

use super::error::{GraphError, ValueFault};
use super::{Graph, NodeId};
use crate::graph::Kernels;

/// Whose bytes a value is a part of, in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The value that is no view.
    pub root: ValueId,
    /// The first byte in it, at the native width.
    pub offset: u64,
    /// Where the rest is, if it is not one stretch of bytes.
    pub rows: Option<Strided>,
}

impl Alias {
    /// From the first to the last byte of so many.
    pub(crate) fn hull(&self, bytes: u64) -> Span {
        self.layout().hull(Span::new(0, bytes))
    }

    fn layout(&self) -> Layout {
        Layout { first: self.offset, rows: self.rows }
    }
}

/// Which values are the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aliases {
    views: Vec<Option<View>>,
    resolved: Vec<Alias>,
    pure: Vec<bool>,
}

impl Aliases {
    /// What a value is a view of, in one step.
    #[must_use]
    pub fn view(&self, value: ValueId) -> Option<View> {
        self.views[value.index()]
    }

    /// What a value is a part of, in the end; itself if it is no view.
    #[must_use]
    pub fn resolve(&self, value: ValueId) -> Alias {
        self.resolved[value.index()]
    }

    /// Every value that is a view, with its root.
    pub fn table(&self) -> impl Iterator<Item = (ValueId, Alias)> + '_ {
        let all = self.resolved.iter().enumerate();
        let views = all.filter(|(index, _)| self.views[*index].is_some());
        views.map(|(index, alias)| (ValueId::new(index), *alias))
    }

    /// Whether a node does nothing at all: every output is a view of an input.
    #[must_use]
    pub fn is_pure_view(&self, node: NodeId) -> bool {
        self.pure[node.index()]
    }

    /// Whether a node writes the bytes of one of its outputs: there are some, and they are not
    /// those of an input. A dropout with a mask writes the mask alone.
    pub(crate) fn are_written(&self, graph: &Graph, node: NodeId, output: ValueId) -> bool {
        let inputs = &graph.node(node).inputs;
        let of = |value: ValueId| self.view(value).map(|view| view.of);
        let mut roots = std::iter::successors(of(output), |root| of(*root));
        !graph.value(output).elided && !roots.any(|root| inputs.contains(&Some(root)))
    }

    /// Whether two values have a byte in common: a value whose size is not known has none.
    pub(crate) fn share_bytes(&self, graph: &Graph, a: ValueId, b: ValueId) -> bool {
        let bytes = |value: ValueId| graph.value(value).native_size().known().unwrap_or(0);
        let hull = |value: ValueId| self.resolve(value).hull(bytes(value));
        let spans = |value: ValueId| -> Vec<Span> {
            self.resolve(value).layout().spans(Span::new(0, bytes(value))).collect()
        };
        let same_root = self.resolve(a).root == self.resolve(b).root;
        same_root && hull(a).meets(hull(b)) && meet(&spans(a), &spans(b))
    }

    pub(crate) fn of(graph: &Graph, kernels: &Kernels) -> Result<Self, GraphError> {
        let viewing = kernels.viewing(graph);
        let mut views: Vec<Option<View>> = graph.values.iter().map(|value| value.view).collect();
        let mut pure = Vec::with_capacity(graph.nodes.len());
        for node in graph.node_ids() {
            let (made, is_pure) = if viewing[node.index()] {
                op_views(graph, node)
            } else {
                declared_only(graph, node)
            };
            for (value, view) in made {
                views[value.index()] = Some(view);
            }
            pure.push(is_pure);
        }
        for value in graph.value_ids().filter(|value| graph.value(*value).elided) {
            views[value.index()] = None;
        }
        let resolved = resolve(graph, &views)?;
        Ok(Aliases { views, resolved, pure })
    }
}

/// Whether two lists of stretches, both in order, have a byte in common.
fn meet(a: &[Span], b: &[Span]) -> bool {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i].meets(b[j]) {
            return true;
        }
        if a[i].hi <= b[j].hi {
            i += 1;
        } else {
            j += 1;
        }
    }
    false
}

/// The views that a node makes, and whether it does nothing else.
pub(super) fn views_of_node(
    graph: &Graph,
    node: NodeId,
    kernels: &Kernels,
) -> (Vec<(ValueId, View)>, bool) {
    let viewing = kernels.all_view() || kernels.viewing(graph)[node.index()];
    if viewing { op_views(graph, node) } else { declared_only(graph, node) }
}

/// A declared view that a node makes of one of its inputs: it does not write that output. If the
/// root is no input, the node writes into a part of the root.
fn is_declared_view(graph: &Graph, node: NodeId, value: ValueId) -> bool {
    let mut of = graph.value(value).view.map(|view| view.of);
    let mut hops = 0;
    while let Some(root) = of {
        if graph.node(node).inputs.contains(&Some(root)) {
            return true;
        }
        hops += 1;
        of = graph.value(root).view.map(|view| view.of).filter(|_| hops < graph.values.len());
    }
    false
}

fn declared_only(graph: &Graph, node: NodeId) -> (Vec<(ValueId, View)>, bool) {
    let mut results = graph.node(node).results().peekable();
    let any = results.peek().is_some();
    (Vec::new(), any && results.all(|value| is_declared_view(graph, node, value)))
}

fn op_views(graph: &Graph, id: NodeId) -> (Vec<(ValueId, View)>, bool) {
    let node = graph.node(id);
    let views = graph.native_views(id);
    let mut made = Vec::new();
    let mut pure = node.results().next().is_some();
    for (index, output) in node.outputs.iter().enumerate() {
        let Some(output) = *output else { continue };
        if graph.value(output).view.is_some() {
            pure &= is_declared_view(graph, id, output);
            continue;
        }
        let view = views.iter().find(|view| view.output == index);
        let input = view.and_then(|view| node.inputs[view.input].map(|of| (of, view.offset)));
        match input {
            Some((of, offset)) if can_be_view(graph, id, output) => {
                made.push((output, View::new(of, offset)));
            }
            _ => pure = false,
        }
    }
    (made, pure)
}

/// Whether a value leaves it to us where it is.
fn can_be_view(graph: &Graph, node: NodeId, output: ValueId) -> bool {
    let value = graph.value(output);
    let overwrites = graph.node(node).overwrites.iter().any(|o| o.output == output);
    value.storage == Storage::Arena
        && value.align.is_none()
        && value.guard == 0
        && value.bytes.is_none()
        && !value.copied
        && !overwrites
}

/// Follows every chain of views to its end.
fn resolve(graph: &Graph, views: &[Option<View>]) -> Result<Vec<Alias>, GraphError> {
    let mut resolved: Vec<Option<Alias>> = vec![None; views.len()];
    let mut chain = Vec::new();
    for start in graph.value_ids() {
        let mut at = start;
        let mut end = loop {
            match (resolved[at.index()], views[at.index()]) {
                (Some(alias), _) => break alias,
                (None, None) => break Alias { root: at, offset: 0, rows: None },
                (None, Some(view)) => {
                    if chain.len() == views.len() {
                        let name = &graph.value(start).name;
                        return Err(GraphError::value(name, ValueFault::ViewCircle));
                    }
                    chain.push((at, view));
                    at = view.of;
                }
            }
        };
        resolved[at.index()].get_or_insert(end);
        while let Some((value, view)) = chain.pop() {
            let fault = |fault| GraphError::value(&graph.value(value).name, fault);
            if end.offset.checked_add(view.offset).is_none() {
                return Err(fault(ValueFault::TooLarge));
            }
            // Of what has rows the size is known.
            let bytes = graph.value(value).native_size().known().unwrap_or(0);
            let below = Layout { first: end.offset, rows: end.rows };
            let layout = below.view(&view, bytes).ok_or_else(|| fault(ValueFault::ViewOfRows))?;
            end = Alias { offset: layout.first, rows: layout.rows, ..end };
            resolved[value.index()] = Some(end);
        }
    }
    Ok(resolved.into_iter().map(|alias| alias.expect("every chain was followed")).collect())
}
