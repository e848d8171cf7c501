//! Functions of one real number: which kernel is which.

use plimsoll_kernels::unary;
use plimsoll_model::Unary;

use crate::kernel::Lack;

/// The kernel of a function of one real number.
pub(crate) fn real_function(function: Unary) -> Result<unary::Unary, Lack> {
    use unary::Unary as To;
    Ok(match function {
        Unary::Abs => To::Abs,
        Unary::Acos => To::Acos,
        Unary::Acosh => To::Acosh,
        Unary::Asin => To::Asin,
        Unary::Asinh => To::Asinh,
        Unary::Atan => To::Atan,
        Unary::Atanh => To::Atanh,
        Unary::Ceil => To::Ceil,
        Unary::Celu { alpha } => To::Celu { alpha },
        Unary::Cos => To::Cos,
        Unary::Cosh => To::Cosh,
        Unary::Elu { alpha } => To::Elu { alpha },
        Unary::Erf => To::Erf,
        Unary::Exp => To::Exp,
        Unary::Floor => To::Floor,
        Unary::Gelu { tanh: false } => To::Gelu,
        Unary::Gelu { tanh: true } => To::GeluTanh,
        Unary::HardSigmoid { alpha, beta } => To::HardSigmoid { alpha, beta },
        Unary::HardSwish => To::HardSwish,
        Unary::LeakyRelu { alpha } => To::LeakyRelu { alpha },
        Unary::Log => To::Log,
        Unary::Mish => To::Mish,
        Unary::Neg => To::Neg,
        Unary::Reciprocal => To::Reciprocal,
        Unary::Relu => To::Relu,
        Unary::Round => To::Round,
        Unary::Selu { alpha, gamma } => To::Selu { alpha, gamma },
        Unary::Shrink { bias, lambda } => To::Shrink { lambda, bias },
        Unary::Sigmoid => To::Sigmoid,
        Unary::Sign => To::Sign,
        Unary::Sin => To::Sin,
        Unary::Sinh => To::Sinh,
        Unary::Softplus => To::Softplus,
        Unary::Softsign => To::Softsign,
        Unary::Sqrt => To::Sqrt,
        Unary::Swish { alpha } => To::Swish { alpha },
        Unary::Tan => To::Tan,
        Unary::Tanh => To::Tanh,
        Unary::ThresholdedRelu { alpha } => To::ThresholdedRelu { alpha },
        Unary::Affine { .. }
        | Unary::BitwiseNot
        | Unary::Clamp { .. }
        | Unary::IsInf { .. }
        | Unary::IsNan
        | Unary::Not
        | Unary::ScaledTanh { .. } => return Err("no kernel for real numbers".to_owned()),
    })
}
