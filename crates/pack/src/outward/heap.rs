//! Which bytes are free at one moment, as an allocator knows it: buffers and holes in the order of their places.
//!
//! Everybody knows who is next below and above, and holes are sorted by length. Taking a hole and giving a buffer back
//! is O(log n); nothing is ever looked for by its place.

use std::collections::BTreeSet;

/// Nobody is there.
const NONE: u32 = u32::MAX;

/// A buffer or a hole, and who is next to it.
#[derive(Clone, Copy)]
struct Node {
    start: u64,
    end: u64,
    below: u32,
    above: u32,
    is_hole: bool,
}

/// A hole: where it begins and ends, and the buffers below and above.
#[derive(Clone, Copy)]
pub(super) struct Hole {
    at: u32,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) below: Option<usize>,
    pub(super) above: Option<usize>,
}

/// Buffers and holes, one above the other.
pub(super) struct Heap {
    /// Buffers by their number, then holes.
    nodes: Vec<Node>,
    buffers: usize,
    /// Holes that are no more.
    unused: Vec<u32>,
    lowest: u32,
    highest: u32,
    /// Length, start and node of every hole.
    holes: BTreeSet<(u64, u64, u32)>,
}

impl Heap {
    /// Nothing, for so many buffers.
    pub(super) fn new(buffers: usize) -> Self {
        let nowhere = Node { start: 0, end: 0, below: NONE, above: NONE, is_hole: false };
        Heap {
            nodes: vec![nowhere; buffers],
            buffers,
            unused: Vec::new(),
            lowest: NONE,
            highest: NONE,
            holes: BTreeSet::new(),
        }
    }

    /// Only these buffers are there, each with its place and size, lowest first, and holes up to the end.
    pub(super) fn fill(&mut self, end: u64, there: impl Iterator<Item = (usize, u64, u64)>) {
        self.nodes.truncate(self.buffers);
        self.unused.clear();
        self.holes.clear();
        (self.lowest, self.highest) = (NONE, NONE);
        let mut top = 0;
        for (buffer, start, size) in there {
            self.hole_on_top(top, start);
            top = start + size;
            let (below, above) = (self.highest, NONE);
            self.nodes[buffer] = Node { start, end: top, below, above, is_hole: false };
            self.link(below, buffer as u32);
            self.link(buffer as u32, NONE);
        }
        self.hole_on_top(top, end);
    }

    /// Moves the end up.
    pub(super) fn extend(&mut self, end: u64) {
        let top = self.top();
        match self.highest {
            NONE => self.hole_on_top(top, end),
            at if self.nodes[at as usize].is_hole => {
                self.unlist(at);
                self.nodes[at as usize].end = end;
                self.list(at);
            }
            _ => self.hole_on_top(top, end),
        }
    }

    /// Where the highest buffer ends.
    fn top(&self) -> u64 {
        match self.highest {
            NONE => 0,
            at => {
                let node = &self.nodes[at as usize];
                if node.is_hole { node.start } else { node.end }
            }
        }
    }

