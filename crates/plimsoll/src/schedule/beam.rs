//! Beam search: the same steps as the exact search, but only the most promising sets are kept.

use super::cost::GroupId;
use super::scope::{BySet, Scope};
use super::trail::{Stop, Trail};
use super::work::Work;

/// An order with a peak below `limit`, if one is found. `width` states are kept at a time; what it
/// does is taken off `work`.
pub(crate) fn beam(
    scope: &Scope<'_>,
    floor: u64,
    limit: u64,
    width: usize,
    work: &mut Work<'_, '_>,
) -> Option<(Vec<GroupId>, u64)> {
    let mut trail = Trail::default();
    let mut start = scope.start(floor);
    let ran = scope.settle(&mut start);
    let mut level = vec![trail.push(Stop { state: start, from: None, ran })];
    let mut best: Option<(u64, usize)> = None;
    while !level.is_empty() {
        let mut reached: BySet<usize> = BySet::default();
        let mut next: Vec<usize> = Vec::new();
        for index in level {
            let state = trail.take(index);
            if scope.is_over(&state) {
                if best.is_none_or(|(peak, _)| state.peak < peak) {
                    best = Some((state.peak, index));
                }
                continue;
            }
            if !work.spend(scope.work()) {
                return None;
            }
            for group in scope.ready(&state) {
                let change = scope.change(&state, *group);
                let bar = best.map_or(limit, |(peak, _)| peak);
                if state.peak_with(change) >= bar {
                    continue;
                }
                let mut state = scope.after(&state, *group, change);
                let mut ran = vec![*group];
                ran.extend(scope.settle(&mut state));
                let (set, peak) = (state.done.clone(), state.peak);
                let stop = Stop { state, from: Some(index), ran };
                match reached.get(&set).copied() {
                    Some(other) if trail.state(other).peak <= peak => {}
                    Some(other) => trail.replace(other, stop),
                    None => {
                        let stop = trail.push(stop);
                        reached.insert(set, stop);
                        next.push(stop);
                    }
                }
            }
        }
        next.sort_by_key(|index| {
            let state = trail.state(*index);
            (state.peak, state.live, *index)
        });
        next.truncate(width);
        level = next;
    }
    best.map(|(peak, index)| (trail.order(scope, index), peak))
}
