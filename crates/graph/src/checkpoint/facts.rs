//! What of a graph waits for what, by the storage that values are views of.

use plimsoll::{Execution, Role, Storage, ValueId};

use crate::effect::{Recompute, traits};
use crate::graph::{Aliases, Graph, Kernels, Node, NodeId, topological_order};

/// A graph in its own order, and what is known of its storage. Arrays are by value, or by the index of a root.
#[derive(Clone)]
pub(super) struct Facts<'g> {
    pub(super) graph: &'g Graph,
    pub(super) order: Vec<NodeId>,
    /// By node, its position in the order.
    pub(super) position: Vec<usize>,
    pub(super) aliases: Aliases,
    /// By value; 0 for views.
    pub(super) bytes: Vec<u64>,
    /// By value, whether it has to be there because nobody can make it again, or would not.
    pub(super) is_fixed: Vec<bool>,
    /// The same without what is only dear.
    is_unrepeatable: Vec<bool>,
    /// The position of the first node of the second half.
    pub(super) turn: usize,
    /// By root, the last position before the turn that reads or makes it.
    pub(super) last_early: Vec<usize>,
    /// By root, whether somebody reads it behind the turn.
    pub(super) is_late: Vec<bool>,
    pub(super) written_bytes: u64,
}

impl<'g> Facts<'g> {
    /// What is known of a graph; `None` if it says more of its nodes than their order, or a size is not known.
    pub(super) fn new(
        graph: &'g Graph,
        kernels: &Kernels,
        is_repeatable: &dyn Fn(&Node) -> bool,
    ) -> Option<Self> {
        let is_plain = |node: &Node| {
            node.windows.is_empty() && node.after.is_empty() && node.block.is_none() && !node.elided
        };
        if graph.execution() != Execution::InOrder || !graph.nodes().iter().all(is_plain) {
            return None;
        }
        let aliases = graph.aliases(kernels);
        let order = topological_order(graph);
        let mut position = vec![0; order.len()];
        order.iter().enumerate().for_each(|(at, node)| position[node.index()] = at);
        let bytes: Option<Vec<u64>> = graph
            .value_ids()
            .map(|value| match aliases.view(value) {
                Some(_) => Some(0),
                None => graph.value(value).native_size().known(),
            })
            .collect();
        let bytes = bytes?;
        let is_unrepeatable = unrepeatable(graph, &aliases, is_repeatable);
        let made = |value: &ValueId| graph.producer(*value).is_some();
        let written_bytes = graph.value_ids().filter(made).map(|value| bytes[value.index()]).sum();
        let (last_early, is_late) = (vec![0; bytes.len()], vec![false; bytes.len()]);
        let is_fixed = is_unrepeatable.clone();
        let mut facts = Facts {
            graph,
            order,
            position,
            aliases,
            bytes,
            is_fixed,
            is_unrepeatable,
            turn: 0,
            last_early,
            is_late,
            written_bytes,
        };
        facts.turn = facts.find_turn();
        facts.find_readers();
        Some(facts)
    }

    /// The same where what adds up products, and the like, is kept.
    pub(super) fn keeping(&self, dear: bool) -> Self {
        let mut facts = self.clone();
        facts.is_fixed.clone_from(&self.is_unrepeatable);
        for value in self.graph.value_ids().filter(|_| dear) {
            let maker = self.graph.producer(value).map(|node| self.graph.node(node));
            let is_view = self.aliases.view(value).is_some();
            facts.is_fixed[value.index()] |= maker.is_some_and(|node| !is_view && is_dear(node));
        }
        facts
    }

    pub(super) fn root(&self, value: ValueId) -> ValueId {
        self.aliases.resolve(value).root
    }

    /// Where a root is made; `None` for what is given.
    pub(super) fn made(&self, root: ValueId) -> Option<usize> {
        self.graph.producer(root).map(|node| self.position[node.index()])
    }

    /// The bytes that wait for the second half, and could be computed again.
    pub(super) fn waiting_bytes(&self) -> u64 {
        let waits = |value: &ValueId| {
            self.is_late[value.index()]
                && !self.is_fixed[value.index()]
                && self.made(*value).is_some_and(|made| made < self.turn)
        };
        self.graph.value_ids().filter(waits).map(|value| self.bytes[value.index()]).sum()
    }

    /// Where most bytes are there that live long.
    fn find_turn(&self) -> usize {
        let n = self.order.len();
        let mut last = vec![0; self.bytes.len()];
        for (at, node) in self.order.iter().enumerate() {
            for read in self.graph.node(*node).reads() {
                last[self.root(read).index()] = at;
            }
        }
        let mut change = vec![0i128; n + 2];
        for value in self.graph.value_ids() {
            let Some(made) = self.made(value) else { continue };
            let (bytes, end) = (i128::from(self.bytes[value.index()]), last[value.index()]);
            if end > made + n / 16 {
                change[made + 1] += bytes;
                change[end + 1] -= bytes;
            }
        }
        let (mut alive, mut most, mut turn) = (0, 0, 0);
        for (at, change) in change.iter().enumerate().take(n) {
            alive += change;
            if alive > most {
                (most, turn) = (alive, at);
            }
        }
        turn
    }

    fn find_readers(&mut self) {
        for value in self.graph.value_ids() {
            if let Some(made) = self.made(value) {
                let root = self.root(value).index();
                self.last_early[root] = self.last_early[root].max(made.min(self.turn));
            }
        }
        for (at, node) in self.order.iter().enumerate() {
            for read in self.graph.node(*node).reads() {
                let root = self.root(read).index();
                if at < self.turn {
                    self.last_early[root] = self.last_early[root].max(at);
                } else {
                    self.is_late[root] = true;
                }
            }
        }
    }
}

/// By value, whether it cannot be computed again: what is given, handed out, has a place of its own, is written over,
/// or made by a node that may make something else the next time. A root is if one of its views is.
fn unrepeatable(
    graph: &Graph,
    aliases: &Aliases,
    is_repeatable: &dyn Fn(&Node) -> bool,
) -> Vec<bool> {
    let mut fixed: Vec<bool> = graph
        .value_ids()
        .map(|id| {
            let value = graph.value(id);
            let node = graph.producer(id).map(|node| graph.node(node));
            let is_plain = (value.role, value.storage) == (Role::Temporary, Storage::Arena);
            let can = |node: &Node| {
                node.overwrites.is_empty() && node.also_reads.is_empty() && is_repeatable(node)
            };
            !is_plain || !node.is_some_and(can)
        })
        .collect();
    let overwritten = graph.nodes().iter().flat_map(|node| &node.overwrites);
    let overwritten = overwritten.map(|overwrite| overwrite.input);
    for value in overwritten.chain(graph.outputs().iter().copied()) {
        fixed[value.index()] = true;
    }
    for value in graph.value_ids() {
        let is_fixed = fixed[value.index()];
        fixed[aliases.resolve(value).root.index()] |= is_fixed;
    }
    fixed
}

/// Whether a node does more than go over its elements.
fn is_dear(node: &Node) -> bool {
    match traits(&node.op).recompute {
        Recompute::Never => true,
        Recompute::Cheap => false,
        Recompute::CheapIfUnary => node.inputs.len() != 1,
    }
}
