//! From what a node computes to what it does to memory: the class of every operator.

use plimsoll_graph::effect::Kept;
use plimsoll_graph::{Cut, Dim, Fact, Int, Op, Shape};

use crate::model::{Cumulate, Custom, Effects, Operator};
use crate::rules::Inputs;
use crate::rules::parts::followed_part;

/// The class of an operator on operands of which that is known.
///
/// Where a class's attributes do not follow from what is known, a class takes its place that
/// shares less.
pub(super) fn op_class(operator: &Operator, inputs: &Inputs<'_>, outputs: &[Option<&Fact>]) -> Op {
    match operator {
        Operator::Unary(_) => Op::Unary,
        Operator::Variadic(_) if inputs.len() > 2 => Op::Variadic,
        Operator::Variadic(_) if inputs.len() < 2 => Op::Unary,
        Operator::Binary(_) | Operator::Variadic(_) => Op::Binary,
        Operator::Trilu { .. }
        | Operator::QuantizedUnary(_)
        | Operator::Custom(Custom { effects: Effects::Elementwise, .. }) => Op::ByRows,
        // With the sum as a result, rows are read twice.
        Operator::SkipNorm(_) if outputs.len() < 2 => Op::ByRows,
        Operator::Where => Op::Where,
        Operator::Clip => Op::Clamp,
        Operator::Cast { .. } | Operator::CastLike(_) => cast(inputs, outputs),
        Operator::BitCast(_) => Op::Copy,
        Operator::Quantize(_) | Operator::Dequantize(_) | Operator::DynamicQuantize => Op::Quantize,
        Operator::Dropout { .. } => dropout(inputs),
        Operator::Identity => Op::Identity,
        Operator::Fill { .. }
        | Operator::Range
        | Operator::Random { .. }
        | Operator::SignalWindow(_)
        | Operator::MelWeights(_) => Op::Fill,
        Operator::Shape { .. }
        | Operator::Size
        | Operator::EyeLike { .. }
        | Operator::RandomLike(_) => Op::ShapeOf,
        Operator::Reshape { .. } => same_elements(Op::Reshape, inputs, outputs),
        Operator::Squeeze => same_elements(Op::Squeeze, inputs, outputs),
        Operator::Unsqueeze => same_elements(Op::Unsqueeze, inputs, outputs),
        Operator::Flatten { .. } => same_elements(Op::Flatten, inputs, outputs),
        Operator::Transpose(perm) => transpose(perm.as_deref(), inputs),
        Operator::Slice => slice(inputs).unwrap_or(Op::Gather),
        Operator::Split { axis } => split(*axis, inputs, outputs).unwrap_or(Op::Gather),
        Operator::Concat { axis } => concat(*axis, outputs).unwrap_or(Op::Gather),
        Operator::Expand | Operator::Tile => Op::Expand,
        Operator::Pad(_) => Op::Pad,
        Operator::CenterCropPad(_)
        | Operator::DepthToSpace { .. }
        | Operator::SpaceToDepth { .. }
        | Operator::ReverseSequence { .. }
        | Operator::Gather { .. }
        | Operator::GatherElements { .. }
        | Operator::GatherNd { .. }
        | Operator::Compress { .. } => Op::Gather,
        Operator::ScatterElements { .. } | Operator::ScatterNd(_) => Op::Scatter,
        Operator::TensorScatter { .. } => Op::UpdateSlice,
        Operator::TopK { .. } => Op::TopK,
        Operator::MatMul
        | Operator::FusedMatMul(_)
        | Operator::DynamicQuantizedMatMul
        | Operator::MatMulInteger
        | Operator::QuantizedMatMul
        | Operator::Gemm(_)
        | Operator::FusedGemm { .. }
        | Operator::Einsum { .. } => Op::MatMul,
        Operator::Conv(_)
        | Operator::FusedConv(_)
        | Operator::ConvInteger(_)
        | Operator::QuantizedConv(_)
        | Operator::DeformConv { .. }
        | Operator::CausalConv(_) => Op::Conv,
        Operator::ConvTranspose { .. } => Op::ConvTranspose,
        Operator::Pool(_)
        | Operator::QuantizedPool(_)
        | Operator::GlobalPool(_)
        | Operator::QuantizedGlobalPool(_) => Op::Pool,
        Operator::Resize(_) => Op::Resize,
        Operator::Reduce(_) | Operator::Det => Op::Reduce,
        Operator::ArgReduce(_) => Op::ArgReduce,
        Operator::Cumulate(Cumulate { exclusive: false, .. }) => Op::Scan,
        Operator::Softmax(_) => Op::Softmax,
        Operator::BatchNorm(_) | Operator::LayerNorm(_) | Operator::Norm(_) => Op::Norm,
        Operator::Recurrent(_) => Op::Rnn,
        Operator::Attention(_) => Op::Attention,
        // Elements depend on others that may have been overwritten, or nothing is known.
        Operator::LocalNorm(_)
        | Operator::SkipNorm(_)
        | Operator::Cumulate(Cumulate { exclusive: true, .. })
        | Operator::RotaryEmbedding(_)
        | Operator::Bernoulli { .. }
        | Operator::Multinomial { .. }
        | Operator::OneHot { .. }
        | Operator::NonZero
        | Operator::Unique { .. }
        | Operator::NonMaxSuppression { .. }
        | Operator::MaxUnpool(_)
        | Operator::Col2Im(_)
        | Operator::RoiAlign(_)
        | Operator::MaxRoiPool { .. }
        | Operator::GridSample(_)
        | Operator::AffineGrid { .. }
        | Operator::Fourier { .. }
        | Operator::ShortFourier { .. }
        | Operator::Loss(_)
        | Operator::If(_)
        | Operator::Loop(_)
        | Operator::Scan(_)
        | Operator::Custom(Custom { effects: Effects::Unknown, .. }) => Op::Custom,
    }
}

