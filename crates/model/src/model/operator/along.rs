//! Along axes: reductions, softmax, norms.

use plimsoll_graph::Dtype;

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
    /// `Σ |x|`.
    L1,
    /// `√(Σ x²)`.
    L2,
    /// `ln(Σ x)`.
    LogSum,
    /// `ln(Σ exp(x))`.
    LogSumExp,
    /// `Σ x²`.
    SumSquare,
}

/// Positions of extremes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArgReduce {
    /// Along which axis.
    pub axis: i64,
    /// Whether it stays, as a dim of 1.
    pub keep_dims: bool,
    /// Of the largest, not the smallest.
    pub largest: bool,
    /// The last of several, not the first.
    pub last: bool,
}

/// Running sums or products.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cumulate {
    /// Products, not sums.
    pub product: bool,
    /// Whether an element is not part of its own sum.
    pub exclusive: bool,
    /// From the end.
    pub reverse: bool,
}

/// A softmax and its like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Softmax {
    /// Which.
    pub function: RowFunction,
    /// Along which axis.
    pub axis: i64,
    /// Whether the axes behind it belong to the row too, as in editions before 13.
    pub to_end: bool,
}

impl Softmax {
    /// A softmax along one axis.
    #[must_use]
    pub fn along(axis: i64) -> Self {
        Softmax { function: RowFunction::Softmax, axis, to_end: false }
    }
}

/// What is made of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum RowFunction {
    Softmax,
    LogSoftmax,
    /// 1 at the first of the largest, else 0.
    Hardmax,
}

/// A batch normalisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchNorm {
    /// What is added to variances.
    pub epsilon: f32,
    /// How much of the old mean and variance is kept in training.
    pub momentum: f32,
    /// Whether mean and variance are those of the batch, not the operands.
    pub training: bool,
}

impl Default for BatchNorm {
    fn default() -> Self {
        BatchNorm { epsilon: 1e-5, momentum: 0.9, training: false }
    }
}

/// A normalisation of rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNorm {
    /// The first axis that is normalised over.
    pub axis: i64,
    /// What is added to variances.
    pub epsilon: f32,
    /// The type in which is reckoned.
    pub stash: Dtype,
}

impl Default for LayerNorm {
    fn default() -> Self {
        LayerNorm { axis: -1, epsilon: 1e-5, stash: Dtype::F32 }
    }
}

/// Other norms.
#[derive(Clone, Debug, PartialEq)]
pub enum Norm {
    /// `x, scale, bias`: every channel of every batch by itself.
    Instance {
        /// What is added to variances.
        epsilon: f32,
    },
    /// `x, scale, bias`: every group of channels of every batch by itself.
    Group {
        /// How many groups there are.
        groups: u64,
        /// What is added to variances.
        epsilon: f32,
        /// The type in which is reckoned.
        stash: Dtype,
        /// Whether scale and bias are one number for a group, not for a channel: before edition 21.
        by_group: bool,
    },
    /// `x, scale`: rows from an axis on, by the root of the mean of squares.
    Rms {
        /// The first axis that is normalised over.
        axis: i64,
        /// What is added to means of squares.
        epsilon: f32,
        /// The type in which is reckoned.
        stash: Dtype,
    },
    /// `x`: by the length of rows along one axis.
    Lp {
        /// Which axis.
        axis: i64,
        /// 1 for the sum of absolute values, 2 for the root of the sum of squares.
        p: i64,
    },
    /// `x`: to mean 0 and variance 1 over axes, with 1e-9 added to the deviation.
    MeanVariance {
        /// Over which axes.
        axes: Vec<i64>,
    },
}

/// A norm by the channels beside: `x / (bias + alpha / size * Σ x²)^beta`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the formula says it")]
pub struct LocalNorm {
    pub alpha: f32,
    pub beta: f32,
    pub bias: f32,
    /// How many channels are summed up.
    pub size: u64,
}

impl Default for LocalNorm {
    fn default() -> Self {
        LocalNorm { alpha: 1e-4, beta: 0.75, bias: 1.0, size: 1 }
    }
}

/// `x, skip, scale, shift?, bias?` to `y, mean?, inverse deviation?, sum?`: the sum of `x`, `skip` and
/// `bias`, normalised over the last axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkipNorm {
    /// What is added to variances.
    pub epsilon: f32,
    /// Whether no mean is taken off: by the root of the mean of squares.
    pub rms: bool,
}
