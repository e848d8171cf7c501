//! Small networks, written down layer by layer.

use plimsoll_graph::Dtype;
use plimsoll_model::{
    Binary, Content, Convolution, GlobalPooling, Model, ModelNode, Operator, Origin, Padding, Pool,
    Pooling, Tensor, TensorId, Unary, Windows,
};

/// A network that is being written down.
#[derive(Default)]
pub(crate) struct Net {
    pub(crate) model: Model,
}

/// A convolution of square windows.
#[derive(Clone, Copy)]
pub(crate) struct Layer {
    pub(crate) kernel: u64,
    pub(crate) stride: u64,
    pub(crate) group: u64,
}

impl Layer {
    pub(crate) const POINTWISE: Layer = Layer { kernel: 1, stride: 1, group: 1 };

    pub(crate) fn depthwise(channels: u64, stride: u64) -> Self {
        Layer { kernel: 3, stride, group: channels }
    }

    /// As many rows as before, over the stride.
    pub(crate) fn windows(self) -> Windows {
        let pad = i64::try_from(self.kernel / 2).unwrap();
        let (strides, padding) = (vec![self.stride; 2], Padding::Given(vec![pad; 4]));
        Windows { kernel: vec![self.kernel; 2], strides, dilations: Vec::new(), padding }
    }
}

impl Net {
    pub(crate) fn input(&mut self, dims: &[u64]) -> TensorId {
        let mut x = Tensor::stored("x", Dtype::F32, dims);
        x.origin = Origin::Caller;
        let x = self.model.add(x);
        self.model.body.inputs.push(x);
        x
    }

    pub(crate) fn weights(&mut self, dims: &[u64]) -> TensorId {
        let name = format!("w{}", self.model.tensors.len());
        self.model.add(Tensor::stored(name, Dtype::F32, dims))
    }

    /// Stored integers.
    pub(crate) fn ints(&mut self, ints: &[i64]) -> TensorId {
        let name = format!("i{}", self.model.tensors.len());
        let mut tensor = Tensor::stored(name, Dtype::I64, &[ints.len() as u64]);
        tensor.content = Some(Content::Ints(ints.to_vec()));
        self.model.add(tensor)
    }

    /// One stored integer without dims.
    pub(crate) fn index(&mut self, index: i64) -> TensorId {
        let id = self.ints(&[index]);
        self.model.tensors[id.index()].dims = Some(Vec::new());
        id
    }

    pub(crate) fn node(&mut self, operator: Operator, inputs: &[TensorId]) -> TensorId {
        let number = self.model.tensors.len();
        let made = self.model.add(Tensor::computed(format!("t{number}")));
        self.model.body.nodes.push(ModelNode {
            name: format!("n{number}"),
            kind: String::new(),
            operator,
            inputs: inputs.iter().map(|input| Some(*input)).collect(),
            outputs: vec![Some(made)],
        });
        made
    }

    /// From so many channels to so many, with a bias.
    pub(crate) fn conv(&mut self, x: TensorId, from: u64, to: u64, layer: Layer) -> TensorId {
        let weights = self.weights(&[to, from / layer.group, layer.kernel, layer.kernel]);
        let bias = self.weights(&[to]);
        let conv = Convolution { windows: layer.windows(), group: layer.group };
        self.node(Operator::Conv(conv), &[x, weights, bias])
    }

    pub(crate) fn relu(&mut self, x: TensorId) -> TensorId {
        self.node(Operator::Unary(Unary::Relu), &[x])
    }

    pub(crate) fn add(&mut self, a: TensorId, b: TensorId) -> TensorId {
        self.node(Operator::Binary(Binary::Add), &[a, b])
    }

    pub(crate) fn max_pool(&mut self, x: TensorId, ceil: bool) -> TensorId {
        let windows = Windows { kernel: vec![3; 2], strides: vec![2; 2], ..Windows::default() };
        let pooling = Pooling::Max { column_major: false };
        self.node(Operator::Pool(Pool { pooling, windows, ceil }), &[x])
    }

    pub(crate) fn mean(&mut self, x: TensorId) -> TensorId {
        self.node(Operator::GlobalPool(GlobalPooling::Average), &[x])
    }

    pub(crate) fn concat(&mut self, parts: &[TensorId]) -> TensorId {
        self.node(Operator::Concat { axis: 1 }, parts)
    }

    /// An inverted bottleneck: expand, depthwise, project, and the input added where that fits.
    pub(crate) fn bottleneck(&mut self, x: TensorId, from: u64, to: u64, stride: u64) -> TensorId {
        let wide = from * 6;
        let expanded = self.conv(x, from, wide, Layer::POINTWISE);
        let expanded = self.relu(expanded);
        let filtered = self.conv(expanded, wide, wide, Layer::depthwise(wide, stride));
        let filtered = self.relu(filtered);
        let projected = self.conv(filtered, wide, to, Layer::POINTWISE);
        if from == to && stride == 1 { self.add(x, projected) } else { projected }
    }

    pub(crate) fn finish(mut self, outputs: &[TensorId]) -> Model {
        self.model.body.outputs.extend(outputs);
        self.model
    }
}
