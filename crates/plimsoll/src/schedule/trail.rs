//! The states that a search has come to, each with the way that led there.

use super::cost::GroupId;
use super::scope::{Scope, State};

/// States, numbered as they were reached.
#[derive(Default)]
pub(crate) struct Trail {
    stops: Vec<Stop>,
}

/// A state, and how it was reached.
pub(crate) struct Stop {
    pub(crate) state: State,
    /// The state before it.
    pub(crate) from: Option<usize>,
    /// What ran since then.
    pub(crate) ran: Vec<usize>,
}

impl Trail {
    /// Adds a state; gives its number.
    pub(crate) fn push(&mut self, stop: Stop) -> usize {
        self.stops.push(stop);
        self.stops.len() - 1
    }

    /// Puts a better way to the same state in the place of one that nothing came from yet.
    pub(crate) fn replace(&mut self, index: usize, stop: Stop) {
        self.stops[index] = stop;
    }

    /// The state of that number.
    pub(crate) fn state(&self, index: usize) -> &State {
        &self.stops[index].state
    }

    /// Takes out the state of that number, from which the search goes on once and for all.
    pub(crate) fn take(&mut self, index: usize) -> State {
        std::mem::take(&mut self.stops[index].state)
    }

    /// The order that led to a state.
    pub(crate) fn order(&self, scope: &Scope<'_>, mut index: usize) -> Vec<GroupId> {
        let mut legs = vec![&self.stops[index].ran];
        while let Some(from) = self.stops[index].from {
            legs.push(&self.stops[from].ran);
            index = from;
        }
        legs.into_iter().rev().flat_map(|leg| scope.named(leg)).collect()
    }
}
