//! Greedy: of all groups that wait for nothing any more, the one that is best now.
//!
//! A group that leaves no more bytes alive than it finds, and does not lift the peak on its way, can
//! always be next without harm: whatever runs later runs with no more alive. All other groups are
//! compared by a [`Rule`]. What a group would do is worked out anew only when it changes. Cost: by what they
//! leave alive O((groups + touches) × log ready groups), in all but odd cases; by the others
//! O(groups × ready groups + touches), up to [`MOST_COMPARED`], and for chains O(groups × ready groups × touches) where few
//! are ready.

use std::collections::BTreeSet;

use super::cost::{Change, CostModel, GroupId, Walk};
use super::work::Work;

/// What makes a group better than another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// It leaves fewer bytes alive.
    Net,
    /// It lifts the peak less, then it leaves fewer bytes alive.
    Peak,
    /// What can run right behind it, and only behind it, lifts the peak less and leaves fewer bytes
    /// alive, looking ahead a few groups.
    Chain,
}

impl Rule {
    pub(crate) const ALL: [Rule; 3] = [Rule::Net, Rule::Peak, Rule::Chain];
}

/// How far a chain is followed.
const LOOK_AHEAD: i64 = 12;

/// More ready groups than this are not looked ahead from.
const MOST_CHAINS: usize = 48;

/// How many ready groups are passed over in a unit of work.
const PASSED_OVER: u64 = 16;

/// A rule that has to compare more groups than this gives up: it takes about half a second.
const MOST_COMPARED: u64 = 200_000_000;

/// An order of the groups; `None` if it was stopped or gave up.
pub(crate) fn greedy(
    model: &CostModel,
    rule: Rule,
    work: &mut Work<'_, '_>,
) -> Option<Vec<GroupId>> {
    let mut running = Running::new(model, rule);
    let mut order = Vec::with_capacity(model.len());
    let mut compared = 0;
    while !running.ready.is_empty() {
        let passed = if rule == Rule::Net { 0 } else { running.ready.len() as u64 };
        compared += passed;
        if !work.count(1 + passed / PASSED_OVER + running.work) || compared > MOST_COMPARED {
            return None;
        }
        running.work = 0;
        let next = running.pick();
        order.push(running.run(next));
    }
    Some(order)
}

struct Running<'c> {
    model: &'c CostModel,
    rule: Rule,
    walk: Walk<'c>,
    /// For how many each group waits.
    waits: Vec<usize>,
    /// The groups that wait for nothing, in order.
    ready: Vec<GroupId>,
    /// What each of them would do now.
    changes: Vec<Change>,
    /// The same in order, where they are compared by what they leave alive.
    by_net: ByNet,
    peak: u64,
    work: u64,
}

/// Ready groups by what they leave alive.
#[derive(Default)]
struct ByNet {
    all: BTreeSet<(i64, i64, GroupId)>,
    /// Those that leave no more alive than they find, in order.
    falling: BTreeSet<GroupId>,
}

impl ByNet {
    fn add(&mut self, group: GroupId, change: Change) {
        self.all.insert((change.after, change.during, group));
        if change.after <= 0 {
            self.falling.insert(group);
        }
    }

    fn remove(&mut self, group: GroupId, change: Change) {
        self.all.remove(&(change.after, change.during, group));
        self.falling.remove(&group);
    }
}

impl<'c> Running<'c> {
    fn new(model: &'c CostModel, rule: Rule) -> Self {
        let groups = 0..model.len() as GroupId;
        let waits: Vec<usize> = groups.clone().map(|group| model.before(group).len()).collect();
        let ready: Vec<GroupId> = groups.filter(|group| waits[*group as usize] == 0).collect();
        let walk = Walk::new(model);
        let changes = vec![Change::default(); model.len()];
        let (by_net, peak) = (ByNet::default(), model.base());
        let mut running =
            Running { model, rule, walk, waits, ready, changes, by_net, peak, work: 0 };
        for index in 0..running.ready.len() {
            running.add(running.ready[index]);
        }
        running
    }

