//! Types of elements: what kernels that compute ask of them.
//!
//! [`Element`] is anything that bytes hold, [`Number`] has arithmetic, [`Real`] the functions of
//! analysis. Kernels that only move elements take any `Copy` type: one of the same width will do, so
//! that a program needs them for 1, 2, 4 and 8 bytes only. Booleans are `u8` of 0 and 1.
//!
//! Integers wrap around; what is divided by 0 is 0, since a kernel does not panic. Minima and maxima
//! of floating-point numbers are NaN where one operand is.

use crate::half::{Bf16, F16};
use crate::math;
use crate::simd::Level;

/// A type whose elements lie in bytes, in the machine's order.
pub trait Element: Copy {
    /// How many bytes one takes.
    const BYTES: usize;
    /// The element in the first bytes.
    fn read(bytes: &[u8]) -> Self;
    /// Puts the element into the first bytes.
    fn write(self, bytes: &mut [u8]);
}

/// A type with arithmetic.
pub trait Number: Element + PartialEq + PartialOrd {
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// What no number is below: negative infinity where there is one.
    const LOWEST: Self;
    /// What no number is above.
    const HIGHEST: Self;
    /// Whether it has fractions.
    const IS_REAL: bool;
    /// Whether loops over it are compiled for wider vectors too. Every copy takes room in each program: `f32`
    /// and bytes have them, since large tensors are of these.
    const HAS_WIDE_LOOPS: bool;
    /// The sum.
    #[must_use]
    fn add(self, other: Self) -> Self;
    /// The difference.
    #[must_use]
    fn sub(self, other: Self) -> Self;
    /// The product.
    #[must_use]
    fn mul(self, other: Self) -> Self;
    /// The quotient; of integers towards zero.
    #[must_use]
    fn div(self, other: Self) -> Self;
    /// What division leaves, with the sign of the dividend.
    #[must_use]
    fn rem_truncated(self, other: Self) -> Self;
    /// What division leaves, with the sign of the divisor.
    #[must_use]
    fn rem_floored(self, other: Self) -> Self;
    /// The power.
    #[must_use]
    fn pow(self, exponent: Self) -> Self;
    /// The number with the other sign.
    #[must_use]
    fn neg(self) -> Self;
    /// The number without its sign.
    #[must_use]
    fn abs(self) -> Self;
    /// -1, 0 or 1; NaN of NaN.
    #[must_use]
    fn sign(self) -> Self;
    /// The smaller one; NaN if one is.
    #[must_use]
    fn least(self, other: Self) -> Self;
    /// The larger one; NaN if one is.
    #[must_use]
    fn most(self, other: Self) -> Self;
    /// The number as an `f64`; integers beyond 2^53 are rounded.
    fn to_f64(self) -> f64;
    /// The number next to `x` in the way of `as`: integers are cut off and stop at their limits.
    fn from_f64(x: f64) -> Self;
    /// The number as an `i64`, cut off.
    fn to_i64(self) -> i64;
    /// The number as an `f32`, rounded.
    fn to_f32(self) -> f32;
    /// The number next to `x`, as [`Number::from_f64`].
    fn from_f32(x: f32) -> Self;
}

/// The level at which loops over elements of a type run: that of the processor, if they are compiled for it.
#[inline(always)]
pub(crate) fn level_for<T: Number>(level: Level) -> Level {
    if T::HAS_WIDE_LOOPS { level } else { Level::portable() }
}

/// A type with bits that are combined one by one.
pub trait Bits: Number {
    /// 1 where both are.
    #[must_use]
    fn and(self, other: Self) -> Self;
    /// 1 where one is.
    #[must_use]
    fn or(self, other: Self) -> Self;
    /// 1 where just one is.
    #[must_use]
    fn xor(self, other: Self) -> Self;
    /// 1 where it is not.
    #[must_use]
    fn not(self) -> Self;
    /// Moved up by so many places; 0 if none is left.
    #[must_use]
    fn shift_up(self, places: Self) -> Self;
    /// Moved down by so many places; 0 if none is left.
    #[must_use]
    fn shift_down(self, places: Self) -> Self;
}

