//! Elements and slices put into a tensor at computed places.
//!
//! These kernels are in place: the tensor that is updated is in `y` already. Updates are made in their
//! order, so that of two at the same place the later one stays, and sums have one order.

use crate::element::{Bits, Number};
use crate::gather::{Slices, for_each_element};
use crate::places::OutOfRange;

/// What becomes of an element and its update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scatter {
    /// The update.
    Replace,
    /// The sum.
    Add,
    /// The product.
    Mul,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
}

impl Scatter {
    #[inline(always)]
    fn apply<T: Number>(self, old: T, update: T) -> T {
        match self {
            Scatter::Replace => update,
            Scatter::Add => old.add(update),
            Scatter::Mul => old.mul(update),
            Scatter::Min => old.least(update),
            Scatter::Max => old.most(update),
        }
    }
}

/// `y[i, …, indices[i, j, …], …] = updates[i, j, …]`: each index replaces the coordinate of `axis`.
/// `updates` has the dims of `indices`.
pub fn scatter_elements<T: Number, I: Bits>(
    (y, dims): (&mut [T], &[usize]),
    axis: usize,
    (indices, index_dims): (&[I], &[usize]),
    updates: &[T],
    reduction: Scatter,
) -> Result<(), OutOfRange> {
    assert_eq!(updates.len(), indices.len());
    for_each_element(dims, axis, (indices, index_dims), |i, to| {
        y[to] = reduction.apply(y[to], updates[i]);
    })
}

/// The slices of `y` at coordinates, which are the last axis of `indices`, are updated.
pub fn scatter_nd<T: Number, I: Bits>(
    (y, dims): (&mut [T], &[usize]),
    (indices, index_dims): (&[I], &[usize]),
    updates: &[T],
    reduction: Scatter,
) -> Result<(), OutOfRange> {
    let depth = index_dims.last().copied().unwrap_or(0);
    let slices = Slices::new(dims, 0, depth);
    let count: usize = index_dims[..index_dims.len() - 1].iter().product();
    assert_eq!(updates.len(), count * slices.run);
    for i in 0..count {
        let to = slices.place(&indices[i * depth..(i + 1) * depth])?;
        let updates = &updates[i * slices.run..(i + 1) * slices.run];
        for (y, &update) in y[to..to + slices.run].iter_mut().zip(updates) {
            *y = reduction.apply(*y, update);
        }
    }
    Ok(())
}

/// A cache `y` of dims `[batch, …, length, …]` gets `update` along `axis`, from `starts[batch]` on;
/// with `circular` what goes beyond the end goes on at the beginning.
pub fn tensor_scatter<T: Copy>(
    (y, dims): (&mut [T], &[usize]),
    axis: usize,
    (update, update_len): (&[T], usize),
    starts: Option<&[i64]>,
    circular: bool,
) -> Result<(), OutOfRange> {
    let (batch, middle): (usize, usize) = (dims[0], dims[1..axis].iter().product());
    let (dim, inner) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
    assert_eq!(y.len(), batch * middle * dim * inner);
    assert_eq!(update.len(), batch * middle * update_len * inner);
    for outer in 0..batch * middle {
        let start = starts.map_or(0, |starts| starts[outer / middle]);
        for i in 0..update_len {
            let at = usize::try_from(start).ok().and_then(|start| start.checked_add(i));
            let at = match at {
                Some(at) if circular && dim > 0 => at % dim,
                Some(at) if at < dim => at,
                _ => return Err(OutOfRange { index: start.wrapping_add_unsigned(i as u64), dim }),
            };
            let (to, from) = ((outer * dim + at) * inner, (outer * update_len + i) * inner);
            y[to..to + inner].copy_from_slice(&update[from..from + inner]);
        }
    }
    Ok(())
}
