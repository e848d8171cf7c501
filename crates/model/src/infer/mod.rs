//! Goes through a model, node by node.
//!
//! [`facts`] first checks that the model hangs together and puts the nodes of every body in an
//! order in which they can run (`order`), then finds out what the inputs are (`bind`), and then
//! goes through the nodes. Bodies of iterations are gone through until nothing changes (`control`).
//!
//! It costs time linear in the model: a body of an iteration is gone through a few times, and
//! [`VISITS`] limits how often that happens where iterations are nested. [`BUDGET`] limits how many
//! elements are reckoned with altogether.

mod bind;
mod control;
mod error;
mod join;
mod order;
mod statics;

use std::collections::BTreeMap;

pub use bind::Bindings;
pub(super) use bind::Ranged;
pub use error::{BindingFault, Branch, Refused, ShapeError};
pub use order::{Order, Step};
use plimsoll_graph::shape::expr::Scope;
use plimsoll_graph::{Dim, Elements, Fact, Shape};
pub use statics::statics;

use crate::model::{Axis, Body, Model, ModelNode, Operator, Origin, Tensor, TensorId};
use crate::{arithmetic, rules};

/// How many elements of tensors are reckoned with altogether. After that only
/// [small tensors](SMALL) are.
const BUDGET: usize = 1 << 24;

/// The most elements of a tensor that are always reckoned with: shapes have no more.
const SMALL: usize = 64;

/// How often nodes are gone through, for each node there is. After that bodies of iterations are
/// gone through once more, with nothing claimed of what they carry but its type.
const VISITS: usize = 16;

/// What is known of every tensor of a model, by its id, inside bodies too.
pub fn facts(model: &Model, bindings: &Bindings) -> Result<Vec<Fact>, ShapeError> {
    found(model, bindings, &Ranged::default()).map(|found| found.facts)
}

/// What is found out about a model.
pub(super) struct Found {
    /// What is known of every tensor, by its id.
    pub(super) facts: Vec<Fact>,
    /// An order in which its nodes can run.
    pub(super) order: Order,
    /// The branches that cannot run, in that order.
    pub(super) refused: Vec<Refused>,
}

/// The same, with what else is found on the way.
pub(super) fn found(
    model: &Model,
    bindings: &Bindings,
    ranged: &Ranged<'_>,
) -> Result<Found, ShapeError> {
    let order = order::order(model)?;
    let bound = bind::bind(model, bindings, ranged)?;
    let mut facts: Vec<Fact> = model.tensors.iter().map(stored).collect();
    for (id, fact) in bound.inputs {
        facts[id.index()] = fact;
    }
    let visits = order.nodes().saturating_mul(VISITS);
    let (symbols, refused) = (bound.symbols, BTreeMap::new());
    let scope = ranged.scope;
    let mut engine = Engine { model, facts, symbols, scope, refused, budget: BUDGET, visits };
    engine.body(&model.body, &order)?;
    let mut refused = Vec::new();
    control::list_refused(&model.body, &order, &engine.refused, &mut refused);
    Ok(Found { facts: engine.facts, order, refused })
}

/// What is known of a tensor whose elements come with the model; nothing of others.
fn stored(tensor: &Tensor) -> Fact {
    if tensor.origin != Origin::Stored {
        return Fact::default();
    }
    let dim = |axis: &Axis| match axis {
        Axis::Known(dim) => Dim::Known(*dim),
        Axis::Symbol(_) | Axis::Unknown => Dim::Unknown,
    };
    let shape = tensor.dims.as_ref().map(|dims| Shape(dims.iter().map(dim).collect()));
    let elements = shape.as_ref().map(Shape::elements);
    let numbers = match (&tensor.content, tensor.dtype, elements) {
        (Some(content), Some(dtype), Some(Elements::Known(elements))) => {
            arithmetic::from_content(content, dtype, elements)
        }
        _ => None,
    };
    Fact { dtype: tensor.dtype, shape, numbers }
}

struct Engine<'a> {
    model: &'a Model,
    /// By tensor; nothing is known of those that no node has made yet.
    facts: Vec<Fact>,
    symbols: BTreeMap<String, Dim>,
    /// What symbols with ranges stand for belongs to it.
    scope: Option<&'a Scope>,
    /// Branches that could not run when they were gone through last, by the name of the node.
    refused: BTreeMap<String, Refused>,
    /// How many more elements are reckoned with.
    budget: usize,
    /// How many more nodes are gone through with care.
    visits: usize,
}

