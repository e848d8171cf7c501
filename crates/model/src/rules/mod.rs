//! What follows for the types and shapes of a node's outputs from what is known of its inputs.
//!
//! Everything that is said holds in every run in which the node runs at all; where something is not
//! known, less is said. There is a file for each class of operators. The `match` has no wildcard,
//! so that a new operator does not compile until its rule is stated.

mod along;
mod einsum;
mod elementwise;
mod fill;
mod images;
mod larger;
mod operands;
pub(crate) mod parts;
mod places;
mod products;
#[cfg(test)]
mod tests;
mod types;
mod views;
mod windows;

use plimsoll_graph::{Dtype, Fact};

use crate::model::{LossReduction, Operator};

/// The inputs of a node: what is known of each, `None` for an operand that is absent.
pub(crate) type Inputs<'a> = [Option<&'a Fact>];

/// What is known of each output, without elements; the error says what does not fit.
///
/// Control flow is not for here: it follows from its bodies.
#[allow(clippy::too_many_lines, reason = "a table with a line for each operator")]
pub(crate) fn outputs(
    operator: &Operator,
    inputs: &Inputs<'_>,
    outputs: usize,
) -> Result<Vec<Fact>, String> {
    types::check(operator, inputs)?;
    let mut facts = match operator {
        Operator::Unary(function) => elementwise::unary(*function, inputs),
        Operator::Binary(function) => elementwise::binary(*function, inputs),
        Operator::Variadic(_) => elementwise::variadic(inputs),
        Operator::Where => elementwise::choice(inputs),
        Operator::Clip => elementwise::clip(inputs),
        Operator::Cast { to, .. } => elementwise::cast(inputs, Some(*to)),
        Operator::CastLike(_) => elementwise::cast_like(inputs),
        Operator::BitCast(dtype) => elementwise::bit_cast(inputs, *dtype),
        Operator::Quantize(quantization) => elementwise::quantize(inputs, quantization.dtype),
        Operator::Dequantize(quantization) => elementwise::dequantize(inputs, quantization.dtype),
        Operator::DynamicQuantize => elementwise::dynamic_quantize(inputs),
        Operator::Dropout { early_mask } => elementwise::dropout(inputs, *early_mask),
        Operator::Identity
        | Operator::QuantizedUnary(_)
        | Operator::ReverseSequence { .. }
        | Operator::Trilu { .. }
        | Operator::TensorScatter { .. }
        | Operator::Cumulate(_)
        | Operator::Softmax(_)
        | Operator::LocalNorm(_)
        | Operator::RotaryEmbedding(_) => elementwise::same(inputs),

        Operator::Fill { dtype, .. } => fill::fill(inputs, *dtype),
        Operator::Range => fill::range(inputs),
        Operator::EyeLike { dtype, .. } | Operator::Bernoulli { dtype, .. } => {
            fill::shaped_like(inputs, *dtype)
        }
        Operator::RandomLike(random) => fill::shaped_like(inputs, random.dtype),
        Operator::Random { random, dims } => {
            Ok(fill::random(random.dtype.unwrap_or(Dtype::F32), dims))
        }
        Operator::Multinomial { dtype, samples, .. } => fill::multinomial(inputs, *dtype, *samples),
        Operator::SignalWindow(window) => fill::signal_window(inputs, window.dtype),
        Operator::Shape { start, end } => fill::shape(inputs, *start, *end),
        Operator::Size => fill::size(inputs),

        Operator::Reshape { allow_zero } => views::reshape(inputs, *allow_zero),
        Operator::Squeeze => views::squeeze(inputs),
        Operator::Unsqueeze => views::unsqueeze(inputs),
        Operator::Flatten { axis } => views::flatten(inputs, *axis),
        Operator::Transpose(perm) => views::transpose(inputs, perm.as_deref()),
        Operator::Expand => views::expand(inputs),
        Operator::DepthToSpace { block, .. } => views::depth_to_space(inputs, *block),
        Operator::SpaceToDepth { block } => views::space_to_depth(inputs, *block),
        Operator::Slice => parts::slice(inputs),
        Operator::Split { axis } => parts::split(inputs, *axis, outputs),
        Operator::Concat { axis } => parts::concat(inputs, *axis),
        Operator::Tile => parts::tile(inputs),
        Operator::Pad(_) => parts::pad(inputs),
        Operator::CenterCropPad(axes) => parts::center_crop_pad(inputs, axes.as_deref()),

        Operator::Gather { axis } => places::gather(inputs, *axis),
        Operator::GatherElements { axis } => places::gather_elements(inputs, *axis),
        Operator::GatherNd { batch_dims } => places::gather_nd(inputs, *batch_dims),
        Operator::ScatterElements { axis, .. } => places::scatter_elements(inputs, *axis),
        Operator::ScatterNd(_) => places::scatter_nd(inputs),
        Operator::OneHot { axis } => places::one_hot(inputs, *axis),
        Operator::NonZero => places::non_zero(inputs),
        Operator::Compress { axis } => places::compress(inputs, *axis),
        Operator::Unique { axis, .. } => places::unique(inputs, *axis),
        Operator::TopK { axis, .. } => places::top_k(inputs, *axis),
        Operator::NonMaxSuppression { .. } => places::non_max_suppression(inputs),

        Operator::MatMul | Operator::DynamicQuantizedMatMul => products::matmul(inputs),
        Operator::FusedMatMul(fused) => {
            products::transposed_matmul(inputs, fused.transpose_a, fused.transpose_b)
        }
        Operator::MatMulInteger => products::matmul_integer(inputs),
        Operator::QuantizedMatMul => products::quantized_matmul(inputs),
        Operator::Gemm(gemm) | Operator::FusedGemm { gemm, .. } => {
            products::gemm(inputs, gemm.transpose_a, gemm.transpose_b)
        }
        Operator::Einsum { equation } => einsum::einsum(inputs, equation),

        Operator::Conv(conv) => windows::conv(inputs, conv, 2),
        Operator::FusedConv(fused) => windows::conv(inputs, &fused.conv, 2),
        Operator::DeformConv { conv, .. } => windows::conv(inputs, conv, 3),
        Operator::ConvInteger(conv) => windows::conv_integer(inputs, conv),
        Operator::QuantizedConv(conv) => windows::quantized_conv(inputs, conv),
        Operator::ConvTranspose { conv, output_padding, output_dims } => {
            windows::conv_transpose(inputs, conv, output_padding, output_dims.as_deref())
        }
        Operator::CausalConv(_) => windows::causal_conv(inputs),
        Operator::Pool(pool) | Operator::QuantizedPool(pool) => windows::pool(inputs, pool),
        Operator::GlobalPool(_) | Operator::QuantizedGlobalPool(_) => windows::global_pool(inputs),
        Operator::MaxUnpool(windows) => windows::max_unpool(inputs, windows),
        Operator::Col2Im(_) => windows::col2im(inputs),

        Operator::RoiAlign(roi) => images::roi_align(inputs, roi.height, roi.width),
        Operator::MaxRoiPool { height, width, .. } => images::roi_align(inputs, *height, *width),
        Operator::GridSample(_) => images::grid_sample(inputs),
        Operator::AffineGrid { .. } => images::affine_grid(inputs),
        Operator::Resize(resize) => images::resize(inputs, resize),

        Operator::Reduce(reduce) => along::reduce(inputs, *reduce),
        Operator::ArgReduce(arg) => along::arg_reduce(inputs, arg.axis, arg.keep_dims),
        Operator::BatchNorm(_) => along::batch_norm(inputs),
        Operator::Norm(norm) => along::norm(inputs, norm),
        Operator::LayerNorm(norm) => along::layer_norm(inputs, *norm),
        Operator::SkipNorm(_) => along::skip_norm(inputs),

        Operator::Recurrent(layer) => larger::recurrent(inputs, layer),
        Operator::Attention(attention) => larger::attention(inputs, *attention),
        Operator::Fourier { one_sided, inverse } => larger::fourier(inputs, *one_sided, *inverse),
        Operator::ShortFourier { one_sided } => larger::short_fourier(inputs, *one_sided),
        Operator::MelWeights(dtype) => larger::mel_weights(inputs, *dtype),
        Operator::Loss(loss) => larger::loss(inputs, loss.reduction != LossReduction::None),
        Operator::Det => larger::det(inputs),

        Operator::If(_) | Operator::Loop(_) | Operator::Scan(_) => Ok(Vec::new()),
        Operator::Custom(custom) => Ok(larger::custom(inputs, custom)),
    }?;
    facts.resize(outputs, Fact::default());
    Ok(facts)
}
