//! Operators that are known by their names alone.

use plimsoll_model::{Binary, GlobalPooling, Operator, Unary, Variadic};

/// The operator of a name, if no attribute and no edition matters.
pub(super) fn read(kind: &str) -> Option<Operator> {
    let unary = unary(kind).map(Operator::Unary);
    let binary = || binary(kind).map(Operator::Binary);
    let variadic = || variadic(kind).map(Operator::Variadic);
    unary.or_else(binary).or_else(variadic).or_else(|| other(kind))
}

/// The function of a name that has no attributes.
pub(super) fn unary(kind: &str) -> Option<Unary> {
    Some(match kind {
        "Abs" => Unary::Abs,
        "Acos" => Unary::Acos,
        "Acosh" => Unary::Acosh,
        "Asin" => Unary::Asin,
        "Asinh" => Unary::Asinh,
        "Atan" => Unary::Atan,
        "Atanh" => Unary::Atanh,
        "BitwiseNot" => Unary::BitwiseNot,
        "Ceil" => Unary::Ceil,
        "Cos" => Unary::Cos,
        "Cosh" => Unary::Cosh,
        "Erf" => Unary::Erf,
        "Exp" => Unary::Exp,
        "Floor" => Unary::Floor,
        "HardSwish" => Unary::HardSwish,
        "IsNaN" => Unary::IsNan,
        "Log" => Unary::Log,
        "Mish" => Unary::Mish,
        "Neg" => Unary::Neg,
        "Not" => Unary::Not,
        "Reciprocal" => Unary::Reciprocal,
        "Relu" => Unary::Relu,
        "Round" => Unary::Round,
        "Sigmoid" => Unary::Sigmoid,
        "Sign" => Unary::Sign,
        "Sin" => Unary::Sin,
        "Sinh" => Unary::Sinh,
        "Softplus" => Unary::Softplus,
        "Softsign" => Unary::Softsign,
        "Sqrt" => Unary::Sqrt,
        "Tan" => Unary::Tan,
        "Tanh" => Unary::Tanh,
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
        "BitwiseAnd" => Binary::BitwiseAnd,
        "BitwiseOr" => Binary::BitwiseOr,
        "BitwiseXor" => Binary::BitwiseXor,
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
        "DynamicQuantizeLinear" => Operator::DynamicQuantize,
        // Of a tensor, as which optional values are read, these are the same.
        "Identity" | "OptionalGetElement" => Operator::Identity,
        "Range" => Operator::Range,
        "Size" => Operator::Size,
        "Expand" => Operator::Expand,
        "Tile" => Operator::Tile,
        "NonZero" => Operator::NonZero,
        "MatMul" => Operator::MatMul,
        "MatMulInteger" => Operator::MatMulInteger,
        "QLinearMatMul" => Operator::QuantizedMatMul,
        "GlobalAveragePool" => Operator::GlobalPool(GlobalPooling::Average),
        "GlobalMaxPool" => Operator::GlobalPool(GlobalPooling::Max),
        "Det" => Operator::Det,
        _ => return None,
    })
}
