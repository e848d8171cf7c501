//! Generators and oracles for tests, fuzzing and benchmarks: seeded, so that every run sees the
//! same cases.

pub mod scale;
pub mod tight;

use std::cmp::Reverse;
use std::ops::Range;

use crate::problem::{Buffer, BufferId, Gap, Life, Piece, Problem, Span, Time};
use crate::{Algorithm, Conflicts, Options, check, csv, solve};

/// A small, fast random number generator (`SplitMix64`). Not for anything but tests.
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

    /// A number below `n` as a stretch of time, which `n` is not too large for.
    fn moment(&mut self, n: u64) -> i64 {
        self.below(n).try_into().expect("tests have small times")
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
        let mut buffer =
            Buffer::new(rng.within(shape.sizes.clone()), random_life(rng, shape.times));
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
    let (a, b) = (rng.moment(times), rng.moment(times));
    // Half of the lives are short.
    let b = if rng.chance(50) { a + (b - a).signum() * rng.moment(3) } else { b };
    Life::new(a.min(b).max(0), a.max(b).max(0) + 1)
}

fn random_gaps(rng: &mut Rng, buffer: &Buffer) -> Vec<Gap> {
    let mut gaps = Vec::new();
    let mut from = buffer.life.start;
    while from < buffer.life.end && gaps.len() < 3 {
        let left = buffer.life.end.abs_diff(from);
        let start = from + rng.moment(left);
        let end = start + 1 + rng.moment(buffer.life.end.abs_diff(start));
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
    a.pieces()
        .map(shift(at_a))
        .any(|p| b.pieces().map(shift(at_b)).any(|q| p.life.meets(q.life) && p.span.meets(q.span)))
}

/// The smallest arena, by trying every offset of every buffer: for a handful of small buffers.
///
/// # Panics
/// If fixed buffers are in each other's way.
#[must_use]
pub fn brute_force(problem: &Problem) -> u64 {
    let mut ids: Vec<BufferId> = problem.ids().collect();
    // Which come first does not change what fits, only how soon it is seen that nothing does.
    ids.sort_by_key(|id| (problem.buffer(*id).fixed.is_none(), Reverse(problem.buffer(*id).size)));
    let end = |b: &Buffer| b.fixed.unwrap_or(0) + b.size;
    let lowest = problem.buffers().iter().map(end).max().unwrap_or(0);
    let stacked: u64 = problem.buffers().iter().map(|b| b.size + b.align).sum();
    let mut arenas = lowest..=lowest + stacked;
    arenas.find(|arena| fits(problem, &ids, &mut Vec::new(), *arena)).expect("a stack of all fits")
}

fn fits(problem: &Problem, ids: &[BufferId], offsets: &mut Vec<u64>, arena: u64) -> bool {
    let Some(id) = ids.get(offsets.len()) else { return true };
    let buffer = problem.buffer(*id);
    let (first, last) = buffer.fixed.map_or((0, arena - buffer.size), |fixed| (fixed, fixed));
    (first..=last).step_by(buffer.align as usize).any(|offset| {
        let in_the_way = |(other, at): (&BufferId, &u64)| {
            let apart = problem.conflicts().is_some_and(|c| c.contains(*id, *other));
            let (mine, theirs) = (buffer.size, problem.buffer(*other).size);
            clash(buffer, offset, problem.buffer(*other), *at)
                || apart && offset < *at + theirs && *at < offset + mine
        };
        if ids.iter().zip(offsets.iter()).any(in_the_way) {
            return false;
        }
        offsets.push(offset);
        let fit = fits(problem, ids, offsets, arena);
        offsets.pop();
        fit
    })
}

/// The same problem with some random pairs kept apart whatever their lives.
#[must_use]
pub fn with_random_conflicts(rng: &mut Rng, problem: &Problem, percent: u64) -> Problem {
    let mut conflicts = Conflicts::new(problem.len());
    for a in 0..problem.len() {
        for b in a + 1..problem.len() {
            if rng.chance(percent) {
                conflicts.add(a, b);
            }
        }
    }
    problem.clone().with_conflicts(conflicts)
}

/// A problem that looks like the training step of a large model: most lives are short, some
/// activations of the first half are kept until the mirrored moment of the second, some state
/// lives all the time; a few sizes occur again and again. Buffers come in order of birth, as a
/// program lists them.
///
/// # Panics
/// If the generator made an invalid problem, which would be a fault in it.
#[must_use]
pub fn training_like(buffers: usize, seed: u64) -> Problem {
    let mut rng = Rng::new(seed);
    let buffers = buffers as u64;
    let moments = buffers.max(4);
    let steps = i64::try_from(moments).expect("that many do not fit in memory");
    // Sizes of a model: some hundred, spread evenly over the powers of two from 256 B to 16 MiB.
    let log_uniform = |rng: &mut Rng| {
        let power = 8 + rng.below(16);
        ((1u64 << power) + rng.below(1 << power)).next_multiple_of(64)
    };
    let sizes: Vec<u64> = (0..200).map(|_| log_uniform(&mut rng)).collect();
    let mut all = Vec::new();
    for _ in 0..buffers {
        let size = sizes[rng.below(sizes.len() as u64) as usize];
        let birth = rng.moment(moments);
        let life = match rng.below(1000) {
            0..900 => Life::new(birth, birth + 1 + rng.moment(4) * rng.moment(4)),
            900..988 => Life::new(birth, birth + 1 + rng.moment(400)),
            988..998 => {
                let saved = birth / 2;
                Life::new(saved, steps - saved - rng.moment(3))
            }
            _ => Life::new(0, steps),
        };
        let life = Life::new(life.start, life.end.clamp(life.start + 1, steps + 1));
        all.push(Buffer::new(size, life));
    }
    all.sort_by_key(|b| b.life.start);
    Problem::new(all).expect("the generator makes valid problems")
}

/// A problem like a network that is computed in bands of rows: one band after the other goes through
/// all layers, and each layer keeps some rows for its next turn. Deeper layers take a turn only once in
/// two, four and eight bands, so what they keep lives longer. There is much alive all the time, most of
/// it in small pieces of few sizes, and at every turn something larger comes for a moment.
///
/// # Panics
/// If the generator made an invalid problem, which would be a fault in it.
#[must_use]
pub fn in_bands(layers: usize, bands: usize, seed: u64) -> Problem {
    let mut rng = Rng::new(seed);
    let row = |rng: &mut Rng| 896 * [3, 4, 6, 8, 12, 16, 24, 32, 48][rng.below(9) as usize];
    let rows: Vec<u64> = (0..layers).map(|_| row(&mut rng)).collect();
    let mut turns: Vec<Vec<Time>> = vec![Vec::new(); layers];
    let mut now: Time = 0;
    for band in 1..=bands {
        for (layer, turns) in turns.iter_mut().enumerate() {
            if band.is_multiple_of(1 << (4 * layer / layers)) {
                turns.push(now);
                now += 4;
            }
        }
    }
    let mut all = Vec::new();
    for (row, turns) in rows.iter().zip(&turns) {
        for (turn, start) in turns.iter().enumerate() {
            let next = turns.get(turn + 1).copied().unwrap_or(now);
            all.push(Buffer::new(row * (2 + rng.below(5)), Life::new(*start, start + 3)));
            all.push(Buffer::new(row * (2 + rng.below(3)), Life::new(start + 2, start + 7)));
            all.push(Buffer::new(row * (1 + rng.below(2)), Life::new(start + 1, next + 2)));
            if rng.chance(40) {
                all.push(Buffer::new(*row, Life::new(start + 3, next + 6 + rng.moment(60))));
            }
        }
    }
    let all = all.into_iter().map(|buffer| buffer.aligned(64)).collect();
    Problem::new(all).expect("the generator makes valid problems")
}

/// A rectangle of `times` × `height` cut into `buffers` smaller ones by straight cuts: the load is
/// `height` at all times and an arena of `height` is enough, but there is not a byte to waste.
///
/// # Panics
/// If there are more buffers than cells to cut.
#[must_use]
pub fn perfect(rng: &mut Rng, buffers: usize, times: Time, height: u64) -> Problem {
    let mut pieces = vec![(Life::new(0, times), height)];
    while pieces.len() < buffers {
        // The largest of three, so that no piece stays far larger than the others.
        let tries = (0..3).map(|_| rng.below(pieces.len() as u64) as usize);
        let at = tries.max_by_key(|i| u128::from(pieces[*i].0.len()) * u128::from(pieces[*i].1));
        let (life, size) = pieces.swap_remove(at.expect("three tries"));
        let by_time = life.len() > 1 && (size == 1 || rng.chance(50));
        if by_time {
            let cut = life.start + 1 + rng.moment(life.len() - 1);
            pieces.extend([(Life::new(life.start, cut), size), (Life::new(cut, life.end), size)]);
        } else {
            assert!(size > 1, "more buffers than cells");
            let cut = 1 + rng.below(size - 1);
            pieces.extend([(life, cut), (life, size - cut)]);
        }
    }
    rng.shuffle(&mut pieces);
    let all = pieces.into_iter().map(|(life, size)| Buffer::new(size, life)).collect();
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

/// The body of the fuzz target for the CSV reader: bytes are rejected, or they are a problem whose
/// answer is valid and which is written and read back the same. Says whether they were accepted.
///
/// # Panics
/// If any of that fails.
#[must_use]
pub fn fuzz_csv(bytes: &[u8]) -> bool {
    let Ok(table) = csv::read(bytes) else { return false };
    let mut text = Vec::new();
    csv::write_problem(&mut text, &table).expect("writing to memory does not fail");
    assert_eq!(csv::read(text.as_slice()).expect("own output"), table);
    let options = Options { algorithms: vec![Algorithm::LargestFirst], ..Options::default() };
    let outcome = solve(&table.problem, &options);
    if let Some(solution) = &outcome.solution {
        assert_eq!(check(&table.problem, &solution.into()), []);
        assert!(outcome.lower_bound.bytes <= outcome.arena_bytes);
    }
    true
}
