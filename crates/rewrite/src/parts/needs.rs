//! What a part of a result needs of the operands: the one place that says along which axes operators are independent.
//!
//! The axis of a result is cut into `units` equal pieces, and a part is some of them that lie side by side. An operand
//! is needed wholly, or in the part that lies in the same units of one of its axes. A batch, the rows of a product,
//! heads of attention that were a part of a wider axis before a reshape: all are the same thing here.

use plimsoll_model::{Content, Gemm, Model, ModelNode, Norm, Operator, Origin, Softmax, TensorId};

/// What a part of a result needs of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// All of it.
    Whole,
    /// The same units along this axis.
    Part(usize),
}

/// Models with the dims of their tensors.
pub(super) struct Shapes<'a> {
    pub(super) model: &'a Model,
    /// By tensor; `None` where they are not known.
    pub(super) dims: Vec<Option<Vec<u64>>>,
}

impl Shapes<'_> {
    pub(super) fn dims(&self, id: TensorId) -> Option<&[u64]> {
        self.dims[id.index()].as_deref()
    }

    /// What units of an axis of a node's results need of each operand; `None` if they depend on other units too.
    #[allow(clippy::too_many_lines, reason = "one line for each operator")]
    pub(super) fn needs(&self, node: &ModelNode, axis: usize, units: u64) -> Option<Vec<Need>> {
        let output = node.outputs.first().copied().flatten()?;
        if node.outputs.len() > 1 && !matches!(node.operator, Operator::Split { .. }) {
            return None;
        }
        let out = self.dims(output)?;
        let rest = |first: Need| Some(with_whole(first, node.inputs.len()));
        match &node.operator {
            Operator::Unary(_)
            | Operator::Cast { .. }
            | Operator::Identity
            | Operator::Clip
            | Operator::CastLike(_) => rest(Need::Part(axis)),
            Operator::Binary(_) | Operator::Variadic(_) | Operator::Where => {
                node.inputs.iter().map(|input| self.broadcast((*input)?, out.len(), axis)).collect()
            }
            Operator::Softmax(softmax) => rest(row(softmax, out.len(), axis)?),
            Operator::LayerNorm(norm) => rest(before(norm.axis, out.len(), axis)?),
            Operator::Norm(norm) => rest(within_norm(norm, out.len(), axis)?),
            Operator::Transpose(permutation) => {
                let from = match permutation {
                    Some(order) => *order.get(axis)?,
                    None => out.len() - 1 - axis,
                };
                rest(Need::Part(from))
            }
            Operator::Reshape { .. } | Operator::Flatten { .. } => {
                rest(self.regroup(node, axis, units)?)
            }
            Operator::Squeeze | Operator::Unsqueeze if node.inputs.len() > 1 => {
                rest(self.regroup(node, axis, units)?)
            }
            Operator::Concat { axis: along } | Operator::Split { axis: along } => {
                let along = absolute(*along, out.len())?;
                let every = matches!(node.operator, Operator::Concat { .. });
                let need = (along != axis).then_some(Need::Part(axis))?;
                if every { Some(vec![need; node.inputs.len()]) } else { rest(need) }
            }
            Operator::Slice => rest(self.slice(node, axis)?),
            Operator::Reduce(reduce) => rest(self.reduce(node, reduce.keep_dims, axis)?),
            Operator::Gather { axis: along } => self.gather(node, *along, axis),
            Operator::MatMul => self.matmul(node, out.len(), axis),
            Operator::Gemm(gemm) => self.gemm(node, gemm, axis),
            Operator::BitCast(_)
            | Operator::Quantize(_)
            | Operator::Dequantize(_)
            | Operator::DynamicQuantize
            | Operator::QuantizedUnary(_)
            | Operator::Dropout { .. }
            | Operator::Fill { .. }
            | Operator::Range
            | Operator::EyeLike { .. }
            | Operator::Random { .. }
            | Operator::RandomLike(_)
            | Operator::Bernoulli { .. }
            | Operator::Multinomial { .. }
            | Operator::SignalWindow(_)
            | Operator::Shape { .. }
            | Operator::Size
            | Operator::Squeeze
            | Operator::Unsqueeze
            | Operator::Expand
            | Operator::Tile
            | Operator::Pad(_)
            | Operator::CenterCropPad(_)
            | Operator::DepthToSpace { .. }
            | Operator::SpaceToDepth { .. }
            | Operator::ReverseSequence { .. }
            | Operator::Trilu { .. }
            | Operator::GatherElements { .. }
            | Operator::GatherNd { .. }
            | Operator::ScatterElements { .. }
            | Operator::ScatterNd(_)
            | Operator::TensorScatter { .. }
            | Operator::OneHot { .. }
            | Operator::NonZero
            | Operator::Compress { .. }
            | Operator::Unique { .. }
            | Operator::TopK { .. }
            | Operator::NonMaxSuppression { .. }
            | Operator::FusedMatMul(_)
            | Operator::DynamicQuantizedMatMul
            | Operator::MatMulInteger
            | Operator::QuantizedMatMul
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
            | Operator::ArgReduce(_)
            | Operator::Cumulate(_)
            | Operator::BatchNorm(_)
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
            | Operator::If(_)
            | Operator::Loop(_)
            | Operator::Scan(_)
            | Operator::Custom(_) => None,
        }
    }

    /// An operand that is broadcast to the result.
    fn broadcast(&self, operand: TensorId, rank: usize, axis: usize) -> Option<Need> {
        let dims = self.dims(operand)?;
        let missing = rank.checked_sub(dims.len())?;
        match axis.checked_sub(missing) {
            Some(own) if dims[own] != 1 => Some(Need::Part(own)),
            Some(_) | None => Some(Need::Whole),
        }
    }

    /// The axis of the operand whose units are those of the result, where the same elements are grouped otherwise:
    /// as many elements lie before both, and the units divide both.
    fn regroup(&self, node: &ModelNode, axis: usize, units: u64) -> Option<Need> {
        let out = self.dims(node.outputs[0]?)?;
        let operand = self.dims(node.inputs.first().copied().flatten()?)?;
        let outer: u64 = out[..axis].iter().product();
        let fits = |own: &usize| {
            let before: u64 = operand[..*own].iter().product();
            before == outer && operand[*own].is_multiple_of(units)
        };
        (0..operand.len()).filter(fits).find(|own| operand[*own] >= units).map(Need::Part)
    }

    /// Along axes that are not sliced.
    fn slice(&self, node: &ModelNode, axis: usize) -> Option<Need> {
        let rank = self.dims(node.inputs[0]?)?.len();
        let sliced = match node.inputs.get(3).copied().flatten() {
            Some(said) => self.ints(said)?,
            None => (0..self.ints((*node.inputs.get(1)?)?)?.len().cast_signed() as i64).collect(),
        };
        let sliced: Option<Vec<usize>> = sliced.iter().map(|axis| absolute(*axis, rank)).collect();
        (!sliced?.contains(&axis)).then_some(Need::Part(axis))
    }

    /// Along axes that are not reduced.
    fn reduce(&self, node: &ModelNode, keeps: bool, axis: usize) -> Option<Need> {
        let rank = self.dims(node.inputs[0]?)?.len();
        let reduced = self.ints(node.inputs.get(1).copied().flatten()?)?;
        let reduced: Option<Vec<usize>> =
            reduced.iter().map(|axis| absolute(*axis, rank)).collect();
        let reduced = reduced?;
        let mut kept = (0..rank).filter(|axis| !reduced.contains(axis));
        let own = if keeps { Some(axis) } else { kept.nth(axis) }?;
        (!reduced.contains(&own)).then_some(Need::Part(own))
    }

    /// Slices of an axis, at places that have a part, or with parts of the other axes.
    fn gather(&self, node: &ModelNode, along: i64, axis: usize) -> Option<Vec<Need>> {
        let (data, places) = (self.dims(node.inputs[0]?)?, self.dims((*node.inputs.get(1)?)?)?);
        let along = absolute(along, data.len())?;
        Some(if axis < along {
            vec![Need::Part(axis), Need::Whole]
        } else if axis < along + places.len() {
            vec![Need::Whole, Need::Part(axis - along)]
        } else {
            vec![Need::Part(axis + 1 - places.len()), Need::Whole]
        })
    }

    /// Rows of the first, columns of the second, and batches of both.
    fn matmul(&self, node: &ModelNode, rank: usize, axis: usize) -> Option<Vec<Need>> {
        let [a, b] =
            [node.inputs.first(), node.inputs.get(1)].map(|input| input.copied().flatten());
        let (a, b) = (self.dims(a?)?, self.dims(b?)?);
        if a.len() < 2 || b.len() < 2 {
            return None;
        }
        if axis + 1 == rank {
            return Some(vec![Need::Whole, Need::Part(b.len() - 1)]);
        }
        if axis + 2 == rank {
            return Some(vec![Need::Part(a.len() - 2), Need::Whole]);
        }
        let ids = [node.inputs[0]?, node.inputs[1]?];
        ids.into_iter().map(|id| self.broadcast(id, rank, axis)).collect()
    }

    fn gemm(&self, node: &ModelNode, gemm: &Gemm, axis: usize) -> Option<Vec<Need>> {
        let mut needs = match axis {
            0 => vec![Need::Part(usize::from(gemm.transpose_a)), Need::Whole],
            _ => vec![Need::Whole, Need::Part(usize::from(!gemm.transpose_b))],
        };
        if let Some(Some(c)) = node.inputs.get(2) {
            needs.push(self.broadcast(*c, 2, axis)?);
        }
        Some(needs)
    }

    /// Integers that are stored.
    pub(super) fn ints(&self, id: TensorId) -> Option<Vec<i64>> {
        let tensor = self.model.tensor(id);
        match (tensor.origin, &tensor.content) {
            (Origin::Stored, Some(Content::Ints(ints))) => Some(ints.clone()),
            _ => None,
        }
    }
}

