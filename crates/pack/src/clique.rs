//! The heaviest buffers of which each is kept apart from every other: a bound where lives do not tell all.
//!
//! Where pairs are kept apart beside those that are alive together, no moment shows all that must have bytes of its
//! own. Buffers of which every two are kept apart do: however they are packed, their sizes add up. The heaviest such set is
//! found by branch and bound. Candidates are coloured greedily, so that no two of a colour are kept apart; of each
//! colour one buffer can be in the set at most, so the heaviest of each colour, added up, is what a branch can still
//! reach.
//!
//! Cost: exponential at worst, and limited: after [`WORK`] candidates the heaviest set so far is taken, which is a bound
//! too. Above [`MOST_BUFFERS`] nothing is looked for. Bits of pairs take n²/8 bytes.

use crate::problem::{BufferId, Problem};

/// How many candidates are looked at.
const WORK: u64 = 20_000_000;
/// More buffers are not looked at.
const MOST_BUFFERS: usize = 8192;

/// The heaviest buffers that were found of which each is kept apart from every other, in order, with weights by buffer.
/// Nothing if no pairs are kept apart beside those that are alive together.
pub(crate) fn heaviest_clique(problem: &Problem, weights: &[u64]) -> Vec<BufferId> {
    if problem.conflicts().is_none() || problem.len() > MOST_BUFFERS {
        return Vec::new();
    }
    // The heaviest first: it has the lowest number here.
    let mut ids: Vec<BufferId> = problem.ids().collect();
    ids.sort_by_cached_key(|id| (std::cmp::Reverse(weights[id.index()]), *id));
    let weights = ids.iter().map(|id| weights[id.index()]).collect();
    let mut search = Search { pairs: Pairs::new(problem, &ids), weights, ..Search::default() };
    let all = Bits::all(ids.len());
    search.expand(all, 0);
    let mut found: Vec<BufferId> = search.best.iter().map(|at| ids[*at]).collect();
    found.sort_unstable();
    found
}

/// Whether no byte may belong to both, whatever the parts of them that are in use.
pub(crate) fn apart(problem: &Problem, a: BufferId, b: BufferId) -> bool {
    let (one, other) = (problem.buffer(a), problem.buffer(b));
    let whole = one.gaps.is_empty() && other.gaps.is_empty();
    let kept = problem.conflicts().is_some_and(|conflicts| conflicts.contains(a, b));
    kept || whole && one.life.meets(other.life)
}

/// A set of numbers below a limit.
#[derive(Clone, Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    fn all(count: usize) -> Self {
        let mut bits = Bits(vec![0; count.div_ceil(64)]);
        (0..count).for_each(|at| bits.insert(at));
        bits
    }

    fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    fn remove(&mut self, at: usize) {
        self.0[at / 64] &= !(1 << (at % 64));
    }

    fn first(&self) -> Option<usize> {
        let word = self.0.iter().position(|word| *word != 0)?;
        Some(word * 64 + self.0[word].trailing_zeros() as usize)
    }

    fn and(&self, row: &[u64]) -> Self {
        Bits(self.0.iter().zip(row).map(|(a, b)| a & b).collect())
    }

    fn and_not(&mut self, row: &[u64]) {
        for (a, b) in self.0.iter_mut().zip(row) {
            *a &= !b;
        }
    }
}

/// Which are kept apart, a row of bits for each.
#[derive(Debug, Default)]
struct Pairs {
    words: usize,
    rows: Vec<u64>,
}

impl Pairs {
    fn new(problem: &Problem, ids: &[BufferId]) -> Self {
        let words = ids.len().div_ceil(64);
        let mut rows = vec![0; ids.len() * words];
        for (at, a) in ids.iter().enumerate() {
            for (other, b) in ids.iter().enumerate() {
                if at != other && apart(problem, *a, *b) {
                    rows[at * words + other / 64] |= 1 << (other % 64);
                }
            }
        }
        Pairs { words, rows }
    }

    fn of(&self, at: usize) -> &[u64] {
        &self.rows[at * self.words..(at + 1) * self.words]
    }
}

#[derive(Debug, Default)]
struct Search {
    pairs: Pairs,
    weights: Vec<u64>,
    /// What is taken on the way to here.
    taken: Vec<usize>,
    best: Vec<usize>,
    best_weight: u64,
    work: u64,
}

