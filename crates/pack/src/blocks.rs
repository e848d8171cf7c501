//! Blocks: buffers that fill a rectangle together, found by their sizes, and packed as one.
//!
//! ```text
//!        ┌──────┬────────┐      When a dies, b and c are born, and they are as large as a together: where there is
//!        │      │   c    │      nothing to waste, they take its bytes. They die together: so a, b and c are one
//!        │  a   ├────────┤      rectangle, and whoever packs that packs all three.
//!        │      │   b    │
//!        └──────┴────────┘
//! ```
//!
//! A block begins with one buffer, or with two that are born together. Whenever some of it die, others must be born
//! then that are as large as these; in the end all die together. Only one such set may be there: where sizes repeat, equal
//! sums say nothing. Whether the set really fills a rectangle is asked of the exact search, which is a matter of
//! microseconds. Blocks are buffers again, and make larger blocks.
//!
//! This is a guess, and no rule: a packing of the blocks is a packing of the buffers, but there may be none though the buffers
//! have one. It finds packings without a byte to waste for a thousand buffers, where search alone is lost.
//!
//! Cost: for each buffer that dies, the sets of up to three buffers that are born then.

use std::collections::BTreeMap;

use crate::exact::{self, Verdict};
use crate::problem::{Buffer, BufferId, Life, Problem, Time, gcd};
use crate::solution::Solution;
use crate::sweep::Sweep;

/// How many buffers a block is made of at most, tried from few to many.
const MOST: [usize; 5] = [2, 3, 5, 8, 16];
/// How many that are born together are looked at.
const MOST_BORN: usize = 24;
/// The work to ask whether a block fills a rectangle.
const ASKING: u64 = 200_000;

/// A problem whose buffers are blocks.
pub(crate) struct Blocks {
    pub(crate) problem: Problem,
    /// What each block is made of, and how far above its start each lies.
    parts: Vec<Vec<(BufferId, u64)>>,
    /// The work that it took.
    pub(crate) work: u64,
}

impl Blocks {
    /// The blocks of a problem, if there are any, for at most so much work; `stacks` says whether what is born and
    /// dies together is taken for a block, where nothing else is left to try.
    pub(crate) fn new(problem: &Problem, stacks: bool, work: u64) -> Option<Blocks> {
        if problem.conflicts().is_some() {
            return None;
        }
        let mut joiner = Joiner::new(problem, work);
        let mut at = 0;
        while at <= MOST.len() && joiner.work < work {
            let found = match MOST.get(at) {
                Some(most) => joiner.pass(*most),
                None => stacks && joiner.stack(),
            };
            at = if found { 0 } else { at + 1 };
        }
        let count = joiner.nodes.iter().filter(|node| !node.is_part).count();
        if count == problem.len() {
            return None;
        }
        let nodes = joiner.nodes.into_iter().filter(|node| !node.is_part);
        let (mut buffers, mut parts) = (Vec::new(), Vec::new());
        for node in nodes {
            buffers.push(match node.parts[..] {
                [(id, _)] => problem.buffer(id).clone(),
                _ => Buffer::new(node.size, node.life).aligned(align_of(problem, &node.parts)),
            });
            parts.push(node.parts);
        }
        let whole = Problem::new(buffers).ok()?.with_capacity(problem.capacity());
        Some(Blocks { problem: whole, parts, work: joiner.work })
    }

    /// The packing of the buffers that a packing of the blocks is.
    pub(crate) fn apart(&self, packing: &Solution) -> Solution {
        let mut offsets = vec![0; self.parts.iter().map(Vec::len).sum()];
        for (parts, start) in self.parts.iter().zip(packing.offsets()) {
            for (id, above) in parts {
                offsets[id.index()] = start + above;
            }
        }
        Solution::new(offsets)
    }
}

/// What the offset of a block is a multiple of: of what those of all its parts are. How far above its start they lie is
/// a multiple of all sizes, and so of their alignments.
fn align_of(problem: &Problem, parts: &[(BufferId, u64)]) -> u64 {
    let aligns = parts.iter().map(|(id, _)| problem.buffer(*id).align);
    aligns.fold(1, |common, align| common / gcd(common, align) * align)
}

/// A buffer or a block.
struct Node {
    life: Life,
    size: u64,
    parts: Vec<(BufferId, u64)>,
    /// Whether it can be a part of a block, and whether it is one.
    may_join: bool,
    is_part: bool,
}

struct Joiner {
    nodes: Vec<Node>,
    /// Those that are born at a time, and may join.
    born: BTreeMap<Time, Vec<usize>>,
    work: u64,
    most_work: u64,
}

