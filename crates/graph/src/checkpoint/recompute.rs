//! A graph in which what segments do not keep is computed again.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use plimsoll::{ValueId, View};

use super::facts::Facts;
use super::{Checkpointed, Recomputed};
use crate::graph::{GraphBuilder, Node, NodeId, Value};

/// The graph with segments between these cuts, the last of which is kept; `None` if nothing is computed again.
pub(super) fn recomputed(facts: &Facts<'_>, cuts: &[usize]) -> Option<Checkpointed> {
    let mut again = Again::new(facts, cuts);
    for (at, node) in facts.order.iter().enumerate() {
        let mut copy = facts.graph.node(*node).clone();
        if at >= facts.turn {
            for input in copy.inputs.iter_mut().flatten() {
                *input = again.instead(*input, *node);
            }
            again.move_views(&copy);
        }
        again.nodes.push(copy);
    }
    if again.recomputed.is_empty() {
        return None;
    }
    let Again { nodes, values, recomputed, more_bytes, .. } = again;
    let mut builder = GraphBuilder::new();
    builder.execution(facts.graph.execution());
    for value in values {
        builder.value(value).ok()?;
    }
    for node in nodes {
        builder.node(node).ok()?;
    }
    facts.graph.outputs().iter().for_each(|output| builder.output(*output));
    let written_bytes = facts.written_bytes + more_bytes;
    Some(Checkpointed { graph: builder.finish().ok()?, recomputed, written_bytes, arena_bytes: 0 })
}

struct Again<'f, 'g> {
    facts: &'f Facts<'g>,
    /// By value, whether its storage goes when the first half is over.
    is_dropped: Vec<bool>,
    /// What stands for a value in the second half.
    copies: BTreeMap<ValueId, ValueId>,
    values: Vec<Value>,
    nodes: Vec<Node>,
    names: HashSet<String>,
    recomputed: Vec<Recomputed>,
    more_bytes: u64,
}

impl<'f, 'g> Again<'f, 'g> {
    fn new(facts: &'f Facts<'g>, cuts: &[usize]) -> Self {
        let graph = facts.graph;
        let values = graph.values().iter().map(|value| value.name.clone());
        let names = values.chain(graph.nodes().iter().map(|node| node.name.clone()));
        let last = cuts.len().saturating_sub(2);
        let segment = |at: usize| cuts[1..].partition_point(|cut| *cut <= at);
        let is_dropped = |value: ValueId| {
            let root = facts.root(value);
            let is_early = facts.made(value).is_some_and(|made| made < facts.turn);
            let Some(made) = facts.made(root).filter(|_| is_early) else { return false };
            let crosses = segment(facts.last_early[root.index()]) != segment(made);
            !facts.is_fixed[root.index()] && !crosses && segment(made) < last
        };
        Again {
            is_dropped: graph.value_ids().map(is_dropped).collect(),
            copies: BTreeMap::new(),
            values: graph.values().to_vec(),
            nodes: Vec::new(),
            names: names.collect(),
            recomputed: Vec::new(),
            more_bytes: 0,
            facts,
        }
    }

    /// What a node of the second half reads in place of a value; it is computed again first if it has to be.
    fn instead(&mut self, value: ValueId, reader: NodeId) -> ValueId {
        if !self.is_dropped[value.index()] {
            return value;
        }
        if let Some(copy) = self.copies.get(&value) {
            return *copy;
        }
        let (needed, nodes) = self.needed(value);
        for (_, node) in nodes {
            self.compute(node, &needed);
            self.recomputed.push(Recomputed { node, before: reader });
        }
        self.copies.get(&value).copied().unwrap_or(value)
    }

    /// What a node of the second half makes as a view of something is a view of what stands for that.
    fn move_views(&mut self, node: &Node) {
        for made in node.outputs.iter().flatten() {
            if let Some(view) = &mut self.values[made.index()].view
                && let Some(copy) = self.copies.get(&view.of)
            {
                view.of = *copy;
            }
        }
    }

    /// All values that one is made of and that are not there, and the nodes that make them, in order.
    fn needed(&self, value: ValueId) -> (BTreeSet<ValueId>, BTreeSet<(usize, NodeId)>) {
        let (mut needed, mut nodes, mut open) = (BTreeSet::new(), BTreeSet::new(), vec![value]);
        while let Some(value) = open.pop() {
            let is_there = !self.is_dropped[value.index()] || self.copies.contains_key(&value);
            if is_there || !needed.insert(value) {
                continue;
            }
            if let Some(node) = self.facts.graph.producer(value) {
                nodes.insert((self.facts.position[node.index()], node));
                open.extend(self.facts.graph.node(node).reads());
            }
        }
        (needed, nodes)
    }

    fn compute(&mut self, node: NodeId, needed: &BTreeSet<ValueId>) {
        let source = self.facts.graph.node(node);
        let copy_of = |copies: &BTreeMap<ValueId, ValueId>, value: ValueId| {
            copies.get(&value).copied().unwrap_or(value)
        };
        let inputs =
            source.inputs.iter().map(|input| input.map(|input| copy_of(&self.copies, input)));
        let inputs = inputs.collect();
        let mut outputs = Vec::with_capacity(source.outputs.len());
        for output in &source.outputs {
            let wanted = output.filter(|output| needed.contains(output));
            outputs.push(wanted.map(|output| {
                let mut value = self.facts.graph.value(output).clone();
                value.name = self.fresh(&value.name);
                value.view =
                    value.view.map(|view| View { of: copy_of(&self.copies, view.of), ..view });
                self.values.push(value);
                let copy = ValueId::new(self.values.len() - 1);
                self.copies.insert(output, copy);
                self.more_bytes += self.facts.bytes[output.index()];
                copy
            }));
        }
        let name = self.fresh(&source.name);
        self.nodes.push(Node { name, inputs, outputs, ..source.clone() });
    }

    fn fresh(&mut self, name: &str) -> String {
        let mut name = format!("{name} again");
        while !self.names.insert(name.clone()) {
            name.push('\'');
        }
        name
    }
}
