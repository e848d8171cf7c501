//! Reductions along any axes: sums, means, extremes, products, norms and logarithms of sums.
//!
//! A [`Reduce`] is made once from the dims: neighbouring axes that are reduced, or kept, are joined. Then
//! one of two loops runs. Where the innermost axis is reduced, each output folds runs of elements in
//! sixteen lanes. Where it is kept, sixteen neighbouring outputs are folded at once, so that
//! elements are read in runs there too. Folds go in blocks with a total for each, so that rounding errors
//! stay small and the order is fixed. Integers have no rounding errors, doubles have digits to spare, and tensors of either are
//! small: a third, short loop folds them one by one.

use crate::MAX_RANK;
use crate::element::{Number, Real, level_for};
use crate::simd::{Level, wide};
use crate::strided::contiguous_strides;
use crate::sum::{LANES, join};

/// What elements are reduced to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The sum over the count.
    Mean,
    /// The largest; NaN if one is.
    Max,
    /// The smallest; NaN if one is.
    Min,
    /// The product.
    Product,
    /// The sum of magnitudes.
    L1,
    /// The sum of squares.
    SumSquare,
}

/// What real numbers are reduced to beside [`Reduction`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealReduction {
    /// The root of the sum of squares.
    L2,
    /// The logarithm of the sum.
    LogSum,
    /// The logarithm of the sum of exponentials.
    LogSumExp,
}

/// Which axes of which dims are reduced.
#[derive(Clone, Copy, Debug)]
pub struct Reduce {
    kept: Axes,
    reduced: Axes,
    /// How long the innermost axis is, and whether it is a kept one.
    inner: usize,
    inner_is_kept: bool,
    input_len: usize,
    output_len: usize,
    /// How many elements each output is made of.
    count: usize,
}

/// Some axes with their strides in the input.
#[derive(Clone, Copy, Debug)]
struct Axes {
    rank: usize,
    dims: [usize; MAX_RANK],
    strides: [usize; MAX_RANK],
}

impl Axes {
    const NONE: Axes = Axes { rank: 0, dims: [1; MAX_RANK], strides: [0; MAX_RANK] };

    fn push(&mut self, dim: usize, stride: usize) {
        if self.rank > 0 && self.strides[self.rank - 1] == stride * dim {
            self.dims[self.rank - 1] *= dim;
            self.strides[self.rank - 1] = stride;
            return;
        }
        self.dims[self.rank] = dim;
        self.strides[self.rank] = stride;
        self.rank += 1;
    }

    /// Takes the innermost axis away; gives how long it is.
    fn pop(&mut self) -> usize {
        self.rank -= 1;
        core::mem::replace(&mut self.dims[self.rank], 1)
    }

    fn count(&self) -> usize {
        self.dims[..self.rank].iter().product()
    }

    /// Calls `visit` with the place of each index, in ascending order.
    #[inline(always)]
    fn for_each(&self, mut visit: impl FnMut(usize)) {
        if self.count() == 0 {
            return;
        }
        let (mut index, mut place) = ([0; MAX_RANK], 0);
        loop {
            visit(place);
            let mut axis = self.rank;
            loop {
                if axis == 0 {
                    return;
                }
                axis -= 1;
                index[axis] += 1;
                place += self.strides[axis];
                if index[axis] < self.dims[axis] {
                    break;
                }
                place -= self.strides[axis] * self.dims[axis];
                index[axis] = 0;
            }
        }
    }
}

impl Reduce {
    /// Of a tensor of these dims along the axes for which `is_reduced` says so.
    #[must_use]
    pub fn new(dims: &[usize], is_reduced: impl Fn(usize) -> bool) -> Self {
        let strides = contiguous_strides(dims);
        let (mut kept, mut reduced, mut inner_is_kept) = (Axes::NONE, Axes::NONE, false);
        for (axis, &dim) in dims.iter().enumerate().filter(|(_, dim)| **dim != 1) {
            inner_is_kept = !is_reduced(axis);
            let side = if inner_is_kept { &mut kept } else { &mut reduced };
            side.push(dim, strides[axis].unsigned_abs());
        }
        let (output_len, count) = (kept.count(), reduced.count());
        let side = if inner_is_kept { &mut kept } else { &mut reduced };
        let inner = if side.rank > 0 { side.pop() } else { 1 };
        let input_len = dims.iter().product();
        Reduce { kept, reduced, inner, inner_is_kept, input_len, output_len, count }
    }

