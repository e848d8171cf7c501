//! Tensors that come from little: ranges, diagonals, one-hot codes, triangles.

use crate::element::{Bits, Number};

/// `y[i] = start + i * delta`.
pub fn range<T: Number>(start: T, delta: T, y: &mut [T]) {
    for (i, y) in y.iter_mut().enumerate() {
        *y = start.add(T::from_f64(i as f64).mul(delta));
    }
}

/// How many elements a range from `start` to before `limit` has; none with a `delta` of 0.
#[must_use]
pub fn range_len<T: Number>(start: T, limit: T, delta: T) -> usize {
    let steps = (limit.to_f64() - start.to_f64()) / delta.to_f64();
    if steps > 0.0 && steps.is_finite() { libm::ceil(steps) as usize } else { 0 }
}

/// Zeros, with ones where the column is the row and `k`.
pub fn eye<T: Number>(columns: usize, k: i64, y: &mut [T]) {
    y.fill(T::ZERO);
    if columns == 0 {
        return;
    }
    for (row, y) in y.chunks_exact_mut(columns).enumerate() {
        let column = usize::try_from(k.saturating_add_unsigned(row as u64)).unwrap_or(columns);
        if let Some(y) = y.get_mut(column) {
            *y = T::ONE;
        }
    }
}

/// `y [outer, depth, inner]`: `on` where `indices [outer, inner]` has that index (negative ones count
/// from the end), else `off`. Indices beyond the depth are nowhere.
pub fn one_hot<T: Copy, I: Number>(
    indices: &[I],
    (depth, inner): (usize, usize),
    (off, on): (T, T),
    y: &mut [T],
) {
    assert_eq!(y.len(), indices.len() * depth);
    y.fill(off);
    for (i, &index) in indices.iter().enumerate() {
        let index = index.to_i64();
        let counted = if index < 0 { index.saturating_add_unsigned(depth as u64) } else { index };
        let place = usize::try_from(counted).unwrap_or(depth);
        if place < depth {
            y[(i / inner * depth + place) * inner + i % inner] = on;
        }
    }
}

/// Which triangle of a matrix is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Triangle {
    /// From the diagonal on to the right.
    Upper,
    /// Up to the diagonal.
    Lower,
}

/// `y = x` in a triangle of each matrix of `dims`' last two, else 0; `k` is how far right of the
/// main diagonal the kept one ends or begins.
pub fn trilu<T: Copy + Default>(triangle: Triangle, k: i64, dims: &[usize], x: &[T], y: &mut [T]) {
    y.copy_from_slice(x);
    trilu_in_place(triangle, k, dims, y);
}

/// [`trilu`] with `x` in `y` already.
pub fn trilu_in_place<T: Copy + Default>(triangle: Triangle, k: i64, dims: &[usize], y: &mut [T]) {
    let &[.., rows, columns] = dims else { return };
    assert_eq!(y.len(), dims.iter().product::<usize>());
    if y.is_empty() {
        return;
    }
    for (row, y) in y.chunks_exact_mut(columns).enumerate() {
        let diagonal = k.saturating_add_unsigned((row % rows) as u64);
        match triangle {
            Triangle::Upper => y[..clamped(diagonal, columns)].fill(T::default()),
            Triangle::Lower => {
                y[clamped(diagonal.saturating_add(1), columns)..].fill(T::default());
            }
        }
    }
}

fn clamped(place: i64, columns: usize) -> usize {
    usize::try_from(place.max(0)).unwrap_or(columns).min(columns)
}

/// How many elements are not 0.
#[must_use]
pub fn count_non_zero<T: Number>(x: &[T]) -> usize {
    x.iter().filter(|x| **x != T::ZERO).count()
}

/// `y [rank, count]`: the indices of the elements that are not 0, in ascending order; `count` is
/// what [`count_non_zero`] says.
pub fn non_zero<T: Number>(x: &[T], dims: &[usize], y: &mut [i64]) {
    assert_eq!(x.len(), dims.iter().product::<usize>());
    let count = count_non_zero(x);
    assert_eq!(y.len(), dims.len().max(1) * count);
    for (column, place) in (0..x.len()).filter(|&place| x[place] != T::ZERO).enumerate() {
        let mut rest = place;
        for (axis, &dim) in dims.iter().enumerate().rev() {
            y[axis * count + column] = (rest % dim) as i64;
            rest /= dim;
        }
        if dims.is_empty() {
            y[column] = 0;
        }
    }
}

/// `y =` the slices of `x [outer, dim, inner]` for which `condition` is not 0. A condition that is
/// shorter than the axis leaves out the rest.
pub fn compress<T: Copy>(x: &[T], (dim, inner): (usize, usize), condition: &[u8], y: &mut [T]) {
    if x.is_empty() || y.is_empty() {
        return;
    }
    let mut kept = y.chunks_exact_mut(inner);
    for slice in x.chunks_exact(dim * inner) {
        for (run, &condition) in slice.chunks_exact(inner).zip(condition) {
            if condition != 0
                && let Some(y) = kept.next()
            {
                y.copy_from_slice(run);
            }
        }
    }
}

/// `y [batch, time, inner]`, or `[time, batch, inner]`: the first `lens[batch]` elements along time
/// backwards, the others as they are.
pub fn reverse_sequence<T: Copy, I: Bits>(
    x: &[T],
    (batches, times, inner): (usize, usize, usize),
    batch_first: bool,
    lens: &[I],
    y: &mut [T],
) {
    assert_eq!(x.len(), batches * times * inner);
    assert_eq!((y.len(), lens.len()), (x.len(), batches));
    let at = |batch: usize, time: usize| {
        (if batch_first { batch * times + time } else { time * batches + batch }) * inner
    };
    for (batch, &len) in lens.iter().enumerate() {
        let len = clamped(len.to_i64(), times);
        for time in 0..times {
            let from = at(batch, if time < len { len - 1 - time } else { time });
            let to = at(batch, time);
            y[to..to + inner].copy_from_slice(&x[from..from + inner]);
        }
    }
}
