//! Some groups that are to be ordered while everything before and after them stays where it is.
//!
//! What is alive depends on which groups have run, so a partial order is a *state*: a set of groups.
//! Groups that can run without harm run at once; see [`greedy`](super::greedy).

use std::cell::Cell;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use super::cost::{Change, CostModel, GroupId, Walk};

/// A set of groups of a scope.
pub(crate) type Set = Box<[u64]>;

/// Something for each of some sets.
pub(crate) type BySet<T> = HashMap<Set, T, BuildHasherDefault<OfWords>>;

/// A quick hash of the words of a set: nobody chooses them to collide.
#[derive(Default)]
pub(crate) struct OfWords(u64);

impl Hasher for OfWords {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        for word in words {
            self.write_u64(u64::from_ne_bytes(*word));
        }
        for byte in rest {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        // Odd, with its bits spread: the golden ratio in 64 bits.
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// Groups that are to be ordered.
pub(crate) struct Scope<'c> {
    model: &'c CostModel,
    /// The groups, in an order in which they can run.
    pub(crate) groups: Vec<GroupId>,
    words: usize,
    /// For each group those in the scope that it waits for.
    before: Vec<Members>,
    /// What is alive when the first begins.
    pub(crate) live: u64,
    /// For each piece of the model: which groups of the scope touch it; none for others.
    touching: Vec<Option<Touching>>,
    /// For each group those in the scope that wait for it.
    behind: Vec<Vec<usize>>,
    /// What was looked at since somebody asked.
    looked_at: Cell<u64>,
}

/// Some groups of a scope: a list where they are fewer than the words of a set.
enum Members {
    Few(Box<[u32]>),
    Many(Set),
}

impl Members {
    fn new(members: &[usize], words: usize) -> Self {
        if members.len() < words {
            return Members::Few(members.iter().map(|member| *member as u32).collect());
        }
        let mut set = empty(words);
        for member in members {
            insert(&mut set, *member);
        }
        Members::Many(set)
    }

    fn all_in(&self, done: &Set) -> bool {
        match self {
            Members::Few(list) => list.iter().all(|member| contains(done, *member as usize)),
            Members::Many(set) => set.iter().zip(done).all(|(set, done)| set & !done == 0),
        }
    }

    fn none_in(&self, done: &Set) -> bool {
        match self {
            Members::Few(list) => !list.iter().any(|member| contains(done, *member as usize)),
            Members::Many(set) => set.iter().zip(done).all(|(set, done)| set & done == 0),
        }
    }

    /// Whether exactly one of them is left.
    fn all_but_one_in(&self, done: &Set) -> bool {
        let left = match self {
            Members::Few(list) => {
                list.iter().filter(|member| !contains(done, **member as usize)).count() as u32
            }
            Members::Many(set) => set.iter().zip(done).map(|(s, d)| (s & !d).count_ones()).sum(),
        };
        left == 1
    }
}

struct Touching {
    groups: Members,
    /// Whether a group before the scope has touched it.
    begun: bool,
    /// Whether a group after the scope will.
    needed: bool,
}

/// Where an order has got to.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// The groups that have run.
    pub(crate) done: Set,
    /// Those that can run next, in order.
    ready: Vec<usize>,
    pub(crate) live: u64,
    /// The most that was alive so far.
    pub(crate) peak: u64,
}

impl State {
    /// The most that was alive once a group has run that does this.
    pub(crate) fn peak_with(&self, change: Change) -> u64 {
        self.peak.max(self.live.saturating_add_signed(change.during))
    }

    fn run(&mut self, group: usize, change: Change) {
        insert(&mut self.done, group);
        self.peak = self.peak_with(change);
        self.live = self.live.saturating_add_signed(change.after);
    }
}

