//! The same elements elsewhere: copies of what is not a view, transposes, parts, repeats, edges.

use plimsoll_graph::Dtype;
use plimsoll_kernels::Strided;
use plimsoll_kernels::blocks::{self, BlockOrder};
use plimsoll_kernels::cast::CastFrom;
use plimsoll_kernels::fill::{self, Triangle};
use plimsoll_kernels::pad::{self, Pad};
use plimsoll_model::{DepthOrder, PadMode};

use super::elementwise::each;
use crate::at::{At, axis_of};
use crate::kernel::{Built, Call, Kernel, Lack, Part};
use crate::types::{by_any, by_width};

/// Where a reshape and its like are not views.
pub(super) fn copy(at: &At<'_>) -> Result<Built, Lack> {
    let _ = at.result_dims(0)?;
    Ok(copies(&[(0, 0)]))
}

/// A call for each pair of operand and result of the same bytes.
pub(crate) fn copies(pairs: &[(usize, usize)]) -> Built {
    let call = |&(operand, result): &(usize, usize)| {
        let kernel: Kernel = Box::new(|io| {
            if !io.is_in_place(0) {
                io.write_bytes(0).copy_from_slice(io.bytes(0).unwrap_or_default());
            }
            Ok(())
        });
        Call::of(Some(operand), result, kernel)
    };
    Built::calls(pairs.iter().map(call).collect())
}

/// Nothing is dropped where nobody trains.
pub(super) fn dropout(at: &At<'_>) -> Result<Built, Lack> {
    if at.ints(2)?.is_some_and(|training| training != [0]) {
        return Err("no kernel that drops elements at random".to_owned());
    }
    let mut built = copies(&[(0, 0)]);
    if at.wants(1) {
        let dtype = at.result_dtype(1)?;
        let dtype = if dtype == Dtype::Bool { Dtype::U8 } else { dtype };
        let kernel: Result<Kernel, Lack> = by_any!(dtype, T => Ok(Box::new(|io| {
            io.write::<T>(0).fill(T::cast_from(1u8));
            Ok(())
        })));
        built.calls.push(Call::of(None, 1, kernel?));
    }
    Ok(built)
}

/// Reads a view of operand 0.
fn view(at: &At<'_>, view: Strided) -> Result<Built, Lack> {
    by_width!(at.dtype(0)?, T => Ok(Built::one(1, 1, move |io| {
        view.read::<T>(io.read(0), io.write(0));
        Ok(())
    })))
}

pub(super) fn transpose(at: &At<'_>, permutation: Option<&[usize]>) -> Result<Built, Lack> {
    let dims = at.dims(0)?;
    let reversed = || (0..dims.len()).rev().collect();
    let permutation: Vec<usize> = permutation.map_or_else(reversed, <[usize]>::to_vec);
    view(at, Strided::transpose(&dims, &permutation))
}

/// `x, starts, ends, axes?, steps?`; the dims of the result say how many are kept.
pub(super) fn slice(at: &At<'_>) -> Result<Built, Lack> {
    let (dims, lens) = (at.dims(0)?, at.result_dims(0)?);
    let starts = at.ints(1)?.ok_or("a slice without starts")?;
    let axes = at.ints(3)?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = at.ints(4)?.unwrap_or_else(|| vec![1; starts.len()]);
    let (mut first, mut by) = (vec![0; dims.len()], vec![1isize; dims.len()]);
    for ((start, axis), step) in starts.iter().zip(&axes).zip(&steps) {
        let axis = axis_of(*axis, dims.len())?;
        let dim = dims[axis] as i64;
        let start = if *start < 0 { start.saturating_add(dim) } else { *start };
        let last = if *step < 0 { dim - 1 } else { dim };
        first[axis] = usize::try_from(start.clamp(0, last.max(0))).unwrap_or(0);
        by[axis] = isize::try_from(*step).map_err(|_| format!("a step of {step}"))?;
    }
    // One element is reached without a step, however large that is.
    for (by, len) in by.iter_mut().zip(&lens) {
        *by = if *len <= 1 { 1 } else { *by };
    }
    view(at, Strided::slice(&dims, &first, &by, &lens))
}

/// A call for each part.
pub(super) fn split(at: &At<'_>, axis: i64) -> Result<Built, Lack> {
    let dims = at.dims(0)?;
    let axis = axis_of(axis, dims.len())?;
    let (mut calls, mut start) = (Vec::new(), 0);
    for result in 0..at.results() {
        let lengths = || at.ints(1).ok().flatten();
        let len = if at.wants(result) {
            at.result_dims(result)?[axis]
        } else {
            let lengths = lengths().ok_or("a part that nobody wants, of unknown length")?;
            lengths.get(result).map_or(0, |len| *len as usize)
        };
        if at.wants(result) {
            let part = Strided::part(&dims, axis, start, len);
            let mut call = view(at, part)?.calls;
            for call in &mut call {
                call.writes = vec![result];
            }
            calls.append(&mut call);
        }
        start += len;
    }
    Ok(Built::calls(calls))
}

/// A call for each part: those that are made where they belong are left out.
pub(super) fn concat(at: &At<'_>, axis: i64) -> Result<Built, Lack> {
    let dims = at.result_dims(0)?;
    let axis = axis_of(axis, dims.len())?;
    let (mut calls, mut start) = (Vec::new(), 0);
    for operand in (0..at.operands()).filter(|operand| at.has(*operand)) {
        let len = at.dims(operand)?[axis];
        let part = Strided::part(&dims, axis, start, len);
        let width = at.dtype(operand)?.bits() as usize / 8;
        let first = part.offset() * width;
        let bytes = part.is_run().then(|| first..first + part.view_len() * width);
        let built: Result<Built, Lack> = by_width!(at.dtype(operand)?, T => {
            Ok(Built::one(1, 1, move |io| {
                match io.inside(0) {
                    // What is a part already is another one too.
                    Some(range) => io.write_bytes(0).copy_within(range, first),
                    None => part.write::<T>(io.read(0), io.write(0)),
                }
                Ok(())
            }))
        });
        let mut call = built?.calls;
        for call in &mut call {
            (call.reads, call.joins) = (vec![Some(operand)], Some(Part { bytes: bytes.clone() }));
        }
        calls.append(&mut call);
        start += len;
    }
    Ok(Built::calls(calls))
}

