//! Pairs of buffers that must be kept apart although their lives do not meet.
//!
//! Where the order of a program is not fixed, lives along one possible order do not tell all: two
//! buffers may be alive together in another. Such pairs are listed here, beside the lives: a
//! symmetric matrix of bits, n²/8 bytes, of which a row is walked in n/64 steps.

use super::BufferId;
use crate::dense::BitMatrix;

/// A symmetric relation over the buffers of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts {
    buffers: usize,
    pairs: BitMatrix,
}

impl Conflicts {
    /// No pairs, over so many buffers.
    #[must_use]
    pub fn new(buffers: usize) -> Self {
        Conflicts { buffers, pairs: BitMatrix::new(buffers, buffers) }
    }

    /// Keeps the buffers of these two numbers apart.
    ///
    /// # Panics
    /// If there are no such buffers, or they are the same.
    pub fn add(&mut self, a: usize, b: usize) {
        assert!(a != b && a < self.buffers && b < self.buffers, "two buffers of the problem");
        self.pairs.insert(a, b);
        self.pairs.insert(b, a);
    }

    /// How many buffers it is over.
    #[must_use]
    pub fn buffers(&self) -> usize {
        self.buffers
    }

    /// Whether the two are to be kept apart.
    #[must_use]
    pub fn contains(&self, a: BufferId, b: BufferId) -> bool {
        self.pairs.contains(a.index(), b.index())
    }

    /// All that are to be kept apart from this one, in order.
    pub fn of(&self, id: BufferId) -> impl Iterator<Item = BufferId> + '_ {
        self.pairs.columns(id.index()).map(|column| BufferId(column as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_symmetric_and_listed_in_order() {
        let mut conflicts = Conflicts::new(200);
        for other in [130, 3, 64, 199] {
            conflicts.add(70, other);
        }
        let of = |id| conflicts.of(BufferId(id)).map(|b| b.0).collect::<Vec<_>>();
        assert_eq!(of(70), [3, 64, 130, 199]);
        assert_eq!(of(64), [70]);
        assert_eq!(of(1), []);
        assert!(conflicts.contains(BufferId(199), BufferId(70)));
        assert!(!conflicts.contains(BufferId(199), BufferId(64)));
    }
}
