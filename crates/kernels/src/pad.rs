//! More elements at the edges, or, with negative numbers, fewer.

use crate::MAX_RANK;
use crate::places::Counter;
use crate::strided::contiguous_strides;

/// What is put at the edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pad<T> {
    /// One value.
    Constant(T),
    /// What lies on the other side of the edge's element.
    Reflect,
    /// The edge's element.
    Edge,
    /// What lies at the other end of the axis.
    Wrap,
}

/// `y = x` with `before[i]` elements before axis `i`, and as many behind it as the dims of `y`
/// leave. Rows along the last axis are copied as runs.
pub fn pad<T: Copy>(
    mode: Pad<T>,
    (x, dims): (&[T], &[usize]),
    before: &[isize],
    (y, y_dims): (&mut [T], &[usize]),
) {
    assert_eq!(x.len(), dims.iter().product::<usize>());
    assert_eq!(y.len(), y_dims.iter().product::<usize>());
    assert!(dims.len() == y_dims.len() && dims.len() == before.len());
    let Some(last) = dims.len().checked_sub(1) else {
        return y.copy_from_slice(x);
    };
    if y.is_empty() {
        return;
    }
    let strides = contiguous_strides(dims);
    let mut counter = Counter::new(&y_dims[..last]);
    for row in y.chunks_exact_mut(y_dims[last]) {
        match row_start(mode, (dims, &strides), before, &counter.index[..last]) {
            Some(from) if dims[last] > 0 => {
                pad_row(mode, &x[from..from + dims[last]], before[last], row);
            }
            _ => fill_constant(mode, row),
        }
        counter.step();
    }
}

/// Where the row of `x` begins from which a row of `y` comes, if it comes from one.
fn row_start<T: Copy>(
    mode: Pad<T>,
    (dims, strides): (&[usize], &[isize; MAX_RANK]),
    before: &[isize],
    index: &[usize],
) -> Option<usize> {
    let mut start = 0;
    for (axis, &index) in index.iter().enumerate() {
        let at = source(mode, index.cast_signed() - before[axis], dims[axis])?;
        start += at * strides[axis].unsigned_abs();
    }
    Some(start)
}

fn pad_row<T: Copy>(mode: Pad<T>, x: &[T], before: isize, y: &mut [T]) {
    let dim = x.len().cast_signed();
    let len = y.len().cast_signed();
    let begin = before.clamp(0, len);
    let end = (before + dim).clamp(begin, len);
    let middle = (begin - before).clamp(0, dim).cast_unsigned();
    let (begin, end) = (begin.cast_unsigned(), end.cast_unsigned());
    y[begin..end].copy_from_slice(&x[middle..middle + (end - begin)]);
    for (i, y) in y.iter_mut().enumerate() {
        if i < begin || i >= end {
            if let Some(from) = source(mode, i.cast_signed() - before, x.len()) {
                *y = x[from];
            } else if let Pad::Constant(value) = mode {
                *y = value;
            }
        }
    }
}

fn fill_constant<T: Copy>(mode: Pad<T>, row: &mut [T]) {
    if let Pad::Constant(value) = mode {
        row.fill(value);
    }
}

/// The element of an axis that is at a place, which may be beyond its ends.
fn source<T: Copy>(mode: Pad<T>, at: isize, dim: usize) -> Option<usize> {
    let signed = dim.cast_signed();
    if at >= 0 && at < signed {
        return Some(at.cast_unsigned());
    }
    let last = signed - 1;
    match mode {
        Pad::Constant(_) => None,
        _ if dim == 0 => None,
        Pad::Edge => Some(at.clamp(0, last).cast_unsigned()),
        Pad::Wrap => Some(at.rem_euclid(signed).cast_unsigned()),
        Pad::Reflect if dim == 1 => Some(0),
        Pad::Reflect => {
            let there_and_back = at.rem_euclid(2 * last);
            Some(there_and_back.min(2 * last - there_and_back).cast_unsigned())
        }
    }
}
