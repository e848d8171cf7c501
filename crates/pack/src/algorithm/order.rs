//! Orders in which buffers are placed.
//!
//! No order is best everywhere: by area is optimal on one training graph and 12 % off on the next,
//! by birth the other way round. Each is a total order: the keys below, then the buffer's number.
//! Cost: O(n log n).

use std::cmp::Reverse;

use crate::problem::{BufferId, Problem};
use crate::sweep::{LoadPeaks, Sweep};

/// An order in which to place buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The largest first, of equal ones the latest first.
    Size,
    /// The largest size × life first.
    Area,
    /// The longest life first.
    Length,
    /// The largest first, of equal ones the longest life first.
    SizeLength,
    /// The earliest first, of equal ones the largest first.
    Birth,
    /// Those first that live through the highest load, of equal ones the largest first.
    Urgency,
    /// Those first that live through the highest load, of equal ones the first to die.
    UrgencyDeath,
    /// Those first that meet most others, of equal ones the largest first.
    Degree,
}

impl Order {
    /// All of them.
    pub const ALL: [Order; 8] = [
        Order::Size,
        Order::Area,
        Order::Length,
        Order::SizeLength,
        Order::Birth,
        Order::Urgency,
        Order::UrgencyDeath,
        Order::Degree,
    ];

    /// Its name, as in `first-fit/size`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Order::Size => "size",
            Order::Area => "area",
            Order::Length => "length",
            Order::SizeLength => "size-length",
            Order::Birth => "birth",
            Order::Urgency => "urgency",
            Order::UrgencyDeath => "urgency-death",
            Order::Degree => "degree",
        }
    }

    /// What it puts first, in words.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Order::Size => "largest first, then latest",
            Order::Area => "largest size x life first",
            Order::Length => "longest life first",
            Order::SizeLength => "largest first, then longest life",
            Order::Birth => "earliest first, then largest",
            Order::Urgency => "highest load over its life first, then largest",
            Order::UrgencyDeath => "highest load over its life first, then first to die",
            Order::Degree => "most conflicts first, then largest",
        }
    }

    /// All buffers in this order.
    pub(crate) fn sorted(self, problem: &Problem, sweep: &Sweep) -> Vec<BufferId> {
        let size = |id: BufferId| Reverse(problem.buffer(id).size);
        let length = |id: BufferId| Reverse(problem.buffer(id).life.len());
        let area = |id: BufferId| {
            let buffer = problem.buffer(id);
            Reverse(u128::from(buffer.size) * u128::from(buffer.life.len()))
        };
        match self {
            Order::Size => by_key(problem, |id| (size(id), Reverse(sweep.life(id).start))),
            Order::Area => by_key(problem, area),
            Order::Length => by_key(problem, length),
            Order::SizeLength => by_key(problem, |id| (size(id), length(id))),
            Order::Birth => by_key(problem, |id| (sweep.life(id).start, size(id))),
            Order::Urgency => {
                let peaks = LoadPeaks::new(sweep);
                by_key(problem, |id| (Reverse(peaks.over(sweep.life(id))), size(id)))
            }
            Order::UrgencyDeath => {
                let peaks = LoadPeaks::new(sweep);
                by_key(problem, |id| (Reverse(peaks.over(sweep.life(id))), sweep.life(id).end))
            }
            Order::Degree => by_key(problem, |id| (Reverse(sweep.degree(id)), size(id))),
        }
    }
}

/// All buffers by a key, which is computed once for each; equal ones by number.
fn by_key<K: Ord>(problem: &Problem, key: impl Fn(BufferId) -> K) -> Vec<BufferId> {
    let mut keyed: Vec<(K, BufferId)> = problem.ids().map(|id| (key(id), id)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, id)| id).collect()
}
