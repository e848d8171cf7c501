//! Steps one after another: two runs replayed over the bytes of each space.
//!
//! Every byte carries a stamp: what was written there last, by which step, when that write is
//! over, and until when somebody who has begun to read or write it needs it unharmed. Accesses are
//! taken in order of the point at which they may begin:
//!
//! - a write stamps its bytes, and those of its guard with junk; what it finds there must not be
//!   needed any more by anybody, unless it is of the same root;
//! - a read must find its own root, written in this run (or from outside) by a write that is over,
//!   and notes until when it needs that.
//!
//! So an access that is harmed is found by the write that does it, and nothing needs to be looked
//! at again when an access is over. Of several readers at the same time a piece remembers the one
//! that is over last. The first run starts with what is there before it; the second finds what the
//! first has left, and every later run would find the same. Where nothing lasts from run to run but what
//! nobody may write, the first tells all; [`is_repeated`] says when, and why.
//!
//! A read of an input that is overwritten in place (declared, and at the same first byte) is over
//! when its step writes, on the bytes that the output writes. An output that must overwrite keeps
//! the bytes that its step does not write: it reads all its bytes as those of the input, and then
//! writes all of them.
//!
//! Writing replaces the pieces in its span by one, and so does reading (but for those that are
//! needed for longer), so that each access costs O(log pieces) on average.

mod stamp;
#[cfg(test)]
mod tests;

use plimsoll_pack::Span;

use self::stamp::{Stamp, Write};
use super::bytes::Bytes;
use super::facts::{Facts, HeldSince, Use};
use super::violation::{Culprit, Thing, Violation};
use crate::ids::{StepId, ValueId};
use crate::plan::{Place, Slot};
use crate::point::Point;
use crate::program::{AccessKind, Overwrite, Until};

/// As many as make a difference.
const RUNS: u64 = 2;

/// What runs are replayed in, to be filled again.
#[derive(Default)]
pub(super) struct ReplayMemory {
    bytes: Vec<Bytes<Stamp>>,
    pieces: Vec<(Span, Option<Stamp>)>,
    rest: Vec<Span>,
}

/// Adds what goes wrong in two runs.
pub(super) fn check(
    facts: &Facts,
    positions: &[u32],
    buffers: &mut ReplayMemory,
    found: &mut Vec<Violation>,
) {
    check_runs(facts, positions, buffers, found, is_repeated);
}

/// The same; the second run is left out where the first is right and `is_enough`.
fn check_runs(
    facts: &Facts,
    positions: &[u32],
    buffers: &mut ReplayMemory,
    found: &mut Vec<Violation>,
    is_enough: fn(&Facts) -> bool,
) {
    let early = early(facts, positions);
    buffers.bytes.resize_with(facts.spaces(), Bytes::default);
    buffers.bytes.iter_mut().for_each(Bytes::clear);
    let ReplayMemory { bytes, pieces, rest } = std::mem::take(buffers);
    let (written, before) = (Vec::new(), found.len());
    let mut replay = Replay { facts, positions, bytes, run: 0, pieces, rest, written, found };
    replay.fill(HeldSince::Resident);
    for run in 0..RUNS {
        if run > 0 && replay.found.len() == before && is_enough(facts) {
            break;
        }
        replay.run = run;
        replay.replay(&early);
    }
    let Replay { bytes, pieces, rest, .. } = replay;
    *buffers = ReplayMemory { bytes, pieces, rest };
}

