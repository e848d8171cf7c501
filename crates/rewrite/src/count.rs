//! How much arithmetic a model is: multiply-adds, exactly.
//!
//! What is counted are the products that are added up by convolutions, products of matrices, recurrences,
//! attention and linear interpolation: nearly all the time of a model goes there. A window at an edge counts whole, so that a part of a
//! convolution counts what it was in the whole. Static nodes are computed once, before the first run, and count
//! nothing. The bodies of loops and branches count once.

use plimsoll_graph::Fact;
use plimsoll_graph::shape::product;
use plimsoll_model::{
    Body, Cell, Interpolation, Model, ModelNode, Operator, Recurrence, Resize, TensorId,
};

/// The multiply-adds of one run of a model, as far as shapes are known.
///
/// `facts` and `statics` are what [`infer`](plimsoll_model::infer) found of the model.
#[must_use]
pub fn multiply_adds(model: &Model, facts: &[Fact], statics: &[bool]) -> u64 {
    Counter { facts, statics }.body(&model.body)
}

/// The multiply-adds of one node.
#[must_use]
pub fn node_multiply_adds(node: &ModelNode, facts: &[Fact], statics: &[bool]) -> u64 {
    Counter { facts, statics }.node(node)
}

struct Counter<'m> {
    facts: &'m [Fact],
    statics: &'m [bool],
}

