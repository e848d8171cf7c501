//! Small models for tests, node by node.

use plimsoll_graph::Dtype;

use crate::model::{Axis, Content, Model, ModelNode, Operator, Origin, Tensor, TensorId};

/// A model in the making. Tensors and nodes are named `t0`, `t1` and so on by their ids; a node has the name of
/// what it makes.
#[derive(Debug, Default)]
pub struct ModelBuilder {
    model: Model,
}

impl ModelBuilder {
    fn tensor(&mut self, origin: Origin, dtype: Dtype, dims: &[u64]) -> TensorId {
        let name = format!("t{}", self.model.tensors.len());
        let dims = Some(dims.iter().map(|dim| Axis::Known(*dim)).collect());
        self.model.add(Tensor { origin, dtype: Some(dtype), dims, content: None, name })
    }

    /// An input of the model, of 32-bit numbers.
    pub fn input(&mut self, dims: &[u64]) -> TensorId {
        let id = self.tensor(Origin::Caller, Dtype::F32, dims);
        self.model.body.inputs.push(id);
        id
    }

    /// A weight, of 32-bit numbers that are not known.
    pub fn weight(&mut self, dims: &[u64]) -> TensorId {
        self.tensor(Origin::Stored, Dtype::F32, dims)
    }

    /// A stored list of integers.
    pub fn ints(&mut self, ints: &[i64]) -> TensorId {
        let id = self.tensor(Origin::Stored, Dtype::I64, &[ints.len() as u64]);
        self.model.tensors[id.index()].content = Some(Content::Ints(ints.to_vec()));
        id
    }

    /// A stored number.
    pub fn float(&mut self, number: f64) -> TensorId {
        let id = self.tensor(Origin::Stored, Dtype::F32, &[]);
        self.model.tensors[id.index()].content = Some(Content::Floats(vec![number]));
        id
    }

    /// A node with one output.
    pub fn node(&mut self, operator: Operator, inputs: &[TensorId]) -> TensorId {
        let name = format!("t{}", self.model.tensors.len());
        let output = self.model.add(Tensor::computed(&name));
        let inputs = inputs.iter().copied().map(Some).collect();
        let kind = "Node".to_owned();
        self.model.body.nodes.push(ModelNode {
            name,
            kind,
            operator,
            inputs,
            outputs: vec![Some(output)],
        });
        output
    }

    /// The model with these outputs.
    #[must_use]
    pub fn finish(mut self, outputs: &[TensorId]) -> Model {
        self.model.body.outputs = outputs.to_vec();
        self.model
    }
}
