//! Which node has to wait for which.
//!
//! A node waits for
//! - whoever makes what it reads, and, where that is a part of something that several nodes write
//!   parts of, for all whose parts meet it, but for those that put something else in the place of what
//!   they read there;
//! - whoever makes what it reads in place of elided nodes behind it;
//! - the nodes that it is declared to be after;
//! - every other reader of what it must overwrite;
//! - where several nodes write the same bytes, whoever touches them before it in the order that all
//!   the above leaves: the order of the graph is what it means.
//!
//! Cost: linear, but for alias sets with several writers and for forced overwrites, where
//! all members of the alias set are looked at.

use std::collections::{BTreeSet, HashMap};

use plimsoll::{Layout, Role, ValueId};
use plimsoll_pack::Span;

use super::error::GraphError;
use super::{Alias, Aliases, Folds, Graph, NodeId, copied};
use crate::graph::order_of;

/// The nodes that each node waits for, by node; sorted, without repetition.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    before: Vec<Vec<NodeId>>,
}

impl Flow {
    pub(crate) fn of(graph: &Graph, aliases: &Aliases, folds: &Folds) -> Self {
        let accesses = RootAccesses::of(graph, aliases);
        let mut before = Vec::with_capacity(graph.nodes.len());
        for node in graph.node_ids() {
            let mut waits = graph.node(node).after.clone();
            let folded = folds.behind(node).map_or(&[][..], |behind| &behind.reads);
            let overwritten = graph.node(node).overwrites.iter().map(|o| o.input);
            for value in graph.node(node).reads().chain(folded.iter().copied()).chain(overwritten) {
                accesses.writers(value, &mut waits);
            }
            for overwrite in graph.node(node).overwrites.iter().filter(|o| o.must) {
                accesses.readers(overwrite.input, &mut waits);
            }
            let own: Vec<NodeId> = folds.behind(node).map_or(Vec::new(), |b| b.nodes.clone());
            waits.retain(|other| *other != node && !own.contains(other));
            waits.sort_unstable();
            waits.dedup();
            before.push(waits);
        }
        let mut flow = Flow { before };
        flow.order_writers(&accesses, folds);
        flow
    }

    /// Adds what follows from several nodes that write the same bytes. What is added keeps to an
    /// order that there is, so it never makes a cycle.
    fn order_writers(&mut self, accesses: &RootAccesses<'_>, folds: &Folds) {
        let contended = accesses.contended();
        if contended.is_empty() {
            return;
        }
        // If there is no order at all, somebody else says so.
        let Ok(order) = order_of(accesses.graph, self) else { return };
        let mut touched: HashMap<ValueId, Touched> = HashMap::new();
        for node in order.into_iter().filter(|node| !accesses.graph.node(*node).elided) {
            let folded = folds.behind(node).map_or(&[][..], |behind| &behind.reads);
            let reads = accesses.graph.node(node).reads().chain(folded.iter().copied());
            let waits = &mut self.before[node.index()];
            for root in reads.map(|value| accesses.aliases.resolve(value).root) {
                if contended.contains(&root) {
                    touched.entry(root).or_default().read_by(node, waits);
                }
            }
            for root in accesses.writes(node).filter(|root| contended.contains(root)) {
                touched.entry(root).or_default().written_by(node, waits);
            }
            waits.retain(|other| *other != node);
            waits.sort_unstable();
            waits.dedup();
        }
    }

    /// The nodes that a node waits for.
    pub(crate) fn before(&self, node: NodeId) -> &[NodeId] {
        &self.before[node.index()]
    }
}

/// Who has touched a root so far.
#[derive(Default)]
struct Touched {
    writer: Option<NodeId>,
    /// Since then.
    readers: Vec<NodeId>,
}

impl Touched {
    fn read_by(&mut self, node: NodeId, waits: &mut Vec<NodeId>) {
        waits.extend(self.writer);
        self.readers.push(node);
    }

    fn written_by(&mut self, node: NodeId, waits: &mut Vec<NodeId>) {
        waits.extend(self.writer.replace(node));
        waits.append(&mut self.readers);
    }
}

/// The nodes that write and read parts of each root.
struct RootAccesses<'g> {
    graph: &'g Graph,
    aliases: &'g Aliases,
    written: HashMap<ValueId, Vec<(NodeId, ValueId)>>,
    read: HashMap<ValueId, Vec<(NodeId, ValueId)>>,
}

impl<'g> RootAccesses<'g> {
    fn of(graph: &'g Graph, aliases: &'g Aliases) -> Self {
        let mut accesses =
            RootAccesses { graph, aliases, written: HashMap::new(), read: HashMap::new() };
        let must = graph.nodes.iter().flat_map(|node| &node.overwrites).filter(|o| o.must);
        for overwrite in must {
            accesses.read.entry(aliases.resolve(overwrite.input).root).or_default();
        }
        for id in graph.node_ids().filter(|node| !aliases.is_pure_view(*node)) {
            let node = graph.node(id);
            for value in node.results().filter(|value| aliases.are_written(graph, id, *value)) {
                let root = aliases.resolve(value).root;
                if aliases.view(value).is_some() || graph.producer(root).is_none() {
                    accesses.written.entry(root).or_default().push((id, value));
                }
            }
            for value in node.reads() {
                if let Some(readers) = accesses.read.get_mut(&aliases.resolve(value).root) {
                    readers.push((id, value));
                }
            }
        }
        accesses
    }

