//! The state where there are holes: windows, gaps, fixed offsets.
//!
//! ```text
//!        │ ▓▓▓▓▓▓▓▓▓▓▓▓     At each moment the spans that are taken are kept in order. `low(v)` is the
//!        │ ▓▓▓▓▒▒▒▒▓▓▓▓     lowest place above what is known at which `v` meets none of them, at none of
//!        │     ▒ v ▒        its moments, with the part of it that is in use then: `v` may be below
//!        │ ▓▓▓▓▓▓▓▓▓▓▓▓     something that was placed before it.
//!        └─────────────▶
//! ```
//!
//! What holds of rectangles holds of parts of buffers too, moment by moment. What is different:
//!
//! - **Room.** The lowest of those left at a moment can be as high as the holes above it still hold all of them;
//!   a hole that is smaller than the smallest of them holds none.
//! - **Passed over.** A buffer that does not go to its lowest place goes to one where another holds it up: a span that is
//!   taken, or one that is still to come. The latter may be anywhere, so the next place is only a bound.
//! - **Held.** A packing of the least sum of offsets has everything held up by something; what is held by nothing that
//!   is placed, and could be by nothing that is not, need not be tried.
//!
//! Cost of a query: a search in the list of each moment of a life.

use super::instance::Cell;
use super::tree::{Dead, Tree, Why};

impl Tree<'_> {
    /// Takes a span at a moment.
    pub(super) fn take(&mut self, m: usize, lo: u64, hi: u64) {
        if lo < hi {
            let taken = &mut self.taken[m];
            let at = taken.partition_point(|span| span.0 < lo);
            taken.insert(at, (lo, hi));
        }
    }

    /// Takes it back.
    pub(super) fn give_back(&mut self, m: usize, lo: u64) {
        let taken = &mut self.taken[m];
        let at = taken.partition_point(|span| span.0 < lo);
        if taken.get(at).is_some_and(|span| span.0 == lo) {
            taken.remove(at);
        }
    }

    /// The first span that is taken at the moment of a cell and ends above its start, with `v` at that offset.
    fn first_over(&self, cell: &Cell, offset: u64) -> Option<(u64, u64)> {
        let taken = &self.taken[cell.moment as usize];
        taken.get(taken.partition_point(|span| span.1 <= offset + cell.lo)).copied()
    }

    /// Puts everything where it meets nothing that is there from the beginning.
    pub(super) fn avoid_obstacles(&mut self) -> Result<(), Dead> {
        if self.instance.obstacles.is_empty() {
            return Ok(());
        }
        for v in 0..self.instance.len() {
            let to = self.free_from(v, self.low[v], &mut Why::default());
            self.raise(v, to, &Why::default())?;
        }
        Ok(())
    }

    /// The lowest offset from `to` on at which `v` meets nothing that is taken.
    pub(super) fn free_from(&mut self, v: usize, mut to: u64, why: &mut Why) -> u64 {
        let instance = self.instance;
        let mut is_free = false;
        while !is_free {
            is_free = true;
            for cell in instance.cells(v) {
                let Some((lo, hi)) = self.first_over(cell, to) else { continue };
                if lo < to + cell.hi && cell.lo < cell.hi {
                    to = (hi - cell.lo).next_multiple_of(instance.align[v]);
                    why.add(&self.below[cell.moment as usize]);
                    is_free = false;
                }
            }
            self.work += instance.cells(v).len() as u64;
        }
        to
    }

    /// Raises what is left at a moment over what was just taken there, where it would be in the way.
    pub(super) fn raise_over(
        &mut self,
        m: usize,
        lo: u64,
        hi: u64,
        depth: usize,
    ) -> Result<(), Dead> {
        let why = Why::only(depth);
        for slot in self.left_at(m) {
            let w = self.members[slot];
            let v = w.v as usize;
            let meets = |offset: u64| offset + w.lo < hi && lo < offset + w.hi;
            // It waits for something that is in its way where it was passed over.
            if self.wait[v] != 0 && meets(self.wait[v] - self.instance.size[v]) {
                self.stop_waiting(v);
            }
            if meets(self.low[v]) {
                self.raise(v, hi - w.lo, &why)?;
            }
        }
        self.work += self.left_at(m).len() as u64;
        Ok(())
    }

    /// The highest that the lowest of those left at a moment can be: all of them go into the holes from
    /// there on.
    pub(super) fn highest_between(&self, m: usize) -> Option<u64> {
        let sizes = self.members(m).iter().map(|w| w.hi - w.lo);
        let smallest = sizes.min().unwrap_or(0);
        let (mut left, mut top) = (self.rest[m], self.capacity);
        for (lo, hi) in self.taken[m].iter().rev() {
            let room = top.saturating_sub(*hi);
            if room >= left {
                return Some(top - left);
            }
            if room >= smallest {
                left -= room;
            }
            top = top.min(*lo);
        }
        top.checked_sub(left)
    }

    /// Whether something that is placed keeps `v` from falling from its lowest offset.
    pub(super) fn is_held(&mut self, v: usize) -> bool {
        let instance = self.instance;
        let Some(lower) = self.low[v].checked_sub(instance.align[v]) else { return true };
        self.work += instance.cells(v).len() as u64;
        instance.cells(v).iter().any(|cell| {
            let over = self.first_over(cell, lower);
            over.is_some_and(|(lo, _)| lo < lower + cell.hi) && cell.lo < cell.hi
        })
    }

    /// Whether something that is not placed could end where `v` begins, at its lowest offset.
    pub(super) fn may_be_held(&self, v: usize) -> bool {
        self.instance.cells(v).iter().any(|cell| {
            let end = self.sum[cell.moment as usize].end_without(v);
            end <= self.low[v] + cell.lo
        })
    }

    /// The lowest place above its lowest one at which something could hold `v` up at the moment of a cell, if what
    /// is not placed ends at `end` there at the least.
    pub(super) fn next_place_at(&self, v: usize, cell: &Cell, end: u64) -> u64 {
        let low = self.low[v];
        let placed = self.first_over(cell, low).map_or(u64::MAX, |(_, hi)| hi - cell.lo);
        let other = if end == u64::MAX { end } else { end.saturating_sub(cell.lo).max(low + 1) };
        placed.min(other)
    }

    /// Whether something that is not placed could still be in the way of `v` where it was passed over.
    pub(super) fn may_be_blocked(&self, v: usize) -> bool {
        let offset = self.wait[v] - self.instance.size[v];
        let base = |cell: &Cell| self.sum[cell.moment as usize].base;
        self.instance.cells(v).iter().any(|cell| base(cell) < offset + cell.hi)
    }

    /// What is taken above the lowest that anything left could go to, at the moments of a part:
    /// with how low each buffer can go, all that the rest depends on. Nothing where there are no holes.
    pub(super) fn holes(
        &self,
        lo: usize,
        hi: usize,
    ) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        let moments = if self.instance.is_plain { lo..lo } else { lo..hi };
        moments.filter(|m| self.is_open(*m)).flat_map(move |m| {
            let base = self.sum[m].base;
            let spans = self.taken[m].iter().filter(move |span| span.1 > base);
            spans.map(move |span| (m, span.0.max(base), span.1))
        })
    }
}
