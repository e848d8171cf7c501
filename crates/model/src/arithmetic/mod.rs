//! What follows for the elements of a node's outputs: the arithmetic that models do with shapes.
//!
//! Integers are reckoned with as intervals, real numbers only where they are known and every kernel
//! gets the same. Where nothing follows, nothing is claimed. The `match` over the operators has no
//! wildcard, so that a new one does not compile until it is stated here.
//!
//! The work for one node is linear in the elements of its operands and results that are within the
//! limit, times their rank.

mod array;
mod elementwise;
mod interval;
mod number;
mod places;
mod reduce;
mod shifts;

use array::{Array, Target};
pub(crate) use number::from_content;
use number::{Number, small_whole};
use plimsoll_graph::{Dim, Dtype, Fact, Int, Numbers};

use crate::model::{Operator, Reduction, Variadic};
use crate::rules::Inputs;

/// The most elements of a tensor that are reckoned with. Shapes have a few; tables of positions and
/// masks, which some models count the elements of, have thousands.
pub(crate) const LIMIT: usize = 1 << 16;

/// Adds to the outputs of a node, whose types and shapes are found already, what is known of their
/// elements, and of dims that depend on elements. Tensors of more elements than the limit are left
/// alone.
pub(crate) fn complete(
    operator: &Operator,
    inputs: &Inputs<'_>,
    outputs: &mut [Fact],
    limit: usize,
) {
    let operands = Operands { inputs, limit: limit.min(LIMIT) };
    count(operator, &operands, outputs);
    for index in 0..outputs.len() {
        outputs[index].numbers = elements(operator, &operands, outputs, index);
    }
}

/// The operands of a node.
struct Operands<'a> {
    inputs: &'a Inputs<'a>,
    limit: usize,
}

impl<'a> Operands<'a> {
    fn fact(&self, index: usize) -> Option<&'a Fact> {
        self.inputs.get(index).copied().flatten()
    }

    /// The elements of an operand that is there, if anything can be known of them.
    fn array(&self, index: usize) -> Option<Array<'a>> {
        Array::new(self.fact(index)?, self.limit)
    }

    /// The elements of a list of integers, if all are known.
    fn ints(&self, index: usize) -> Option<Vec<i64>> {
        let fact = self.fact(index)?;
        if fact.ints()?.len() > self.limit { None } else { fact.known_ints() }
    }

    /// The only element of an operand.
    fn scalar(&self, index: usize) -> Option<Number> {
        let array = self.array(index)?;
        if array.len() == 1 { array.flat(0) } else { None }
    }

    /// Whether any element of any operand is known: otherwise nothing can follow for results.
    fn tell_anything(&self) -> bool {
        self.inputs.iter().flatten().any(|fact| fact.numbers.is_some())
    }
}

/// Finds dims of outputs that depend on the elements of operands.
fn count(operator: &Operator, operands: &Operands<'_>, outputs: &mut [Fact]) {
    let (axis, found) = match operator {
        Operator::NonZero => (1, places::count_non_zero(operands)),
        Operator::Compress { axis } => {
            let rank = operands.fact(0).and_then(Fact::rank);
            let axis = axis.map_or(Some(0), |axis| normal(axis, rank?));
            (axis.unwrap_or(usize::MAX), places::count_kept(operands))
        }
        _ => return,
    };
    let dims = outputs.first_mut().and_then(|output| output.shape.as_mut());
    if let (Some(dims), Some(found)) = (dims, found)
        && let Some(dim @ (Dim::AtMost(_) | Dim::Unknown)) = dims.0.get_mut(axis)
    {
        *dim = Dim::Known(found as u64);
    }
}

/// What is known of the elements of one output.
fn elements(
    operator: &Operator,
    operands: &Operands<'_>,
    outputs: &[Fact],
    index: usize,
) -> Option<Numbers> {
    let target = Target::new(&outputs[index], operands.limit)?;
    if target.len() == 0 {
        return target.fill(|_| None);
    }
    let from_shapes = match operator {
        Operator::Fill { value, .. } => Some(filled(*value, &target)),
        Operator::Shape { start, end } => Some(dims(*start, *end, operands, &target)),
        Operator::Size => Some(size(operands, &target)),
        _ => None,
    };
    match from_shapes {
        Some(numbers) => numbers,
        None if !operands.tell_anything() => None,
        None => from_elements(operator, operands, &target, outputs, index),
    }
}