/// A type with the functions of analysis.
#[allow(missing_docs, reason = "the names say it all")]
pub trait Real: Number {
    #[must_use]
    fn exp(self) -> Self;
    #[must_use]
    fn sigmoid(self) -> Self;
    #[must_use]
    fn exp_m1(self) -> Self;
    #[must_use]
    fn ln(self) -> Self;
    #[must_use]
    fn ln_1p(self) -> Self;
    #[must_use]
    fn sqrt(self) -> Self;
    #[must_use]
    fn erf(self) -> Self;
    #[must_use]
    fn floor(self) -> Self;
    #[must_use]
    fn ceil(self) -> Self;
    #[must_use]
    fn round_even(self) -> Self;
    #[must_use]
    fn sin(self) -> Self;
    #[must_use]
    fn cos(self) -> Self;
    #[must_use]
    fn tan(self) -> Self;
    #[must_use]
    fn asin(self) -> Self;
    #[must_use]
    fn acos(self) -> Self;
    #[must_use]
    fn atan(self) -> Self;
    #[must_use]
    fn sinh(self) -> Self;
    #[must_use]
    fn cosh(self) -> Self;
    #[must_use]
    fn tanh(self) -> Self;
    #[must_use]
    fn asinh(self) -> Self;
    #[must_use]
    fn acosh(self) -> Self;
    #[must_use]
    fn atanh(self) -> Self;
    fn is_nan(self) -> bool;
}

macro_rules! plain_element {
    ($($type:ty)*) => {$(
        impl Element for $type {
            const BYTES: usize = size_of::<$type>();
            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<$type>()];
                own.copy_from_slice(&bytes[..size_of::<$type>()]);
                <$type>::from_ne_bytes(own)
            }
            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                bytes[..size_of::<$type>()].copy_from_slice(&self.to_ne_bytes());
            }
        }
    )*};
}
plain_element!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

macro_rules! half_element {
    ($($type:ident)*) => {$(
        impl Element for $type {
            const BYTES: usize = 2;
            #[inline(always)]
            fn read(bytes: &[u8]) -> Self {
                $type(u16::read(bytes))
            }
            #[inline(always)]
            fn write(self, bytes: &mut [u8]) {
                self.0.write(bytes);
            }
        }
        impl PartialEq for $type {
            #[inline(always)]
            fn eq(&self, other: &Self) -> bool {
                self.to_f32() == other.to_f32()
            }
        }
        impl PartialOrd for $type {
            #[inline(always)]
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                self.to_f32().partial_cmp(&other.to_f32())
            }
        }
    )*};
}
half_element!(F16 Bf16);

/// What signed and unsigned integers have alike.
macro_rules! integer_arithmetic {
    () => {
        const ZERO: Self = 0;
        const ONE: Self = 1;
        const LOWEST: Self = Self::MIN;
        const HIGHEST: Self = Self::MAX;
        const IS_REAL: bool = false;
        const HAS_WIDE_LOOPS: bool = size_of::<Self>() == 1;
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            self.wrapping_add(other)
        }
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            self.wrapping_sub(other)
        }
        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            self.wrapping_mul(other)
        }
        #[inline(always)]
        fn div(self, other: Self) -> Self {
            if other == 0 { 0 } else { self.wrapping_div(other) }
        }
        #[inline(always)]
        fn rem_truncated(self, other: Self) -> Self {
            if other == 0 { 0 } else { self.wrapping_rem(other) }
        }
        #[inline(always)]
        fn neg(self) -> Self {
            self.wrapping_neg()
        }
        #[inline(always)]
        fn least(self, other: Self) -> Self {
            self.min(other)
        }
        #[inline(always)]
        fn most(self, other: Self) -> Self {
            self.max(other)
        }
        #[inline(always)]
        fn to_f64(self) -> f64 {
            self as f64
        }
        #[inline(always)]
        fn from_f64(x: f64) -> Self {
            x as Self
        }
        #[inline(always)]
        fn to_i64(self) -> i64 {
            self as i64
        }
        #[inline(always)]
        fn to_f32(self) -> f32 {
            self as f32
        }
        #[inline(always)]
        fn from_f32(x: f32) -> Self {
            x as Self
        }
    };
}

