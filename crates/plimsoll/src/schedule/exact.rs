//! Exact: the best order of some groups, by going through sets of groups that have run.
//!
//! States are taken up in order of the peak so far, so the first that has run everything is the
//! best there is. A set is reached by many orders but kept only once, at its lowest peak; what can
//! run without harm runs at once, so that few sets are left where the graph is narrow.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::cost::GroupId;
use super::scope::{BySet, Scope, State};
use super::trail::{Stop, Trail};
use super::work::Work;

/// What came of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The best order, and its peak.
    Best(Vec<GroupId>, u64),
    /// No order has a peak below the limit.
    None,
    /// The work was not enough to say.
    GaveUp,
}

/// The best order of a scope with a peak below `limit`. A peak that is not above `floor` is as good
/// as one at it. What it does is taken off `work`.
pub(crate) fn best_order(
    scope: &Scope<'_>,
    floor: u64,
    limit: u64,
    work: &mut Work<'_, '_>,
) -> Found {
    let mut search = Search {
        scope,
        limit,
        reached: BySet::default(),
        trail: Trail::default(),
        heap: BinaryHeap::new(),
    };
    search.reach(scope.start(floor), None, Vec::new());
    while let Some((_, _, index)) = search.heap.pop() {
        let state = search.trail.take(index);
        if search.reached.get(&state.done) != Some(&(state.peak, index)) {
            continue; // Reached again since, at a lower peak.
        }
        if scope.is_over(&state) {
            return Found::Best(search.trail.order(scope, index), state.peak);
        }
        if !work.spend(scope.work()) {
            return Found::GaveUp;
        }
        for group in scope.ready(&state) {
            let change = scope.change(&state, *group);
            if state.peak_with(change) < limit {
                let next = scope.after(&state, *group, change);
                search.reach(next, Some(index), vec![*group]);
            }
        }
    }
    Found::None
}

struct Search<'s, 'c> {
    scope: &'s Scope<'c>,
    limit: u64,
    /// Every set that was reached: its lowest peak, and where it is in the trail.
    reached: BySet<(u64, usize)>,
    trail: Trail,
    /// By peak, then those that have run most, then the oldest.
    heap: BinaryHeap<(Reverse<u64>, usize, usize)>,
}

impl Search<'_, '_> {
    /// Takes a state up if it is the best of its set, and below the limit.
    fn reach(&mut self, mut state: State, from: Option<usize>, mut ran: Vec<usize>) {
        if state.peak >= self.limit {
            return;
        }
        ran.extend(self.scope.settle(&mut state));
        if self.reached.get(&state.done).is_some_and(|(peak, _)| *peak <= state.peak) {
            return;
        }
        let (set, peak) = (state.done.clone(), state.peak);
        let done = set.iter().map(|word| word.count_ones() as usize).sum();
        let index = self.trail.push(Stop { state, from, ran });
        self.reached.insert(set, (peak, index));
        // Indices grow, so that of equals the one that was reached last comes first: depth first.
        self.heap.push((Reverse(peak), done, index));
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::declared::DeclaredProgram;
    use crate::options::Options;
    use crate::program::Execution;
    use crate::schedule::{CostModel, OrderableProgram};

    /// Two branches of which each is large at first and small at its end, begun together.
    fn branches() -> DeclaredProgram {
        let mut program = DeclaredProgram::new(Execution::InOrder);
        let large = [(); 2].map(|()| program.temporary(64));
        let small = [(); 2].map(|()| program.temporary(4));
        let result = program.output(4);
        for value in large {
            program.step(&[], &[value]);
        }
        for (value, end) in large.into_iter().zip(small) {
            program.step(&[value], &[end]);
        }
        program.step(&small, &[result]);
        program
    }

    #[test]
    fn an_order_at_the_limit_is_not_below_it() {
        let options = Options { align: 1, ..Options::default() };
        let program = branches();
        let ordered =
            OrderableProgram::of(&program, &options).unwrap_or_else(|error| panic!("{error}"));
        let model = CostModel::of(&ordered.source(&options));
        let own: Vec<GroupId> = (0..model.len() as GroupId).collect();
        let scope = Scope::new(&model, &own, 0, own.len());
        let mut pulse = || ControlFlow::Continue(());
        let mut work = Work::new(u64::MAX, &mut pulse);
        assert_eq!(model.peak(&own), 64 + 64 + 4);
        let found = best_order(&scope, 0, 64 + 4 + 4 + 1, &mut work);
        assert_eq!(found, Found::Best(vec![0, 2, 1, 3, 4], 64 + 4 + 4));
        assert_eq!(best_order(&scope, 0, 64 + 4 + 4, &mut work), Found::None);
    }
}
