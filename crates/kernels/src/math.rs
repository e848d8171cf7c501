//! Functions of one `f32` without a standard library, in a form that loops over slices vectorise.
//!
//! None of them branches or looks anything up: both sides of every choice are reckoned and one is
//! selected, so that a loop over them becomes vector code at whatever width the machine has.
//! Nothing is contracted to fused multiply-adds, so that the result is the same at every width, in
//! the tail of a loop and on every machine.
//!
//! The polynomials are our own fits (least squares reweighted towards the least maximum, then each
//! coefficient rounded to `f32` before the next one is fitted). The tests hold the largest error
//! against `f64`: at most 1 ulp for `exp` and `ln`, 2 for `tanh` and `erf`. What models seldom use,
//! such as `sin` or `atanh`, is `libm`'s: right to within an ulp, and slower.

pub use crate::simd::sqrt;

/// Adding it rounds to a whole number, ties to even, and leaves that number in the low bits.
const TO_WHOLE: f32 = 12_582_912.0; // 1.5 * 2^23
/// From here on every `f32` is a whole number.
const ALL_WHOLE: f32 = 8_388_608.0; // 2^23

/// ln 2 in two parts: products of the first with whole numbers up to 2^15 are exact.
const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -0.000_212_194_44;

/// The polynomial with these coefficients, the constant first.
#[inline(always)]
fn polynomial<const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = 0.0;
    for coefficient in coefficients.into_iter().rev() {
        sum = sum * x + coefficient;
    }
    sum
}

/// The whole number next to `x`, the even one of two.
#[inline(always)]
#[must_use]
pub fn round_even(x: f32) -> f32 {
    let magnitude = x.abs();
    let whole = (magnitude + ALL_WHOLE) - ALL_WHOLE;
    let rounded = if magnitude < ALL_WHOLE { whole } else { magnitude };
    rounded.copysign(x)
}

/// The largest whole number that is not above `x`.
#[inline(always)]
#[must_use]
pub fn floor(x: f32) -> f32 {
    let near = round_even(x);
    let below = if near > x { near - 1.0 } else { near };
    below.copysign(x)
}

/// The smallest whole number that is not below `x`.
#[inline(always)]
#[must_use]
pub fn ceil(x: f32) -> f32 {
    -floor(-x)
}

/// The whole part of `x`, towards zero.
#[inline(always)]
#[must_use]
pub fn trunc(x: f32) -> f32 {
    floor(x.abs()).copysign(x)
}

/// e to the power `x`.
#[inline(always)]
#[must_use]
pub fn exp(x: f32) -> f32 {
    // Beyond these the result is infinite, or 0. Not a number stays what it is.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let shifted = x * core::f32::consts::LOG2_E + TO_WHOLE;
    let significand = exp_significand(x, shifted - TO_WHOLE);
    // In two steps, since 2^128 and what is below 2^-126 are no factors.
    let whole = shifted.to_bits().wrapping_sub(TO_WHOLE.to_bits()).cast_signed();
    let half = whole >> 1;
    significand * power_of_two(half) * power_of_two(whole - half)
}

/// e to the power `x`, which is not above 88; 0 where that is below 2^-124. Processors are slow with numbers that are smaller
/// than normal ones, and beside a sum of at least 1 these count for nothing.
#[inline(always)]
#[must_use]
pub(crate) fn exp_or_zero(x: f32) -> f32 {
    let y = exp_within(if x < LEAST_EXPONENT { LEAST_EXPONENT } else { x });
    if x < LEAST_EXPONENT { 0.0 } else { y }
}

/// What [`exp_within`] takes at least: the power is a normal number.
const LEAST_EXPONENT: f32 = -85.95;

/// e to the power `x`, which is between [`LEAST_EXPONENT`] and 89; infinite from 88.4 on. Not a number stays what it is.
#[inline(always)]
fn exp_within(x: f32) -> f32 {
    let shifted = x * core::f32::consts::LOG2_E + TO_WHOLE;
    let significand = exp_significand(x, shifted - TO_WHOLE);
    let whole = shifted.to_bits().wrapping_sub(TO_WHOLE.to_bits()).cast_signed();
    significand * power_of_two(whole)
}

/// `1 / (1 + exp(-x))`; 0 where that is below the normal numbers.
#[inline(always)]
#[must_use]
pub fn sigmoid(x: f32) -> f32 {
    let x = if x < -89.0 { -89.0 } else { x };
    let x = if x > -LEAST_EXPONENT { -LEAST_EXPONENT } else { x };
    1.0 / (1.0 + exp_within(-x))
}