impl<'c> Scope<'c> {
    /// The groups `from..to` of an order.
    pub(crate) fn new(model: &'c CostModel, order: &[GroupId], from: usize, to: usize) -> Self {
        let groups = order[from..to].to_vec();
        let words = groups.len().div_ceil(64);
        let mut walk = Walk::new(model);
        for group in &order[..from] {
            walk.run(*group);
        }
        let mut local = vec![usize::MAX; model.len()];
        let mut position = vec![0usize; model.len()];
        for (index, group) in order.iter().enumerate() {
            position[*group as usize] = index;
        }
        for (index, group) in groups.iter().enumerate() {
            local[*group as usize] = index;
        }
        let members = |groups: &[GroupId]| -> Vec<usize> {
            let members = groups.iter().map(|group| local[*group as usize]);
            members.filter(|member| *member != usize::MAX).collect()
        };
        let set = |groups: &[GroupId]| Members::new(&members(groups), words);
        let before = groups.iter().map(|group| set(model.before(*group))).collect();
        let mut touching: Vec<Option<Touching>> = (0..model.pieces()).map(|_| None).collect();
        for piece in groups.iter().flat_map(|group| model.touches(*group)) {
            let entry = &mut touching[*piece as usize];
            if entry.is_none() {
                let groups = model.touching(*piece);
                let begun = groups.iter().any(|group| position[*group as usize] < from);
                let needed = groups.iter().any(|group| position[*group as usize] >= to);
                *entry = Some(Touching { groups: set(groups), begun, needed });
            }
        }
        let behind = groups.iter().map(|group| members(model.behind(*group))).collect();
        let live = walk.live();
        Scope { model, groups, words, before, behind, live, touching, looked_at: Cell::new(0) }
    }

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.groups.len()
    }

    /// Before the first group; what was alive before that does not count.
    pub(crate) fn start(&self, floor: u64) -> State {
        let done = empty(self.words);
        let ready = (0..self.len()).filter(|group| self.before[*group].all_in(&done)).collect();
        State { done, ready, live: self.live, peak: floor.max(self.live) }
    }

    /// The state after a group that was ready.
    pub(crate) fn after(&self, state: &State, group: usize, change: Change) -> State {
        let at = state.ready.partition_point(|other| *other < group);
        let mut ready = Vec::with_capacity(state.ready.len() + self.behind[group].len());
        ready.extend_from_slice(&state.ready[..at]);
        ready.extend_from_slice(&state.ready[at + 1..]);
        let State { done, live, peak, .. } = state;
        let mut after = State { done: done.clone(), ready: Vec::new(), live: *live, peak: *peak };
        after.run(group, change);
        for freed in self.freed(&after, group) {
            let at = ready.partition_point(|other| *other < freed);
            ready.insert(at, freed);
        }
        after.ready = ready;
        after
    }

    /// Whether all groups have run.
    pub(crate) fn is_over(&self, state: &State) -> bool {
        count(&state.done) == self.len()
    }

    /// The work that was done since this was asked.
    pub(crate) fn work(&self) -> u64 {
        self.looked_at.replace(0)
    }

    fn look_at(&self, count: usize) {
        self.looked_at.set(self.looked_at.get() + count as u64);
    }

    /// The groups that can run next.
    pub(crate) fn ready<'s>(&self, state: &'s State) -> &'s [usize] {
        self.look_at(self.len());
        &state.ready
    }

    /// The groups that can run now that a group has run.
    fn freed<'s>(&'s self, state: &'s State, group: usize) -> impl Iterator<Item = usize> + 's {
        let behind = self.behind[group].iter().copied();
        behind.filter(|next| self.before[*next].all_in(&state.done))
    }

    /// What a group would do next.
    pub(crate) fn change(&self, state: &State, group: usize) -> Change {
        self.look_at(1 + self.model.touches(self.groups[group]).len() * self.words.div_ceil(4));
        let touching = |piece: u32| self.touching[piece as usize].as_ref();
        self.model.change(
            self.groups[group],
            |piece| touching(piece).is_some_and(|t| !t.begun && t.groups.none_in(&state.done)),
            |piece| {
                touching(piece).is_some_and(|t| !t.needed && t.groups.all_but_one_in(&state.done))
            },
        )
    }

    /// Runs everything that can run without harm; gives what ran, in order.
    pub(crate) fn settle(&self, state: &mut State) -> Vec<usize> {
        let mut ran = Vec::new();
        self.look_at(self.len());
        loop {
            let before = ran.len();
            let mut waiting = Vec::with_capacity(state.ready.len());
            let mut queue = VecDeque::from(std::mem::take(&mut state.ready));
            while let Some(group) = queue.pop_front() {
                let change = self.change(state, group);
                let most = state.live.saturating_add_signed(change.during);
                if change.after > 0 || most > state.peak {
                    waiting.push(group);
                    continue;
                }
                state.run(group, change);
                ran.push(group);
                self.look_at(self.behind[group].len() + self.words);
                queue.extend(self.freed(state, group));
            }
            state.ready = waiting;
            state.ready.sort_unstable();
            // What waits may be harmless now that less is alive.
            if ran.len() == before {
                return ran;
            }
        }
    }

    /// The groups of the model that members of the scope are.
    pub(crate) fn named(&self, members: &[usize]) -> Vec<GroupId> {
        members.iter().map(|member| self.groups[*member]).collect()
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
