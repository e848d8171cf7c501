//! A model whose shapes are known, as a graph.
//!
//! - What depends on nothing but stored tensors is *static*: computed once, when the model is
//!   loaded. Its nodes take no step. What of it is read in a run comes from outside.
//! - Nodes are in an order in which they can run, so that those of a body are side by side whatever
//!   order they are listed in.
//! - A branch whose condition is known, or whose other branch cannot run, takes the place of its
//!   node. Otherwise the nodes of both
//!   run one after the other, as far as memory is concerned, and then the node itself, which
//!   hands on what the branch that was taken has made.
//! - A loop begins with a node that sets up what is carried and ends with its own. In between are
//!   the nodes of its body, as in one iteration. All that they must find in the next one lives until
//!   the end: what they read of the outside, and what is carried. What is collected lives from the
//!   beginning.
//! - The nodes of both branches, and those of a loop, are a block: no other node runs among them.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll::{AccessKind, Overwrite, Role, Scratch, ValueId, View};
use plimsoll_graph::effect::Kept;
use plimsoll_graph::shape::expr::{Scope, settled};
use plimsoll_graph::{
    Dim, Dtype, Fact, Graph, GraphBuilder, GraphError, Node, NodeId, Op, Shape, Value, Window,
};

use crate::fused::{AllKernels, FusedAccesses, FusedFault, FusedKernels, FusedStep, Fusing};
use crate::infer::{Bindings, Branch, Found, Order, Ranged, Refused, ShapeError, found, statics};
use crate::model::{Body, Iteration, Model, ModelNode, Operator, Origin, TensorId};
use crate::op_class::{followed_slice, op_class};
use crate::wiring::Wiring;

/// A model whose shapes were found.
#[derive(Clone, Debug)]
pub struct Inferred {
    /// The model as a graph.
    pub graph: Graph,
    /// The branches that are not in it, since they cannot run.
    pub refused: Vec<Refused>,
    /// What is known of every tensor, by its id.
    pub facts: Vec<Fact>,
    /// Which tensors are the same in every run, by id.
    pub statics: Vec<bool>,
    /// The value of every tensor that the graph has, by the tensor's id. Nodes of the graph have the
    /// names of the model's nodes that they are made of.
    pub values: Vec<Option<ValueId>>,
    /// An order in which the nodes of every body can run.
    pub order: Order,
}

impl Inferred {
    /// The graph of the same model with fused steps, and the value of every tensor that it has.
    pub fn fused(&self, model: &Model, fused: &[FusedStep]) -> Result<FusedGraph, FusedGraphError> {
        self.fused_by(model, fused, &AllKernels)
    }

    /// The same for the kernels of a runtime.
    pub fn fused_by(
        &self,
        model: &Model,
        fused: &[FusedStep],
        kernels: &dyn FusedKernels,
    ) -> Result<FusedGraph, FusedGraphError> {
        let wiring = Wiring::new(model, &self.order);
        let Inferred { facts, statics, refused, order, .. } = self;
        let fusing = Fusing { model, facts, statics, wiring: &wiring, kernels };
        let mut lowering = Lowering::new(model, facts, statics, refused);
        lowering.own = fusing.own_steps(fused);
        for step in fused {
            let accesses = fusing.accesses(step).map_err(FusedGraphError::Step)?;
            let last = *step.nodes.last().ok_or(FusedGraphError::Step(FusedFault::Order))?;
            lowering.fused.insert(last, (step.clone(), accesses));
        }
        lowering.model(order).map_err(FusedGraphError::Graph)?;
        let Lowering { builder, values, .. } = lowering;
        let mut graph = builder.finish().map_err(FusedGraphError::Graph)?;
        for id in graph.node_ids() {
            let node = graph.node(id);
            let bytes = kernels.scratch_bytes(&node.name);
            if bytes > 0 && !node.notes.contains_key("fused") {
                graph.set_scratch(id, Some(Scratch { bytes, align: 64 }));
            }
        }
        Ok(FusedGraph { graph, values })
    }
}

/// A graph with fused steps.
#[derive(Clone, Debug)]
pub struct FusedGraph {
    /// The graph. A fused step has the name of its last node; its [notes](Node::notes) list all of them.
    pub graph: Graph,
    /// The value of every tensor that the graph has, by the tensor's id.
    pub values: Vec<Option<ValueId>>,
}

