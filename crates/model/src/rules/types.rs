//! Which types operands must have for a node to run at all.
//!
//! Only what the text of the operators says of all their editions; of a type that is not known nothing
//! is said. The `match` has no wildcard, so that a new operator does not compile until it is looked at.

use plimsoll_graph::{Class, Dtype};

use super::Inputs;
use super::operands::optional;
use crate::model::{Binary, Operator, Unary};

/// An error if operands are not of the types that they must be of.
#[allow(clippy::too_many_lines, reason = "a table with a line for each operator")]
pub(super) fn check(operator: &Operator, inputs: &Inputs<'_>) -> Result<(), String> {
    match operator {
        Operator::Unary(Unary::Not) | Operator::If(_) => truths(inputs, &[0]),
        Operator::Binary(Binary::And | Binary::Or | Binary::Xor) => truths(inputs, &[0, 1]),
        Operator::Binary(
            Binary::Add
            | Binary::Sub
            | Binary::Mul
            | Binary::Div
            | Binary::Mod { .. }
            | Binary::Equal
            | Binary::Less
            | Binary::LessOrEqual
            | Binary::Greater
            | Binary::GreaterOrEqual
            | Binary::Prelu
            | Binary::BitwiseAnd
            | Binary::BitwiseOr
            | Binary::BitwiseXor
            | Binary::QuantizedAdd
            | Binary::QuantizedMul,
        )
        | Operator::TensorScatter { .. }
        | Operator::MatMul
        | Operator::FusedMatMul(_) => one(inputs, &[0, 1]),
        Operator::Variadic(_)
        | Operator::Concat { .. }
        | Operator::Einsum { .. }
        | Operator::Range => one(inputs, &(0..inputs.len()).collect::<Vec<_>>()),
        Operator::Where => truths(inputs, &[0]).and_then(|()| one(inputs, &[1, 2])),
        // Limits that older editions have as attributes are stored as `f32`.
        Operator::Clip => one_class(inputs, &[0, 1, 2]),
        Operator::Pad(_) => one_class(inputs, &[0, 2]).and_then(|()| whole(inputs, &[1, 3])),
        Operator::Gemm(_)
        | Operator::FusedGemm { .. }
        | Operator::Conv(_)
        | Operator::ConvTranspose { .. } => one(inputs, &[0, 1, 2]),
        Operator::FusedConv(_) => one(inputs, &[0, 1, 2, 3]),
        Operator::DeformConv { .. } => one(inputs, &[0, 1, 2, 3, 4]),
        Operator::ScatterElements { .. } | Operator::ScatterNd(_) => {
            one(inputs, &[0, 2]).and_then(|()| whole(inputs, &[1]))
        }
        Operator::Dequantize(_) => one(inputs, &[0, 2]),
        Operator::BatchNorm(_) => one(inputs, &[1, 2]).and_then(|()| one(inputs, &[3, 4])),
        Operator::Recurrent(_) => one(inputs, &[0, 1, 2, 3, 5, 6, 7]),
        Operator::Slice => one(inputs, &[1, 2, 3, 4]).and_then(|()| whole(inputs, &[1])),
        Operator::Fill { .. } => whole(inputs, &[0]),
        Operator::Reshape { .. }
        | Operator::Squeeze
        | Operator::Unsqueeze
        | Operator::Split { .. }
        | Operator::Expand
        | Operator::Tile
        | Operator::CenterCropPad(_)
        | Operator::Gather { .. }
        | Operator::GatherElements { .. }
        | Operator::GatherNd { .. }
        | Operator::TopK { .. }
        | Operator::Reduce(_)
        | Operator::Cumulate(_)
        | Operator::Trilu { .. }
        | Operator::MaxUnpool(_) => whole(inputs, &[1]),
        Operator::Compress { .. } => truths(inputs, &[1]),
        Operator::RoiAlign(_) => one(inputs, &[0, 1]).and_then(|()| whole(inputs, &[2])),
        Operator::Resize(_) => whole(inputs, &[3]),
        Operator::Unary(_)
        | Operator::Binary(
            Binary::Pow | Binary::ShiftLeft | Binary::ShiftRight | Binary::AddGelu { .. },
        )
        | Operator::QuantizedUnary(_)
        | Operator::Cast { .. }
        | Operator::CastLike(_)
        | Operator::BitCast(_)
        | Operator::Quantize(_)
        | Operator::DynamicQuantize
        | Operator::Dropout { .. }
        | Operator::Identity
        | Operator::EyeLike { .. }
        | Operator::Random { .. }
        | Operator::RandomLike(_)
        | Operator::Bernoulli { .. }
        | Operator::Multinomial { .. }
        | Operator::SignalWindow(_)
        | Operator::Shape { .. }
        | Operator::Size
        | Operator::Flatten { .. }
        | Operator::Transpose(_)
        | Operator::DepthToSpace { .. }
        | Operator::SpaceToDepth { .. }
        | Operator::ReverseSequence { .. }
        | Operator::OneHot { .. }
        | Operator::NonZero
        | Operator::Unique { .. }
        | Operator::NonMaxSuppression { .. }
        | Operator::DynamicQuantizedMatMul
        | Operator::MatMulInteger
        | Operator::QuantizedMatMul
        | Operator::ConvInteger(_)
        | Operator::QuantizedConv(_)
        | Operator::CausalConv(_)
        | Operator::Pool(_)
        | Operator::QuantizedPool(_)
        | Operator::GlobalPool(_)
        | Operator::QuantizedGlobalPool(_)
        | Operator::Col2Im(_)
        | Operator::MaxRoiPool { .. }
        | Operator::GridSample(_)
        | Operator::AffineGrid { .. }
        | Operator::ArgReduce(_)
        | Operator::Softmax(_)
        | Operator::LayerNorm(_)
        | Operator::Norm(_)
        | Operator::SkipNorm(_)
        | Operator::LocalNorm(_)
        | Operator::Attention(_)
        | Operator::RotaryEmbedding(_)
        | Operator::Fourier { .. }
        | Operator::ShortFourier { .. }
        | Operator::MelWeights(_)
        | Operator::Loss(_)
        | Operator::Det
        | Operator::Loop(_)
        | Operator::Scan(_)
        | Operator::Custom(_) => Ok(()),
    }
}

