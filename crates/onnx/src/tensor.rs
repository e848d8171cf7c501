//! Stored tensors: type, dims and, of small ones, the elements.

use std::borrow::Cow;

use plimsoll_graph::Dtype;
use plimsoll_model::{Axis, Content, Origin, Tensor};

use crate::dtype::dtype;
use crate::error::Fault;
use crate::proto::TensorProto;
use crate::proto::tensor_proto::DataLocation;

/// So many integers of the types that shapes are made of are read.
const MOST_INTEGERS: u64 = 65_536;
/// So many elements of other types are: enough for scales, too few for weights.
const MOST_OTHERS: u64 = 1_024;

/// A stored tensor. Data that are in the file must be as many as the dims say; what is outside of
/// it is not looked for, and nothing is read of large ones.
pub(crate) fn stored(name: String, proto: &TensorProto) -> Result<Tensor, Fault> {
    let dtype = dtype(i64::from(proto.data_type()))?;
    let dims = dims(&proto.dims)?;
    let count = dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim));
    let count = count.ok_or("its dims overflow")?;
    let mut content = None;
    if proto.data_location() == DataLocation::Default {
        check_length(proto, dtype, count)?;
        if count <= most(dtype) {
            content = elements(proto, dtype, count as usize);
        }
    }
    let dims = dims.into_iter().map(Axis::Known).collect();
    Ok(Tensor { name, origin: Origin::Stored, dtype: Some(dtype), dims: Some(dims), content })
}

/// How many bytes the elements of a tensor take.
pub(crate) fn stored_bytes(proto: &TensorProto, dtype: Dtype) -> Result<u64, Fault> {
    let dims = dims(&proto.dims)?;
    let count = dims.iter().try_fold(1u64, |product, dim| product.checked_mul(*dim));
    let bytes = count.and_then(|count| dtype.bytes(count));
    bytes.ok_or_else(|| "its dims overflow".to_owned())
}

/// At least as many bytes as the elements take that are read of a tensor.
pub(crate) fn content_bytes(proto: &TensorProto) -> u64 {
    let fields = proto.int32_data.len() + proto.int64_data.len() + proto.uint64_data.len();
    let floats = proto.float_data.len() + proto.double_data.len();
    let raw = proto.raw_data.as_ref().map_or(0, bytes::Bytes::len);
    // Packed elements are at most eight in two bytes.
    8 * (4 * (fields + raw) as u64 + floats as u64).min(MOST_INTEGERS)
}

/// Raw data of more bytes are not read of a tensor of that type, the largest if it is not said.
pub(crate) fn most_raw_bytes(data_type: Option<u64>) -> u64 {
    let dtype = data_type.and_then(|number| i64::try_from(number).ok());
    let known = dtype.and_then(|number| crate::dtype::dtype(number).ok());
    let dtype = known.unwrap_or(Dtype::I64);
    dtype.bytes(most(dtype)).unwrap_or(u64::MAX)
}

fn most(dtype: Dtype) -> u64 {
    match dtype {
        Dtype::I64 | Dtype::I32 => MOST_INTEGERS,
        _ => MOST_OTHERS,
    }
}

fn dims(dims: &[i64]) -> Result<Vec<u64>, Fault> {
    let known = |dim: &i64| u64::try_from(*dim).map_err(|_| format!("a dim of {dim}"));
    dims.iter().map(known).collect()
}

/// The raw data, if that is where the elements are.
fn raw(proto: &TensorProto) -> Option<&[u8]> {
    proto.raw_data.as_deref().filter(|raw| !raw.is_empty())
}

fn check_length(proto: &TensorProto, dtype: Dtype, count: u64) -> Result<(), Fault> {
    let (found, expected, of) = if let Some(raw) = raw(proto) {
        (raw.len(), dtype.bytes(count), "bytes")
    } else {
        let (found, each) = field(proto, dtype);
        let expected = match each {
            Each::Number => Some(count),
            Each::Two => count.checked_mul(2),
            Each::Packed => dtype.bytes(count),
        };
        (found, expected, "numbers")
    };
    if expected == Some(found as u64) {
        return Ok(());
    }
    let dims = &proto.dims;
    let expected = expected.map_or("too many".to_owned(), |expected| expected.to_string());
    Err(format!("{found} {of} of data, where {dims:?} of {dtype} needs {expected}"))
}

