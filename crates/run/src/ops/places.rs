//! At computed places: gathering, scattering, codes, the largest.

use plimsoll_kernels::order::{self, Extreme};
use plimsoll_kernels::scatter::{self, Scatter};
use plimsoll_kernels::{fill, gather};
use plimsoll_model::Update;

use crate::at::{At, axis_of};
use crate::io::Io;
use crate::kernel::{Built, Lack};
use crate::memory::Plain;
use crate::types::{by_index, by_number, by_width};

pub(super) fn gather(at: &At<'_>, axis: i64) -> Result<Built, Lack> {
    let dims = at.dims(0)?;
    let axis = axis_of(axis, dims.len())?;
    by_width!(at.dtype(0)?, T => by_index!(at.dtype(1)?, I => Ok(Built::one(2, 1, move |io| {
        gather::gather::<T, I>(io.read(0), &dims, axis, io.read(1), io.write(0))
    }))))
}

pub(super) fn gather_elements(at: &At<'_>, axis: i64) -> Result<Built, Lack> {
    let (dims, places) = (at.dims(0)?, at.dims(1)?);
    let axis = axis_of(axis, dims.len())?;
    by_width!(at.dtype(0)?, T => by_index!(at.dtype(1)?, I => Ok(Built::one(2, 1, move |io| {
        let indices = (io.read(1), &places[..]);
        gather::gather_elements::<T, I>((io.read(0), &dims), axis, indices, io.write(0))
    }))))
}

pub(super) fn gather_nd(at: &At<'_>, batch_dims: u64) -> Result<Built, Lack> {
    let (dims, places) = (at.dims(0)?, at.dims(1)?);
    let batch_dims = batch_dims as usize;
    by_width!(at.dtype(0)?, T => Ok(Built::one(2, 1, move |io| {
        let indices = (io.read(1), &places[..]);
        gather::gather_nd::<T, i64>((io.read(0), &dims), batch_dims, indices, io.write(0))
    })))
}

/// What an update does.
fn scatter(update: Update) -> Scatter {
    match update {
        Update::Replace => Scatter::Replace,
        Update::Add => Scatter::Add,
        Update::Mul => Scatter::Mul,
        Update::Max => Scatter::Max,
        Update::Min => Scatter::Min,
    }
}

/// What is updated: operand 0, copied to the output unless it is there already.
fn updated<'m, T: Plain>(io: &mut Io<'m>) -> &'m mut [T] {
    let y: &mut [T] = io.write(0);
    if !io.is_in_place(0) {
        y.copy_from_slice(io.read(0));
    }
    y
}

pub(super) fn scatter_elements(at: &At<'_>, axis: i64, update: Update) -> Result<Built, Lack> {
    let (dims, places, update) = (at.dims(0)?, at.dims(1)?, scatter(update));
    let axis = axis_of(axis, dims.len())?;
    by_number!(at.dtype(0)?, T => by_index!(at.dtype(1)?, I => Ok(Built::one(3, 1, move |io| {
        let y = (updated::<T>(io), &dims[..]);
        scatter::scatter_elements::<T, I>(y, axis, (io.read(1), &places), io.read(2), update)
    }))))
}

pub(super) fn scatter_nd(at: &At<'_>, update: Update) -> Result<Built, Lack> {
    let (dims, places, update) = (at.dims(0)?, at.dims(1)?, scatter(update));
    by_number!(at.dtype(0)?, T => Ok(Built::one(3, 1, move |io| {
        let y = (updated::<T>(io), &dims[..]);
        scatter::scatter_nd::<T, i64>(y, (io.read(1), &places), io.read(2), update)
    })))
}

/// `past, update, places?`.
pub(super) fn tensor_scatter(at: &At<'_>, axis: i64, circular: bool) -> Result<Built, Lack> {
    let dims = at.dims(0)?;
    let axis = axis_of(axis, dims.len())?;
    let len = at.dims(1)?[axis];
    by_width!(at.dtype(0)?, T => Ok(Built::one(3, 1, move |io| {
        let y = (updated::<T>(io), &dims[..]);
        scatter::tensor_scatter(y, axis, (io.read(1), len), io.optional(2), circular)
    })))
}

/// `indices, depth, values`.
pub(super) fn one_hot(at: &At<'_>, axis: i64) -> Result<Built, Lack> {
    let dims = at.result_dims(0)?;
    let axis = axis_of(axis, dims.len())?;
    let (depth, inner) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
    let dtype = at.dtype(2)?;
    by_width!(dtype, T => by_number!(at.dtype(0)?, I => Ok(Built::one(3, 1, move |io| {
        let values: &[T] = io.read(2);
        let values = (values[0], values[1]);
        fill::one_hot::<T, I>(io.read(0), (depth, inner), values, io.write(0));
        Ok(())
    }))))
}

/// `x, k` to `values, indices`.
pub(super) fn top_k(at: &At<'_>, axis: i64, largest: bool) -> Result<Built, Lack> {
    let (dims, first) = (at.dims(0)?, usize::from(!at.wants(0)));
    let axis = axis_of(axis, dims.len())?;
    let k = at.result_dims(first)?[axis];
    let extreme = if largest { Extreme::Max } else { Extreme::Min };
    if !(at.wants(0) && at.wants(1)) {
        return Err("no kernel that makes values or indices alone".to_owned());
    }
    by_number!(at.dtype(0)?, T => Ok(Built::one(1, 2, move |io| {
        let results = (io.write(0), io.write(1));
        order::top_k::<T>(extreme, (io.read(0), &dims), axis, k, results);
        Ok(())
    })))
}
