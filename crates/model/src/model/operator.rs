//! Operators: what a node computes, with every attribute that it depends on.
//!
//! Operands are numbered as in the newest edition of ONNX's operators; what older editions have
//! as attributes an importer makes into stored operands. Axes may be negative, counting from the
//! end, until the rank is known.

mod along;
mod elements;
mod images;
mod larger;
mod layout;
mod made;
mod windows;

use plimsoll_graph::Dtype;

pub use self::along::{
    ArgReduce, BatchNorm, Cumulate, LayerNorm, LocalNorm, Norm, Reduce, Reduction, RowFunction,
    SkipNorm, Softmax,
};
pub use self::elements::{Binary, Conversion, Quantization, Rounding, Unary, Variadic};
pub use self::images::{
    Beyond, Coordinates, GridSample, Interpolation, Nearest, Resize, RoiAlign, RoiPooling,
    Sampling, Sizing,
};
pub use self::larger::{
    Attention, Cell, Direction, FusedConv, FusedMatMul, Gemm, Loss, LossReduction, Recurrence,
    RotaryEmbedding, Scores,
};
pub use self::layout::{DepthOrder, PadMode, Update};
pub use self::made::{Distribution, Random, SignalWindow, WindowForm};
pub use self::windows::{Convolution, GlobalPooling, Padding, Pool, Pooling, Windows};
use super::Body;

/// What a node computes.
#[derive(Clone, Debug, PartialEq)]
pub enum Operator {
    // Element by element.
    /// One element in, one out, of the same type.
    Unary(Unary),
    /// Elements broadcast against each other.
    Binary(Binary),
    /// Any number of tensors broadcast against each other.
    Variadic(Variadic),
    /// `condition, then, else`, broadcast.
    Where,
    /// `x, least?, most?`.
    Clip,
    /// Converted to a type.
    Cast {
        /// Which.
        to: Dtype,
        /// How.
        conversion: Conversion,
    },
    /// `x, like`: converted to the type of the second.
    CastLike(Conversion),
    /// The same bits as elements of another type; the last dim changes if the widths differ.
    BitCast(Dtype),
    /// `x, scale, zero?`: to the type of the zero point, else the given one, else `u8`.
    Quantize(Quantization),
    /// `x, scale, zero?`: to the given type, else that of the scale.
    Dequantize(Quantization),
    /// `x` to `y: u8, scale, zero`.
    DynamicQuantize,
    /// `x, scale, zero, y scale, y zero`: a function of what is quantized.
    QuantizedUnary(Unary),
    /// `x, ratio?, training?` to `y, mask?`.
    Dropout {
        /// Whether the mask has the type of the operand, not truth values: before edition 10.
        early_mask: bool,
    },
    /// The same.
    Identity,

    // From nowhere.
    /// `shape`: filled with one value.
    Fill {
        /// The type.
        dtype: Dtype,
        /// The value, as far as it is reckoned with: not a number for types of which nobody does.
        value: f64,
        /// The bits of one element, the lowest first.
        bits: u128,
    },
    /// `start, limit, delta`.
    Range,
    /// The shape of the operand with ones on a diagonal.
    EyeLike {
        /// The type, if it is not that of the operand.
        dtype: Option<Dtype>,
        /// Which diagonal: 0 is the main one, those above it are positive.
        k: i64,
    },
    /// Random numbers of a shape.
    Random {
        /// Which.
        random: Random,
        /// The shape.
        dims: Vec<u64>,
    },
    /// Random numbers in the shape of the operand, and in its type if none is said.
    RandomLike(Random),
    /// A 0 or a 1 for each element, which is how likely the 1 is.
    Bernoulli {
        /// The type, if it is not that of the operand.
        dtype: Option<Dtype>,
        /// What random numbers begin with, where it is said.
        seed: Option<f32>,
    },
    /// `logits [batch, classes]`: so many samples of each row.
    Multinomial {
        /// The type.
        dtype: Dtype,
        /// How many.
        samples: u64,
        /// What random numbers begin with, where it is said.
        seed: Option<f32>,
    },
    /// `length`: a window of signal processing.
    SignalWindow(SignalWindow),

    // About shapes.
    /// The dims from one axis to before another, as `i64`.
    Shape {
        /// The first axis.
        start: i64,
        /// The first that is left out; `None` for the rank.
        end: Option<i64>,
    },
    /// The number of elements, as an `i64`.
    Size,