/// e to the power `x` over 2 to the power `exponent`, the whole number next to what `x` is in powers of 2.
#[inline(always)]
fn exp_significand(x: f32, exponent: f32) -> f32 {
    let rest = (x - exponent * LN_2_HIGH) - exponent * LN_2_LOW;
    let tail = polynomial(
        rest,
        [0.5, 0.166_666_66, 0.041_666_463, 0.008_333_571, 0.001_393_509, 0.000_197_395_04],
    );
    1.0 + (rest + rest * rest * tail)
}

/// 2 to a power that a normal number has; infinite for 128.
#[inline(always)]
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits((exponent.wrapping_add(127) << 23).cast_unsigned())
}

/// The natural logarithm.
#[inline(always)]
#[must_use]
pub fn ln(x: f32) -> f32 {
    // What is below the normal numbers is brought up.
    let tiny = x < f32::MIN_POSITIVE;
    let scaled = if tiny { x * ALL_WHOLE } else { x };
    let lift = if tiny { -23.0 } else { 0.0 };
    // x = 2^exponent * (1 + f) with 1 + f between the roots of 1/2 and of 2.
    let bits = scaled.to_bits().wrapping_sub(core::f32::consts::FRAC_1_SQRT_2.to_bits());
    let exponent = (bits.cast_signed() >> 23) as f32 + lift;
    let significand = (bits & 0x007f_ffff).wrapping_add(core::f32::consts::FRAC_1_SQRT_2.to_bits());
    let f = f32::from_bits(significand) - 1.0;
    let square = f * f;
    let tail = polynomial(
        f,
        [
            0.333_333_13,
            -0.250_000_1,
            0.200_020_73,
            -0.166_679_96,
            0.142_203_27,
            -0.124_060_32,
            0.118_835_68,
            -0.116_714_49,
            0.067_509_56,
        ],
    );
    let small = f * square * tail + exponent * LN_2_LOW - 0.5 * square;
    let finite = (small + f) + exponent * LN_2_HIGH;
    ln_at_the_ends(x, finite)
}

/// The logarithm of 0, of what is negative, infinite or not a number; `finite` of any other.
#[inline(always)]
fn ln_at_the_ends(x: f32, finite: f32) -> f32 {
    let y = if x == 0.0 { f32::NEG_INFINITY } else { finite };
    let y = if x < 0.0 { f32::NAN } else { y };
    if x < f32::INFINITY { y } else { x }
}

/// The hyperbolic tangent.
#[inline(always)]
#[must_use]
pub fn tanh(x: f32) -> f32 {
    let magnitude = x.abs();
    let square = x * x;
    let tail = polynomial(
        square,
        [-0.333_333_3, 0.133_332_21, -0.053_948_183, 0.021_706_937, -0.008_190_17, 0.002_152_867_4],
    );
    let near = x + x * square * tail;
    // From here on the tangent is 1.
    let within = if magnitude > 10.0 { 10.0 } else { magnitude };
    let far = (1.0 - 2.0 / (exp_within(2.0 * within) + 1.0)).copysign(x);
    if magnitude < 0.625 { near } else { far }
}

/// The error function.
#[inline(always)]
#[must_use]
pub fn erf(x: f32) -> f32 {
    let magnitude = x.abs();
    let square = x * x;
    let near = x + x * polynomial(
        square,
        [
            0.128_379_17,
            -0.376_126_3,
            0.112_836_26,
            -0.026_855_724,
            0.005_192_358_5,
            -0.000_804_886_9,
            0.000_079_911_68,
        ],
    );
    let clamped = if magnitude > 4.0 { 4.0 } else { magnitude };
    let log_of_rest = polynomial(
        clamped,
        [
            0.000_171_974_53,
            -1.129_501_8,
            -0.633_373_56,
            -0.108_250_6,
            0.025_100_267,
            -0.004_163_754,
            0.000_432_948_06,
            -0.000_020_963_567,
        ],
    );
    let far = (1.0 - exp_within(log_of_rest)).copysign(x);
    if magnitude < 0.921_875 { near } else { far }
}

/// `x` to the power `y`.
#[inline]
#[must_use]
pub fn pow(x: f32, y: f32) -> f32 {
    libm::powf(x, y)
}
