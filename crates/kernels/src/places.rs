//! Indices that are data: brought into range, or refused.

use core::fmt;

use crate::MAX_RANK;
use crate::element::Bits;

/// An index that is beyond its axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfRange {
    /// The index, as it was given.
    pub index: i64,
    /// How long the axis is.
    pub dim: usize,
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "index {} of an axis of {}", self.index, self.dim)
    }
}

impl core::error::Error for OutOfRange {}

/// The place that an index means: negative ones count from the end.
#[inline(always)]
pub(crate) fn place<I: Bits>(index: I, dim: usize) -> Result<usize, OutOfRange> {
    let index = index.to_i64();
    let counted = if index < 0 { index.wrapping_add_unsigned(dim as u64) } else { index };
    match usize::try_from(counted) {
        Ok(place) if place < dim => Ok(place),
        _ => Err(OutOfRange { index, dim }),
    }
}

/// A tensor as seen along one axis: `outer` times `dim` runs of `inner` elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Along {
    pub(crate) outer: usize,
    pub(crate) dim: usize,
    pub(crate) inner: usize,
}

impl Along {
    pub(crate) fn new(dims: &[usize], axis: usize) -> Self {
        let outer = dims[..axis].iter().product();
        Along { outer, dim: dims[axis], inner: dims[axis + 1..].iter().product() }
    }

    pub(crate) fn len(self) -> usize {
        self.outer * self.dim * self.inner
    }
}

/// Counts through the indices of dims, the last axis fastest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counter {
    rank: usize,
    dims: [usize; MAX_RANK],
    /// The index that it stands at.
    pub(crate) index: [usize; MAX_RANK],
}

impl Counter {
    pub(crate) fn new(dims: &[usize]) -> Self {
        assert!(dims.len() <= MAX_RANK, "rank {}", dims.len());
        let mut own = [1; MAX_RANK];
        own[..dims.len()].copy_from_slice(dims);
        Counter { rank: dims.len(), dims: own, index: [0; MAX_RANK] }
    }

    /// Goes on to the next index; after the last comes the first.
    #[inline(always)]
    pub(crate) fn step(&mut self) {
        for axis in (0..self.rank).rev() {
            self.index[axis] += 1;
            if self.index[axis] < self.dims[axis] {
                return;
            }
            self.index[axis] = 0;
        }
    }

    /// The place of the index in a tensor of these strides.
    #[inline(always)]
    pub(crate) fn place(&self, strides: &[isize; MAX_RANK]) -> usize {
        let mut place = 0;
        for axis in 0..self.rank {
            place += self.index[axis] * strides[axis].unsigned_abs();
        }
        place
    }
}