/// What follows from elements of the operands.
#[allow(clippy::too_many_lines, reason = "a table of every operator")]
#[allow(clippy::match_same_arms, reason = "each has its own reason why nothing follows")]
fn from_elements(
    operator: &Operator,
    operands: &Operands<'_>,
    target: &Target,
    outputs: &[Fact],
    index: usize,
) -> Option<Numbers> {
    match operator {
        Operator::Split { axis } => return shifts::split(*axis, operands, target, outputs, index),
        _ if index > 0 => return None,
        _ => {}
    }
    match operator {
        Operator::Unary(unary) => elementwise::unary(*unary, operands, target),
        Operator::Binary(binary) => elementwise::binary(*binary, operands, target),
        Operator::Variadic(variadic) => reduce::across(reduction(*variadic), operands, target),
        Operator::Where => elementwise::choice(operands, target),
        Operator::Clip => elementwise::clip(operands, target),
        Operator::Cast { .. } | Operator::CastLike(_) => elementwise::cast(operands, target),
        Operator::Dropout { .. } => {
            let trains = operands.fact(2).is_some()
                && operands.scalar(2).and_then(|number| number.truth()) != Some(false);
            if trains { None } else { target.same(&operands.array(0)?) }
        }
        Operator::Identity
        | Operator::Reshape { .. }
        | Operator::Squeeze
        | Operator::Unsqueeze
        | Operator::Flatten { .. } => target.same(&operands.array(0)?),
        Operator::Range => range(operands, target),
        Operator::Transpose(perm) => shifts::transpose(perm.as_deref(), operands, target),
        Operator::Slice => shifts::slice(operands, target),
        Operator::Concat { axis } => shifts::concat(*axis, operands, target),
        Operator::Expand => {
            let array = operands.array(0)?;
            target.fill(|at| array.broadcast(at))
        }
        Operator::Tile => shifts::tile(operands, target),
        Operator::Gather { axis } => places::gather(*axis, operands, target),
        Operator::GatherElements { axis } => places::gather_elements(*axis, operands, target),
        Operator::GatherNd { batch_dims } => places::gather_nd(*batch_dims, operands, target),
        Operator::OneHot { axis } => places::one_hot(*axis, operands, target),
        Operator::NonZero => places::non_zero(operands, target),
        Operator::Compress { axis } => places::compress(*axis, operands, target),
        Operator::Reduce(reduction) => reduce::along(*reduction, operands, target),
        // Done above.
        Operator::Fill { .. }
        | Operator::Shape { .. }
        | Operator::Size
        | Operator::Split { .. } => None,
        // These could be reckoned with; no shape of a model that was seen needs them.
        Operator::EyeLike { .. }
        | Operator::Trilu { .. }
        | Operator::Pad(_)
        | Operator::CenterCropPad(_)
        | Operator::ScatterElements { .. }
        | Operator::ScatterNd(_)
        | Operator::TensorScatter { .. }
        | Operator::ArgReduce(_)
        | Operator::Cumulate(_)
        | Operator::TopK { .. } => None,
        // No shape is reckoned with these.
        Operator::BitCast(_)
        | Operator::Quantize(_)
        | Operator::Dequantize(_)
        | Operator::DynamicQuantize
        | Operator::QuantizedUnary(_)
        | Operator::Random { .. }
        | Operator::RandomLike(_)
        | Operator::Bernoulli { .. }
        | Operator::Multinomial { .. }
        | Operator::SignalWindow(_)
        | Operator::DepthToSpace { .. }
        | Operator::SpaceToDepth { .. }
        | Operator::ReverseSequence { .. }
        | Operator::Unique { .. }
        | Operator::NonMaxSuppression { .. }
        | Operator::MatMul
        | Operator::FusedMatMul(_)
        | Operator::DynamicQuantizedMatMul
        | Operator::MatMulInteger
        | Operator::QuantizedMatMul
        | Operator::Gemm(_)
        | Operator::FusedGemm { .. }
        | Operator::Einsum { .. }
        | Operator::Conv(_)
        | Operator::FusedConv(_)
        | Operator::ConvInteger(_)
        | Operator::QuantizedConv(_)
        | Operator::ConvTranspose { .. }
        | Operator::DeformConv { .. }
        | Operator::CausalConv(_)
        | Operator::Pool(_)
        | Operator::QuantizedPool(_)
        | Operator::GlobalPool(_)
        | Operator::QuantizedGlobalPool(_)
        | Operator::MaxUnpool(_)
        | Operator::Col2Im(_)
        | Operator::RoiAlign(_)
        | Operator::MaxRoiPool { .. }
        | Operator::GridSample(_)
        | Operator::AffineGrid { .. }
        | Operator::Resize(_)
        | Operator::Softmax(_)
        | Operator::BatchNorm(_)
        | Operator::LayerNorm(_)
        | Operator::Norm(_)
        | Operator::SkipNorm(_)
        | Operator::LocalNorm(_)
        | Operator::Recurrent(_)
        | Operator::Attention(_)
        | Operator::RotaryEmbedding(_)
        | Operator::Fourier { .. }
        | Operator::ShortFourier { .. }
        | Operator::MelWeights(_)
        | Operator::Loss(_)
        | Operator::Det
        | Operator::Custom(_) => None,
        // These follow from their bodies.
        Operator::If(_) | Operator::Loop(_) | Operator::Scan(_) => None,
    }
}

