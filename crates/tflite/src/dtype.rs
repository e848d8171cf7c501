//! The types of elements, by their numbers in the file.

use plimsoll_graph::Dtype;

pub(crate) const INT32: u8 = 2;
pub(crate) const INT64: u8 = 4;
pub(crate) const INT4: u8 = 17;

/// A handle of something that the runtime keeps.
pub(crate) const RESOURCE: u8 = 13;

/// The type of a number; `None` for text and nested tensors, which have no size that a plan could use, and
/// for what is not known.
pub(crate) fn dtype(number: u8) -> Option<Dtype> {
    Some(match number {
        0 => Dtype::F32,
        1 => Dtype::F16,
        INT32 | RESOURCE => Dtype::I32,
        3 => Dtype::U8,
        INT64 => Dtype::I64,
        6 => Dtype::Bool,
        7 => Dtype::I16,
        8 => Dtype::C64,
        9 => Dtype::I8,
        10 => Dtype::F64,
        11 => Dtype::C128,
        12 => Dtype::U64,
        15 => Dtype::U32,
        16 => Dtype::U16,
        INT4 => Dtype::I4,
        18 => Dtype::Bf16,
        19 => Dtype::I2,
        20 => Dtype::U4,
        21 => Dtype::F8E4m3fn,
        22 => Dtype::F8E5m2,
        _ => return None,
    })
}
