//! A lower bound on what is alive while one unit runs: a smallest cut.
//!
//! When a unit runs, some set of others has run: all that it waits for, none that waits for it, and
//! with every unit what that waits for. Which of these sets leaves the fewest bytes alive is a
//! smallest cut: a buffer is cut where one of the units that touch it has run and another has not.
//!
//! ```text
//!   has run ──▶ begun ──(bytes of the buffer)──▶ over ──▶ has not run
//! ```
//!
//! An activation that is kept for the backward pass as it is or as a copy counts here, whichever of
//! both it is; [`bound`](super::bound) counts only what is alive in every order. What the unit
//! touches itself counts as there. Cost: that of a maximal flow over the units that can run on
//! either side, by the method of Dinitz.

use super::course::{BufferId, Course, UnitId};

/// What is alive at least while a unit runs, and the work that it took to say so.
pub(crate) fn least_alive(course: &Course, unit: UnitId) -> (u64, u64) {
    let before = reached(course.len(), unit, |unit| course.before(unit));
    let behind = reached(course.len(), unit, |unit| course.behind(unit));
    let mut net = Net::new(course.len());
    let end_of = |other: UnitId| match () {
        () if before[other as usize] => SOURCE,
        () if behind[other as usize] || other == unit => SINK,
        () => 2 + other,
    };
    for other in 0..course.len() as UnitId {
        let end = end_of(other);
        if end > SINK {
            for first in course.before(other) {
                net.edge(end, end_of(*first), ENDLESS);
            }
        }
    }
    let mut always = least_touched(course, unit, &before, &behind);
    for buffer in 0..course.buffers() as BufferId {
        if course.touches(unit).binary_search(&buffer).is_ok() {
            continue;
        }
        let (given, kept) = course.ends(buffer);
        let ends: Vec<u32> = course.touching(buffer).iter().map(|unit| end_of(*unit)).collect();
        let begun = given || ends.contains(&SOURCE);
        let needed = kept || ends.contains(&SINK);
        if begun && needed {
            always += course.bytes(buffer);
        } else if ends.iter().any(|end| *end > SINK) {
            net.buffer(course.bytes(buffer), &ends, given, kept);
        }
    }
    let work = net.to.len() as u64 * WORK_OF_EDGE;
    (always + net.flow(), work)
}

/// What the unit touches, less what it may make or take over in some order.
fn least_touched(course: &Course, unit: UnitId, before: &[bool], behind: &[bool]) -> u64 {
    let any = |set: &[bool], buffer: BufferId| {
        course.touching(buffer).iter().any(|other| set[*other as usize])
    };
    let fresh = |buffer: BufferId| !course.ends(buffer).0 && !any(before, buffer);
    let last = |buffer: BufferId| !any(behind, buffer);
    let held = course.touches(unit).iter().filter(|buffer| !fresh(**buffer));
    let held: u64 = held.map(|buffer| course.bytes(*buffer)).sum();
    held.saturating_add_signed(course.change(unit, fresh, last).during)
}

/// The units that are reached from a unit, without itself.
fn reached<'c>(units: usize, unit: UnitId, next: impl Fn(UnitId) -> &'c [UnitId]) -> Vec<bool> {
    let mut reached = vec![false; units];
    let mut stack = vec![unit];
    while let Some(unit) = stack.pop() {
        for other in next(unit) {
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

/// How much work an edge of a network is.
const WORK_OF_EDGE: u64 = 8;

/// The level of an end that is not reached from the source, and of one that leads nowhere.
const UNREACHED: u32 = u32::MAX - 1;
const DEAD: u32 = u32::MAX;

/// A network. Every edge is followed by its opposite.
struct Net {
    edges_of: Vec<Vec<u32>>,
    to: Vec<u32>,
    room: Vec<u64>,
}

impl Net {
    fn new(units: usize) -> Self {
        Net { edges_of: vec![Vec::new(); units + 2], to: Vec::new(), room: Vec::new() }
    }

    fn edge(&mut self, from: u32, to: u32, room: u64) {
        for (from, to, room) in [(from, to, room), (to, from, 0)] {
            self.edges_of[from as usize].push(self.to.len() as u32);
            self.to.push(to);
            self.room.push(room);
        }
    }

    /// A buffer that is touched at these ends.
    fn buffer(&mut self, bytes: u64, ends: &[u32], given: bool, kept: bool) {
        let begun = self.edges_of.len() as u32;
        self.edges_of.extend([Vec::new(), Vec::new()]);
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

    /// The most that can flow from source to sink.
    fn flow(&mut self) -> u64 {
        let mut flow = 0;
        loop {
            let mut levels = self.levels();
            if levels[SINK as usize] == UNREACHED {
                return flow;
            }
            let mut next = vec![0usize; self.edges_of.len()];
            let mut path: Vec<u32> = Vec::new();
            loop {
                let at = path.last().map_or(SOURCE, |edge| self.to[*edge as usize]);
                if at == SINK {
                    flow += self.push_along(&mut path);
                    continue;
                }
                let edges = &self.edges_of[at as usize];
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
        let mut levels = vec![UNREACHED; self.edges_of.len()];
        levels[SOURCE as usize] = 0;
        let mut queue = std::collections::VecDeque::from([SOURCE]);
        while let Some(at) = queue.pop_front() {
            for edge in &self.edges_of[at as usize] {
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
