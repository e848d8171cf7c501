//! Is the schedule a permutation of the steps that respects what they need?
//!
//! Whatever the execution, a step is behind those that data flow from, even if it touches no byte.
//!
//! In order, the ids of the steps are a valid order, and what the program means is what that order
//! does: a schedule may swap two steps only if neither declares to be after the other, no window
//! of an access turns around, and they do not both touch the same bytes of a root of which at
//! least one writes them. O((accesses + pieces) log pieces), and nothing but the windows if the
//! schedule is the order of the ids.

use std::collections::BTreeMap;

use plimsoll_pack::Span;

use super::bytes::Bytes;
use super::facts::Facts;
use super::violation::Violation;
use crate::ids::StepId;
use crate::program::{AccessKind, Until};

/// The position of every step, if the schedule is a permutation of the steps.
pub(super) fn positions(facts: &Facts, found: &mut Vec<Violation>) -> Option<Vec<u32>> {
    let before = found.len();
    let mut positions = vec![u32::MAX; facts.program.steps()];
    for (position, step) in facts.plan.schedule.iter().enumerate() {
        match positions.get_mut(step.index()) {
            None => found.push(Violation::UnknownStep { step: *step }),
            Some(known) if *known != u32::MAX => found.push(Violation::StepTwice { step: *step }),
            Some(unknown) => *unknown = position as u32,
        }
    }
    let missing = positions.iter().enumerate().filter(|(_, position)| **position == u32::MAX);
    found.extend(missing.map(|(step, _)| Violation::StepMissing { step: StepId::new(step) }));
    (found.len() == before).then_some(positions)
}

/// Adds the pairs `(first, second)` of which the second runs first.
pub(super) fn check_edges(
    edges: &[(StepId, StepId)],
    positions: &[u32],
    found: &mut Vec<Violation>,
) {
    for (first, second) in edges {
        if positions[first.index()] >= positions[second.index()] {
            found.push(Violation::OrderViolated { step: *second, needs: *first });
        }
    }
}

/// Adds the steps that run before what they need, where steps run one after another.
pub(super) fn check_in_order(facts: &Facts, positions: &[u32], found: &mut Vec<Violation>) {
    let program = facts.program;
    let steps = || (0..program.steps()).map(StepId::new);
    let known = |step: &StepId| step.index() < program.steps();
    let mut edges = flowing(facts);
    for step in steps() {
        edges.extend(program.after(step).iter().filter(|s| known(s)).map(|s| (*s, step)));
        for access in program.accesses(step).iter() {
            edges.extend(access.from.filter(|s| known(s) && *s != step).map(|s| (s, step)));
            if let Until::After(last) = access.until
                && known(&last)
                && last != step
            {
                edges.push((step, last));
            }
        }
    }
    if !positions.iter().enumerate().all(|(step, position)| step == *position as usize) {
        flow(facts, positions, &mut edges);
    }
    edges.sort_unstable();
    edges.dedup();
    check_edges(&edges, positions, found);
}

/// The pairs `(first, second)` of which data flow from the first to the second, whether bytes are
/// touched or not.
pub(super) fn flowing(facts: &Facts) -> Vec<(StepId, StepId)> {
    let program = facts.program;
    let known = |step: &StepId| step.index() < program.steps();
    let mut edges = Vec::new();
    for step in (0..program.steps()).map(StepId::new) {
        edges.extend(program.flows_from(step).iter().filter(|s| known(s)).map(|s| (*s, step)));
    }
    edges
}

/// A stretch of bytes of a root that a step touches.
#[derive(Clone, Copy)]
pub(super) struct TouchedSpan {
    /// The root.
    pub(super) root: usize,
    /// The bytes of it.
    pub(super) span: Span,
    pub(super) kind: AccessKind,
    /// The step with which it may begin.
    begin: StepId,
    /// The step with which it is over.
    over: StepId,
}

/// Who last touched some bytes of a root, in order of ids.
#[derive(Clone, Copy, Default)]
struct Touched {
    /// The step with which the last write is over.
    writer: Option<StepId>,
    /// The same of the reader since then that is over last in the schedule.
    reader: Option<StepId>,
}

/// The pairs of steps that touch the same bytes of a root, one of them writing: each step with
/// those that come right before it in order of ids.
fn flow(facts: &Facts, positions: &[u32], edges: &mut Vec<(StepId, StepId)>) {
    let steps = || (0..facts.program.steps()).map(StepId::new);
    // A value that is written at most once, and that is nearly all of them, needs no map.
    let mut writes: Vec<(u32, Option<TouchedSpan>)> = vec![(0, None); facts.values.len()];
    for touch in steps().flat_map(|step| touches(facts, step)) {
        if touch.kind == AccessKind::Write {
            writes[touch.root] = (writes[touch.root].0 + 1, Some(touch));
        }
    }
    let mut maps: BTreeMap<usize, Bytes<Touched>> = BTreeMap::new();
    let mut pieces = Vec::new();
    for touch in steps().flat_map(|step| touches(facts, step)) {
        match writes[touch.root] {
            (0 | 1, None) => {}
            (1, Some(write)) => {
                edges.extend(edge(write.over, touch.begin).or(edge(touch.over, write.begin)));
            }
            _ => {
                let bytes = maps.entry(touch.root).or_default();
                bytes.list(touch.span, &mut pieces);
                for (piece, before) in pieces.drain(..) {
                    let before = before.unwrap_or_default();
                    bytes.set(piece, touched(&touch, before, positions, edges));
                }
            }
        }
    }
}

/// The first before the second, where the ids have it so.
fn edge(first: StepId, second: StepId) -> Option<(StepId, StepId)> {
    (first < second).then_some((first, second))
}

fn touched(
    touch: &TouchedSpan,
    before: Touched,
    positions: &[u32],
    edges: &mut Vec<(StepId, StepId)>,
) -> Touched {
    edges.extend(before.writer.and_then(|writer| edge(writer, touch.begin)));
    if touch.kind == AccessKind::Write {
        edges.extend(before.reader.and_then(|reader| edge(reader, touch.begin)));
        return Touched { writer: Some(touch.over), reader: None };
    }
    let later = |reader: &StepId| positions[reader.index()] > positions[touch.over.index()];
    Touched { reader: before.reader.filter(later).or(Some(touch.over)), ..before }
}

/// The bytes of roots that a step touches; reads first.
pub(super) fn touches(facts: &Facts, step: StepId) -> Vec<TouchedSpan> {
    let mut all = Vec::new();
    let known = |s: &StepId| s.index() < facts.program.steps();
    for access in facts.program.accesses(step).iter() {
        let Some(fact) = facts.values.get(access.value.index()) else { continue };
        let bytes = access.bytes.unwrap_or(Span::new(0, fact.bytes));
        let touch = |span: Span| TouchedSpan {
            root: fact.root.index(),
            span,
            kind: access.kind,
            begin: access.from.filter(known).unwrap_or(step),
            over: match access.until {
                Until::After(last) if known(&last) => last,
                _ => step,
            },
        };
        match fact.rows {
            None => all.push(touch(bytes.shifted(fact.offset))),
            Some(_) => all.extend(fact.spans_of_root(bytes).map(touch)),
        }
    }
    all.sort_by_key(|touch| touch.kind == AccessKind::Write);
    all
}
