//! The larger ones: recurrence, attention, transforms and losses.

use plimsoll_graph::shape::dims::{agreed, axis_of, grown, limit, over, same, shown, sum, times};
use plimsoll_graph::{Dim, Dtype, Fact};

use super::Inputs;
use super::operands::{Facts, dim_in, dims_of_rank, length, like, made, operand, optional, scalar};
use crate::model::{Attention, Custom, Recurrence};

/// `x, w, r, …` to `y?, h?, c?`.
pub(super) fn recurrent(inputs: &Inputs<'_>, layer: &Recurrence) -> Facts {
    let (x, weights) = (operand(inputs, 0)?, operand(inputs, 2)?);
    let dims = dims_of_rank(x, 3)?;
    let given = layer.hidden.map_or(Dim::Unknown, Dim::Known);
    let hidden = same(&dims_of_rank(weights, 3)?[2], &given)?;
    let ways = Dim::Known(layer.directions());
    check_weights(inputs, &dims[2], &ways)?;
    let (all, last) = if layer.batch_first {
        let (batch, steps) = (&dims[0], &dims[1]);
        (listed(&[batch, steps, &ways, &hidden]), listed(&[batch, &ways, &hidden]))
    } else {
        let (steps, batch) = (&dims[0], &dims[1]);
        (listed(&[steps, &ways, batch, &hidden]), listed(&[&ways, batch, &hidden]))
    };
    let last = made(x.dtype, Some(last));
    Ok(vec![made(x.dtype, Some(all)), last.clone(), last])
}

/// An error if weights and biases of a layer do not fit its input, its ways and each other.
fn check_weights(inputs: &Inputs<'_>, input: &Dim, ways: &Dim) -> Result<(), String> {
    let (w, r) = (dims_of_rank(operand(inputs, 1)?, 3)?, dims_of_rank(operand(inputs, 2)?, 3)?);
    for (found, wanted) in [(&w[0], ways), (&r[0], ways), (&w[1], &r[1]), (&w[2], input)] {
        same(found, wanted)?;
    }
    if let Some(bias) = optional(inputs, 3) {
        let bias = dims_of_rank(bias, 2)?;
        same(&bias[0], ways)?;
        same(&bias[1], &times(&w[1], &Dim::Known(2)))?;
    }
    Ok(())
}

/// These dims.
fn listed(dims: &[&Dim]) -> Vec<Dim> {
    dims.iter().map(|dim| (*dim).clone()).collect()
}

/// Queries, keys or values: `[batch, heads, length, size]`.
struct Rows {
    batch: Dim,
    heads: Dim,
    length: Dim,
    size: Dim,
}

/// The heads of an operand of 4 axes, or of 3 with the heads flattened into the last.
fn heads(fact: &Fact, heads: u64) -> Result<Option<Rows>, String> {
    Ok(Some(match fact.dims() {
        None => return Ok(None),
        Some([batch, heads, length, size]) => Rows {
            batch: batch.clone(),
            heads: heads.clone(),
            length: length.clone(),
            size: size.clone(),
        },
        Some([batch, length, all]) => {
            let size = match (all.clone(), heads) {
                (_, 0) => return Err("no number of heads".to_owned()),
                (Dim::Known(all), heads) if !all.is_multiple_of(heads) => {
                    return Err(format!("{all} in {heads} heads"));
                }
                (all, heads) => over(&all, heads),
            };
            Rows { batch: batch.clone(), heads: Dim::Known(heads), length: length.clone(), size }
        }
        Some(dims) => return Err(format!("{} axes, not 3 or 4", dims.len())),
    }))
}

/// `q, k, v, mask?, past k?, past v?, …` to `y, present k?, present v?, scores?`.
pub(super) fn attention(inputs: &Inputs<'_>, attention: Attention) -> Facts {
    let (q, k, v) = (operand(inputs, 0)?, operand(inputs, 1)?, operand(inputs, 2)?);
    let types = [q.dtype, k.dtype, v.dtype, q.dtype];
    let flat = q.rank() == Some(3);
    let queries = heads(q, attention.query_heads)?;
    let keys = heads(k, attention.key_heads)?;
    let values = heads(v, attention.key_heads)?;
    let (Some(queries), Some(keys), Some(values)) = (queries, keys, values) else {
        return Ok(types.into_iter().map(Fact::of_type).collect());
    };
    let batch = same(&same(&queries.batch, &keys.batch)?, &values.batch)?;
    if agreed(&queries.size, &keys.size).is_none() {
        let (q, k) = (shown(&queries.size), shown(&keys.size));
        return Err(format!("queries of {q} against keys of {k}"));
    }
    let key_heads = same(&keys.heads, &values.heads)?;
    let past = |index| -> Result<Dim, String> {
        optional(inputs, index)
            .map_or(Ok(Dim::Known(0)), |past| Ok(dims_of_rank(past, 4)?[2].clone()))
    };
    let all = same(&sum(&past(4)?, &keys.length), &sum(&past(5)?, &values.length))?;
    let y = if flat {
        listed(&[&batch, &queries.length, &times(&queries.heads, &values.size)])
    } else {
        listed(&[&batch, &queries.heads, &queries.length, &values.size])
    };
    let shapes = [
        y,
        listed(&[&batch, &key_heads, &all, &keys.size]),
        listed(&[&batch, &key_heads, &all, &values.size]),
        listed(&[&batch, &queries.heads, &queries.length, &all]),
    ];
    Ok(types.into_iter().zip(shapes).map(|(dtype, dims)| made(dtype, Some(dims))).collect())
}

