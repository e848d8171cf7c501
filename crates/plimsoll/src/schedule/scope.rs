//! Some groups that are to be ordered while everything before and after them stays where it is.
//!
//! What is alive depends on which groups have run, so a partial order is a *state*: a set of groups.
//! Groups that can run without harm run at once; see [`greedy`](super::greedy).

use std::cell::Cell;
use std::collections::VecDeque;

use super::cost::{Change, CostModel, GroupId, Walk};

/// A set of groups of a scope.
pub(crate) type Set = Box<[u64]>;

/// Groups that are to be ordered.
pub(crate) struct Scope<'c> {
    model: &'c CostModel,
    /// The groups, in an order in which they can run.
    pub(crate) groups: Vec<GroupId>,
    words: usize,
    /// For each group those in the scope that it waits for.
    before: Vec<Set>,
    /// What is alive when the first begins.
    pub(crate) live: u64,
    /// For each piece of the model: which groups of the scope touch it; none for others.
    touching: Vec<Option<Touching>>,
    /// For each group those in the scope that wait for it.
    behind: Vec<Vec<usize>>,
    /// What was looked at since somebody asked.
    looked_at: Cell<u64>,
}

struct Touching {
    groups: Set,
    /// Whether a group before the scope has touched it.
    begun: bool,
    /// Whether a group after the scope will.
    needed: bool,
}

/// Where an order has got to.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// The groups that have run.
    pub(crate) done: Set,
    pub(crate) live: u64,
    /// The most that was alive so far.
    pub(crate) peak: u64,
}

impl State {
    /// The state after a group.
    pub(crate) fn after(&self, group: usize, change: Change) -> State {
        let mut done = self.done.clone();
        insert(&mut done, group);
        State {
            done,
            live: self.live.saturating_add_signed(change.after),
            peak: self.peak.max(self.live.saturating_add_signed(change.during)),
        }
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
        let set = |members: &[GroupId]| {
            let mut set = empty(words);
            for member in members.iter().map(|group| local[*group as usize]) {
                if member != usize::MAX {
                    insert(&mut set, member);
                }
            }
            set
        };
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
        let members = |groups: &[GroupId]| {
            let members = groups.iter().map(|group| local[*group as usize]);
            members.filter(|member| *member != usize::MAX).collect()
        };
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
        State { done: empty(self.words), live: self.live, peak: floor.max(self.live) }
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
    pub(crate) fn ready(&self, state: &State) -> Vec<usize> {
        self.look_at(self.len());
        (0..self.len()).filter(|group| self.is_ready(state, *group)).collect()
    }

    fn is_ready(&self, state: &State, group: usize) -> bool {
        let waits = self.before[group].iter().zip(&state.done);
        !contains(&state.done, group) && waits.into_iter().all(|(before, done)| before & !done == 0)
    }

    /// What a group would do next.
    pub(crate) fn change(&self, state: &State, group: usize) -> Change {
        self.look_at(1 + self.model.touches(self.groups[group]).len() * self.words.div_ceil(4));
        let touching = |piece: u32| self.touching[piece as usize].as_ref();
        self.model.change(
            self.groups[group],
            |piece| {
                touching(piece).is_some_and(|t| {
                    !t.begun
                        && t.groups.iter().zip(&state.done).all(|(groups, done)| groups & done == 0)
                })
            },
            |piece| {
                touching(piece).is_some_and(|t| {
                    let left =
                        t.groups.iter().zip(&state.done).map(|(groups, done)| groups & !done);
                    !t.needed && left.map(u64::count_ones).sum::<u32>() == 1
                })
            },
        )
    }

    /// Runs everything that can run without harm; gives what ran, in order.
    pub(crate) fn settle(&self, state: &mut State) -> Vec<usize> {
        let mut ran = Vec::new();
        let mut ready = self.ready(state);
        loop {
            let before = ran.len();
            let mut waiting = Vec::with_capacity(ready.len());
            let mut queue = VecDeque::from(std::mem::take(&mut ready));
            while let Some(group) = queue.pop_front() {
                let change = self.change(state, group);
                let most = state.live.saturating_add_signed(change.during);
                if change.after > 0 || most > state.peak {
                    waiting.push(group);
                    continue;
                }
                *state = state.after(group, change);
                ran.push(group);
                self.look_at(self.behind[group].len() + self.words);
                queue.extend(self.behind[group].iter().filter(|next| self.is_ready(state, **next)));
            }
            // What waits may be harmless now that less is alive.
            if ran.len() == before {
                return ran;
            }
            ready = waiting;
            ready.sort_unstable();
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
