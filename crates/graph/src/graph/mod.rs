//! Our own graph: values, nodes, and what is declared of their memory.
//!
//! A [`Graph`] is made by a [`GraphBuilder`], which checks it; from then on it can be relied upon:
//! every value has one writer or comes from outside, views lie within what they are views of, and
//! nodes do not wait for each other in circles. Nodes may come in any order. Sizes may be unknown
//! still: whoever plans has to be told them.

mod alias;
mod builder;
mod check;
mod error;
mod flow;
mod fold;
mod kernels;
mod name_index;
mod node;
mod order;
mod parts;
mod resolved;
mod value;

use std::sync::Arc;

pub use alias::{Alias, Aliases};
pub use builder::GraphBuilder;
pub use error::{GraphError, NodeFault, ValueFault};
pub(crate) use flow::{Flow, cycle_error};
pub(crate) use fold::{Folds, read_through};
pub use kernels::{BadSelector, Kernels, Preset, Selector, no_reuse, selected_nodes};
use name_index::NameIndex;
pub use node::{End, Node, NodeId, Window};
pub use order::{OrderError, order_by_names, topological_order};
pub(crate) use order::{check_order, order_of, waits_of};
pub(crate) use parts::{Part, Parts, can_be_left, copied, copies_parts, is_bare, is_concat, parts};
use plimsoll::{Execution, Scratch, ValueId, View};
pub(crate) use resolved::Resolved;
pub use value::{Bytes, Value};

use crate::effect::{Effect, NodeOperands, Operand, ViewEffect, effect, known_views};

/// A checked graph. A copy shares values and nodes until one of the two is changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Graph {
    values: Arc<Vec<Value>>,
    nodes: Arc<Vec<Node>>,
    outputs: Vec<ValueId>,
    execution: Execution,
    names: Arc<NameIndex>,
    producers: Vec<Option<NodeId>>,
}

impl Graph {
    /// The values, by [`ValueId`].
    #[must_use]
    pub fn values(&self) -> &[Value] {
        &self.values
    }

    /// The nodes, by [`NodeId`].
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// What must be there when a run is over.
    #[must_use]
    pub fn outputs(&self) -> &[ValueId] {
        &self.outputs
    }

    /// In which order nodes run.
    #[must_use]
    pub fn execution(&self) -> Execution {
        self.execution
    }

    /// One value.
    #[must_use]
    pub fn value(&self, value: ValueId) -> &Value {
        &self.values[value.index()]
    }

    /// One node.
    #[must_use]
    pub fn node(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    /// The ids of all values.
    pub fn value_ids(&self) -> impl Iterator<Item = ValueId> + use<> {
        (0..self.values.len()).map(ValueId::new)
    }

    /// The ids of all nodes.
    pub fn node_ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len()).map(NodeId::new)
    }

    /// The value of that name.
    #[must_use]
    pub fn value_by_name(&self, name: &str) -> Option<ValueId> {
        self.names.find(name, |at| &self.values[at].name).map(ValueId::new)
    }

    /// The node of that name, found in linear time.
    #[must_use]
    pub fn node_by_name(&self, name: &str) -> Option<NodeId> {
        self.nodes.iter().position(|node| node.name == name).map(NodeId::new)
    }

    /// The node that makes a value.
    #[must_use]
    pub fn producer(&self, value: ValueId) -> Option<NodeId> {
        self.producers[value.index()]
    }

    /// The remarks on a node, to be changed. They mean nothing to the planner.
    pub fn notes_mut(&mut self, node: NodeId) -> &mut std::collections::BTreeMap<String, String> {
        &mut Arc::make_mut(&mut self.nodes)[node.index()].notes
    }

    /// Says how much memory a node needs while it runs, once its kernel is chosen.
    ///
    /// # Panics
    /// If the scratch is aligned to 0.
    pub fn set_scratch(&mut self, node: NodeId, scratch: Option<Scratch>) {
        assert!(scratch.is_none_or(|scratch| scratch.align > 0), "aligned to something");
        Arc::make_mut(&mut self.nodes)[node.index()].scratch = scratch;
    }

    /// What is known to be the same bytes, with kernels that can do that.
    ///
    /// # Panics
    /// Never: views of a checked graph do not go in circles.
    #[must_use]
    pub fn aliases(&self, kernels: &Kernels) -> Aliases {
        Aliases::of(self, kernels).expect("views of a checked graph do not go in circles")
    }

    /// Whether a node does nothing at all with these kernels: every output is a view of an input.
    #[must_use]
    pub fn is_pure_view(&self, node: NodeId, kernels: &Kernels) -> bool {
        alias::views_of_node(self, node, kernels).1
    }

    /// What the op of a node does to memory, with slots as wide as `slot_bits` says.
    pub fn effect(&self, node: NodeId, slot_bits: impl Fn(ValueId) -> u64) -> Effect {
        let (inputs, outputs) = self.operands_as(node, slot_bits);
        effect(&self.node(node).op, &inputs, &outputs)
    }

    /// The inputs and the outputs of a node as the table of effects sees them, at the native width.
    #[must_use]
    pub fn operands(&self, node: NodeId) -> NodeOperands<'_> {
        self.operands_as(node, |value| self.value(value).dtype.bits())
    }

    fn operands_as(&self, node: NodeId, slot_bits: impl Fn(ValueId) -> u64) -> NodeOperands<'_> {
        let operand = |value: &Option<ValueId>| {
            value.map(|value| {
                let Value { dtype, shape, .. } = self.value(value);
                Operand { dtype: *dtype, shape, slot_bits: slot_bits(value) }
            })
        };
        let Node { inputs, outputs, .. } = self.node(node);
        (inputs.iter().map(operand).collect(), outputs.iter().map(operand).collect())
    }

    /// The same graph with these views declared, by value, these nodes elided, by node, and these values
    /// copied; and what follows from it where all kernels make views.
    pub(crate) fn sharing(
        &self,
        views: &[Option<View>],
        elided: &[bool],
        copied: &[ValueId],
    ) -> Result<(Graph, Resolved), GraphError> {
        let mut graph = self.clone();
        let values = Arc::make_mut(&mut graph.values);
        for (value, view) in values.iter_mut().zip(views) {
            value.view = *view;
        }
        for value in copied {
            values[value.index()].copied = true;
        }
        for (node, elided) in Arc::make_mut(&mut graph.nodes).iter_mut().zip(elided) {
            node.elided = *elided;
        }
        let resolved = check::check_sharing(&graph)?;
        Ok((graph, resolved))
    }

    /// The views that the op of a node makes, at the native width.
    pub(crate) fn native_views(&self, node: NodeId) -> Vec<ViewEffect> {
        let (inputs, outputs) = self.operands(node);
        known_views(&self.node(node).op, &inputs, &outputs)
    }

    /// The same at the native width.
    #[must_use]
    pub fn native_effect(&self, node: NodeId) -> Effect {
        let (inputs, outputs) = self.operands(node);
        effect(&self.node(node).op, &inputs, &outputs)
    }

    /// Whether the op of a node may put an output over an input even where other operands are the
    /// same value: it reads all of them element by element, together.
    pub(crate) fn goes_together(&self, id: NodeId, output: ValueId, input: ValueId) -> bool {
        let (node, effect) = (self.node(id), self.native_effect(id));
        let may = |(to, from): &(usize, usize)| {
            (node.outputs[*to], node.inputs[*from]) == (Some(output), Some(input))
        };
        !effect.scatters && effect.overwrites.iter().any(may)
    }
}

#[cfg(test)]
mod tests;
