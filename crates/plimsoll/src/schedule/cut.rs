//! A lower bound on what is alive while one group runs: a smallest cut.
//!
//! When a group runs, some set of others has run: all that it waits for, none that waits for it, and
//! with every group what that waits for. Which of these sets leaves the fewest bytes alive is a
//! smallest cut: a piece is cut where one of the groups that touch it has run and another has not.
//!
//! ```text
//!   has run ──▶ begun ──(bytes of the piece)──▶ over ──▶ has not run
//! ```
//!
//! An activation that is kept for the backward pass as it is or as a copy counts here, whichever of
//! both it is; [`bound`](super::bound) counts only what is alive in every order. What the group
//! touches itself counts as there. Cost: that of a maximal flow over the groups that can run on
//! either side, by the method of Dinitz.

use plimsoll_pack::dense::CompressedRows;

use super::cost::{CostModel, GroupId, PieceId};
use super::work::Work;

/// What is alive at least while a group runs; less than that if the work is used up.
pub(crate) fn least_alive(model: &CostModel, group: GroupId, work: &mut Work<'_, '_>) -> u64 {
    // The network is built of all groups and pieces, however little can flow in it.
    if !work.spend((model.len() + model.pieces()) as u64) {
        return 0;
    }
    let before = reached(model.len(), group, |group| model.before(group));
    let behind = reached(model.len(), group, |group| model.behind(group));
    let mut net = Net::new(model.len());
    let end_of = |other: GroupId| match () {
        () if before[other as usize] => SOURCE,
        () if behind[other as usize] || other == group => SINK,
        () => 2 + other,
    };
    for other in 0..model.len() as GroupId {
        let end = end_of(other);
        if end > SINK {
            for first in model.before(other) {
                net.edge(end, end_of(*first), ENDLESS);
            }
        }
    }
    let mut always = least_touched(model, group, &before, &behind);
    let mut ends: Vec<u32> = Vec::new();
    for piece in 0..model.pieces() as PieceId {
        if model.touches(group).binary_search(&piece).is_ok() {
            continue;
        }
        let (given, kept) = model.ends(piece);
        ends.clear();
        ends.extend(model.touching(piece).iter().map(|group| end_of(*group)));
        let begun = given || ends.contains(&SOURCE);
        let needed = kept || ends.contains(&SINK);
        if begun && needed {
            always += model.bytes(piece);
        } else if ends.iter().any(|end| *end > SINK) {
            net.piece(model.bytes(piece), &ends, given, kept);
        }
    }
    always + net.flow(work)
}

/// What the group touches, less what it may make or take over in some order.
fn least_touched(model: &CostModel, group: GroupId, before: &[bool], behind: &[bool]) -> u64 {
    let any = |set: &[bool], piece: PieceId| {
        model.touching(piece).iter().any(|other| set[*other as usize])
    };
    let fresh = |piece: PieceId| !model.ends(piece).0 && !any(before, piece);
    let last = |piece: PieceId| !any(behind, piece);
    let held = model.touches(group).iter().filter(|piece| !fresh(**piece));
    let held: u64 = held.map(|piece| model.bytes(*piece)).sum();
    held.saturating_add_signed(model.change(group, fresh, last).during)
}

/// The groups that are reached from a group, without itself.
fn reached<'c>(
    groups: usize,
    group: GroupId,
    next: impl Fn(GroupId) -> &'c [GroupId],
) -> Vec<bool> {
    let mut reached = vec![false; groups];
    let mut stack = vec![group];
    while let Some(group) = stack.pop() {
        for other in next(group) {
            if !std::mem::replace(&mut reached[*other as usize], true) {
                stack.push(*other);
            }
        }
    }
    reached
}

/// What has certainly run, and what has certainly not.
const SOURCE: u32 = 0;
const SINK: u32 = 1;

/// More than all bytes together.
const ENDLESS: u64 = u64::MAX / 4;

/// How much work it is to look at all edges of a network once, for each of them.
const WORK_OF_EDGE: u64 = 2;

/// The level of an end that is not reached from the source, and of one that leads nowhere.
const UNREACHED: u32 = u32::MAX - 1;
const DEAD: u32 = u32::MAX;

/// A network. Every edge is followed by its opposite.
struct Net {
    /// How many ends there are.
    ends: usize,
    from: Vec<u32>,
    to: Vec<u32>,
    room: Vec<u64>,
    /// The edges that begin at each end, in the order in which they were added.
    edges: CompressedRows<u32>,
}

impl Net {
    fn new(groups: usize) -> Self {
        Net {
            ends: groups + 2,
            from: Vec::new(),
            to: Vec::new(),
            room: Vec::new(),
            edges: CompressedRows::new(),
        }
    }

