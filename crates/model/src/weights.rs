//! The elements of stored tensors: what a model is run with.
//!
//! A [`Model`] says of a weight how large it is and, where it is small, what is in it. Whoever runs the model
//! needs all elements, and gets them from a [`Weights`]: the file that the model was read from, numbers from a
//! seed, a map in a test. Rewritten models keep the ids of tensors, so that the weights of the source are
//! those of the rewritten model; what a rewrite adds are small tensors, whose [`Content`] is all there is.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use plimsoll_graph::Dtype;
use plimsoll_graph::shape::product;

use crate::model::{Axis, Content, Model, TensorId};

/// Who has the elements of stored tensors.
pub trait Weights {
    /// The elements of a tensor in row-major order, each with its least byte first, those of less than a
    /// byte packed as in ONNX; `None` if there are none here. The fault says why they cannot be read.
    fn bytes(&self, tensor: TensorId) -> Result<Option<Cow<'_, [u8]>>, String>;
}

/// No elements but those that the model itself has.
impl Weights for () {
    fn bytes(&self, _: TensorId) -> Result<Option<Cow<'_, [u8]>>, String> {
        Ok(None)
    }
}

impl Weights for BTreeMap<TensorId, Vec<u8>> {
    fn bytes(&self, tensor: TensorId) -> Result<Option<Cow<'_, [u8]>>, String> {
        Ok(self.get(&tensor).map(|bytes| Cow::Borrowed(&bytes[..])))
    }
}

impl<W: Weights + ?Sized> Weights for &W {
    fn bytes(&self, tensor: TensorId) -> Result<Option<Cow<'_, [u8]>>, String> {
        (**self).bytes(tensor)
    }
}

/// Why a stored tensor has no elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WeightError {
    /// The name of the tensor.
    pub tensor: String,
    /// What is wrong.
    pub fault: String,
}

impl fmt::Display for WeightError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "weight `{}`: {}", self.tensor, self.fault)
    }
}

impl std::error::Error for WeightError {}

/// The elements of a stored tensor, as many as its type and dims say: from the weights, else from what the
/// model knows of it.
pub fn stored_bytes<'w>(
    model: &Model,
    weights: &'w dyn Weights,
    id: TensorId,
) -> Result<Cow<'w, [u8]>, WeightError> {
    let tensor = model.tensor(id);
    let wrong = |fault: String| WeightError { tensor: tensor.name.clone(), fault };
    let known = || {
        let known = tensor.content.as_ref().zip(tensor.dtype);
        known.and_then(|(content, dtype)| content.bytes(dtype)).map(Cow::Owned)
    };
    let bytes = weights.bytes(id).map_err(wrong)?.or_else(known);
    let bytes = bytes.ok_or_else(|| wrong("its elements are not there".to_owned()))?;
    let expected =
        stored_size(model, id).ok_or_else(|| wrong("its size is not known".to_owned()))?;
    if bytes.len() as u64 == expected {
        return Ok(bytes);
    }
    Err(wrong(format!("{} bytes of data, where {expected} are needed", bytes.len())))
}

/// How many bytes the elements of a stored tensor take, if its type and dims are said.
#[must_use]
pub fn stored_size(model: &Model, id: TensorId) -> Option<u64> {
    let tensor = model.tensor(id);
    let known = |axis: &Axis| match axis {
        Axis::Known(dim) => Some(*dim),
        Axis::Symbol(_) | Axis::Unknown => None,
    };
    let dims: Option<Vec<u64>> = tensor.dims.as_ref()?.iter().map(known).collect();
    tensor.dtype?.bytes(product(&dims?)?)
}

impl Content {
    /// The elements as they lie in memory, each with its least byte first; `None` for types whose elements
    /// are not numbers of these.
    #[must_use]
    pub fn bytes(&self, dtype: Dtype) -> Option<Vec<u8>> {
        match self {
            Content::Ints(ints) => int_bytes(ints, dtype),
            Content::Floats(floats) => float_bytes(floats, dtype),
        }
    }
}

fn int_bytes(ints: &[i64], dtype: Dtype) -> Option<Vec<u8>> {
    let width = dtype.bits() as usize / 8;
    match dtype {
        Dtype::U8
        | Dtype::I8
        | Dtype::U16
        | Dtype::I16
        | Dtype::I32
        | Dtype::I64
        | Dtype::Bool
        | Dtype::U32
        | Dtype::U64 => {
            // The lower bytes of a number are those of the narrower type.
            Some(ints.iter().flat_map(|int| int.to_le_bytes().into_iter().take(width)).collect())
        }
        Dtype::U4 | Dtype::I4 | Dtype::U2 | Dtype::I2 => Some(packed(ints, dtype.bits() as usize)),
        Dtype::F32 | Dtype::F64 | Dtype::F16 | Dtype::Bf16 => {
            float_bytes(&ints.iter().map(|int| *int as f64).collect::<Vec<_>>(), dtype)
        }
        Dtype::C64
        | Dtype::C128
        | Dtype::F8E4m3fn
        | Dtype::F8E4m3fnuz
        | Dtype::F8E5m2
        | Dtype::F8E5m2fnuz
        | Dtype::F8E8m0
        | Dtype::F4E2m1 => None,
    }
}

