//! The steps of a trace replayed over bytes, each with the step that wrote it last.

use plimsoll_pack::Span;

use super::super::bytes::Bytes;
use super::super::facts::Facts;
use super::super::violation::{Region, Space};
use super::read::{Access, Line};
use super::{Limits, TraceFault, TraceViolation};
use crate::ids::{BankId, StepId, ValueId};
use crate::plan::Place;
use crate::program::AccessKind;

/// Who wrote a byte last, and in which run.
type Writer = (StepId, u64);

/// What has happened up to some line.
pub(super) struct Check<'a> {
    facts: &'a Facts<'a>,
    written: Vec<Bytes<Writer>>,
    run: u64,
    ran: Vec<bool>,
    limits: Limits,
    work: u64,
    pub(super) found: Vec<TraceViolation>,
}

impl<'a> Check<'a> {
    /// Before the first line.
    pub(super) fn new(facts: &'a Facts<'a>, limits: Limits) -> Self {
        let mut written = Vec::new();
        written.resize_with(facts.plan.banks.len(), Bytes::default);
        let ran = vec![false; facts.program.steps()];
        Check { facts, written, run: 0, ran, limits, work: 0, found: Vec::new() }
    }

    /// Whether no more can be looked at. What was found is then not all.
    pub(super) fn is_spent(&self) -> bool {
        self.work > self.limits.work
    }

    /// Looks at a step that ran.
    pub(super) fn line(&mut self, line: &Line) {
        if std::mem::replace(&mut self.ran[line.step.index()], true) {
            self.run += 1;
            self.ran.fill(false);
            self.ran[line.step.index()] = true;
        }
        let before = self.found.len();
        if line.reads.is_empty()
            && line.writes.is_empty()
            && !self.facts.program.accesses(line.step).is_empty()
        {
            self.say(line, TraceFault::Silent);
        }
        for (access, kind) in both(line) {
            self.planned(line, access, kind);
            self.declared(line, access, kind);
        }
        line.reads.iter().for_each(|read| self.read(line, read));
        self.work += line.writes.len() as u64 * (line.reads.len() + line.writes.len()) as u64;
        if !self.is_spent() {
            self.own(line);
        }
        for write in &line.writes {
            if let Some(bank) = write.bank {
                self.written[bank as usize].set(write.span, (line.step, self.run));
            }
        }
        self.found[before..].sort_unstable();
    }

    fn say(&mut self, line: &Line, kind: TraceFault) {
        self.found.push(TraceViolation { line: line.number, step: line.step, kind });
    }

    /// The bytes of the access, in words of the plan.
    fn region(access: &Access, span: Span) -> Region {
        let space = match access.bank {
            Some(bank) => Space::Bank(BankId(bank)),
            None => Space::Outside(access.value),
        };
        Region { space, lo: span.lo, hi: span.hi }
    }

    fn planned(&mut self, line: &Line, access: &Access, kind: AccessKind) {
        let fact = self.facts.value(access.value);
        // Guards may be written, and only that.
        let guard = if kind == AccessKind::Write { fact.guard } else { 0 };
        let inside = match (self.facts.plan.places.get(access.value.index()), access.bank) {
            (Some(Place::Bank(slot)), Some(bank)) => {
                let hull = fact.layout(slot.offset).hull(Span::new(0, fact.bytes));
                let end = hull.hi.saturating_add(guard);
                slot.bank.0 == bank && slot.offset <= access.span.lo && access.span.hi <= end
            }
            (Some(Place::External | Place::Outside { .. }), None) => {
                access.span.hi <= fact.bytes.saturating_add(guard)
            }
            _ => false,
        };
        if !inside {
            let (value, write) = (access.value, kind == AccessKind::Write);
            let at = Self::region(access, access.span);
            self.say(line, TraceFault::NotWherePlanned { value, write, at });
        }
    }

