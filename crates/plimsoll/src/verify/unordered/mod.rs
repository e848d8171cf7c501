//! Steps that are only partly ordered: whatever shares bytes must be ordered.
//!
//! What orders steps: under [`Execution::Partial`] the flow of data (whoever writes bytes of a
//! root is before whoever reads them; where the bytes hold something from outside before the run,
//! only writers with a lower id are before a reader; an output that must overwrite reads its
//! input), and [`after`](crate::program::Program::after); under [`Execution::Queues`] the order of ids
//! within a queue, and `after`. An access may begin with its own step or with the one that it is
//! declared from, whichever may be first, and is over when both its own step and the one until
//! which it is declared are.
//!
//! Two roots (or scratch memories) that overlap must be ordered as wholes: every access to one is
//! over before any to the other begins. That relation is transitive, so that on every byte its
//! users must form a chain, and it is enough to look at neighbours in a sweep over addresses:
//! O(roots + accesses) questions "is this step before that", which `before` answers
//! together. A plan that fails is searched again for all pairs, up to a million of them.
//!
//! Stricter than what could go wrong: a root is its whole range, although only some of its bytes
//! may be in use at a time; and an access that nobody needs (a write that is never read) counts.

mod pairs;
mod same_root;

use std::collections::BTreeMap;

use plimsoll_pack::Span;

use self::pairs::{Item, Judge, ThingAccess};
use super::before::Order;
use super::facts::{Facts, HeldSince, Use};
use super::order::touches;
use super::violation::Violation;
use crate::ids::{StepId, ValueId};
use crate::program::{AccessKind, Execution, Until};

/// Pairs that are looked at in a plan that is wrong.
const MOST_PAIRS: usize = 1 << 20;

/// Every access to bytes that are followed, by root.
pub(super) struct Uses {
    all: Vec<Use>,
}

impl Uses {
    pub(super) fn collect(facts: &Facts) -> Self {
        let mut all = Vec::new();
        for step in (0..facts.program.steps()).map(StepId::new) {
            all.extend(facts.uses(step));
            for overwrite in facts.overwrites(step).iter().filter(|o| o.must) {
                let output = implied(facts, step, overwrite.output, AccessKind::Write);
                let Some(output) = output else { continue };
                if let Some(mut input) = implied(facts, step, overwrite.input, AccessKind::Read) {
                    input.span.hi =
                        input.span.hi.min(input.span.lo.saturating_add(output.span.len()));
                    input.until = Until::Writes;
                    all.push(input);
                }
                all.push(output);
            }
        }
        all.sort_by_cached_key(|used| used.root);
        Uses { all }
    }
}

/// An access to all bytes that an output which must overwrite makes.
fn implied(facts: &Facts, step: StepId, value: ValueId, kind: AccessKind) -> Option<Use> {
    let (space, span) = facts.span(value)?;
    let root = facts.value(value).root;
    let (from, until) = (None, Until::Step);
    let within = Span::new(0, facts.value(value).bytes);
    Some(Use { step, value, root, space, span, within, guard: 0, kind, from, until })
}

