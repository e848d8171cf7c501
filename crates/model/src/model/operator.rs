//! Operators: what a node computes, as far as types and shapes depend on it.
//!
//! Operands are numbered as in the newest edition of ONNX's operators; what older editions have
//! as attributes an importer makes into stored operands. Axes may be negative, counting from the
//! end, until the rank is known.

use plimsoll_graph::Dtype;

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
    Cast(Dtype),
    /// `x, like`: converted to the type of the second.
    CastLike,
    /// The same bits as elements of another type; the last dim changes if the widths differ.
    BitCast(Dtype),
    /// `x, scale, zero?`: to the type of the zero point, else the given one, else `u8`.
    Quantize(Option<Dtype>),
    /// `x, scale, zero?`: to the given type, else that of the scale.
    Dequantize(Option<Dtype>),
    /// `x` to `y: u8, scale, zero`.
    DynamicQuantize,
    /// `x, ratio?, training?` to `y, mask?`.
    Dropout,
    /// The same.
    Identity,

    // From nowhere.
    /// `shape`: filled with one value.
    Fill {
        /// The type.
        dtype: Dtype,
        /// The value.
        value: f64,
    },
    /// `start, limit, delta`.
    Range,
    /// The shape of the operand with ones on a diagonal.
    EyeLike(Option<Dtype>),
    /// Random numbers of a shape.
    Random {
        /// The type.
        dtype: Dtype,
        /// The shape.
        dims: Vec<u64>,
    },
    /// Random numbers in the shape of the operand.
    RandomLike(Option<Dtype>),
    /// A 0 or a 1 for each element, which is how likely the 1 is.
    Bernoulli(Option<Dtype>),
    /// `logits [batch, classes]`: so many samples of each row.
    Multinomial {
        /// The type.
        dtype: Dtype,
        /// How many.
        samples: u64,
    },
    /// `length`: a window of signal processing.
    SignalWindow(Dtype),

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
    Pad,
    /// `x, dims`: cropped or padded to these lengths of these axes, or of all.
    CenterCropPad(Option<Vec<i64>>),
    /// Blocks of channels become blocks of pixels.
    DepthToSpace {
        /// Their size.
        block: u64,
    },
    /// Blocks of pixels become channels.
    SpaceToDepth {
        /// Their size.
        block: u64,
    },
    /// `x, lengths`: parts reversed.
    ReverseSequence,
    /// `x, k?`: a triangle of a matrix, the rest zero.
    Trilu,

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
    },
    /// `x, indices, updates`.
    ScatterNd,
    /// `past, update, places?`: a cache with a slice replaced.
    TensorScatter,
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
    },
    /// `x, k` to `values, indices`.
    TopK {
        /// Which axis.
        axis: i64,
    },
    /// `boxes [batch, n, 4], scores [batch, classes, n], most?, iou?, score?` to `[count, 3]`.
    NonMaxSuppression,

    // Products.
    /// As numpy's.
    MatMul,
    /// `a, b, zero a?, zero b?` to `i32`.
    MatMulInteger,
    /// `a, scale, zero, b, scale, zero, scale, zero`.
    QuantizedMatMul,
    /// `a, b, c?`.
    Gemm {
        /// Whether `a` is transposed.
        transpose_a: bool,
        /// Whether `b` is.
        transpose_b: bool,
    },
    /// Any number of tensors.
    Einsum {
        /// Such as `bij,bjk->bik`.
        equation: String,
    },
    /// `x, w, bias?`.
    Conv(Convolution),
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
    DeformConv(Convolution),
    /// `x, w, bias?, past?` to `y, present?`: a causal convolution along the last axis with the
    /// state that it goes on with.
    CausalConv,

    // Windows and images.
    /// `x` to `y, indices?`.
    Pool(Pool),
    /// Every axis but batch and channels becomes 1.
    GlobalPool,
    /// `x, indices, dims?`.
    MaxUnpool(Windows),
    /// `x, image dims, block dims`.
    Col2Im(Windows),
    /// `x, rois, batches`.
    RoiAlign {
        /// Height of the output.
        height: u64,
        /// Width of the output.
        width: u64,
    },
    /// `x, grid`.
    GridSample,
    /// `theta, size`.
    AffineGrid,
    /// `x, roi?, scales?, dims?`.
    Resize(Resize),

    // Along axes.
    /// `x, axes?`.
    Reduce(Reduce),
    /// Positions of extremes.
    ArgReduce {
        /// Along which axis.
        axis: i64,
        /// Whether it stays, as a dim of 1.
        keep_dims: bool,
    },
    /// `x, axis`: running sums or products.
    Cumulate {
        /// Whether an element is not part of its own sum.
        exclusive: bool,
    },
    /// In the type and shape of the operand, row by row along an axis: softmax, hardmax.
    Softmax,
    /// `x, scale, bias, mean, variance` to `y, mean?, variance?`.
    BatchNorm,
    /// `x, scale, bias?` to `y, mean?, inverse deviation?`.
    LayerNorm {
        /// The first axis that is normalised over.
        axis: i64,
    },
    /// `x, …` in its type and shape: instance, group and RMS norms, norms along an axis.
    Norm,
    /// `x` in its type and shape, where an element depends on channels beside it.
    LocalNorm,

    // Larger ones.
    /// `x, w, r, b?, lengths?, h?, c?, p?` to `y?, h?, c?`.
    Recurrent(Recurrence),
    /// `q, k, v, mask?, past k?, past v?, …` to `y, present k?, present v?, scores?`.
    Attention(Attention),
    /// `x, …`: turned by angles of positions, in its type and shape.
    RotaryEmbedding,
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
    Loss {
        /// Whether the losses are reduced to one.
        reduced: bool,
    },
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