/// What is needed of the first operand, and the others wholly.
fn with_whole(first: Need, operands: usize) -> Vec<Need> {
    let mut needs = vec![Need::Whole; operands];
    needs[0] = first;
    needs
}

/// Along axes that are no part of a row.
fn row(softmax: &Softmax, rank: usize, axis: usize) -> Option<Need> {
    let along = absolute(softmax.axis, rank)?;
    let is_apart = if softmax.to_end { axis < along } else { axis != along };
    is_apart.then_some(Need::Part(axis))
}

/// Along axes that a norm does not mix.
fn within_norm(norm: &Norm, rank: usize, axis: usize) -> Option<Need> {
    match norm {
        Norm::Rms { axis: first, .. } => before(*first, rank, axis),
        Norm::Lp { axis: along, .. } => {
            (absolute(*along, rank)? != axis).then_some(Need::Part(axis))
        }
        Norm::Instance { .. } | Norm::Group { .. } | Norm::MeanVariance { .. } => None,
    }
}

/// Along axes before the first that is normalised over.
fn before(first: i64, rank: usize, axis: usize) -> Option<Need> {
    (axis < absolute(first, rank)?).then_some(Need::Part(axis))
}

/// An axis that may be counted from the end.
pub(super) fn absolute(axis: i64, rank: usize) -> Option<usize> {
    let axis = if axis < 0 { axis + i64::try_from(rank).ok()? } else { axis };
    usize::try_from(axis).ok().filter(|axis| *axis < rank)
}