impl Joiner {
    fn new(problem: &Problem, most_work: u64) -> Self {
        let step = problem.buffers().iter().fold(0, |step, b| gcd(step, b.size)).max(1);
        let node = |id: BufferId| {
            let buffer = problem.buffer(id);
            let is_plain = buffer.fixed.is_none() && buffer.gaps.is_empty();
            let may_join = is_plain && step.is_multiple_of(buffer.align);
            let parts = vec![(id, 0)];
            Node { life: buffer.life, size: buffer.size, parts, may_join, is_part: false }
        };
        let nodes: Vec<Node> = problem.ids().map(node).collect();
        let mut born: BTreeMap<Time, Vec<usize>> = BTreeMap::new();
        for (at, node) in nodes.iter().enumerate().filter(|(_, node)| node.may_join) {
            born.entry(node.life.start).or_default().push(at);
        }
        Joiner { nodes, born, work: 0, most_work }
    }

    /// Makes blocks of at most so many of what there is; whether there was one.
    fn pass(&mut self, most: usize) -> bool {
        let mut found = false;
        let times: Vec<Time> = self.born.keys().copied().collect();
        for time in times {
            let born = self.born_at(time).to_vec();
            for (at, a) in born.iter().enumerate() {
                found |= self.join(&[*a], most);
                for b in &born[at + 1..] {
                    if most > 2 {
                        found |= self.join(&[*a, *b], most);
                    }
                }
                if self.work > self.most_work {
                    return false;
                }
            }
        }
        found
    }

    fn born_at(&self, time: Time) -> &[usize] {
        let born = self.born.get(&time).map_or(&[][..], |born| born);
        &born[..born.len().min(MOST_BORN)]
    }

    /// Makes a block that begins with these.
    fn join(&mut self, first: &[usize], most: usize) -> bool {
        if first.iter().any(|node| self.nodes[*node].is_part) {
            return false;
        }
        let Some(set) = self.grow(first, most) else { return false };
        let height = first.iter().map(|node| self.nodes[*node].size).sum();
        let Some(offsets) = self.filled(&set, height) else { return false };
        self.replace(&set, height, &offsets);
        true
    }

    /// Makes blocks of those that are born and die together; whether there were any.
    fn stack(&mut self) -> bool {
        let mut found = false;
        let times: Vec<Time> = self.born.keys().copied().collect();
        for time in times {
            let mut by_death: BTreeMap<Time, Vec<usize>> = BTreeMap::new();
            for node in &self.born[&time] {
                by_death.entry(self.nodes[*node].life.end).or_default().push(*node);
            }
            for set in by_death.into_values().filter(|set| set.len() > 1) {
                let mut height = 0;
                let mut offsets = Vec::new();
                for node in &set {
                    offsets.push(height);
                    height += self.nodes[*node].size;
                }
                self.replace(&set, height, &offsets);
                found = true;
            }
        }
        found
    }

    /// Makes one of a set that fills a rectangle of that height like this.
    fn replace(&mut self, set: &[usize], height: u64, offsets: &[u64]) {
        let lives = set.iter().map(|node| self.nodes[*node].life);
        let start = lives.clone().map(|life| life.start).min().expect("not empty");
        let end = lives.map(|life| life.end).max().expect("not empty");
        let mut parts = Vec::new();
        for (node, above) in set.iter().zip(offsets) {
            let node = &mut self.nodes[*node];
            node.is_part = true;
            parts.extend(node.parts.drain(..).map(|(id, at)| (id, at + above)));
        }
        let nodes = &self.nodes;
        for node in set {
            let born = self.born.get_mut(&nodes[*node].life.start).expect("it was listed");
            born.retain(|other| other != node);
        }
        let life = Life::new(start, end);
        self.born.entry(start).or_default().push(self.nodes.len());
        self.nodes.push(Node { life, size: height, parts, may_join: true, is_part: false });
    }

    /// All that takes the bytes of these, and of one another, until all die together.
    fn grow(&mut self, first: &[usize], most: usize) -> Option<Vec<usize>> {
        let mut set = first.to_vec();
        let mut alive = first.to_vec();
        loop {
            let death = alive.iter().map(|node| self.nodes[*node].life.end).min()?;
            let dies = |node: &usize| self.nodes[*node].life.end == death;
            let dying: u64 =
                alive.iter().filter(|n| dies(n)).map(|node| self.nodes[*node].size).sum();
            if set.len() > first.len() && alive.iter().all(dies) {
                return Some(set);
            }
            alive.retain(|node| !dies(node));
            let heirs = self.heirs(death, dying, most.checked_sub(set.len())?)?;
            set.extend(&heirs);
            alive.extend(&heirs);
        }
    }

