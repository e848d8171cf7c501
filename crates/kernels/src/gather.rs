//! Elements and slices at computed places.
//!
//! Indices may count from the end. One that is beyond its axis is an error; what has been written by
//! then is of no use.

use crate::MAX_RANK;
use crate::element::Bits;
use crate::places::{Along, Counter, OutOfRange, place};
use crate::strided::contiguous_strides;

/// `y =` the slices of `x` along `axis` at `indices`: the dims of `y` are those of `x` with the axis
/// replaced by the dims of the indices.
pub fn gather<T: Copy, I: Bits>(
    x: &[T],
    dims: &[usize],
    axis: usize,
    indices: &[I],
    y: &mut [T],
) -> Result<(), OutOfRange> {
    let along = Along::new(dims, axis);
    assert_eq!(x.len(), along.len());
    assert_eq!(y.len(), along.outer * indices.len() * along.inner);
    if along.inner == 1 && along.outer == 1 {
        for (y, &index) in y.iter_mut().zip(indices) {
            *y = x[place(index, along.dim)?];
        }
        return Ok(());
    }
    if y.is_empty() {
        return Ok(());
    }
    let mut runs = y.chunks_exact_mut(along.inner);
    for slice in x.chunks_exact((along.dim * along.inner).max(1)) {
        for (&index, run) in indices.iter().zip(&mut runs) {
            let from = place(index, along.dim)? * along.inner;
            run.copy_from_slice(&slice[from..from + along.inner]);
        }
    }
    // An axis without elements has none to give.
    match indices {
        [index, ..] if along.dim == 0 => Err(OutOfRange { index: index.to_i64(), dim: along.dim }),
        _ => Ok(()),
    }
}

/// `y[i, j, …] = x[i, …, indices[i, j, …], …]`: each index replaces the coordinate of `axis`. `y` and
/// `indices` have the same dims.
pub fn gather_elements<T: Copy, I: Bits>(
    (x, dims): (&[T], &[usize]),
    axis: usize,
    (indices, index_dims): (&[I], &[usize]),
    y: &mut [T],
) -> Result<(), OutOfRange> {
    assert_eq!(y.len(), indices.len());
    for_each_element(dims, axis, (indices, index_dims), |i, from| y[i] = x[from])
}

/// Calls `visit` with each place in the indices and the place in a tensor that it means.
pub(crate) fn for_each_element<I: Bits>(
    dims: &[usize],
    axis: usize,
    (indices, index_dims): (&[I], &[usize]),
    mut visit: impl FnMut(usize, usize),
) -> Result<(), OutOfRange> {
    assert_eq!(dims.len(), index_dims.len());
    let mut strides = contiguous_strides(dims);
    let along = strides[axis].unsigned_abs();
    strides[axis] = 0;
    let mut counter = Counter::new(index_dims);
    for (i, &index) in indices.iter().enumerate() {
        visit(i, counter.place(&strides) + place(index, dims[axis])? * along);
        counter.step();
    }
    Ok(())
}

/// `y =` the slices of `x` at coordinates, which are the last axis of `indices`; the first
/// `batch_dims` axes of both go together.
pub fn gather_nd<T: Copy, I: Bits>(
    (x, dims): (&[T], &[usize]),
    batch_dims: usize,
    (indices, index_dims): (&[I], &[usize]),
    y: &mut [T],
) -> Result<(), OutOfRange> {
    let depth = index_dims.last().copied().unwrap_or(0);
    let slices = Slices::new(dims, batch_dims, depth);
    assert_eq!(x.len(), dims.iter().product::<usize>());
    let batches: usize = dims[..batch_dims].iter().product();
    let count = index_dims[..index_dims.len() - 1].iter().product::<usize>();
    assert_eq!(y.len(), count * slices.run);
    let per_batch = count.checked_div(batches).unwrap_or(0);
    for i in 0..count {
        let coordinates = &indices[i * depth..(i + 1) * depth];
        let from = i / per_batch * slices.batch + slices.place(coordinates)?;
        y[i * slices.run..(i + 1) * slices.run].copy_from_slice(&x[from..from + slices.run]);
    }
    Ok(())
}

/// Slices of a tensor that coordinates of its axes from `first` on lead to.
pub(crate) struct Slices<'a> {
    dims: &'a [usize],
    strides: [isize; MAX_RANK],
    first: usize,
    /// How many elements a slice has.
    pub(crate) run: usize,
    /// How many elements a batch has.
    pub(crate) batch: usize,
}

impl<'a> Slices<'a> {
    pub(crate) fn new(dims: &'a [usize], first: usize, depth: usize) -> Self {
        let run = dims[first + depth..].iter().product();
        let batch = dims[first..].iter().product();
        Slices { dims, strides: contiguous_strides(dims), first, run, batch }
    }

    pub(crate) fn place<I: Bits>(&self, coordinates: &[I]) -> Result<usize, OutOfRange> {
        let mut sum = 0;
        for (axis, &index) in coordinates.iter().enumerate() {
            let axis = self.first + axis;
            sum += place(index, self.dims[axis])? * self.strides[axis].unsigned_abs();
        }
        Ok(sum)
    }
}
