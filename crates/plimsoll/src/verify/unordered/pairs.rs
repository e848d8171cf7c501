//! Things that share bytes, and whether one is over before the other begins.

use std::collections::BTreeSet;

use plimsoll_pack::Span;

use super::super::before::{Answers, Order};
use super::super::facts::{Facts, HeldSince, Use};
use super::super::violation::{Culprit, Region, Thing, Violation};
use crate::ids::{StepId, ValueId};
use crate::program::{AccessKind, Until};

/// Before all steps, and after all.
const START: u32 = u32::MAX - 1;
const END: u32 = u32::MAX;

/// Something that occupies bytes.
pub(super) struct Item {
    pub(super) root: Option<ValueId>,
    pub(super) space: u32,
    pub(super) span: Span,
    /// At least one.
    pub(super) touches: Vec<ThingAccess>,
}

/// A moment: where a step begins or is over, or where it writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    node: u32,
    at_writes: bool,
}

/// One access to a thing.
#[derive(Clone, Copy, Debug)]
pub(super) struct ThingAccess {
    thing: Thing,
    /// `None` for those from outside, before or after the run.
    step: Option<StepId>,
    writes: bool,
    /// Over with its own step, and not later.
    in_step: bool,
    begins: [Mark; 2],
    overs: [Mark; 2],
}

impl ThingAccess {
    pub(super) fn of_use(used: &Use) -> Self {
        let writes = used.kind == AccessKind::Write;
        let own = Mark { node: used.step.0, at_writes: writes };
        let from = match used.from {
            Some(from) if from != used.step => Mark { node: from.0, at_writes: false },
            _ => own,
        };
        let over = Mark { node: used.step.0, at_writes: used.until == Until::Writes };
        let until = match used.until {
            Until::Writes | Until::Step => over,
            Until::After(step) => Mark { node: step.0, at_writes: false },
            Until::EndOfRun => Mark { node: END, at_writes: false },
        };
        ThingAccess {
            thing: Thing::Value(used.value),
            step: Some(used.step),
            writes,
            in_step: used.until == Until::Step,
            begins: [own, from],
            overs: [over, until],
        }
    }

    pub(super) fn of_scratch(step: StepId) -> Self {
        let mark = [Mark { node: step.0, at_writes: false }; 2];
        let thing = Thing::Scratch(step);
        ThingAccess {
            thing,
            step: Some(step),
            writes: true,
            in_step: true,
            begins: mark,
            overs: mark,
        }
    }

    /// Filled before the run.
    pub(super) fn from_outside(value: ValueId) -> Self {
        ThingAccess { writes: true, ..ThingAccess::outside(value, START) }
    }

    /// Expected to be there when the run is over.
    pub(super) fn after_run(value: ValueId) -> Self {
        ThingAccess::outside(value, END)
    }

    fn outside(value: ValueId, node: u32) -> Self {
        let mark = [Mark { node, at_writes: false }; 2];
        let thing = Thing::Value(value);
        ThingAccess { thing, step: None, writes: false, in_step: false, begins: mark, overs: mark }
    }

    fn culprit(&self) -> Culprit {
        Culprit { thing: self.thing, step: self.step }
    }

    /// Calls with every question that has to be asked to know whether this is over before that.
    pub(super) fn ask(&self, other: &ThingAccess, asked: &mut Vec<(u32, u32)>) {
        for over in self.overs {
            for begin in other.begins {
                if over.node < START && begin.node < START && over.node != begin.node {
                    asked.push((over.node, begin.node));
                }
            }
        }
    }

    /// Whether this is certainly over before that begins.
    pub(super) fn before(&self, other: &ThingAccess, answers: &Answers) -> bool {
        let over_before = |over: &Mark, begin: &Mark| match (over.node, begin.node) {
            (END, _) | (_, START) => false,
            (START, _) | (_, END) => true,
            (a, b) if a == b => over.at_writes && begin.at_writes,
            (a, b) => answers.before(a, b),
        };
        self.overs.iter().all(|over| other.begins.iter().all(|begin| over_before(over, begin)))
    }
}

