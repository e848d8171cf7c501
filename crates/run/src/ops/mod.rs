//! A kernel for each operator, or the words that there is none.
//!
//! One `match` without a wildcard: an operator that is new to the model does not compile until somebody has
//! said which kernel it has.

mod along;
mod attention;
mod branches;
mod elementwise;
mod images;
mod layout;
mod letters;
mod made;
mod norms;
mod places;
mod products;
mod quantized;
mod recurrent;
mod requantized;
mod rounds;
mod wide;
mod windows;

pub(crate) use branches::{Guard, branch, guards};
pub(crate) use images::{nearest_places, weighed_axes};
pub(crate) use layout::{copies, pad_begins};
use plimsoll_model::Operator;
pub(crate) use products::{gemm, gemm_least, has_fixed_factor, matmul, matmul_least};
pub(crate) use rounds::{Rounds, Share, repeated};
pub(crate) use wide::{Wider, widened};
pub(crate) use windows::{conv, conv_least};

use crate::at::At;
use crate::kernel::{Built, Lack};
use crate::tail::Tail;

/// The calls of a node, in a wider type where there is no kernel for its own.
pub(crate) fn build(at: &At<'_>) -> Result<Built, Lack> {
    kernel(at).or_else(|lack| wide::build(at, kernel).unwrap_or(Err(lack)))
}