    /// The declared accesses of the step to the same root must cover it.
    fn declared(&mut self, line: &Line, access: &Access, kind: AccessKind) {
        let fact = self.facts.value(access.value);
        // Bytes of the root, as far as the plan says where those are.
        let first = match (self.facts.plan.places.get(access.value.index()), access.bank) {
            (Some(Place::Bank(slot)), Some(_)) => slot.offset,
            (_, None) => 0,
            _ => return,
        };
        let Some(lo) = access.span.lo.checked_sub(first) else { return };
        let mut rest = vec![Span::new(lo, lo + access.span.len()).shifted(fact.offset)];
        let all = self.facts.program.accesses(line.step);
        self.work += all.len() as u64;
        for declared in all.iter().filter(|declared| declared.kind == kind) {
            let Some(of) = self.facts.values.get(declared.value.index()) else { continue };
            if of.root != fact.root {
                continue;
            }
            let mut span = declared.bytes.unwrap_or(Span::new(0, of.bytes));
            if kind == AccessKind::Write && span.hi == of.bytes {
                span.hi = span.hi.saturating_add(of.guard);
            }
            for span in of.spans_of_root(span) {
                rest = rest.into_iter().flat_map(|part| without(part, span)).collect();
            }
        }
        if let Some(part) = rest.first().filter(|part| !part.is_empty()) {
            let (value, write) = (access.value, kind == AccessKind::Write);
            let back = part.lo - fact.offset + first;
            let at = Self::region(access, Span::new(back, back + part.len()));
            self.say(line, TraceFault::NotDeclared { value, write, at });
        }
    }

    fn read(&mut self, line: &Line, read: &Access) {
        let Some(bank) = read.bank.filter(|_| !self.is_spent()) else { return };
        let mut pieces = Vec::new();
        self.written[bank as usize].list(read.span, &mut pieces);
        self.work += pieces.len() as u64;
        for (piece, writer) in pieces {
            let found = writer.map(|(step, _)| step);
            let this_run = writer.filter(|(_, run)| *run == self.run).map(|(step, _)| step);
            let right = match read.made_by {
                Some(maker) => this_run == Some(maker),
                None => found.is_none_or(|step| self.makes(step, read.value)),
            };
            if !right {
                let (value, made_by) = (read.value, read.made_by);
                let at = Self::region(read, piece);
                self.say(line, TraceFault::Clobbered { value, made_by, found, at });
            }
        }
    }

    /// Whether a step is declared to write the value, or its alias set.
    fn makes(&self, step: StepId, value: ValueId) -> bool {
        let alias_set = |v: ValueId| {
            let root = self.facts.values.get(v.index()).map(|fact| fact.root);
            root.map(|root| self.facts.value(root).alias_set)
        };
        let accesses = self.facts.program.accesses(step);
        accesses
            .iter()
            .any(|a| a.kind == AccessKind::Write && alias_set(a.value) == alias_set(value))
    }

    /// What a step writes over what it reads, and over what else it writes.
    fn own(&mut self, line: &Line) {
        for (index, write) in line.writes.iter().enumerate() {
            for read in &line.reads {
                if let Some(span) = shared(write, read)
                    && !self.may_overwrite(line.step, write.value, read.value)
                {
                    let (input, output) = (read.value, write.value);
                    let at = Self::region(write, span);
                    self.say(line, TraceFault::WroteOwnInput { input, output, at });
                }
            }
            for other in &line.writes[index + 1..] {
                let (a, b) = (self.facts.value(write.value), self.facts.value(other.value));
                if let Some(span) = shared(write, other)
                    && a.root != b.root
                {
                    let (first, second) = (write.value, other.value);
                    let at = Self::region(write, span);
                    self.say(line, TraceFault::SharedOutputs { first, second, at });
                }
            }
        }
    }

    fn may_overwrite(&self, step: StepId, output: ValueId, input: ValueId) -> bool {
        let root = |v: ValueId| self.facts.value(v).root;
        root(output) == root(input)
            || self.facts.overwrites(step).iter().any(|o| {
                root(o.output) == root(output)
                    && root(o.input) == root(input)
                    && self.facts.same_place(o.output, o.input)
                    && self.facts.same_place(input, o.input)
            })
    }
}

fn both(line: &Line) -> impl Iterator<Item = (&Access, AccessKind)> {
    let reads = line.reads.iter().map(|access| (access, AccessKind::Read));
    reads.chain(line.writes.iter().map(|access| (access, AccessKind::Write)))
}

/// The bytes that belong to both.
fn shared(a: &Access, b: &Access) -> Option<Span> {
    let same = a.bank == b.bank && (a.bank.is_some() || a.value == b.value);
    (same && a.span.meets(b.span)).then(|| a.span.and(b.span))
}

/// What is left of a span without another.
fn without(span: Span, other: Span) -> impl Iterator<Item = Span> {
    let below = Span::new(span.lo, span.hi.min(other.lo));
    let above = Span::new(span.lo.max(other.hi), span.hi);
    [below, above].into_iter().filter(|part| !part.is_empty())
}