    /// Finds out what a group that is ready would do.
    fn add(&mut self, group: GroupId) {
        let change = self.walk.change(group);
        self.changes[group as usize] = change;
        if self.rule == Rule::Net {
            self.by_net.add(group, change);
        }
    }

    /// Forgets what a group would do.
    fn forget(&mut self, group: GroupId) {
        if self.rule == Rule::Net {
            self.by_net.remove(group, self.changes[group as usize]);
        }
    }

    /// Whether a group does no harm: it leaves no more alive than it finds, and does not lift the peak.
    fn is_harmless(&self, group: GroupId) -> bool {
        let change = self.changes[group as usize];
        change.after <= 0 && self.walk.live().saturating_add_signed(change.during) <= self.peak
    }

    /// The place in the list of ready groups of the one that is next.
    fn pick(&mut self) -> usize {
        if self.rule == Rule::Net {
            let harmless = self.by_net.falling.iter().find(|group| self.is_harmless(**group));
            let lowest = || self.by_net.all.first().map(|(.., group)| group);
            let next = harmless.or_else(lowest);
            return next.and_then(|next| self.ready.binary_search(next).ok()).unwrap_or(0);
        }
        let rule = self.rule;
        let mut best: Option<((u64, i64, i64), usize)> = None;
        let ahead = rule == Rule::Chain && self.ready.len() <= MOST_CHAINS;
        for index in 0..self.ready.len() {
            let group = self.ready[index];
            if self.is_harmless(group) {
                return index;
            }
            let change = self.changes[group as usize];
            let most = self.walk.live().saturating_add_signed(change.during);
            let key = if ahead {
                self.chain(group)
            } else {
                (most.max(self.peak), change.after, change.during)
            };
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, index));
            }
        }
        best.map_or(0, |(_, index)| index)
    }

    /// Runs the ready group at that place of the list.
    fn run(&mut self, index: usize) -> GroupId {
        let group = self.ready.remove(index);
        self.forget(group);
        self.peak = self.peak.max(self.walk.run(group));
        for behind in self.model.behind(group) {
            self.waits[*behind as usize] -= 1;
            if self.waits[*behind as usize] == 0 {
                let at = self.ready.partition_point(|other| other < behind);
                self.ready.insert(at, *behind);
                self.add(*behind);
            }
        }
        // A group does something else once it is no longer the first at a piece, or is the last.
        for piece in self.model.touches(group) {
            if !self.walk.is_turning(*piece) {
                continue;
            }
            for other in self.model.touching(*piece) {
                if self.ready.binary_search(other).is_ok() {
                    self.forget(*other);
                    self.add(*other);
                    self.work += self.model.touches(*other).len() as u64;
                }
            }
        }
        group
    }

    /// The peak on the way to the lowest point that a chain of groups reaches, and that point.
    fn chain(&mut self, group: GroupId) -> (u64, i64, i64) {
        let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let from = signed(self.walk.live());
        let mut ran: Vec<(GroupId, u64)> = Vec::new();
        let mut released: Vec<(GroupId, usize)> = Vec::new();
        let (mut most, mut next) = (self.peak, Some(group));
        let mut best = (u64::MAX, i64::MAX, 0i64);
        for length in 1..=LOOK_AHEAD {
            let Some(group) = next else { break };
            ran.push((group, self.walk.live()));
            most = most.max(self.walk.run(group));
            self.work += self.model.touches(group).len() as u64;
            let gain = signed(self.walk.live()).saturating_sub(from);
            best = best.min((most, gain, length));
            if gain <= 0 {
                break;
            }
            for behind in self.model.behind(group) {
                match released.iter_mut().find(|(other, _)| other == behind) {
                    Some((_, left)) => *left -= 1,
                    None => released.push((*behind, self.waits[*behind as usize] - 1)),
                }
            }
            self.work += released.len() as u64;
            next = released
                .iter()
                .filter(|(_, left)| *left == 0)
                .map(|(group, _)| *group)
                .min_by_key(|group| (self.walk.change(*group).after, *group));
            released.retain(|(group, _)| Some(*group) != next);
        }
        for (group, live) in ran.into_iter().rev() {
            self.walk.undo(group, live);
        }
        best
    }
}
