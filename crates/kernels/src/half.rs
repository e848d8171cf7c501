//! Numbers of 16 bits: `f16` (IEEE half precision) and `bf16` (the upper half of an `f32`).
//!
//! They are stored and converted here, not computed with: arithmetic on them is that of `f32`, and
//! each result is rounded to the nearest, ties to even. A function of several steps is rounded at each.

/// A number of IEEE half precision, as its bits.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct F16(pub u16);

/// The upper 16 bits of an `f32`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct Bf16(pub u16);

impl F16 {
    /// The number as an `f32`, exactly.
    #[inline(always)]
    #[must_use]
    pub fn to_f32(self) -> f32 {
        let sign = u32::from(self.0 & 0x8000) << 16;
        let magnitude = u32::from(self.0 & 0x7fff);
        // Exponents differ by 112; the product also brings numbers below 2^-14 to their places.
        let finite = f32::from_bits(magnitude << 13) * f32::from_bits(0x7780_0000);
        let special = (magnitude << 13) | 0x7f80_0000;
        let bits = if magnitude < 0x7c00 { finite.to_bits() } else { special };
        f32::from_bits(sign | bits)
    }

    /// The number next to `x`; ties to even, too large ones to infinity.
    #[inline(always)]
    #[must_use]
    pub fn from_f32(x: f32) -> Self {
        let bits = x.to_bits();
        let sign = ((bits >> 16) & 0x8000) as u16;
        let magnitude = bits & 0x7fff_ffff;
        let rounded =
            if magnitude < 0x3880_0000 { small_half(magnitude) } else { normal_half(magnitude) };
        F16(sign | rounded)
    }

    /// The number next to `x`, rounded once.
    #[inline(always)]
    #[must_use]
    pub fn from_f64(x: f64) -> Self {
        Self::from_f32(round_to_odd(x))
    }
}

/// A magnitude below 2^-14: a multiple of 2^-24, to which adding 1/2 rounds.
#[inline(always)]
fn small_half(magnitude: u32) -> u16 {
    let half = 0.5f32;
    (f32::from_bits(magnitude) + half).to_bits().wrapping_sub(half.to_bits()) as u16
}

/// A magnitude from 2^-14 on.
#[inline(always)]
fn normal_half(magnitude: u32) -> u16 {
    let odd = (magnitude >> 13) & 1;
    let rounded = magnitude.wrapping_sub(112 << 23).wrapping_add(0x0fff + odd) >> 13;
    let finite = if rounded > 0x7c00 { 0x7c00 } else { rounded };
    let not_a_number = 0x7e00 | ((magnitude >> 13) & 0x03ff);
    (if magnitude > 0x7f80_0000 { not_a_number } else { finite }) as u16
}

impl Bf16 {
    /// The number as an `f32`, exactly.
    #[inline(always)]
    #[must_use]
    pub fn to_f32(self) -> f32 {
        f32::from_bits(u32::from(self.0) << 16)
    }

    /// The number next to `x`; ties to even.
    #[inline(always)]
    #[must_use]
    pub fn from_f32(x: f32) -> Self {
        let bits = x.to_bits();
        let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
        let not_a_number = (bits >> 16) | 0x0040;
        Bf16((if bits & 0x7fff_ffff > 0x7f80_0000 { not_a_number } else { rounded }) as u16)
    }

    /// The number next to `x`, rounded once.
    #[inline(always)]
    #[must_use]
    pub fn from_f64(x: f64) -> Self {
        Self::from_f32(round_to_odd(x))
    }
}

/// An `f32` beside `x` whose last bit is 1 if it is not `x`: rounding it to fewer bits gives what
/// rounding `x` gives.
#[inline(always)]
fn round_to_odd(x: f64) -> f32 {
    let near = x as f32;
    let even = near.to_bits() & 1 == 0;
    let exact = f64::from(near) == x || near.is_nan() || near.is_infinite();
    if exact || !even {
        return near;
    }
    let below = f64::from(near).abs() < x.abs();
    let bits = if below { near.to_bits() + 1 } else { near.to_bits().wrapping_sub(1) };
    f32::from_bits(bits)
}
