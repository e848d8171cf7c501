//! The way to make a graph: values first, then nodes on them, and a check of the whole at the end.

use std::sync::Arc;

use plimsoll::{Execution, Role, Storage, ValueId};

use super::check::check;
use super::error::{GraphError, NodeFault, ValueFault};
use super::name_index::NameIndex;
use super::{Graph, Node, NodeId, Value};
use crate::dtype::Dtype;
use crate::op::Op;
use crate::shape::Shape;

/// A graph that is being made.
///
/// ```
/// use plimsoll_graph::{Dtype, GraphBuilder, Op};
///
/// let mut graph = GraphBuilder::new();
/// let x = graph.input("x", Dtype::F32, [16])?;
/// let y = graph.op("y", Op::Unary, &[x], Dtype::F32, [16])?;
/// graph.output(y);
/// let graph = graph.finish()?;
/// assert_eq!(graph.nodes().len(), 1);
/// # Ok::<(), plimsoll_graph::GraphError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GraphBuilder {
    values: Vec<Value>,
    nodes: Vec<Node>,
    outputs: Vec<ValueId>,
    execution: Execution,
    value_names: NameIndex,
    node_names: NameIndex,
}

impl Default for GraphBuilder {
    fn default() -> Self {
        GraphBuilder {
            values: Vec::new(),
            nodes: Vec::new(),
            outputs: Vec::new(),
            execution: Execution::InOrder,
            value_names: NameIndex::default(),
            node_names: NameIndex::default(),
        }
    }
}

impl From<&Graph> for GraphBuilder {
    /// The same graph again, to declare more of it. Ids are as before.
    fn from(graph: &Graph) -> Self {
        GraphBuilder {
            values: graph.values.to_vec(),
            nodes: graph.nodes.to_vec(),
            outputs: graph.outputs.clone(),
            execution: graph.execution,
            value_names: NameIndex::clone(&graph.names),
            node_names: node_names(&graph.nodes),
        }
    }
}

impl GraphBuilder {
    /// An empty graph, which executes in order.
    #[must_use]
    pub fn new() -> Self {
        GraphBuilder::default()
    }

    /// Says in which order nodes run.
    pub fn execution(&mut self, execution: Execution) {
        self.execution = execution;
    }

    /// Adds a value.
    pub fn value(&mut self, value: Value) -> Result<ValueId, GraphError> {
        if value.name.is_empty() {
            return Err(GraphError::value("", ValueFault::NoName));
        }
        let id = ValueId::new(self.values.len());
        if !self.value_names.insert(id.index(), &value.name, |at| &self.values[at].name) {
            return Err(GraphError::value(&value.name, ValueFault::Duplicate));
        }
        self.values.push(value);
        Ok(id)
    }

    /// Adds what the caller fills before every run.
    pub fn input(
        &mut self,
        name: &str,
        dtype: Dtype,
        shape: impl Into<Shape>,
    ) -> Result<ValueId, GraphError> {
        self.value(Value::new(name, dtype, shape).with_role(Role::Input))
    }

    /// Adds a weight.
    pub fn param(
        &mut self,
        name: &str,
        dtype: Dtype,
        shape: impl Into<Shape>,
    ) -> Result<ValueId, GraphError> {
        self.value(Value::new(name, dtype, shape).with_role(Role::Param))
    }

    /// Adds a constant of the program.
    pub fn constant(
        &mut self,
        name: &str,
        dtype: Dtype,
        shape: impl Into<Shape>,
    ) -> Result<ValueId, GraphError> {
        self.value(Value::new(name, dtype, shape).with_role(Role::Constant))
    }

    /// Adds what survives from run to run.
    pub fn state(
        &mut self,
        name: &str,
        dtype: Dtype,
        shape: impl Into<Shape>,
    ) -> Result<ValueId, GraphError> {
        self.value(Value::new(name, dtype, shape).with_storage(Storage::Persistent))
    }

    /// Adds a value and the node of the same name that makes it.
    pub fn op(
        &mut self,
        name: &str,
        op: Op,
        inputs: &[ValueId],
        dtype: Dtype,
        shape: impl Into<Shape>,
    ) -> Result<ValueId, GraphError> {
        let value = self.value(Value::new(name, dtype, shape))?;
        self.node(Node::new(name, op, inputs, &[value]))?;
        Ok(value)
    }

    /// Adds a node.
    pub fn node(&mut self, node: Node) -> Result<NodeId, GraphError> {
        if node.name.is_empty() {
            return Err(GraphError::node("", NodeFault::NoName));
        }
        if !self.node_names.insert(self.nodes.len(), &node.name, |at| &self.nodes[at].name) {
            return Err(GraphError::node(&node.name, NodeFault::Duplicate));
        }
        self.nodes.push(node);
        Ok(NodeId::new(self.nodes.len() - 1))
    }

    /// A value that was added, to declare more of it.
    ///
    /// # Panics
    /// If it was not added here.
    pub fn value_mut(&mut self, value: ValueId) -> &mut Value {
        &mut self.values[value.index()]
    }

    /// A node that was added, to declare more of it.
    ///
    /// # Panics
    /// If it was not added here.
    pub fn node_mut(&mut self, node: NodeId) -> &mut Node {
        &mut self.nodes[node.index()]
    }

    /// Says that a value must be there when a run is over.
    pub fn output(&mut self, value: ValueId) {
        self.outputs.push(value);
    }

    /// The operands of these names; an empty name is an optional operand that is absent.
    pub fn operands<S: AsRef<str>>(
        &self,
        node: &str,
        names: &[S],
    ) -> Result<Vec<Option<ValueId>>, GraphError> {
        let find = |name: &S| match name.as_ref() {
            "" => Ok(None),
            name => self.value_by_name(name).map(Some).ok_or_else(|| {
                GraphError::node(node, NodeFault::UnknownValue { what: name.to_owned() })
            }),
        };
        names.iter().map(find).collect()
    }

    /// The value of that name.
    #[must_use]
    pub fn value_by_name(&self, name: &str) -> Option<ValueId> {
        self.value_names.find(name, |at| &self.values[at].name).map(ValueId::new)
    }

    /// Checks the graph.
    pub fn finish(mut self) -> Result<Graph, GraphError> {
        self.values.shrink_to_fit();
        self.nodes.shrink_to_fit();
        let mut names = self.value_names;
        let name = |at: usize| self.values[at].name.as_str();
        // A name may have been changed since the value was added.
        if (0..self.values.len()).any(|at| names.find(name(at), name) != Some(at)) {
            names = renamed(&self.values)?;
        }
        let producers = vec![None; self.values.len()];
        let graph = Graph {
            values: Arc::new(self.values),
            nodes: Arc::new(self.nodes),
            outputs: self.outputs,
            execution: self.execution,
            names: Arc::new(names),
            producers,
        };
        check(graph)
    }
}

fn node_names(nodes: &[Node]) -> NameIndex {
    let mut names = NameIndex::default();
    for (index, node) in nodes.iter().enumerate() {
        names.insert(index, &node.name, |at| &nodes[at].name);
    }
    names
}

fn renamed(values: &[Value]) -> Result<NameIndex, GraphError> {
    let mut names = NameIndex::default();
    for (index, value) in values.iter().enumerate() {
        if !names.insert(index, &value.name, |at| &values[at].name) {
            return Err(GraphError::value(&value.name, ValueFault::Duplicate));
        }
    }
    Ok(names)
}