impl Counter<'_> {
    fn body(&self, body: &Body) -> u64 {
        body.nodes.iter().map(|node| self.node(node)).fold(0, u64::saturating_add)
    }

    fn node(&self, node: &ModelNode) -> u64 {
        let mut made = node.outputs.iter().flatten();
        if made.all(|output| self.statics[output.index()]) {
            return 0;
        }
        self.computed(node).unwrap_or(0)
    }

    /// The multiply-adds of a node that runs; `None` if a dim that they depend on is not known.
    #[allow(clippy::too_many_lines, reason = "one line for each operator")]
    fn computed(&self, node: &ModelNode) -> Option<u64> {
        let dims = |operand: usize| self.dims(*node.inputs.get(operand)?);
        let made = || self.dims(*node.outputs.first()?);
        match &node.operator {
            Operator::Conv(_)
            | Operator::FusedConv(_)
            | Operator::ConvInteger(_)
            | Operator::DeformConv { .. }
            | Operator::CausalConv(_) => times(&made()?, &dims(1)?[1..]),
            Operator::QuantizedConv(_) => times(&made()?, &dims(3)?[1..]),
            Operator::ConvTranspose { .. } => times(&dims(0)?, &dims(1)?[1..]),
            Operator::MatMul | Operator::MatMulInteger | Operator::DynamicQuantizedMatMul => {
                times(&made()?, last(&dims(0)?))
            }
            Operator::QuantizedMatMul => times(&made()?, last(&dims(0)?)),
            Operator::FusedMatMul(fused) => {
                let a = dims(0)?;
                let inner = a.len().checked_sub(if fused.transpose_a { 2 } else { 1 });
                times(&made()?, &[*a.get(inner?)?])
            }
            Operator::Gemm(gemm) | Operator::FusedGemm { gemm, .. } => {
                times(&made()?, &[*dims(0)?.get(usize::from(!gemm.transpose_a))?])
            }
            Operator::Einsum { equation } => self.einsum(node, equation),
            Operator::Recurrent(recurrence) => recurrent(recurrence, &dims(0)?, &dims(2)?),
            Operator::Attention(_) => attention(&dims(0)?, &dims(1)?, &dims(2)?),
            Operator::Resize(Resize { mode: Interpolation::Linear, .. }) => {
                interpolated(&dims(0)?, &made()?)
            }
            Operator::If(branches) => {
                Some(self.body(&branches.then).max(self.body(&branches.otherwise)))
            }
            Operator::Loop(body) => Some(self.body(body)),
            Operator::Scan(iteration) => Some(self.body(&iteration.body)),
            Operator::Unary(_)
            | Operator::Binary(_)
            | Operator::Variadic(_)
            | Operator::Where
            | Operator::Clip
            | Operator::Cast { .. }
            | Operator::CastLike(_)
            | Operator::BitCast(_)
            | Operator::Quantize(_)
            | Operator::Dequantize(_)
            | Operator::DynamicQuantize
            | Operator::QuantizedUnary(_)
            | Operator::Dropout { .. }
            | Operator::Identity
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
            | Operator::Reshape { .. }
            | Operator::Squeeze
            | Operator::Unsqueeze
            | Operator::Flatten { .. }
            | Operator::Transpose(_)
            | Operator::Slice
            | Operator::Split { .. }
            | Operator::Concat { .. }
            | Operator::Expand
            | Operator::Tile
            | Operator::Pad(_)
            | Operator::CenterCropPad(_)
            | Operator::DepthToSpace { .. }
            | Operator::SpaceToDepth { .. }
            | Operator::ReverseSequence { .. }
            | Operator::Trilu { .. }
            | Operator::Gather { .. }
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
            | Operator::Reduce(_)
            | Operator::ArgReduce(_)
            | Operator::Cumulate(_)
            | Operator::Softmax(_)
            | Operator::BatchNorm(_)
            | Operator::LayerNorm(_)
            | Operator::Norm(_)
            | Operator::SkipNorm(_)
            | Operator::LocalNorm(_)
            | Operator::RotaryEmbedding(_)
            | Operator::Fourier { .. }
            | Operator::ShortFourier { .. }
            | Operator::MelWeights(_)
            | Operator::Loss(_)
            | Operator::Det
            | Operator::Custom(_) => Some(0),
        }
    }

    /// Every combination of labels is one product.
    fn einsum(&self, node: &ModelNode, equation: &str) -> Option<u64> {
        let operands = equation.split("->").next()?;
        let mut labels: Vec<(char, u64)> = Vec::new();
        for (text, input) in operands.split(',').zip(&node.inputs) {
            let names: Vec<char> = text.chars().filter(|name| name.is_alphabetic()).collect();
            let dims = self.dims(*input)?;
            let wide = dims.len().checked_sub(names.len())?;
            let ellipsis = text.chars().filter(|name| !name.is_whitespace()).position(|c| c == '.');
            for (at, dim) in dims.iter().enumerate() {
                let before = ellipsis.unwrap_or(dims.len());
                let label = match at {
                    _ if at < before => names[at],
                    _ if at < before + wide => {
                        char::from_digit(u32::try_from(at - before).ok()?, 10)?
                    }
                    _ => names[at - wide],
                };
                match labels.iter_mut().find(|(name, _)| *name == label) {
                    Some((_, most)) => *most = (*most).max(*dim),
                    None => labels.push((label, *dim)),
                }
            }
        }
        let dims: Vec<u64> = labels.into_iter().map(|(_, dim)| dim).collect();
        product(&dims)
    }

    fn dims(&self, tensor: Option<TensorId>) -> Option<Vec<u64>> {
        self.facts[tensor?.index()].shape.as_ref()?.known()
    }
}

/// The product of all dims of both.
fn times(dims: &[u64], more: &[u64]) -> Option<u64> {
    product(dims)?.checked_mul(product(more)?)
}

fn last(dims: &[u64]) -> &[u64] {
    &dims[dims.len().saturating_sub(1)..]
}

/// Two products for each element and each axis that is interpolated along, all at once.
fn interpolated(from: &[u64], to: &[u64]) -> Option<u64> {
    let axes = from.iter().zip(to).filter(|(from, to)| from != to).count();
    product(to)?.checked_mul(1u64.checked_shl(u32::try_from(axes).ok()?)?)
}

