//! Along axes: reductions, places of extremes, running sums, softmax.

use plimsoll_kernels::order::{self, Extreme, Running};
use plimsoll_kernels::reduce::{self, RealReduction};
use plimsoll_kernels::{Level, softmax};
use plimsoll_model::{ArgReduce, Cumulate, Reduce, Reduction, RowFunction, Softmax};

use super::elementwise::each;
use crate::at::{At, axis_of};
use crate::kernel::{Built, Lack};
use crate::types::{by_number, by_real};

/// `x, axes?`.
pub(super) fn reduce(at: &At<'_>, reduce: Reduce) -> Result<Built, Lack> {
    let dims = at.dims(0)?;
    let axes = at.ints(1)?.unwrap_or_default();
    let axes: Result<Vec<usize>, Lack> =
        axes.iter().map(|axis| axis_of(*axis, dims.len())).collect();
    let axes = axes?;
    let all = axes.is_empty() && !reduce.none_if_empty;
    let shape = reduce::Reduce::new(&dims, |axis| all || axes.contains(&axis));
    let (level, dtype) = (at.level, at.dtype(0)?);
    let plain = |function: reduce::Reduction| -> Result<Built, Lack> {
        by_number!(dtype, T => Ok(Built::one(1, 1, move |io| {
            reduce::reduce::<T>(level, function, &shape, io.read(0), io.write(0));
            Ok(())
        })))
    };
    let real = |function: RealReduction| -> Result<Built, Lack> {
        by_real!(dtype, T => Ok(Built::one(1, 1, move |io| {
            reduce::reduce_real::<T>(level, function, &shape, io.read(0), io.write(0));
            Ok(())
        })))
    };
    match reduce.function {
        Reduction::Max => plain(reduce::Reduction::Max),
        Reduction::Min => plain(reduce::Reduction::Min),
        Reduction::Sum => plain(reduce::Reduction::Sum),
        Reduction::Mean => plain(reduce::Reduction::Mean),
        Reduction::Product => plain(reduce::Reduction::Product),
        Reduction::L1 => plain(reduce::Reduction::L1),
        Reduction::SumSquare => plain(reduce::Reduction::SumSquare),
        Reduction::L2 => real(RealReduction::L2),
        Reduction::LogSum => real(RealReduction::LogSum),
        Reduction::LogSumExp => real(RealReduction::LogSumExp),
    }
}

pub(super) fn arg_reduce(at: &At<'_>, reduce: ArgReduce) -> Result<Built, Lack> {
    let dims = at.dims(0)?;
    let axis = axis_of(reduce.axis, dims.len())?;
    let extreme = if reduce.largest { Extreme::Max } else { Extreme::Min };
    by_number!(at.dtype(0)?, T => Ok(Built::one(1, 1, move |io| {
        order::arg_extreme::<T>(extreme, reduce.last, (io.read(0), &dims), axis, io.write(0));
        Ok(())
    })))
}

/// `x, axis`.
pub(super) fn cumulate(at: &At<'_>, cumulate: Cumulate) -> Result<Built, Lack> {
    let dims = at.dims(0)?;
    let axis = at.ints(1)?.and_then(|axis| axis.first().copied()).ok_or("no axis")?;
    let axis = axis_of(axis, dims.len())?;
    let running = Running {
        product: cumulate.product,
        exclusive: cumulate.exclusive,
        reverse: cumulate.reverse,
    };
    by_number!(at.dtype(0)?, T => Ok(Built::one(1, 1, move |io| each(
        io,
        |x: &[T], y: &mut [T]| order::cumulative_sum(running, (x, &dims), axis, y),
        |y| order::cumulative_sum_in_place(running, y, &dims, axis),
    ))))
}

pub(super) fn softmax(at: &At<'_>, rows: Softmax) -> Result<Built, Lack> {
    at.only_f32(&[0])?;
    let (level, dims): (Level, Vec<usize>) = (at.level, at.dims(0)?);
    let axis = axis_of(rows.axis, dims.len().max(1))?;
    // Axes behind that belong to the row too make one long axis.
    let (dims, axis) = if rows.to_end {
        let (before, behind) = dims.split_at(axis);
        (vec![before.iter().product(), behind.iter().product()], 1)
    } else if dims.is_empty() {
        (vec![1], 0)
    } else {
        (dims, axis)
    };
    let function = match rows.function {
        RowFunction::Softmax => softmax::Softmax::Softmax,
        RowFunction::LogSoftmax => softmax::Softmax::LogSoftmax,
        RowFunction::Hardmax => softmax::Softmax::Hardmax,
    };
    Ok(Built::one(1, 1, move |io| {
        each(
            io,
            |x: &[f32], y: &mut [f32]| softmax::softmax(level, function, (x, &dims), axis, y),
            |y| softmax::softmax_in_place(level, function, y, &dims, axis),
        )
    }))
}