macro_rules! unsigned {
    ($($type:ty)*) => {$(
        impl Number for $type {
            integer_arithmetic!();
            #[inline(always)]
            fn rem_floored(self, other: Self) -> Self {
                self.rem_truncated(other)
            }
            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                let exponent = u32::try_from(exponent).unwrap_or(u32::MAX);
                self.wrapping_pow(exponent)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self
            }
            #[inline(always)]
            fn sign(self) -> Self {
                Self::from(self != 0)
            }
        }
    )*};
}
unsigned!(u8 u16 u32 u64);

macro_rules! signed {
    ($($type:ty)*) => {$(
        impl Number for $type {
            integer_arithmetic!();
            #[inline(always)]
            fn rem_floored(self, other: Self) -> Self {
                let rest = self.rem_truncated(other);
                if rest != 0 && (rest < 0) != (other < 0) { rest.wrapping_add(other) } else { rest }
            }
            /// A negative exponent gives the reciprocal, cut off.
            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                match (u32::try_from(exponent), self) {
                    (Ok(exponent), _) => self.wrapping_pow(exponent),
                    (Err(_), 1) => 1,
                    (Err(_), -1) => if exponent % 2 == 0 { 1 } else { -1 },
                    (Err(_), _) => 0,
                }
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.wrapping_abs()
            }
            #[inline(always)]
            fn sign(self) -> Self {
                self.signum()
            }
        }
    )*};
}
signed!(i8 i16 i32 i64);

macro_rules! bits {
    ($($type:ty)*) => {$(
        impl Bits for $type {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn shift_up(self, places: Self) -> Self {
                u32::try_from(places).ok().and_then(|places| self.checked_shl(places)).unwrap_or(0)
            }
            #[inline(always)]
            fn shift_down(self, places: Self) -> Self {
                u32::try_from(places).ok().and_then(|places| self.checked_shr(places)).unwrap_or(0)
            }
        }
    )*};
}
bits!(u8 u16 u32 u64 i8 i16 i32 i64);

macro_rules! float_number {
    ($type:ty, $has_wide_loops:expr, $fmod:path, $pow:path) => {
        impl Number for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LOWEST: Self = <$type>::NEG_INFINITY;
            const HIGHEST: Self = <$type>::INFINITY;
            const IS_REAL: bool = true;
            const HAS_WIDE_LOOPS: bool = $has_wide_loops;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn rem_truncated(self, other: Self) -> Self {
                $fmod(self, other)
            }
            #[inline(always)]
            fn rem_floored(self, other: Self) -> Self {
                let rest = $fmod(self, other);
                if rest != 0.0 && (rest < 0.0) != (other < 0.0) { rest + other } else { rest }
            }
            #[inline(always)]
            fn pow(self, exponent: Self) -> Self {
                $pow(self, exponent)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                -self
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$type>::abs(self)
            }
            #[inline(always)]
            fn sign(self) -> Self {
                let one = (1.0 as $type).copysign(self);
                if self == 0.0 || self != self { self } else { one }
            }
            #[inline(always)]
            fn least(self, other: Self) -> Self {
                let smaller = if self < other { self } else { other };
                if self != self { self } else { smaller }
            }
            #[inline(always)]
            fn most(self, other: Self) -> Self {
                let larger = if self > other { self } else { other };
                if self != self { self } else { larger }
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $type
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                self as i64
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn from_f32(x: f32) -> Self {
                x as $type
            }
        }
    };
}
float_number!(f32, true, libm::fmodf, math::pow);
float_number!(f64, false, libm::fmod, libm::pow);

