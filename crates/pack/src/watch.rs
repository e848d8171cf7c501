//! Watching a solve, and stopping it.
//!
//! There is no clock here: whoever has one is told how far the solve has come, often enough, and
//! says whether it goes on. What is told follows from the work alone; so does the answer, unless
//! somebody stops it.

use std::ops::ControlFlow;

/// The search says how far it has come after so much work: about a hundred times a second.
const PULSE: u64 = 1_000_000;

/// How far a solve has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The smallest arena that was found.
    pub arena_bytes: u64,
    /// No arena can be smaller than this.
    pub lower_bound_bytes: u64,
    /// The work so far.
    pub work: u64,
}

/// Who is told how far a solve has come, and breaks it off when that is enough: whenever something
/// better was found or proven, after every packing, and every so many units of search.
///
/// The first packing is always finished, so that there is an answer.
pub type Watch<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + 'a;

/// Somebody who never stops anything.
pub(crate) fn nobody(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// A watch with what it knows.
pub(crate) struct Watched<'a> {
    watch: &'a mut Watch<'a>,
    progress: Progress,
    /// The work of everything before what is running.
    before: u64,
    /// When to tell again.
    next: u64,
    stopped: bool,
}

impl<'a> Watched<'a> {
    /// Nothing is found yet.
    pub(crate) fn new(watch: &'a mut Watch<'a>, lower_bound_bytes: u64) -> Self {
        let progress = Progress { arena_bytes: u64::MAX, lower_bound_bytes, work: 0 };
        Watched { watch, progress, before: 0, next: PULSE, stopped: false }
    }

    /// Whether somebody has said stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped
    }

    /// A packing was made, by so much work since the last phase ended.
    pub(crate) fn found(&mut self, arena_bytes: u64, work: u64) {
        self.progress.arena_bytes = self.progress.arena_bytes.min(arena_bytes);
        self.tell(work);
    }

    /// A bound was proven.
    pub(crate) fn proved(&mut self, lower_bound_bytes: u64, work: u64) {
        self.progress.lower_bound_bytes = self.progress.lower_bound_bytes.max(lower_bound_bytes);
        self.tell(work);
    }

    /// Work goes on. Cheap: tells only every so often.
    pub(crate) fn working(&mut self, work: u64) {
        if self.before.saturating_add(work) >= self.next {
            self.tell(work);
        }
    }

    /// What counted its work is over: the next count begins at 0.
    pub(crate) fn finished(&mut self, work: u64) {
        self.before = self.before.saturating_add(work);
    }

    fn tell(&mut self, work: u64) {
        self.progress.work = self.before.saturating_add(work);
        self.next = self.progress.work.saturating_add(PULSE);
        if !self.stopped {
            self.stopped = (self.watch)(&self.progress).is_break();
        }
    }
}