impl Engine<'_> {
    fn body(&mut self, body: &Body, order: &Order) -> Result<(), ShapeError> {
        for step in &order.steps {
            let node = &body.nodes[step.node];
            if let Some(scope) = self.scope {
                scope.set_always(std::ptr::eq(body, &raw const self.model.body));
            }
            self.visits = self.visits.saturating_sub(1);
            let outputs = match (&node.operator, &step.bodies[..]) {
                (Operator::If(branches), [then, otherwise]) => {
                    self.branch(node, branches, then, otherwise)?
                }
                (Operator::Loop(body), [order]) => self.repeat(node, body, order)?,
                (Operator::Scan(iteration), [order]) => self.scan(node, iteration, order)?,
                _ => self.plain(node)?,
            };
            for (id, fact) in node.outputs.iter().zip(outputs) {
                if let Some(id) = id {
                    self.facts[id.index()] = fact;
                }
            }
        }
        Ok(())
    }

    /// The outputs of a node without bodies.
    fn plain(&mut self, node: &ModelNode) -> Result<Vec<Fact>, ShapeError> {
        let fact = |id: &Option<TensorId>| id.map(|id| &self.facts[id.index()]);
        let inputs: Vec<Option<&Fact>> = node.inputs.iter().map(fact).collect();
        let mut outputs = rules::outputs(&node.operator, &inputs, node.outputs.len())
            .map_err(|fault| self.misfit(node, &inputs, fault))?;
        outputs.resize(node.outputs.len(), Fact::default());
        if matches!(node.operator, Operator::Custom(_)) {
            for (id, output) in node.outputs.iter().zip(&mut outputs) {
                if let Some(id) = id {
                    self.add_declared(*id, output);
                }
            }
        }
        let limit = self.budget.clamp(SMALL, arithmetic::LIMIT);
        arithmetic::complete(&node.operator, &inputs, &mut outputs, limit);
        let used = |fact: &Fact| fact.numbers.as_ref().map_or(0, plimsoll_graph::Numbers::len);
        let read: usize = inputs.iter().flatten().map(|fact| used(fact)).sum();
        let made: usize = outputs.iter().map(used).sum();
        self.budget = self.budget.saturating_sub(read.saturating_add(made));
        Ok(outputs)
    }

    /// The error of a node whose operands do not fit, with what is known of them: of many all of which
    /// are alike, the first and the one that does not fit those before it.
    fn misfit(&self, node: &ModelNode, inputs: &[Option<&Fact>], fault: String) -> ShapeError {
        let alike = matches!(node.operator, Operator::Variadic(_) | Operator::Concat { .. });
        let fits = |count: &usize| rules::outputs(&node.operator, &inputs[..*count], 1).is_ok();
        let odd = (1..inputs.len()).take_while(fits).last().filter(|_| alike);
        let listed = |index: &usize| odd.is_none_or(|odd| *index == 0 || *index == odd);
        let operand = |index: usize| {
            let (id, fact) = (node.inputs[index]?, inputs[index]?);
            Some(format!("`{}` is {fact}", self.model.tensor(id).name))
        };
        let operands = (0..inputs.len()).filter(listed).filter_map(operand).collect();
        ShapeError::Node { node: node.name.clone(), op: node.kind.clone(), operands, fault }
    }

    /// What the model says itself of an output of an operator of which we know nothing. Of others
    /// the rules know better: what files say is often wrong.
    fn add_declared(&self, id: TensorId, output: &mut Fact) {
        let tensor = self.model.tensor(id);
        output.dtype = output.dtype.or(tensor.dtype);
        if output.shape.is_none() {
            let dims = tensor.dims.as_ref().map(|dims| dims.iter().map(|axis| self.dim(axis)));
            output.shape = dims.map(|dims| Shape(dims.collect()));
        }
    }

    fn dim(&self, axis: &Axis) -> Dim {
        match axis {
            Axis::Known(dim) => Dim::Known(*dim),
            Axis::Symbol(symbol) => self.symbols.get(symbol).cloned().unwrap_or(Dim::Unknown),
            Axis::Unknown => Dim::Unknown,
        }
    }

    /// What is known of an input of a node; `None` if it is absent.
    fn input(&self, node: &ModelNode, index: usize) -> Option<&Fact> {
        node.inputs.get(index).copied().flatten().map(|id| &self.facts[id.index()])
    }
}

fn fault_of(node: &ModelNode, fault: impl Into<String>) -> ShapeError {
    let (node, op) = (node.name.clone(), node.kind.clone());
    ShapeError::Node { node, op, operands: Vec::new(), fault: fault.into() }
}

#[cfg(test)]
mod tests;