    /// All buffers with their first and last byte, lowest first.
    pub(super) fn buffers(&self) -> impl Iterator<Item = (usize, u64, u64)> + '_ {
        let next = |at: &u32| there(self.nodes[*at as usize].above);
        let all = std::iter::successors(there(self.lowest), next).map(|at| at as usize);
        all.filter(|at| !self.nodes[*at].is_hole)
            .map(|at| (at, self.nodes[at].start, self.nodes[at].end))
    }

    /// All holes of at least that length, the shortest first.
    pub(super) fn holes(&self, least: u64) -> impl Iterator<Item = Hole> + '_ {
        self.holes.range((least, 0, 0)..).map(|(_, _, at)| self.hole(*at))
    }

    /// Puts a buffer into a hole.
    pub(super) fn take(&mut self, hole: Hole, buffer: usize, start: u64, size: u64) {
        let Hole { at, start: from, end: to, .. } = hole;
        let Node { below, above, .. } = self.nodes[at as usize];
        let end = start + size;
        debug_assert!(from <= start && end <= to, "a buffer goes into a hole");
        self.unlist(at);
        self.unused.push(at);
        self.nodes[buffer] = Node { start, end, below, above, is_hole: false };
        let buffer = buffer as u32;
        let lower = self.hole_between(below, from, start);
        self.link(lower, buffer);
        let upper = self.hole_between(buffer, end, to);
        self.link(upper, above);
    }

    /// Takes a buffer out: its bytes and the holes next to it are one hole.
    pub(super) fn give(&mut self, buffer: usize) {
        let Node { mut start, mut end, mut below, mut above, .. } = self.nodes[buffer];
        if let Some(hole) = there(below).filter(|at| self.nodes[*at as usize].is_hole) {
            self.unlist(hole);
            self.unused.push(hole);
            (start, below) = (self.nodes[hole as usize].start, self.nodes[hole as usize].below);
        }
        if let Some(hole) = there(above).filter(|at| self.nodes[*at as usize].is_hole) {
            self.unlist(hole);
            self.unused.push(hole);
            (end, above) = (self.nodes[hole as usize].end, self.nodes[hole as usize].above);
        }
        let hole = self.hole_between(below, start, end);
        self.link(hole, above);
    }

    fn hole(&self, at: u32) -> Hole {
        let Node { start, end, below, above, .. } = self.nodes[at as usize];
        let buffer = |at| there(at).map(|at| at as usize);
        Hole { at, start, end, below: buffer(below), above: buffer(above) }
    }

    fn hole_on_top(&mut self, start: u64, end: u64) {
        let hole = self.hole_between(self.highest, start, end);
        self.link(hole, NONE);
    }

    /// A new hole above somebody, if there is room for one: who is the upper one of them now.
    fn hole_between(&mut self, below: u32, start: u64, end: u64) -> u32 {
        if start >= end {
            return below;
        }
        let node = Node { start, end, below, above: NONE, is_hole: true };
        let at = if let Some(at) = self.unused.pop() {
            self.nodes[at as usize] = node;
            at
        } else {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        };
        self.list(at);
        self.link(below, at);
        at
    }

    fn list(&mut self, at: u32) {
        let Node { start, end, .. } = self.nodes[at as usize];
        self.holes.insert((end - start, start, at));
    }

    fn unlist(&mut self, at: u32) {
        let Node { start, end, .. } = self.nodes[at as usize];
        self.holes.remove(&(end - start, start, at));
    }

    /// Makes neighbours of two; nobody below or above is the bottom or the top.
    fn link(&mut self, below: u32, above: u32) {
        match there(below) {
            None => self.lowest = above,
            Some(at) => self.nodes[at as usize].above = above,
        }
        match there(above) {
            None => self.highest = below,
            Some(at) => self.nodes[at as usize].below = below,
        }
    }
}

fn there(at: u32) -> Option<u32> {
    (at != NONE).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Rng;

    /// The holes below `end` that buffers leave, by the definition: length and start, shortest first.
    fn holes_of(there: &[(usize, u64, u64)], end: u64) -> Vec<(u64, u64)> {
        let ends = there.iter().map(|(_, start, size)| start + size);
        let starts = there.iter().map(|(_, start, _)| *start).chain([end]);
        let between = std::iter::once(0).chain(ends).zip(starts);
        let mut holes: Vec<_> =
            between.filter(|(from, to)| from < to).map(|(from, to)| (to - from, from)).collect();
        holes.sort_unstable();
        holes
    }

    #[test]
    fn holes_are_what_buffers_leave() {
        let mut rng = Rng::new(7);
        for _ in 0..200 {
            let (buffers, end) = (12, 60);
            let mut heap = Heap::new(buffers);
            heap.fill(end, std::iter::empty());
            let mut there: Vec<(usize, u64, u64)> = Vec::new();
            for _ in 0..60 {
                let buffer = rng.below(buffers as u64) as usize;
                if let Some(at) = there.iter().position(|(other, ..)| *other == buffer) {
                    heap.give(buffer);
                    there.remove(at);
                } else {
                    let size = rng.within(1..9);
                    let holes: Vec<Hole> = heap.holes(size).collect();
                    if !holes.is_empty() {
                        let hole = holes[rng.below(holes.len() as u64) as usize];
                        let start = hole.start + rng.below(hole.end - hole.start - size + 1);
                        heap.take(hole, buffer, start, size);
                        there.push((buffer, start, size));
                        there.sort_unstable_by_key(|(_, start, _)| *start);
                    }
                }
                let found: Vec<_> = heap.holes(1).map(|h| (h.end - h.start, h.start)).collect();
                assert_eq!(found, holes_of(&there, end));
                let listed: Vec<_> = heap.buffers().map(|(b, lo, hi)| (b, lo, hi - lo)).collect();
                assert_eq!(listed, there);
                assert_eq!(heap.top(), there.last().map_or(0, |(_, start, size)| start + size));
            }
            let mut again = Heap::new(buffers);
            again.fill(end, there.iter().copied());
            assert_eq!(again.holes(1).count(), heap.holes(1).count());
            again.extend(end + 5);
            let highest = again.holes(1).max_by_key(|hole| hole.end).expect("there is one");
            assert_eq!((highest.start, highest.end), (again.top(), end + 5));
        }
    }
}
