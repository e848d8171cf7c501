//! One pass over births and deaths: sections, load, independent parts, degrees.
//!
//! A *section* is a stretch of time in which the set of live pieces does not change. Sections
//! replace times in everything below: they are dense, so they index arrays, and a problem whose
//! times are sparse (or huge) costs no more than one whose times are 0, 1, 2, ….
//!
//! ```text
//!   times     0        4   6          11   12
//!   sections  |   0    | 1 |     2     | 3 |
//!   a         ██████████████
//!   b                  ████████████████
//!   c                                      ████   (section 3 is empty: parts {a, b} and {c})
//! ```
//!
//! Cost: O(n log n) time, O(n) memory. Nothing here lists pairs of buffers; [`Sweep::degree`]
//! answers how many there are in O(1) and [`Overlaps`] which ones in O(log n) each.

use std::ops::Range;

use crate::problem::{BufferId, Life, Problem, Span, Time};

/// What one pass over the births and deaths of a [`Problem`] tells.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Section `k` is `[times[k], times[k + 1])`.
    times: Vec<Time>,
    /// Bytes in use in each section.
    load: Vec<u64>,
    /// The pieces of all buffers, those of one buffer side by side.
    pieces: Vec<Strip>,
    /// Buffer `i` has the pieces `first_piece[i]..first_piece[i + 1]`.
    first_piece: Vec<u32>,
    /// The whole life of each buffer, in sections.
    lives: Vec<Sections>,
    /// How many lives start before section `k`, and how many end at or before its start.
    born_before: Vec<u32>,
    dead_before: Vec<u32>,
}

/// A half-open range of sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections {
    /// The first section.
    pub start: u32,
    /// One past the last section.
    pub end: u32,
}

impl Sections {
    /// Whether some section belongs to both.
    #[must_use]
    #[inline]
    pub fn meets(self, other: Sections) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// As indices.
    #[must_use]
    #[inline]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A [`Piece`](crate::Piece) in sections: bytes of a buffer that are in use for some sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strip {
    /// When.
    pub sections: Sections,
    /// Which bytes, counted from the buffer's start.
    pub span: Span,
}

impl Sweep {
    /// Sweeps over the problem. O(n log n).
    #[must_use]
    pub fn new(problem: &Problem) -> Self {
        let mut times = Vec::with_capacity(2 * problem.len());
        for buffer in problem.buffers() {
            times.extend([buffer.life.start, buffer.life.end]);
            times.extend(buffer.gaps.iter().flat_map(|g| [g.life.start, g.life.end]));
        }
        times.sort_unstable();
        times.dedup();
        let count = times.len().saturating_sub(1);
        let sections = |life: Life| Sections {
            start: times.partition_point(|t| *t < life.start) as u32,
            end: times.partition_point(|t| *t < life.end) as u32,
        };

        let mut pieces = Vec::with_capacity(problem.len());
        let mut first_piece = Vec::with_capacity(problem.len() + 1);
        let mut lives = Vec::with_capacity(problem.len());
        let mut born_before = vec![0; count + 1];
        let mut dead_before = vec![0; count + 1];
        for buffer in problem.buffers() {
            first_piece.push(pieces.len() as u32);
            let life = sections(buffer.life);
            if buffer.gaps.is_empty() {
                pieces.push(Strip { sections: life, span: Span::new(0, buffer.size) });
            } else {
                let strip = |p: crate::Piece| Strip { sections: sections(p.life), span: p.span };
                pieces.extend(buffer.pieces().map(strip));
            }
            lives.push(life);
            // Born in section s: counted from s + 1 on; dead at section e: counted from e on.
            born_before[life.start as usize + 1] += 1;
            dead_before[life.end as usize] += 1;
        }
        first_piece.push(pieces.len() as u32);
        prefix_sum(&mut born_before);
        prefix_sum(&mut dead_before);
        let load = loads(count, &pieces);
        Sweep { times, load, pieces, first_piece, lives, born_before, dead_before }
    }

    /// The sections of a stretch of time, which begins and ends where some piece does.
    pub(crate) fn sections(&self, life: Life) -> Sections {
        Sections {
            start: self.times.partition_point(|t| *t < life.start) as u32,
            end: self.times.partition_point(|t| *t < life.end) as u32,
        }
    }