/// Whether a first run without a violation shows that the second has none.
///
/// Call a stamp *old* if it was there before the run. Every access is over when its run ends, and the
/// next run begins later: nobody is busy with what an old stamp is of, and all of it is ready. So an
/// old stamp does to an access what no stamp does, with two exceptions:
///
/// 1. a read, or the end of the run, may find a resident root in a stamp of any run;
/// 2. a write of something else over a protected root is a violation, however old the stamp is.
///
/// Say that every value is its own alias set, that every resident root is protected, and that nothing
/// that is filled before every run lies in the memory of another value of the caller. Then the second
/// run finds at every byte, access by access, what the first has found: a stamp that was made by the
/// same access of its own run, an old stamp of the same resident root, or one that counts as none.
///
/// - Of a resident root all bytes have its stamp before the first run, and keep it: whatever else is
///   written there is a violation by 2, while filling too. So 1 and 2 are alike in both runs.
/// - Any other protected root is in the caller's memory and is filled before every run, where nothing
///   else is filled. Then no byte of it has an old stamp, and no other byte has one of it: a root is
///   stamped on its own bytes alone. So 2 is alike in both runs.
/// - All other old stamps count as none, and a read that finds none is a violation in the first run.
/// - In an alias set of one nothing is handed over from a run to the next.
///
/// Where a donated value outlives the run, or a state lives on in its next state, or an input is in the
/// memory of another, the second run can find what the first does not.
fn is_repeated(facts: &Facts) -> bool {
    let is_alone = |value: ValueId| {
        let fact = facts.value(value);
        let is_root = fact.root == value;
        let comes = is_root && fact.life == HeldSince::Input || fact.filled;
        let place = facts.plan.places.get(fact.root.index());
        let is_apart = !comes || !matches!(place, Some(Place::Outside { .. }));
        let is_kept = fact.life != HeldSince::Resident || fact.protected;
        fact.alias_set == fact.root && is_kept && is_apart
    };
    facts.ids().all(is_alone)
}

/// Accesses that may begin with an earlier step, by the position of that.
fn early(facts: &Facts, positions: &[u32]) -> Vec<(u32, Use)> {
    let mut early = Vec::new();
    for step in &facts.plan.schedule {
        facts.each_use(*step, |used| {
            if let Some(from) = used.from.filter(|from| from != step) {
                let at = positions[from.index()].min(positions[step.index()]);
                early.push((at, *used));
            }
        });
    }
    early.sort_by_cached_key(|(at, _)| *at);
    early
}

struct Replay<'a, 'b> {
    facts: &'a Facts<'a>,
    positions: &'a [u32],
    bytes: Vec<Bytes<Stamp>>,
    run: u64,
    /// Scratch memory of its own.
    pieces: Vec<(Span, Option<Stamp>)>,
    rest: Vec<Span>,
    /// When the first write of each root is over, counted from the start of the run; empty until
    /// somebody asks.
    written: Vec<u64>,
    found: &'b mut Vec<Violation>,
}

impl Replay<'_, '_> {
    /// One run from its first step to its last.
    fn replay(&mut self, mut early: &[(u32, Use)]) {
        let facts = self.facts;
        self.fill(HeldSince::Input);
        for step in &facts.plan.schedule {
            let position = self.positions[step.index()];
            let begun = early.partition_point(|(at, _)| *at <= position);
            let now;
            (now, early) = early.split_at(begun);
            self.step(*step, now);
        }
        self.outputs();
        self.hand_over();
    }

    /// The time of a point of this run, over all runs.
    fn time(&self, point: Point) -> u64 {
        let steps = self.positions.len();
        self.run * (Point::end_of_run(steps).0 + 1) + point.0 + 1
    }

    fn begin(&self, used: &Use) -> u64 {
        let own = self.positions[used.step.index()] as usize;
        match used.from.filter(|_| !used.begins_with_step()) {
            Some(from) => {
                let from = self.positions[from.index()] as usize;
                self.time(Point::reads(from.min(own)))
            }
            None if used.kind == AccessKind::Read => self.time(Point::reads(own)),
            None => self.time(Point::writes(own)),
        }
    }

    fn end(&self, used: &Use) -> u64 {
        let own = self.positions[used.step.index()] as usize;
        self.time(match used.until {
            Until::Writes => Point::writes(own),
            Until::Step => Point::after(own),
            Until::After(step) => Point::after(own.max(self.positions[step.index()] as usize)),
            Until::EndOfRun => Point::end_of_run(self.positions.len()),
        })
    }

    /// Stamps what comes from outside: values first, then what their writers may spill.
    fn fill(&mut self, life: HeldSince) {
        for guards in [false, true] {
            for value in self.facts.ids() {
                let fact = self.facts.value(value);
                let comes = if fact.root == value {
                    fact.life == life
                } else {
                    fact.filled && life == HeldSince::Input && !guards
                };
                if !comes || fact.elided {
                    continue;
                }
                let now = self.time(Point(0));
                let (owner, thing) = if guards {
                    (Thing::Guard(value), Thing::Guard(value))
                } else {
                    (Thing::Value(fact.root), Thing::Value(value))
                };
                let Some((space, spans)) = self.facts.spans(value) else { continue };
                let write = Write { owner, thing, step: None, begin: now, end: now };
                if guards {
                    let end = spans.last().map_or(0, |last| last.hi);
                    self.write(space, Span::new(end, end + fact.guard), write);
                } else {
                    spans.for_each(|span| self.write(space, span, write));
                }
            }
        }
    }

