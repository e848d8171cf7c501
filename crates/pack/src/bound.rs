//! Lower bounds: how small can the arena be at the very best, and why.
//!
//! - **Load.** In every section all live bytes are side by side, so the arena is at least the
//!   largest load. O(n log n), with the sweep.
//! - **Largest.** The whole of a buffer lies in the arena, whatever part of it is in use: more than
//!   the load where gaps hide it. O(n).
//! - **Alignment.** Look only at the pieces whose lowest byte must be a multiple of some `a`. In a
//!   section each of them keeps the next one out up to the next multiple of `a`, all but the
//!   topmost: at least Σ ⌈size⌉ₐ − max(⌈size⌉ₐ − size). O(n log n) for each distinct alignment, of
//!   which the [`ALIGNMENTS`] largest are tried.
//! - **Fixed.** In a section, what is not fixed must go into the holes between what is, and a
//!   hole that is smaller than the smallest of them holds none. The bound is the lowest height with enough
//!   room. O(sections × fixed pieces alive), up to [`FIXED_WORK`]; beyond that only the highest
//!   fixed end.
//! - **Apart.** Where pairs are kept apart beside those that are alive together: the heaviest buffers of which
//!   each is kept apart from every other (`clique`), with sizes rounded up to what all offsets are multiples of, but for
//!   the topmost.
//!
//! Each bound is a [`Proof`] that names the section, which is also the reason given when a problem
//! does not fit its capacity. A stronger bound is another function here and another variant there.

use std::collections::BTreeMap;
use std::fmt;

use crate::clique::heaviest_clique;
use crate::dense::DisjointSets;
use crate::problem::{Buffer, BufferId, Life, Problem, Span, gcd};
use crate::sweep::{Strip, Sweep};

/// How many distinct alignments are tried.
const ALIGNMENTS: usize = 8;
/// How many fixed pieces are looked at, all sections together.
const FIXED_WORK: usize = 50_000_000;

/// A number of bytes below which no arena can be, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The bound.
    pub bytes: u64,
    /// The reason.
    pub proof: Proof,
}

/// Why no arena can be smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Proof {
    /// There is nothing to place.
    Nothing,
    /// So many bytes are alive together at that time.
    Load {
        /// When.
        life: Life,
    },
    /// One buffer of so many bytes lives at that time, with gaps in its life.
    Largest {
        /// When.
        life: Life,
    },
    /// Buffers whose offsets are multiples of `align` are alive together at that time.
    Alignment {
        /// When.
        life: Life,
        /// The common alignment.
        align: u64,
    },
    /// What is not fixed at that time goes between or above what is.
    Fixed {
        /// When.
        life: Life,
    },
    /// Each of these buffers is kept apart from every other.
    Apart {
        /// The buffers.
        buffers: Vec<BufferId>,
    },
    /// Every packing into a smaller arena was tried.
    Exhausted,
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Proof::Nothing => write!(f, "there is nothing to place"),
            Proof::Load { life } => write!(f, "the bytes alive together at {life}"),
            Proof::Largest { life } => write!(f, "the largest buffer, alive at {life}"),
            Proof::Alignment { life, align } => {
                write!(f, "the bytes alive together at {life}, with starts at multiples of {align}")
            }
            Proof::Fixed { life } => {
                write!(f, "the bytes alive together at {life}, around the fixed offsets")
            }
            Proof::Apart { buffers } => {
                let count = buffers.len();
                write!(f, "{count} buffers of which each is kept apart from every other")
            }
            Proof::Exhausted => write!(f, "every packing into less was tried"),
        }
    }
}

/// The best bound that we can prove.
#[must_use]
pub fn bound(problem: &Problem, sweep: &Sweep) -> Bound {
    let (peak, section) = sweep.peak();
    let proof = section.map_or(Proof::Nothing, |s| Proof::Load { life: sweep.life_of(s) });
    let load = Bound { bytes: peak, proof };
    let others =
        [largest(problem), alignment(problem, sweep), fixed(problem, sweep), kept_apart(problem)];
    others.into_iter().flatten().fold(load, |a, b| if b.bytes > a.bytes { b } else { a })
}

fn largest(problem: &Problem) -> Option<Bound> {
    let largest = problem.buffers().iter().max_by_key(|b| b.size)?;
    Some(Bound { bytes: largest.size, proof: Proof::Largest { life: largest.life } })
}

