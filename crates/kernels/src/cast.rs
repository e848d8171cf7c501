//! Elements converted to another type.
//!
//! To integers, floating-point numbers are cut off towards zero; what is beyond the limits becomes the
//! limit, and NaN becomes 0 (ONNX leaves both open). Integers become narrower by dropping upper bits. To
//! a boolean, everything but 0 is 1. Floating-point numbers are rounded to the nearest, ties to even.
//!
//! The in-place forms work on bytes, in ascending order, so that elements may become narrower there.

use crate::element::{Element, Number};
use crate::half::{Bf16, F16};
use crate::simd::{Level, wide};

/// A type that elements of another are converted to.
pub trait CastFrom<T> {
    /// The element converted.
    fn cast_from(x: T) -> Self;
}

/// `y[i] = x[i]` in the type of `y`. Lengths are equal.
pub fn cast<T: Copy, U: CastFrom<T>>(level: Level, x: &[T], y: &mut [U]) {
    assert_eq!(x.len(), y.len());
    wide(
        level,
        #[inline(always)]
        || {
            for (y, &x) in y.iter_mut().zip(x) {
                *y = U::cast_from(x);
            }
        },
    );
}

/// `y[i] = 1` where `x[i]` is not 0, else 0. Lengths are equal.
pub fn cast_to_bool<T: Number>(level: Level, x: &[T], y: &mut [u8]) {
    assert_eq!(x.len(), y.len());
    wide(
        level,
        #[inline(always)]
        || {
            for (y, &x) in y.iter_mut().zip(x) {
                *y = u8::from(x != T::ZERO);
            }
        },
    );
}

/// [`cast`] of the first `count` elements of `bytes` to as many at its beginning, not wider ones.
pub fn cast_in_place<T: Element, U: Element + CastFrom<T>>(
    level: Level,
    count: usize,
    bytes: &mut [u8],
) {
    wide(
        level,
        #[inline(always)]
        || convert_in_place(count, bytes, |x: T| U::cast_from(x)),
    );
}

/// [`cast_to_bool`] of the first `count` elements of `bytes` to as many bytes at its beginning.
pub fn cast_to_bool_in_place<T: Number>(level: Level, count: usize, bytes: &mut [u8]) {
    wide(
        level,
        #[inline(always)]
        || convert_in_place(count, bytes, |x: T| u8::from(x != T::ZERO)),
    );
}

/// How many elements are read before the first of them is written.
const BLOCK: usize = 32;

/// Converts elements in ascending order, a block at a time: a block is read as a whole before it
/// is written, and writes never reach what is not yet read.
#[inline(always)]
pub(crate) fn convert_in_place<T: Element, U: Element>(
    count: usize,
    bytes: &mut [u8],
    convert: impl Fn(T) -> U,
) {
    const { assert!(U::BYTES <= T::BYTES, "elements that become wider overtake themselves") };
    assert!(bytes.len() >= count * T::BYTES);
    let mut first = 0;
    while first + BLOCK <= count {
        let from = &bytes[first * T::BYTES..(first + BLOCK) * T::BYTES];
        let block: [U; BLOCK] =
            core::array::from_fn(|i| convert(T::read(&from[i * T::BYTES..(i + 1) * T::BYTES])));
        let to = &mut bytes[first * U::BYTES..(first + BLOCK) * U::BYTES];
        for (i, element) in block.into_iter().enumerate() {
            element.write(&mut to[i * U::BYTES..(i + 1) * U::BYTES]);
        }
        first += BLOCK;
    }
    for i in first..count {
        let element = convert(T::read(&bytes[i * T::BYTES..]));
        element.write(&mut bytes[i * U::BYTES..]);
    }
}

macro_rules! cast_by_as {
    ($($from:ty => $($to:ty)*;)*) => {$($(
        impl CastFrom<$from> for $to {
            #[inline(always)]
            fn cast_from(x: $from) -> Self {
                x as $to
            }
        }
    )*)*};
}
cast_by_as! {
    u8 => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64;
    u16 => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64;
    u32 => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64;
    u64 => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64;
    i8 => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64;
    i16 => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64;
    i32 => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64;
    i64 => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64;
    f32 => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64;
    f64 => u8 u16 u32 u64 i8 i16 i32 i64 f32 f64;
}

macro_rules! cast_of_halves {
    ($($half:ident)*) => {$(
        cast_of_halves!(@from $half: u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);
        cast_of_halves!(@to $half: u8 u16 u32 u64 i8 i16 i32 i64 f64);
        impl CastFrom<f32> for $half {
            #[inline(always)]
            fn cast_from(x: f32) -> Self {
                $half::from_f32(x)
            }
        }
        impl CastFrom<$half> for $half {
            #[inline(always)]
            fn cast_from(x: $half) -> Self {
                x
            }
        }
    )*};
    (@from $half:ident: $($to:ty)*) => {$(
        impl CastFrom<$half> for $to {
            #[inline(always)]
            fn cast_from(x: $half) -> Self {
                x.to_f32() as $to
            }
        }
    )*};
    (@to $half:ident: $($from:ty)*) => {$(
        impl CastFrom<$from> for $half {
            #[inline(always)]
            fn cast_from(x: $from) -> Self {
                $half::from_f64(x as f64)
            }
        }
    )*};
}
cast_of_halves!(F16 Bf16);

impl CastFrom<F16> for Bf16 {
    #[inline(always)]
    fn cast_from(x: F16) -> Self {
        Bf16::from_f32(x.to_f32())
    }
}

impl CastFrom<Bf16> for F16 {
    #[inline(always)]
    fn cast_from(x: Bf16) -> Self {
        F16::from_f32(x.to_f32())
    }
}
