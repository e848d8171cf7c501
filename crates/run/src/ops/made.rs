//! What comes from little: one value, numbers in a row, diagonals, and what is known of shapes.

use plimsoll_kernels::fill;

use crate::at::At;
use crate::kernel::{Built, Lack};
use crate::types::{by_number, by_width};

/// Filled with one element, given by its bits.
pub(super) fn fill(at: &At<'_>, bits: u128) -> Result<Built, Lack> {
    by_width!(at.result_dtype(0)?, T => Ok(Built::one(0, 1, move |io| {
        io.write::<T>(0).fill(bits as T);
        Ok(())
    })))
}

/// `start, limit, delta`.
pub(super) fn range(at: &At<'_>) -> Result<Built, Lack> {
    let _ = at.result_dims(0)?;
    by_number!(at.dtype(0)?, T => Ok(Built::one(3, 1, move |io| {
        fill::range::<T>(io.read(0)[0], io.read(2)[0], io.write(0));
        Ok(())
    })))
}

pub(super) fn eye(at: &At<'_>, k: i64) -> Result<Built, Lack> {
    let columns = at.result_dims(0)?.last().copied().unwrap_or(0);
    by_number!(at.result_dtype(0)?, T => Ok(Built::one(0, 1, move |io| {
        fill::eye::<T>(columns, k, io.write(0));
        Ok(())
    })))
}

/// Of shapes that are known everything is: integers of 64 bits.
pub(super) fn known(at: &At<'_>) -> Result<Built, Lack> {
    let dims = at.dims(0)?;
    let (count, wanted) = (dims.iter().product::<usize>() as i64, at.result_dims(0)?);
    let numbers: Vec<i64> = match &at.node.operator {
        plimsoll_model::Operator::Shape { start, .. } => {
            let rank = dims.len() as i64;
            let start = if *start < 0 { start.saturating_add(rank) } else { *start };
            let kept = dims.iter().skip(start.clamp(0, rank) as usize).map(|dim| *dim as i64);
            kept.take(wanted.iter().product()).collect()
        }
        _ => vec![count],
    };
    Ok(Built::one(0, 1, move |io| {
        io.write(0).copy_from_slice(&numbers);
        Ok(())
    }))
}