    fn edge(&mut self, from: u32, to: u32, room: u64) {
        for (from, to, room) in [(from, to, room), (to, from, 0)] {
            self.from.push(from);
            self.to.push(to);
            self.room.push(room);
        }
    }

    /// A piece that is touched at these ends.
    fn piece(&mut self, bytes: u64, ends: &[u32], given: bool, kept: bool) {
        let begun = self.ends as u32;
        self.ends += 2;
        self.edge(begun, begun + 1, bytes);
        for end in ends.iter().filter(|end| **end > SINK) {
            self.edge(*end, begun, ENDLESS);
            self.edge(begun + 1, *end, ENDLESS);
        }
        if given || ends.contains(&SOURCE) {
            self.edge(SOURCE, begun, ENDLESS);
        }
        if kept || ends.contains(&SINK) {
            self.edge(begun + 1, SINK, ENDLESS);
        }
    }

    /// Finds the edges of every end.
    fn index(&mut self) {
        let edges = self.from.iter().enumerate().map(|(edge, from)| (*from as usize, edge as u32));
        self.edges = CompressedRows::by_index(self.ends, edges);
    }

    fn edges_of(&self, end: u32) -> &[u32] {
        self.edges.row(end as usize)
    }

    /// The most that can flow from source to sink, or what was found of it when the work is used up:
    /// whatever flows has to be cut.
    fn flow(&mut self, work: &mut Work<'_, '_>) -> u64 {
        self.index();
        let mut flow = 0;
        loop {
            if !work.spend(self.to.len() as u64 * WORK_OF_EDGE) {
                return flow;
            }
            let mut levels = self.levels();
            if levels[SINK as usize] == UNREACHED {
                return flow;
            }
            let mut next = vec![0usize; self.ends];
            let mut path: Vec<u32> = Vec::new();
            loop {
                let at = path.last().map_or(SOURCE, |edge| self.to[*edge as usize]);
                if at == SINK {
                    if !work.spend(path.len() as u64) {
                        return flow;
                    }
                    flow += self.push_along(&mut path);
                    continue;
                }
                let edges = self.edges_of(at);
                let open = |edge: &u32| {
                    let to = self.to[*edge as usize] as usize;
                    self.room[*edge as usize] > 0 && levels[to] == levels[at as usize] + 1
                };
                if let Some(skipped) = edges[next[at as usize]..].iter().position(open) {
                    next[at as usize] += skipped;
                    path.push(edges[next[at as usize]]);
                } else {
                    // Nothing gets from here to the sink any more.
                    levels[at as usize] = DEAD;
                    if path.pop().is_none() {
                        break;
                    }
                }
            }
        }
    }

    /// How far each end is from the source.
    fn levels(&self) -> Vec<u32> {
        let mut levels = vec![UNREACHED; self.ends];
        levels[SOURCE as usize] = 0;
        let mut queue = std::collections::VecDeque::from([SOURCE]);
        while let Some(at) = queue.pop_front() {
            for edge in self.edges_of(at) {
                let to = self.to[*edge as usize];
                if self.room[*edge as usize] > 0 && levels[to as usize] == UNREACHED {
                    levels[to as usize] = levels[at as usize] + 1;
                    queue.push_back(to);
                }
            }
        }
        levels
    }

    /// Sends as much along a path as it takes, and goes back to where it is full.
    fn push_along(&mut self, path: &mut Vec<u32>) -> u64 {
        let room = |edge: &u32| self.room[*edge as usize];
        let most = path.iter().map(room).min().unwrap_or(0);
        let full = path.iter().position(|edge| room(edge) == most).unwrap_or(0);
        for edge in path.iter() {
            self.room[*edge as usize] -= most;
            self.room[*edge as usize ^ 1] += most;
        }
        path.truncate(full);
        most
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::declared::DeclaredProgram;
    use crate::options::Options;
    use crate::program::Execution;
    use crate::schedule::OrderableProgram;

    /// In any order of columns that do not wait for each other, all others can be over: nothing flows.
    #[test]
    fn a_cut_is_work_even_where_nothing_flows() {
        let options = Options { align: 1, ..Options::default() };
        let mut program = DeclaredProgram::new(Execution::InOrder);
        for _ in 0..100 {
            let value = program.temporary(4);
            program.step(&[], &[value]);
        }
        let ordered =
            OrderableProgram::of(&program, &options).unwrap_or_else(|error| panic!("{error}"));
        let model = CostModel::of(&ordered.source(&options));
        let mut pulse = || ControlFlow::Continue(());
        let mut work = Work::new(1_000_000, &mut pulse);
        let mut cuts = 0;
        while work.is_left() {
            cuts += 1;
            let alive = least_alive(&model, 50, &mut work);
            assert!(alive == 4 || !work.is_left());
        }
        // Two units for each group and piece at least, and not many more.
        assert!((500..5_000).contains(&cuts), "{cuts} cuts");
    }
}