/// Why there is no graph with these fused steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FusedGraphError {
    /// A step cannot be fused.
    Step(FusedFault),
    /// What came of it is no graph.
    Graph(GraphError),
}

impl std::fmt::Display for FusedGraphError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FusedGraphError::Step(fault) => write!(f, "a step cannot be fused: {fault}"),
            FusedGraphError::Graph(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FusedGraphError {}

/// Finds the shapes of a model, and makes a graph of it.
pub fn infer(model: &Model, bindings: &Bindings) -> Result<Inferred, ShapeError> {
    Ok(lowered(model, bindings, &Ranged::default(), None)?.into())
}

impl From<Lowered> for Inferred {
    fn from(lowered: Lowered) -> Self {
        let Lowered { graph, refused, statics, facts, values, order, .. } = lowered;
        Inferred { graph, refused, facts, statics, values, order }
    }
}

/// The same with all that is needed to compare it with the model at other sizes.
pub(crate) struct Lowered {
    /// The model as a graph. If its dims follow from sizes, it is only there to be compared.
    pub(crate) graph: Graph,
    /// The branches that are not in it, since they cannot run.
    pub(crate) refused: Vec<Refused>,
    /// Which tensors are static, by id.
    pub(crate) statics: Vec<bool>,
    /// What slices keep, by node, where that follows from sizes.
    pub(crate) kept: BTreeMap<NodeId, Vec<Kept>>,
    /// What is known of every tensor.
    facts: Vec<Fact>,
    /// The value of every tensor that the graph has.
    values: Vec<Option<ValueId>>,
    /// An order in which nodes can run.
    order: Order,
}

/// The same for one size. Only tensors that are among these are taken to be static, if any are given.
pub(crate) fn infer_at(
    model: &Model,
    bindings: &Bindings,
    statics: Option<&[bool]>,
) -> Result<Lowered, ShapeError> {
    lowered(model, bindings, &Ranged::default(), statics)
}

/// Finds the shapes of a model for all sizes of ranges, in the order of the symbols of the scope.
pub(crate) fn infer_over(
    model: &Model,
    bindings: &Bindings,
    ranges: &[String],
    scope: &Scope,
    statics: Option<&[bool]>,
) -> Result<Lowered, ShapeError> {
    let symbols = ranges.iter().cloned().zip(scope.symbols().iter().cloned()).collect();
    lowered(model, bindings, &Ranged { symbols, scope: Some(scope) }, statics)
}

fn lowered(
    model: &Model,
    bindings: &Bindings,
    ranged: &Ranged<'_>,
    among: Option<&[bool]>,
) -> Result<Lowered, ShapeError> {
    let Found { facts, order, refused } = found(model, bindings, ranged)?;
    let mut statics = statics(model, &facts);
    for (is_static, among) in statics.iter_mut().zip(among.into_iter().flatten()) {
        *is_static &= among;
    }
    let mut lowering = Lowering::new(model, &facts, &statics, &refused);
    lowering.follows = ranged.scope.is_some();
    lowering.model(&order)?;
    let Lowering { builder, kept, values, .. } = lowering;
    let graph = builder.finish()?;
    Ok(Lowered { graph, refused, statics, kept, facts, values, order })
}

struct Lowering<'m> {
    model: &'m Model,
    facts: &'m [Fact],
    statics: &'m [bool],
    /// The branch of a node that cannot run, by the name of the node.
    refused: BTreeMap<&'m str, Branch>,
    builder: GraphBuilder,
    /// By tensor, where the graph has one.
    values: Vec<Option<ValueId>>,
    /// The block of the nodes that are added: that of the outermost loop or branch around them.
    block: Option<u32>,
    /// How many blocks there are.
    blocks: u32,
    /// Whether dims may follow from sizes.
    follows: bool,
    /// What slices keep, where that follows from sizes.
    kept: BTreeMap<NodeId, Vec<Kept>>,
    /// Which nodes of the model's body run by themselves.
    own: Vec<bool>,
    /// The fused steps, by their last node.
    fused: BTreeMap<usize, (FusedStep, FusedAccesses)>,
}

type Done = Result<(), GraphError>;