/// What a number of a field is.
enum Each {
    /// An element.
    Number,
    /// Half of one: the real or the imaginary part.
    Two,
    /// A byte of packed elements.
    Packed,
}

/// How many numbers there are in the field for a type, and what each is.
fn field(proto: &TensorProto, dtype: Dtype) -> (usize, Each) {
    match dtype {
        Dtype::F32 => (proto.float_data.len(), Each::Number),
        Dtype::C64 => (proto.float_data.len(), Each::Two),
        Dtype::F64 => (proto.double_data.len(), Each::Number),
        Dtype::C128 => (proto.double_data.len(), Each::Two),
        Dtype::I64 => (proto.int64_data.len(), Each::Number),
        Dtype::U32 | Dtype::U64 => (proto.uint64_data.len(), Each::Number),
        Dtype::U4 | Dtype::I4 | Dtype::F4E2m1 | Dtype::U2 | Dtype::I2 => {
            (proto.int32_data.len(), Each::Packed)
        }
        Dtype::U8
        | Dtype::I8
        | Dtype::U16
        | Dtype::I16
        | Dtype::I32
        | Dtype::Bool
        | Dtype::F16
        | Dtype::Bf16
        | Dtype::F8E4m3fn
        | Dtype::F8E4m3fnuz
        | Dtype::F8E5m2
        | Dtype::F8E5m2fnuz
        | Dtype::F8E8m0 => (proto.int32_data.len(), Each::Number),
    }
}

/// The elements that are in the file as they lie in memory, the least byte first. The length has been
/// checked.
pub(crate) fn element_bytes(proto: &TensorProto, dtype: Dtype) -> Cow<'_, [u8]> {
    if let Some(raw) = raw(proto) {
        return Cow::Borrowed(raw);
    }
    let ints = || proto.int32_data.iter().map(|number| number.to_le_bytes());
    Cow::Owned(match dtype {
        Dtype::F32 | Dtype::C64 => proto.float_data.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Dtype::F64 | Dtype::C128 => {
            proto.double_data.iter().flat_map(|n| n.to_le_bytes()).collect()
        }
        Dtype::I64 => proto.int64_data.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Dtype::U64 => proto.uint64_data.iter().flat_map(|n| n.to_le_bytes()).collect(),
        Dtype::U32 => {
            let numbers = proto.uint64_data.iter().flat_map(|n| (*n as u32).to_le_bytes());
            numbers.collect()
        }
        Dtype::I32 => ints().flatten().collect(),
        Dtype::U16 | Dtype::I16 | Dtype::F16 | Dtype::Bf16 => {
            ints().flat_map(|bytes| [bytes[0], bytes[1]]).collect()
        }
        Dtype::U8
        | Dtype::I8
        | Dtype::Bool
        | Dtype::F8E4m3fn
        | Dtype::F8E4m3fnuz
        | Dtype::F8E5m2
        | Dtype::F8E5m2fnuz
        | Dtype::F8E8m0
        | Dtype::U4
        | Dtype::I4
        | Dtype::F4E2m1
        | Dtype::U2
        | Dtype::I2 => ints().map(|bytes| bytes[0]).collect(),
    })
}

/// The bits of the first element, the lowest first. The length has been checked.
pub(crate) fn first_bits(proto: &TensorProto, dtype: Dtype) -> u128 {
    let bytes = element_bytes(proto, dtype);
    let width = dtype.bits();
    let first = bytes.iter().take((width as usize).div_ceil(8)).rev();
    let bits = first.fold(0, |bits, byte| bits << 8 | u128::from(*byte));
    if width < 8 { bits & ((1 << width) - 1) } else { bits }
}

