//! What some rows of an output need of each operand: what can be done in parts.
//!
//! Where two readings of the shapes are possible (a left operand that could be meant transposed, a third
//! operand that could be anything), nothing is claimed.

use super::{Operands, Partition, traits};
use crate::op::Op;

/// The outermost axis that has more than one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OuterAxis {
    pub(crate) axis: usize,
    pub(crate) count: u64,
}

impl OuterAxis {
    /// The rows of a tensor with these dims.
    pub(crate) fn of(dims: &[u64]) -> Option<OuterAxis> {
        let axis = dims.iter().position(|dim| *dim != 1)?;
        Some(OuterAxis { axis, count: dims[axis] })
    }
}

/// For each operand, whether some rows of the first output need the same rows of it, or all of it;
/// nothing if rows depend on each other.
pub(crate) fn needs_rows(
    op: &Op,
    inputs: &Operands<'_>,
    outputs: &Operands<'_>,
) -> Option<Vec<bool>> {
    let dims = |index: usize| inputs.get(index).copied()??.shape.known();
    let made = outputs.first().copied()??.shape.known()?;
    let (rows, rank) = (OuterAxis::of(&made)?, made.len());
    let only_first = || (0..inputs.len()).map(|index| index == 0).collect();
    match traits(op).partition {
        Partition::None => None,
        Partition::Elementwise => {
            let broadcast = |index: usize| broadcast_rows(&dims(index)?, rank, rows);
            (0..inputs.len()).map(broadcast).collect()
        }
        // What else is there (a shape, say) is not looked at by rows.
        Partition::Reshape => (OuterAxis::of(&dims(0)?)?.count == rows.count).then(only_first),
        Partition::Product => {
            let mut by_rows = product_rows(&dims(0)?, &dims(1)?, rank, rows)?;
            match inputs.len() {
                2 => {}
                3 => by_rows.push(summand_rows(&dims(2)?, rank, rows, *made.last()?)?),
                _ => return None,
            }
            Some(by_rows)
        }
        Partition::Convolution => {
            let mut by_rows = channel_rows(&dims(0)?, &dims(1)?, rank, rows)?;
            match inputs.len() {
                2 => {}
                3 => by_rows.push(vector_rows(&dims(2)?, rows)?),
                _ => return None,
            }
            Some(by_rows)
        }
        Partition::Channels => {
            let from = dims(0)?;
            let by_channel = rows.axis == 1
                && from.len() == rank
                && from[..2] == made[..2]
                && from[2..] != made[2..];
            by_channel.then(only_first)
        }
    }
}

/// The same for an image and the weights of a convolution: channels of the output are rows of the
/// weights, and read all channels of the image, or one each where the weights have one.
fn channel_rows(image: &[u64], weights: &[u64], rank: usize, rows: OuterAxis) -> Option<Vec<bool>> {
    let fits = rows.axis == 1
        && rank >= 3
        && (image.len(), weights.len()) == (rank, rank)
        && weights[0] == rows.count;
    match weights.get(1)? {
        count if fits && *count == image[1] => Some(vec![false, true]),
        1 if fits && image[1] == rows.count => Some(vec![true, true]),
        _ => None,
    }
}

/// Whether there is an element for each row, or one for all.
fn vector_rows(dims: &[u64], rows: OuterAxis) -> Option<bool> {
    match dims {
        [count] if *count == rows.count => Some(true),
        dims if dims.iter().all(|dim| *dim == 1) => Some(false),
        _ => None,
    }
}

/// Whether an operand that is broadcast to the output has its rows, or is the same for all.
fn broadcast_rows(dims: &[u64], rank: usize, rows: OuterAxis) -> Option<bool> {
    let Some(axis) = (rows.axis + dims.len()).checked_sub(rank) else { return Some(false) };
    match dims.get(axis)? {
        1 => Some(false),
        count if *count == rows.count => Some(true),
        _ => None,
    }
}

/// The same for the operands of a product: the rows of the left one and all of the right one, or the
/// same matrices of both. Where the left one could just as well be meant transposed, nothing is
/// claimed.
fn product_rows(left: &[u64], right: &[u64], rank: usize, rows: OuterAxis) -> Option<Vec<bool>> {
    let inner = *left.last()?;
    let has_rows = |dims: &[u64]| {
        dims.len() == rank
            && dims[..rows.axis].iter().all(|dim| *dim == 1)
            && dims[rows.axis] == rows.count
    };
    if rows.axis + 2 < rank && has_rows(left) && has_rows(right) {
        return Some(vec![true, true]);
    }
    let is_matrix = right.len() >= 2 && right[..right.len() - 2].iter().all(|dim| *dim == 1);
    let of_right = &right[right.len().saturating_sub(2)..];
    let has_inner = is_matrix && of_right.contains(&inner) && !of_right.contains(&rows.count);
    let by_rows = rows.axis + 1 < rank && has_rows(left) && inner != rows.count;
    (has_inner && by_rows).then(|| vec![true, false])
}

/// Whether what is added to a product has its rows, or is one for each column. A third operand that
/// is neither for certain may be anything.
fn summand_rows(dims: &[u64], rank: usize, rows: OuterAxis, columns: u64) -> Option<bool> {
    let is_whole = dims.len() == rank && dims[rows.axis] == rows.count;
    let (last, others) = dims.split_last()?;
    let by_columns = *last == columns && others.iter().all(|dim| *dim == 1);
    match (is_whole, by_columns && columns != rows.count) {
        (true, _) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    }
}
