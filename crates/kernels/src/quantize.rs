//! Real numbers as integers of 8 bits and back, and products of these.
//!
//! `real = (quantized - zero) · scale`. To a quantized number is rounded, halves to the even one, and what is beyond the
//! limits of its type becomes the limit.

use crate::element::Number;
use crate::math;

/// A scale and a zero point for each place along an axis, or one for all: elements are `[outer, count, inner]`.
#[derive(Clone, Copy, Debug)]
pub struct Scales<'a, Q> {
    /// The scales.
    pub scales: &'a [f32],
    /// The zero points, as many; none means zeros.
    pub zeros: Option<&'a [Q]>,
    /// How many elements in a row have the same scale.
    pub inner: usize,
    /// If every so many elements along the axis have scales of their own, how many, and how long the axis is.
    pub block: Option<(usize, usize)>,
}

impl<Q: Number> Scales<'_, Q> {
    /// The scale and the zero point of an element.
    #[must_use]
    pub fn at(&self, element: usize) -> (f32, f32) {
        let inner = self.inner.max(1);
        let place = match self.block {
            None => element / inner % self.scales.len(),
            Some((block, dim)) => {
                let (outer, at) = (element / inner / dim, element / inner % dim);
                (outer * dim.div_ceil(block) + at / block) * inner + element % inner
            }
        };
        let zero = self.zeros.map_or(0.0, |zeros| zeros[place % zeros.len()].to_f32());
        (self.scales[place], zero)
    }

    /// The quantized number next to a real one.
    #[must_use]
    pub fn quantized(&self, element: usize, x: f32) -> Q {
        let (scale, zero) = self.at(element);
        Q::from_f32(math::round_even(x / scale) + zero)
    }

    /// The real number of a quantized one.
    #[must_use]
    pub fn real(&self, element: usize, x: Q) -> f32 {
        let (scale, zero) = self.at(element);
        (x.to_f32() - zero) * scale
    }
}

/// `y = x` quantized. Lengths are equal.
pub fn quantize<Q: Number>(scales: &Scales<'_, Q>, x: &[f32], y: &mut [Q]) {
    assert_eq!(x.len(), y.len());
    for (element, (y, &x)) in y.iter_mut().zip(x).enumerate() {
        *y = scales.quantized(element, x);
    }
}

/// `y =` the real numbers of `x`. Lengths are equal.
pub fn dequantize<Q: Number>(scales: &Scales<'_, Q>, x: &[Q], y: &mut [f32]) {
    assert_eq!(x.len(), y.len());
    for (element, (y, &x)) in y.iter_mut().zip(x).enumerate() {
        *y = scales.real(element, x);
    }
}

/// The scale and the zero point with which numbers, and 0, fit into 8 bits.
#[must_use]
pub fn fitting(x: &[f32]) -> (f32, u8) {
    let least = x.iter().fold(0.0f32, |least, x| least.min(*x));
    let most = x.iter().fold(0.0f32, |most, x| most.max(*x));
    let scale = (most - least) / 255.0;
    let scale = if scale == 0.0 { 1.0 } else { scale };
    (scale, u8::from_f32(math::round_even(-least / scale)))
}

/// `c [m, n] = (a - zero a) · (b - zero b)` of integers; a zero point is one for all, or one for each row of `a` or each
/// column of `b`.
pub fn matmul_integer<A: Number, B: Number>(
    (m, n, k): (usize, usize, usize),
    (a, a_zeros): (&[A], &[A]),
    (b, b_zeros): (&[B], &[B]),
    c: &mut [i32],
) {
    assert_eq!((a.len(), b.len(), c.len()), (m * k, k * n, m * n));
    let int = |x: i64| x as i32;
    let a_zero =
        |row: usize| a_zeros.get(row % a_zeros.len().max(1)).map_or(0, |z| int(z.to_i64()));
    let b_zero = |at: usize| b_zeros.get(at % b_zeros.len().max(1)).map_or(0, |z| int(z.to_i64()));
    c.fill(0);
    for (row, c) in c.chunks_exact_mut(n.max(1)).enumerate() {
        for (at, b) in b.chunks_exact(n.max(1)).enumerate() {
            let a = int(a[row * k + at].to_i64()) - a_zero(row);
            for (column, (c, b)) in c.iter_mut().zip(b).enumerate() {
                *c = c.wrapping_add(a.wrapping_mul(int(b.to_i64()) - b_zero(column)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_the_even_one_and_stop_at_the_limits() {
        let scales = Scales { scales: &[2.0], zeros: Some(&[128u8]), inner: 1, block: None };
        let mut y = [0u8; 6];
        quantize(&scales, &[0.0, 1.0, 3.0, 1000.0, -254.0, -1000.0], &mut y);
        assert_eq!(y, [128, 128, 130, 255, 1, 0]);
        let mut x = [0.0; 2];
        dequantize(&scales, &[128, 1], &mut x);
        assert_eq!(x, [0.0, -254.0]);
    }

    #[test]
    fn scales_change_along_an_axis() {
        let scales = Scales { scales: &[1.0, 10.0], zeros: None::<&[i8]>, inner: 2, block: None };
        let mut y = [0i8; 8];
        quantize(&scales, &[10.0; 8], &mut y);
        assert_eq!(y, [10, 10, 1, 1, 10, 10, 1, 1]);
    }

    #[test]
    fn scales_change_from_block_to_block() {
        let scales = Scales {
            scales: &[1.0, 10.0, 2.0, 5.0],
            zeros: None::<&[i8]>,
            inner: 1,
            block: Some((2, 3)),
        };
        let mut y = [0i8; 6];
        quantize(&scales, &[10.0; 6], &mut y);
        assert_eq!(y, [10, 10, 1, 5, 5, 2]);
    }

    #[test]
    fn what_fits_has_zero_in_it() {
        assert_eq!(fitting(&[0.0, 2.0, -3.0, -2.5, 1.34, 0.5]), (5.0 / 255.0, 153));
        assert_eq!(fitting(&[]), (1.0, 0));
    }

    #[test]
    fn products_of_integers_have_zero_points() {
        let mut c = [0; 4];
        let (a, b) = ([11u8, 7, 3, 10, 6, 2], [1u8, 4, 2, 5, 3, 6]);
        matmul_integer((2, 2, 3), (&a, &[12]), (&b, &[0]), &mut c);
        assert_eq!(c, [-38, -83, -44, -98]);
    }
}
