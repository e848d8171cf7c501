//! A graph with an order: the first implementor of [`Program`].
//!
//! Every node that is not elided takes one step, in the order given. Everything that the trait is
//! asked for is worked out once, here, and handed out by reference:
//!
//! 1. which values are the same bytes ([`Aliases`](crate::graph::Aliases)), with the kernels at hand;
//! 2. how wide the slots of each alias set are, and so how large each value is;
//! 3. what every step reads and writes, through folds, and what it may overwrite.
//!
//! A node that only makes views is a step without accesses.

mod access;
mod size;

use std::borrow::Cow;
use std::collections::BTreeMap;

use access::Steps;
use plimsoll::{
    Access, Execution, Labels, Overwrite, Program, Scratch, StepId, ValueId, ValueInfo, ValueLabel,
    View,
};
use plimsoll_pack::dense::CompressedRows;
use size::Sizes;
use thiserror::Error;

use crate::graph::{
    Aliases, Graph, GraphError, Kernels, NodeId, OrderError, Resolved, Value, check_order,
    copies_parts, waits_of,
};
use crate::width::Width;

/// What is not in the graph: how the runtime holds values, and what its kernels can do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoweringOptions {
    /// How wide the slots of elements are.
    pub width: Width,
    /// Sizes in bytes, by name of the value, which count for more than type and shape.
    pub sizes: BTreeMap<String, u64>,
    /// What the kernels can do.
    pub kernels: Kernels,
}

/// Why a graph cannot become a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LoweringError {
    /// Values whose size is not known: each has to be given.
    #[error("sizes are not known and have to be given: {}", .0.join(", "))]
    UnknownSizes(Vec<String>),
    /// Sizes that were given for values that are not there.
    #[error("sizes are given for values that are not there: {}", .0.join(", "))]
    NoSuchValues(Vec<String>),
    /// A size that does not fit 64 bits.
    #[error("value `{value}`: its size does not fit 64 bits")]
    TooLarge {
        /// Of which value.
        value: String,
    },
    /// A view that ends behind the end of what it is a view of, with the sizes that were given.
    #[error("value `{value}`: a view up to byte {end} of `{root}`, which has {bytes}")]
    ViewOutside {
        /// The view.
        value: String,
        /// Where it ends.
        end: u64,
        /// What it is a view of.
        root: String,
        /// How large that is.
        bytes: u64,
    },
    /// An access that begins after its step or is over before it, in this order.
    #[error(
        "node `{node}`: its access to `{value}` begins or ends with `{other}`, which is on the \
         wrong side of it in this order"
    )]
    Window {
        /// The node.
        node: String,
        /// The value.
        value: String,
        /// The node with which the access begins or is over.
        other: String,
    },
    /// The order is not one in which the nodes can run.
    #[error(transparent)]
    Order(#[from] OrderError),
    /// With these kernels, somebody would read bytes that are not there.
    #[error(transparent)]
    Graph(#[from] GraphError),
}

/// A graph with an order of its nodes.
#[derive(Clone, Debug)]
pub struct ScheduledGraph<'g> {
    graph: &'g Graph,
    aliases: Aliases,
    /// The steps that data come from, by step.
    flows: CompressedRows<StepId>,
    order: Vec<NodeId>,
    steps_of: Vec<Option<StepId>>,
    infos: Vec<ValueInfo>,
    steps: Steps,
}

impl<'g> ScheduledGraph<'g> {
    /// The graph in its own order, as far as that is possible.
    pub fn new(graph: &'g Graph, options: &LoweringOptions) -> Result<Self, LoweringError> {
        let resolved = Resolved::of(graph, &options.kernels)?;
        ScheduledGraph::of(graph, resolved, options)
    }

    /// The same with what follows from the graph and these kernels.
    pub(crate) fn of(
        graph: &'g Graph,
        resolved: Resolved,
        options: &LoweringOptions,
    ) -> Result<Self, LoweringError> {
        let runs = |node: &NodeId| !graph.node(*node).elided;
        let order = if options.kernels.all_view() {
            resolved.order.iter().copied().filter(runs).collect()
        } else {
            check_order(graph, &resolved.flow, &resolved.order)?
        };
        ScheduledGraph::lowered(graph, resolved, order, options)
    }

    /// The graph in an order given by the caller, in which elided nodes may be left out.
    pub fn with_order(
        graph: &'g Graph,
        order: &[NodeId],
        options: &LoweringOptions,
    ) -> Result<Self, LoweringError> {
        let resolved = Resolved::of(graph, &options.kernels)?;
        let order = check_order(graph, &resolved.flow, order)?;
        ScheduledGraph::lowered(graph, resolved, order, options)
    }