/// When the first access to an item may begin, for sorting.
fn key(item: &Item, order: &Order) -> u32 {
    let rank = |mark: &Mark| match mark.node {
        START => 0,
        END => u32::MAX,
        step => order.rank[step as usize] + 1,
    };
    item.touches.iter().flat_map(|t| t.begins.iter().map(rank)).min().unwrap_or(0)
}

/// Addresses at which items begin and end, ends first.
fn borders(items: &[Item]) -> Vec<(u32, u64, bool, u32)> {
    let mut borders = Vec::with_capacity(2 * items.len());
    for (index, item) in items.iter().enumerate() {
        borders.push((item.space, item.span.lo, true, index as u32));
        borders.push((item.space, item.span.hi, false, index as u32));
    }
    borders.sort_unstable();
    borders
}

/// Pairs that share a byte with no third between them in time; if these are all ordered, all are.
pub(super) fn neighbours(items: &[Item], order: &Order) -> Vec<(u32, u32)> {
    let keys: Vec<u32> = items.iter().map(|item| key(item, order)).collect();
    let mut here: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut pairs = Vec::new();
    for (.., begins, index) in borders(items) {
        let at = (keys[index as usize], index);
        here.remove(&at);
        let before = here.range(..at).next_back().map(|(_, other)| *other);
        let after = here.range(at..).next().map(|(_, other)| *other);
        if begins {
            pairs.extend(before.map(|before| (before, index)));
            pairs.extend(after.map(|after| (index, after)));
            here.insert(at);
        } else {
            pairs.extend(before.zip(after));
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Pairs that share a byte, in order of time, but not more than so many.
pub(super) fn overlapping(items: &[Item], order: &Order, most: usize) -> Vec<(u32, u32)> {
    let keys: Vec<u32> = items.iter().map(|item| key(item, order)).collect();
    let mut here: BTreeSet<(u32, u32)> = BTreeSet::new();
    let mut pairs = Vec::new();
    for (.., begins, index) in borders(items) {
        let at = (keys[index as usize], index);
        if !begins {
            here.remove(&at);
            continue;
        }
        for other in &here {
            pairs.push(if *other < at { (other.1, index) } else { (index, other.1) });
        }
        if pairs.len() > most {
            break;
        }
        here.insert(at);
    }
    pairs
}

/// Knows the answers to all questions about some pairs.
pub(super) struct Judge<'a> {
    facts: &'a Facts<'a>,
    items: &'a [Item],
    answers: Answers,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        facts: &'a Facts<'a>,
        items: &'a [Item],
        order: &Order,
        pairs: &[(u32, u32)],
    ) -> Self {
        let mut asked = Vec::new();
        for (a, b) in pairs {
            for first in &items[*a as usize].touches {
                for second in &items[*b as usize].touches {
                    first.ask(second, &mut asked);
                    second.ask(first, &mut asked);
                }
            }
        }
        Judge { facts, items, answers: order.answer(asked) }
    }

    pub(super) fn all_ordered(&self, pairs: &[(u32, u32)]) -> bool {
        pairs.iter().all(|(a, b)| {
            let (a, b) = (&self.items[*a as usize], &self.items[*b as usize]);
            a.touches.iter().all(|first| b.touches.iter().all(|second| self.before(first, second)))
                || same_owner(a, b)
        })
    }

    /// Whether an access is over before another begins, or where that takes over its bytes.
    fn before(&self, first: &ThingAccess, second: &ThingAccess) -> bool {
        first.before(second, &self.answers) || self.taken_over(first, second)
    }

    /// Whether the second is declared to take over the bytes that the first reads, in one step.
    fn taken_over(&self, first: &ThingAccess, second: &ThingAccess) -> bool {
        let (Thing::Value(read), Thing::Value(written)) = (first.thing, second.thing) else {
            return false;
        };
        let Some(step) = first.step.filter(|_| first.in_step && !first.writes) else {
            return false;
        };
        let declared = || {
            self.facts.overwrites(step).iter().any(|o| {
                self.facts.value(o.output).root == self.facts.value(written).root
                    && self.facts.value(o.input).root == self.facts.value(read).root
                    && self.facts.same_place(o.output, o.input)
                    && self.facts.same_place(read, o.input)
            })
        };
        // What spills behind the output is not read byte by byte before it is written.
        let (output, input) = (self.facts.value(written), self.facts.value(read));
        let spills = output.guard > 0 && input.bytes > output.bytes;
        let at_writes = first.overs.map(|over| Mark { at_writes: true, ..over });
        second.step == Some(step)
            && second.writes
            && !spills
            && declared()
            && ThingAccess { overs: at_writes, ..*first }.before(second, &self.answers)
    }

    /// Adds what is wrong with a pair, of which the first should be over before the second.
    pub(super) fn report(&self, pair: (u32, u32), found: &mut Vec<Violation>) {
        let (a, b) = (&self.items[pair.0 as usize], &self.items[pair.1 as usize]);
        if same_owner(a, b) {
            return;
        }
        let at = self.facts.region(a.space, a.span.and(b.span));
        let (before, mut first_pair) = (found.len(), None);
        for first in &a.touches {
            for second in &b.touches {
                if !self.before(first, second) {
                    first_pair.get_or_insert((first, second));
                    found.extend(self.harm(a, first, second, at));
                }
            }
        }
        if let Some((first, second)) = first_pair.filter(|_| found.len() == before) {
            found.push(not_ordered(first, second, at));
        }
    }

    fn harm(
        &self,
        a: &Item,
        first: &ThingAccess,
        second: &ThingAccess,
        at: Region,
    ) -> Option<Violation> {
        if !first.writes && !second.writes {
            return None;
        }
        let by = second.culprit();
        if let (None, Thing::Value(value), false) = (first.step, first.thing, first.writes) {
            let root = self.facts.value(self.facts.value(value).root);
            let alias_set = self.facts.value(root.alias_set);
            return Some(if root.protected || alias_set.life == HeldSince::Resident {
                Violation::PersistentLost { value: root.alias_set, by, at }
            } else {
                Violation::OutputLost { value, by: Some(by), at }
            });
        }
        if first.step.is_some() && first.step == second.step {
            return own_step(first, second, at);
        }
        let clobbers = second.before(first, &self.answers)
            && second.writes
            && a.touches.iter().any(|t| t.writes && t.before(second, &self.answers));
        match (first.thing, first.step) {
            (Thing::Value(value), Some(step)) if clobbers && !first.writes => {
                Some(Violation::Clobbered { step, value, by, at, earlier_run: false })
            }
            _ if second.before(first, &self.answers) => None,
            _ => Some(not_ordered(first, second, at)),
        }
    }
}

/// Parts of one root do not get in each other's way.
fn same_owner(a: &Item, b: &Item) -> bool {
    a.root.is_some() && a.root == b.root
}

/// Two accesses of one step that are in each other's way.
fn own_step(first: &ThingAccess, second: &ThingAccess, at: Region) -> Option<Violation> {
    let step = first.step?;
    Some(match (first.thing, second.thing) {
        (Thing::Scratch(_), _) => Violation::ScratchClobbered { step, by: second.culprit(), at },
        (_, Thing::Scratch(_)) if first.writes => {
            Violation::ScratchClobbered { step, by: first.culprit(), at }
        }
        (Thing::Value(input), by) if !first.writes => {
            Violation::OwnInputOverwritten { step, input, by, at }
        }
        (by, Thing::Value(input)) if !second.writes => {
            Violation::OwnInputOverwritten { step, input, by, at }
        }
        _ => {
            let (first, second) = (first.culprit(), second.culprit());
            Violation::WriteWhileWritten { first, second, at }
        }
    })
}

fn not_ordered(a: &ThingAccess, b: &ThingAccess, at: Region) -> Violation {
    let (a, b) = (a.culprit(), b.culprit());
    Violation::NotOrdered { a: a.min(b), b: a.max(b), at }
}
