//! Time: points, two for each position of the schedule, and half-open ranges of them.
//!
//! The step at position `p` reads from point `2p` on and writes from point `2p + 1` on; point
//! `2p + 2` is the first that no longer belongs to it. "The input dies where the output is born"
//! is arithmetic: a read that is over before the step writes ends at `2p + 1`.
//!
//! ```text
//!   position      0       1       2
//!   points      0   1   2   3   4   5   6
//!               r   w   r   w   r   w   end
//! ```

use std::fmt;

/// A moment of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Point(pub u64);

impl Point {
    /// When the step at this position of the schedule begins, and may read.
    #[must_use]
    #[inline]
    pub fn reads(position: usize) -> Point {
        Point(2 * position as u64)
    }

    /// From when on the step at this position may write.
    #[must_use]
    #[inline]
    pub fn writes(position: usize) -> Point {
        Point(2 * position as u64 + 1)
    }

    /// The first moment at which the step at this position is over.
    #[must_use]
    #[inline]
    pub fn after(position: usize) -> Point {
        Point(2 * position as u64 + 2)
    }

    /// The first moment at which a run of so many steps, and whoever fetches its outputs, is over.
    #[must_use]
    #[inline]
    pub fn end_of_run(steps: usize) -> Point {
        Point(2 * steps as u64 + 1)
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A half-open stretch of time `[start, end)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LiveRange {
    /// The first moment that belongs to it.
    pub start: Point,
    /// The first moment that no longer does.
    pub end: Point,
}

impl LiveRange {
    /// The stretch `[start, end)`.
    #[must_use]
    #[inline]
    pub fn new(start: Point, end: Point) -> Self {
        LiveRange { start, end }
    }

    /// The whole of a run of so many steps.
    #[must_use]
    pub fn whole_run(steps: usize) -> Self {
        LiveRange::new(Point(0), Point::end_of_run(steps))
    }

    /// Whether some moment belongs to both: the rule of conflict, written once.
    #[must_use]
    #[inline]
    pub fn meets(self, other: LiveRange) -> bool {
        self.start < other.end && other.start < self.end
    }

    /// The shortest stretch that covers both.
    #[must_use]
    #[inline]
    pub fn hull(self, other: LiveRange) -> LiveRange {
        LiveRange::new(self.start.min(other.start), self.end.max(other.end))
    }
}

impl fmt::Display for LiveRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {})", self.start, self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_do_not_meet() {
        let range = |start, end| LiveRange::new(Point(start), Point(end));
        assert!(!range(1, 3).meets(range(3, 5)) && !range(3, 5).meets(range(1, 3)));
        assert!(range(1, 4).meets(range(3, 5)) && range(3, 5).meets(range(1, 4)));
    }
}
