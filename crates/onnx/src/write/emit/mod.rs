//! Nodes written anew: from an [`Operator`] to the name, the attributes and the operands that an edition of ONNX's
//! operators wants.
//!
//! This is the way back of [`operator`](crate::operator), for the operators that rewrites make or change. What they
//! only hand other tensors to is carried over from the file and never comes here. An operator that the edition
//! lacks, or that rewrites have no business with, is an error that says so.

mod along;
mod elements;
mod layout;
mod windows;

use plimsoll_graph::Dtype;
use plimsoll_model::{
    Content, FusedConv, FusedMatMul, Gemm, Model, ModelNode, Operator, Origin, TensorId, Unary,
};

use super::attribute::{float, floats, int, text};
use crate::error::Fault;
use crate::proto::AttributeProto;

/// The domain of operators that a widespread runtime has beside ONNX's own.
const MICROSOFT: &str = "com.microsoft";

/// A node on the way to its message.
pub(super) struct Emitted {
    pub(super) kind: &'static str,
    pub(super) domain: &'static str,
    pub(super) attributes: Vec<AttributeProto>,
    pub(super) inputs: Vec<Option<TensorId>>,
}

/// The node as an edition wants it.
pub(super) fn emit(model: &Model, node: &ModelNode, version: i64) -> Result<Emitted, Fault> {
    let emitted =
        Emitted { kind: "", domain: "", attributes: Vec::new(), inputs: node.inputs.clone() };
    let mut form = Form { model, version, outputs: node.outputs.len(), emitted };
    form.operator(&node.operator)?;
    Ok(form.emitted)
}

/// What becomes of a node in an edition.
struct Form<'a> {
    model: &'a Model,
    version: i64,
    /// How many results the node has.
    outputs: usize,
    emitted: Emitted,
}

type Formed = Result<(), Fault>;

