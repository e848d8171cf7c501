//! Generators and oracles for tests, fuzzing and benchmarks: seeded, so that every run sees the
//! same cases.

use std::ops::Range;

use crate::problem::{Buffer, BufferId, Gap, Life, Piece, Problem, Span};

/// A small, fast random number generator (SplitMix64). Not for anything but tests.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The same seed gives the same numbers.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    /// Any number.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next_u64() % n
    }

    /// A number of the range, which is not empty.
    pub fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.below(range.end - range.start)
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Brings the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// What random problems look like.
#[derive(Clone, Debug)]
pub struct Shape {
    /// How many buffers.
    pub buffers: Range<u64>,
    /// How long they live together: times are in `0..=times`.
    pub times: u64,
    /// Sizes.
    pub sizes: Range<u64>,
    /// Per cent of buffers with an alignment.
    pub aligned: u64,
    /// Per cent of buffers with a fixed offset (none meets another).
    pub fixed: u64,
    /// Per cent of buffers with gaps.
    pub gapped: u64,
}

impl Shape {
    /// Sizes and lives only.
    #[must_use]
    pub fn plain() -> Self {
        Shape { buffers: 1..8, times: 12, sizes: 1..8, aligned: 0, fixed: 0, gapped: 0 }
    }

    /// Every constraint there is.
    #[must_use]
    pub fn everything() -> Self {
        Shape { aligned: 30, fixed: 15, gapped: 30, ..Shape::plain() }
    }
}

/// A random valid problem.
///
/// # Panics
/// If the generator made an invalid problem, which would be a fault in it.
#[must_use]
pub fn random_problem(rng: &mut Rng, shape: &Shape) -> Problem {
    let count = rng.within(shape.buffers.clone());
    let mut buffers: Vec<Buffer> = Vec::new();
    for _ in 0..count {
        let mut buffer = Buffer::new(rng.within(shape.sizes.clone()), random_life(rng, shape.times));
        if rng.chance(shape.aligned) {
            buffer.align = [2, 3, 4, 8][rng.below(4) as usize];
        }
        if rng.chance(shape.gapped) {
            buffer.gaps = random_gaps(rng, &buffer);
        }
        if rng.chance(shape.fixed) {
            let offset = rng.below(4 * shape.sizes.end).next_multiple_of(buffer.align);
            let fixed = buffer.clone().fixed_at(offset);
            if buffers.iter().all(|other| !fixed_overlap(other, &fixed)) {
                buffer = fixed;
            }
        }
        buffers.push(buffer);
    }
    Problem::new(buffers).expect("the generator makes valid problems")
}

fn random_life(rng: &mut Rng, times: u64) -> Life {
    let (a, b) = (rng.below(times) as i64, rng.below(times) as i64);
    // Half of the lives are short.
    let b = if rng.chance(50) { a + (b - a).signum() * rng.below(3) as i64 } else { b };
    Life::new(a.min(b).max(0), a.max(b).max(0) + 1)
}

fn random_gaps(rng: &mut Rng, buffer: &Buffer) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut from = buffer.life.start;
    while from < buffer.life.end && gaps.len() < 3 {
        let left = buffer.life.end.abs_diff(from);
        let start = from + rng.below(left) as i64;
        let end = start + 1 + rng.below(buffer.life.end.abs_diff(start)) as i64;
        let lo = rng.below(buffer.size);
        let window = Span::new(lo, lo + 1 + rng.below(buffer.size - lo));
        gaps.push(Gap { life: Life::new(start, end), window: rng.chance(50).then_some(window) });
        from = end;
    }
    gaps
}

fn fixed_overlap(a: &Buffer, b: &Buffer) -> bool {
    a.fixed.zip(b.fixed).is_some_and(|(at_a, at_b)| clash(a, at_a, b, at_b))
}

/// Whether two placed buffers use a byte at the same time: the definition.
fn clash(a: &Buffer, at_a: u64, b: &Buffer, at_b: u64) -> bool {
    let shift = |offset| move |p: Piece| Piece { span: p.span.shifted(offset), ..p };
    a.pieces().map(shift(at_a)).any(|p| {
        b.pieces().map(shift(at_b)).any(|q| p.life.meets(q.life) && p.span.meets(q.span))
    })
}

