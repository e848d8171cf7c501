//! Steps of a run: calls of kernels, and what goes on around a body that runs again and again.
//!
//! The steps of a body stand once in the list. What is carried from round to round, *state* here, has bytes of its own from
//! the first step to the last:
//!
//! ```text
//!        state ← what the node is given          Move, once
//!        are there rounds?                       Enter: if not, on to the end
//!   ┌─▶  the number of the round, elements       Count, Move
//!   │    … the body …
//!   │    collected results ← results             Move
//!   │    does it go on?                          Decide
//!   │    state ← results                         Move
//!   └──  again?                                  Repeat
//!        results of the node ← state             Move, once
//! ```
//!
//! Whether it goes on is asked before state changes, since the condition may be a part of it. All that a round leaves is
//! in the arena, where the plan says; the session counts rounds.

use std::ops::Range;

use plimsoll::ValueId;
use plimsoll_graph::NodeId;

use crate::io::{Given, Operands};
use crate::kernel::Kernel;
use crate::place::Spot;

/// Something that a run does.
pub(crate) struct Step {
    pub(crate) node: NodeId,
    pub(crate) action: Action,
    /// The values that it reads and writes, in the order in which the kernel counts them.
    pub(crate) reads: Vec<ValueId>,
    pub(crate) writes: Vec<ValueId>,
    /// Whether it writes only a part of what it writes to.
    pub(crate) joins: bool,
    /// Where the conditions are that it runs under, and what each must be.
    pub(crate) guards: Vec<(Spot, bool)>,
    /// Whether it hands on what one of two branches has made.
    pub(crate) is_branch: bool,
}

/// What a step does.
pub(crate) enum Action {
    /// Calls a kernel.
    Call { kernel: Kernel, operands: Operands },
    /// Copies.
    Move(Move),
    /// Writes the number of the round of a cycle.
    Count { cycle: usize, to: Range<usize> },
    /// Says that the body runs.
    Hold { to: Range<usize> },
    /// Begins the rounds of a cycle, or goes on behind them if there are none.
    Enter { cycle: usize, behind: usize },
    /// Notes whether a cycle goes on.
    Decide { cycle: usize },
    /// Goes back to the first step of a round, if there is another one.
    Repeat { cycle: usize, first: usize },
}

impl Step {
    /// The bytes of the arena that it may change, in ascending order.
    pub(crate) fn written(&self) -> Vec<Range<usize>> {
        match &self.action {
            Action::Call { operands, .. } => {
                operands.writes.iter().map(|write| write.range.clone()).collect()
            }
            Action::Move(Move { to, .. }) => vec![to.whole.clone()],
            Action::Count { to, .. } | Action::Hold { to } => vec![to.clone()],
            Action::Enter { .. } | Action::Decide { .. } | Action::Repeat { .. } => Vec::new(),
        }
    }

    /// Whether it calls a kernel.
    pub(crate) fn is_call(&self) -> bool {
        matches!(self.action, Action::Call { .. })
    }
}

/// Rows that are copied in a round of a cycle, or at any time if there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) cycle: Option<usize>,
    pub(crate) from: Side<Spot>,
    pub(crate) to: Side<Range<usize>>,
    pub(crate) rows: usize,
    pub(crate) row_bytes: usize,
}

/// Where rows are that are copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Side<T> {
    /// The tensor that they are a part of.
    pub(crate) whole: T,
    /// From one row to the next.
    pub(crate) pitch: usize,
    /// If they are others in each round: how many rounds there are, and whether the last one comes first.
    pub(crate) rounds: Option<(usize, bool)>,
}

impl<T> Side<T> {
    /// All of a tensor, as one row.
    pub(crate) fn all(whole: T) -> Self {
        Side { whole, pitch: 0, rounds: None }
    }

    /// Where the rows of a round begin.
    fn first(&self, round: usize, row_bytes: usize) -> usize {
        match self.rounds {
            None => 0,
            Some((count, true)) => (count - 1 - round) * row_bytes,
            Some((_, false)) => round * row_bytes,
        }
    }
}

impl Move {
    /// Copies the rows of a round.
    pub(crate) fn run(&self, round: usize, given: Given<'_>, arena: &mut [u8]) {
        let Move { from, to, rows, row_bytes, .. } = self;
        let (read, write) = (from.first(round, *row_bytes), to.first(round, *row_bytes));
        for row in 0..*rows {
            let start = to.whole.start + write + row * to.pitch;
            let at = read + row * from.pitch;
            let part = |whole: &Range<usize>| whole.start + at..whole.start + at + row_bytes;
            match &from.whole {
                Spot::Arena(whole) => arena.copy_within(part(whole), start),
                Spot::Constant(whole) => {
                    arena[start..start + row_bytes].copy_from_slice(&given.constants[part(whole)]);
                }
                Spot::Input(whole) => {
                    arena[start..start + row_bytes].copy_from_slice(&given.inputs[part(whole)]);
                }
            }
        }
    }
}

/// The rounds of a body.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    /// The node that sets up the first round.
    pub(crate) node: NodeId,
    /// Where the most rounds are said; nowhere if there is no bound.
    pub(crate) most: Most,
    /// Where it is said whether there is a first round; nowhere if there is.
    pub(crate) starts: Option<Spot>,
    /// Where a round says whether there is another one.
    pub(crate) goes_on: Option<Spot>,
    /// How many rounds are over.
    pub(crate) over: u64,
    /// Whether there is another one.
    pub(crate) goes: bool,
}

/// The most rounds of a body.
#[derive(Clone, Debug)]
pub(crate) enum Most {
    /// So many.
    Fixed(u64),
    /// As many as is said there.
    Said(Spot),
    /// As many as conditions want.
    Any,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six elements in two rows of three: of each round its column, from either end.
    #[test]
    fn a_round_copies_its_column() {
        let given = Given { constants: &[1, 2, 3, 4, 5, 6], inputs: &[] };
        let mut columns = Vec::new();
        for reversed in [false, true] {
            let from = Side { whole: Spot::Constant(0..6), pitch: 3, rounds: Some((3, reversed)) };
            let to = Side { whole: 1..3, pitch: 1, rounds: None };
            let column = Move { cycle: Some(0), from, to, rows: 2, row_bytes: 1 };
            for round in 0..3 {
                let mut arena = [0; 4];
                column.run(round, given, &mut arena);
                columns.push(arena);
            }
        }
        let forward = [[0, 1, 4, 0], [0, 2, 5, 0], [0, 3, 6, 0]];
        assert_eq!(columns[..3], forward);
        assert_eq!(columns[3..], [forward[2], forward[1], forward[0]]);
    }
}