impl Form<'_> {
    #[allow(clippy::too_many_lines, reason = "one line for each operator")]
    fn operator(&mut self, operator: &Operator) -> Formed {
        match operator {
            Operator::Unary(unary) => self.unary(*unary),
            Operator::Binary(binary) => self.binary(*binary),
            Operator::Variadic(variadic) => self.variadic(*variadic),
            Operator::Where => self.is("Where", 9),
            Operator::Clip => self.clip(),
            Operator::Cast { to, conversion } => self.cast(*to, *conversion),
            Operator::Identity => self.is("Identity", 1),
            Operator::Fill { dtype, bits, .. } => self.fill(*dtype, *bits),
            Operator::Range => self.is("Range", 11),
            Operator::Shape { start, end } => self.shape(*start, *end),
            Operator::Size => self.is("Size", 1),

            Operator::Reshape { allow_zero } => self.reshape(*allow_zero),
            Operator::Squeeze => self.with_axes("Squeeze", 13),
            Operator::Unsqueeze => self.with_axes("Unsqueeze", 13),
            Operator::Flatten { axis } => self.along("Flatten", 1, *axis),
            Operator::Transpose(permutation) => self.transpose(permutation.as_deref()),
            Operator::Slice => self.slice(),
            Operator::Split { axis } => self.split(*axis),
            Operator::Concat { axis } => self.along("Concat", 4, *axis),
            Operator::Expand => self.is("Expand", 8),
            Operator::Tile => self.is("Tile", 6),
            Operator::Pad(mode) => self.pad(*mode),
            Operator::Gather { axis } => self.along("Gather", 1, *axis),

            Operator::MatMul => self.is("MatMul", 1),
            Operator::FusedMatMul(fused) => self.fused_matmul(fused),
            Operator::Gemm(gemm) => self.gemm(gemm),
            Operator::FusedConv(fused) => self.fused_conv(fused),
            Operator::Conv(conv) => self.conv(conv),
            Operator::ConvTranspose { conv, output_padding, output_dims } => {
                self.conv_transpose(conv, output_padding, output_dims.as_deref())
            }
            Operator::Pool(pool) => self.pool(pool),
            Operator::GlobalPool(pooling) => self.global_pool(*pooling),
            Operator::Resize(resize) => self.resize(resize),

            Operator::Reduce(reduce) => self.reduce(*reduce),
            Operator::ArgReduce(reduce) => self.arg_reduce(reduce),
            Operator::Softmax(softmax) => self.softmax(softmax),
            Operator::BatchNorm(norm) => self.batch_norm(norm),
            Operator::LayerNorm(norm) => self.layer_norm(norm),
            Operator::Norm(norm) => self.norm(norm),
            Operator::LocalNorm(norm) => self.local_norm(norm),

            Operator::Custom(_) => {
                Err("an operator of somebody else cannot be written anew".to_owned())
            }
            Operator::CastLike(_)
            | Operator::BitCast(_)
            | Operator::Quantize(_)
            | Operator::Dequantize(_)
            | Operator::DynamicQuantize
            | Operator::QuantizedUnary(_)
            | Operator::Dropout { .. }
            | Operator::EyeLike { .. }
            | Operator::Random { .. }
            | Operator::RandomLike(_)
            | Operator::Bernoulli { .. }
            | Operator::Multinomial { .. }
            | Operator::SignalWindow(_)
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
            | Operator::DynamicQuantizedMatMul
            | Operator::MatMulInteger
            | Operator::QuantizedMatMul
            | Operator::FusedGemm { .. }
            | Operator::Einsum { .. }
            | Operator::ConvInteger(_)
            | Operator::QuantizedConv(_)
            | Operator::DeformConv { .. }
            | Operator::CausalConv(_)
            | Operator::QuantizedPool(_)
            | Operator::QuantizedGlobalPool(_)
            | Operator::MaxUnpool(_)
            | Operator::Col2Im(_)
            | Operator::RoiAlign(_)
            | Operator::MaxRoiPool { .. }
            | Operator::GridSample(_)
            | Operator::AffineGrid { .. }
            | Operator::Cumulate(_)
            | Operator::SkipNorm(_)
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
            | Operator::Scan(_) => Err("no rewrite changes this operator".to_owned()),
        }
    }

    /// An operator of ONNX that is there from an edition on.
    fn is(&mut self, kind: &'static str, since: i64) -> Formed {
        self.emitted.kind = kind;
        if self.version >= since {
            return Ok(());
        }
        let version = self.version;
        Err(format!("{kind} is an operator since version {since}, and the file has {version}"))
    }

    /// The same with an axis.
    fn along(&mut self, kind: &'static str, since: i64, axis: i64) -> Formed {
        self.is(kind, since)?;
        self.set(int("axis", axis));
        Ok(())
    }

    fn set(&mut self, attribute: AttributeProto) {
        self.emitted.attributes.push(attribute);
    }

    /// Sets an attribute that is there from an edition on, if it is not what is meant without it.
    fn set_since(&mut self, since: i64, attribute: AttributeProto, is_default: bool) -> Formed {
        if is_default {
            return Ok(());
        }
        if self.version < since {
            let (name, version) = (attribute.name(), self.version);
            return Err(format!(
                "attribute `{name}` is there since version {since}, and the file has {version}"
            ));
        }
        self.set(attribute);
        Ok(())
    }

    /// Takes an operand away that an older edition has as an attribute, and gives its integers.
    fn take_ints(&mut self, slot: usize) -> Result<Option<Vec<i64>>, Fault> {
        match self.take(slot)? {
            None => Ok(None),
            Some(Content::Ints(ints)) => Ok(Some(ints)),
            Some(Content::Floats(_)) => Err("an operand should be integers".to_owned()),
        }
    }

    /// The same of an operand that is one number.
    fn take_float(&mut self, slot: usize) -> Result<Option<f32>, Fault> {
        Ok(match self.take(slot)? {
            None => None,
            Some(Content::Ints(ints)) => ints.first().map(|value| *value as f32),
            Some(Content::Floats(floats)) => floats.first().map(|value| *value as f32),
        })
    }

    fn take(&mut self, slot: usize) -> Result<Option<Content>, Fault> {
        let place = self.emitted.inputs.get_mut(slot).and_then(Option::take);
        let Some(id) = place else { return Ok(None) };
        let tensor = self.model.tensor(id);
        match (tensor.origin, &tensor.content) {
            (Origin::Stored, Some(content)) => Ok(Some(content.clone())),
            _ => Err(format!("version {} wants `{}` to be known", self.version, tensor.name)),
        }
    }

    fn gemm(&mut self, gemm: &Gemm) -> Formed {
        self.is("Gemm", 7)?;
        if self.version < 11 && self.emitted.inputs.len() < 3 {
            return Err("a product without a third operand is there since version 11".to_owned());
        }
        self.set(int("transA", gemm.transpose_a.into()));
        self.set(int("transB", gemm.transpose_b.into()));
        self.set(float("alpha", gemm.alpha));
        self.set(float("beta", gemm.beta));
        Ok(())
    }

    fn fused_matmul(&mut self, fused: &FusedMatMul) -> Formed {
        if fused.activation.is_some() {
            return Err("a product with a function behind it cannot be written anew".to_owned());
        }
        self.emitted.kind = "FusedMatMul";
        self.emitted.domain = MICROSOFT;
        self.set(int("transA", fused.transpose_a.into()));
        self.set(int("transB", fused.transpose_b.into()));
        self.set(float("alpha", fused.alpha));
        Ok(())
    }

    fn fused_conv(&mut self, fused: &FusedConv) -> Formed {
        self.conv(&fused.conv)?;
        self.emitted.kind = "FusedConv";
        self.emitted.domain = MICROSOFT;
        let (name, numbers) = match fused.activation {
            None => return Ok(()),
            Some(Unary::Relu) => ("Relu", vec![]),
            Some(Unary::Tanh) => ("Tanh", vec![]),
            Some(Unary::Sigmoid) => ("Sigmoid", vec![]),
            Some(Unary::LeakyRelu { alpha }) => ("LeakyRelu", vec![alpha]),
            Some(Unary::HardSigmoid { alpha, beta }) => ("HardSigmoid", vec![alpha, beta]),
            Some(Unary::Clamp { least, most }) => ("Clip", vec![least, most]),
            Some(other) => return Err(format!("{other:?} does not follow a convolution")),
        };
        self.set(text("activation", name));
        if !numbers.is_empty() {
            self.set(floats("activation_params", &numbers));
        }
        Ok(())
    }
}

/// The number of an element type.
pub(super) fn number(dtype: Dtype) -> i64 {
    (1..=26).find(|number| crate::dtype::dtype(*number) == Ok(dtype)).unwrap_or_default()
}
