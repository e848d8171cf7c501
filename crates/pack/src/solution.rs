//! The answer to a problem: an offset for every buffer.

use crate::problem::{BufferId, Problem};

/// An offset for every buffer of a [`Problem`]. Whether it is valid is for [`crate::check()`] to
/// say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    offsets: Vec<u64>,
}

impl Solution {
    /// Takes the offsets, by [`BufferId`].
    #[must_use]
    pub fn new(offsets: Vec<u64>) -> Self {
        Solution { offsets }
    }

    /// The offsets, by [`BufferId`].
    #[must_use]
    pub fn offsets(&self) -> &[u64] {
        &self.offsets
    }

    /// The offset of one buffer.
    ///
    /// # Panics
    /// If the id is not one of the problem that this solves.
    #[must_use]
    pub fn offset(&self, id: BufferId) -> u64 {
        self.offsets[id.index()]
    }

    /// The size of the arena: the highest end of any buffer.
    #[must_use]
    pub fn arena_bytes(&self, problem: &Problem) -> u64 {
        let ends = problem.buffers().iter().zip(&self.offsets).map(|(b, o)| o + b.size);
        ends.max().unwrap_or(0)
    }
}