    /// All that begins with a step, and then what begins where it writes.
    fn step(&mut self, step: StepId, early: &[(u32, Use)]) {
        let facts = self.facts;
        let overwrites = facts.overwrites(step);
        let is_read = |used: &Use| used.kind == AccessKind::Read;
        let early = || early.iter().map(|(_, used)| used);
        let own = |used: &Use| used.begins_with_step();
        for used in early().filter(|used| is_read(used)) {
            self.read_in_parts(used);
        }
        facts.each_use(step, |used| {
            if own(used) && is_read(used) {
                self.read_in_parts(used);
            }
        });
        for overwrite in overwrites.iter().filter(|o| o.must) {
            self.take_over(step, overwrite);
        }
        self.scratch(step);
        for used in early().filter(|used| !is_read(used)) {
            self.write_used(used);
        }
        for overwrite in overwrites.iter().filter(|o| o.must) {
            self.keep(step, overwrite);
        }
        facts.each_use(step, |used| {
            if own(used) && !is_read(used) {
                self.write_used(used);
            }
        });
    }

    /// A read, of which the part that is overwritten in place is over when the step writes.
    fn read_in_parts(&mut self, used: &Use) {
        let (begin, end) = (self.begin(used), self.end(used));
        if self.facts.overwrites(used.step).is_empty() {
            self.read(used, used.span, begin, end);
            return;
        }
        let writes_at = self.time(Point::writes(self.positions[used.step.index()] as usize));
        let mut rest = std::mem::take(&mut self.rest);
        rest.clear();
        rest.push(used.span);
        if used.until == Until::Step {
            let facts = self.facts;
            for overwrite in facts.overwrites(used.step) {
                if is_in_place(facts, used, overwrite) {
                    for over in overwritten(facts, used, *overwrite) {
                        self.read(used, over, begin, writes_at);
                        remove(&mut rest, over);
                    }
                }
            }
        }
        for part in &rest {
            self.read(used, *part, begin, end);
        }
        self.rest = rest;
    }

    /// The input of an output that must overwrite it has to be whole.
    fn take_over(&mut self, step: StepId, overwrite: &Overwrite) {
        let (Some((space, input)), Some((_, output))) =
            (self.facts.span(overwrite.input), self.facts.span(overwrite.output))
        else {
            return;
        };
        let used = Use {
            step,
            value: overwrite.input,
            root: self.facts.value(overwrite.input).root,
            space,
            span: Span::new(input.lo, input.hi.min(input.lo.saturating_add(output.len()))),
            within: Span::new(0, output.len().min(input.len())),
            guard: 0,
            kind: AccessKind::Read,
            from: None,
            until: Until::Writes,
        };
        self.read(&used, used.span, self.begin(&used), self.end(&used));
    }

    /// The output of it has all bytes of the input.
    fn keep(&mut self, step: StepId, overwrite: &Overwrite) {
        if let Some((space, span)) = self.facts.span(overwrite.output) {
            let position = self.positions[step.index()] as usize;
            let write = Write {
                owner: Thing::Value(self.facts.value(overwrite.output).root),
                thing: Thing::Value(overwrite.output),
                step: Some(step),
                begin: self.time(Point::writes(position)),
                end: self.time(Point::after(position)),
            };
            self.write(space, span, write);
        }
    }

    fn scratch(&mut self, step: StepId) {
        let Some(Slot { bank, offset, .. }) =
            self.facts.plan.scratch.get(step.index()).copied().flatten()
        else {
            return;
        };
        let wanted = self.facts.program.scratch(step).map_or(0, |s| s.bytes);
        let Some(end) = offset.checked_add(wanted) else { return };
        if bank.index() < self.facts.plan.banks.len() {
            let position = self.positions[step.index()] as usize;
            let thing = Thing::Scratch(step);
            let (begin, over) = (Point::reads(position), Point::after(position));
            let (begin, over) = (self.time(begin), self.time(over));
            let write = Write { owner: thing, thing, step: Some(step), begin, end: over };
            self.write(bank.0, Span::new(offset, end), write);
        }
    }