/// Functions of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Unary {
    Abs,
    Ceil,
    Floor,
    Neg,
    Not,
    Reciprocal,
    Round,
    Sign,
    Sqrt,
    /// To `bool`: whether it is not a number, or infinite.
    Test,
    /// Any other of which nothing but the type and the shape has to be known.
    Other,
}

/// Functions of two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    /// With the sign of the divisor, or, as in C, with that of the dividend.
    Mod {
        as_in_c: bool,
    },
    Pow,
    And,
    Or,
    Xor,
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// In the type of the first, whose shape is that of the output too.
    Prelu,
    /// Any other, in the type of the first.
    Other,
}

/// Functions of any number of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Variadic {
    Max,
    Min,
    Sum,
    Mean,
}

/// How windows lie on the axes behind batch and channels. Empty lists mean 1s and 0s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Windows {
    /// The lengths of a window; empty if they follow from the weights.
    pub kernel: Vec<u64>,
    /// From one window to the next.
    pub strides: Vec<u64>,
    /// From one element of a window to the next.
    pub dilations: Vec<u64>,
    /// What is added at the edges.
    pub padding: Padding,
}

/// What is added at the edges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Padding {
    /// At the beginning of every axis, then at the end of every axis.
    Given(Vec<i64>),
    /// As much as makes the output as long as the input over the stride; the odd one at the end.
    SameUpper,
    /// The same with the odd one at the beginning.
    SameLower,
    /// Nothing.
    Valid,
}

impl Default for Padding {
    fn default() -> Self {
        Padding::Given(Vec::new())
    }
}

/// A convolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Convolution {
    /// How its windows lie.
    pub windows: Windows,
    /// How many groups of channels there are, at least 1.
    pub group: u64,
}

impl Default for Convolution {
    fn default() -> Self {
        Convolution { windows: Windows::default(), group: 1 }
    }
}

/// A pooling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Of what.
    pub pooling: Pooling,
    /// How its windows lie.
    pub windows: Windows,
    /// Whether a window that is cut off at the end counts.
    pub ceil: bool,
}

/// What is made of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Pooling {
    Max,
    Average,
    Lp,
}

/// An interpolation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resize {
    /// The axes that scales or dims are given for; `None` for all.
    pub axes: Option<Vec<i64>>,
    /// What dims mean.
    pub sizing: Sizing,
    /// Whether scales apply to the region of interest, not to the whole axis.
    pub crops: bool,
}

/// What the dims of an interpolation mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sizing {
    /// What they say.
    #[default]
    Exact,
    /// At most, with the proportions kept.
    NotLarger,
    /// At least, with the proportions kept.
    NotSmaller,
}

/// A reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduce {
    /// To what.
    pub function: Reduction,
    /// Whether axes stay, as dims of 1.
    pub keep_dims: bool,
    /// Whether no axes mean none; otherwise all.
    pub none_if_empty: bool,
}

/// What elements are reduced to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Reduction {
    Max,
    Min,
    Sum,
    Mean,
    Product,
    /// Any other, in the type of the operand.
    Other,
}

/// A recurrent layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recurrence {
    /// The length of the hidden state; `None` if it follows from the weights.
    pub hidden: Option<u64>,
    /// 1, or 2 for both ways.
    pub directions: u64,
    /// Whether the batch is the first axis, not the sequence.
    pub batch_first: bool,
}

/// Attention in one kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attention {
    /// Heads of queries, where they are flattened into the last axis.
    pub query_heads: u64,
    /// Heads of keys and values, likewise.
    pub key_heads: u64,
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