/// What orders steps: the first of each pair is over before the second begins.
pub(super) fn edges(facts: &Facts) -> Vec<(StepId, StepId)> {
    let program = facts.program;
    let mut edges = Vec::new();
    for step in (0..program.steps()).map(StepId::new) {
        let after = program.after(step);
        edges.extend(after.iter().filter(|s| s.index() < program.steps()).map(|s| (*s, step)));
    }
    if program.execution() == Execution::Queues {
        let mut last: BTreeMap<u32, StepId> = BTreeMap::new();
        for step in (0..program.steps()).map(StepId::new) {
            edges.extend(last.insert(program.queue(step), step).map(|before| (before, step)));
        }
    } else {
        flow(facts, &mut edges);
    }
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Writers before readers.
fn flow(facts: &Facts, edges: &mut Vec<(StepId, StepId)>) {
    let mut touched: Vec<(usize, AccessKind, Span, StepId)> = Vec::new();
    for step in (0..facts.program.steps()).map(StepId::new) {
        for touch in touches(facts, step) {
            touched.push((touch.root, touch.kind, touch.span, step));
        }
        for overwrite in facts.overwrites(step).iter().filter(|o| o.must) {
            let (input, output) = (facts.value(overwrite.input), facts.value(overwrite.output));
            let both = Span::new(0, output.bytes.min(input.bytes));
            let read = both.shifted(input.offset);
            touched.push((input.root.index(), AccessKind::Read, read, step));
            let written = both.shifted(output.offset);
            touched.push((output.root.index(), AccessKind::Write, written, step));
        }
    }
    touched.sort_by_cached_key(|(root, kind, ..)| (*root, *kind == AccessKind::Read));
    for of_root in touched.chunk_by(|a, b| a.0 == b.0) {
        let reads = of_root.partition_point(|(_, kind, ..)| *kind == AccessKind::Write);
        let (writes, reads) = of_root.split_at(reads);
        let from_outside = facts.values[of_root[0].0].life != HeldSince::Temporary;
        for (.., read, reader) in reads {
            for (.., written, writer) in writes {
                let before = if from_outside { writer < reader } else { writer != reader };
                if before && !read.and(*written).is_empty() {
                    edges.push((*writer, *reader));
                }
            }
        }
    }
}

/// Adds what is not ordered.
pub(super) fn check(
    facts: &Facts,
    uses: &Uses,
    edges: &[(StepId, StepId)],
    found: &mut Vec<Violation>,
) {
    // Steps that go in circles have no valid schedule: said by whoever looked at that.
    let Some(order) = Order::new(facts.program.steps(), edges) else { return };
    same_root::check(facts, &uses.all, &order, found);
    let items = items(facts, uses);
    let neighbours = pairs::neighbours(&items, &order);
    if !Judge::new(facts, &items, &order, &neighbours).all_ordered(&neighbours) {
        let mut pairs = pairs::overlapping(&items, &order, MOST_PAIRS);
        pairs.extend(&neighbours);
        let judge = Judge::new(facts, &items, &order, &pairs);
        for pair in pairs {
            judge.report(pair, found);
        }
    }
}

/// Everything that occupies bytes, with all accesses to it.
fn items(facts: &Facts, uses: &Uses) -> Vec<Item> {
    let (outputs, taken) = (outputs(facts), taken(facts));
    let mut items = Vec::new();
    let mut rest = uses.all.as_slice();
    for root in facts.ids().filter(|v| facts.value(*v).root == *v) {
        let count = rest.partition_point(|used| used.root <= root);
        let (own, others) = rest.split_at(count);
        rest = others;
        let empty = Vec::new();
        let taken = taken.get(&root).unwrap_or(&empty);
        root_items(facts, root, own, taken, outputs.get(&root).copied(), &mut items);
    }
    for step in (0..facts.program.steps()).map(StepId::new) {
        let wanted = facts.program.scratch(step).map_or(0, |s| s.bytes);
        let slot = facts.plan.scratch.get(step.index()).copied().flatten();
        let Some(slot) = slot.filter(|s| s.bank.index() < facts.plan.banks.len()) else { continue };
        let span = Span::new(slot.offset, slot.offset.saturating_add(wanted));
        if !span.is_empty() {
            let touches = vec![ThingAccess::of_scratch(step)];
            items.push(Item { root: None, space: slot.bank.0, span, touches });
        }
    }
    items
}

/// An output of each root that has one.
fn outputs(facts: &Facts) -> BTreeMap<ValueId, ValueId> {
    let outputs = facts.ids().filter(|v| facts.value(*v).output);
    outputs.map(|v| (facts.value(v).root, v)).collect()
}

/// The bytes of roots that an output takes over because it must.
fn taken(facts: &Facts) -> BTreeMap<ValueId, Vec<Span>> {
    let mut taken: BTreeMap<ValueId, Vec<Span>> = BTreeMap::new();
    for step in (0..facts.program.steps()).map(StepId::new) {
        for overwrite in facts.overwrites(step).iter().filter(|o| o.must) {
            let (input, output) = (facts.value(overwrite.input), facts.value(overwrite.output));
            if let Some((_, span)) = facts.span(overwrite.output)
                && facts.same_place(overwrite.input, overwrite.output)
                && input.root != output.root
            {
                taken.entry(input.root).or_default().push(span);
            }
        }
    }
    taken
}

/// A root; where it lasts from run to run, in parts: those that are taken over end with that.
fn root_items(
    facts: &Facts,
    root: ValueId,
    uses: &[Use],
    taken: &[Span],
    output: Option<ValueId>,
    items: &mut Vec<Item>,
) {
    let fact = facts.value(root);
    let Some((space, mut span)) = facts.span(root).filter(|_| !fact.elided) else { return };
    for used in uses {
        span.hi = span.hi.max(used.span.hi.saturating_add(used.guard));
    }
    let from_outside = fact.life != HeldSince::Temporary;
    if from_outside {
        span.hi = span.hi.max(span.lo + fact.bytes + fact.guard);
    }
    let lasting = fact.protected || facts.value(fact.alias_set).life == HeldSince::Resident;
    let mut cuts = vec![span.lo, span.hi];
    if lasting {
        cuts.extend(taken.iter().flat_map(|t| [t.lo, t.hi]).map(|b| b.clamp(span.lo, span.hi)));
        cuts.sort_unstable();
    }
    for part in cuts.windows(2).map(|w| Span::new(w[0], w[1])).filter(|part| !part.is_empty()) {
        let reaches = |u: &Use| Span::new(u.span.lo, u.span.hi + u.guard).meets(part);
        let whole = cuts.len() == 2;
        let mut touches: Vec<ThingAccess> =
            uses.iter().filter(|u| whole || reaches(u)).map(ThingAccess::of_use).collect();
        if from_outside {
            touches.push(ThingAccess::from_outside(root));
        }
        if lasting && !taken.iter().any(|t| t.meets(part)) {
            touches.push(ThingAccess::after_run(root));
        } else if let Some(output) = output {
            touches.push(ThingAccess::after_run(output));
        }
        if !touches.is_empty() {
            items.push(Item { root: Some(root), space, span: part, touches });
        }
    }
}