    fn write_used(&mut self, used: &Use) {
        let write = Write {
            owner: Thing::Value(used.root),
            thing: Thing::Value(used.value),
            step: Some(used.step),
            begin: self.begin(used),
            end: self.end(used),
        };
        self.write(used.space, used.span, write);
        let junk = Thing::Guard(used.value);
        let guard = Span::new(used.span.hi, used.span.hi.saturating_add(used.guard));
        self.write(used.space, guard, Write { owner: junk, thing: junk, ..write });
    }

    /// Every output is there when the run is over.
    fn outputs(&mut self) {
        let now = self.time(Point::end_of_run(self.positions.len()));
        let mut pieces = std::mem::take(&mut self.pieces);
        for value in self.facts.ids() {
            let fact = self.facts.value(value);
            let spans = if fact.output { self.facts.spans(value) } else { None };
            let Some((space, spans)) = spans else { continue };
            let root = self.facts.value(fact.root);
            let any_run = root.life == HeldSince::Resident;
            for span in spans {
                self.bytes[space as usize].list(span, &mut pieces);
                for (piece, stamp) in &pieces {
                    let own = stamp.filter(|s| s.owner == Thing::Value(fact.root));
                    if own.is_some_and(|s| s.ready <= now && (any_run || s.run == self.run)) {
                        continue;
                    }
                    let by = stamp.filter(|s| s.owner != Thing::Value(fact.root));
                    let by = by.map(|s| Culprit { thing: s.owner, step: s.by });
                    if root.protected && by.is_some_and(|b| !self.in_same_set(fact.root, b.thing)) {
                        continue;
                    }
                    let at = self.facts.region(space, *piece);
                    self.found.push(Violation::OutputLost { value, by, at });
                }
            }
        }
        self.pieces = pieces;
    }

    /// What the last of an alias set has left is what the next run finds in the first.
    fn hand_over(&mut self) {
        let end = self.time(Point::end_of_run(self.positions.len()));
        let mut pieces = std::mem::take(&mut self.pieces);
        for value in self.facts.ids() {
            let fact = self.facts.value(value);
            let head = self.facts.value(fact.alias_set);
            if fact.alias_set == value || fact.root != value || head.life != HeldSince::Resident {
                continue;
            }
            let Some((space, span)) = self.facts.span(fact.alias_set) else { continue };
            let bytes = &mut self.bytes[space as usize];
            bytes.list(span, &mut pieces);
            for (piece, stamp) in &pieces {
                if let Some(stamp) = stamp.filter(|s| s.owner == Thing::Value(value)) {
                    let owner = Thing::Value(fact.alias_set);
                    bytes.set(*piece, Stamp { owner, ready: stamp.ready.min(end), ..stamp });
                }
            }
        }
        self.pieces = pieces;
    }
}

/// Whether a read is one of what an output of its step takes over.
fn is_in_place(facts: &Facts, used: &Use, overwrite: &Overwrite) -> bool {
    used.root == facts.value(overwrite.input).root
        && facts.same_place(used.value, overwrite.input)
        && facts.same_place(overwrite.output, overwrite.input)
}

/// The bytes of such a read that the output takes over.
fn overwritten<'a>(
    facts: &'a Facts<'a>,
    used: &Use,
    overwrite: Overwrite,
) -> impl Iterator<Item = Span> + 'a {
    let whole = overwrite.must.then(|| facts.span(overwrite.output)).flatten();
    let written = facts.uses(used.step).filter(move |w| {
        w.kind == AccessKind::Write && w.begins_with_step() && w.value == overwrite.output
    });
    let all = whole.map(|(_, span)| span).into_iter().chain(written.map(|w| w.span));
    let read = used.span;
    all.map(move |span| span.and(read)).filter(|span| !span.is_empty())
}

/// Takes a span out of others.
fn remove(spans: &mut Vec<Span>, other: Span) {
    for at in (0..spans.len()).rev() {
        let Span { lo, hi } = spans[at];
        let above = Span::new(lo.max(other.hi), hi);
        spans[at] = Span::new(lo, hi.min(other.lo));
        if !above.is_empty() {
            spans.insert(at + 1, above);
        }
    }
    spans.retain(|span| !span.is_empty());
}