fn alignment(problem: &Problem, sweep: &Sweep) -> Option<Bound> {
    let mut aligns: Vec<u64> = problem.buffers().iter().map(|b| b.align).collect();
    aligns.sort_unstable_by(|a, b| b.cmp(a));
    aligns.dedup();
    let tried = aligns.into_iter().take(ALIGNMENTS).filter(|a| *a > 1);
    tried.filter_map(|align| common_alignment(problem, sweep, align)).max_by_key(|b| b.bytes)
}

/// The bound from the pieces that start at multiples of `align`.
fn common_alignment(problem: &Problem, sweep: &Sweep, align: u64) -> Option<Bound> {
    // Where no size is rounded up, the load says as much.
    let is_rounded =
        |buffer: &Buffer| !buffer.size.is_multiple_of(align) || !buffer.gaps.is_empty();
    if !problem.buffers().iter().any(|b| b.align.is_multiple_of(align) && is_rounded(b)) {
        return None;
    }
    // Births and deaths of rounded sizes, by section: deaths first.
    let mut events = Vec::new();
    for id in problem.ids() {
        if !problem.buffer(id).align.is_multiple_of(align) {
            continue;
        }
        for Strip { sections, span } in sweep.pieces(id) {
            if span.lo.is_multiple_of(align) {
                let rounded = span.len().next_multiple_of(align);
                events.push((sections.start, true, rounded, rounded - span.len()));
                events.push((sections.end, false, rounded, rounded - span.len()));
            }
        }
    }
    events.sort_unstable();
    let mut in_use = 0;
    let mut slacks: BTreeMap<u64, u32> = BTreeMap::new();
    let mut best = (0, 0);
    for (section, born, rounded, slack) in events {
        let count = slacks.entry(slack).or_insert(0);
        if born {
            in_use += rounded;
            *count += 1;
            let topmost = slacks.last_key_value().map_or(0, |(slack, _)| *slack);
            best = best.max((in_use - topmost, section));
        } else {
            in_use -= rounded;
            *count -= 1;
            if *count == 0 {
                slacks.remove(&slack);
            }
        }
    }
    let (bytes, section) = best;
    let life = (bytes > 0).then(|| sweep.life_of(section as usize))?;
    Some(Bound { bytes, proof: Proof::Alignment { life, align } })
}

/// The bound from buffers of which every two are kept apart.
fn kept_apart(problem: &Problem) -> Option<Bound> {
    problem.conflicts()?;
    let align = problem.buffers().iter().map(|b| b.align).reduce(gcd)?;
    let rounded = |size: u64| size.next_multiple_of(align);
    let weights: Vec<u64> = problem.buffers().iter().map(|b| rounded(b.size)).collect();
    let buffers = heaviest_clique(problem, &weights);
    let sizes = || buffers.iter().map(|id| problem.buffer(*id).size);
    let topmost = sizes().map(|size| rounded(size) - size).max()?;
    Some(Bound {
        bytes: sizes().map(rounded).sum::<u64>() - topmost,
        proof: Proof::Apart { buffers },
    })
}

/// The bound from what is fixed.
fn fixed(problem: &Problem, sweep: &Sweep) -> Option<Bound> {
    let mut pieces = Vec::new();
    for id in problem.ids() {
        if let Some(offset) = problem.buffer(id).fixed {
            let shift = |p: &Strip| Strip { span: p.span.shifted(offset), ..*p };
            pieces.extend(sweep.pieces(id).iter().map(shift));
        }
    }
    // A buffer that is fixed counts whole, gaps or not: its end is part of the arena.
    let ends = problem.buffers().iter().filter_map(|b| Some((b.fixed? + b.size, b.life)));
    let (bytes, life) = ends.max_by_key(|(end, _)| *end)?;
    let highest = Bound { bytes, proof: Proof::Fixed { life } };

    let visits: usize = pieces.iter().map(|p| p.sections.range().len()).sum();
    if visits > FIXED_WORK {
        return Some(highest);
    }
    let smallest = smallest_movable(problem, sweep);
    let mut taken: Vec<Vec<Span>> = vec![Vec::new(); sweep.len()];
    for piece in &pieces {
        for section in piece.sections.range() {
            taken[section].push(piece.span);
        }
    }
    let around = |(section, spans): (usize, &mut Vec<Span>)| {
        let fixed: u64 = spans.iter().map(|s| s.len()).sum();
        let movable = sweep.load()[section].saturating_sub(fixed);
        let bytes = height_around(spans, movable, smallest[section]);
        Bound { bytes, proof: Proof::Fixed { life: sweep.life_of(section) } }
    };
    let sections = taken.iter_mut().enumerate().map(around);
    Some(sections.fold(highest, |best, bound| if bound.bytes > best.bytes { bound } else { best }))
}

