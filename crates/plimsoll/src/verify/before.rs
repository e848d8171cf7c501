//! Happens-before: which steps are certainly over before which others begin.
//!
//! Questions are collected first and answered together, by bitsets of ancestors over a block of
//! steps at a time: O(edges × steps / 64) in all, and never more than 64 MiB at once.

use crate::ids::StepId;

/// Memory for one block of bitsets, in words.
const BLOCK_WORDS: usize = 8 << 20;

/// A partial order of steps.
pub(super) struct Order {
    /// The steps, each after all that it needs.
    sorted: Vec<u32>,
    /// The position of each step there.
    pub(super) rank: Vec<u32>,
    /// What each step needs: ranges of `needs`.
    starts: Vec<u32>,
    needs: Vec<u32>,
}

impl Order {
    /// The order of so many steps in which the first of each pair is before the second; `None` if
    /// they go in circles.
    pub(super) fn new(steps: usize, edges: &[(StepId, StepId)]) -> Option<Self> {
        let (starts, needs) = rows(steps, edges.iter().map(|(a, b)| (b.index(), a.0)));
        let (after_starts, after) = rows(steps, edges.iter().map(|(a, b)| (a.index(), b.0)));
        let mut missing: Vec<u32> = starts.windows(2).map(|w| w[1] - w[0]).collect();
        let mut sorted: Vec<u32> =
            (0..steps as u32).filter(|step| missing[*step as usize] == 0).collect();
        let mut next = 0;
        while let Some(step) = sorted.get(next).map(|step| *step as usize) {
            next += 1;
            for other in &after[after_starts[step] as usize..after_starts[step + 1] as usize] {
                missing[*other as usize] -= 1;
                if missing[*other as usize] == 0 {
                    sorted.push(*other);
                }
            }
        }
        if sorted.len() < steps {
            return None;
        }
        let mut rank = vec![0; steps];
        for (position, step) in sorted.iter().enumerate() {
            rank[*step as usize] = position as u32;
        }
        Some(Order { sorted, rank, starts, needs })
    }

    /// Which of these questions "is the first certainly over before the second begins" are to be
    /// answered with yes.
    pub(super) fn answer(&self, mut asked: Vec<(u32, u32)>) -> Answers {
        asked.sort_unstable();
        asked.dedup();
        let steps = self.sorted.len();
        let width = (BLOCK_WORDS / steps.max(1)).clamp(1, steps.div_ceil(64).max(1));
        let mut bits = vec![0u64; width * steps];
        let mut yes = Vec::with_capacity(asked.len());
        let mut rest = asked.as_slice();
        while let Some((first, _)) = rest.first() {
            let block = *first as usize / 64 / width * width * 64;
            let end = block + width * 64;
            self.fill(&mut bits, width, block);
            let here = rest.partition_point(|(first, _)| (*first as usize) < end);
            yes.extend(rest[..here].iter().map(|(first, second)| {
                let bit = *first as usize - block;
                bits[*second as usize * width + bit / 64] >> (bit % 64) & 1 == 1
            }));
            rest = &rest[here..];
        }
        Answers { asked, yes }
    }

    /// For every step which of the steps from `block` on are before it.
    fn fill(&self, bits: &mut [u64], width: usize, block: usize) {
        bits.fill(0);
        let mut row = vec![0u64; width];
        for step in &self.sorted {
            let step = *step as usize;
            row.fill(0);
            for need in &self.needs[self.starts[step] as usize..self.starts[step + 1] as usize] {
                let need = *need as usize;
                let other = &bits[need * width..(need + 1) * width];
                row.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
                if (block..block + width * 64).contains(&need) {
                    row[(need - block) / 64] |= 1 << ((need - block) % 64);
                }
            }
            bits[step * width..(step + 1) * width].copy_from_slice(&row);
        }
    }
}

/// Answers to questions.
pub(super) struct Answers {
    asked: Vec<(u32, u32)>,
    yes: Vec<bool>,
}

impl Answers {
    /// Whether the first is certainly over before the second begins; no if it was not asked.
    pub(super) fn before(&self, first: u32, second: u32) -> bool {
        self.asked.binary_search(&(first, second)).is_ok_and(|at| self.yes[at])
    }
}

/// Pairs (row, item) as the starts of rows and all items.
fn rows(count: usize, pairs: impl Iterator<Item = (usize, u32)> + Clone) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; count + 1];
    pairs.clone().for_each(|(row, _)| starts[row + 1] += 1);
    for row in 0..count {
        starts[row + 1] += starts[row];
    }
    let mut next = starts.clone();
    let mut items = vec![0; starts[count] as usize];
    pairs.for_each(|(row, item)| {
        items[next[row] as usize] = item;
        next[row] += 1;
    });
    (starts, items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_transitive_and_circles_are_none() {
        let edges = |all: &[(u32, u32)]| -> Vec<(StepId, StepId)> {
            all.iter().map(|(a, b)| (StepId(*a), StepId(*b))).collect()
        };
        let order = Order::new(5, &edges(&[(3, 1), (1, 0), (4, 0)])).expect("no circle");
        let all = (0..5).flat_map(|a| (0..5).map(move |b| (a, b))).collect();
        let answers = order.answer(all);
        let yes: Vec<_> = (0..5)
            .flat_map(|a| (0..5).map(move |b| (a, b)))
            .filter(|(a, b)| answers.before(*a, *b))
            .collect();
        assert_eq!(yes, [(1, 0), (3, 0), (3, 1), (4, 0)]);
        assert!(Order::new(2, &edges(&[(0, 1), (1, 0)])).is_none());
    }
}