fn reduction(variadic: Variadic) -> Reduction {
    match variadic {
        Variadic::Max => Reduction::Max,
        Variadic::Min => Reduction::Min,
        Variadic::Sum => Reduction::Sum,
        Variadic::Mean => Reduction::Mean,
    }
}

/// An axis that may count from the end, from the beginning.
pub(crate) fn normal(axis: i64, rank: usize) -> Option<usize> {
    let from_start = if axis < 0 { axis.checked_add(i64::try_from(rank).ok()?)? } else { axis };
    usize::try_from(from_start).ok().filter(|axis| *axis < rank)
}

fn filled(value: f64, target: &Target) -> Option<Numbers> {
    let number = elementwise::converted(Number::Float(value), target.dtype);
    // Integers that large may have been rounded on the way here.
    let exact = small_whole(value, Dtype::F64) || number.as_ref().is_some_and(Number::is_float);
    if exact { target.fill(|_| number.clone()) } else { None }
}

fn dims(start: i64, end: Option<i64>, operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let dims = operands.fact(0)?.dims()?;
    let rank = i64::try_from(dims.len()).ok()?;
    let bound = |at: i64| {
        let at = if at < 0 { at.saturating_add(rank) } else { at };
        usize::try_from(at.clamp(0, rank)).unwrap_or(0)
    };
    let kept = dims.get(bound(start)..bound(end.unwrap_or(rank)))?;
    if kept.len() != target.len() {
        return None;
    }
    target.fill(|at| Some(Number::Int(Int::from(kept.get(*at.first()?)?.clone()))))
}

fn size(operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    let dims = operands.fact(0)?.dims()?;
    let sizes = || dims.iter().map(|dim| Int::from(dim.clone()));
    // A dim of 0 makes it 0, however large the others are.
    let empty = dims.contains(&Dim::Known(0));
    let size = if empty { Some(Int::from(0)) } else { interval::product(sizes()) };
    target.fill(|_| Some(Number::Int(size.clone().unwrap_or(Int::between(0, i64::MAX)))))
}

fn range(operands: &Operands<'_>, target: &Target) -> Option<Numbers> {
    match (operands.scalar(0)?, operands.scalar(2)?) {
        (Number::Int(start), Number::Int(delta)) => target.fill(|at| {
            let steps = Int::from(i64::try_from(*at.first()?).ok()?);
            interval::add(&start, &interval::mul(&delta, &steps)?).map(Number::Int)
        }),
        (Number::Float(start), Number::Float(delta)) => {
            // Kernels may add up or multiply: it is the same if all are whole.
            let last = start + delta * target.len() as f64;
            let exact =
                [start, delta, last].iter().all(|number| small_whole(*number, target.dtype));
            let element = |at: &[usize]| Some(Number::Float(start + delta * *at.first()? as f64));
            if exact { target.fill(element) } else { None }
        }
        (Number::Int(_), Number::Float(_)) | (Number::Float(_), Number::Int(_)) => None,
    }
}

#[cfg(test)]
mod tests;