    /// How many sections there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.load.len()
    }

    /// Whether there is no section, which means no buffer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.load.is_empty()
    }

    /// The time of a section.
    #[must_use]
    pub fn life_of(&self, section: usize) -> Life {
        Life::new(self.times[section], self.times[section + 1])
    }

    /// The bytes in use in each section.
    #[must_use]
    #[inline]
    pub fn load(&self) -> &[u64] {
        &self.load
    }

    /// LOAD, the most bytes in use at once, and the first section where that is reached.
    #[must_use]
    pub fn peak(&self) -> (u64, Option<usize>) {
        let peak = self.load.iter().copied().max().unwrap_or(0);
        (peak, self.load.iter().position(|l| *l == peak))
    }

    /// The life of a buffer, in sections.
    #[must_use]
    #[inline]
    pub fn life(&self, id: BufferId) -> Sections {
        self.lives[id.index()]
    }

    /// The pieces of a buffer, in sections.
    #[must_use]
    #[inline]
    pub fn pieces(&self, id: BufferId) -> &[Strip] {
        let i = id.index();
        &self.pieces[self.first_piece[i] as usize..self.first_piece[i + 1] as usize]
    }

    /// How many other buffers have a life that meets the life of this one. O(1).
    #[must_use]
    #[inline]
    pub fn degree(&self, id: BufferId) -> u32 {
        let life = self.life(id);
        // Those that end after we start are never among those that start before we end.
        self.born_before[life.end as usize] - self.dead_before[life.start as usize] - 1
    }

    /// The most buffers whose lives share a section. O(sections).
    #[must_use]
    pub fn most_alive(&self) -> u32 {
        let alive = |section: usize| self.born_before[section + 1] - self.dead_before[section];
        (0..self.len()).map(alive).max().unwrap_or(0)
    }

    /// The independent parts: maximal ranges of sections such that no life crosses from one to
    /// another. Each can be packed alone; stretches in which nothing lives belong to none.
    #[must_use]
    pub fn parts(&self) -> Vec<Sections> {
        let mut parts = Vec::new();
        let mut start = 0;
        for section in 1..=self.len() {
            // Everybody who was born before this moment is dead by it.
            if self.born_before[section] == self.dead_before[section] {
                let lived = self.born_before[section] > self.born_before[start];
                if lived {
                    parts.push(Sections { start: start as u32, end: section as u32 });
                }
                start = section;
            }
        }
        parts
    }
}

fn prefix_sum(counts: &mut [u32]) {
    let mut sum = 0;
    for count in counts {
        sum += *count;
        *count = sum;
    }
}

/// Bytes in use in each of `count` sections.
fn loads(count: usize, pieces: &[Strip]) -> Vec<u64> {
    let mut born = vec![0u64; count + 1];
    let mut dead = vec![0u64; count + 1];
    for piece in pieces {
        born[piece.sections.start as usize] += piece.span.len();
        dead[piece.sections.end as usize] += piece.span.len();
    }
    let mut now = 0;
    let step = |(b, d): (&u64, &u64)| {
        now = now + b - d;
        now
    };
    born.iter().zip(&dead).take(count).map(step).collect()
}

/// The maximum of the load over any range of sections, in O(log n) a query.
#[derive(Clone, Debug)]
pub(crate) struct LoadPeaks {
    /// A complete binary tree of maxima; the leaves are the second half.
    tree: Vec<u64>,
}

impl LoadPeaks {
    pub(crate) fn new(sweep: &Sweep) -> Self {
        let n = sweep.len();
        let mut tree = vec![0; 2 * n];
        tree[n..].copy_from_slice(sweep.load());
        for i in (1..n).rev() {
            tree[i] = tree[2 * i].max(tree[2 * i + 1]);
        }
        LoadPeaks { tree }
    }

    pub(crate) fn over(&self, sections: Sections) -> u64 {
        let n = self.tree.len() / 2;
        let (mut lo, mut hi) = (sections.start as usize + n, sections.end as usize + n);
        let mut peak = 0;
        while lo < hi {
            if lo % 2 == 1 {
                peak = peak.max(self.tree[lo]);
                lo += 1;
            }
            if hi % 2 == 1 {
                hi -= 1;
                peak = peak.max(self.tree[hi]);
            }
            lo /= 2;
            hi /= 2;
        }
        peak
    }
}

/// Answers which buffers' lives meet a stretch of sections, without a list of pairs.
///
/// Buffers sorted by birth, with the latest death of every subtree of the sorted array (an
/// implicit interval tree): O(n) memory, O(log n + answers) a query.
#[derive(Clone, Debug)]
pub struct Overlaps {
    by_birth: Vec<(Sections, BufferId)>,
    /// The latest end within each range that the binary search of `visit` walks through, by its
    /// middle.
    latest: Vec<u32>,
}