impl<'m> Lowering<'m> {
    fn new(
        model: &'m Model,
        facts: &'m [Fact],
        statics: &'m [bool],
        refused: &'m [Refused],
    ) -> Self {
        Lowering {
            model,
            facts,
            statics,
            refused: refused.iter().map(|refused| (&refused.node[..], refused.branch)).collect(),
            builder: GraphBuilder::new(),
            values: vec![None; model.tensors.len()],
            block: None,
            blocks: 0,
            follows: false,
            kept: BTreeMap::new(),
            own: vec![true; model.body.nodes.len()],
            fused: BTreeMap::new(),
        }
    }

    fn model(&mut self, order: &Order) -> Done {
        for input in &self.model.body.inputs {
            let value = self.new_value(*input).with_role(Role::Input);
            self.values[input.index()] = Some(self.builder.value(value)?);
        }
        for step in &order.steps {
            match self.fused.remove(&step.node) {
                Some((fused, accesses)) => self.fused(&fused, &accesses)?,
                None if self.own[step.node] => {
                    self.node(&self.model.body.nodes[step.node], &step.bodies)?;
                }
                None => {}
            }
        }
        let mut listed = BTreeSet::new();
        for output in &self.model.body.outputs {
            if listed.insert(*output) {
                let value = self.read(*output)?;
                self.builder.output(value);
            }
        }
        Ok(())
    }

    fn nodes(&mut self, body: &Body, order: &Order) -> Done {
        order.steps.iter().try_for_each(|step| self.node(&body.nodes[step.node], &step.bodies))
    }

    fn node(&mut self, node: &ModelNode, orders: &[Order]) -> Done {
        let mut outputs = node.outputs.iter().flatten().peekable();
        if outputs.peek().is_some() && outputs.all(|output| self.statics[output.index()]) {
            return Ok(());
        }
        match (&node.operator, orders) {
            (Operator::If(branches), [then, otherwise]) => {
                let then = Ordered { body: &branches.then, order: then };
                self.branches(node, then, Ordered { body: &branches.otherwise, order: otherwise })
            }
            (Operator::Loop(body), [order]) => self
                .in_a_row(|lowering| lowering.iterated(node, &Cycle::of_loop(node, body), order)),
            (Operator::Scan(scan), [order]) => self
                .in_a_row(|lowering| lowering.iterated(node, &Cycle::of_scan(node, scan), order)),
            (operator, _) => {
                let fact = |id: &Option<TensorId>| id.map(|id| &self.facts[id.index()]);
                let inputs: Vec<_> = node.inputs.iter().map(fact).collect();
                let outputs: Vec<_> = node.outputs.iter().map(fact).collect();
                let op = op_class(operator, &inputs, &outputs);
                let slices = self.follows && matches!(operator, Operator::Slice);
                let kept = if slices { followed_slice(&inputs) } else { None };
                let inputs = self.read_all(node.inputs.iter().copied())?;
                let outputs = self.write_all(node.outputs.iter().copied())?;
                let added = self.add(&node.name, node, op, inputs, outputs)?;
                self.kept.extend(kept.map(|kept| (added, kept)));
                Ok(())
            }
        }
    }

    /// Several nodes as one, with the name of the last.
    fn fused(&mut self, step: &FusedStep, accesses: &FusedAccesses) -> Done {
        let nodes = step.nodes.iter().map(|node| &self.model.body.nodes[*node]);
        let kinds: Vec<&str> = nodes.clone().map(|node| &node.kind[..]).collect();
        let names: Vec<&str> = nodes.clone().map(|node| &node.name[..]).collect();
        let name = names.last().copied().unwrap_or_default();
        let inputs = self.read_all(accesses.inputs.iter().copied().map(Some))?;
        let output = self.write(accesses.output)?;
        let mut added = Node::new(name, Op::Custom, &[], &[output]).with_kind(kinds.join("+"));
        added.notes.insert("fused".to_owned(), names.join(" "));
        added.inputs = inputs;
        for input in &accesses.overwrites {
            let input = self.read(*input)?;
            added.overwrites.push(Overwrite { output, input, must: false });
        }
        let bytes = accesses.scratch_bytes;
        added.scratch = (bytes > 0).then_some(Scratch { bytes, align: 64 });
        self.builder.node(added)?;
        Ok(())
    }

