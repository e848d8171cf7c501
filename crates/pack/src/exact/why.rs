//! Which decisions a fact rests on, so that a dead end jumps back to one that matters.

/// A set of decisions, by their depth in the tree modulo its size: a superset, never less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Why([u64; 4]);

/// From this depth on a bit stands for several decisions.
const DEPTHS: usize = 4 * 64;

impl Why {
    /// Only that one.
    pub(super) fn only(depth: usize) -> Why {
        let mut why = Why::default();
        why.0[depth / 64 % 4] = 1 << (depth % 64);
        why
    }

    pub(super) fn has(&self, depth: usize) -> bool {
        self.0[depth / 64 % 4] >> (depth % 64) & 1 == 1
    }

    pub(super) fn add(&mut self, other: &Why) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }

    /// Without the deepest that there is, unless its bit may stand for another one too.
    pub(super) fn remove(&mut self, depth: usize) {
        if depth < DEPTHS {
            self.0[depth / 64] &= !(1 << (depth % 64));
        }
    }
}
