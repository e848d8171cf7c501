//! Tight problems whose optimum is known: a full rectangle (time × bytes) is cut into pieces, and how
//! they were cut is kept as the proof that they fit.
//!
//! ```text
//!  bytes ▲ straight cuts      a pinwheel           a gap with a window
//!        │ ┌─────┬───┐        ┌───────┬──┐         ┌──┬─────┬──┐
//!        │ │     │   │        ├──┬────┤  │         │  │  x  │  │   x lives in the bytes that
//!        │ ├──┬──┤   │        │  │    │  │         │ a└─────┘a │   a does not need for a while
//!        │ │  │  │   │        │  └──┬─┴──┤         │    a      │
//!        │ └──┴──┴───┘        └─────┴────┘         └───────────┘
//! ```
//!
//! The load meets the height of the rectangle in at least one section, so the height is the optimum. Seeded:
//! the same kind, number and seed give the same problem. Cost: O(n²) for the choice of what to cut.

use std::fmt;

use super::Rng;
use crate::problem::{Buffer, Gap, Life, Problem, Span, Time};
use crate::solution::Solution;

/// How a rectangle was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// Straight cuts from side to side.
    Guillotine,
    /// Straight cuts and pinwheels of five, which no straight cut takes apart.
    Pinwheel,
    /// Both, and then most pieces are made a little smaller or shorter.
    Slack,
    /// Both, and half of the pieces have an alignment.
    Aligned,
    /// Both, and some pieces have a gap, with a window or without, in which others live.
    Gaps,
}

impl Cuts {
    /// All of them.
    pub const ALL: [Cuts; 5] =
        [Cuts::Guillotine, Cuts::Pinwheel, Cuts::Slack, Cuts::Aligned, Cuts::Gaps];
}

impl fmt::Display for Cuts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Cuts::Guillotine => "guillotine",
            Cuts::Pinwheel => "pinwheel",
            Cuts::Slack => "slack",
            Cuts::Aligned => "aligned",
            Cuts::Gaps => "gaps",
        })
    }
}

/// A problem with a packing that meets its load.
#[derive(Clone, Debug)]
pub struct Tight {
    /// The problem, its buffers in random order.
    pub problem: Problem,
    /// A packing of it.
    pub hidden: Solution,
    /// The arena of that packing: the load, so no arena is smaller.
    pub optimum: u64,
}

/// The height of the rectangle, and what all cuts are multiples of.
const HEIGHT: u64 = 1 << 20;
const STEP: u64 = 16;

/// A rectangle cut into so many buffers, at least 8.
///
/// # Panics
/// If the generator made an invalid problem, which would be a fault in it.
#[must_use]
pub fn tight(cuts: Cuts, buffers: usize, seed: u64) -> Tight {
    let mut rng = Rng::new(seed ^ ((buffers as u64) << 32) ^ ((cuts as u64) << 56));
    let most = buffers as u64 * if cuts == Cuts::Gaps { 2 } else { 1 };
    let moments = rng.within(most / 4..most) + 8;
    let times = Time::try_from(moments).expect("tests have small times");
    let mut cutter = Cutter { cuts, open: vec![Cut::whole(times)], done: Vec::new() };
    while cutter.len() < buffers {
        cutter.cut(&mut rng, buffers - cutter.len());
    }
    let mut pieces: Vec<Cut> = cutter.done.into_iter().chain(cutter.open).collect();
    rng.shuffle(&mut pieces);
    if cuts == Cuts::Slack {
        let full = rng.moment(moments);
        for piece in &mut pieces {
            piece.shrink(&mut rng, full);
        }
    }
    let buffers = pieces.iter().map(|piece| piece.buffer(&mut rng, cuts)).collect();
    Tight {
        problem: Problem::new(buffers).expect("the generator makes valid problems"),
        hidden: Solution::new(pieces.iter().map(|piece| piece.span.lo).collect()),
        optimum: HEIGHT,
    }
}

/// A piece, where it was cut from.
#[derive(Clone, Debug)]
struct Cut {
    life: Life,
    span: Span,
    gap: Option<Gap>,
}

impl Cut {
    fn new(life: Life, span: Span) -> Self {
        Cut { life, span, gap: None }
    }

    fn whole(times: Time) -> Self {
        Cut::new(Life::new(0, times), Span::new(0, HEIGHT))
    }

    fn area(&self) -> u128 {
        u128::from(self.life.len()) * u128::from(self.span.len())
    }

    /// Less of it, but for what is there at the moment that stays full.
    fn shrink(&mut self, rng: &mut Rng, full: Time) {
        let stays = self.life.start <= full && full < self.life.end;
        if stays || rng.chance(30) {
            return;
        }
        let less = rng.below(1 + self.span.len() / 16) / STEP * STEP;
        self.span.hi -= less;
        if self.life.len() > 4 && rng.chance(30) {
            self.life.end -= 1;
        }
    }

    fn buffer(&self, rng: &mut Rng, cuts: Cuts) -> Buffer {
        let mut buffer = Buffer::new(self.span.len(), self.life);
        buffer.gaps.extend(self.gap);
        if cuts == Cuts::Aligned && rng.chance(50) {
            let most = if self.span.lo == 0 { 12 } else { self.span.lo.trailing_zeros().min(12) };
            buffer.align = 1 << most;
        }
        buffer
    }
}

/// Cuts pieces until there are enough.
struct Cutter {
    cuts: Cuts,
    /// Pieces that may be cut further, and those that may not.
    open: Vec<Cut>,
    done: Vec<Cut>,
}

impl Cutter {
    fn len(&self) -> usize {
        self.open.len() + self.done.len()
    }

