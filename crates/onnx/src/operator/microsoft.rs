//! The operators of `com.microsoft` that a widespread runtime writes into models: those that are
//! fused from others, or are others on quantized numbers.
//!
//! Only what holds for every model is said. Where the type or the shape of a result depends on
//! more, nothing is: then it must be declared in the file.

use plimsoll_model::{Axis, Binary, Operator, Pooling, Unary};

use super::special::norm;
use super::windows::{convolution, pool};
use super::{elementwise, like, own};
use crate::draft::Draft;
use crate::error::Fault;

/// The operator, if something is known of it.
pub(super) fn read(draft: &mut Draft<'_, '_>) -> Result<Option<Operator>, Fault> {
    let attributes = &draft.attributes;
    let channels_last = attributes.flag("channels_last", false)?;
    Ok(Some(match draft.kind {
        // As in ONNX.
        "CumSum" | "DequantizeLinear" | "GatherND" | "LayerNormalization" | "QuantizeLinear"
        | "Range" | "RotaryEmbedding" | "Trilu" | "Unique" => {
            draft.version = i64::MAX;
            return own(draft);
        }

        // Element by element, or row by row.
        "Gelu" | "QuickGelu" => Operator::Unary(Unary::Other),
        "FastGelu" if draft.inputs.len() < 2 => Operator::Unary(Unary::Other),
        "BiasGelu" | "FastGelu" => Operator::Binary(Binary::Other),
        "QLinearAdd" | "QLinearMul" => quantized_binary(draft)?,
        "BiasAdd" | "BiasSoftmax" | "QLinearLeakyRelu" | "QLinearSigmoid" | "QLinearSoftmax" => {
            elementwise()
        }
        "SimplifiedLayerNormalization" => norm(draft),
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => skip_norm(draft),
        // The last may lay its result out in another order.
        "GroupNorm" | "Inverse" | "NhwcGroupNorm" | "QOrderedGelu" => like(vec![Some(0)]),

        // Products.
        "FusedConv" => Operator::Conv(convolution(attributes)?),
        "FusedGemm" => Operator::Gemm {
            transpose_a: attributes.flag("transA", false)?,
            transpose_b: attributes.flag("transB", false)?,
        },
        "FusedMatMul" | "FusedMatMulActivation" | "TransposeMatMul" if is_straight(draft)? => {
            Operator::MatMul
        }
        "DynamicQuantizeMatMul" => Operator::MatMul,

        // Windows.
        "QLinearGlobalAveragePool" if !channels_last => Operator::GlobalPool,
        "QLinearAveragePool" if !channels_last => pool(attributes, Pooling::Average)?,

        // Attention.
        "Attention" if is_square(draft) => like(vec![Some(0)]),
        "GroupQueryAttention" if draft.input(1).is_some() => like(vec![Some(0)]),
        "MultiHeadAttention" if is_even(draft) => like(vec![Some(0)]),
        _ => return Ok(None),
    }))
}

/// `a, scale, zero, b, scale, zero, …`: `b` becomes the second operand, as of others of two.
fn quantized_binary(draft: &mut Draft<'_, '_>) -> Result<Operator, Fault> {
    if draft.inputs.len() < 4 {
        return Err("its second operand is missing".to_owned());
    }
    draft.inputs[1..4].rotate_right(1);
    Ok(Operator::Binary(Binary::Other))
}

/// Result 3 is the sum that is normalised. With it, the rows are read twice.
fn skip_norm(draft: &Draft<'_, '_>) -> Operator {
    if draft.outputs.len() > 1 {
        return like(vec![Some(0), None, None, Some(0)]);
    }
    elementwise()
}

/// Whether nothing is transposed.
fn is_straight(draft: &Draft<'_, '_>) -> Result<bool, Fault> {
    for name in ["transA", "transB", "transBatchA", "transBatchB"] {
        if draft.attributes.flag(name, false)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the weights of queries, keys and values are as wide as the operand.
fn is_square(draft: &Draft<'_, '_>) -> bool {
    let dims = draft.input(1).and_then(|weights| weights.dims.as_deref());
    let Some([Axis::Known(rows), Axis::Known(columns)]) = dims else { return false };
    !draft.attributes.has("qkv_hidden_sizes") && rows.checked_mul(3) == Some(*columns)
}

/// Whether values are known to be as wide as queries.
fn is_even(draft: &Draft<'_, '_>) -> bool {
    let width = |slot| match draft.input(slot)?.dims.as_deref()? {
        [_, _, Axis::Known(width)] => Some(*width),
        _ => None,
    };
    matches!((width(0), width(2)), (Some(query), Some(value)) if query == value)
}
