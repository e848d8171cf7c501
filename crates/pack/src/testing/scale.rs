//! Large problems of several kinds, to see how time and arena grow with the number of buffers.
//!
//! ```text
//!   stream ▂▂▂▂▂▂▂▂   random ────────     nested ─────────     training ──────────
//!           ▂▂▂▂▂▂▂▂     ──────────           ─── ─── ─                ─  ──── ─
//!            ▂▂▂▂▂▂▂▂  ─────    ────            ─  ─                     ── ──
//! ```
//!
//! Seeded: the same kind, sizes, number and seed give the same problem. Cost: O(n).

use std::fmt;

use super::Rng;
use crate::problem::{Buffer, Life, Problem, Time};

/// How long buffers live, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lives {
    /// One birth a moment, and about a hundred alive.
    Stream,
    /// One birth a moment, and about one in a hundred of all alive.
    Steady,
    /// From any moment to any other: half of all are alive in the middle.
    Random,
    /// Within one another, as calls are: whoever is born later dies earlier.
    Nested,
    /// Layers forwards and backwards: some of each layer is kept until its turn backwards, most is scratch.
    Training,
}

impl Lives {
    /// All of them.
    pub const ALL: [Lives; 5] =
        [Lives::Stream, Lives::Steady, Lives::Random, Lives::Nested, Lives::Training];
}

impl fmt::Display for Lives {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Lives::Stream => "stream",
            Lives::Steady => "steady",
            Lives::Random => "random",
            Lives::Nested => "nested",
            Lives::Training => "training",
        })
    }
}

/// How large buffers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Every multiple of 64 up to 64 KiB is as likely as any other.
    Uniform,
    /// Half are of 64 bytes, and one in k has k times as many or more, up to 4 MiB.
    Heavy,
}

impl Sizes {
    /// Both.
    pub const ALL: [Sizes; 2] = [Sizes::Uniform, Sizes::Heavy];

    fn draw(self, rng: &mut Rng) -> u64 {
        let step = match self {
            Sizes::Uniform => 1 + rng.below(1 << 10),
            Sizes::Heavy => (1 << 16) / (1 + rng.below(1 << 16)),
        };
        64 * step
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Sizes::Uniform => "uniform",
            Sizes::Heavy => "heavy",
        })
    }
}

/// A large problem.
///
/// # Panics
/// If the generator made an invalid problem, which would be a fault in it.
#[must_use]
pub fn scale(lives: Lives, sizes: Sizes, buffers: usize, seed: u64) -> Problem {
    let mut rng = Rng::new(seed ^ ((lives as u64) << 40) ^ ((sizes as u64) << 48));
    let lives = match lives {
        Lives::Stream => one_by_one(&mut rng, buffers, 100),
        Lives::Steady => one_by_one(&mut rng, buffers, buffers as u64 / 100),
        Lives::Random => anywhere(&mut rng, buffers),
        Lives::Nested => nested(&mut rng, buffers),
        Lives::Training => layers(&mut rng, buffers),
    };
    let all = lives.into_iter().map(|life| Buffer::new(sizes.draw(&mut rng), life)).collect();
    Problem::new(all).expect("the generator makes valid problems")
}

/// So many births, one after the other, with so many alive on average.
fn one_by_one(rng: &mut Rng, buffers: usize, alive: u64) -> Vec<Life> {
    let mut born = 0;
    let mut next = || {
        born += 1;
        Life::new(born, born + 1 + rng.moment(2 * alive.max(1)))
    };
    (0..buffers).map(|_| next()).collect()
}

fn anywhere(rng: &mut Rng, buffers: usize) -> Vec<Life> {
    let moments = 2 * buffers as u64 + 2;
    let mut life = || {
        let (a, b) = (rng.moment(moments), rng.moment(moments));
        Life::new(a.min(b), a.max(b) + 1)
    };
    (0..buffers).map(|_| life()).collect()
}

/// At every moment a life begins or the latest one ends, as likely, until all have begun.
fn nested(rng: &mut Rng, buffers: usize) -> Vec<Life> {
    let (mut lives, mut open): (Vec<Life>, Vec<Time>) = (Vec::new(), Vec::new());
    let (mut begun, mut now) = (0, 0);
    while lives.len() < buffers {
        if begun < buffers && (open.is_empty() || rng.chance(50)) {
            open.push(now);
            begun += 1;
        } else if let Some(start) = open.pop() {
            lives.push(Life::new(start, now));
        }
        now += 1;
    }
    lives
}

/// Ten buffers a layer: three that are kept until the layer's turn backwards, four and three of scratch.
fn layers(rng: &mut Rng, buffers: usize) -> Vec<Life> {
    let layers = Time::try_from(buffers.div_ceil(10)).expect("tests have small times");
    let end = 16 * layers;
    let mut lives = Vec::new();
    for layer in 0..layers {
        let (forwards, backwards) = (8 * layer, end - 8 * (layer + 1));
        for _ in 0..3 {
            lives.push(Life::new(forwards + rng.moment(8), backwards + 1 + rng.moment(8)));
        }
        for at in [forwards, forwards, forwards, forwards, backwards, backwards, backwards] {
            let start = at + rng.moment(8);
            lives.push(Life::new(start, start + 1 + rng.moment(12)));
        }
    }
    lives.truncate(buffers);
    lives
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::Sweep;

    #[test]
    fn each_kind_has_what_it_is_named_for() {
        let most_alive = |lives| {
            let problem = scale(lives, Sizes::Uniform, 10_000, 1);
            assert_eq!(problem.len(), 10_000, "{lives}");
            let ones = problem.buffers().iter().map(|b| Buffer::new(1, b.life)).collect();
            Sweep::new(&Problem::new(ones).expect("valid")).peak().0
        };
        assert_eq!(Lives::ALL.map(most_alive), [122, 120, 5060, 78, 3004]);
    }

    #[test]
    fn sizes_are_spread_as_they_say() {
        let count = |sizes, most| {
            let problem = scale(Lives::Stream, sizes, 10_000, 1);
            problem.buffers().iter().filter(|b| b.size <= most).count()
        };
        assert_eq!(
            [count(Sizes::Uniform, 1 << 15), count(Sizes::Uniform, 1 << 16)],
            [4983, 10_000]
        );
        assert_eq!([count(Sizes::Heavy, 128), count(Sizes::Heavy, 1 << 16)], [6687, 9989]);
        let again = |seed| scale(Lives::Nested, Sizes::Heavy, 100, seed);
        assert_eq!(again(1), again(1));
        assert_ne!(again(1), again(2));
    }
}