/// The types of some operands, as far as they are there and known.
fn types(inputs: &Inputs<'_>, operands: &[usize]) -> Vec<Dtype> {
    operands.iter().filter_map(|index| optional(inputs, *index)?.dtype).collect()
}

/// These operands have one type.
fn one(inputs: &Inputs<'_>, operands: &[usize]) -> Result<(), String> {
    let types = types(inputs, operands);
    match types.iter().find(|dtype| **dtype != types[0]) {
        Some(other) => Err(format!("{} and {other} are not one type", types[0])),
        None => Ok(()),
    }
}

/// These operands are all integers or all real numbers.
fn one_class(inputs: &Inputs<'_>, operands: &[usize]) -> Result<(), String> {
    let types = types(inputs, operands);
    match types.iter().find(|dtype| dtype.class() != types[0].class()) {
        Some(other) => Err(format!("{} and {other} are not one type", types[0])),
        None => Ok(()),
    }
}

/// These operands are truth values.
fn truths(inputs: &Inputs<'_>, operands: &[usize]) -> Result<(), String> {
    match types(inputs, operands).into_iter().find(|dtype| *dtype != Dtype::Bool) {
        Some(other) => Err(format!("{other} where truth values are wanted")),
        None => Ok(()),
    }
}

/// These operands are integers: places, axes or dims.
fn whole(inputs: &Inputs<'_>, operands: &[usize]) -> Result<(), String> {
    let is_whole = |dtype: &Dtype| dtype.class() == Class::Integer && *dtype != Dtype::Bool;
    match types(inputs, operands).into_iter().find(|dtype| !is_whole(dtype)) {
        Some(other) => Err(format!("{other} where integers are wanted")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