    /// How many elements are reduced to one.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

/// `y = x` reduced.
#[inline(never)]
pub fn reduce<T: Number>(level: Level, function: Reduction, shape: &Reduce, x: &[T], y: &mut [T]) {
    wide(
        level_for::<T>(level),
        #[inline(always)]
        || match function {
            Reduction::Sum => shape.fold(
                x,
                y,
                T::ZERO,
                #[inline(always)]
                |x, _| x,
                T::add,
                #[inline(always)]
                |sum, _| sum,
            ),
            Reduction::Mean => {
                let count = T::from_f64(shape.count as f64);
                shape.fold(
                    x,
                    y,
                    T::ZERO,
                    #[inline(always)]
                    |x, _| x,
                    T::add,
                    #[inline(always)]
                    |sum, _| sum.div(count),
                );
            }
            Reduction::Max => shape.fold(
                x,
                y,
                T::LOWEST,
                #[inline(always)]
                |x, _| x,
                T::most,
                #[inline(always)]
                |most, _| most,
            ),
            Reduction::Min => shape.fold(
                x,
                y,
                T::HIGHEST,
                #[inline(always)]
                |x, _| x,
                T::least,
                |least, _| least,
            ),
            Reduction::Product => shape.fold(
                x,
                y,
                T::ONE,
                #[inline(always)]
                |x, _| x,
                T::mul,
                |product, _| product,
            ),
            Reduction::L1 => shape.fold(
                x,
                y,
                T::ZERO,
                |x: T, _| x.abs(),
                T::add,
                #[inline(always)]
                |sum, _| sum,
            ),
            Reduction::SumSquare => shape.fold(
                x,
                y,
                T::ZERO,
                #[inline(always)]
                |x: T, _| x.mul(x),
                T::add,
                #[inline(always)]
                |sum, _| sum,
            ),
        },
    );
}

/// `y = x` reduced to what only real numbers have.
#[inline(never)]
pub fn reduce_real<T: Real>(
    level: Level,
    function: RealReduction,
    shape: &Reduce,
    x: &[T],
    y: &mut [T],
) {
    wide(
        level_for::<T>(level),
        #[inline(always)]
        || match function {
            RealReduction::L2 => {
                shape.fold(
                    x,
                    y,
                    T::ZERO,
                    #[inline(always)]
                    |x: T, _| x.mul(x),
                    T::add,
                    #[inline(always)]
                    |sum: T, _| sum.sqrt(),
                );
            }
            RealReduction::LogSum => shape.fold(
                x,
                y,
                T::ZERO,
                #[inline(always)]
                |x, _| x,
                T::add,
                #[inline(always)]
                |sum: T, _| sum.ln(),
            ),
            RealReduction::LogSumExp => {
                shape.fold(
                    x,
                    y,
                    T::LOWEST,
                    #[inline(always)]
                    |x, _| x,
                    T::most,
                    #[inline(always)]
                    |most, _| most,
                );
                // Exponentials relative to the largest element, which is what the output holds.
                let finite = |most: T| if most.abs() < T::HIGHEST { most } else { T::ZERO };
                shape.fold(
                    x,
                    y,
                    T::ZERO,
                    #[inline(always)]
                    |x: T, most| x.sub(finite(most)).exp(),
                    T::add,
                    #[inline(always)]
                    |sum: T, most| sum.ln().add(finite(most)),
                );
            }
        },
    );
}

/// How many rows of elements are folded before their total is taken.
const ROWS: usize = 64;

impl Reduce {
    /// For each output: `end(fold of start and of(x, old), old)`, where `old` is what the output held.
    #[inline(always)]
    fn fold<T: Number>(
        &self,
        x: &[T],
        y: &mut [T],
        start: T,
        of: impl Fn(T, T) -> T,
        join_two: impl Fn(T, T) -> T,
        end: impl Fn(T, T) -> T,
    ) {
        assert_eq!((x.len(), y.len()), (self.input_len, self.output_len));
        if !T::HAS_WIDE_LOOPS {
            self.fold_each(x, y, start, of, join_two, end);
        } else if self.inner_is_kept {
            self.fold_columns(x, y, start, of, join_two, end);
        } else {
            self.fold_rows(x, y, start, of, join_two, end);
        }
    }

    /// Each output folds its elements one after the other.
    #[inline(always)]
    fn fold_each<T: Copy>(
        &self,
        x: &[T],
        y: &mut [T],
        start: T,
        of: impl Fn(T, T) -> T,
        join_two: impl Fn(T, T) -> T,
        end: impl Fn(T, T) -> T,
    ) {
        let (outputs, run) = if self.inner_is_kept { (self.inner, 1) } else { (1, self.inner) };
        let mut rows = y.chunks_exact_mut(outputs.max(1));
        self.kept.for_each(
            #[inline(always)]
            |first| {
                for (y, first) in rows.next().into_iter().flatten().zip(first..) {
                    let (old, mut total) = (*y, start);
                    self.reduced.for_each(
                        #[inline(always)]
                        |place| {
                            for x in &x[first + place..][..run] {
                                total = join_two(total, of(*x, old));
                            }
                        },
                    );
                    *y = end(total, old);
                }
            },
        );
    }

