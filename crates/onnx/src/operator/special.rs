//! All other operators: along axes, products, from nowhere, larger ones.

use plimsoll_graph::Dtype;
use plimsoll_model::{Attention, Binary, Content, Operator, Recurrence, Reduce, Reduction};

use super::layout::axes_before;
use super::like;
use crate::attribute::missing;
use crate::draft::Draft;
use crate::error::Fault;
use crate::tensor::stored;

/// The operator, if it is one of these.
pub(super) fn read(draft: &mut Draft<'_, '_>) -> Result<Option<Operator>, Fault> {
    if let Some(operator) = made(draft)? {
        return Ok(Some(operator));
    }
    if let Some(function) = reduction(draft.kind) {
        return reduce(draft, function).map(Some);
    }
    let attributes = &draft.attributes;
    let axis = |default| attributes.int_or("axis", default);
    Ok(Some(match draft.kind {
        "Clip" => clip(draft)?,
        "CumProd" | "CumSum" => {
            Operator::Cumulate { exclusive: attributes.flag("exclusive", false)? }
        }
        "Mod" => Operator::Binary(Binary::Mod { as_in_c: attributes.flag("fmod", false)? }),
        "Cast" => Operator::Cast(required_dtype(draft)?),
        "BitCast" => Operator::BitCast(required_dtype(draft)?),
        "QuantizeLinear" => Operator::Quantize(attributes.dtype("output_dtype")?),
        "DequantizeLinear" => Operator::Dequantize(attributes.dtype("output_dtype")?),
        "Dropout" => dropout(draft)?,
        "Gemm" => Operator::Gemm {
            transpose_a: attributes.flag("transA", false)?,
            transpose_b: attributes.flag("transB", false)?,
        },
        "Einsum" => {
            let equation = attributes.text("equation")?.ok_or_else(|| missing("equation"))?;
            Operator::Einsum { equation: equation.to_owned() }
        }
        "ArgMax" | "ArgMin" => {
            Operator::ArgReduce { axis: axis(0)?, keep_dims: attributes.flag("keepdims", true)? }
        }
        "BatchNormalization" => batch_norm(draft),
        "LayerNormalization" => Operator::LayerNorm { axis: axis(-1)? },
        // Written by a runtime's exporter into ONNX's own domain.
        "SimplifiedLayerNormalization" => norm(draft),
        "GRU" | "LSTM" | "RNN" => recurrent(draft)?,
        "Attention" => Operator::Attention(Attention {
            query_heads: attributes.count("q_num_heads")?.unwrap_or(0),
            key_heads: attributes.count("kv_num_heads")?.unwrap_or(0),
        }),
        "DFT" => fourier(draft)?,
        "STFT" => Operator::ShortFourier { one_sided: attributes.flag("onesided", true)? },
        "NegativeLogLikelihoodLoss" | "SoftmaxCrossEntropyLoss" => {
            Operator::Loss { reduced: attributes.text("reduction")? != Some("none") }
        }
        "Optional" => return Err(makes("an optional value")),
        "SequenceConstruct" | "SequenceEmpty" | "SequenceErase" | "SequenceInsert"
        | "SplitToSequence" => return Err(makes("a sequence")),
        _ => return Ok(None),
    }))
}

/// What a node makes without looking at elements, or from numbers.
fn made(draft: &Draft<'_, '_>) -> Result<Option<Operator>, Fault> {
    let attributes = &draft.attributes;
    let dtype_or = |name, default| Ok::<_, Fault>(attributes.dtype(name)?.unwrap_or(default));
    Ok(Some(match draft.kind {
        "ConstantOfShape" => fill(draft)?,
        "EyeLike" => Operator::EyeLike(attributes.dtype("dtype")?),
        "RandomNormal" | "RandomUniform" => Operator::Random {
            dtype: dtype_or("dtype", Dtype::F32)?,
            dims: attributes.counts("shape")?.ok_or_else(|| missing("shape"))?,
        },
        "RandomNormalLike" | "RandomUniformLike" => {
            Operator::RandomLike(attributes.dtype("dtype")?)
        }
        "Bernoulli" => Operator::Bernoulli(attributes.dtype("dtype")?),
        "Multinomial" => Operator::Multinomial {
            dtype: dtype_or("dtype", Dtype::I32)?,
            samples: attributes.count("sample_size")?.unwrap_or(1),
        },
        "BlackmanWindow" | "HammingWindow" | "HannWindow" => {
            Operator::SignalWindow(dtype_or("output_datatype", Dtype::F32)?)
        }
        "MelWeightMatrix" => Operator::MelWeights(dtype_or("output_datatype", Dtype::F32)?),
        _ => return Ok(None),
    }))
}