macro_rules! reals {
    ($type:ty: $($name:ident = $function:path),* $(,)?) => {
        impl Real for $type {
            $(
                #[inline(always)]
                fn $name(self) -> Self {
                    $function(self)
                }
            )*
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
        }
    };
}
reals!(f32:
    exp = math::exp, sigmoid = math::sigmoid, exp_m1 = libm::expm1f, ln = math::ln, ln_1p = libm::log1pf, sqrt = math::sqrt,
    erf = math::erf, floor = math::floor, ceil = math::ceil, round_even = math::round_even,
    sin = libm::sinf, cos = libm::cosf, tan = libm::tanf, asin = libm::asinf, acos = libm::acosf,
    atan = libm::atanf, sinh = libm::sinhf, cosh = libm::coshf, tanh = math::tanh,
    asinh = libm::asinhf, acosh = libm::acoshf, atanh = libm::atanhf,
);
reals!(f64:
    exp = libm::exp, sigmoid = sigmoid_f64, exp_m1 = libm::expm1, ln = libm::log, ln_1p = libm::log1p, sqrt = libm::sqrt,
    erf = libm::erf, floor = libm::floor, ceil = libm::ceil, round_even = libm::rint,
    sin = libm::sin, cos = libm::cos, tan = libm::tan, asin = libm::asin, acos = libm::acos,
    atan = libm::atan, sinh = libm::sinh, cosh = libm::cosh, tanh = libm::tanh,
    asinh = libm::asinh, acosh = libm::acosh, atanh = libm::atanh,
);

#[inline(always)]
fn sigmoid_f64(x: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-x))
}

/// Each function is that of `f32`, rounded.
macro_rules! half_number {
    ($type:ident, $one:expr, $infinity:expr) => {
        impl Number for $type {
            const ZERO: Self = $type(0);
            const ONE: Self = $type($one);
            const LOWEST: Self = $type($infinity | 0x8000);
            const HIGHEST: Self = $type($infinity);
            const IS_REAL: bool = true;
            const HAS_WIDE_LOOPS: bool = false;
            half_number!(@two $type: add sub mul div rem_truncated rem_floored pow);
            half_number!(@one $type Number: neg abs sign);
            #[inline(always)]
            fn least(self, other: Self) -> Self {
                $type::from_f32(self.to_f32().least(other.to_f32()))
            }
            #[inline(always)]
            fn most(self, other: Self) -> Self {
                $type::from_f32(self.to_f32().most(other.to_f32()))
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from($type::to_f32(self))
            }
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                $type::from_f64(x)
            }
            #[inline(always)]
            fn to_i64(self) -> i64 {
                $type::to_f32(self) as i64
            }
            #[inline(always)]
            fn to_f32(self) -> f32 {
                $type::to_f32(self)
            }
            #[inline(always)]
            fn from_f32(x: f32) -> Self {
                $type::from_f32(x)
            }
        }
        impl Real for $type {
            half_number!(@one $type Real:
                exp sigmoid exp_m1 ln ln_1p sqrt erf floor ceil round_even sin cos tan asin acos atan
                sinh cosh tanh asinh acosh atanh);
            #[inline(always)]
            fn is_nan(self) -> bool {
                $type::to_f32(self).is_nan()
            }
        }
    };
    (@two $type:ident: $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self, other: Self) -> Self {
            $type::from_f32(Number::$name($type::to_f32(self), $type::to_f32(other)))
        }
    )*};
    (@one $type:ident $trait:ident: $($name:ident)*) => {$(
        #[inline(always)]
        fn $name(self) -> Self {
            $type::from_f32($trait::$name($type::to_f32(self)))
        }
    )*};
}
half_number!(F16, 0x3c00, 0x7c00);
half_number!(Bf16, 0x3f80, 0x7f80);
