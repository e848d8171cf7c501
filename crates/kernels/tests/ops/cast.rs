//! Conversions between types.

use plimsoll_kernels::Level;
use plimsoll_kernels::cast::{CastFrom, cast, cast_in_place, cast_to_bool, cast_to_bool_in_place};
use plimsoll_kernels::element::Element;
use plimsoll_kernels::half::{Bf16, F16};

use crate::world::Random;

fn bytes_of<T: Element>(x: &[T]) -> Vec<u8> {
    let mut bytes = vec![0; x.len() * T::BYTES];
    for (x, to) in x.iter().zip(bytes.chunks_exact_mut(T::BYTES)) {
        x.write(to);
    }
    bytes
}

/// The in-place form makes the bytes that the other makes.
fn same_in_place<T: Element, U: Element + CastFrom<T>>(x: &[T]) -> Vec<U> {
    let zero = U::read(&[0; 8]);
    let mut y = vec![zero; x.len()];
    cast(Level::detect(), x, &mut y);
    let mut bytes = bytes_of(x);
    cast_in_place::<T, U>(Level::detect(), x.len(), &mut bytes);
    assert_eq!(bytes[..x.len() * U::BYTES], bytes_of(&y));
    y
}

#[test]
fn numbers_are_cut_off_and_stop_at_the_limits() {
    let x = [1.9f32, -1.9, 300.0, -300.0, f32::NAN, f32::INFINITY, 0.5, 255.5];
    assert_eq!(same_in_place::<f32, u8>(&x), [1, 0, 255, 0, 0, 255, 0, 255]);
    assert_eq!(same_in_place::<f32, i8>(&x), [1, -1, 127, -128, 0, 127, 0, 127]);
    assert_eq!(same_in_place::<f32, i32>(&x), [1, -1, 300, -300, 0, i32::MAX, 0, 255]);
}

#[test]
fn integers_drop_upper_bits() {
    let x = [-1i64, 256, 257, i64::MAX, 1 << 40, 7];
    assert_eq!(same_in_place::<i64, u8>(&x), [255, 0, 1, 255, 0, 7]);
    assert_eq!(same_in_place::<i64, i32>(&x), [-1, 256, 257, -1, 0, 7]);
    assert_eq!(same_in_place::<i64, f32>(&[16_777_217, -3]), [16_777_216.0, -3.0]);
    assert_eq!(same_in_place::<i32, u32>(&[-1, 5]), [u32::MAX, 5]);
}

#[test]
fn halves_are_rounded_once() {
    let values = |x: Vec<F16>| x.into_iter().map(|x| x.0).collect::<Vec<u16>>();
    assert_eq!(
        values(same_in_place::<f32, F16>(&[1.0, 65519.9, 65520.0])),
        [0x3c00, 0x7bff, 0x7c00]
    );
    // Rounding to `f32` first would make it 1.
    let middle = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
    assert_eq!(values(same_in_place::<f64, F16>(&[middle])), [0x3c01]);
    assert_eq!(values(same_in_place::<i64, F16>(&[2049, 2051, 100_000])), [0x6800, 0x6802, 0x7c00]);
    assert_eq!(same_in_place::<F16, u8>(&[F16(0x4500)]), [5]);
    assert_eq!(same_in_place::<Bf16, F16>(&[Bf16(0x3f80)])[0].0, 0x3c00);
    assert_eq!(same_in_place::<F16, Bf16>(&[F16(0x3c00)])[0].0, 0x3f80);
    let mut y = [0.0f64];
    cast(Level::detect(), &[F16(0x3555)], &mut y);
    assert_eq!(y, [0.333_251_953_125]);
}

#[test]
fn everything_but_zero_is_true() {
    let x = [0.0f32, -0.0, 0.1, f32::NAN];
    let mut y = [9; 4];
    cast_to_bool(Level::detect(), &x, &mut y);
    assert_eq!(y, [0, 0, 1, 1]);
    let mut bytes = bytes_of(&x);
    cast_to_bool_in_place::<f32>(Level::detect(), 4, &mut bytes);
    assert_eq!(bytes[..4], y);
}

#[test]
fn narrowing_in_place_overtakes_nothing() {
    let mut random = Random::new(7);
    for len in [0, 1, 31, 32, 33, 100, 257] {
        let x: Vec<i64> = random.ints(len, -1000, 1000);
        let expected: Vec<i16> = x.iter().map(|&x| x as i16).collect();
        assert_eq!(same_in_place::<i64, i16>(&x), expected);
    }
}
