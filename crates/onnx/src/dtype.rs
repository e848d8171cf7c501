//! Numbers of element types.

use plimsoll_graph::Dtype;

use crate::error::Fault;

/// The number of text, which has no size.
const TEXT: i64 = 8;

/// What is said where text would have to be planned.
pub(crate) const NO_TEXT: &str = "text has no size that could be planned";

/// Whether a number is that of text.
pub(crate) fn is_text(number: i32) -> bool {
    i64::from(number) == TEXT
}

/// The element type of a number.
pub(crate) fn dtype(number: i64) -> Result<Dtype, Fault> {
    Ok(match number {
        1 => Dtype::F32,
        2 => Dtype::U8,
        3 => Dtype::I8,
        4 => Dtype::U16,
        5 => Dtype::I16,
        6 => Dtype::I32,
        7 => Dtype::I64,
        TEXT => return Err(NO_TEXT.to_owned()),
        9 => Dtype::Bool,
        10 => Dtype::F16,
        11 => Dtype::F64,
        12 => Dtype::U32,
        13 => Dtype::U64,
        14 => Dtype::C64,
        15 => Dtype::C128,
        16 => Dtype::Bf16,
        17 => Dtype::F8E4m3fn,
        18 => Dtype::F8E4m3fnuz,
        19 => Dtype::F8E5m2,
        20 => Dtype::F8E5m2fnuz,
        21 => Dtype::U4,
        22 => Dtype::I4,
        23 => Dtype::F4E2m1,
        24 => Dtype::F8E8m0,
        25 => Dtype::U2,
        26 => Dtype::I2,
        other => return Err(format!("there is no element type {other}")),
    })
}