    /// Adds a node that does something for one of the model's.
    fn add(
        &mut self,
        name: &str,
        node: &ModelNode,
        op: Op,
        inputs: Vec<Option<ValueId>>,
        outputs: Vec<Option<ValueId>>,
    ) -> Result<NodeId, GraphError> {
        let added = Node::new(name, op, &[], &[]).with_kind(&node.kind);
        self.builder.node(Node { inputs, outputs, block: self.block, ..added })
    }

    /// Adds what a function adds, as one block unless it is within one already.
    fn in_a_row(&mut self, add: impl FnOnce(&mut Self) -> Done) -> Done {
        if self.block.is_some() {
            return add(self);
        }
        self.block = Some(self.blocks);
        self.blocks += 1;
        let done = add(self);
        self.block = None;
        done
    }

    fn branches(&mut self, node: &ModelNode, then: Ordered<'_>, otherwise: Ordered<'_>) -> Done {
        let condition = node.inputs.first().copied().flatten();
        let known = condition.and_then(|id| self.facts[id.index()].known_ints());
        match (known.as_deref(), self.refused.get(&node.name[..])) {
            (Some([0]), _) | (_, Some(Branch::Then)) => self.taken(node, otherwise),
            (Some([_]), _) | (_, Some(Branch::Else)) => self.taken(node, then),
            _ => self.in_a_row(|lowering| lowering.either(node, then, otherwise)),
        }
    }

    /// The branch that is always taken, in place of the node.
    fn taken(&mut self, node: &ModelNode, branch: Ordered<'_>) -> Done {
        self.nodes(branch.body, branch.order)?;
        let made = self.read_all(branch.body.outputs.iter().copied().map(Some))?;
        let outputs = self.write_all(node.outputs.iter().copied())?;
        for (output, made) in outputs.iter().zip(&made) {
            if let (Some(output), Some(of)) = (*output, *made) {
                self.builder.value_mut(output).view = Some(View::new(of, 0));
            }
        }
        self.add(&node.name, node, Op::Custom, made, outputs)?;
        Ok(())
    }

    /// Both branches, and the node, which may leave what the first has made where it is.
    fn either(&mut self, node: &ModelNode, then: Ordered<'_>, otherwise: Ordered<'_>) -> Done {
        self.nodes(then.body, then.order)?;
        self.nodes(otherwise.body, otherwise.order)?;
        let made = then.body.outputs.iter().chain(&otherwise.body.outputs);
        let tensors: Vec<_> = node.inputs.iter().copied().chain(made.copied().map(Some)).collect();
        let once = |tensor: &TensorId| {
            tensors.iter().flatten().filter(|other| *other == tensor).count() == 1
        };
        let inputs = self.read_all(tensors.iter().copied())?;
        let outputs = self.write_all(node.outputs.iter().copied())?;
        let added = self.add(&node.name, node, Op::Custom, inputs, outputs)?;
        for body in [then.body, otherwise.body] {
            for (output, made) in node.outputs.iter().zip(&body.outputs) {
                let Some(output) = *output else { continue };
                if once(made) && self.facts[made.index()].shape == self.facts[output.index()].shape
                {
                    let (output, input) = (self.read(output)?, self.read(*made)?);
                    let overwrite = Overwrite { output, input, must: false };
                    self.builder.node_mut(added).overwrites.push(overwrite);
                }
            }
        }
        Ok(())
    }

    fn iterated(&mut self, node: &ModelNode, cycle: &Cycle<'_>, order: &Order) -> Done {
        let set_up = self.read_all(node.inputs.iter().copied())?;
        let made = self.write_all(cycle.body.inputs.iter().copied().map(Some))?;
        let name = format!("{}/begin", node.name);
        let begin = self.add(&name, node, Op::Custom, set_up.clone(), made)?;
        self.nodes(cycle.body, order)?;
        let handed = self.read_all(cycle.body.outputs.iter().copied().map(Some))?;
        let outputs = self.write_all(node.outputs.iter().copied())?;
        let collected: Vec<_> = outputs.iter().skip(cycle.carried).flatten().copied().collect();
        let end = self.add(&node.name, node, Op::Custom, handed, outputs)?;

        let mut kept: BTreeSet<ValueId> = set_up.into_iter().flatten().collect();
        for tensor in captured(cycle.body) {
            kept.extend(self.values[tensor.index()]);
        }
        for tensor in cycle.body.inputs.iter().skip(cycle.first).take(cycle.carried) {
            kept.extend(self.values[tensor.index()]);
        }
        let node = self.builder.node_mut(end);
        node.also_reads = kept.into_iter().filter(|v| !node.inputs.contains(&Some(*v))).collect();
        node.windows = collected
            .into_iter()
            .map(|value| Window { from: Some(begin), ..Window::new(value, AccessKind::Write) })
            .collect();
        Ok(())
    }

