//! Is this packing valid? The checkers, which know nothing of how it was made.
//!
//! [`plain`](check_plain) looks at every pair of buffers and is meant to be read in one go;
//! [`fast`](check) finds the same violations in O((n + violations) log n), for a million buffers.
//! Tests hold the two equal.

mod fast;
mod plain;

use std::fmt;

pub use fast::{check, check_at_most};
pub use plain::check_plain;

use crate::problem::{BufferId, Life, Problem, Span};
use crate::solution::Solution;

/// A packing as somebody claims it: not every buffer need have an offset, and there may be
/// offsets for buffers that nobody knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    /// By [`BufferId`].
    pub offsets: Vec<Option<u64>>,
    /// The ids of buffers that are not in the problem.
    pub unknown: Vec<String>,
}

impl From<&Solution> for Claim {
    fn from(solution: &Solution) -> Self {
        let offsets = solution.offsets().iter().copied().map(Some).collect();
        Claim { offsets, unknown: Vec::new() }
    }
}

/// One way in which a packing is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Violation {
    /// A buffer has no offset.
    Missing {
        /// The buffer.
        buffer: BufferId,
    },
    /// There is an offset for a buffer that is not in the problem.
    Unknown {
        /// Its id.
        id: String,
    },
    /// An offset is not a multiple of the alignment.
    Misaligned {
        /// The buffer.
        buffer: BufferId,
        /// Where it is.
        offset: u64,
        /// What its offset must be a multiple of.
        align: u64,
    },
    /// A buffer with a fixed offset is somewhere else.
    NotFixed {
        /// The buffer.
        buffer: BufferId,
        /// Where it is.
        offset: u64,
        /// Where it must be.
        fixed: u64,
    },
    /// A buffer ends above the capacity.
    OverCapacity {
        /// The buffer.
        buffer: BufferId,
        /// Where it ends; `u64::MAX` if not even that is enough to say it.
        end: u64,
        /// The capacity, `u64::MAX` if there is no other.
        capacity: u64,
    },
    /// Two buffers that are kept apart whatever their lives have bytes in common.
    Conflict {
        /// The buffer with the lower id.
        a: BufferId,
        /// The other.
        b: BufferId,
        /// The bytes of the arena that both have.
        bytes: Span,
    },
    /// Two buffers use the same bytes at the same time. One for each pair of pieces that meet.
    Overlap {
        /// The buffer with the lower id.
        a: BufferId,
        /// The other.
        b: BufferId,
        /// The bytes of the arena that both use.
        bytes: Span,
        /// When both use them.
        life: Life,
    },
}

impl Violation {
    /// The violation in words, with the buffers called as `name` says.
    pub fn describe<'a>(
        &'a self,
        name: impl Fn(BufferId) -> String + 'a,
    ) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| match self {
            Violation::Missing { buffer } => write!(f, "{} has no offset", name(*buffer)),
            Violation::Unknown { id } => {
                write!(f, "{id:?} has an offset but is not in the problem")
            }
            Violation::Misaligned { buffer, offset, align } => {
                write!(f, "{} is at {offset}, not a multiple of {align}", name(*buffer))
            }
            Violation::NotFixed { buffer, offset, fixed } => {
                write!(f, "{} is at {offset} but is fixed at {fixed}", name(*buffer))
            }
            Violation::OverCapacity { buffer, end: u64::MAX, .. } => {
                write!(f, "{} ends beyond the address space", name(*buffer))
            }
            Violation::OverCapacity { buffer, end, capacity } => {
                write!(f, "{} ends at {end}, above the limit of {capacity}", name(*buffer))
            }
            Violation::Conflict { a, b, bytes } => write!(
                f,
                "{} and {} both have bytes {bytes}, and nothing keeps them apart in time",
                name(*a),
                name(*b)
            ),
            Violation::Overlap { a, b, bytes, life } => {
                write!(f, "{} and {} both use bytes {bytes} at {life}", name(*a), name(*b))
            }
        })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe(|id| id.to_string()).fmt(f)
    }
}

/// What can be said of each buffer alone: everything but overlaps.
fn check_each(problem: &Problem, claim: &Claim) -> Vec<Violation> {
    let mut violations = Vec::new();
    for buffer in problem.ids() {
        let wanted = problem.buffer(buffer);
        let Some(offset) = claim.offset(buffer) else {
            violations.push(Violation::Missing { buffer });
            continue;
        };
        if !offset.is_multiple_of(wanted.align) {
            violations.push(Violation::Misaligned { buffer, offset, align: wanted.align });
        }
        if let Some(fixed) = wanted.fixed
            && fixed != offset
        {
            violations.push(Violation::NotFixed { buffer, offset, fixed });
        }
        let capacity = problem.capacity().unwrap_or(u64::MAX);
        let end = offset.checked_add(wanted.size);
        if end.is_none_or(|end| end > capacity) {
            let end = end.unwrap_or(u64::MAX);
            violations.push(Violation::OverCapacity { buffer, end, capacity });
        }
    }
    violations.extend(claim.unknown.iter().map(|id| Violation::Unknown { id: id.clone() }));
    violations
}

/// Overlaps of pairs that are kept apart whatever their lives.
fn check_conflicts(problem: &Problem, claim: &Claim) -> Vec<Violation> {
    let Some(conflicts) = problem.conflicts() else { return Vec::new() };
    let span = |id: BufferId| {
        let offset = claim.offset(id)?;
        Some(Span::new(0, problem.buffer(id).size).shifted(offset))
    };
    let mut violations = Vec::new();
    for a in problem.ids() {
        for b in conflicts.of(a).filter(|b| *b > a) {
            if let (Some(one), Some(other)) = (span(a), span(b))
                && one.meets(other)
            {
                violations.push(Violation::Conflict { a, b, bytes: one.and(other) });
            }
        }
    }
    violations
}

impl Claim {
    fn offset(&self, id: BufferId) -> Option<u64> {
        self.offsets.get(id.index()).copied().flatten()
    }
}

#[cfg(test)]
mod tests;