    /// Makes several of one piece: at most so many more.
    fn cut(&mut self, rng: &mut Rng, more: usize) {
        // The largest of three, so that no piece stays far larger than the others.
        let tries = (0..3).map(|_| rng.below(self.open.len() as u64) as usize);
        let at = tries.max_by_key(|i| self.open[*i].area()).expect("three tries");
        let piece = self.open.swap_remove(at);
        let (length, height) = (piece.life.len(), piece.span.len() / STEP);
        let is_large = length >= 3 && height >= 3;
        // A piece with a gap is not cut further, so it must not be most of what there is.
        let is_small = self.len() >= 16;
        if is_large && is_small && self.cuts == Cuts::Gaps && rng.chance(60) && more >= 2 {
            self.gap(rng, &piece);
        } else if is_large && self.cuts != Cuts::Guillotine && rng.chance(50) && more >= 4 {
            self.pinwheel(rng, &piece);
        } else if length > 1 && (height < 2 || rng.chance(50)) {
            let at = piece.life.start + 1 + rng.moment(length - 1);
            self.open.push(Cut::new(Life::new(piece.life.start, at), piece.span));
            self.open.push(Cut::new(Life::new(at, piece.life.end), piece.span));
        } else if height >= 2 {
            let at = piece.span.lo + STEP * rng.within(1..height);
            self.open.push(Cut::new(piece.life, Span::new(piece.span.lo, at)));
            self.open.push(Cut::new(piece.life, Span::new(at, piece.span.hi)));
        } else {
            self.done.push(piece);
        }
    }

    fn pinwheel(&mut self, rng: &mut Rng, piece: &Cut) {
        let Cut { life, span, .. } = *piece;
        let (from, until) = inner(rng, life.len());
        let (from, until) = (life.start + from.cast_signed(), life.start + until.cast_signed());
        let (lo, hi) = inner(rng, span.len() / STEP);
        let (lo, hi) = (span.lo + STEP * lo, span.lo + STEP * hi);
        let mut push = |start, end, lo, hi| {
            self.open.push(Cut::new(Life::new(start, end), Span::new(lo, hi)));
        };
        push(life.start, from, span.lo, hi);
        push(life.start, until, hi, span.hi);
        push(until, life.end, lo, span.hi);
        push(from, life.end, span.lo, lo);
        push(from, until, lo, hi);
    }

    /// The piece has a gap; what it does not use then is there for others.
    fn gap(&mut self, rng: &mut Rng, piece: &Cut) {
        let (from, until) = inner(rng, piece.life.len());
        let start = piece.life.start;
        let life = Life::new(start + from.cast_signed(), start + until.cast_signed());
        let (lo, hi) = inner(rng, piece.span.len() / STEP);
        let size = piece.span.len();
        // Nothing, the lower part, the upper part or the middle stays in use.
        let window = match rng.below(4) {
            0 => Span::new(0, 0),
            1 => Span::new(0, STEP * lo),
            2 => Span::new(STEP * hi, size),
            _ => Span::new(STEP * lo, STEP * hi),
        };
        let below = Span::new(0, window.lo).shifted(piece.span.lo);
        let above = Span::new(window.hi, size).shifted(piece.span.lo);
        self.open.extend(
            [below, above].into_iter().filter(|s| !s.is_empty()).map(|s| Cut::new(life, s)),
        );
        let window = (!window.is_empty()).then_some(window);
        self.done.push(Cut { gap: Some(Gap { life, window }), ..piece.clone() });
    }
}

/// Two different numbers between 0 and `n`, which is at least 3.
fn inner(rng: &mut Rng, n: u64) -> (u64, u64) {
    let first = rng.within(1..n - 1);
    (first, rng.within(first + 1..n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::bound;
    use crate::check::check;
    use crate::sweep::Sweep;

    #[test]
    fn every_kind_has_a_packing_that_meets_its_bound() {
        for cuts in Cuts::ALL {
            for (buffers, seed) in [(8, 1), (20, 2), (50, 3), (150, 4), (400, 5)] {
                let Tight { problem, hidden, optimum } = tight(cuts, buffers, seed);
                assert_eq!(problem.len(), buffers, "{cuts}");
                assert_eq!(check(&problem, &(&hidden).into()), [], "{cuts}");
                assert!(hidden.arena_bytes(&problem) <= optimum);
                assert_eq!(bound(&problem, &Sweep::new(&problem)).bytes, optimum, "{cuts}");
            }
        }
    }

    #[test]
    fn each_kind_has_what_it_is_named_for() {
        let of = |cuts| tight(cuts, 200, 7).problem;
        let count =
            |cuts, has: fn(&Buffer) -> bool| of(cuts).buffers().iter().filter(|b| has(b)).count();
        assert!(count(Cuts::Gaps, |b| !b.gaps.is_empty()) >= 20);
        assert!(count(Cuts::Gaps, |b| b.gaps.iter().any(|g| g.window.is_some())) >= 12);
        assert!(count(Cuts::Aligned, |b| b.align > 16) >= 30);
        assert_eq!(count(Cuts::Pinwheel, |b| b.align > 1 || !b.gaps.is_empty()), 0);
        let load = |cuts| Sweep::new(&of(cuts)).load().to_vec();
        assert!(load(Cuts::Pinwheel).iter().all(|bytes| *bytes == HEIGHT));
        assert!(load(Cuts::Slack).iter().any(|bytes| *bytes < HEIGHT * 99 / 100));
        assert_eq!(of(Cuts::Gaps), of(Cuts::Gaps), "seeded");
    }
}
