//! What does not change from run to run: weights, and what is computed of them once.
//!
//! What depends on weights alone takes no step of a plan. It is computed here, with the same kernels, every
//! tensor apart, and only if a node that does take a step reads it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use plimsoll::Role;
use plimsoll_graph::{Fact, Numbers};
use plimsoll_kernels::Level;
use plimsoll_model::{
    Content, Inferred, Model, ModelNode, Order, Origin, TensorId, Weights, stored_bytes,
};

use crate::at::At;
use crate::error::{MissingKernel, RunError, SessionError};
use crate::io::{Given, Io};
use crate::kernel::{Built, Lack};
use crate::memory::{LINE, Lines};
use crate::ops;
use crate::place::{Spot, operands};
use crate::split::Threads;

/// The elements of all tensors that do not change.
pub(crate) struct Constants<'a> {
    model: &'a Model,
    weights: &'a dyn Weights,
    inferred: &'a Inferred,
    computed: BTreeMap<TensorId, Vec<u8>>,
}

impl<'a> Constants<'a> {
    /// Computes what has to be.
    pub(crate) fn new(
        model: &'a Model,
        weights: &'a dyn Weights,
        inferred: &'a Inferred,
        level: Level,
    ) -> Result<Self, SessionError> {
        let mut constants = Constants { model, weights, inferred, computed: BTreeMap::new() };
        let mut nodes = Vec::new();
        flatten(&model.body, &inferred.order, &mut nodes);
        for node in constants.demanded(&nodes) {
            constants.compute(node, level)?;
        }
        Ok(constants)
    }