    // The same elements, elsewhere.
    /// `x, dims`: a 0 copies the input's dim, unless zeros are allowed; a -1 is worked out.
    Reshape {
        /// Whether a 0 means 0.
        allow_zero: bool,
    },
    /// `x, axes?`.
    Squeeze,
    /// `x, axes`.
    Unsqueeze,
    /// Two dims: those before the axis and the others.
    Flatten {
        /// Which.
        axis: i64,
    },
    /// Axes permuted; reversed without a permutation.
    Transpose(Option<Vec<usize>>),
    /// `x, starts, ends, axes?, steps?`.
    Slice,
    /// `x, lengths?`: parts of equal lengths (the last may be shorter) if none are given.
    Split {
        /// Which axis.
        axis: i64,
    },
    /// Any number of tensors along an axis.
    Concat {
        /// Which axis.
        axis: i64,
    },
    /// `x, dims`: broadcast both ways.
    Expand,
    /// `x, repeats`.
    Tile,
    /// `x, pads, value?, axes?`.
    Pad(PadMode),
    /// `x, dims`: cropped or padded to these lengths of these axes, or of all.
    CenterCropPad(Option<Vec<i64>>),
    /// Blocks of channels become blocks of pixels.
    DepthToSpace {
        /// Their size.
        block: u64,
        /// Which channels they are.
        order: DepthOrder,
    },
    /// Blocks of pixels become channels.
    SpaceToDepth {
        /// Their size.
        block: u64,
    },
    /// `x, lengths`: the first so many elements of each batch reversed.
    ReverseSequence {
        /// The axis of batches, 0 or 1.
        batch_axis: i64,
        /// The axis along which they are reversed, the other one.
        time_axis: i64,
    },
    /// `x, k?`: a triangle of a matrix, the rest zero.
    Trilu {
        /// Whether it is the upper one.
        upper: bool,
    },

    // At computed places.
    /// `x, indices`: slices of an axis.
    Gather {
        /// Which axis.
        axis: i64,
    },
    /// `x, indices`: one element each.
    GatherElements {
        /// Which axis.
        axis: i64,
    },
    /// `x, indices`: slices at coordinates.
    GatherNd {
        /// How many leading axes both have in common.
        batch_dims: u64,
    },
    /// `x, indices, updates`.
    ScatterElements {
        /// Which axis.
        axis: i64,
        /// What an update does.
        update: Update,
    },
    /// `x, indices, updates`.
    ScatterNd(Update),
    /// `past, update, places?`: a cache with a slice replaced, from 0 on without places.
    TensorScatter {
        /// Along which axis.
        axis: i64,
        /// Whether it goes on at the beginning behind the end.
        circular: bool,
    },
    /// `indices, depth, values`.
    OneHot {
        /// Where the new axis is.
        axis: i64,
    },
    /// `x` to `[rank, count]`.
    NonZero,
    /// `x, condition`: of the flattened tensor without an axis.
    Compress {
        /// Which axis.
        axis: Option<i64>,
    },
    /// `x` to `y, first?, inverse?, counts?`: of the flattened tensor without an axis.
    Unique {
        /// Which axis.
        axis: Option<i64>,
        /// Whether they are sorted, not in the order of the input.
        sorted: bool,
    },
    /// `x, k` to `values, indices`.
    TopK {
        /// Which axis.
        axis: i64,
        /// Of the largest, not the smallest.
        largest: bool,
        /// Whether they are sorted.
        sorted: bool,
    },
    /// `boxes [batch, n, 4], scores [batch, classes, n], most?, iou?, score?` to `[count, 3]`.
    NonMaxSuppression {
        /// Whether boxes are their middles and sizes, not two corners.
        centered: bool,
    },

    // Products.
    /// As numpy's.
    MatMul,
    /// `a, b`: transposed first, and with what follows.
    FusedMatMul(FusedMatMul),
    /// `a, b, scale, zero?, bias?`: `a` is quantized first, as by [`DynamicQuantize`](Self::DynamicQuantize).
    DynamicQuantizedMatMul,
    /// `a, b, zero a?, zero b?` to `i32`.
    MatMulInteger,
    /// `a, scale, zero, b, scale, zero, scale, zero`.
    QuantizedMatMul,
    /// `a, b, c?`.
    Gemm(Gemm),
    /// The same operands.
    FusedGemm {
        /// The product.
        gemm: Gemm,
        /// What follows.
        activation: Unary,
    },
    /// Any number of tensors.
    Einsum {
        /// Such as `bij,bjk->bik`.
        equation: String,
    },
    /// `x, w, bias?`.
    Conv(Convolution),
    /// `x, w, bias?, more?`.
    FusedConv(Box<FusedConv>),
    /// `x, w, zero x?, zero w?` to `i32`.
    ConvInteger(Convolution),
    /// `x, scale, zero, w, scale, zero, scale, zero, bias?`.
    QuantizedConv(Convolution),
    /// `x, w, bias?`.
    ConvTranspose {
        /// The windows, as those of the convolution that goes the other way.
        conv: Convolution,
        /// What is added to one side of each axis.
        output_padding: Vec<u64>,
        /// The lengths of axes, if they are given.
        output_dims: Option<Vec<u64>>,
    },
    /// `x, w, offset, bias?, mask?`.
    DeformConv {
        /// The windows.
        conv: Convolution,
        /// How many groups of channels have offsets of their own.
        offset_groups: u64,
    },
    /// `x, w, bias?, past?` to `y, present?`: a causal convolution along the last axis with the
    /// state that it goes on with, and with what follows.
    CausalConv(Option<Unary>),

