//! Element types: every one of ONNX's that has bytes, the packed ones of 2 and 4 bits included.
//!
//! Text is not among them: a tensor of strings has no size that a plan could use.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the names say it all")]
pub enum Dtype {
    F32,
    U8,
    I8,
    U16,
    I16,
    I32,
    I64,
    Bool,
    F16,
    F64,
    U32,
    U64,
    C64,
    C128,
    Bf16,
    F8E4m3fn,
    F8E4m3fnuz,
    F8E5m2,
    F8E5m2fnuz,
    F8E8m0,
    U4,
    I4,
    F4E2m1,
    U2,
    I2,
}

/// What kind of number an element is; width policies go by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Integers and truth values.
    Integer,
    /// Floating point numbers.
    Float,
    /// Pairs of floating point numbers.
    Complex,
}

/// Every type with its name, its bits and its class.
const TABLE: [(Dtype, &str, u64, Class); 25] = [
    (Dtype::F32, "f32", 32, Class::Float),
    (Dtype::U8, "u8", 8, Class::Integer),
    (Dtype::I8, "i8", 8, Class::Integer),
    (Dtype::U16, "u16", 16, Class::Integer),
    (Dtype::I16, "i16", 16, Class::Integer),
    (Dtype::I32, "i32", 32, Class::Integer),
    (Dtype::I64, "i64", 64, Class::Integer),
    (Dtype::Bool, "bool", 8, Class::Integer),
    (Dtype::F16, "f16", 16, Class::Float),
    (Dtype::F64, "f64", 64, Class::Float),
    (Dtype::U32, "u32", 32, Class::Integer),
    (Dtype::U64, "u64", 64, Class::Integer),
    (Dtype::C64, "c64", 64, Class::Complex),
    (Dtype::C128, "c128", 128, Class::Complex),
    (Dtype::Bf16, "bf16", 16, Class::Float),
    (Dtype::F8E4m3fn, "f8e4m3fn", 8, Class::Float),
    (Dtype::F8E4m3fnuz, "f8e4m3fnuz", 8, Class::Float),
    (Dtype::F8E5m2, "f8e5m2", 8, Class::Float),
    (Dtype::F8E5m2fnuz, "f8e5m2fnuz", 8, Class::Float),
    (Dtype::F8E8m0, "f8e8m0", 8, Class::Float),
    (Dtype::U4, "u4", 4, Class::Integer),
    (Dtype::I4, "i4", 4, Class::Integer),
    (Dtype::F4E2m1, "f4e2m1", 4, Class::Float),
    (Dtype::U2, "u2", 2, Class::Integer),
    (Dtype::I2, "i2", 2, Class::Integer),
];

impl Dtype {
    /// Every type there is.
    pub fn all() -> impl Iterator<Item = Dtype> {
        TABLE.iter().map(|row| row.0)
    }

    /// How many bits an element has.
    #[must_use]
    pub fn bits(self) -> u64 {
        TABLE[self as usize].2
    }

    /// What kind of number an element is.
    #[must_use]
    pub fn class(self) -> Class {
        TABLE[self as usize].3
    }

    /// The short name: `f32`, `i4`, `f8e4m3fn`.
    #[must_use]
    pub fn name(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// How many whole bytes so many elements take, packed; `None` if that overflows.
    #[must_use]
    pub fn bytes(self, elements: u64) -> Option<u64> {
        packed_bytes(elements, self.bits())
    }
}

/// How many whole bytes so many elements of so many bits take; `None` if that overflows.
#[must_use]
pub fn packed_bytes(elements: u64, bits: u64) -> Option<u64> {
    let bytes = (u128::from(elements) * u128::from(bits)).div_ceil(8);
    u64::try_from(bytes).ok()
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that is no element type's.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not an element type")]
pub struct UnknownDtype(pub String);

impl FromStr for Dtype {
    type Err = UnknownDtype;

    fn from_str(name: &str) -> Result<Self, UnknownDtype> {
        let row = TABLE.iter().find(|row| row.1 == name);
        row.map(|row| row.0).ok_or_else(|| UnknownDtype(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, index, "{}", row.1);
        }
    }

    #[test]
    fn names_are_read_back() {
        for dtype in Dtype::all() {
            assert_eq!(dtype.name().parse(), Ok(dtype));
        }
        assert_eq!("string".parse::<Dtype>(), Err(UnknownDtype("string".into())));
        assert_eq!(UnknownDtype("x".into()).to_string(), "`x` is not an element type");
    }

    #[test]
    fn packed_elements_round_up_to_whole_bytes() {
        assert_eq!(Dtype::I4.bytes(0), Some(0));
        assert_eq!(Dtype::I4.bytes(3), Some(2));
        assert_eq!(Dtype::U2.bytes(5), Some(2));
        assert_eq!(Dtype::F4E2m1.bytes(8), Some(4));
        assert_eq!(Dtype::F32.bytes(3), Some(12));
        assert_eq!(Dtype::C128.bytes(2), Some(32));
    }

    #[test]
    fn bytes_that_overflow_are_none() {
        assert_eq!(Dtype::F32.bytes(u64::MAX / 4), Some(u64::MAX - 3));
        assert_eq!(Dtype::F32.bytes(u64::MAX / 4 + 1), None);
        assert_eq!(Dtype::I4.bytes(u64::MAX), Some(1 << 63));
    }
}
