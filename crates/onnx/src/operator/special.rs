//! All other operators: products, from nowhere, larger ones.

use plimsoll_graph::Dtype;
use plimsoll_model::{
    Attention, Cell, Content, Distribution, Gemm, Loss, LossReduction, Operator, Random,
    RotaryEmbedding, Scores, SignalWindow, WindowForm,
};

use super::{like, recurrent};
use crate::attribute::{Attributes, missing};
use crate::draft::Draft;
use crate::error::Fault;
use crate::tensor::{first_bits, stored};

/// The operator, if it is one of these.
pub(super) fn read(draft: &mut Draft<'_, '_>) -> Result<Option<Operator>, Fault> {
    if let Some(operator) = made(draft)? {
        return Ok(Some(operator));
    }
    let attributes = &draft.attributes;
    let flag = |name, default| attributes.flag(name, default);
    Ok(Some(match draft.kind {
        "Dropout" => dropout(draft)?,
        "Gemm" => Operator::Gemm(gemm(attributes)?),
        "Einsum" => {
            let equation = attributes.text("equation")?.ok_or_else(|| missing("equation"))?;
            Operator::Einsum { equation: equation.to_owned() }
        }
        "RNN" => recurrent::read(draft, Cell::Rnn)?,
        "GRU" => {
            let linear_before_reset = flag("linear_before_reset", false)?;
            recurrent::read(draft, Cell::Gru { linear_before_reset })?
        }
        "LSTM" => {
            recurrent::read(draft, Cell::Lstm { input_forget: flag("input_forget", false)? })?
        }
        "Attention" => Operator::Attention(attention(attributes)?),
        "RotaryEmbedding" => Operator::RotaryEmbedding(RotaryEmbedding {
            interleaved: flag("interleaved", false)?,
            heads: attributes.count("num_heads")?.unwrap_or(0),
            dims: attributes.count("rotary_embedding_dim")?.unwrap_or(0),
        }),
        "DFT" => fourier(draft)?,
        "STFT" => Operator::ShortFourier { one_sided: flag("onesided", true)? },
        "NegativeLogLikelihoodLoss" | "SoftmaxCrossEntropyLoss" => Operator::Loss(Loss {
            softmax: draft.kind == "SoftmaxCrossEntropyLoss",
            reduction: attributes.choice("reduction", LOSSES)?,
            ignore: attributes.int("ignore_index")?,
        }),
        "Optional" => return Err(makes("an optional value")),
        "SequenceConstruct" | "SequenceEmpty" | "SequenceErase" | "SequenceInsert"
        | "SplitToSequence" => return Err(makes("a sequence")),
        _ => return Ok(None),
    }))
}

const LOSSES: &[(&str, LossReduction)] =
    &[("mean", LossReduction::Mean), ("sum", LossReduction::Sum), ("none", LossReduction::None)];

/// What a node makes without looking at elements, or from numbers.
fn made(draft: &Draft<'_, '_>) -> Result<Option<Operator>, Fault> {
    let attributes = &draft.attributes;
    let dtype_or = |name, default| Ok::<_, Fault>(attributes.dtype(name)?.unwrap_or(default));
    let seed = || attributes.float("seed").map(|seed| seed.map(|seed| seed as f32));
    Ok(Some(match draft.kind {
        "ConstantOfShape" => fill(draft)?,
        "EyeLike" => {
            Operator::EyeLike { dtype: attributes.dtype("dtype")?, k: attributes.int_or("k", 0)? }
        }
        "RandomNormal" | "RandomUniform" => Operator::Random {
            random: random(draft)?,
            dims: attributes.counts("shape")?.ok_or_else(|| missing("shape"))?,
        },
        "RandomNormalLike" | "RandomUniformLike" => Operator::RandomLike(random(draft)?),
        "Bernoulli" => Operator::Bernoulli { dtype: attributes.dtype("dtype")?, seed: seed()? },
        "Multinomial" => Operator::Multinomial {
            dtype: dtype_or("dtype", Dtype::I32)?,
            samples: attributes.count("sample_size")?.unwrap_or(1),
            seed: seed()?,
        },
        "BlackmanWindow" => window(attributes, WindowForm::Blackman)?,
        "HammingWindow" => window(attributes, WindowForm::Hamming)?,
        "HannWindow" => window(attributes, WindowForm::Hann)?,
        "MelWeightMatrix" => Operator::MelWeights(dtype_or("output_datatype", Dtype::F32)?),
        _ => return Ok(None),
    }))
}