impl Search {
    /// Goes through the sets with what is taken, of so much weight, and any of the candidates.
    fn expand(&mut self, mut candidates: Bits, weight: u64) {
        if weight > self.best_weight {
            self.best_weight = weight;
            self.best.clone_from(&self.taken);
        }
        let coloured = self.coloured(&candidates);
        self.work += coloured.len() as u64;
        for (at, reach) in coloured.into_iter().rev() {
            if weight + reach <= self.best_weight || self.work > WORK {
                return;
            }
            self.taken.push(at);
            self.expand(candidates.and(self.pairs.of(at)), weight + self.weights[at]);
            self.taken.pop();
            candidates.remove(at);
        }
    }

    /// The candidates by colours, each with the most that it and those before it can add.
    fn coloured(&self, candidates: &Bits) -> Vec<(usize, u64)> {
        let (mut left, mut reach, mut all) = (candidates.clone(), 0, Vec::new());
        while let Some(first) = left.first() {
            // The first of a colour is the heaviest of it.
            reach += self.weights[first];
            let mut colour = left.clone();
            while let Some(at) = colour.first() {
                colour.remove(at);
                colour.and_not(self.pairs.of(at));
                left.remove(at);
                all.push((at, reach));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Buffer, Conflicts, Gap, Life, Span};
    use crate::testing::Rng;

    fn weights(problem: &Problem) -> Vec<u64> {
        problem.buffers().iter().map(|buffer| buffer.size).collect()
    }

    fn found(problem: &Problem) -> (u64, Vec<u32>) {
        let clique = heaviest_clique(problem, &weights(problem));
        let bytes = clique.iter().map(|id| problem.buffer(*id).size).sum();
        (bytes, clique.into_iter().map(|id| id.0).collect())
    }

    #[test]
    fn pairs_that_are_kept_apart_count_beside_those_that_are_alive_together() {
        let buffers = [(4, 0, 2), (3, 1, 3), (5, 4, 6), (8, 8, 9)];
        let buffer = |(size, start, end)| Buffer::new(size, Life::new(start, end));
        let problem = Problem::new(buffers.map(buffer).to_vec()).expect("valid");
        assert_eq!(found(&problem), (0, vec![]), "lives say it all");
        let mut conflicts = Conflicts::new(4);
        conflicts.add(0, 2);
        assert_eq!(found(&problem.clone().with_conflicts(conflicts.clone())), (9, vec![0, 2]));
        conflicts.add(1, 2);
        assert_eq!(found(&problem.with_conflicts(conflicts)), (12, vec![0, 1, 2]));
    }

    #[test]
    fn parts_that_are_not_in_use_may_be_shared() {
        let life = Life::new(0, 4);
        let gaps = vec![Gap { life: Life::new(0, 4), window: Some(Span::new(0, 2)) }];
        let parted = Buffer { gaps, ..Buffer::new(8, life) };
        let problem = Problem::new(vec![parted, Buffer::new(6, life)]).expect("valid");
        let none = problem.clone().with_conflicts(Conflicts::new(2));
        assert_eq!(found(&none), (8, vec![0]), "they are alive together, and not all of both");
        let mut conflicts = Conflicts::new(2);
        conflicts.add(0, 1);
        assert_eq!(found(&problem.with_conflicts(conflicts)), (14, vec![0, 1]));
    }

    #[test]
    fn no_set_is_heavier_than_the_one_that_is_found() {
        let mut rng = Rng::new(7);
        for _ in 0..300 {
            let count = 1 + rng.below(11) as usize;
            let buffers = (0..count).map(|_| {
                let start = rng.below(12).cast_signed();
                Buffer::new(
                    1 + rng.below(9),
                    Life::new(start, start + 1 + rng.below(4).cast_signed()),
                )
            });
            let problem = Problem::new(buffers.collect()).expect("valid");
            let mut conflicts = Conflicts::new(count);
            for a in 1..count {
                for b in 0..a {
                    if rng.below(3) == 0 {
                        conflicts.add(a, b);
                    }
                }
            }
            let problem = problem.with_conflicts(conflicts);
            let ids: Vec<BufferId> = problem.ids().collect();
            let heaviest = (0..1u32 << count).filter_map(|set| {
                let members: Vec<BufferId> =
                    ids.iter().copied().filter(|id| set >> id.0 & 1 == 1).collect();
                let pairs = members.iter().flat_map(|a| members.iter().map(move |b| (*a, *b)));
                let is_clique = pairs.into_iter().all(|(a, b)| a == b || apart(&problem, a, b));
                is_clique.then(|| members.iter().map(|id| problem.buffer(*id).size).sum::<u64>())
            });
            assert_eq!(found(&problem).0, heaviest.max().unwrap_or(0));
        }
    }
}