/// `x` of `[length, batch, inputs]` and weights `[directions, gates * hidden, hidden]`: every gate has a product
/// with the input and one with the state.
fn recurrent(recurrence: &Recurrence, x: &[u64], weights: &[u64]) -> Option<u64> {
    let [first, second, inputs] = *x else { return None };
    let hidden = *weights.last()?;
    let gates = match recurrence.cell {
        Cell::Rnn => 1,
        Cell::Gru { .. } => 3,
        Cell::Lstm { .. } => 4,
    };
    let each = inputs.checked_add(hidden)?;
    product(&[first, second, recurrence.directions(), gates, hidden, each])
}

/// Queries `[…, rows, width]` with keys and values: scores, and what they weigh.
fn attention(q: &[u64], k: &[u64], v: &[u64]) -> Option<u64> {
    let keys = *k.get(k.len().checked_sub(2)?)?;
    let rows = product(&q[..q.len().checked_sub(1)?])?;
    let width = q.last()?.checked_add(*v.last()?)?;
    product(&[rows, keys, width])
}

#[cfg(test)]
mod tests {
    use plimsoll_graph::Dtype;
    use plimsoll_model::{Bindings, Convolution, Origin, Tensor, Windows, infer};

    use super::*;

    /// The multiply-adds of one operator on stored and given tensors of these dims.
    fn counted(operator: Operator, dims: &[&[u64]]) -> u64 {
        let mut model = Model::default();
        let mut inputs = Vec::new();
        for (at, dims) in dims.iter().enumerate() {
            let mut tensor = Tensor::stored(format!("x{at}"), Dtype::F32, dims);
            tensor.origin = Origin::Caller;
            let id = model.add(tensor);
            model.body.inputs.push(id);
            inputs.push(Some(id));
        }
        let y = model.add(Tensor::computed("y"));
        model.body.outputs.push(y);
        let (name, kind) = ("node".to_owned(), String::new());
        model.body.nodes.push(ModelNode { name, kind, operator, inputs, outputs: vec![Some(y)] });
        let inferred = infer(&model, &Bindings::default()).unwrap_or_else(|e| panic!("{e}"));
        multiply_adds(&model, &inferred.facts, &inferred.statics)
    }

    #[test]
    fn products_of_matrices_count_rows_times_columns_times_what_is_summed() {
        assert_eq!(counted(Operator::MatMul, &[&[2, 3, 5], &[5, 7]]), 2 * 3 * 5 * 7);
        let equation = "bij,bjk->bik".to_owned();
        let einsum = Operator::Einsum { equation };
        assert_eq!(counted(einsum, &[&[2, 3, 5], &[2, 5, 7]]), 2 * 3 * 5 * 7);
    }

    #[test]
    fn linear_interpolation_counts_what_lies_around_an_element() {
        assert_eq!(interpolated(&[1, 3, 4, 5], &[1, 3, 8, 10]), Some(3 * 8 * 10 * 4));
        assert_eq!(interpolated(&[1, 3, 4, 5], &[1, 3, 4, 10]), Some(3 * 4 * 10 * 2));
        assert_eq!(interpolated(&[u64::MAX, 2], &[u64::MAX, 4]), None);
    }

    #[test]
    fn convolutions_count_a_window_for_every_element() {
        let windows = Windows { strides: vec![2, 1], ..Windows::default() };
        let conv = Operator::Conv(Convolution { windows, group: 2 });
        assert_eq!(counted(conv, &[&[1, 4, 9, 8], &[6, 2, 3, 3]]), 6 * 4 * 6 * 2 * 9);
        let (conv, output_padding, output_dims) = (Convolution::default(), Vec::new(), None);
        let transposed = Operator::ConvTranspose { conv, output_padding, output_dims };
        assert_eq!(counted(transposed, &[&[1, 4, 9, 8], &[4, 6, 3, 3]]), 4 * 9 * 8 * 6 * 9);
    }

    #[test]
    fn what_adds_up_no_products_counts_nothing() {
        assert_eq!(counted(Operator::Softmax(plimsoll_model::Softmax::along(1)), &[&[4, 9]]), 0);
    }
}
