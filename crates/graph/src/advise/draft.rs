//! A graph that is being rewritten: nodes can be added between others.

use std::collections::HashSet;

use plimsoll::{Execution, ValueId};

use crate::graph::{End, Graph, GraphBuilder, Node, NodeId, Value};

/// A graph in pieces. Ids of values stay what they were; those of nodes change with their places.
pub(super) struct Draft {
    pub(super) values: Vec<Value>,
    /// In order, with the id that each had before, if it was there.
    nodes: Vec<(Option<NodeId>, Node)>,
    outputs: Vec<ValueId>,
    execution: Execution,
    names: HashSet<String>,
}

impl Draft {
    pub(super) fn of(graph: &Graph) -> Self {
        let values = graph.values().iter().map(|value| value.name.clone());
        let nodes = graph.nodes().iter().map(|node| node.name.clone());
        Draft {
            names: values.chain(nodes).collect(),
            values: graph.values().to_vec(),
            nodes: graph.node_ids().map(|id| (Some(id), graph.node(id).clone())).collect(),
            outputs: graph.outputs().to_vec(),
            execution: graph.execution(),
        }
    }

    /// Adds a value like another, with a name made of `name` that nobody has.
    pub(super) fn add_value(&mut self, value: Value, name: &str) -> ValueId {
        let name = self.free_name(name);
        self.values.push(Value { name, ..value });
        ValueId::new(self.values.len() - 1)
    }

    /// Adds a node before place `at`, with a name made of its own that nobody has.
    pub(super) fn insert(&mut self, at: usize, mut node: Node) {
        node.name = self.free_name(&node.name);
        self.nodes.insert(at, (None, node));
    }

    /// Where a node of the graph is now.
    pub(super) fn place_of(&self, node: NodeId) -> Option<usize> {
        self.nodes.iter().position(|(id, _)| *id == Some(node))
    }

    /// Behind the last of these nodes, and of those that were added behind it.
    pub(super) fn end_of(&self, nodes: &[NodeId]) -> Option<usize> {
        let last = nodes.iter().filter_map(|node| self.place_of(*node)).max()?;
        let added = self.nodes[last + 1..].iter().take_while(|(id, _)| id.is_none()).count();
        Some(last + 1 + added)
    }

    pub(super) fn node_mut(&mut self, at: usize) -> &mut Node {
        &mut self.nodes[at].1
    }

    fn free_name(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        while !self.names.insert(name.clone()) {
            name.push('\'');
        }
        name
    }

    /// The graph, if it is one.
    pub(super) fn finish(self) -> Option<Graph> {
        let mut moved = vec![NodeId(0); self.nodes.len()];
        for (at, (id, _)) in self.nodes.iter().enumerate() {
            if let Some(id) = id {
                moved[id.index()] = NodeId::new(at);
            }
        }
        let mut builder = GraphBuilder::new();
        builder.execution(self.execution);
        for value in self.values {
            builder.value(value).ok()?;
        }
        for (_, mut node) in self.nodes {
            node.after.iter_mut().for_each(|other| *other = moved[other.index()]);
            for window in &mut node.windows {
                window.from = window.from.map(|from| moved[from.index()]);
                if let End::After(later) = &mut window.until {
                    *later = moved[later.index()];
                }
            }
            builder.node(node).ok()?;
        }
        for output in self.outputs {
            builder.output(output);
        }
        builder.finish().ok()
    }
}

/// Whether a node says nothing of itself but its op and its operands, so that it can be done again
/// or in parts.
pub(super) fn is_plain(node: &Node) -> bool {
    let Node { also_reads, scratch, overwrites, windows, after, block, elided, .. } = node;
    also_reads.is_empty()
        && overwrites.is_empty()
        && windows.is_empty()
        && after.is_empty()
        && scratch.is_none()
        && block.is_none()
        && !elided
        && node.outputs.len() == 1
}