/// A cast is one only if both types are known: others must not be taken for equal.
fn cast(inputs: &Inputs<'_>, outputs: &[Option<&Fact>]) -> Op {
    let known =
        |facts: &Inputs<'_>| facts.first().copied().flatten().and_then(|f| f.dtype).is_some();
    if known(inputs) && known(outputs) { Op::Cast } else { Op::Custom }
}

/// Dropout drops nothing, unless it may be training.
fn dropout(inputs: &Inputs<'_>) -> Op {
    let training = inputs.get(2).copied().flatten();
    let off = training.is_none_or(|fact| fact.known_ints().is_some_and(|ints| ints == [0]));
    if off { Op::Dropout } else { Op::ByRows }
}

/// The same elements; a copy of them where the output's limit is not the input's.
fn same_elements(op: Op, inputs: &Inputs<'_>, outputs: &[Option<&Fact>]) -> Op {
    let elements = |fact: Option<&Fact>| fact.and_then(|f| f.shape.as_ref()).map(Shape::elements);
    let input = elements(inputs.first().copied().flatten());
    let output = elements(outputs.first().copied().flatten());
    if input.is_some() && input == output { op } else { Op::Copy }
}

fn transpose(perm: Option<&[usize]>, inputs: &Inputs<'_>) -> Op {
    let rank = inputs.first().copied().flatten().and_then(Fact::rank);
    match (perm, rank) {
        (Some(perm), _) => Op::Transpose { perm: perm.to_vec() },
        (None, Some(rank)) => Op::Transpose { perm: (0..rank).rev().collect() },
        (None, None) => Op::Gather,
    }
}

/// What a slice keeps, if everything that decides it is known.
fn slice(inputs: &Inputs<'_>) -> Option<Op> {
    let fact = |index: usize| inputs.get(index).copied().flatten();
    let x = fact(0)?.shape.as_ref()?.known()?;
    let starts = fact(1)?.known_ints()?;
    let ends = fact(2)?.known_ints()?;
    let axes = match fact(3) {
        Some(axes) => axes.known_ints()?,
        None => (0..i64::try_from(starts.len()).ok()?).collect(),
    };
    let steps = match fact(4) {
        Some(steps) => steps.known_ints()?,
        None => vec![1; starts.len()],
    };
    let mut cuts = Vec::with_capacity(starts.len());
    for (((start, end), axis), step) in starts.iter().zip(&ends).zip(&axes).zip(&steps) {
        let at = normalised(*axis, x.len())?;
        cuts.push(cut(at, *start, *end, *step, x[at])?);
    }
    Some(Op::Slice { cuts })
}

