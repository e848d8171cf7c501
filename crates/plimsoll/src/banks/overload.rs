//! What has to go so that no more is alive at a time than a bank has room for.
//!
//! At the moment of the highest load, the first of these, the largest go until the load fits; then at the
//! moment that is the highest now, and so on. The loads are kept in a tree of maxima, so that a buffer
//! that goes costs O(log n) and a moment O(n), for n buffers.

use std::cmp::Reverse;

use plimsoll_pack::{BufferId, Problem, Sections, Sweep};

/// The buffers that go, in the order in which they do: of the first `ours` of a problem, with its sweep; the others
/// stay. `None` if what stays is too much alone.
pub(super) fn overload(
    problem: &Problem,
    sweep: &Sweep,
    ours: usize,
    capacity: u64,
) -> Option<Vec<BufferId>> {
    let mut loads = Loads::new(sweep.load());
    let mut is_gone = vec![false; ours];
    let mut gone = Vec::new();
    while loads.most() > capacity {
        let (section, mut over) = (loads.first_of_most(), loads.most() - capacity);
        let is_alive =
            |id: &BufferId| sweep.life(*id).range().contains(&section) && !is_gone[id.index()];
        let mut alive: Vec<BufferId> = problem.ids().take(ours).filter(is_alive).collect();
        alive.sort_unstable_by_key(|id| (Reverse(problem.buffer(*id).size), *id));
        if alive.is_empty() {
            return None;
        }
        for id in alive {
            if over == 0 {
                break;
            }
            over = over.saturating_sub(problem.buffer(id).size);
            is_gone[id.index()] = true;
            gone.push(id);
            for piece in sweep.pieces(id) {
                loads.lower(piece.sections, piece.span.len());
            }
        }
    }
    Some(gone)
}

/// The load of every section: a complete binary tree, whose leaves are the second half. A node has what was
/// taken off all sections below it, and their maximum with that.
struct Loads {
    taken_off: Vec<u64>,
    most: Vec<u64>,
}

impl Loads {
    fn new(loads: &[u64]) -> Self {
        let leaves = loads.len().next_power_of_two();
        let mut most = vec![0; 2 * leaves];
        most[leaves..leaves + loads.len()].copy_from_slice(loads);
        for node in (1..leaves).rev() {
            most[node] = most[2 * node].max(most[2 * node + 1]);
        }
        Loads { taken_off: vec![0; 2 * leaves], most }
    }

    /// The highest load.
    fn most(&self) -> u64 {
        self.most[1]
    }

    /// The first section with the highest load.
    fn first_of_most(&self) -> usize {
        let (leaves, mut node) = (self.most.len() / 2, 1);
        while node < leaves {
            node = if self.most[2 * node] >= self.most[2 * node + 1] {
                2 * node
            } else {
                2 * node + 1
            };
        }
        node - leaves
    }

    /// Takes so many bytes off some sections, all of which have them.
    fn lower(&mut self, Sections { start, end }: Sections, bytes: u64) {
        let leaves = self.most.len() / 2;
        let (mut from, mut to) = (start as usize + leaves, end as usize + leaves);
        let (first, last) = (from, to - 1);
        while from < to {
            if from % 2 == 1 {
                self.take_off(from, bytes);
                from += 1;
            }
            if to % 2 == 1 {
                to -= 1;
                self.take_off(to, bytes);
            }
            (from, to) = (from / 2, to / 2);
        }
        self.settle_above(first);
        self.settle_above(last);
    }

    fn take_off(&mut self, node: usize, bytes: u64) {
        self.taken_off[node] += bytes;
        self.most[node] -= bytes;
    }

    /// Works out the maxima above a leaf anew.
    fn settle_above(&mut self, leaf: usize) {
        let mut node = leaf / 2;
        while node > 0 {
            let below = self.most[2 * node].max(self.most[2 * node + 1]);
            self.most[node] = below - self.taken_off[node];
            node /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_pack::testing::{Rng, Shape, random_problem};

    use super::*;

    /// The same, with a sweep over what is left for every moment.
    fn plainly(problem: &Problem, ours: usize, capacity: u64) -> Option<Vec<BufferId>> {
        let mut gone: Vec<BufferId> = Vec::new();
        loop {
            let stays = |id: &BufferId| !gone.contains(id);
            let left: Vec<BufferId> = problem.ids().filter(stays).collect();
            let buffers = left.iter().map(|id| problem.buffer(*id).clone()).collect();
            let rest = Problem::new(buffers).expect("a part of what is valid");
            let sweep = Sweep::new(&rest);
            let (load, Some(section)) = sweep.peak() else { return Some(gone) };
            if load <= capacity {
                return Some(gone);
            }
            let moment = sweep.life_of(section);
            let is_alive =
                |id: &BufferId| id.index() < ours && problem.buffer(*id).life.meets(moment);
            let mut alive: Vec<BufferId> = left.into_iter().filter(is_alive).collect();
            alive.sort_by_key(|id| (Reverse(problem.buffer(*id).size), *id));
            if alive.is_empty() {
                return None;
            }
            let mut freed = 0;
            for id in alive {
                if freed >= load - capacity {
                    break;
                }
                freed += problem.buffer(id).size;
                gone.push(id);
            }
        }
    }

    #[test]
    fn it_is_what_a_sweep_for_every_moment_finds() {
        let mut rng = Rng::new(31);
        let shape = Shape { buffers: 1..40, times: 60, ..Shape::everything() };
        let mut found = [0; 3];
        for _ in 0..2000 {
            let problem = random_problem(&mut rng, &shape);
            let sweep = Sweep::new(&problem);
            let ours = problem.len() - rng.below(3).min(problem.len() as u64) as usize;
            let capacity = rng.below(sweep.peak().0 + 2);
            let gone = overload(&problem, &sweep, ours, capacity);
            assert_eq!(gone, plainly(&problem, ours, capacity));
            found[gone.map_or(0, |gone| 1 + usize::from(!gone.is_empty()))] += 1;
        }
        assert!(found.iter().all(|times| *times > 20), "{found:?}");
    }
}
