//! The functions of one number, held against `f64`.

use plimsoll_kernels::half::{Bf16, F16};
use plimsoll_kernels::math;

/// The distance in units of the last place of the right answer.
fn ulps(found: f32, right: f64) -> f64 {
    let near = right as f32;
    if found == near || (found.is_nan() && near.is_nan()) {
        return 0.0;
    }
    let ulp = f64::from(f32::from_bits(near.abs().to_bits() + 1)) - f64::from(near.abs());
    (f64::from(found) - right).abs() / ulp
}

/// Every so manieth number of all that there are, of both signs, and the ends.
fn numbers() -> impl Iterator<Item = f32> {
    let ends = [0.0, -0.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN];
    (0..=u32::MAX).step_by(4099).map(f32::from_bits).chain(ends)
}

fn worst(function: impl Fn(f32) -> f32, right: impl Fn(f64) -> f64) -> f64 {
    let near = (-400_000..400_000).map(|i| i as f32 * 0.000_3);
    let of = |x: f32| {
        let error = ulps(function(x), right(f64::from(x)));
        assert!(error < 4.0, "{x:e}: {:e}, not {:e}", function(x), right(f64::from(x)));
        error
    };
    numbers().chain(near).map(of).fold(0.0, f64::max)
}

#[test]
fn exponentials_are_right_to_an_ulp() {
    assert!(worst(math::exp, f64::exp) <= 1.0);
}

#[test]
fn logarithms_are_right_to_an_ulp() {
    assert!(worst(math::ln, f64::ln) <= 1.0);
}

#[test]
fn hyperbolic_tangents_are_right_to_two_ulps() {
    assert!(worst(math::tanh, f64::tanh) <= 2.0);
}

#[test]
fn error_functions_are_right_to_two_ulps() {
    assert!(worst(math::erf, libm::erf) <= 2.0);
}

#[test]
fn roundings_and_roots_are_exact() {
    for x in numbers().chain((-4000..4000).map(|i| i as f32 * 0.125)) {
        let same = |a: f32, b: f32| {
            assert!(a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()), "{x:e}: {a:e} {b:e}");
        };
        same(math::round_even(x), x.round_ties_even());
        same(math::floor(x), x.floor());
        same(math::ceil(x), x.ceil());
        same(math::trunc(x), x.trunc());
        same(math::sqrt(x), x.sqrt());
    }
}

/// A half by its definition: sign, exponent, significand.
fn half_value(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, significand) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    match exponent {
        0 => sign * significand * 2f64.powi(-24),
        31 if significand == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1.0 + significand / 1024.0) * 2f64.powi(exponent - 15),
    }
}

#[test]
fn every_half_is_what_its_bits_say_and_comes_back() {
    for bits in 0..=u16::MAX {
        let value = F16(bits).to_f32();
        if half_value(bits).is_nan() {
            assert!(value.is_nan() && F16::from_f32(value).to_f32().is_nan());
        } else {
            assert_eq!(f64::from(value), half_value(bits));
            assert_eq!(F16::from_f32(value).0, bits);
            assert_eq!(F16::from_f64(f64::from(value)).0, bits);
        }
        let value = Bf16(bits).to_f32();
        assert_eq!(value.to_bits(), u32::from(bits) << 16);
        assert_eq!(value.is_nan(), Bf16::from_f32(value).to_f32().is_nan());
        assert!(value.is_nan() || Bf16::from_f32(value).0 == bits);
    }
}

#[test]
fn halves_are_rounded_to_the_nearest_with_ties_to_even() {
    for bits in 0..0x7c00u16 {
        let (low, high) = (half_value(bits), half_value(bits + 1));
        let high = if high.is_finite() { high } else { 65536.0 };
        let middle = f64::midpoint(low, high);
        let even = if bits & 1 == 0 { bits } else { bits + 1 };
        assert_eq!(F16::from_f32(middle as f32).0, even);
        let little = (high - low) * 1e-4;
        assert_eq!(F16::from_f32((middle - little) as f32).0, bits);
        assert_eq!(F16::from_f32((middle + little) as f32).0, bits + 1);
        // What an `f32` no longer shows decides too.
        let least = (high - low) * 1e-12;
        assert_eq!(F16::from_f64(middle - least).0, bits);
        assert_eq!(F16::from_f64(middle + least).0, bits + 1);
        assert_eq!(F16::from_f64(-middle - least).0, (bits + 1) | 0x8000);
    }
    assert_eq!(Bf16::from_f32(f32::from_bits(0x3f80_8000)).0, 0x3f80);
    assert_eq!(Bf16::from_f32(f32::from_bits(0x3f81_8000)).0, 0x3f82);
    assert_eq!(Bf16::from_f32(f32::from_bits(0x3f80_8001)).0, 0x3f81);
    assert_eq!(Bf16::from_f32(f32::MAX).0, 0x7f80);
}