    /// The elements of a tensor; `None` if they are others in each run.
    pub(crate) fn bytes(&self, id: TensorId) -> Result<Option<Cow<'_, [u8]>>, Lack> {
        if self.model.tensor(id).origin == Origin::Stored {
            let bytes = stored_bytes(self.model, self.weights, id);
            return bytes.map(Some).map_err(|error| error.to_string());
        }
        if let Some(computed) = self.computed.get(&id) {
            return Ok(Some(Cow::Borrowed(computed)));
        }
        let known = Some(id).filter(|id| self.inferred.statics[id.index()]);
        Ok(known.and_then(|id| known_bytes(&self.inferred.facts[id.index()])).map(Cow::Owned))
    }

    /// Whether the elements of a tensor are known before any run.
    pub(crate) fn is_constant(&self, id: TensorId) -> bool {
        self.model.tensor(id).origin == Origin::Stored
            || self.computed.contains_key(&id)
            || (self.inferred.statics[id.index()]
                && known_bytes(&self.inferred.facts[id.index()]).is_some())
    }

    /// Whether the elements of a tensor have to be computed by the node that makes it.
    fn is_computed(&self, id: TensorId) -> bool {
        let is_known = || known_bytes(&self.inferred.facts[id.index()]).is_some();
        self.inferred.statics[id.index()]
            && self.model.tensor(id).origin != Origin::Stored
            && !is_known()
    }

    /// The nodes that compute what steps read, in an order in which they can run.
    fn demanded(&self, nodes: &[&'a ModelNode]) -> Vec<&'a ModelNode> {
        let graph = &self.inferred.graph;
        let is_read = |value: &Option<plimsoll::ValueId>| {
            value.is_some_and(|value| graph.value(value).role == Role::Static)
        };
        let mut wanted: Vec<bool> = self.inferred.values.iter().map(is_read).collect();
        let mut demanded = Vec::new();
        for node in nodes.iter().rev() {
            let makes = |id: &TensorId| wanted[id.index()] && self.is_computed(*id);
            if node.outputs.iter().flatten().any(makes) {
                node.inputs.iter().flatten().for_each(|id| wanted[id.index()] = true);
                demanded.push(*node);
            }
        }
        demanded.reverse();
        demanded
    }

    fn compute(&mut self, node: &ModelNode, level: Level) -> Result<(), SessionError> {
        let missing = |why: Lack| {
            let (node, op) = (node.name.clone(), node.kind.clone());
            SessionError::Missing(vec![MissingKernel { node, op, why }])
        };
        let (facts, threads) = (&self.inferred.facts[..], &Threads(None));
        let at = At { node, facts, constants: self, level, threads, wider: None };
        let built = ops::build(&at).map_err(missing)?;
        let results = self.run(node, &built).map_err(|wrong| match wrong {
            Wrong::Lack(why) => missing(why),
            Wrong::Run(error) => SessionError::Static(error),
        })?;
        self.computed.extend(results);
        Ok(())
    }

    /// Runs a node with every tensor apart.
    fn run(&self, node: &ModelNode, built: &Built) -> Result<Vec<(TensorId, Vec<u8>)>, Wrong> {
        let mut end = 0;
        let mut place = |bytes: usize| {
            let start = end;
            end = (start + bytes).next_multiple_of(LINE);
            start..start + bytes
        };
        let mut reads = Vec::new();
        for input in &node.inputs {
            let bytes = input.map(|id| self.bytes(id)).transpose()?.flatten();
            reads.push(bytes.map(|bytes| (place(bytes.len()), bytes)));
        }
        let size = |id: TensorId| {
            let Fact { dtype, shape, .. } = &self.inferred.facts[id.index()];
            let dims = shape.as_ref().and_then(plimsoll_graph::Shape::known)?;
            usize::try_from((*dtype)?.bytes(plimsoll_graph::shape::product(&dims)?)?).ok()
        };
        let mut writes = Vec::new();
        for output in &node.outputs {
            let bytes = output.map(|id| size(id).ok_or("a result of unknown size".to_owned()));
            writes.push(bytes.transpose()?.map(&mut place));
        }
        let scratch = place(built.scratch_bytes);
        let mut arena = Lines::new(end);
        for (range, bytes) in reads.iter().flatten() {
            arena.bytes_mut()[range.clone()].copy_from_slice(bytes);
        }
        for call in &built.calls {
            let read = |operand: usize| {
                let read = reads.get(operand).and_then(Option::as_ref);
                Ok(read.map(|(range, _)| Spot::Arena(range.clone())))
            };
            let written = |result: usize| Ok(writes.get(result).cloned().flatten());
            let Some(operands) = operands(call, read, written, Some(scratch.clone()))? else {
                continue;
            };
            let given = Given { constants: &[], inputs: &[] };
            let done = (call.kernel)(&mut Io::new(&operands, given, arena.bytes_mut()));
            done.map_err(|fault| RunError { node: node.name.clone(), fault })?;
        }
        let made = |(id, range): (&Option<TensorId>, &Option<std::ops::Range<usize>>)| {
            Some(((*id)?, arena.bytes()[range.clone()?].to_vec()))
        };
        Ok(node.outputs.iter().zip(&writes).filter_map(made).collect())
    }
}

/// What goes wrong where a node is computed once.
enum Wrong {
    Lack(Lack),
    Run(RunError),
}

impl From<Lack> for Wrong {
    fn from(lack: Lack) -> Self {
        Wrong::Lack(lack)
    }
}

impl From<RunError> for Wrong {
    fn from(error: RunError) -> Self {
        Wrong::Run(error)
    }
}

/// The elements that inference has found out.
fn known_bytes(fact: &Fact) -> Option<Vec<u8>> {
    let content = match fact.numbers.as_ref()? {
        Numbers::Ints(_) => Content::Ints(fact.known_ints()?),
        Numbers::Floats(floats) => Content::Floats(floats.clone()),
    };
    content.bytes(fact.dtype?)
}

/// The nodes of a body and of the bodies within, each before the node that it belongs to.
pub(crate) fn flatten<'m>(
    body: &'m plimsoll_model::Body,
    order: &Order,
    nodes: &mut Vec<&'m ModelNode>,
) {
    for step in &order.steps {
        let node = &body.nodes[step.node];
        for (body, order) in node.bodies().into_iter().zip(&step.bodies) {
            flatten(body, order, nodes);
        }
        nodes.push(node);
    }
}
