//! Some units that are to be ordered while everything before and after them stays where it is.
//!
//! What is alive depends on which units have run, so a partial order is a *state*: a set of units.
//! Units that can run without harm run at once; see [`greedy`](super::greedy).

use super::course::{Change, Course, UnitId, Walk};

/// A set of units of a scope.
pub(crate) type Set = Box<[u64]>;

/// Units that are to be ordered.
pub(crate) struct Scope<'c> {
    course: &'c Course,
    /// The units, in an order in which they can run.
    pub(crate) units: Vec<UnitId>,
    words: usize,
    /// For each unit those in the scope that it waits for.
    before: Vec<Set>,
    /// What is alive when the first begins.
    pub(crate) live: u64,
    /// For each buffer of the course: which units of the scope touch it; none for others.
    touching: Vec<Option<Touching>>,
}

struct Touching {
    units: Set,
    /// Whether a unit before the scope has touched it.
    begun: bool,
    /// Whether a unit after the scope will.
    needed: bool,
}

/// Where an order has got to.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The units that have run.
    pub(crate) done: Set,
    pub(crate) live: u64,
    /// The most that was alive so far.
    pub(crate) peak: u64,
}

impl State {
    /// The state after a unit.
    pub(crate) fn after(&self, unit: usize, change: Change) -> State {
        let mut done = self.done.clone();
        insert(&mut done, unit);
        State {
            done,
            live: self.live.saturating_add_signed(change.after),
            peak: self.peak.max(self.live.saturating_add_signed(change.during)),
        }
    }
}

impl<'c> Scope<'c> {
    /// The units `from..to` of an order.
    pub(crate) fn new(course: &'c Course, order: &[UnitId], from: usize, to: usize) -> Self {
        let units = order[from..to].to_vec();
        let words = units.len().div_ceil(64);
        let mut walk = Walk::new(course);
        for unit in &order[..from] {
            walk.run(*unit);
        }
        let mut local = vec![usize::MAX; course.len()];
        let mut position = vec![0usize; course.len()];
        for (index, unit) in order.iter().enumerate() {
            position[*unit as usize] = index;
        }
        for (index, unit) in units.iter().enumerate() {
            local[*unit as usize] = index;
        }
        let set = |members: &[UnitId]| {
            let mut set = empty(words);
            for member in members.iter().map(|unit| local[*unit as usize]) {
                if member != usize::MAX {
                    insert(&mut set, member);
                }
            }
            set
        };
        let before = units.iter().map(|unit| set(course.before(*unit))).collect();
        let mut touching: Vec<Option<Touching>> = (0..course.buffers()).map(|_| None).collect();
        for buffer in units.iter().flat_map(|unit| course.touches(*unit)) {
            let entry = &mut touching[*buffer as usize];
            if entry.is_none() {
                let units = course.touching(*buffer);
                let begun = units.iter().any(|unit| position[*unit as usize] < from);
                let needed = units.iter().any(|unit| position[*unit as usize] >= to);
                *entry = Some(Touching { units: set(units), begun, needed });
            }
        }
        Scope { course, units, words, before, live: walk.live(), touching }
    }

    /// How many units there are.
    pub(crate) fn len(&self) -> usize {
        self.units.len()
    }

    /// Before the first unit; what was alive before that does not count.
    pub(crate) fn start(&self, floor: u64) -> State {
        State { done: empty(self.words), live: self.live, peak: floor.max(self.live) }
    }

    /// Whether all units have run.
    pub(crate) fn is_over(&self, state: &State) -> bool {
        count(&state.done) == self.len()
    }

    /// The units that can run next.
    pub(crate) fn ready(&self, state: &State) -> Vec<usize> {
        let ready = |unit: &usize| {
            let waits = self.before[*unit].iter().zip(&state.done);
            !contains(&state.done, *unit)
                && waits.into_iter().all(|(before, done)| before & !done == 0)
        };
        (0..self.len()).filter(ready).collect()
    }

    /// What a unit would do next.
    pub(crate) fn change(&self, state: &State, unit: usize) -> Change {
        let touching = |buffer: u32| self.touching[buffer as usize].as_ref();
        self.course.change(
            self.units[unit],
            |buffer| {
                touching(buffer).is_some_and(|t| {
                    !t.begun
                        && t.units.iter().zip(&state.done).all(|(units, done)| units & done == 0)
                })
            },
            |buffer| {
                touching(buffer).is_some_and(|t| {
                    let left = t.units.iter().zip(&state.done).map(|(units, done)| units & !done);
                    !t.needed && left.map(u64::count_ones).sum::<u32>() == 1
                })
            },
        )
    }

    /// Runs everything that can run without harm; gives what ran, in order.
    pub(crate) fn settle(&self, state: &mut State) -> Vec<usize> {
        let mut ran = Vec::new();
        loop {
            let harmless = self.ready(state).into_iter().find_map(|unit| {
                let change = self.change(state, unit);
                let most = state.live.saturating_add_signed(change.during);
                (change.after <= 0 && most <= state.peak).then_some((unit, change))
            });
            let Some((unit, change)) = harmless else { return ran };
            *state = state.after(unit, change);
            ran.push(unit);
        }
    }

    /// The units of the course that members of the scope are.
    pub(crate) fn named(&self, members: &[usize]) -> Vec<UnitId> {
        members.iter().map(|member| self.units[*member]).collect()
    }
}

fn empty(words: usize) -> Set {
    vec![0; words].into_boxed_slice()
}

fn insert(set: &mut Set, member: usize) {
    set[member / 64] |= 1 << (member % 64);
}

fn contains(set: &Set, member: usize) -> bool {
    set[member / 64] >> (member % 64) & 1 == 1
}

fn count(set: &Set) -> usize {
    set.iter().map(|word| word.count_ones() as usize).sum()
}