/// `x, length?, axis?`.
pub(super) fn fourier(inputs: &Inputs<'_>, one_sided: bool, inverse: bool) -> Facts {
    let x = operand(inputs, 0)?;
    let wanted = optional(inputs, 1).map(|length| dim_in(scalar(length))).transpose()?;
    let mut output = like(x);
    let Some(shape) = &mut output.shape else { return Ok(vec![output]) };
    let dims = &mut shape.0;
    let Some(parts) = dims.len().checked_sub(1) else {
        return Err("a scalar has no real part".to_owned());
    };
    // The last axis holds the real and the imaginary part.
    let real = one_sided && inverse;
    dims[parts] = Dim::Known(if real { 1 } else { 2 });
    let axis = match optional(inputs, 2) {
        None => Some(-2),
        Some(axis) => scalar(axis).known(),
    };
    let Some(axis) = axis else {
        dims[..parts].fill(Dim::Unknown);
        return Ok(vec![output]);
    };
    let index = axis_of(axis, dims.len())?;
    if index == parts {
        return Err(format!("axis {axis} holds real and imaginary parts"));
    }
    let length = wanted.unwrap_or(match dims[index].clone() {
        Dim::Known(0) if real => return Err("an empty spectrum".to_owned()),
        dim if real => grown(&dim, |dim| dim.saturating_sub(1).checked_mul(2)),
        dim => dim,
    });
    dims[index] = if one_sided && !inverse { half(&length) } else { length };
    Ok(vec![output])
}

/// The part of a spectrum that the other part follows from.
fn half(length: &Dim) -> Dim {
    sum(&over(length, 2), &Dim::Known(1))
}

/// `signal, step, window?, length?`. A signal of real numbers may do without an axis for them.
pub(super) fn short_fourier(inputs: &Inputs<'_>, one_sided: bool) -> Facts {
    let (signal, step) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let dims = match signal.dims() {
        Some([batch, length]) => vec![batch.clone(), length.clone()],
        Some([_, _, Dim::Known(parts)]) if !(1..=2).contains(parts) => {
            return Err(format!("numbers of {parts} parts, neither real nor complex"));
        }
        _ => dims_of_rank(signal, 3)?,
    };
    let window = optional(inputs, 2).map_or(Dim::Unknown, length);
    let given = optional(inputs, 3).map_or(Ok(Dim::Unknown), |length| dim_in(scalar(length)))?;
    let frame = same(&window, &given)?;
    let frames = match (scalar(step).known(), &frame) {
        (Some(step), Dim::Known(frame)) => frames(&dims[1], *frame, step)?,
        _ => Dim::Unknown,
    };
    let bins = if one_sided { half(&frame) } else { frame };
    Ok(vec![made(signal.dtype, Some(vec![dims[0].clone(), frames, bins, Dim::Known(2)]))])
}

/// How many frames fit on a signal.
fn frames(signal: &Dim, frame: u64, step: i64) -> Result<Dim, String> {
    let Some(step) = u64::try_from(step).ok().filter(|step| *step > 0) else {
        return Err(format!("a step of {step}"));
    };
    if limit(signal).is_some_and(|signal| signal < frame) {
        return Err(format!("frames of {frame} on {}", shown(signal)));
    }
    Ok(grown(signal, |signal| ((signal - frame) / step).checked_add(1)))
}

/// `bins, length, rate, low, high`.
pub(super) fn mel_weights(inputs: &Inputs<'_>, dtype: Dtype) -> Facts {
    let bins = dim_in(scalar(operand(inputs, 0)?))?;
    let length = dim_in(scalar(operand(inputs, 1)?))?;
    Ok(vec![made(Some(dtype), Some(vec![half(&length), bins]))])
}

/// `scores, labels, weights?` to `loss, log probabilities?`.
pub(super) fn loss(inputs: &Inputs<'_>, reduced: bool) -> Facts {
    let (scores, labels) = (operand(inputs, 0)?, operand(inputs, 1)?);
    let dims = match (scores.dims(), labels.dims()) {
        (Some([]), _) => return Err("scores without axes".to_owned()),
        (Some([_]), _) => return Err("scores without classes".to_owned()),
        (Some([batch, _, more @ ..]), labels) => {
            let mut dims = [std::slice::from_ref(batch), more].concat();
            if let Some(labels) = labels {
                if labels.len() != dims.len() {
                    return Err(format!("labels of {} axes, not {}", labels.len(), dims.len()));
                }
                for (dim, label) in dims.iter_mut().zip(labels) {
                    *dim = same(dim, label)?;
                }
            }
            Some(dims)
        }
        (None, labels) => labels.map(<[Dim]>::to_vec),
    };
    let loss = made(scores.dtype, if reduced { Some(Vec::new()) } else { dims });
    Ok(vec![loss, like(scores)])
}

/// The determinants of matrices.
pub(super) fn det(inputs: &Inputs<'_>) -> Facts {
    let x = operand(inputs, 0)?;
    let dims = match x.dims() {
        None => None,
        Some([batch @ .., rows, columns]) => {
            same(rows, columns)?;
            Some(batch.to_vec())
        }
        Some(dims) => return Err(format!("{} axes, not those of a matrix", dims.len())),
    };
    Ok(vec![made(x.dtype, dims)])
}

/// What an operator of somebody else says of its outputs.
pub(super) fn custom(inputs: &Inputs<'_>, custom: &Custom) -> Vec<Fact> {
    let output = |index: &Option<usize>| {
        index.and_then(|index| optional(inputs, index)).map_or_else(Fact::default, like)
    };
    custom.like.iter().map(output).collect()
}

#[cfg(test)]
mod tests;
