//! Is the schedule a permutation of the steps that respects what they need?
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
use crate::program::{Access, AccessKind, Until};

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
    let mut edges = Vec::new();
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

/// Who last touched some bytes of a root, in order of ids.
#[derive(Clone, Copy, Default)]
struct Touched {
    writer: Option<StepId>,
    /// The reader since then that is scheduled last.
    reader: Option<StepId>,
}

/// The pairs of steps that touch the same bytes of a root, one of them writing: each step with
/// those that come right before it in order of ids.
fn flow(facts: &Facts, positions: &[u32], edges: &mut Vec<(StepId, StepId)>) {
    let steps = || (0..facts.program.steps()).map(StepId::new);
    // A value that is written at most once, and that is nearly all of them, needs no map.
    let mut writers: Vec<(u32, StepId)> = vec![(0, StepId(0)); facts.values.len()];
    for step in steps() {
        for (root, _, kind) in touches(facts, step) {
            if kind == AccessKind::Write {
                writers[root] = (writers[root].0 + 1, step);
            }
        }
    }
    let mut maps: BTreeMap<usize, Bytes<Touched>> = BTreeMap::new();
    let mut pieces = Vec::new();
    for step in steps() {
        for (root, span, kind) in touches(facts, step) {
            match writers[root] {
                (0, _) => {}
                (1, writer) if writer < step => edges.push((writer, step)),
                (1, writer) if writer > step => edges.push((step, writer)),
                (1, _) => {}
                _ => {
                    let bytes = maps.entry(root).or_default();
                    bytes.list(span, &mut pieces);
                    for (piece, before) in pieces.drain(..) {
                        let before = before.unwrap_or_default();
                        bytes.set(piece, touch(step, kind, before, positions, edges));
                    }
                }
            }
        }
    }
}

fn touch(
    step: StepId,
    kind: AccessKind,
    before: Touched,
    positions: &[u32],
    edges: &mut Vec<(StepId, StepId)>,
) -> Touched {
    let not_own = |other: &StepId| *other != step;
    edges.extend(before.writer.filter(not_own).map(|writer| (writer, step)));
    if kind == AccessKind::Write {
        edges.extend(before.reader.filter(not_own).map(|reader| (reader, step)));
        return Touched { writer: Some(step), reader: None };
    }
    let later = |reader: &StepId| positions[reader.index()] > positions[step.index()];
    Touched { reader: before.reader.filter(later).or(Some(step)), ..before }
}

/// The bytes of roots that a step touches: root, bytes of it, and how; reads first.
pub(super) fn touches(facts: &Facts, step: StepId) -> Vec<(usize, Span, AccessKind)> {
    let resolve = |access: &Access| {
        let fact = facts.values.get(access.value.index())?;
        let bytes = access.bytes.unwrap_or(Span::new(0, fact.bytes));
        Some((fact.root.index(), bytes.shifted(fact.offset), access.kind))
    };
    let mut all: Vec<_> = facts.program.accesses(step).iter().filter_map(resolve).collect();
    all.sort_by_key(|(.., kind)| *kind == AccessKind::Write);
    all
}
