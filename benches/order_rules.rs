//! Orders by the three rules that a compiler of training graphs tries one after another, written
//! down from what is published of them; for the benchmark `orders`.

use std::collections::{BTreeSet, VecDeque};

use plimsoll::{Program, Role, Storage, ValueId};
use plimsoll_graph::{Graph, NodeId, ScheduledGraph};

/// The nodes of a graph, and which waits for which.
pub(crate) struct Rules<'g> {
    graph: &'g Graph,
    waits: Vec<usize>,
    behind: Vec<Vec<NodeId>>,
    /// For each node the buffers that it touches.
    touches: Vec<Vec<usize>>,
    bytes: Vec<u64>,
    /// How many nodes touch each buffer; one more where it lives to the end.
    uses: Vec<usize>,
}

impl<'g> Rules<'g> {
    pub(crate) fn of(program: &ScheduledGraph<'g>) -> Self {
        let graph = program.graph();
        let nodes = graph.nodes().len();
        let mut rules = Rules {
            graph,
            waits: vec![0; nodes],
            behind: vec![Vec::new(); nodes],
            touches: vec![Vec::new(); nodes],
            bytes: vec![0; program.values()],
            uses: vec![0; program.values()],
        };
        let root = |mut value: ValueId| {
            while let Some(view) = program.value(value).view_of {
                value = view.of;
            }
            value.index()
        };
        for node in graph.node_ids() {
            let makers: BTreeSet<NodeId> =
                graph.node(node).reads().filter_map(|value| graph.producer(value)).collect();
            rules.waits[node.index()] = makers.len();
            for maker in makers {
                rules.behind[maker.index()].push(node);
            }
            let step = program.step_of(node).expect("nothing is elided");
            let touched: BTreeSet<usize> =
                program.accesses(step).iter().map(|access| root(access.value)).collect();
            for buffer in touched {
                let info = program.value(ValueId::new(buffer));
                if (info.role, info.storage) == (Role::Temporary, Storage::Arena) {
                    rules.bytes[buffer] = info.bytes;
                    rules.uses[buffer] += 1;
                    rules.touches[node.index()].push(buffer);
                }
            }
        }
        for output in graph.outputs() {
            rules.uses[root(*output)] += 1;
        }
        rules
    }

    /// Whatever is ready first runs first.
    pub(crate) fn breadth_first(&self) -> Vec<NodeId> {
        let mut waits = self.waits.clone();
        let ready = |node: &NodeId| waits[node.index()] == 0;
        let mut queue: VecDeque<NodeId> = self.graph.node_ids().filter(ready).collect();
        let mut order = Vec::new();
        while let Some(node) = queue.pop_front() {
            order.push(node);
            queue.extend(self.released(node, &mut waits));
        }
        order
    }

    /// What a node needs runs right before it, from the last nodes on.
    pub(crate) fn depth_first(&self) -> Vec<NodeId> {
        let mut done = vec![false; self.waits.len()];
        let mut order = Vec::new();
        for last in self.graph.node_ids().filter(|node| self.behind[node.index()].is_empty()) {
            let mut stack = vec![(last, false)];
            while let Some((node, opened)) = stack.pop() {
                if done[node.index()] {
                    continue;
                }
                if opened {
                    done[node.index()] = true;
                    order.push(node);
                    continue;
                }
                stack.push((node, true));
                let makers: Vec<NodeId> = self
                    .graph
                    .node(node)
                    .reads()
                    .filter_map(|value| self.graph.producer(value))
                    .collect();
                stack.extend(makers.into_iter().rev().map(|maker| (maker, false)));
            }
        }
        order
    }

    /// Of all that does not lift the peak, what leaves the fewest bytes alive; otherwise what lifts
    /// it least.
    pub(crate) fn lowest_peak_first(&self) -> Vec<NodeId> {
        let mut waits = self.waits.clone();
        let mut left = self.uses.clone();
        let mut ready: BTreeSet<NodeId> =
            self.graph.node_ids().filter(|node| waits[node.index()] == 0).collect();
        let (mut live, mut peak) = (0u64, 0u64);
        let mut order = Vec::new();
        while !ready.is_empty() {
            let cost = |node: &NodeId| {
                let touches = &self.touches[node.index()];
                let sum = |chosen: &dyn Fn(usize) -> bool| -> u64 {
                    touches.iter().filter(|b| chosen(**b)).map(|b| self.bytes[*b]).sum()
                };
                let made = sum(&|buffer| left[buffer] == self.uses[buffer]);
                let freed = sum(&|buffer| left[buffer] == 1);
                (made, freed)
            };
            let key = |node: &NodeId| {
                let (made, freed) = cost(node);
                let above = (live + made).saturating_sub(peak);
                (above, live + made - freed, *node)
            };
            let node = ready.iter().copied().min_by_key(key).expect("some node is ready");
            let (made, freed) = cost(&node);
            peak = peak.max(live + made);
            live = live + made - freed;
            for buffer in &self.touches[node.index()] {
                left[*buffer] -= 1;
            }
            ready.remove(&node);
            order.push(node);
            ready.extend(self.released(node, &mut waits));
        }
        order
    }

    fn released(&self, node: NodeId, waits: &mut [usize]) -> Vec<NodeId> {
        let mut released = Vec::new();
        for behind in &self.behind[node.index()] {
            waits[behind.index()] -= 1;
            if waits[behind.index()] == 0 {
                released.push(*behind);
            }
        }
        released
    }
}
