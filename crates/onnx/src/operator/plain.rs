//! Operators that are known by their names alone.

use plimsoll_model::{Binary, Operator, Unary, Variadic};

/// The operator of a name, if no attribute and no edition matters.
pub(super) fn read(kind: &str) -> Option<Operator> {
    let unary = unary(kind).map(Operator::Unary);
    let binary = || binary(kind).map(Operator::Binary);
    let variadic = || variadic(kind).map(Operator::Variadic);
    unary.or_else(binary).or_else(variadic).or_else(|| other(kind))
}

fn unary(kind: &str) -> Option<Unary> {
    Some(match kind {
        "Abs" => Unary::Abs,
        "Ceil" => Unary::Ceil,
        "Floor" => Unary::Floor,
        "Neg" => Unary::Neg,
        "Not" => Unary::Not,
        "Reciprocal" => Unary::Reciprocal,
        "Round" => Unary::Round,
        "Sign" => Unary::Sign,
        "Sqrt" => Unary::Sqrt,
        "IsInf" | "IsNaN" => Unary::Test,
        "Acos" | "Acosh" | "Asin" | "Asinh" | "Atan" | "Atanh" | "BitwiseNot" | "Celu" | "Cos"
        | "Cosh" | "Elu" | "Erf" | "Exp" | "Gelu" | "HardSigmoid" | "HardSwish" | "LeakyRelu"
        | "Log" | "Mish" | "Relu" | "Selu" | "Shrink" | "Sigmoid" | "Sin" | "Sinh" | "Softplus"
        | "Softsign" | "Swish" | "Tan" | "Tanh" | "ThresholdedRelu" => Unary::Other,
        _ => return None,
    })
}

fn binary(kind: &str) -> Option<Binary> {
    Some(match kind {
        "Add" => Binary::Add,
        "Sub" => Binary::Sub,
        "Mul" => Binary::Mul,
        "Div" => Binary::Div,
        "Pow" => Binary::Pow,
        "And" => Binary::And,
        "Or" => Binary::Or,
        "Xor" => Binary::Xor,
        "Equal" => Binary::Equal,
        "Less" => Binary::Less,
        "LessOrEqual" => Binary::LessOrEqual,
        "Greater" => Binary::Greater,
        "GreaterOrEqual" => Binary::GreaterOrEqual,
        "PRelu" => Binary::Prelu,
        "BitShift" | "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" => Binary::Other,
        _ => return None,
    })
}

fn variadic(kind: &str) -> Option<Variadic> {
    Some(match kind {
        "Max" => Variadic::Max,
        "Min" => Variadic::Min,
        "Sum" => Variadic::Sum,
        "Mean" => Variadic::Mean,
        _ => return None,
    })
}

fn other(kind: &str) -> Option<Operator> {
    Some(match kind {
        "Where" => Operator::Where,
        "CastLike" => Operator::CastLike,
        "DynamicQuantizeLinear" => Operator::DynamicQuantize,
        // Of a tensor, as which optional values are read, these are the same.
        "Identity" | "OptionalGetElement" => Operator::Identity,
        "Range" => Operator::Range,
        "Size" => Operator::Size,
        "Expand" => Operator::Expand,
        "Tile" => Operator::Tile,
        "ReverseSequence" => Operator::ReverseSequence,
        "Trilu" => Operator::Trilu,
        "ScatterND" => Operator::ScatterNd,
        "TensorScatter" => Operator::TensorScatter,
        "NonZero" => Operator::NonZero,
        "NonMaxSuppression" => Operator::NonMaxSuppression,
        "MatMul" => Operator::MatMul,
        "MatMulInteger" => Operator::MatMulInteger,
        "QLinearMatMul" => Operator::QuantizedMatMul,
        "CausalConvWithState" => Operator::CausalConv,
        "GlobalAveragePool" | "GlobalLpPool" | "GlobalMaxPool" => Operator::GlobalPool,
        "GridSample" => Operator::GridSample,
        "AffineGrid" => Operator::AffineGrid,
        "Hardmax" | "LogSoftmax" | "Softmax" => Operator::Softmax,
        "GroupNormalization"
        | "InstanceNormalization"
        | "LpNormalization"
        | "MeanVarianceNormalization"
        | "RMSNormalization" => Operator::Norm,
        "LRN" => Operator::LocalNorm,
        "RotaryEmbedding" => Operator::RotaryEmbedding,
        "Det" => Operator::Det,
        _ => return None,
    })
}
