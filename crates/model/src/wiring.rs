//! Who makes and who reads each tensor of a model's body.

use crate::infer::Order;
use crate::model::{Body, Model, ModelNode, TensorId};

/// The makers and readers of the tensors of a model's outermost body, by index of the node. What bodies of control
/// flow read is read by the node that they belong to.
#[derive(Clone, Debug)]
pub struct Wiring {
    makers: Vec<Option<usize>>,
    readers: Vec<Vec<usize>>,
    handed_out: Vec<bool>,
    places: Vec<usize>,
}

impl Wiring {
    /// Of a model whose nodes run in that order. The cost is linear in the model.
    #[must_use]
    pub fn new(model: &Model, order: &Order) -> Self {
        let mut wiring = Wiring {
            makers: vec![None; model.tensors.len()],
            readers: vec![Vec::new(); model.tensors.len()],
            handed_out: vec![false; model.tensors.len()],
            places: vec![0; model.body.nodes.len()],
        };
        for (place, step) in order.steps.iter().enumerate() {
            let node = &model.body.nodes[step.node];
            wiring.places[step.node] = place;
            wiring.reads(step.node, node);
            for output in node.outputs.iter().flatten() {
                wiring.makers[output.index()] = Some(step.node);
            }
        }
        for output in &model.body.outputs {
            wiring.handed_out[output.index()] = true;
        }
        wiring
    }

    fn reads(&mut self, index: usize, node: &ModelNode) {
        let inside = node.bodies().into_iter().flat_map(read_by);
        for tensor in node.inputs.iter().flatten().copied().chain(inside) {
            let readers = &mut self.readers[tensor.index()];
            if readers.last() != Some(&index) {
                readers.push(index);
            }
        }
    }

    /// The node that makes a tensor.
    #[must_use]
    pub fn maker(&self, tensor: TensorId) -> Option<usize> {
        self.makers[tensor.index()]
    }

    /// The nodes that read a tensor, each once, in the order in which they run.
    #[must_use]
    pub fn readers(&self, tensor: TensorId) -> &[usize] {
        &self.readers[tensor.index()]
    }

    /// Whether a tensor is an output of the model.
    #[must_use]
    pub fn is_output(&self, tensor: TensorId) -> bool {
        self.handed_out[tensor.index()]
    }

    /// Which place a node has in the order.
    #[must_use]
    pub fn place(&self, node: usize) -> usize {
        self.places[node]
    }
}

/// Everything that the nodes of a body read or hand out.
fn read_by(body: &Body) -> Vec<TensorId> {
    let mut read = body.outputs.clone();
    for node in &body.nodes {
        read.extend(node.inputs.iter().flatten());
        read.extend(node.bodies().into_iter().flat_map(read_by));
    }
    read
}