    /// The roots of what a node writes.
    fn writes(&self, node: NodeId) -> impl Iterator<Item = ValueId> + '_ {
        let results = self.graph.node(node).results().filter(move |_| !self.is_view(node));
        results.map(|value| self.aliases.resolve(value).root)
    }

    fn is_view(&self, node: NodeId) -> bool {
        self.aliases.is_pure_view(node)
    }

    /// The roots of which two nodes write the same bytes.
    fn contended(&self) -> BTreeSet<ValueId> {
        let is_contended = |(root, written): &(&ValueId, &Vec<(NodeId, ValueId)>)| {
            let maker = self.graph.producer(**root).filter(|node| !self.is_view(*node));
            let whole = maker.map(|node| (node, **root));
            let all = written.iter().copied().chain(whole);
            let mut spans: Vec<(Span, NodeId)> = all
                .filter(|(node, _)| !self.graph.node(*node).elided)
                .flat_map(|(node, value)| {
                    self.spans_written(node, value).into_iter().map(move |span| (span, node))
                })
                .collect();
            spans.sort_unstable_by_key(|(span, node)| (span.lo, span.hi, *node));
            spans.dedup();
            // The one that reaches furthest so far.
            let mut last: Option<(Span, NodeId)> = None;
            spans.into_iter().any(|(span, node)| {
                let meets = last.is_some_and(|(before, other)| other != node && before.meets(span));
                if last.is_none_or(|(before, _)| before.hi < span.hi) {
                    last = Some((span, node));
                }
                meets
            })
        };
        self.written.iter().filter(is_contended).map(|(root, _)| *root).collect()
    }

    /// Adds whoever has to be over before a value can be read.
    fn writers(&self, value: ValueId, waits: &mut Vec<NodeId>) {
        let maker = self.graph.producer(value);
        waits.extend(maker);
        let root = self.aliases.resolve(value).root;
        if root != value {
            if maker.is_some() || self.graph.value(value).role == Role::Input {
                return; // It has written this part, or waits itself for whoever has.
            }
            waits.extend(self.graph.producer(root));
        }
        let written = self.written.get(&root).map_or(&[][..], Vec::as_slice);
        let is_awaited = |(node, other): &&(NodeId, ValueId)| {
            let is_part = || !self.replaces(*node, *other) || self.is_view_of(value, *other);
            self.meet(value, *other) && is_part()
        };
        waits.extend(written.iter().filter(is_awaited).map(|(node, _)| *node));
    }

    /// Whether what a node writes is no part of what whoever makes the root has made, but takes the place
    /// of a part of it, which the node reads.
    fn replaces(&self, node: NodeId, output: ValueId) -> bool {
        let root = self.aliases.resolve(output).root;
        let is_old =
            |read: ValueId| self.aliases.resolve(read).root == root && self.meet(read, output);
        let maker = self.graph.producer(root).filter(|maker| *maker != node);
        let maker = maker.filter(|maker| !self.graph.node(*maker).elided && !self.is_view(*maker));
        let over = |maker: NodeId| {
            let own = self.span(output).unwrap_or(Span::new(0, u64::MAX));
            self.spans_written(maker, root).iter().any(|span| span.meets(own))
        };
        self.graph.node(node).reads().any(is_old) && maker.is_some_and(over)
    }

    /// Whether a value is a view of another, directly or by others.
    fn is_view_of(&self, value: ValueId, other: ValueId) -> bool {
        let of = |value: ValueId| self.aliases.view(value).map(|view| view.of);
        std::iter::successors(Some(value), |value| of(*value)).any(|value| value == other)
    }

    /// Adds whoever has to be over before a value can be overwritten.
    fn readers(&self, value: ValueId, waits: &mut Vec<NodeId>) {
        let readers = &self.read[&self.aliases.resolve(value).root];
        let meeting = readers.iter().filter(|(_, other)| self.meet(value, *other));
        waits.extend(meeting.map(|(node, _)| *node));
    }

    /// Whether two values of an alias set have a byte in common, as far as is known.
    fn meet(&self, a: ValueId, b: ValueId) -> bool {
        match (self.span(a), self.span(b)) {
            (Some(a), Some(b)) => a.meets(b),
            _ => true,
        }
    }

    /// The bytes of a root that a node writes by one of its results: all, but for a concat some of whose
    /// inputs are in its output.
    fn spans_written(&self, node: NodeId, value: ValueId) -> Vec<Span> {
        let Some(copied) = copied(self.graph, self.aliases, node) else {
            return vec![self.span(value).unwrap_or(Span::new(0, u64::MAX))];
        };
        let Alias { offset: first, rows, .. } = self.aliases.resolve(value);
        let layout = Layout { first, rows };
        copied.spans.into_iter().map(|span| layout.hull(span)).collect()
    }

    fn span(&self, value: ValueId) -> Option<Span> {
        let bytes = self.graph.value(value).native_size().known()?;
        Some(self.aliases.resolve(value).hull(bytes))
    }
}

/// The error that names a cycle.
pub(crate) fn cycle_error(graph: &Graph, cycle: &[NodeId]) -> GraphError {
    GraphError::Cycle(cycle.iter().map(|node| graph.node(*node).name.clone()).collect())
}
