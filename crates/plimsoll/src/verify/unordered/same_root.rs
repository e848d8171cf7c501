//! Accesses to one root: what is read must have been written, and nothing may race.
//!
//! O(reads × writes) for each root, and hardly any root is written more than once.

use plimsoll_pack::Span;

use super::super::before::{Answers, Order};
use super::super::facts::{Facts, HeldSince, Use};
use super::super::violation::{Culprit, Thing, Violation};
use super::pairs::ThingAccess;
use crate::program::AccessKind;

/// Adds reads of what is not certainly written, and writes that nothing orders. The uses are
/// sorted by root.
pub(super) fn check(facts: &Facts, uses: &[Use], order: &Order, found: &mut Vec<Violation>) {
    let mut asked = Vec::new();
    each_pair(uses, |a, b| {
        ThingAccess::of_use(a).ask(&ThingAccess::of_use(b), &mut asked);
        ThingAccess::of_use(b).ask(&ThingAccess::of_use(a), &mut asked);
    });
    let answers = order.answer(asked);
    let before =
        |a: &Use, b: &Use| ThingAccess::of_use(a).before(&ThingAccess::of_use(b), &answers);
    each_pair(uses, |write, other| {
        let old_state_allowed = facts.value(write.root).life != HeldSince::Temporary;
        let fine = before(write, other)
            || (before(other, write) && (other.kind == AccessKind::Write || old_state_allowed))
            || write.step == other.step;
        if !fine {
            found.push(race(facts, write, other, &answers));
        }
    });
    for of_root in uses.chunk_by(|a, b| a.root == b.root) {
        if facts.value(of_root[0].root).life == HeldSince::Temporary {
            let writes = || of_root.iter().filter(|used| used.kind == AccessKind::Write);
            for read in of_root.iter().filter(|used| used.kind == AccessKind::Read) {
                let done = writes().filter(|write| before(write, read)).map(|w| w.span);
                // Those that are not before it are said to race with it already.
                let is_open = |write: &&Use| !before(write, read) && write.step != read.step;
                let raced = writes().filter(is_open).map(|w| w.span);
                for span in uncovered(read.span, done.chain(raced)) {
                    let at = facts.region(read.space, span);
                    let (step, value) = (read.step, read.value);
                    found.push(Violation::ReadBeforeWrite { step, value, at });
                }
            }
        }
    }
    outputs(facts, uses, found);
}

/// Every two accesses to the same bytes of a root of which the first writes them.
fn each_pair(uses: &[Use], mut each: impl FnMut(&Use, &Use)) {
    for of_root in uses.chunk_by(|a, b| a.root == b.root) {
        for (index, write) in of_root.iter().enumerate() {
            if write.kind != AccessKind::Write {
                continue;
            }
            for (other_index, other) in of_root.iter().enumerate() {
                let once = other.kind == AccessKind::Read || other_index > index;
                if once && !write.span.and(other.span).is_empty() {
                    each(write, other);
                }
            }
        }
    }
}

fn race(facts: &Facts, write: &Use, other: &Use, answers: &Answers) -> Violation {
    let at = facts.region(write.space, write.span.and(other.span));
    let culprit = |used: &Use| Culprit { thing: Thing::Value(used.value), step: Some(used.step) };
    let (a, b) = (culprit(write), culprit(other));
    if ThingAccess::of_use(other).before(&ThingAccess::of_use(write), answers) {
        return Violation::ReadBeforeWrite { step: other.step, value: other.value, at };
    }
    Violation::NotOrdered { a: a.min(b), b: a.max(b), at }
}

/// Every output is written.
fn outputs(facts: &Facts, uses: &[Use], found: &mut Vec<Violation>) {
    for value in facts.ids().filter(|v| facts.value(*v).output) {
        let fact = facts.value(value);
        let Some((space, span)) = facts.span(value) else { continue };
        if facts.value(fact.root).life != HeldSince::Temporary || fact.elided {
            continue;
        }
        let first = uses.partition_point(|used| used.root < fact.root);
        let own = uses[first..].iter().take_while(|used| used.root == fact.root);
        let writes = own.filter(|used| used.kind == AccessKind::Write).map(|used| used.span);
        for span in uncovered(span, writes) {
            let at = facts.region(space, span);
            found.push(Violation::OutputLost { value, by: None, at });
        }
    }
}

/// What of a span is in none of the others.
fn uncovered(span: Span, others: impl Iterator<Item = Span>) -> Vec<Span> {
    let mut others: Vec<Span> = others.filter(|other| other.meets(span)).collect();
    others.sort_unstable();
    let mut rest = Vec::new();
    let mut at = span.lo;
    for other in others {
        if at < other.lo {
            rest.push(Span::new(at, other.lo));
        }
        at = at.max(other.hi);
    }
    if at < span.hi {
        rest.push(Span::new(at, span.hi));
    }
    rest
}
