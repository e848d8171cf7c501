//! Work that is counted: how much a search may do, and whether somebody has said stop.
//!
//! A unit of work is about what it takes to look at one piece of a group. Limits are in work, so that
//! an answer does not depend on the machine; whoever has a clock is asked now and then, and may stop
//! the search at any time. What was found by then is the answer.

use std::ops::ControlFlow;

/// Somebody is asked after so much work: some hundred times a second.
const PULSE: u64 = 200_000;

/// Who is asked now and then whether a search goes on.
pub type Pulse<'a> = dyn FnMut() -> ControlFlow<()> + 'a;

/// How much may still be done.
pub(crate) struct Work<'p, 'a> {
    left: u64,
    /// What was done since somebody was asked.
    unasked: u64,
    stopped: bool,
    pulse: &'p mut Pulse<'a>,
}

impl<'p, 'a> Work<'p, 'a> {
    /// So much work, unless somebody stops it.
    pub(crate) fn new(units: u64, pulse: &'p mut Pulse<'a>) -> Self {
        Work { left: units, unasked: 0, stopped: false, pulse }
    }

    /// Whether there is anything left to do it with.
    pub(crate) fn is_left(&self) -> bool {
        self.left > 0 && !self.stopped
    }

    /// Whether somebody has said stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// Takes some work off; whether that was there.
    pub(crate) fn spend(&mut self, units: u64) -> bool {
        self.count(units);
        let enough = units <= self.left;
        self.left = self.left.saturating_sub(units);
        enough && !self.stopped
    }

    /// Counts work that is not limited, such as that of the rules; whether to go on.
    pub(crate) fn count(&mut self, units: u64) -> bool {
        self.unasked = self.unasked.saturating_add(units);
        if self.unasked >= PULSE && !self.stopped {
            self.unasked = 0;
            self.stopped = (self.pulse)().is_break();
        }
        !self.stopped
    }

    /// Does something with a part of what is left; what that does not use is kept.
    pub(crate) fn with_share<T>(&mut self, parts: u64, job: impl FnOnce(&mut Self) -> T) -> T {
        let share = self.left / parts;
        let rest = self.left - share;
        self.left = share;
        let done = job(self);
        self.left += rest;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_part_and_the_rest_is_kept() {
        let mut pulse = || ControlFlow::Continue(());
        let mut work = Work::new(100, &mut pulse);
        assert!(work.with_share(4, |work| work.spend(20)));
        assert!(!work.with_share(4, |work| work.spend(21)));
        assert_eq!(work.left, 60);
        assert!(!work.spend(61) && !work.is_left());
    }

    #[test]
    fn somebody_is_asked_now_and_then_and_can_stop_it() {
        let mut asked = 0;
        let mut pulse = || {
            asked += 1;
            if asked == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let mut work = Work::new(u64::MAX, &mut pulse);
        assert!(work.spend(PULSE - 1) && work.spend(1) && work.spend(PULSE - 1));
        assert!(!work.spend(1) && work.is_stopped() && !work.is_left());
        assert!(!work.spend(1));
        assert_eq!(asked, 2);
    }
}