    fn read_all(
        &mut self,
        tensors: impl Iterator<Item = Option<TensorId>>,
    ) -> Result<Vec<Option<ValueId>>, GraphError> {
        tensors.map(|id| id.map(|id| self.read(id)).transpose()).collect()
    }

    fn write_all(
        &mut self,
        tensors: impl Iterator<Item = Option<TensorId>>,
    ) -> Result<Vec<Option<ValueId>>, GraphError> {
        tensors.map(|id| id.map(|id| self.write(id)).transpose()).collect()
    }

    /// The value of a tensor that somebody reads.
    fn read(&mut self, id: TensorId) -> Result<ValueId, GraphError> {
        let role = match self.model.tensor(id).origin {
            Origin::Stored => Role::Param,
            _ if self.statics[id.index()] => Role::Static,
            Origin::Caller | Origin::Node => Role::Temporary,
        };
        self.value(id, role)
    }

    /// The value of a tensor that a node makes in every run.
    fn write(&mut self, id: TensorId) -> Result<ValueId, GraphError> {
        let value = self.value(id, Role::Temporary)?;
        self.builder.value_mut(value).role = Role::Temporary;
        Ok(value)
    }

    fn value(&mut self, id: TensorId, role: Role) -> Result<ValueId, GraphError> {
        if let Some(value) = self.values[id.index()] {
            return Ok(value);
        }
        let value = self.builder.value(self.new_value(id).with_role(role))?;
        self.values[id.index()] = Some(value);
        Ok(value)
    }

    fn new_value(&self, id: TensorId) -> Value {
        let name = &self.model.tensor(id).name;
        match &self.facts[id.index()] {
            Fact { dtype: Some(dtype), shape: Some(shape), .. } => {
                let dims = shape.0.iter().map(settled);
                Value::new(name, *dtype, Shape(dims.collect()))
            }
            // Whoever plans has to be told how many bytes it has.
            fact => Value::new(name, fact.dtype.unwrap_or(Dtype::U8), Shape(vec![Dim::Unknown])),
        }
    }
}

/// A branch, with the order of its nodes.
#[derive(Clone, Copy)]
struct Ordered<'m> {
    body: &'m Body,
    order: &'m Order,
}

/// What runs again and again.
struct Cycle<'m> {
    body: &'m Body,
    /// The first of the body's inputs that is carried.
    first: usize,
    /// How many are carried: so many of the node's outputs come first.
    carried: usize,
}

impl<'m> Cycle<'m> {
    fn of_loop(node: &ModelNode, body: &'m Body) -> Self {
        Cycle { body, first: 2, carried: node.inputs.len().saturating_sub(2) }
    }

    fn of_scan(node: &ModelNode, scan: &'m Iteration) -> Self {
        Cycle {
            body: &scan.body,
            first: 0,
            carried: node.inputs.len().saturating_sub(scan.sequences),
        }
    }
}

/// What a body reads of the outside, in the bodies within it too.
fn captured(body: &Body) -> BTreeSet<TensorId> {
    let (mut read, mut made) = (BTreeSet::new(), BTreeSet::new());
    collect(body, &mut read, &mut made);
    read.difference(&made).copied().collect()
}

fn collect(body: &Body, read: &mut BTreeSet<TensorId>, made: &mut BTreeSet<TensorId>) {
    made.extend(&body.inputs);
    read.extend(&body.outputs);
    for node in &body.nodes {
        read.extend(node.inputs.iter().flatten());
        made.extend(node.outputs.iter().flatten());
        match &node.operator {
            Operator::If(branches) => {
                collect(&branches.then, read, made);
                collect(&branches.otherwise, read, made);
            }
            Operator::Loop(body) => collect(body, read, made),
            Operator::Scan(scan) => collect(&scan.body, read, made),
            _ => {}
        }
    }
}