    /// The graph in a valid order, without the nodes that are elided.
    fn lowered(
        graph: &'g Graph,
        Resolved { aliases, folds, flow, .. }: Resolved,
        order: Vec<NodeId>,
        options: &LoweringOptions,
    ) -> Result<Self, LoweringError> {
        let mut steps_of = vec![None; graph.nodes().len()];
        for (position, node) in order.iter().enumerate() {
            steps_of[node.index()] = Some(StepId::new(position));
        }
        let mut flows = CompressedRows::new();
        for node in &order {
            let before = waits_of(graph, &flow, *node).into_iter();
            flows.push(before.filter_map(|node| steps_of[node.index()]));
        }
        drop(flow);
        let sizes = Sizes::of(graph, &aliases, options)?;
        let infos = infos(graph, &aliases, &sizes);
        let lowering = access::Lowering {
            graph,
            aliases: &aliases,
            folds: &folds,
            sizes: &sizes,
            overwriting: options.kernels.overwriting(graph),
            steps_of: &steps_of,
        };
        let steps = lowering.steps(&order)?;
        Ok(ScheduledGraph { graph, aliases, flows, order, steps_of, infos, steps })
    }

    /// The graph.
    #[must_use]
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Which values are the same bytes. Offsets are at the native width; those of
    /// [`Program::value`] are at the width of slots.
    #[must_use]
    pub fn aliases(&self) -> &Aliases {
        &self.aliases
    }

    /// The value of that name.
    #[must_use]
    pub fn value_by_name(&self, name: &str) -> Option<ValueId> {
        self.graph.value_by_name(name)
    }

    /// The node of a step.
    #[must_use]
    pub fn node_of(&self, step: StepId) -> NodeId {
        self.order[step.index()]
    }

    /// The step of a node, unless it is elided.
    #[must_use]
    pub fn step_of(&self, node: NodeId) -> Option<StepId> {
        self.steps_of[node.index()]
    }

    /// What the graph knows of its steps and values that a program does not: ops, types, shapes.
    #[must_use]
    pub fn labels(&self, title: impl Into<String>) -> Labels {
        let op = |node: &NodeId| self.graph.node(*node).kind.clone();
        let value = |value: ValueId| {
            let Value { dtype, shape, .. } = self.graph.value(value);
            let producer = self.graph.producer(value);
            ValueLabel {
                dtype: dtype.to_string(),
                shape: shape.to_string(),
                op: producer.map_or(String::new(), |node| self.graph.node(node).kind.clone()),
                made_by: producer.and_then(|node| self.step_of(node)),
            }
        };
        Labels {
            title: title.into(),
            ops: self.order.iter().map(op).collect(),
            places: Vec::new(),
            values: self.graph.value_ids().map(value).collect(),
        }
    }
}

fn infos(graph: &Graph, aliases: &Aliases, sizes: &Sizes) -> Vec<ValueInfo> {
    let info = |id: ValueId| {
        let value = graph.value(id);
        let view_of = aliases.view(id).map(|view| View { of: view.of, ..sizes.view(id, view) });
        ValueInfo {
            bytes: if value.elided { 0 } else { sizes.bytes(id) },
            align: value.align,
            guard: value.guard,
            role: value.role,
            storage: value.storage,
            view_of,
            output: false,
            elided: value.elided,
            donated: value.donated,
        }
    };
    let mut infos: Vec<ValueInfo> = graph.value_ids().map(info).collect();
    for output in graph.outputs() {
        infos[output.index()].output = true;
    }
    infos
}

impl Program for ScheduledGraph<'_> {
    fn steps(&self) -> usize {
        self.order.len()
    }

    fn values(&self) -> usize {
        self.infos.len()
    }

    fn value(&self, value: ValueId) -> ValueInfo {
        self.infos[value.index()]
    }

    fn accesses(&self, step: StepId) -> Cow<'_, [Access]> {
        Cow::Borrowed(self.steps.accesses.row(step.index()))
    }

    fn overwrites(&self, step: StepId) -> Cow<'_, [Overwrite]> {
        Cow::Borrowed(self.steps.overwrites.row(step.index()))
    }

    fn scratch(&self, step: StepId) -> Option<Scratch> {
        self.graph.node(self.node_of(step)).scratch
    }

    fn execution(&self) -> Execution {
        self.graph.execution()
    }

    fn queue(&self, step: StepId) -> u32 {
        self.graph.node(self.node_of(step)).queue
    }

    fn after(&self, step: StepId) -> Cow<'_, [StepId]> {
        Cow::Borrowed(self.steps.after.row(step.index()))
    }

    fn flows_from(&self, step: StepId) -> Cow<'_, [StepId]> {
        Cow::Borrowed(self.flows.row(step.index()))
    }

    fn block(&self, step: StepId) -> Option<u32> {
        self.graph.node(self.node_of(step)).block
    }

    fn only_moves(&self, step: StepId) -> bool {
        copies_parts(self.graph.node(self.node_of(step)))
    }

    fn is_limit(&self, value: ValueId) -> bool {
        let value = self.graph.value(value);
        value.bytes.is_none() && value.shape.known().is_none() && value.shape.limit().is_some()
    }

    fn value_name(&self, value: ValueId) -> Cow<'_, str> {
        Cow::Borrowed(&self.graph.value(value).name)
    }

    fn step_name(&self, step: StepId) -> Cow<'_, str> {
        Cow::Borrowed(&self.graph.node(self.node_of(step)).name)
    }
}

#[cfg(test)]
mod tests;
