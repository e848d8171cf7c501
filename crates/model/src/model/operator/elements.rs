//! Functions of single elements, and how elements are converted.

use plimsoll_graph::Dtype;

/// Functions of one element. Numbers are those of the attributes, whose defaults are filled in.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs, reason = "the names say it all, or the formula does")]
pub enum Unary {
    Abs,
    Acos,
    Acosh,
    /// `alpha * x + beta`.
    Affine {
        alpha: f32,
        beta: f32,
    },
    Asin,
    Asinh,
    Atan,
    Atanh,
    BitwiseNot,
    Ceil,
    /// `max(0, x) + min(0, alpha * (exp(x / alpha) - 1))`.
    Celu {
        alpha: f32,
    },
    /// Between two numbers that are known: what a fused activation does.
    Clamp {
        least: f32,
        most: f32,
    },
    Cos,
    Cosh,
    /// `x`, or `alpha * (exp(x) - 1)` below 0.
    Elu {
        alpha: f32,
    },
    Erf,
    Exp,
    Floor,
    /// `x * Φ(x)`, or what is taken for it: `0.5 * x * (1 + tanh(√(2/π) * (x + 0.044715 * x³)))`.
    Gelu {
        tanh: bool,
    },
    /// `max(0, min(1, alpha * x + beta))`.
    HardSigmoid {
        alpha: f32,
        beta: f32,
    },
    /// `x * max(0, min(1, x / 6 + 0.5))`.
    HardSwish,
    /// To `bool`: whether it is infinite, of a sign that counts.
    IsInf {
        negative: bool,
        positive: bool,
    },
    /// To `bool`.
    IsNan,
    /// `x`, or `alpha * x` below 0.
    LeakyRelu {
        alpha: f32,
    },
    Log,
    /// `x * tanh(softplus(x))`.
    Mish,
    Neg,
    Not,
    Reciprocal,
    Relu,
    /// Halves to the even neighbour.
    Round,
    /// `alpha * tanh(beta * x)`.
    ScaledTanh {
        alpha: f32,
        beta: f32,
    },
    /// `gamma * x`, or `gamma * alpha * (exp(x) - 1)` at and below 0.
    Selu {
        alpha: f32,
        gamma: f32,
    },
    /// `x + bias` below `-lambda`, `x - bias` above `lambda`, 0 between.
    Shrink {
        bias: f32,
        lambda: f32,
    },
    Sigmoid,
    Sign,
    Sin,
    Sinh,
    /// `ln(exp(x) + 1)`.
    Softplus,
    /// `x / (1 + |x|)`.
    Softsign,
    Sqrt,
    /// `x * sigmoid(alpha * x)`.
    Swish {
        alpha: f32,
    },
    Tan,
    Tanh,
    /// `x` above `alpha`, else 0.
    ThresholdedRelu {
        alpha: f32,
    },
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
    /// In the type of the first, whose shape is that of the output too: `x`, or `slope * x` below 0.
    Prelu,
    BitwiseAnd,
    BitwiseOr,
    BitwiseXor,
    /// Of unsigned integers.
    ShiftLeft,
    /// Of unsigned integers.
    ShiftRight,
    /// [`Gelu`](Unary::Gelu) of the sum.
    AddGelu {
        tanh: bool,
    },
    /// `a, b, a scale, a zero, b scale, b zero, y scale, y zero`: of what is quantized.
    QuantizedAdd,
    /// The same operands.
    QuantizedMul,
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

/// How numbers become those of a type that has fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// Whether what is beyond the largest number of 8 bits becomes that, not infinite or none.
    pub saturate: bool,
    /// Where powers of two are rounded to, of the type that has nothing else.
    pub round: Rounding,
}

impl Default for Conversion {
    fn default() -> Self {
        Conversion { saturate: true, round: Rounding::Up }
    }
}

/// Where to a number between two others is rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Rounding {
    #[default]
    Up,
    Down,
    Nearest,
}

/// What is quantized by one scale, and in which types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantization {
    /// The type of the result, where it is said.
    pub dtype: Option<Dtype>,
    /// The axis along which scales change, if there are several.
    pub axis: i64,
    /// How many elements of that axis have one scale; 0 for one scale each, or one for all.
    pub block: u64,
    /// As in a [`Conversion`].
    pub saturate: bool,
    /// The type in which is divided, if it is not that of the scale.
    pub precision: Option<Dtype>,
}

impl Default for Quantization {
    fn default() -> Self {
        Quantization { dtype: None, axis: 1, block: 0, saturate: true, precision: None }
    }
}