/// The smallest arena, by trying every offset of every buffer: for a handful of small buffers.
#[must_use]
pub fn brute_force(problem: &Problem) -> u64 {
    let buffers = problem.buffers();
    let ends = buffers.iter().map(|b| b.fixed.unwrap_or(0) + b.size);
    let lowest = ends.max().unwrap_or(0);
    (lowest..).find(|arena| fits(buffers, &mut Vec::new(), *arena)).unwrap_or(lowest)
}

fn fits(buffers: &[Buffer], offsets: &mut Vec<u64>, arena: u64) -> bool {
    let Some(buffer) = buffers.get(offsets.len()) else { return true };
    let (first, last) = buffer.fixed.map_or((0, arena - buffer.size), |fixed| (fixed, fixed));
    (first..=last).step_by(buffer.align as usize).any(|offset| {
        let placed = buffers.iter().zip(offsets.iter());
        if placed.clone().any(|(other, at)| clash(buffer, offset, other, *at)) {
            return false;
        }
        offsets.push(offset);
        let fit = fits(buffers, offsets, arena);
        offsets.pop();
        fit
    })
}

/// A problem that looks like the training step of a large model: most lives are short, some
/// activations of the first half are kept until the mirrored moment of the second, some state
/// lives all the time; a few sizes occur again and again.
///
/// # Panics
/// If the generator made an invalid problem, which would be a fault in it.
#[must_use]
pub fn training_like(buffers: usize, seed: u64) -> Problem {
    let mut rng = Rng::new(seed);
    let steps = buffers.max(4) as i64;
    // Sizes of a model: some hundred, spread evenly over the powers of two from 256 B to 16 MiB.
    let log_uniform = |rng: &mut Rng| {
        let power = 8 + rng.below(16);
        ((1u64 << power) + rng.below(1 << power)).next_multiple_of(64)
    };
    let sizes: Vec<u64> = (0..200).map(|_| log_uniform(&mut rng)).collect();
    let mut all = Vec::with_capacity(buffers);
    for _ in 0..buffers {
        let size = sizes[rng.below(sizes.len() as u64) as usize];
        let birth = rng.below(steps as u64) as i64;
        let life = match rng.below(1000) {
            0..850 => Life::new(birth, birth + 1 + (rng.below(4) * rng.below(4)) as i64),
            850..950 => Life::new(birth, birth + 1 + rng.below(400) as i64),
            950..998 => {
                let saved = birth / 2;
                Life::new(saved, steps - saved - rng.below(3) as i64)
            }
            _ => Life::new(0, steps),
        };
        let life = Life::new(life.start, life.end.clamp(life.start + 1, steps + 1));
        all.push(Buffer::new(size, life));
    }
    Problem::new(all).expect("the generator makes valid problems")
}

/// The same problem with time running backwards.
///
/// # Panics
/// Never: a valid problem stays valid.
#[must_use]
pub fn reversed(problem: &Problem) -> Problem {
    let flip = |life: Life| Life::new(-life.end, -life.start);
    rebuilt(problem, |b| {
        b.life = flip(b.life);
        b.gaps.reverse();
        b.gaps.iter_mut().for_each(|g| g.life = flip(g.life));
    })
}

/// The same problem with everything `k` times as large.
///
/// # Panics
/// If that is too large.
#[must_use]
pub fn scaled(problem: &Problem, k: u64) -> Problem {
    rebuilt(problem, |b| {
        b.size *= k;
        b.align *= k;
        b.fixed = b.fixed.map(|f| f * k);
        b.hint = b.hint.map(|h| h * k);
        for gap in &mut b.gaps {
            gap.window = gap.window.map(|w| Span::new(w.lo * k, w.hi * k));
        }
    })
}

/// The same problem with its buffers in the order of `ids`.
///
/// # Panics
/// If an id is not one of the problem.
#[must_use]
pub fn permuted(problem: &Problem, ids: &[BufferId]) -> Problem {
    let buffers = ids.iter().map(|id| problem.buffer(*id).clone()).collect();
    Problem::new(buffers).expect("the same buffers").with_capacity(problem.capacity())
}

fn rebuilt(problem: &Problem, change: impl Fn(&mut Buffer)) -> Problem {
    let mut buffers = problem.buffers().to_vec();
    buffers.iter_mut().for_each(change);
    Problem::new(buffers).expect("still valid")
}
