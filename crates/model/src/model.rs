//! A model before its shapes are known: operators on tensors.
//!
//! This is what importers make. It says exactly what every node computes, as far as types, shapes
//! and the arithmetic of shapes depend on it, and leaves open how large anything is:
//! [`shape`](plimsoll_graph::shape) finds that out, and makes a [`Graph`](plimsoll_graph::Graph) of it, which is what
//! is planned.
//!
//! Bodies of control flow are part of the node that runs them. All tensors, those inside bodies
//! too, are in one table, so that a body reads what is outside of it without further ado.

mod operator;
mod tensor;

pub use operator::{
    ArgReduce, Attention, BatchNorm, Beyond, Binary, Branches, Cell, Conversion, Convolution,
    Coordinates, Cumulate, Custom, DepthOrder, Direction, Distribution, Effects, FusedConv,
    FusedMatMul, Gemm, GlobalPooling, GridSample, Interpolation, Iteration, LayerNorm, LocalNorm,
    Loss, LossReduction, Nearest, Norm, Operator, PadMode, Padding, Pool, Pooling, Quantization,
    Random, Recurrence, Reduce, Reduction, Resize, RoiAlign, RoiPooling, RotaryEmbedding, Rounding,
    RowFunction, Sampling, Scores, SignalWindow, Sizing, SkipNorm, Softmax, Unary, Update,
    Variadic, WindowForm, Windows,
};
pub use tensor::{Axis, Content, Origin, Tensor, TensorId};

/// Operators on tensors.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Model {
    /// Every tensor, by [`TensorId`].
    pub tensors: Vec<Tensor>,
    /// What runs.
    pub body: Body,
}

/// Nodes with a boundary: a whole model, or what a branch or an iteration runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Body {
    /// What is handed in.
    pub inputs: Vec<TensorId>,
    /// What is handed out. The same tensor may be listed twice.
    pub outputs: Vec<TensorId>,
    /// What runs, in the order in which it is listed where it comes from.
    pub nodes: Vec<ModelNode>,
}

/// An operator on tensors.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelNode {
    /// Any text, but not empty; no two nodes of a model have the same.
    pub name: String,
    /// What the operator is called where it comes from.
    pub kind: String,
    /// What it computes.
    pub operator: Operator,
    /// What it reads; `None` for an optional operand that is absent.
    pub inputs: Vec<Option<TensorId>>,
    /// What it makes; `None` for an optional result that nobody wants.
    pub outputs: Vec<Option<TensorId>>,
}

impl ModelNode {
    /// The bodies that it runs: those of both branches, or that of an iteration.
    #[must_use]
    pub fn bodies(&self) -> Vec<&Body> {
        match &self.operator {
            Operator::If(branches) => vec![&branches.then, &branches.otherwise],
            Operator::Loop(body) => vec![body],
            Operator::Scan(iteration) => vec![&iteration.body],
            _ => Vec::new(),
        }
    }
}

impl Model {
    /// One tensor.
    #[must_use]
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.index()]
    }

    /// Adds a tensor.
    pub fn add(&mut self, tensor: Tensor) -> TensorId {
        let id = TensorId::new(self.tensors.len());
        self.tensors.push(tensor);
        id
    }
}
