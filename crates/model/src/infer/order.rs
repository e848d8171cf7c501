//! Whether a model hangs together, and in which order its nodes can run.
//!
//! Models come from files, so nothing is taken for granted: that ids are in range, that every
//! tensor is made once, before it is read and where its reader can see it, and that nodes are
//! listed in an order in which they can run. Where they are, the order stays as it is.
//!
//! The cost is linear in the model, times the depth to which bodies are nested.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::error::ShapeError;
use crate::model::{Body, Model, ModelNode, Origin, TensorId};

/// How deeply bodies may be nested, so that going through them takes a limited stack.
const MOST_NESTED: usize = 128;

/// The order in which the nodes of a body run.
#[derive(Clone, Debug)]
pub struct Order {
    /// Every node of the body once.
    pub steps: Vec<Step>,
}

/// A node, with the orders of its bodies.
#[derive(Clone, Debug)]
pub struct Step {
    /// The index of the node in its body.
    pub node: usize,
    /// The orders of its bodies: of both branches, or of what an iteration runs.
    pub bodies: Vec<Order>,
}

impl Order {
    /// How many nodes there are, those of bodies included.
    pub(super) fn nodes(&self) -> usize {
        let inside = self.steps.iter().flat_map(|step| &step.bodies).map(Order::nodes);
        self.steps.len() + inside.sum::<usize>()
    }
}

/// Checks a model and puts its nodes in order.
pub(super) fn order(model: &Model) -> Result<Order, ShapeError> {
    let mut orderer = Orderer { model, made: vec![false; model.tensors.len()] };
    for (made, tensor) in orderer.made.iter_mut().zip(&model.tensors) {
        *made = tensor.origin == Origin::Stored;
    }
    let (order, outside) = orderer.body(&model.body, None, 0)?;
    match outside.first() {
        None => Ok(order),
        Some(read) => Err(ShapeError::NotMade {
            tensor: model.tensor(read.tensor).name.clone(),
            node: read.node.map(|node| node.name.clone()),
        }),
    }
}

/// A tensor that is read, and by whom; `None` for the boundary of the model.
#[derive(Clone, Copy)]
struct Read<'a> {
    tensor: TensorId,
    node: Option<&'a ModelNode>,
}

struct Orderer<'a> {
    model: &'a Model,
    /// Whether something makes a tensor already.
    made: Vec<bool>,
}

impl<'a> Orderer<'a> {
    /// The order of a body, and what it reads from outside of it.
    fn body(
        &mut self,
        body: &'a Body,
        owner: Option<&'a ModelNode>,
        depth: usize,
    ) -> Result<(Order, Vec<Read<'a>>), ShapeError> {
        if let (Some(owner), true) = (owner, depth > MOST_NESTED) {
            return Err(ShapeError::TooDeep { node: owner.name.clone(), most: MOST_NESTED });
        }
        for id in &body.inputs {
            self.check(*id, owner)?;
            let stored = self.model.tensor(*id).origin == Origin::Stored;
            // The elements of an input of the model may come with it, in case nobody hands it in.
            if !(stored && owner.is_none()) {
                self.make(*id, owner)?;
            }
        }
        let mut reads = Vec::new();
        let mut orders = Vec::new();
        for node in &body.nodes {
            let (node_reads, node_orders) = self.node(node, depth)?;
            reads.push(node_reads);
            orders.push(node_orders);
        }
        for id in &body.outputs {
            self.check(*id, owner)?;
        }
        let makers = Makers::new(body);
        let sorted = sort(body, &reads, &makers)?;
        let mut orders: Vec<Option<Vec<Order>>> = orders.into_iter().map(Some).collect();
        let step = |node: usize| Step { node, bodies: orders[node].take().unwrap_or_default() };
        let order = Order { steps: sorted.into_iter().map(step).collect() };
        let handed_out = body.outputs.iter().map(|id| Read { tensor: *id, node: owner });
        let outside = reads.into_iter().flatten().chain(handed_out).filter(|read| {
            let stored = self.model.tensor(read.tensor).origin == Origin::Stored;
            !stored && !makers.inside(read.tensor)
        });
        Ok((order, outside.collect()))
    }