    // Windows and images.
    /// `x` to `y, indices?`.
    Pool(Pool),
    /// `x, scale, zero, y scale, y zero`.
    QuantizedPool(Pool),
    /// Every axis but batch and channels becomes 1.
    GlobalPool(GlobalPooling),
    /// `x, scale, zero, y scale, y zero`.
    QuantizedGlobalPool(GlobalPooling),
    /// `x, indices, dims?`.
    MaxUnpool(Windows),
    /// `x, image dims, block dims`.
    Col2Im(Windows),
    /// `x, rois, batches`.
    RoiAlign(RoiAlign),
    /// `x, rois [n, 5]`: the largest of each bin, of the image that the first number of a region says.
    MaxRoiPool {
        /// Height of the output.
        height: u64,
        /// Width of the output.
        width: u64,
        /// From coordinates of regions to those of the input.
        spatial_scale: f32,
    },
    /// `x, grid`.
    GridSample(GridSample),
    /// `theta, size`.
    AffineGrid {
        /// Whether -1 and 1 are the middles of the outermost elements, not their edges.
        align_corners: bool,
    },
    /// `x, roi?, scales?, dims?`.
    Resize(Resize),

    // Along axes.
    /// `x, axes?`.
    Reduce(Reduce),
    /// Positions of extremes.
    ArgReduce(ArgReduce),
    /// `x, axis`: running sums or products.
    Cumulate(Cumulate),
    /// In the type and shape of the operand, row by row.
    Softmax(Softmax),
    /// `x, scale, bias, mean, variance` to `y, mean?, variance?`.
    BatchNorm(BatchNorm),
    /// `x, scale, bias?` to `y, mean?, inverse deviation?`.
    LayerNorm(LayerNorm),
    /// `x, …` in its type and shape.
    Norm(Norm),
    /// `x, skip, scale, shift?, bias?` to `y, mean?, inverse deviation?, sum?`.
    SkipNorm(SkipNorm),
    /// `x` in its type and shape, where an element depends on channels beside it.
    LocalNorm(LocalNorm),

    // Larger ones.
    /// `x, w, r, b?, lengths?, h?, c?, p?` to `y?, h?, c?`.
    Recurrent(Recurrence),
    /// `q, k, v, mask?, past k?, past v?, …` to `y, present k?, present v?, scores?`.
    Attention(Attention),
    /// `x, cosines, sines, positions?`: turned by angles of positions, in its type and shape.
    RotaryEmbedding(RotaryEmbedding),
    /// `x, length?, axis?`: one transform along an axis.
    Fourier {
        /// Whether only half of the spectrum is kept.
        one_sided: bool,
        /// Whether it goes back.
        inverse: bool,
    },
    /// `signal, step, window?, length?`.
    ShortFourier {
        /// Whether only half of the spectrum is kept.
        one_sided: bool,
    },
    /// `bins, length, rate, low, high`.
    MelWeights(Dtype),
    /// `scores, labels, weights?` to `loss, log probabilities?`.
    Loss(Loss),
    /// The determinants of matrices.
    Det,

    // Control.
    /// `condition`.
    If(Box<Branches>),
    /// `trips?, condition?, carried…` to `carried…, collected…`. The body has
    /// `trip, condition, carried…` to `condition, carried…, collected…`.
    Loop(Box<Body>),
    /// `state…, sequences…` to `state…, collected…`. The body has `state…, elements…` to
    /// `state…, collected…`.
    Scan(Box<Iteration>),

    /// Anything else.
    Custom(Custom),
}

impl Operator {
    /// Converted to a type, as it is if nothing else is said.
    #[must_use]
    pub fn cast(to: Dtype) -> Self {
        Operator::Cast { to, conversion: Conversion::default() }
    }
}

/// What runs if a condition holds, and if not.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it all")]
pub struct Branches {
    pub then: Body,
    pub otherwise: Body,
}

/// A body that runs once for each element of sequences.
#[derive(Clone, Debug, PartialEq)]
pub struct Iteration {
    /// What runs.
    pub body: Body,
    /// How many of the operands are sequences: the last ones.
    pub sequences: usize,
    /// The axis of each sequence.
    pub input_axes: Vec<i64>,
    /// The axis along which each collected result is put together.
    pub output_axes: Vec<i64>,
    /// Of each sequence, whether it is gone through from the end.
    pub input_reversed: Vec<bool>,
    /// Of each collected result, whether it is put together from the end.
    pub output_reversed: Vec<bool>,
}

/// An operator that is not ours.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Custom {
    /// For every output the input whose type and shape it has, where that is known.
    pub like: Vec<Option<usize>>,
    /// What is known of what it does to memory.
    pub effects: Effects,
}

/// What is known of what an operator of somebody else does to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effects {
    /// Nothing: it shares nothing.
    #[default]
    Unknown,
    /// Output 0 is made element by element, or row by row, from inputs of its shape.
    Elementwise,
}
