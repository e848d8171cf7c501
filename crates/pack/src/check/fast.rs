//! The checker for a million buffers: a sweep over time with the live pieces ordered by address.
//!
//! When a piece is born, the live pieces that it overlaps are of two kinds: those whose first
//! byte lies inside it, a range of an ordered set, and those that its own first byte lies inside.
//! The second is a stabbing query, answered by a segment tree over all first bytes in which every
//! live piece is listed at the nodes that its span covers. Neither looks at anything else than
//! what it reports, so a packing full of violations costs what it takes to list them.

use std::collections::BTreeSet;

use super::{Claim, Violation, check_conflicts, check_each};
use crate::problem::{BufferId, Life, Problem, Span};

/// All violations, sorted; none if the packing is valid. O((n + violations) log n).
#[must_use]
pub fn check(problem: &Problem, claim: &Claim) -> Vec<Violation> {
    check_at_most(problem, claim, usize::MAX)
}

/// As [`check`], but gives up looking for further overlaps once there are more than `most`
/// violations: n buffers can overlap in n² ways, and nobody wants to read them.
#[must_use]
pub fn check_at_most(problem: &Problem, claim: &Claim, most: usize) -> Vec<Violation> {
    let mut violations = check_each(problem, claim);
    violations.extend(check_conflicts(problem, claim));
    let pieces = placed(problem, claim);
    let mut firsts: Vec<u64> = pieces.iter().map(|p| p.span.lo).collect();
    firsts.sort_unstable();
    firsts.dedup();

    // Deaths before births at the same time: lives are half-open.
    let births = pieces.iter().enumerate().map(|(i, p)| (p.life.start, true, i as u32));
    let deaths = pieces.iter().enumerate().map(|(i, p)| (p.life.end, false, i as u32));
    let mut events: Vec<_> = births.chain(deaths).collect();
    events.sort_unstable();

    let mut by_first: BTreeSet<(u64, u32)> = BTreeSet::new();
    let mut stabbed = StabTree::new(firsts.len());
    for (_, born, i) in events {
        let piece = &pieces[i as usize];
        let first = rank(&firsts, piece.span.lo);
        let covers = first..rank(&firsts, piece.span.hi);
        if !born {
            by_first.remove(&(piece.span.lo, i));
            stabbed.remove(covers, i);
            continue;
        }
        let starts_inside = by_first.range((piece.span.lo + 1, 0)..(piece.span.hi, 0));
        let mut met: Vec<u32> = starts_inside.map(|(_, other)| *other).collect();
        stabbed.at(first, &mut met);
        violations
            .extend(met.into_iter().filter_map(|other| piece.overlap(&pieces[other as usize])));
        if violations.len() > most {
            break;
        }
        by_first.insert((piece.span.lo, i));
        stabbed.insert(covers, i);
    }
    violations.sort_unstable();
    violations
}

/// A rectangle (time × bytes of the arena) that is in use.
struct Placed {
    buffer: BufferId,
    life: Life,
    span: Span,
}

impl Placed {
    fn overlap(&self, other: &Placed) -> Option<Violation> {
        let (bytes, life) = (self.span.and(other.span), self.life.and(other.life));
        let (a, b) = (self.buffer.min(other.buffer), self.buffer.max(other.buffer));
        (a != b).then_some(Violation::Overlap { a, b, bytes, life })
    }
}

fn placed(problem: &Problem, claim: &Claim) -> Vec<Placed> {
    let mut placed = Vec::with_capacity(problem.len());
    for buffer in problem.ids() {
        if let Some(offset) = claim.offset(buffer) {
            let pieces = problem.buffer(buffer).pieces();
            let shift =
                |p: crate::Piece| Placed { buffer, life: p.life, span: p.span.shifted(offset) };
            // At the very end of the address space nothing may be left of a span.
            placed.extend(pieces.map(shift).filter(|p| !p.span.is_empty()));
        }
    }
    placed
}

fn rank(firsts: &[u64], byte: u64) -> usize {
    firsts.partition_point(|f| *f < byte)
}

/// A segment tree over positions `0..n`: ranges come and go, and `at` lists those over a position.
struct StabTree {
    /// Complete binary tree, leaves in the second half; the ranges that cover a node and not its
    /// parent.
    nodes: Vec<Vec<u32>>,
    leaves: usize,
}

impl StabTree {
    fn new(n: usize) -> Self {
        StabTree { nodes: vec![Vec::new(); 2 * n], leaves: n }
    }

    fn insert(&mut self, range: std::ops::Range<usize>, id: u32) {
        self.each(range, |node| node.push(id));
    }

    fn remove(&mut self, range: std::ops::Range<usize>, id: u32) {
        self.each(range, |node| {
            let at = node.iter().position(|other| *other == id).expect("inserted before");
            node.swap_remove(at);
        });
    }

    fn at(&self, position: usize, found: &mut Vec<u32>) {
        let mut node = position + self.leaves;
        while node > 0 {
            found.extend(&self.nodes[node]);
            node /= 2;
        }
    }

    fn each(&mut self, range: std::ops::Range<usize>, mut visit: impl FnMut(&mut Vec<u32>)) {
        let (mut lo, mut hi) = (range.start + self.leaves, range.end + self.leaves);
        while lo < hi {
            if lo % 2 == 1 {
                visit(&mut self.nodes[lo]);
                lo += 1;
            }
            if hi % 2 == 1 {
                hi -= 1;
                visit(&mut self.nodes[hi]);
            }
            lo /= 2;
            hi /= 2;
        }
    }
}