    /// The innermost axis is reduced: each output folds runs of elements.
    #[inline(always)]
    fn fold_rows<T: Copy>(
        &self,
        x: &[T],
        y: &mut [T],
        start: T,
        of: impl Fn(T, T) -> T,
        join_two: impl Fn(T, T) -> T,
        end: impl Fn(T, T) -> T,
    ) {
        let mut outputs = y.iter_mut();
        self.kept.for_each(
            #[inline(always)]
            |first| {
                let Some(y) = outputs.next() else { return };
                let (old, mut total) = (*y, start);
                self.reduced.for_each(
                    #[inline(always)]
                    |place| {
                        for block in x[first + place..][..self.inner].chunks(ROWS * LANES) {
                            total = join_two(
                                total,
                                fold_block(
                                    block,
                                    start,
                                    #[inline(always)]
                                    |x| of(x, old),
                                    &join_two,
                                ),
                            );
                        }
                    },
                );
                *y = end(total, old);
            },
        );
    }

    /// The innermost axis is kept: so many neighbouring outputs are folded at once.
    #[inline(always)]
    fn fold_columns<T: Copy>(
        &self,
        x: &[T],
        y: &mut [T],
        start: T,
        of: impl Fn(T, T) -> T,
        join_two: impl Fn(T, T) -> T,
        end: impl Fn(T, T) -> T,
    ) {
        let mut rows = y.chunks_exact_mut(self.inner.max(1));
        self.kept.for_each(
            #[inline(always)]
            |first| {
                let Some(row) = rows.next() else { return };
                for (strip, y) in row.chunks_mut(LANES).enumerate() {
                    let first = first + strip * LANES;
                    let mut olds = [start; LANES];
                    olds[..y.len()].copy_from_slice(y);
                    let totals = match y.len() {
                        LANES => self.fold_strip::<T, LANES>(x, first, olds, start, &of, &join_two),
                        width => self.fold_rest(x, (first, width), olds, start, &of, &join_two),
                    };
                    for ((y, total), old) in y.iter_mut().zip(totals).zip(olds) {
                        *y = end(total, old);
                    }
                }
            },
        );
    }

    /// The totals of so many columns side by side.
    #[inline(always)]
    fn fold_strip<T: Copy, const WIDTH: usize>(
        &self,
        x: &[T],
        first: usize,
        olds: [T; WIDTH],
        start: T,
        of: &impl Fn(T, T) -> T,
        join_two: &impl Fn(T, T) -> T,
    ) -> [T; WIDTH] {
        let (mut totals, mut block, mut rows) = ([start; WIDTH], [start; WIDTH], 0);
        self.reduced.for_each(
            #[inline(always)]
            |place| {
                if let Some((x, _)) = x[first + place..].split_first_chunk::<WIDTH>() {
                    for lane in 0..WIDTH {
                        block[lane] = join_two(block[lane], of(x[lane], olds[lane]));
                    }
                }
                rows += 1;
                if rows % ROWS == 0 {
                    for lane in 0..WIDTH {
                        totals[lane] = join_two(totals[lane], block[lane]);
                        block[lane] = start;
                    }
                }
            },
        );
        for lane in 0..WIDTH {
            totals[lane] = join_two(totals[lane], block[lane]);
        }
        totals
    }

    /// The totals of the last columns, one by one.
    #[inline(always)]
    fn fold_rest<T: Copy>(
        &self,
        x: &[T],
        (first, width): (usize, usize),
        olds: [T; LANES],
        start: T,
        of: &impl Fn(T, T) -> T,
        join_two: &impl Fn(T, T) -> T,
    ) -> [T; LANES] {
        let mut totals = [start; LANES];
        for column in 0..width {
            [totals[column]] =
                self.fold_strip::<T, 1>(x, first + column, [olds[column]], start, of, join_two);
        }
        totals
    }
}

#[inline(always)]
fn fold_block<T: Copy>(
    block: &[T],
    start: T,
    of: impl Fn(T) -> T,
    join_two: &impl Fn(T, T) -> T,
) -> T {
    let (vectors, rest) = block.as_chunks::<LANES>();
    let mut lanes = [start; LANES];
    for vector in vectors {
        for lane in 0..LANES {
            lanes[lane] = join_two(lanes[lane], of(vector[lane]));
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = join_two(*lane, of(x));
    }
    join(lanes, join_two)
}