/// Elements of less than a byte, the first in the lowest bits.
fn packed(ints: &[i64], bits: usize) -> Vec<u8> {
    let mask = (1u8 << bits) - 1;
    let byte = |of: &[i64]| {
        of.iter().rev().fold(0u8, |byte, int| byte << bits | (int.cast_unsigned() as u8 & mask))
    };
    ints.chunks(8 / bits).map(byte).collect()
}

fn float_bytes(floats: &[f64], dtype: Dtype) -> Option<Vec<u8>> {
    match dtype {
        Dtype::F32 => Some(floats.iter().flat_map(|x| (*x as f32).to_le_bytes()).collect()),
        Dtype::F64 => Some(floats.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Dtype::F16 => Some(floats.iter().flat_map(|x| half_bits(*x).to_le_bytes()).collect()),
        Dtype::Bf16 => Some(floats.iter().flat_map(|x| brain_bits(*x).to_le_bytes()).collect()),
        _ => None,
    }
}

/// The number of 16 bits next to one, 5 of them for the exponent; of two as near the even one.
#[allow(clippy::cast_sign_loss, reason = "sizes are positive")]
fn half_bits(x: f64) -> u16 {
    let sign = u16::from(x.is_sign_negative()) << 15;
    let size = x.abs();
    if size.is_nan() {
        return sign | 0x7e00;
    }
    // The bits of a number are in steps that double with each power of two, and go on over it.
    let exponent = (size.to_bits() >> 52) as i32 - 1023;
    let step = 2f64.powi(exponent.clamp(-14, 15) - 10);
    let steps = (size / step).round_ties_even();
    let bits =
        if exponent < -14 { steps } else { steps + f64::from(exponent.min(16) + 14) * 1024.0 };
    sign | if bits >= f64::from(0x7c00) { 0x7c00 } else { bits as u16 }
}

/// The upper half of the 32 bits of the number next to one; of two as near the even one.
fn brain_bits(x: f64) -> u16 {
    let bits = (x as f32).to_bits();
    if x.is_nan() {
        return (bits >> 16) as u16 | 0x40;
    }
    let odd = bits >> 16 & 1;
    (bits.wrapping_add(0x7fff + odd) >> 16) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Tensor;

    #[test]
    fn contents_have_the_bytes_of_their_type() {
        let ints = Content::Ints(vec![1, -2, 3]);
        assert_eq!(ints.bytes(Dtype::I16), Some(vec![1, 0, 254, 255, 3, 0]));
        assert_eq!(ints.bytes(Dtype::I4), Some(vec![0xe1, 0x03]));
        assert_eq!(
            ints.bytes(Dtype::F32).map(|bytes| bytes[8..].to_vec()),
            Some(vec![0, 0, 64, 64])
        );
        assert_eq!(Content::Floats(vec![1.5]).bytes(Dtype::F32), Some(vec![0, 0, 192, 63]));
        assert_eq!(Content::Floats(vec![1.5]).bytes(Dtype::I32), None);
    }

    #[test]
    fn numbers_of_16_bits_are_rounded_to_the_even_one() {
        let half = |x: f64| half_bits(x);
        assert_eq!([half(1.0), half(-2.0), half(65504.0)], [0x3c00, 0xc000, 0x7bff]);
        assert_eq!([half(65520.0), half(1e9), half(f64::INFINITY)], [0x7c00; 3]);
        // Half of the smallest, just above it, and the largest that is not normal.
        assert_eq!(
            [half(2f64.powi(-25)), half(3e-8), half(1023.0 * 2f64.powi(-24))],
            [0, 1, 0x3ff]
        );
        assert_eq!(
            [half(1.0 + 2f64.powi(-11)), half(1.0 + 3.0 * 2f64.powi(-11))],
            [0x3c00, 0x3c02]
        );
        assert_eq!([half(2047.9), half(0.0), half(-0.0)], [0x6800, 0, 0x8000]);
        assert_eq!(
            [brain_bits(1.0), brain_bits(1.0 + 2f64.powi(-8)), brain_bits(-3.0)],
            [0x3f80, 0x3f80, 0xc040]
        );
    }

    #[test]
    fn bytes_come_from_the_weights_else_from_the_model_and_are_as_many_as_dims_say() {
        let mut model = Model::default();
        let large = model.add(Tensor::stored("w", Dtype::U8, &[3]));
        let small = Tensor {
            content: Some(Content::Ints(vec![7])),
            ..Tensor::stored("k", Dtype::I64, &[])
        };
        let small = model.add(small);
        let weights = BTreeMap::from([(large, vec![1, 2, 3])]);
        assert_eq!(stored_bytes(&model, &weights, large).as_deref(), Ok(&[1, 2, 3][..]));
        assert_eq!(stored_bytes(&model, &weights, small).map(|b| b[0]), Ok(7));
        let missing = stored_bytes(&model, &(), large).map_err(|error| error.to_string());
        assert_eq!(missing, Err("weight `w`: its elements are not there".to_owned()));
        let short = BTreeMap::from([(large, vec![1, 2])]);
        let short = stored_bytes(&model, &short, large).map_err(|error| error.to_string());
        assert_eq!(short, Err("weight `w`: 2 bytes of data, where 3 are needed".to_owned()));
    }
}
