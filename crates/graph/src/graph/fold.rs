//! Folds: what becomes of accesses to values and nodes that a back end folds away.
//!
//! An elided node takes no step, so its neighbours do its work, in one of two ways:
//!
//! ```text
//!   w ──▶ [transpose] ──▶ t ──▶ matmul      t is elided: the matmul reads w in its place
//!   conv ──▶ y ──▶ [relu] ──▶ z             y is elided: the conv writes z in its place,
//!                                           and reads what else the relu reads
//! ```
//!
//! An elided value has no bytes. Whoever reads it must be able to read through an elided node (or
//! a view) that makes it; an elided value that a running step makes can be read by elided nodes only.

use std::collections::BTreeMap;

use plimsoll::ValueId;

use super::error::{GraphError, NodeFault, ValueFault};
use super::{Aliases, Graph, NodeId};

/// What running nodes do in place of elided ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Folds {
    /// What a node writes in place of elided nodes behind it, and reads for that.
    behind: BTreeMap<NodeId, Behind>,
}

/// The work of elided nodes behind a running one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Behind {
    /// The elided nodes, in the order in which they were found.
    pub(crate) nodes: Vec<NodeId>,
    /// What they write.
    pub(crate) writes: Vec<ValueId>,
    /// What they read beside the elided value.
    pub(crate) reads: Vec<ValueId>,
}

impl Folds {
    /// The folds of a graph, if nobody reads bytes that are not there.
    pub(crate) fn of(graph: &Graph, aliases: &Aliases) -> Result<Self, GraphError> {
        let elided = graph.values.iter().any(|value| value.elided);
        if !elided && !graph.nodes.iter().any(|node| node.elided) {
            return Ok(Folds::default());
        }
        let readers = readers(graph);
        let mut folds = Folds::default();
        for node in graph.node_ids().filter(|node| runs(graph, aliases, *node)) {
            let behind = behind(graph, aliases, &readers, node);
            if !behind.nodes.is_empty() {
                folds.behind.insert(node, behind);
            }
        }
        folds.check_writers(graph, aliases)?;
        check_reads(graph, aliases)?;
        Ok(folds)
    }

    /// What a node does in place of elided nodes behind it.
    pub(crate) fn behind(&self, node: NodeId) -> Option<&Behind> {
        self.behind.get(&node)
    }

    /// Whatever an elided node writes has exactly one writer that runs, or is written in parts by
    /// whoever makes views of it: the inputs of a concat, say.
    fn check_writers(&self, graph: &Graph, aliases: &Aliases) -> Result<(), GraphError> {
        let mut writers = vec![0usize; graph.values.len()];
        let mut in_parts = vec![false; graph.values.len()];
        for node in graph.node_ids().filter(|node| runs(graph, aliases, *node)) {
            let written = |value: &ValueId| aliases.are_written(graph, node, *value);
            for value in graph.node(node).results().filter(written) {
                in_parts[aliases.resolve(value).root.index()] = true;
            }
        }
        for behind in self.behind.values() {
            for value in &behind.writes {
                writers[value.index()] += 1;
            }
        }
        for node in graph.nodes.iter().filter(|node| node.elided) {
            for value in node.results() {
                let has_bytes = !graph.value(value).elided && aliases.view(value).is_none();
                if has_bytes && !in_parts[value.index()] && writers[value.index()] != 1 {
                    let value = graph.value(value).name.clone();
                    return Err(GraphError::node(&node.name, NodeFault::NobodyWrites { value }));
                }
            }
        }
        Ok(())
    }
}

/// What a read of an elided value reads in its place: the inputs of the nodes that would have made
/// it, themselves resolved. The error is the value that was made by a step that runs.
pub(crate) fn read_through(
    graph: &Graph,
    aliases: &Aliases,
    value: ValueId,
) -> Result<Vec<ValueId>, ValueId> {
    let mut sources = Vec::new();
    let mut seen = vec![value];
    let mut stack = vec![value];
    while let Some(value) = stack.pop() {
        if !graph.value(value).elided {
            sources.push(value);
            continue;
        }
        let maker = graph.producer(value).filter(|node| !runs(graph, aliases, *node));
        let maker = maker.ok_or(value)?;
        for read in graph.node(maker).reads().collect::<Vec<_>>().into_iter().rev() {
            if !seen.contains(&read) {
                seen.push(read);
                stack.push(read);
            }
        }
    }
    Ok(sources)
}

/// Whether a node does something in a step of its own.
fn runs(graph: &Graph, aliases: &Aliases, node: NodeId) -> bool {
    !graph.node(node).elided && !aliases.is_pure_view(node)
}

fn readers(graph: &Graph) -> Vec<Vec<NodeId>> {
    let mut readers = vec![Vec::new(); graph.values.len()];
    for node in graph.node_ids() {
        for value in graph.node(node).reads().filter(|value| graph.value(*value).elided) {
            readers[value.index()].push(node);
        }
    }
    readers
}

/// Follows the elided outputs of a running node into the elided nodes that read them.
fn behind(graph: &Graph, aliases: &Aliases, readers: &[Vec<NodeId>], node: NodeId) -> Behind {
    let mut found = Behind::default();
    let elided = |value: &ValueId| graph.value(*value).elided;
    let mut stack: Vec<ValueId> = graph.node(node).results().filter(elided).collect();
    while let Some(value) = stack.pop() {
        for reader in &readers[value.index()] {
            let read = graph.node(*reader);
            if runs(graph, aliases, *reader) {
                // Whether it can read through is for `check_reads` to say.
                continue;
            }
            if found.nodes.contains(reader) {
                continue;
            }
            found.nodes.push(*reader);
            stack.extend(read.results().filter(elided));
            if !read.elided {
                continue; // A view of something elided: neither reads nor writes.
            }
            found.writes.extend(
                read.results().filter(|value| !elided(value) && aliases.view(*value).is_none()),
            );
            found.reads.extend(read.reads().filter(|value| !elided(value)));
        }
    }
    found
}

fn check_reads(graph: &Graph, aliases: &Aliases) -> Result<(), GraphError> {
    for node in graph.node_ids().filter(|node| runs(graph, aliases, *node)) {
        for value in graph.node(node).reads() {
            if let Err(elided) = read_through(graph, aliases, value) {
                let fault = ValueFault::ElidedRead { by: graph.node(node).name.clone() };
                return Err(GraphError::value(&graph.value(elided).name, fault));
            }
        }
    }
    for value in graph.value_ids() {
        let root = aliases.view(value).map(|view| view.of);
        if let Some(root) = root.filter(|root| graph.value(*root).elided) {
            let fault = ValueFault::ElidedRoot { root: graph.value(root).name.clone() };
            return Err(GraphError::value(&graph.value(value).name, fault));
        }
    }
    Ok(())
}
