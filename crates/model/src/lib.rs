//! Models: operators on tensors before any shape is known, and how their shapes are found.
//!
//! An importer makes a [`Model`]. [`facts`] goes through it node by node. Of every tensor it keeps a
//! [`Fact`](plimsoll_graph::Fact): its type, its shape and, if they are few and follow from what is
//! known, its elements, since shapes are themselves computed by nodes. `rules` says what follows for the
//! type and shape of a node's outputs, one kind of operators after the other; `arithmetic` says what
//! follows for their elements. [`infer`] makes a [`Graph`](plimsoll_graph::Graph) of what was found, and
//! [`range`] does so for all sizes of a range of dims at once.

mod arithmetic;
mod fused;
mod infer;
mod lower;
mod model;
mod op_class;
pub mod range;
mod rules;
#[cfg(feature = "testing")]
pub mod testing;
mod weights;
mod wiring;

pub use fused::{
    AllKernels, BLOCK_ROWS, Form, FusedAccesses, FusedFault, FusedKernels, FusedStep, Fusing, Role,
};
pub use infer::{BindingFault, Bindings, Branch, Order, Refused, ShapeError, Step, facts, statics};
pub use lower::{FusedGraph, FusedGraphError, Inferred, infer};
pub use model::{
    ArgReduce, Attention, Axis, BatchNorm, Beyond, Binary, Body, Branches, Cell, Content,
    Conversion, Convolution, Coordinates, Cumulate, Custom, DepthOrder, Direction, Distribution,
    Effects, FusedConv, FusedMatMul, Gemm, GlobalPooling, GridSample, Interpolation, Iteration,
    LayerNorm, LocalNorm, Loss, LossReduction, Model, ModelNode, Nearest, Norm, Operator, Origin,
    PadMode, Padding, Pool, Pooling, Quantization, Random, Recurrence, Reduce, Reduction, Resize,
    RoiAlign, RoiPooling, RotaryEmbedding, Rounding, RowFunction, Sampling, Scores, SignalWindow,
    Sizing, SkipNorm, Softmax, Tensor, TensorId, Unary, Update, Variadic, WindowForm, Windows,
};
pub use weights::{WeightError, Weights, stored_bytes, stored_size};
pub use wiring::Wiring;
