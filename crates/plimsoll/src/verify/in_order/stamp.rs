//! What happens to the stamps of some bytes when an access begins.

use plimsoll_pack::Span;

use super::super::facts::{HeldSince, Use};
use super::super::violation::{Culprit, Thing, Violation};
use super::Replay;
use crate::ids::{StepId, ValueId};
use crate::point::Point;
use crate::program::AccessKind;

/// What is at a byte.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    /// A root, a guard or a scratch.
    pub(super) owner: Thing,
    pub(super) by: Option<StepId>,
    pub(super) run: u64,
    /// From when on it can be read.
    pub(super) ready: u64,
    /// Until when somebody needs it unharmed.
    pub(super) busy: u64,
    /// Who does.
    pub(super) user: User,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct User {
    /// `None` for whoever fills it from outside.
    pub(super) step: Option<StepId>,
    pub(super) thing: Thing,
    pub(super) reads: bool,
}

/// A write that begins: of what, by whom and when.
#[derive(Clone, Copy)]
pub(super) struct Write {
    pub(super) owner: Thing,
    pub(super) thing: Thing,
    pub(super) step: Option<StepId>,
    pub(super) begin: u64,
    pub(super) end: u64,
}

impl Replay<'_, '_> {
    /// Stamps some bytes.
    pub(super) fn write(&mut self, space: u32, span: Span, write: Write) {
        if span.is_empty() {
            return;
        }
        let user = User { step: write.step, thing: write.thing, reads: false };
        let fresh = Stamp {
            owner: write.owner,
            by: write.step,
            run: self.run,
            ready: write.end,
            busy: write.end,
            user,
        };
        let bytes = &mut self.bytes[space as usize];
        if let Some(stamp) = bytes.exactly(span) {
            let old = *stamp;
            *stamp = after(old, fresh);
            self.harm(space, span, old, write);
            return;
        }
        let mut pieces = std::mem::take(&mut self.pieces);
        bytes.list(span, &mut pieces);
        bytes.set(span, fresh);
        for (piece, old) in &pieces {
            let Some(old) = *old else { continue };
            let stamp = after(old, fresh);
            if stamp != fresh {
                self.bytes[space as usize].set(*piece, stamp);
            }
            self.harm(space, *piece, old, write);
        }
        self.pieces = pieces;
    }

    /// What it means that a write takes these bytes from what was there.
    fn harm(&mut self, space: u32, span: Span, old: Stamp, write: Write) {
        if old.owner == write.owner {
            return;
        }
        let at = self.facts.region(space, span);
        let by = Culprit { thing: write.thing, step: write.step };
        if let Thing::Value(lost) = old.owner {
            let fact = self.facts.value(lost);
            if fact.protected && !self.in_same_set(lost, write.owner) {
                self.found.push(Violation::PersistentLost { value: fact.alias_set, by, at });
                return;
            }
        }
        if old.busy <= write.begin {
            return;
        }
        let user = Culprit { thing: old.user.thing, step: old.user.step };
        self.found.push(match (old.user.thing, old.user.step) {
            (Thing::Value(input), Some(step)) if old.user.reads && Some(step) == write.step => {
                Violation::OwnInputOverwritten { step, input, by: write.thing, at }
            }
            (Thing::Value(value), Some(step)) if old.user.reads => {
                Violation::Clobbered { step, value, by, at, earlier_run: false }
            }
            (Thing::Scratch(step), _) => Violation::ScratchClobbered { step, by, at },
            _ => Violation::WriteWhileWritten { first: user, second: by, at },
        });
    }

    pub(super) fn in_same_set(&self, value: ValueId, other: Thing) -> bool {
        let Thing::Value(other) = other else { return false };
        self.facts.value(value).alias_set == self.facts.value(other).alias_set
    }

