//! The operators of `com.microsoft` that a widespread runtime writes into models: those that are
//! fused from others, or are others on quantized numbers.
//!
//! Only what holds for every model is said. Where the type or the shape of a result depends on
//! more, nothing is: then it must be declared in the file.

use plimsoll_model::{
    Axis, Binary, FusedConv, FusedMatMul, GlobalPooling, Operator, SkipNorm, Unary,
};

use super::along::simplified;
use super::recurrent::activation;
use super::special::gemm;
use super::windows::{average, convolution};
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
        | "Range" | "Trilu" | "Unique" => {
            draft.version = i64::MAX;
            return own(draft);
        }

        // Element by element, or row by row.
        "Gelu" => Operator::Unary(Unary::Gelu { tanh: false }),
        "QuickGelu" => Operator::Unary(Unary::Swish { alpha: attributes.number("alpha", 1.702)? }),
        "FastGelu" if draft.inputs.len() < 2 => Operator::Unary(Unary::Gelu { tanh: true }),
        "FastGelu" => Operator::Binary(Binary::AddGelu { tanh: true }),
        "BiasGelu" => Operator::Binary(Binary::AddGelu { tanh: false }),
        "QLinearAdd" => quantized_binary(draft, Binary::QuantizedAdd)?,
        "QLinearMul" => quantized_binary(draft, Binary::QuantizedMul)?,
        "QLinearSigmoid" => Operator::QuantizedUnary(Unary::Sigmoid),
        "QLinearLeakyRelu" => {
            let alpha = attributes.number("alpha", 0.01)?;
            Operator::QuantizedUnary(Unary::LeakyRelu { alpha })
        }
        "BiasAdd" | "BiasSoftmax" | "QLinearSoftmax" => elementwise(),
        "SimplifiedLayerNormalization" => simplified(draft)?,
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => skip_norm(draft)?,
        // The last may lay its result out in another order. Positions of embeddings may be one
        // number, from which they are counted.
        "GroupNorm" | "Inverse" | "NhwcGroupNorm" | "RotaryEmbedding" | "QOrderedGelu" => {
            like(vec![Some(0)])
        }

        // Products.
        "FusedConv" => {
            let conv = convolution(attributes)?;
            let activation = fused(draft, "activation_params")?;
            Operator::FusedConv(Box::new(FusedConv { conv, activation }))
        }
        "FusedGemm" => {
            let gemm = gemm(attributes)?;
            match fused_gemm(draft)? {
                Some(activation) => Operator::FusedGemm { gemm, activation },
                None => Operator::Gemm(gemm),
            }
        }
        "FusedMatMul" | "FusedMatMulActivation" | "TransposeMatMul" if keeps_batch(draft)? => {
            fused_matmul(draft)?
        }
        "DynamicQuantizeMatMul" => Operator::DynamicQuantizedMatMul,

        // Windows.
        "QLinearGlobalAveragePool" if !channels_last => {
            Operator::QuantizedGlobalPool(GlobalPooling::Average)
        }
        "QLinearAveragePool" if !channels_last => Operator::QuantizedPool(average(attributes)?),

        // Attention.
        "Attention" if is_square(draft) => like(vec![Some(0)]),
        "GroupQueryAttention" if draft.input(1).is_some() => like(vec![Some(0)]),
        "MultiHeadAttention" if is_even(draft) => like(vec![Some(0)]),
        _ => return Ok(None),
    }))
}

/// `a, scale, zero, b, scale, zero, …`: `b` becomes the second operand, as of others of two.
fn quantized_binary(draft: &mut Draft<'_, '_>, function: Binary) -> Result<Operator, Fault> {
    if draft.inputs.len() < 4 {
        return Err("its second operand is missing".to_owned());
    }
    draft.inputs[1..4].rotate_right(1);
    Ok(Operator::Binary(function))
}

/// The norm that takes no mean off has no shift either.
fn skip_norm(draft: &mut Draft<'_, '_>) -> Result<Operator, Fault> {
    let rms = draft.kind == "SkipSimplifiedLayerNormalization";
    if rms && draft.inputs.len() > 3 {
        draft.inputs.insert(3, None);
    }
    let epsilon = draft.attributes.number("epsilon", 1e-12)?;
    Ok(Operator::SkipNorm(SkipNorm { epsilon, rms }))
}

/// What follows a fused operator, with its numbers in one list.
fn fused(draft: &Draft<'_, '_>, numbers: &str) -> Result<Option<Unary>, Fault> {
    let numbers = draft.attributes.floats(numbers)?.unwrap_or_default();
    let number = |index: usize| numbers.get(index).map(|number| *number as f32);
    followed(draft, number(0), number(1))
}

/// What follows a fused product, with its numbers one by one.
fn fused_gemm(draft: &Draft<'_, '_>) -> Result<Option<Unary>, Fault> {
    let attributes = &draft.attributes;
    let alpha = attributes.float("activation_alpha")?.map(|alpha| alpha as f32);
    let beta = attributes.float("activation_beta")?.map(|beta| beta as f32);
    followed(draft, alpha, beta)
}

/// The function of the attribute `activation` with these numbers, if there is one.
fn followed(
    draft: &Draft<'_, '_>,
    alpha: Option<f32>,
    beta: Option<f32>,
) -> Result<Option<Unary>, Fault> {
    match draft.attributes.text("activation")? {
        None | Some("") => Ok(None),
        Some("Clip") => {
            let (least, most) = (alpha.unwrap_or(f32::MIN), beta.unwrap_or(f32::MAX));
            Ok(Some(Unary::Clamp { least, most }))
        }
        Some(name) => activation(name, || alpha, || beta).map(Some),
    }
}

fn fused_matmul(draft: &Draft<'_, '_>) -> Result<Operator, Fault> {
    let attributes = &draft.attributes;
    let fused = FusedMatMul {
        transpose_a: attributes.flag("transA", false)?,
        transpose_b: attributes.flag("transB", false)?,
        alpha: attributes.number("alpha", 1.0)?,
        activation: fused_gemm(draft)?,
    };
    let plain =
        FusedMatMul { transpose_a: false, transpose_b: false, alpha: 1.0, activation: None };
    Ok(if fused == plain { Operator::MatMul } else { Operator::FusedMatMul(fused) })
}

/// Whether axes in front stay where they are.
fn keeps_batch(draft: &Draft<'_, '_>) -> Result<bool, Fault> {
    let moves = |name| draft.attributes.flag(name, false);
    Ok(!moves("transBatchA")? && !moves("transBatchB")?)
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