    /// What a node and its bodies read, and the orders of the bodies.
    fn node(
        &mut self,
        node: &'a ModelNode,
        depth: usize,
    ) -> Result<(Vec<Read<'a>>, Vec<Order>), ShapeError> {
        let mut reads = Vec::new();
        for id in node.inputs.iter().flatten() {
            self.check(*id, Some(node))?;
            reads.push(Read { tensor: *id, node: Some(node) });
        }
        for id in node.outputs.iter().flatten() {
            self.check(*id, Some(node))?;
            self.make(*id, Some(node))?;
        }
        let mut orders = Vec::new();
        for body in node.bodies() {
            let (order, outside) = self.body(body, Some(node), depth + 1)?;
            orders.push(order);
            reads.extend(outside);
        }
        // Each tensor once, so that what bodies read does not multiply from level to level.
        reads.sort_by_cached_key(|read| read.tensor);
        reads.dedup_by_key(|read| read.tensor);
        Ok((reads, orders))
    }

    fn check(&self, id: TensorId, node: Option<&ModelNode>) -> Result<(), ShapeError> {
        if id.index() < self.model.tensors.len() {
            return Ok(());
        }
        Err(ShapeError::NoTensor { node: node.map(|node| node.name.clone()), id: id.0 })
    }

    fn make(&mut self, id: TensorId, node: Option<&ModelNode>) -> Result<(), ShapeError> {
        if !std::mem::replace(&mut self.made[id.index()], true) {
            return Ok(());
        }
        let tensor = self.model.tensor(id).name.clone();
        Err(ShapeError::MadeTwice { tensor, node: node.map(|node| node.name.clone()) })
    }
}

/// Which node of a body makes a tensor; `None` for what is handed in. Sorted by tensor.
struct Makers(Vec<(TensorId, Option<usize>)>);

impl Makers {
    fn new(body: &Body) -> Self {
        let mut makers: Vec<_> = body.inputs.iter().map(|id| (*id, None)).collect();
        for (index, node) in body.nodes.iter().enumerate() {
            makers.extend(node.outputs.iter().flatten().map(|id| (*id, Some(index))));
        }
        makers.sort_unstable();
        Makers(makers)
    }

    fn find(&self, id: TensorId) -> Option<&(TensorId, Option<usize>)> {
        self.0.binary_search_by_key(&id, |maker| maker.0).ok().map(|found| &self.0[found])
    }

    fn inside(&self, id: TensorId) -> bool {
        self.find(id).is_some()
    }

    fn node(&self, id: TensorId) -> Option<usize> {
        self.find(id)?.1
    }
}

/// Nodes in an order in which they can run: of those that can, the one that is listed first.
fn sort(body: &Body, reads: &[Vec<Read<'_>>], makers: &Makers) -> Result<Vec<usize>, ShapeError> {
    let count = body.nodes.len();
    let mut waits = vec![0usize; count];
    let mut readers = vec![Vec::new(); count];
    for (node, reads) in reads.iter().enumerate() {
        for maker in reads.iter().filter_map(|read| makers.node(read.tensor)) {
            waits[node] += 1;
            readers[maker].push(node);
        }
    }
    let mut can_run: BinaryHeap<Reverse<usize>> =
        (0..count).filter(|node| waits[*node] == 0).map(Reverse).collect();
    let mut sorted = Vec::with_capacity(count);
    while let Some(Reverse(node)) = can_run.pop() {
        sorted.push(node);
        for reader in &readers[node] {
            waits[*reader] -= 1;
            if waits[*reader] == 0 {
                can_run.push(Reverse(*reader));
            }
        }
    }
    match waits.iter().position(|waits| *waits > 0) {
        None => Ok(sorted),
        Some(node) => Err(ShapeError::Cycle { node: body.nodes[node].name.clone() }),
    }
}