    /// Looks at some bytes, and notes until when they are needed.
    pub(super) fn read(&mut self, used: &Use, span: Span, begin: u64, end: u64) {
        if span.is_empty() {
            return;
        }
        let reader = User { step: Some(used.step), thing: Thing::Value(used.value), reads: true };
        let owner = Thing::Value(used.root);
        let any_run = self.facts.value(used.root).life == HeldSince::Resident;
        let run = self.run;
        let good = |s: &Stamp| s.owner == owner && s.ready <= begin && (any_run || s.run == run);
        let needed =
            |s: Stamp| if s.busy < end { Stamp { busy: end, user: reader, ..s } } else { s };
        let bytes = &mut self.bytes[used.space as usize];
        if let Some(stamp) = bytes.exactly(span)
            && good(stamp)
        {
            *stamp = needed(*stamp);
            return;
        }
        let mut pieces = std::mem::take(&mut self.pieces);
        bytes.list(span, &mut pieces);
        let mut joined: Option<(Span, Stamp)> = None;
        for (piece, stamp) in &pieces {
            let Some(stamp) = stamp.filter(good) else {
                self.missing(used, *piece, *stamp, begin);
                continue;
            };
            let stamp = needed(stamp);
            joined = Some(match joined {
                Some((before, last)) if before.hi == piece.lo && joins(last, stamp) => {
                    let ready = last.ready.max(stamp.ready);
                    (Span::new(before.lo, piece.hi), Stamp { ready, ..stamp })
                }
                before => {
                    self.put(used.space, before);
                    (*piece, stamp)
                }
            });
        }
        self.put(used.space, joined);
        self.pieces = pieces;
    }

    fn put(&mut self, space: u32, piece: Option<(Span, Stamp)>) {
        if let Some((span, stamp)) = piece {
            self.bytes[space as usize].set(span, stamp);
        }
    }

    /// Why a read does not find what it wants.
    fn missing(&mut self, used: &Use, span: Span, stamp: Option<Stamp>, begin: u64) {
        let at = self.facts.region(used.space, span);
        let (step, value) = (used.step, used.value);
        let Some(stamp) = stamp.filter(|s| s.owner != Thing::Value(used.root)) else {
            self.found.push(Violation::ReadBeforeWrite { step, value, at });
            return;
        };
        let root = *self.facts.value(used.root);
        if root.protected && !self.in_same_set(used.root, stamp.owner) {
            // Said when it happened.
            return;
        }
        if root.life != HeldSince::Temporary || self.was_written(used.root, begin) {
            let by = Culprit { thing: stamp.owner, step: stamp.by };
            let earlier_run = stamp.run < self.run;
            self.found.push(Violation::Clobbered { step, value, by, at, earlier_run });
        } else {
            self.found.push(Violation::ReadBeforeWrite { step, value, at });
        }
    }

    /// Whether some write of a root was over in this run, made once for all roots: only plans that
    /// are wrong pay for it.
    fn was_written(&mut self, root: ValueId, begin: u64) -> bool {
        if self.written.is_empty() {
            self.written = vec![u64::MAX; self.facts.values.len()];
            for step in &self.facts.plan.schedule {
                let position = self.positions[step.index()] as usize;
                let writes = self.facts.uses(*step).filter(|used| used.kind == AccessKind::Write);
                let mut over: Vec<(ValueId, u64)> =
                    writes.map(|used| (used.root, self.end(&used))).collect();
                for overwrite in self.facts.overwrites(*step).iter().filter(|o| o.must) {
                    let root = self.facts.value(overwrite.output).root;
                    over.push((root, self.time(Point::after(position))));
                }
                let start = self.time(Point(0));
                for (root, end) in over {
                    let first = &mut self.written[root.index()];
                    *first = (*first).min(end - start);
                }
            }
        }
        let first = self.written[root.index()];
        first.saturating_add(self.time(Point(0))) <= begin
    }
}

/// What a write leaves of what it finds: those who still need bytes of the same root go on to.
fn after(old: Stamp, fresh: Stamp) -> Stamp {
    if old.owner != fresh.owner {
        return fresh;
    }
    let (busy, user) =
        if old.busy > fresh.busy { (old.busy, old.user) } else { (fresh.busy, fresh.user) };
    Stamp { ready: old.ready.max(fresh.ready), busy, user, ..fresh }
}

/// Whether two neighbours are the same but for who wrote them.
fn joins(a: Stamp, b: Stamp) -> bool {
    (a.owner, a.run, a.busy, a.user) == (b.owner, b.run, b.busy, b.user)
}