fn fill(draft: &Draft<'_, '_>) -> Result<Operator, Fault> {
    let Some(tensor) = draft.attributes.tensor("value")? else {
        return Ok(Operator::Fill { dtype: Dtype::F32, value: 0.0 });
    };
    let tensor = stored(String::new(), tensor)?;
    let value = match &tensor.content {
        Some(Content::Ints(values)) => values.first().map(|value| *value as f64),
        Some(Content::Floats(values)) => values.first().copied(),
        // Of a type that nobody reckons with.
        None => Some(f64::NAN),
    };
    let value = value.ok_or("attribute `value` has no elements")?;
    Ok(Operator::Fill { dtype: tensor.dtype.unwrap_or(Dtype::F32), value })
}

fn required_dtype(draft: &Draft<'_, '_>) -> Result<Dtype, Fault> {
    draft.attributes.dtype("to")?.ok_or_else(|| missing("to"))
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

fn dropout(draft: &mut Draft<'_, '_>) -> Result<Operator, Fault> {
    if draft.version < 12
        && let Some(ratio) = draft.attributes.float("ratio")?
    {
        draft.store_float(1, "ratio", ratio);
    }
    // The first masks were of the type of the operand, and the first of all trained unless told.
    let trains = draft.version < 7 && !draft.attributes.flag("is_test", false)?;
    if trains || draft.version < 10 && draft.wants(1) {
        return Ok(like(vec![Some(0), Some(0)]));
    }
    Ok(Operator::Dropout)
}

fn reduction(kind: &str) -> Option<Reduction> {
    Some(match kind {
        "ReduceMax" => Reduction::Max,
        "ReduceMin" => Reduction::Min,
        "ReduceSum" => Reduction::Sum,
        "ReduceMean" => Reduction::Mean,
        "ReduceProd" => Reduction::Product,
        "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceSumSquare" => {
            Reduction::Other
        }
        _ => return None,
    })
}

fn reduce(draft: &mut Draft<'_, '_>, function: Reduction) -> Result<Operator, Fault> {
    axes_before(draft, if function == Reduction::Sum { 13 } else { 18 })?;
    Ok(Operator::Reduce(Reduce {
        function,
        keep_dims: draft.attributes.flag("keepdims", true)?,
        none_if_empty: draft.attributes.flag("noop_with_empty_axes", false)?,
    }))
}

/// The first editions had five results, the last two like those before them.
fn batch_norm(draft: &Draft<'_, '_>) -> Operator {
    if draft.outputs.len() > 3 {
        return like(vec![Some(0), Some(3), Some(4), Some(3), Some(4)]);
    }
    Operator::BatchNorm
}

/// A norm that may have a second result, of which nothing is known.
pub(super) fn norm(draft: &Draft<'_, '_>) -> Operator {
    if draft.outputs.len() > 1 { like(vec![Some(0)]) } else { Operator::Norm }
}

fn recurrent(draft: &Draft<'_, '_>) -> Result<Operator, Fault> {
    let attributes = &draft.attributes;
    let directions = match attributes.text("direction")? {
        None | Some("forward" | "reverse") => 1,
        Some("bidirectional") => 2,
        Some(other) => return Err(format!("`{other}` is no direction")),
    };
    Ok(Operator::Recurrent(Recurrence {
        hidden: attributes.count("hidden_size")?,
        directions,
        batch_first: attributes.flag("layout", false)?,
    }))
}

fn fourier(draft: &mut Draft<'_, '_>) -> Result<Operator, Fault> {
    if draft.version < 20 {
        let axis = draft.attributes.int_or("axis", 1)?;
        draft.store_int(2, "axis", axis);
    }
    Ok(Operator::Fourier {
        one_sided: draft.attributes.flag("onesided", false)?,
        inverse: draft.attributes.flag("inverse", false)?,
    })
}

/// What is said of nodes that make what has no size.
fn makes(what: &str) -> Fault {
    format!("it makes {what}, which has no size that could be planned")
}