    /// The only set of at most so many, and at most three, that are born then and are as large as that together.
    fn heirs(&mut self, time: Time, size: u64, most: usize) -> Option<Vec<usize>> {
        let sizes: Vec<(u64, usize)> = self
            .born_at(time)
            .iter()
            .map(|node| (self.nodes[*node].size, *node))
            .filter(|(other, _)| *other <= size)
            .collect();
        let mut found: Option<Vec<usize>> = None;
        let mut is_only = true;
        let mut note = |set: &[usize]| {
            is_only &= found.is_none();
            found.get_or_insert_with(|| set.to_vec());
        };
        for (i, (a, one)) in sizes.iter().enumerate() {
            if *a == size && most >= 1 {
                note(&[*one]);
            }
            for (j, (b, two)) in sizes.iter().enumerate().skip(i + 1) {
                if a + b == size && most >= 2 {
                    note(&[*one, *two]);
                }
                if most >= 3 && a + b < size {
                    let rest = sizes[j + 1..].iter().filter(|(c, _)| a + b + c == size);
                    rest.for_each(|(_, three)| note(&[*one, *two, *three]));
                }
            }
        }
        self.work += 1 + (sizes.len() * sizes.len()) as u64;
        found.filter(|_| is_only)
    }

    /// How far above its bottom each of these lies in a rectangle of that height, if they fill one.
    fn filled(&mut self, set: &[usize], height: u64) -> Option<Vec<u64>> {
        let buffer = |node: &usize| Buffer::new(self.nodes[*node].size, self.nodes[*node].life);
        let problem = Problem::new(set.iter().map(buffer).collect()).ok()?;
        let options = exact::Options { work: ASKING, ..exact::Options::default() };
        let decision = exact::decide(&problem, &Sweep::new(&problem), height, &options);
        self.work += decision.work + 100 * set.len() as u64;
        match decision.verdict {
            Verdict::Fits(solution) => Some(solution.offsets().to_vec()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::check;
    use crate::testing::tight::{Cuts, tight};

    fn buffers(all: &[(u64, Time, Time)]) -> Problem {
        let buffer =
            |(size, start, end): &(u64, Time, Time)| Buffer::new(*size, Life::new(*start, *end));
        Problem::new(all.iter().map(buffer).collect()).expect("valid")
    }

    #[test]
    fn what_takes_over_the_bytes_of_another_is_one_with_it() {
        let problem = buffers(&[(5, 0, 2), (2, 2, 4), (3, 2, 4), (7, 0, 3), (1, 4, 5)]);
        let blocks = Blocks::new(&problem, false, 1_000_000).expect("the first three");
        assert_eq!(blocks.problem, buffers(&[(7, 0, 3), (1, 4, 5), (5, 0, 4)]));
        let apart = blocks.apart(&Solution::new(vec![5, 0, 0]));
        assert_eq!(check(&problem, &(&apart).into()), []);
        assert_eq!(apart.arena_bytes(&problem), 12);
    }

    #[test]
    fn a_pinwheel_is_a_block() {
        let problem = buffers(&[(20, 0, 3), (10, 0, 6), (22, 6, 9), (8, 3, 9), (12, 3, 6)]);
        let blocks = Blocks::new(&problem, false, 1_000_000).expect("all five");
        assert_eq!(blocks.problem, buffers(&[(30, 0, 9)]));
    }

    #[test]
    fn equal_sums_say_nothing_where_there_are_two_and_aligned_or_gapped_buffers_stay_alone() {
        let two = buffers(&[(5, 0, 2), (5, 2, 4), (5, 2, 5)]);
        assert!(Blocks::new(&two, false, 1_000_000).is_none());
        let mut aligned = buffers(&[(5, 0, 2), (5, 2, 4)]).buffers().to_vec();
        aligned[0].align = 2;
        assert!(Blocks::new(&Problem::new(aligned).expect("valid"), false, 1_000_000).is_none());
        let fixed =
            vec![Buffer::new(5, Life::new(0, 2)).fixed_at(3), Buffer::new(5, Life::new(2, 4))];
        assert!(Blocks::new(&Problem::new(fixed).expect("valid"), false, 1_000_000).is_none());
    }

    #[test]
    fn a_block_is_aligned_as_its_parts_are() {
        let mut all = buffers(&[(12, 0, 2), (12, 2, 4), (24, 0, 4)]).buffers().to_vec();
        (all[0].align, all[1].align, all[2].align) = (4, 6, 5);
        let problem = Problem::new(all).expect("valid");
        let blocks = Blocks::new(&problem, false, 1_000_000).expect("the first two");
        assert_eq!(blocks.problem.buffers().iter().map(|b| b.align).collect::<Vec<_>>(), [5, 12]);
    }

    #[test]
    fn straight_cuts_are_undone() {
        for seed in 0..6 {
            let cut = tight(Cuts::Guillotine, 300, seed);
            let count = |stacks| {
                let blocks = Blocks::new(&cut.problem, stacks, 100_000_000).expect("many");
                blocks.problem.len()
            };
            assert!(count(false) < 200 && count(true) < 20, "{} {}", count(false), count(true));
        }
    }
}
