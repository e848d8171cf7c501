//! The epilogue of a block, in registers: all but the activations that are no clamp.

use core::ops::Range;

use super::tile::load_at;
use crate::epilogue::{Bias, Epilogue, Residual};
use crate::simd::Simd;

/// An [`Epilogue`] seen from a block: where its rows and columns begin.
#[derive(Clone, Copy)]
pub(crate) struct Finish<'a> {
    alpha: f32,
    beta: f32,
    bias: Bias<'a>,
    residual: Residual<'a>,
    clamp: Option<(f32, f32)>,
    /// What is added to the rows of a block: for the bias, and for the residual.
    rows: (usize, usize),
    columns: usize,
}

/// An epilogue of one row without branches: a bias and a clamp, each of which may change nothing.
#[derive(Clone, Copy)]
pub(crate) struct Line<S: Simd> {
    bias: S::V,
    min: S::V,
    max: S::V,
}

impl<S: Simd> Line<S> {
    /// The same bits as [`Finish::end`].
    #[inline(always)]
    pub(crate) fn end(&self, simd: S, sum: S::V) -> S::V {
        simd.min(self.max, simd.max(self.min, simd.add(sum, self.bias)))
    }
}

impl<'a> Finish<'a> {
    /// Of an epilogue; the block's first row is row `rows.0` of the bias and row `rows.1` of the residual.
    pub(crate) fn new(epilogue: &Epilogue<'a>, rows: (usize, usize), columns: usize) -> Finish<'a> {
        let Epilogue { alpha, beta, bias, residual, activation, .. } = *epilogue;
        Finish { alpha, beta, bias, residual, clamp: activation.as_clamp(), rows, columns }
    }

    /// The same for columns further on.
    pub(crate) fn at_column(self, columns: usize) -> Finish<'a> {
        Finish { columns: self.columns + columns, ..self }
    }

    /// Whether the residual is what is in the output.
    #[inline(always)]
    pub(crate) fn in_place(&self) -> bool {
        matches!(self.residual, Residual::InPlace)
    }

    /// Scale, bias, and the residual unless that is in place.
    #[inline(always)]
    pub(crate) fn apply<S: Simd, const R: usize, const W: usize>(
        &self,
        simd: S,
        first_row: usize,
        columns: &Range<usize>,
        sums: &mut [[S::V; W]; R],
    ) {
        if self.alpha.to_bits() != 1f32.to_bits() {
            each(sums, |sum| simd.mul(simd.splat(self.alpha), sum));
        }
        let at = self.columns + columns.start..self.columns + columns.end;
        match self.bias {
            Bias::None => {}
            Bias::Scalar(x) => each(sums, |sum| simd.add(simd.splat(self.beta * x), sum)),
            Bias::Row(x) => {
                let x = &x[self.rows.0 + first_row..];
                for r in 0..R {
                    // Panels may have rows beyond those that are asked for.
                    let x = simd.splat(self.beta * x.get(r).copied().unwrap_or(0.0));
                    for w in 0..W {
                        sums[r][w] = simd.add(sums[r][w], x);
                    }
                }
            }
            Bias::Column(x) => {
                let x = &x[at.clone()];
                for w in 0..W {
                    let x = simd.mul(simd.splat(self.beta), load_at(simd, x, w));
                    for r in 0..R {
                        sums[r][w] = simd.add(sums[r][w], x);
                    }
                }
            }
        }
        if let Residual::Rows { data, stride } = self.residual {
            let mut residual = [[simd.splat(0.0); W]; R];
            for r in 0..R {
                let place = (self.rows.1 + first_row + r) * stride;
                let row = data.get(place + at.start..place + at.end).unwrap_or(&[]);
                for w in 0..W {
                    residual[r][w] = load_at(simd, row, w);
                }
            }
            self.add_residual(simd, &residual, sums);
        }
    }

    /// The same for one row of outputs, if nothing but a number is added and nothing scaled.
    #[inline(always)]
    pub(crate) fn as_line<S: Simd>(&self, simd: S) -> Option<Line<S>> {
        let is_plain = self.alpha.to_bits() == 1f32.to_bits() && self.residual == Residual::None;
        let bias = match self.bias {
            _ if !is_plain => return None,
            Bias::Column(_) => return None,
            // Adding this zero changes nothing, not even the sign of another zero.
            Bias::None => -0.0,
            Bias::Scalar(x) => self.beta * x,
            Bias::Row(x) => self.beta * x[self.rows.0],
        };
        let (min, max) = self.clamp.unwrap_or((f32::NEG_INFINITY, f32::INFINITY));
        Some(Line { bias: simd.splat(bias), min: simd.splat(min), max: simd.splat(max) })
    }

    /// All of it, for one row of vectors of which `before` is in the output.
    #[inline(always)]
    pub(crate) fn end<S: Simd, const W: usize>(
        &self,
        simd: S,
        columns: Range<usize>,
        sums: &mut [[S::V; W]; 1],
        before: &[f32],
    ) {
        self.apply(simd, 0, &columns, sums);
        if self.in_place() {
            let mut residual = [[simd.splat(0.0); W]];
            for w in 0..W {
                residual[0][w] = load_at(simd, before, w);
            }
            self.add_residual(simd, &residual, sums);
        }
        self.clamp(simd, sums);
    }

    /// Adds the residual, `beta` times.
    #[inline(always)]
    pub(crate) fn add_residual<S: Simd, const R: usize, const W: usize>(
        &self,
        simd: S,
        residual: &[[S::V; W]; R],
        sums: &mut [[S::V; W]; R],
    ) {
        for r in 0..R {
            for w in 0..W {
                sums[r][w] = simd.add(sums[r][w], simd.mul(simd.splat(self.beta), residual[r][w]));
            }
        }
    }

    /// The activation, if it is a clamp.
    #[inline(always)]
    pub(crate) fn clamp<S: Simd, const R: usize, const W: usize>(
        &self,
        simd: S,
        sums: &mut [[S::V; W]; R],
    ) {
        if let Some((min, max)) = self.clamp {
            each(sums, |sum| simd.min(simd.splat(max), simd.max(simd.splat(min), sum)));
        }
    }
}

#[inline(always)]
fn each<V: Copy, const R: usize, const W: usize>(sums: &mut [[V; W]; R], f: impl Fn(V) -> V) {
    for row in sums {
        for sum in row {
            *sum = f(*sum);
        }
    }
}