/// The size of the smallest piece in each section that is not fixed.
fn smallest_movable(problem: &Problem, sweep: &Sweep) -> Vec<u64> {
    let movable = problem.ids().filter(|id| problem.buffer(*id).fixed.is_none());
    let mut pieces: Vec<&Strip> = movable.flat_map(|id| sweep.pieces(id)).collect();
    pieces.sort_by_key(|p| p.span.len());
    // Smallest first, each takes the sections that are still free: `next` skips over the others.
    let mut smallest = vec![0; sweep.len()];
    let mut next = DisjointSets::new(sweep.len() + 1);
    for piece in pieces {
        let mut section = next.find(piece.sections.start as usize);
        while section < piece.sections.end as usize {
            smallest[section] = piece.span.len();
            next.merge_into(section, section + 1);
            section = next.find(section);
        }
    }
    smallest
}

/// The lowest height under which `movable` bytes, in pieces of at least `smallest`, have room
/// around the taken spans.
fn height_around(taken: &mut [Span], movable: u64, smallest: u64) -> u64 {
    taken.sort_unstable();
    let mut left = movable;
    let mut top = 0;
    for span in taken.iter() {
        let hole = span.lo.saturating_sub(top);
        if left > 0 && hole >= smallest {
            // Enough room in this hole: the height is in it, or above what is fixed higher up.
            left = left.saturating_sub(hole);
        }
        top = top.max(span.hi);
    }
    top + left
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound_of(buffers: Vec<Buffer>) -> Bound {
        let problem = Problem::new(buffers).expect("valid");
        bound(&problem, &Sweep::new(&problem))
    }

    fn buffer(size: u64, start: i64, end: i64) -> Buffer {
        Buffer::new(size, Life::new(start, end))
    }

    #[test]
    fn load_where_nothing_forces_more() {
        let found = bound_of(vec![buffer(4, 0, 3), buffer(4, 3, 9), buffer(5, 2, 5)]);
        assert_eq!(found, Bound { bytes: 9, proof: Proof::Load { life: Life::new(2, 3) } });
        assert_eq!(bound_of(vec![]), Bound { bytes: 0, proof: Proof::Nothing });
    }

    #[test]
    fn a_buffer_counts_whole_even_if_it_is_never_used_whole() {
        let life = Life::new(0, 4);
        let window = Some(crate::Span::new(0, 8));
        let gaps = vec![crate::Gap { life, window }];
        let found = bound_of(vec![Buffer { gaps, ..buffer(64, 0, 4) }, buffer(20, 1, 2)]);
        assert_eq!(found, Bound { bytes: 64, proof: Proof::Largest { life } });
    }

    #[test]
    fn alignment_forces_padding_below_all_but_the_topmost() {
        // 64 + 64 + 10 with 10, 20 and 30 bytes at multiples of 64: the one with most padding on top.
        let found = bound_of(vec![
            buffer(10, 0, 2).aligned(64),
            buffer(20, 1, 2).aligned(64),
            buffer(30, 1, 3).aligned(128),
        ]);
        let proof = Proof::Alignment { life: Life::new(1, 2), align: 64 };
        assert_eq!(found, Bound { bytes: 138, proof });
        // Unaligned buffers may fill the padding: no more than their sum is forced.
        let found = bound_of(vec![buffer(10, 0, 2).aligned(64), buffer(54, 0, 2), buffer(7, 0, 2)]);
        assert_eq!(found.bytes, 71);
    }

    #[test]
    fn fixed_offsets_waste_the_holes_that_are_too_small() {
        // [0, 3) is free below the fixed one, but 4 bytes do not fit there: 3 + 5 + 4.
        let found = bound_of(vec![buffer(5, 0, 2).fixed_at(3), buffer(4, 0, 2)]);
        assert_eq!(found, Bound { bytes: 12, proof: Proof::Fixed { life: Life::new(0, 2) } });
        // With a hole of 4 they do.
        assert_eq!(bound_of(vec![buffer(5, 0, 2).fixed_at(4), buffer(4, 0, 2)]).bytes, 9);
        // The highest fixed end counts even when little is alive then.
        assert_eq!(bound_of(vec![buffer(5, 0, 2).fixed_at(100), buffer(50, 3, 4)]).bytes, 105);
    }
}