impl Overlaps {
    /// Builds the index over all buffers of the sweep. O(n log n).
    #[must_use]
    pub fn new(sweep: &Sweep) -> Self {
        let ids = (0..sweep.lives.len() as u32).map(BufferId);
        let mut by_birth: Vec<_> = ids.map(|id| (sweep.life(id), id)).collect();
        by_birth.sort_unstable_by_key(|(life, id)| (life.start, *id));
        let mut latest = vec![0; by_birth.len()];
        fill_latest(&by_birth, &mut latest);
        Overlaps { by_birth, latest }
    }

    /// The buffers whose life meets these sections, in order of birth, then id.
    #[must_use]
    pub fn with(&self, sections: Sections) -> Vec<BufferId> {
        let mut found = Vec::new();
        self.visit(0..self.by_birth.len(), sections, &mut found);
        found
    }

    fn visit(&self, range: Range<usize>, sections: Sections, found: &mut Vec<BufferId>) {
        if range.is_empty() {
            return;
        }
        let middle = range.start + range.len() / 2;
        if self.latest[middle] <= sections.start {
            return;
        }
        self.visit(range.start..middle, sections, found);
        let (life, id) = self.by_birth[middle];
        if life.start < sections.end {
            if life.meets(sections) {
                found.push(id);
            }
            self.visit(middle + 1..range.end, sections, found);
        }
    }
}

fn fill_latest(by_birth: &[(Sections, BufferId)], latest: &mut [u32]) -> u32 {
    if by_birth.is_empty() {
        return 0;
    }
    let middle = by_birth.len() / 2;
    let left = fill_latest(&by_birth[..middle], &mut latest[..middle]);
    let right = fill_latest(&by_birth[middle + 1..], &mut latest[middle + 1..]);
    latest[middle] = by_birth[middle].0.end.max(left).max(right);
    latest[middle]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Buffer, Gap};
    use crate::testing::{Rng, Shape, random_problem};

    /// The picture of the module doc, with sparse times.
    fn example() -> Problem {
        let buffer = |size, start, end| Buffer::new(size, Life::new(start, end));
        Problem::new(vec![buffer(5, 0, 60), buffer(7, 40, 1100), buffer(9, 1200, 1300)])
            .expect("valid")
    }

    #[test]
    fn sections_loads_and_parts_of_a_small_problem() {
        let sweep = Sweep::new(&example());
        assert_eq!(sweep.load(), [5, 12, 7, 0, 9]);
        assert_eq!(sweep.peak(), (12, Some(1)));
        assert_eq!(sweep.life_of(1), Life::new(40, 60));
        assert_eq!(sweep.parts(), [Sections { start: 0, end: 3 }, Sections { start: 4, end: 5 }]);
        let degrees: Vec<_> = example().ids().map(|id| sweep.degree(id)).collect();
        assert_eq!(degrees, [1, 1, 0]);
    }

    #[test]
    fn a_gap_takes_its_bytes_off_the_load_but_keeps_the_parts_together() {
        let gap = |start, end, window| Gap { life: Life::new(start, end), window };
        let gaps = vec![gap(2, 4, None), gap(6, 7, Some(Span::new(1, 4)))];
        let buffer = Buffer { gaps, ..Buffer::new(10, Life::new(0, 9)) };
        let sweep = Sweep::new(&Problem::new(vec![buffer]).expect("valid"));
        assert_eq!(sweep.load(), [10, 0, 10, 3, 10]);
        assert_eq!(sweep.parts(), [Sections { start: 0, end: 5 }]);
    }

    #[test]
    fn no_buffers_no_sections() {
        let sweep = Sweep::new(&Problem::new(Vec::new()).expect("valid"));
        assert!(sweep.is_empty());
        assert_eq!(sweep.peak(), (0, None));
        assert_eq!(sweep.parts(), []);
    }

    #[test]
    fn degrees_overlaps_and_peaks_equal_the_plain_definition() {
        let mut rng = Rng::new(11);
        for _ in 0..300 {
            let problem = random_problem(&mut rng, &Shape { buffers: 1..30, ..Shape::plain() });
            let sweep = Sweep::new(&problem);
            let (overlaps, peaks) = (Overlaps::new(&sweep), LoadPeaks::new(&sweep));
            for id in problem.ids() {
                let life = problem.buffer(id).life;
                let mut meets: Vec<_> =
                    problem.ids().filter(|o| life.meets(problem.buffer(*o).life)).collect();
                assert_eq!(sweep.degree(id) as usize, meets.len() - 1);
                meets.sort_by_key(|o| (problem.buffer(*o).life.start, *o));
                assert_eq!(overlaps.with(sweep.life(id)), meets);
                let peak = sweep.life(id).range().map(|s| sweep.load()[s]).max();
                assert_eq!(Some(peaks.over(sweep.life(id))), peak);
            }
        }
    }
}
