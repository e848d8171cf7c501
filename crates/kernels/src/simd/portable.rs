//! Vectors of four as arrays: what every target has, as compilers vectorise it.

use super::vector::Simd;

/// Proof of nothing: arrays are everywhere.
#[derive(Clone, Copy)]
pub(super) struct Portable;

const LANES: usize = 4;

#[inline(always)]
fn map(a: [f32; LANES], b: [f32; LANES], f: impl Fn(f32, f32) -> f32) -> [f32; LANES] {
    let mut y = a;
    for lane in 0..LANES {
        y[lane] = f(a[lane], b[lane]);
    }
    y
}

impl Simd for Portable {
    type V = [f32; LANES];
    const LANES: usize = LANES;
    const ROWS: usize = 4;

    #[inline(always)]
    fn splat(self, x: f32) -> Self::V {
        [x; LANES]
    }

    #[inline(always)]
    fn load(self, from: &[f32]) -> Self::V {
        let mut v = [0.0; LANES];
        v.copy_from_slice(&from[..LANES]);
        v
    }

    #[inline(always)]
    fn load_part(self, from: &[f32], len: usize) -> Self::V {
        let mut v = [0.0; LANES];
        v[..len].copy_from_slice(&from[..len]);
        v
    }

    #[inline(always)]
    fn load_even(self, from: &[f32]) -> Self::V {
        [from[0], from[2], from[4], from[6]]
    }

    #[inline(always)]
    fn load_clipped(self, from: &[f32], at: isize) -> Self::V {
        let lane =
            |lane: usize| at.checked_add_unsigned(lane).and_then(|at| usize::try_from(at).ok());
        let number = |at: usize| lane(at).and_then(|at| from.get(at)).copied().unwrap_or(0.0);
        match usize::try_from(at) {
            Ok(at) if at + LANES <= from.len() => self.load(&from[at..]),
            _ => [number(0), number(1), number(2), number(3)],
        }
    }

    #[inline(always)]
    fn evens(self, low: Self::V, high: Self::V) -> Self::V {
        [low[0], low[2], high[0], high[2]]
    }

    #[inline(always)]
    fn odds(self, low: Self::V, high: Self::V) -> Self::V {
        [low[1], low[3], high[1], high[3]]
    }

    #[inline(always)]
    fn store(self, v: Self::V, to: &mut [f32]) {
        to[..LANES].copy_from_slice(&v);
    }

    #[inline(always)]
    fn store_part(self, v: Self::V, to: &mut [f32], len: usize) {
        to[..len].copy_from_slice(&v[..len]);
    }

    #[inline(always)]
    fn add(self, a: Self::V, b: Self::V) -> Self::V {
        map(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn mul(self, a: Self::V, b: Self::V) -> Self::V {
        map(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn mul_add(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        self.add(self.mul(a, b), c)
    }

    #[inline(always)]
    fn max(self, a: Self::V, b: Self::V) -> Self::V {
        map(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, a: Self::V, b: Self::V) -> Self::V {
        map(a, b, |a, b| if a < b { a } else { b })
    }
}