/// The part of an axis between two places that may be negative or beyond the end.
fn cut(axis: usize, start: i64, end: i64, step: i64, dim: u64) -> Option<Cut> {
    let dim = i64::try_from(dim).ok()?;
    let from_end = |place: i64| if place < 0 { place.saturating_add(dim) } else { place };
    let (start, len) = if step > 0 {
        let start = from_end(start).clamp(0, dim);
        let end = from_end(end).clamp(start, dim);
        (start, (end - start).unsigned_abs().div_ceil(step.unsigned_abs()))
    } else if step < 0 && dim > 0 {
        let start = from_end(start).clamp(-1, dim - 1);
        let end = from_end(end).clamp(-1, start);
        (start, (start - end).unsigned_abs().div_ceil(step.unsigned_abs()))
    } else {
        return None;
    };
    let start = if len == 0 { 0 } else { u64::try_from(start).ok()? };
    Some(Cut { axis, start, len, step })
}

/// What a slice keeps, where that follows from the sizes of ranges.
pub(super) fn followed_slice(inputs: &Inputs<'_>) -> Option<Vec<Kept>> {
    let fact = |index: usize| inputs.get(index).copied().flatten();
    let x = fact(0)?.shape.as_ref()?.exact()?;
    let (starts, ends) = (fact(1)?.ints()?, fact(2)?.ints()?);
    let places = match fact(3) {
        Some(axes) => axes.known_ints()?,
        None => (0..i64::try_from(starts.len()).ok()?).collect(),
    };
    let steps = match fact(4) {
        Some(steps) => steps.known_ints()?,
        None => vec![1; starts.len()],
    };
    let mut kept = Vec::with_capacity(starts.len());
    for (((start, end), axis), step) in starts.iter().zip(ends).zip(&places).zip(&steps) {
        let axis = normalised(*axis, x.len())?;
        kept.push(match (x[axis].clone(), start.known(), end.known()) {
            (Dim::Known(dim), Some(start), Some(end)) => {
                Kept::from(&cut(axis, start, end, *step, dim)?)
            }
            (dim, ..) => {
                let part = followed_part(&dim, start, end, &Int::from(*step))?;
                let (start, len) = (part.start.dim(), part.length.dim());
                Kept { axis, start, len, step: *step }
            }
        });
    }
    let exact = |kept: &Kept| kept.start.is_exact() && kept.len.is_exact();
    kept.iter().all(exact).then_some(kept)
}

fn split(axis: i64, inputs: &Inputs<'_>, outputs: &[Option<&Fact>]) -> Option<Op> {
    let axis = normalised(axis, inputs.first().copied().flatten()?.rank()?)?;
    let known = |fact: Option<&Fact>| {
        let dims = fact.and_then(Fact::dims);
        dims.and_then(|dims| dims.get(axis)).is_some_and(Dim::is_exact)
    };
    outputs.iter().copied().all(known).then_some(Op::Split { axis })
}

fn concat(axis: i64, outputs: &[Option<&Fact>]) -> Option<Op> {
    let axis = normalised(axis, outputs.first().copied().flatten()?.rank()?)?;
    Some(Op::Concat { axis })
}

/// An axis that may count from the end, counted from the start.
fn normalised(axis: i64, rank: usize) -> Option<usize> {
    let counted = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(counted).ok().filter(|axis| *axis < rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice_of(dims: &[u64], numbers: [&[i64]; 4]) -> Option<Op> {
        use plimsoll_graph::{Dtype, Int, Numbers};
        let list = |list: &[i64]| Fact {
            numbers: Some(Numbers::Ints(list.iter().copied().map(Int::from).collect())),
            ..Fact::new(Dtype::I64, [list.len() as u64])
        };
        let x = Fact::new(Dtype::F32, dims);
        let lists = numbers.map(list);
        let inputs: Vec<_> = std::iter::once(&x).chain(&lists).map(Some).collect();
        slice(&inputs)
    }

    #[test]
    fn places_of_slices_count_from_the_end_and_stop_at_it() {
        let cut =
            |start, len, step| Some(Op::Slice { cuts: vec![Cut { axis: 1, start, len, step }] });
        let of = |start, end, step| slice_of(&[4, 10], [&[start], &[end], &[-1], &[step]]);
        assert_eq!(of(2, 5, 1), cut(2, 3, 1));
        assert_eq!(of(-3, i64::MAX, 1), cut(7, 3, 1));
        assert_eq!(of(0, 10, 3), cut(0, 4, 3));
        assert_eq!(of(-1, i64::MIN, -1), cut(9, 10, -1));
        assert_eq!(of(8, 1, -2), cut(8, 4, -2));
        assert_eq!(of(5, 5, 1), cut(0, 0, 1));
        assert_eq!(of(20, 30, 1), cut(0, 0, 1));
        assert_eq!(of(0, 3, 0), None);
    }
}