pub(super) fn expand(at: &At<'_>) -> Result<Built, Lack> {
    let (dims, to) = (at.dims(0)?, at.result_dims(0)?);
    view(at, Strided::expand(&dims, &to))
}

pub(super) fn tile(at: &At<'_>) -> Result<Built, Lack> {
    let (dims, to) = (at.dims(0)?, at.result_dims(0)?);
    let repeats: Vec<usize> = match at.ints(1)? {
        Some(repeats) => repeats.iter().map(|repeat| (*repeat).max(0) as usize).collect(),
        None => dims.iter().zip(&to).map(|(dim, to)| to.checked_div(*dim).unwrap_or(0)).collect(),
    };
    by_width!(at.dtype(0)?, T => Ok(Built::one(1, 1, move |io| {
        blocks::tile::<T>((io.read(0), &dims), &repeats, io.write(0));
        Ok(())
    })))
}

/// How many elements are put before each axis.
pub(crate) fn pad_begins(at: &At<'_>) -> Result<Vec<isize>, Lack> {
    let rank = at.dims(0)?.len();
    let pads = at.ints(1)?.ok_or("no pads")?;
    let axes = at.ints(3)?.unwrap_or_else(|| (0..rank as i64).collect());
    let mut begins = vec![0isize; rank];
    for (axis, pad) in axes.iter().zip(&pads) {
        begins[axis_of(*axis, rank)?] = *pad as isize;
    }
    Ok(begins)
}

/// `x, pads, value?, axes?`.
pub(super) fn pad(at: &At<'_>, mode: PadMode) -> Result<Built, Lack> {
    let (dims, to, before) = (at.dims(0)?, at.result_dims(0)?, pad_begins(at)?);
    by_width!(at.dtype(0)?, T => Ok(Built::one(3, 1, move |io| {
        let mode = match mode {
            PadMode::Constant => Pad::Constant(io.scalar::<T>(2).unwrap_or_default()),
            PadMode::Reflect => Pad::Reflect,
            PadMode::Edge => Pad::Edge,
            PadMode::Wrap => Pad::Wrap,
        };
        pad::pad(mode, (io.read(0), &dims), &before, (io.write(0), &to));
        Ok(())
    })))
}

/// `x, dims`: the middle of what is longer, and zeros around what is shorter.
pub(super) fn center_crop_pad(at: &At<'_>) -> Result<Built, Lack> {
    let (dims, to) = (at.dims(0)?, at.result_dims(0)?);
    let shift = |(from, to): (&usize, &usize)| {
        if to >= from { ((to - from) / 2) as isize } else { -(((from - to) / 2) as isize) }
    };
    let before: Vec<isize> = dims.iter().zip(&to).map(shift).collect();
    by_width!(at.dtype(0)?, T => Ok(Built::one(1, 1, move |io| {
        pad::pad(Pad::Constant(T::default()), (io.read(0), &dims), &before, (io.write(0), &to));
        Ok(())
    })))
}

/// The dims of images.
fn image(at: &At<'_>) -> Result<[usize; 4], Lack> {
    at.dims(0)?.try_into().map_err(|dims: Vec<usize>| format!("{} dims, not 4", dims.len()))
}

pub(super) fn depth_to_space(at: &At<'_>, block: u64, order: DepthOrder) -> Result<Built, Lack> {
    let order = match order {
        DepthOrder::BlockFirst => BlockOrder::DepthFirst,
        DepthOrder::ChannelsFirst => BlockOrder::ColumnsFirst,
    };
    view(at, blocks::depth_to_space(image(at)?, block as usize, order))
}

pub(super) fn space_to_depth(at: &At<'_>, block: u64) -> Result<Built, Lack> {
    view(at, blocks::space_to_depth(image(at)?, block as usize))
}

pub(super) fn reverse_sequence(at: &At<'_>, batch_axis: i64) -> Result<Built, Lack> {
    let dims = at.dims(0)?;
    let &[first, second, ref inner @ ..] = &dims[..] else {
        return Err("fewer than two dims".to_owned());
    };
    let (inner, batch_first) = (inner.iter().product(), batch_axis == 0);
    let (batches, times) = if batch_first { (first, second) } else { (second, first) };
    by_width!(at.dtype(0)?, T => Ok(Built::one(2, 1, move |io| {
        let sizes = (batches, times, inner);
        fill::reverse_sequence::<T, i64>(io.read(0), sizes, batch_first, io.read(1), io.write(0));
        Ok(())
    })))
}

/// `x, k?`.
pub(super) fn trilu(at: &At<'_>, upper: bool) -> Result<Built, Lack> {
    let dims = at.dims(0)?;
    let triangle = if upper { Triangle::Upper } else { Triangle::Lower };
    by_width!(at.dtype(0)?, T => Ok(Built::one(2, 1, move |io| {
        let k = io.scalar::<i64>(1).unwrap_or(0);
        each(
            io,
            |x: &[T], y: &mut [T]| fill::trilu(triangle, k, &dims, x, y),
            |y| fill::trilu_in_place(triangle, k, &dims, y),
        )
    })))
}