/// The calls of a node.
#[allow(clippy::too_many_lines, reason = "a table with a line for every operator")]
fn kernel(at: &At<'_>) -> Result<Built, Lack> {
    match &at.node.operator {
        Operator::Unary(unary) => elementwise::unary(at, *unary),
        Operator::Binary(binary) => elementwise::binary(at, *binary),
        Operator::Variadic(variadic) => elementwise::variadic(at, *variadic),
        Operator::Where => elementwise::select(at),
        Operator::Clip => elementwise::clip(at),
        Operator::Cast { .. } | Operator::CastLike(_) => elementwise::cast(at),
        Operator::Dropout { .. } => layout::dropout(at),
        Operator::Identity
        | Operator::Reshape { .. }
        | Operator::Squeeze
        | Operator::Unsqueeze
        | Operator::Flatten { .. }
        | Operator::BitCast(_) => layout::copy(at),

        Operator::Fill { bits, .. } => made::fill(at, *bits),
        Operator::Range => made::range(at),
        Operator::EyeLike { k, .. } => made::eye(at, *k),
        Operator::Shape { .. } | Operator::Size => made::known(at),

        Operator::Transpose(permutation) => layout::transpose(at, permutation.as_deref()),
        Operator::Slice => layout::slice(at),
        Operator::Split { axis } => layout::split(at, *axis),
        Operator::Concat { axis } => layout::concat(at, *axis),
        Operator::Expand => layout::expand(at),
        Operator::Tile => layout::tile(at),
        Operator::Pad(mode) => layout::pad(at, *mode),
        Operator::CenterCropPad(_) => layout::center_crop_pad(at),
        Operator::DepthToSpace { block, order } => layout::depth_to_space(at, *block, *order),
        Operator::SpaceToDepth { block } => layout::space_to_depth(at, *block),
        Operator::ReverseSequence { batch_axis, .. } => layout::reverse_sequence(at, *batch_axis),
        Operator::Trilu { upper } => layout::trilu(at, *upper),

        Operator::Gather { axis } => places::gather(at, *axis),
        Operator::GatherElements { axis } => places::gather_elements(at, *axis),
        Operator::GatherNd { batch_dims } => places::gather_nd(at, *batch_dims),
        Operator::ScatterElements { axis, update } => places::scatter_elements(at, *axis, *update),
        Operator::ScatterNd(update) => places::scatter_nd(at, *update),
        Operator::TensorScatter { axis, circular } => places::tensor_scatter(at, *axis, *circular),
        Operator::OneHot { axis } => places::one_hot(at, *axis),
        Operator::TopK { axis, largest, .. } => places::top_k(at, *axis, *largest),

        Operator::MatMul => products::matmul(at, Tail::default()),
        Operator::Gemm(gemm) => products::gemm(at, *gemm, Tail::default()),
        Operator::FusedGemm { gemm, activation } => {
            products::gemm(at, *gemm, Tail::of(Some(*activation))?)
        }
        Operator::FusedMatMul(fused) => products::fused_matmul(at, *fused),
        Operator::Einsum { equation } => letters::einsum(at, equation),
        Operator::Conv(conv) => windows::conv(at, conv, None, Tail::default()),
        Operator::FusedConv(fused) => {
            windows::conv(at, &fused.conv, None, Tail::of(fused.activation)?)
        }
        Operator::ConvTranspose { conv, .. } => windows::conv_transpose(at, conv),
        Operator::Pool(pool) => windows::pool(at, pool),
        Operator::GlobalPool(pooling) => windows::global_pool(at, *pooling),
        Operator::Resize(resize) => images::resize(at, resize),
        Operator::GridSample(sample) => images::grid_sample(at, *sample),

        Operator::Reduce(reduce) => along::reduce(at, *reduce),
        Operator::ArgReduce(reduce) => along::arg_reduce(at, *reduce),
        Operator::Cumulate(cumulate) => along::cumulate(at, *cumulate),
        Operator::Softmax(softmax) => along::softmax(at, *softmax),
        Operator::BatchNorm(norm) => norms::batch_norm(at, *norm),
        Operator::LayerNorm(norm) => norms::layer_norm(at, *norm),
        Operator::Norm(norm) => norms::norm(at, norm),
        Operator::LocalNorm(norm) => norms::local_norm(at, *norm),
        Operator::SkipNorm(norm) => norms::skip_norm(at, *norm),

        Operator::Recurrent(layer) => recurrent::recurrent(at, layer),
        Operator::Attention(attention) => attention::attention(at, *attention),
        Operator::RotaryEmbedding(rotary) => attention::rotary(at, *rotary),

        Operator::Quantize(quantization) => quantized::quantize(at, *quantization),
        Operator::Dequantize(quantization) => quantized::dequantize(at, *quantization),
        Operator::DynamicQuantize => quantized::dynamic(at),
        Operator::MatMulInteger => quantized::matmul_integer(at),
        Operator::QuantizedUnary(unary) => requantized::unary(at, *unary),
        Operator::DynamicQuantizedMatMul => requantized::dynamic_matmul(at),
        Operator::QuantizedMatMul => requantized::matmul(at),
        Operator::ConvInteger(conv) => requantized::conv_to_integers(at, conv),
        Operator::QuantizedConv(conv) => requantized::conv(at, conv),
        Operator::QuantizedPool(pool) => requantized::average_pool(at, pool),
        Operator::QuantizedGlobalPool(pooling) => requantized::global_pool(at, *pooling),

        Operator::Random { .. }
        | Operator::RandomLike(_)
        | Operator::Bernoulli { .. }
        | Operator::Multinomial { .. }
        | Operator::SignalWindow(_)
        | Operator::NonZero
        | Operator::Compress { .. }
        | Operator::Unique { .. }
        | Operator::NonMaxSuppression { .. }
        | Operator::DeformConv { .. }
        | Operator::CausalConv(_)
        | Operator::MaxUnpool(_)
        | Operator::Col2Im(_)
        | Operator::RoiAlign(_)
        | Operator::MaxRoiPool { .. }
        | Operator::AffineGrid { .. }
        | Operator::Fourier { .. }
        | Operator::ShortFourier { .. }
        | Operator::MelWeights(_)
        | Operator::Loss(_)
        | Operator::Det
        | Operator::If(_)
        | Operator::Loop(_)
        | Operator::Scan(_)
        | Operator::Custom(_) => Err("no kernel".to_owned()),
    }
}
