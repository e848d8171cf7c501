//! Choices between elements, and limits: `Where`, `Clip`, and functions of any number of tensors.

use crate::binary::Byte;
use crate::broadcast::Broadcast;
use crate::element::{Number, level_for};
use crate::simd::{Level, wide};

/// `y = then` where `condition` is not 0, else `otherwise`; broadcast in this order.
pub fn select<T: Copy>(
    shape: &Broadcast<3>,
    condition: &[u8],
    then: &[T],
    otherwise: &[T],
    y: &mut [T],
) {
    assert_eq!(condition.len(), shape.operand_len(0));
    assert_eq!(then.len(), shape.operand_len(1));
    assert_eq!(otherwise.len(), shape.operand_len(2));
    assert_eq!(y.len(), shape.output_len());
    let n = shape.row();
    shape.for_each_row(
        #[inline(always)]
        |start, [c, t, o]| {
            let y = &mut y[start..start + n];
            if shape.is_run(0) && shape.is_run(1) && shape.is_run(2) {
                let branches = then[t..t + n].iter().zip(&otherwise[o..o + n]);
                let rows = condition[c..c + n].iter().zip(branches);
                for (y, (&condition, (&then, &otherwise))) in y.iter_mut().zip(rows) {
                    *y = if condition == 0 { otherwise } else { then };
                }
            } else {
                let step = |operand: usize| usize::from(shape.is_run(operand));
                for (i, y) in y.iter_mut().enumerate() {
                    let first = if condition[c + i * step(0)] == 0 {
                        otherwise[o + i * step(2)]
                    } else {
                        then[t + i * step(1)]
                    };
                    *y = first;
                }
            }
        },
    );
}

/// What is in the output already.
#[derive(Clone, Copy, Debug)]
pub enum Branch<'a, T> {
    /// What is taken where the condition holds; the other is given.
    Then {
        /// What is taken elsewhere.
        otherwise: &'a [T],
    },
    /// What is taken where the condition does not hold; the other is given.
    Otherwise {
        /// What is taken where it holds.
        then: &'a [T],
    },
}

/// As [`select`], with one branch in `y` already.
pub fn select_in_place<T: Copy>(
    shape: &Broadcast<3>,
    condition: &[u8],
    branch: Branch<'_, T>,
    y: &mut [T],
) {
    assert_eq!(condition.len(), shape.operand_len(0));
    assert_eq!(y.len(), shape.output_len());
    let (operand, other, replaced) = match branch {
        Branch::Then { otherwise } => (2, otherwise, false),
        Branch::Otherwise { then } => (1, then, true),
    };
    assert_eq!(other.len(), shape.operand_len(operand));
    let step = |operand: usize| usize::from(shape.is_run(operand));
    shape.for_each_row(
        #[inline(always)]
        |start, places| {
            let y = &mut y[start..start + shape.row()];
            for (i, y) in y.iter_mut().enumerate() {
                let is_replaced = (condition[places[0] + i * step(0)] != 0) == replaced;
                *y = if is_replaced { other[places[operand] + i * step(operand)] } else { *y };
            }
        },
    );
}

/// As [`select`], with the condition in `y` already: elements of one byte.
pub fn select_on_condition<T: Byte>(
    shape: &Broadcast<3>,
    then: &[T],
    otherwise: &[T],
    y: &mut [T],
) {
    assert_eq!(then.len(), shape.operand_len(1));
    assert_eq!(otherwise.len(), shape.operand_len(2));
    assert_eq!(y.len(), shape.output_len());
    let step = |operand: usize| usize::from(shape.is_run(operand));
    shape.for_each_row(
        #[inline(always)]
        |start, [_, t, o]| {
            let y = &mut y[start..start + shape.row()];
            for (i, y) in y.iter_mut().enumerate() {
                *y = if *y == T::ZERO { otherwise[o + i * step(2)] } else { then[t + i * step(1)] };
            }
        },
    );
}

/// `y = min(max(x, least), most)`. Without a limit give [`Number::LOWEST`] or [`Number::HIGHEST`].
/// Not a number stays what it is. Lengths are equal.
pub fn clip<T: Number>(level: Level, (least, most): (T, T), x: &[T], y: &mut [T]) {
    assert_eq!(x.len(), y.len());
    wide(
        level_for::<T>(level),
        #[inline(always)]
        || {
            for (y, &x) in y.iter_mut().zip(x) {
                *y = clipped(x, least, most);
            }
        },
    );
}

/// [`clip`] with `x` in `y` already.
pub fn clip_in_place<T: Number>(level: Level, (least, most): (T, T), y: &mut [T]) {
    wide(
        level_for::<T>(level),
        #[inline(always)]
        || {
            for y in y {
                *y = clipped(*y, least, most);
            }
        },
    );
}

#[inline(always)]
fn clipped<T: Number>(x: T, least: T, most: T) -> T {
    let x = if x < least { least } else { x };
    if x > most { most } else { x }
}

/// `y = y / count`: what is left to do for the mean of so many tensors when `y` is their sum. Sums,
/// minima and maxima of many tensors are [`binary_in_place`](crate::binary::binary_in_place) with
/// each after the first.
pub fn divide_by_count<T: Number>(level: Level, count: usize, y: &mut [T]) {
    let count = T::from_f64(count as f64);
    wide(
        level_for::<T>(level),
        #[inline(always)]
        || {
            for y in y {
                *y = y.div(count);
            }
        },
    );
}
