//! Beam search: the same steps as the exact search, but only the most promising sets are kept.

use std::collections::HashMap;

use super::course::UnitId;
use super::scope::{Scope, Set, State};

/// An order with a peak below `limit`, if one is found. `width` states are kept at a time; `work`
/// is how many units may be looked at, and what was used is taken off.
pub(crate) fn beam(
    scope: &Scope<'_>,
    floor: u64,
    limit: u64,
    width: usize,
    work: &mut u64,
) -> Option<(Vec<UnitId>, u64)> {
    let mut nodes: Vec<Node> = Vec::new();
    let mut start = scope.start(floor);
    let ran = scope.settle(&mut start);
    nodes.push(Node { state: start, from: None, ran });
    let mut level = vec![0usize];
    let mut best: Option<(u64, usize)> = None;
    while !level.is_empty() {
        let mut reached: HashMap<Set, usize> = HashMap::new();
        let mut next: Vec<usize> = Vec::new();
        for index in level {
            let state = nodes[index].state.clone();
            if scope.is_over(&state) {
                if best.is_none_or(|(peak, _)| state.peak < peak) {
                    best = Some((state.peak, index));
                }
                continue;
            }
            let Some(left) = work.checked_sub(scope.len() as u64) else { return None };
            *work = left;
            for unit in scope.ready(&state) {
                let change = scope.change(&state, unit);
                let mut state = scope.after(&state, unit, change);
                let bar = best.map_or(limit, |(peak, _)| peak);
                if state.peak >= bar {
                    continue;
                }
                let mut ran = vec![unit];
                ran.extend(scope.settle(&mut state));
                match reached.get(&state.done).copied() {
                    Some(other) if nodes[other].state.peak <= state.peak => {}
                    Some(other) => nodes[other] = Node { state, from: Some(index), ran },
                    None => {
                        reached.insert(state.done.clone(), nodes.len());
                        next.push(nodes.len());
                        nodes.push(Node { state, from: Some(index), ran });
                    }
                }
            }
        }
        next.sort_by_key(|index| (nodes[*index].state.peak, nodes[*index].state.live, *index));
        next.truncate(width);
        level = next;
    }
    best.map(|(peak, index)| (path(scope, &nodes, index), peak))
}

struct Node {
    state: State,
    from: Option<usize>,
    /// What ran since then.
    ran: Vec<usize>,
}

fn path(scope: &Scope<'_>, nodes: &[Node], mut index: usize) -> Vec<UnitId> {
    let mut legs = vec![&nodes[index].ran];
    while let Some(from) = nodes[index].from {
        legs.push(&nodes[from].ran);
        index = from;
    }
    legs.into_iter().rev().flat_map(|leg| scope.named(leg)).collect()
}