/// The elements; `None` for types that nobody reckons with. The length has been checked.
fn elements(proto: &TensorProto, dtype: Dtype, count: usize) -> Option<Content> {
    if let Some(raw) = raw(proto) {
        return from_raw(raw, dtype, count);
    }
    let ints = || proto.int32_data.iter();
    match dtype {
        Dtype::F32 => Some(floats(proto.float_data.iter().map(|value| f64::from(*value)))),
        Dtype::F64 => Some(Content::Floats(proto.double_data.clone())),
        Dtype::I64 => Some(Content::Ints(proto.int64_data.clone())),
        Dtype::U32 | Dtype::U64 => {
            let ints = proto.uint64_data.iter().map(|value| i64::try_from(*value).ok());
            ints.collect::<Option<_>>().map(Content::Ints)
        }
        Dtype::U8 | Dtype::I8 | Dtype::U16 | Dtype::I16 | Dtype::I32 | Dtype::Bool => {
            Some(Content::Ints(ints().map(|value| i64::from(*value)).collect()))
        }
        Dtype::F16 => Some(floats(ints().map(|bits| half(bits.cast_unsigned() as u16)))),
        Dtype::Bf16 => Some(floats(ints().map(|bits| brain(bits.cast_unsigned() as u16)))),
        Dtype::U4 | Dtype::I4 | Dtype::U2 | Dtype::I2 => {
            let bytes: Vec<u8> = ints().map(|byte| byte.cast_unsigned() as u8).collect();
            from_raw(&bytes, dtype, count)
        }
        _ => None,
    }
}

fn floats(values: impl Iterator<Item = f64>) -> Content {
    Content::Floats(values.collect())
}

/// Elements as they lie in memory, the least byte first.
fn from_raw(raw: &[u8], dtype: Dtype, count: usize) -> Option<Content> {
    let words = |width: usize| raw.chunks_exact(width).map(little_endian);
    let content = match dtype {
        Dtype::F32 => floats(words(4).map(|bits| f64::from(f32::from_bits(bits as u32)))),
        Dtype::F64 => floats(words(8).map(f64::from_bits)),
        Dtype::F16 => floats(words(2).map(|bits| half(bits as u16))),
        Dtype::Bf16 => floats(words(2).map(|bits| brain(bits as u16))),
        Dtype::U8 | Dtype::Bool | Dtype::U16 | Dtype::U32 | Dtype::U64 => {
            let ints = words(dtype.bits() as usize / 8).map(|bits| i64::try_from(bits).ok());
            Content::Ints(ints.collect::<Option<_>>()?)
        }
        Dtype::I8 | Dtype::I16 | Dtype::I32 | Dtype::I64 => {
            let bits = dtype.bits() as u32;
            Content::Ints(words(bits as usize / 8).map(|word| signed(word, bits)).collect())
        }
        Dtype::U4 | Dtype::I4 | Dtype::U2 | Dtype::I2 => {
            Content::Ints(unpacked(raw, dtype).take(count).collect())
        }
        _ => return None,
    };
    Some(content)
}

/// Elements of less than a byte, the first in the lowest bits.
fn unpacked(raw: &[u8], dtype: Dtype) -> impl Iterator<Item = i64> {
    let bits = dtype.bits() as u32;
    let is_signed = matches!(dtype, Dtype::I4 | Dtype::I2);
    let parts = raw.iter().flat_map(move |byte| {
        (0..8 / bits).map(move |part| u64::from(byte >> (part * bits)) & ((1 << bits) - 1))
    });
    parts.map(move |part| if is_signed { signed(part, bits) } else { part.cast_signed() })
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// A number of so many bits, the highest of which is the sign.
fn signed(word: u64, bits: u32) -> i64 {
    let unused = 64 - bits;
    (word << unused).cast_signed() >> unused
}

/// A number of 16 bits, 5 of them for the exponent.
pub(crate) fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    let size = match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    };
    sign * size
}

/// A number of 16 bits that are the upper half of 32.
fn brain(bits: u16) -> f64 {
    f64::from(f32::from_bits(u32::from(bits) << 16))
}

#[cfg(test)]
mod tests;
