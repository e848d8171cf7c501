//! Functions of elements that have attributes, and conversions.

use plimsoll_model::{Binary, Conversion, Operator, Quantization, Rounding, Unary};

use crate::attribute::{Attributes, missing};
use crate::draft::Draft;
use crate::error::Fault;

/// The operator, if it is one of these.
pub(super) fn read(draft: &mut Draft<'_, '_>) -> Result<Option<Operator>, Fault> {
    if let Some(unary) = unary(draft)? {
        return Ok(Some(Operator::Unary(unary)));
    }
    let attributes = &draft.attributes;
    Ok(Some(match draft.kind {
        "Mod" => Operator::Binary(Binary::Mod { as_in_c: attributes.flag("fmod", false)? }),
        "BitShift" => Operator::Binary(shift(attributes)?),
        "Clip" => clip(draft)?,
        "Cast" => {
            let to = attributes.dtype("to")?.ok_or_else(|| missing("to"))?;
            Operator::Cast { to, conversion: conversion(attributes)? }
        }
        "CastLike" => Operator::CastLike(conversion(attributes)?),
        "BitCast" => Operator::BitCast(attributes.dtype("to")?.ok_or_else(|| missing("to"))?),
        "QuantizeLinear" => Operator::Quantize(quantization(attributes)?),
        "DequantizeLinear" => Operator::Dequantize(quantization(attributes)?),
        _ => return Ok(None),
    }))
}

/// A function of one element with numbers of its own.
pub(super) fn unary(draft: &Draft<'_, '_>) -> Result<Option<Unary>, Fault> {
    let number = |name, default| draft.attributes.number(name, default);
    Ok(Some(match draft.kind {
        "Affine" => Unary::Affine { alpha: number("alpha", 1.0)?, beta: number("beta", 0.0)? },
        "Celu" => Unary::Celu { alpha: number("alpha", 1.0)? },
        "Elu" => Unary::Elu { alpha: number("alpha", 1.0)? },
        "Gelu" => Unary::Gelu { tanh: draft.attributes.choice("approximate", GELU)? },
        "HardSigmoid" => {
            Unary::HardSigmoid { alpha: number("alpha", 0.2)?, beta: number("beta", 0.5)? }
        }
        "IsInf" => Unary::IsInf {
            negative: draft.attributes.flag("detect_negative", true)?,
            positive: draft.attributes.flag("detect_positive", true)?,
        },
        "LeakyRelu" => Unary::LeakyRelu { alpha: number("alpha", 0.01)? },
        "ScaledTanh" => {
            Unary::ScaledTanh { alpha: number("alpha", 1.0)?, beta: number("beta", 1.0)? }
        }
        "Selu" => {
            Unary::Selu { alpha: number("alpha", 1.673_263_2)?, gamma: number("gamma", 1.050_701)? }
        }
        "Shrink" => Unary::Shrink { bias: number("bias", 0.0)?, lambda: number("lambd", 0.5)? },
        "Swish" => Unary::Swish { alpha: number("alpha", 1.0)? },
        "ThresholdedRelu" => Unary::ThresholdedRelu { alpha: number("alpha", 1.0)? },
        _ => return Ok(None),
    }))
}

const GELU: &[(&str, bool)] = &[("none", false), ("tanh", true)];
const ROUNDING: &[(&str, Rounding)] =
    &[("up", Rounding::Up), ("down", Rounding::Down), ("nearest", Rounding::Nearest)];

fn shift(attributes: &Attributes<'_>) -> Result<Binary, Fault> {
    match attributes.text("direction")? {
        Some("LEFT") => Ok(Binary::ShiftLeft),
        Some("RIGHT") => Ok(Binary::ShiftRight),
        Some(other) => Err(format!("`{other}` is no direction")),
        None => Err(missing("direction")),
    }
}

fn clip(draft: &mut Draft<'_, '_>) -> Result<Operator, Fault> {
    if draft.version < 11 {
        for (slot, name) in [(1, "min"), (2, "max")] {
            if let Some(value) = draft.attributes.float(name)? {
                draft.store_float(slot, name, value);
            }
        }
    }
    Ok(Operator::Clip)
}

fn conversion(attributes: &Attributes<'_>) -> Result<Conversion, Fault> {
    let round = attributes.choice("round_mode", ROUNDING)?;
    Ok(Conversion { saturate: attributes.flag("saturate", true)?, round })
}

fn quantization(attributes: &Attributes<'_>) -> Result<Quantization, Fault> {
    Ok(Quantization {
        dtype: attributes.dtype("output_dtype")?,
        axis: attributes.int_or("axis", 1)?,
        block: attributes.count("block_size")?.unwrap_or(0),
        saturate: attributes.flag("saturate", true)?,
        precision: attributes.dtype("precision")?,
    })
}