fn random(draft: &Draft<'_, '_>) -> Result<Random, Fault> {
    let attributes = &draft.attributes;
    let number = |name, default| attributes.number(name, default);
    let distribution = if draft.kind.starts_with("RandomNormal") {
        Distribution::Normal { mean: number("mean", 0.0)?, scale: number("scale", 1.0)? }
    } else {
        Distribution::Uniform { low: number("low", 0.0)?, high: number("high", 1.0)? }
    };
    let seed = attributes.float("seed")?.map(|seed| seed as f32);
    Ok(Random { dtype: attributes.dtype("dtype")?, distribution, seed })
}

fn window(attributes: &Attributes<'_>, form: WindowForm) -> Result<Operator, Fault> {
    let dtype = attributes.dtype("output_datatype")?.unwrap_or(Dtype::F32);
    let periodic = attributes.flag("periodic", true)?;
    Ok(Operator::SignalWindow(SignalWindow { dtype, form, periodic }))
}

fn fill(draft: &Draft<'_, '_>) -> Result<Operator, Fault> {
    let Some(proto) = draft.attributes.tensor("value")? else {
        return Ok(Operator::Fill { dtype: Dtype::F32, value: 0.0, bits: 0 });
    };
    let tensor = stored(String::new(), proto)?;
    let value = match &tensor.content {
        Some(Content::Ints(values)) => values.first().map(|value| *value as f64),
        Some(Content::Floats(values)) => values.first().copied(),
        // Of a type that nobody reckons with.
        None => Some(f64::NAN),
    };
    let value = value.ok_or("attribute `value` has no elements")?;
    let dtype = tensor.dtype.unwrap_or(Dtype::F32);
    Ok(Operator::Fill { dtype, value, bits: first_bits(proto, dtype) })
}

pub(super) fn gemm(attributes: &Attributes<'_>) -> Result<Gemm, Fault> {
    Ok(Gemm {
        transpose_a: attributes.flag("transA", false)?,
        transpose_b: attributes.flag("transB", false)?,
        alpha: attributes.number("alpha", 1.0)?,
        beta: attributes.number("beta", 1.0)?,
    })
}

fn attention(attributes: &Attributes<'_>) -> Result<Attention, Fault> {
    let scores = match attributes.int_or("qk_matmul_output_mode", 0)? {
        0 => Scores::Products,
        1 => Scores::Masked,
        2 => Scores::Capped,
        3 => Scores::Weights,
        other => return Err(format!("there are no scores of mode {other}")),
    };
    Ok(Attention {
        query_heads: attributes.count("q_num_heads")?.unwrap_or(0),
        key_heads: attributes.count("kv_num_heads")?.unwrap_or(0),
        is_causal: attributes.flag("is_causal", false)?,
        scale: attributes.float("scale")?.map(|scale| scale as f32),
        softcap: attributes.number("softcap", 0.0)?,
        softmax_precision: attributes.dtype("softmax_precision")?,
        scores,
    })
}

fn dropout(draft: &mut Draft<'_, '_>) -> Result<Operator, Fault> {
    if draft.version < 12
        && let Some(ratio) = draft.attributes.float("ratio")?
    {
        draft.store_float(1, "ratio", ratio);
    }
    // The first masks were of the type of the operand, and the first of all trained unless told.
    let trains = draft.version < 7 && !draft.attributes.flag("is_test", false)?;
    if trains {
        return Ok(like(vec![Some(0), Some(0)]));
    }
    Ok(Operator::Dropout { early_mask: draft.version < 10 })
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
