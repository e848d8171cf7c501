//! What the program and the plan say of each value, brought together: whose bytes it is, where
//! they are, and for how long they matter.
//!
//! A value is the bytes of its *root*, found along [`view_of`](crate::program::ValueInfo::view_of). A root
//! is in a *space*: a bank, or the caller's memory, which is one space in which all roots that are
//! outside of the plan follow one another. Values that must overwrite one another are one *alias set*: what the last of them
//! leaves is what the next run finds in the first. O(values + declarations).

use plimsoll_pack::Span;

use super::roots::{alias_sets, roots};
use super::violation::{Region, Space, Violation};
use crate::ids::{BankId, StepId, ValueId};
use crate::plan::{Place, Plan};
use crate::program::{
    Access, AccessKind, Execution, Layout, Overwrite, Program, Role, Storage, Strided, Until,
    ValueInfo,
};

/// Program and plan, resolved.
pub(super) struct Facts<'a> {
    pub(super) program: &'a dyn Program,
    pub(super) plan: &'a Plan,
    pub(super) values: Vec<Fact>,
    /// What is in the space of the caller's memory: the first byte of each root there.
    outside: Vec<(u64, ValueId)>,
    /// Roots of the caller's that are not ours to change.
    imported: Vec<ValueId>,
    /// Roots of which the caller fills a part, in order.
    filled: Vec<ValueId>,
    /// The declared overwrites of which both sides are known.
    overwrites: ByStep<Overwrite>,
    /// The accesses to bytes that are followed, with what is between rows.
    uses: ByStep<Use>,
}

/// What facts are kept in, to be filled again.
#[derive(Default)]
pub(super) struct FactsMemory {
    infos: Vec<ValueInfo>,
    values: Vec<Fact>,
    overwrites: ByStep<Overwrite>,
    uses: ByStep<Use>,
}

impl FactsMemory {
    /// Takes back what facts were kept in.
    pub(super) fn recycle(&mut self, used: Facts<'_>) {
        (self.values, self.overwrites, self.uses) = (used.values, used.overwrites, used.uses);
    }
}

/// A list for every step, in one array.
struct ByStep<T> {
    items: Vec<T>,
    /// Where each list ends.
    ends: Vec<usize>,
}

impl<T> Default for ByStep<T> {
    fn default() -> Self {
        ByStep { items: Vec::new(), ends: Vec::new() }
    }
}

impl<T> ByStep<T> {
    fn clear(&mut self) {
        self.items.clear();
        self.ends.clear();
    }

    fn push(&mut self, list: impl Iterator<Item = T>) {
        self.items.extend(list);
        self.ends.push(self.items.len());
    }

    fn of(&self, step: StepId) -> &[T] {
        let start = step.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.items[start..self.ends[step.index()]]
    }
}

/// What is known of a value.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Fact {
    pub(super) bytes: u64,
    pub(super) guard: u64,
    pub(super) root: ValueId,
    /// The first byte in the root.
    pub(super) offset: u64,
    /// Where the rest is, if it is not one stretch of bytes.
    pub(super) rows: Option<Strided>,
    /// Where it is, if it is followed.
    pub(super) at: Option<SpaceByte>,
    pub(super) life: HeldSince,
    /// Of a root: nobody but its alias set may ever write it.
    pub(super) protected: bool,
    /// Of a root: the first of the values that must overwrite one another.
    pub(super) alias_set: ValueId,
    pub(super) output: bool,
    pub(super) elided: bool,
    /// Of a part of what steps make: whether the caller fills it before every run.
    pub(super) filled: bool,
}

impl Fact {
    /// Its bytes, if the first of them is there.
    pub(super) fn layout(&self, first: u64) -> Layout {
        Layout { first, rows: self.rows }
    }

    /// The stretches of the root that some bytes of it are. Of rows, there are no more than it has,
    /// whatever is declared.
    pub(super) fn spans_of_root(&self, bytes: Span) -> impl Iterator<Item = Span> + Clone + use<> {
        let hi = if self.rows.is_some() { bytes.hi.min(self.bytes) } else { bytes.hi };
        self.layout(self.offset).spans(Span { lo: bytes.lo.min(hi), hi })
    }
}

/// A byte of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SpaceByte {
    pub(super) space: u32,
    pub(super) first: u64,
}

/// Since when the bytes of a root hold something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeldSince {
    /// Since a step has written them, in this run.
    Temporary,
    /// Since the start of the run.
    Input,
    /// Since before the first run.
    Resident,
}

/// A declared access to bytes that are followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) step: StepId,
    pub(super) value: ValueId,
    pub(super) root: ValueId,
    pub(super) space: u32,
    /// The bytes of the space.
    pub(super) span: Span,
    /// The bytes of the value.
    pub(super) within: Span,
    /// How many bytes behind them may be written too.
    pub(super) guard: u64,
    pub(super) kind: AccessKind,
    pub(super) from: Option<StepId>,
    pub(super) until: Until,
}

impl Use {
    /// Whether it begins where its own step does.
    pub(super) fn begins_with_step(&self) -> bool {
        self.from.is_none_or(|from| from == self.step)
    }
}

impl<'a> Facts<'a> {
    /// Resolves everything; says what in the program cannot be.
    pub(super) fn derive(
        program: &'a dyn Program,
        plan: &'a Plan,
        buffers: &mut FactsMemory,
        found: &mut Vec<Violation>,
    ) -> Self {
        let FactsMemory { infos, values, overwrites, uses } = buffers;
        infos.clear();
        infos.extend((0..program.values()).map(|v| program.value(ValueId::new(v))));
        let roots = roots(infos, found);
        let alias_sets = alias_sets(program, &roots);
        let mut values = std::mem::take(values);
        values.clear();
        for (index, info) in infos.iter().enumerate() {
            let (root, Layout { first: offset, rows }) = roots[index];
            let of_root = &infos[root.index()];
            let head = &infos[alias_sets[root.index()].index()];
            values.push(Fact {
                bytes: info.bytes,
                guard: match rows {
                    None => info.guard.max(reserved(plan, index).saturating_sub(info.bytes)),
                    Some(_) => 0,
                },
                root,
                offset,
                rows,
                at: None,
                life: if alias_sets[root.index()] == root {
                    life(of_root)
                } else {
                    HeldSince::Temporary
                },
                protected: survives(head) && !head.donated,
                alias_set: alias_sets[root.index()],
                output: info.output,
                elided: of_root.elided || info.elided,
                filled: info.role == Role::Input
                    && info.view_of.is_some()
                    && life(of_root) == HeldSince::Temporary,
            });
        }
        let parts = values.iter().filter(|part| part.filled);
        let mut filled: Vec<ValueId> = parts.map(|part| part.root).collect();
        filled.sort_unstable();
        let (outside, imported) = (Vec::new(), Vec::new());
        let (overwrites, uses) = (std::mem::take(overwrites), std::mem::take(uses));
        let mut facts =
            Facts { program, plan, values, outside, imported, filled, overwrites, uses };
        facts.locate();
        facts.resolve();
        facts.check_declarations(found);
        facts
    }

    /// How many spaces there are: the banks, and the caller's memory.
    pub(super) fn spaces(&self) -> usize {
        self.plan.banks.len() + 1
    }

    pub(super) fn value(&self, value: ValueId) -> &Fact {
        &self.values[value.index()]
    }

    /// Every value, in order.
    pub(super) fn ids(&self) -> impl Iterator<Item = ValueId> + use<> {
        (0..self.values.len()).map(ValueId::new)
    }

    /// Whether the caller fills a part of a root that steps make.
    pub(super) fn is_filled(&self, root: ValueId) -> bool {
        self.filled.binary_search(&root).is_ok()
    }

    /// The bytes of a value in its space, with what is between its rows.
    pub(super) fn span(&self, value: ValueId) -> Option<(u32, Span)> {
        let fact = self.value(value);
        let at = fact.at?;
        Some((at.space, fact.layout(at.first).hull(Span::new(0, fact.bytes))))
    }

    /// The same in stretches, without what is between rows.
    pub(super) fn spans(
        &self,
        value: ValueId,
    ) -> Option<(u32, impl Iterator<Item = Span> + Clone + use<>)> {
        let fact = self.value(value);
        let at = fact.at?;
        Some((at.space, fact.layout(at.first).spans(Span::new(0, fact.bytes))))
    }

    /// The accesses of a step to bytes that are followed, row by row.
    pub(super) fn uses(&self, step: StepId) -> impl Iterator<Item = Use> + Clone + '_ {
        self.uses.of(step).iter().flat_map(|used| self.rows(used))
    }

    /// The same, each told as it comes.
    pub(super) fn each_use(&self, step: StepId, mut each: impl FnMut(&Use)) {
        for used in self.uses.of(step) {
            if self.value(used.value).rows.is_none() {
                each(used);
            } else {
                self.rows(used).for_each(|used| each(&used));
            }
        }
    }

    /// An access row by row.
    fn rows<'b>(&self, used: &'b Use) -> impl Iterator<Item = Use> + Clone + use<'b> {
        let fact = self.value(used.value);
        let (layout, bytes) = match (fact.rows, fact.at) {
            (Some(_), Some(at)) => (fact.layout(at.first), used.within),
            _ => (Layout::WHOLE, used.span),
        };
        layout.spans(bytes).map(|span| Use { span, ..*used })
    }

    /// Reads what steps declare.
    fn resolve(&mut self) {
        let known = |v: ValueId| v.index() < self.values.len();
        let mut overwrites = std::mem::take(&mut self.overwrites);
        let mut uses = std::mem::take(&mut self.uses);
        overwrites.clear();
        uses.clear();
        for step in (0..self.program.steps()).map(StepId::new) {
            let all = self.program.overwrites(step);
            overwrites.push(all.iter().copied().filter(|o| known(o.output) && known(o.input)));
            let all = self.program.accesses(step);
            uses.push(all.iter().filter_map(|access| self.used(step, access)));
        }
        (self.overwrites, self.uses) = (overwrites, uses);
    }

    /// One of them; none where no byte is touched.
    fn used(&self, step: StepId, access: &Access) -> Option<Use> {
        let fact = self.values.get(access.value.index())?;
        let at = fact.at.filter(|_| !fact.elided)?;
        let bytes = access.bytes.unwrap_or(Span::new(0, fact.bytes));
        if bytes.hi > fact.bytes || self.fault(access).is_some() {
            return None;
        }
        let writes_end = access.kind == AccessKind::Write && bytes.hi == fact.bytes;
        let guard = if writes_end { fact.guard } else { 0 };
        (!bytes.is_empty() || guard > 0).then(|| Use {
            step,
            value: access.value,
            root: fact.root,
            space: at.space,
            span: fact.layout(at.first).hull(bytes),
            within: bytes,
            guard,
            kind: access.kind,
            from: access.from,
            until: access.until,
        })
    }

    /// The declared overwrites of a step of which both sides are known.
    pub(super) fn overwrites(&self, step: StepId) -> &[Overwrite] {
        self.overwrites.of(step)
    }

    /// Whether the bytes of two values are the same, as far as both have some.
    pub(super) fn same_place(&self, a: ValueId, b: ValueId) -> bool {
        let (a, b) = (self.value(a), self.value(b));
        a.at.is_some() && (a.at, a.rows) == (b.at, b.rows)
    }

    /// Finds the bytes of every root, and of its views with it.
    fn locate(&mut self) {
        let bases = self.bases();
        let banks = self.plan.banks.len();
        let mut at: Vec<Option<SpaceByte>> = Vec::with_capacity(self.values.len());
        for value in self.ids() {
            let own = self.value(value);
            let needs = own.layout(0).hull(Span::new(0, own.bytes)).hi.checked_add(own.guard);
            at.push(match self.plan.places.get(value.index()) {
                Some(Place::Bank(slot)) if slot.bank.index() < banks => {
                    Some(SpaceByte { space: slot.bank.0, first: slot.offset })
                }
                Some(Place::External) => {
                    bases[value.index()].map(|first| SpaceByte { space: banks as u32, first })
                }
                Some(Place::Outside { root, offset }) => {
                    let base = bases.get(root.index()).copied().flatten();
                    let end = needs.and_then(|needs| offset.checked_add(needs));
                    let fits = |_: &u64| {
                        let of = self.value(*root);
                        end.is_some_and(|end| end <= of.bytes + of.guard)
                    };
                    base.filter(fits).map(|b| SpaceByte { space: banks as u32, first: b + offset })
                }
                _ => None,
            });
        }
        for value in self.ids() {
            let fact = self.value(value);
            let at = at[fact.root.index()].and_then(|at| {
                let first = at.first.checked_add(fact.offset)?;
                let bytes = if fact.rows.is_none() { fact.bytes } else { 0 };
                first.checked_add(bytes)?.checked_add(fact.guard)?;
                Some(SpaceByte { first, ..at })
            });
            self.values[value.index()].at = at;
        }
    }

    /// Where each root of the caller's begins in the space of all of them, and what it means that
    /// it is the caller's: filled before every run, and not ours to change.
    fn bases(&mut self) -> Vec<Option<u64>> {
        let mut bases = vec![None; self.values.len()];
        let mut end: u64 = 0;
        for value in self.ids() {
            let fact = *self.value(value);
            let external = matches!(self.plan.places.get(value.index()), Some(Place::External));
            let Some(next) = end.checked_add(fact.bytes).and_then(|e| e.checked_add(fact.guard))
            else {
                continue;
            };
            if !external || fact.root != value || fact.elided {
                continue;
            }
            bases[value.index()] = Some(end);
            self.outside.push((end, value));
            end = next;
            if fact.alias_set == value
                && fact.life != HeldSince::Temporary
                && !self.program.value(value).donated
            {
                self.imported.push(value);
            }
        }
        if !self.imported.is_empty() {
            let mut imported = vec![false; self.values.len()];
            self.imported.iter().for_each(|value| imported[value.index()] = true);
            for fact in &mut self.values {
                fact.protected |= imported[fact.alias_set.index()];
            }
        }
        bases
    }

    /// Bytes of a space in the words of the plan.
    pub(super) fn region(&self, space: u32, span: Span) -> Region {
        if (space as usize) < self.plan.banks.len() {
            return Region { space: Space::Bank(BankId(space)), lo: span.lo, hi: span.hi };
        }
        let at = self.outside.partition_point(|(base, _)| *base <= span.lo).max(1) - 1;
        let (base, value) = self.outside[at];
        Region { space: Space::Outside(value), lo: span.lo - base, hi: span.hi - base }
    }

    fn check_declarations(&self, found: &mut Vec<Violation>) {
        if self.program.execution() != Execution::InOrder {
            let why = "a view of rows where steps are not in order";
            let rows = self.ids().filter(|value| self.value(*value).rows.is_some());
            found.extend(rows.map(|v| Violation::BadProgram { step: None, value: Some(v), why }));
        }
        for step in (0..self.program.steps()).map(StepId::new) {
            for access in self.program.accesses(step).iter() {
                let value = Some(access.value);
                if let Some(why) = self.fault(access) {
                    found.push(Violation::BadProgram { step: Some(step), value, why });
                } else if self.value(access.value).elided {
                    found.push(Violation::ElidedTouched { step, value: access.value });
                }
            }
            let overwrites = self.program.overwrites(step);
            if self.overwrites(step).len() < overwrites.len() {
                let why = "an overwrite of a value that is unknown";
                found.push(Violation::BadProgram { step: Some(step), value: None, why });
            }
            let unknown = |s: &StepId| s.index() >= self.program.steps();
            if self.program.flows_from(step).iter().any(unknown) {
                let why = "data flow from a step that is unknown";
                found.push(Violation::BadProgram { step: Some(step), value: None, why });
            }
            if self.program.after(step).iter().any(unknown) {
                let why = "after a step that is unknown";
                found.push(Violation::BadProgram { step: Some(step), value: None, why });
            }
        }
    }

    /// Why an access cannot be followed.
    fn fault(&self, access: &Access) -> Option<&'static str> {
        let Some(fact) = self.values.get(access.value.index()) else {
            return Some("an access to a value that is unknown");
        };
        let unknown = |step: StepId| step.index() >= self.program.steps();
        if access.bytes.is_some_and(|b| b.lo > b.hi || b.hi > fact.bytes) {
            Some("an access to bytes that the value has not")
        } else if access.from.is_some_and(unknown) {
            Some("an access from a step that is unknown")
        } else if matches!(access.until, Until::After(step) if unknown(step)) {
            Some("an access until a step that is unknown")
        } else if access.kind == AccessKind::Write && fact.rows.is_some_and(|rows| rows.stride == 0)
        {
            Some("a write of rows that are the same bytes")
        } else if access.until == Until::Writes && access.kind == AccessKind::Write {
            Some("a write that is over before its step writes")
        } else {
            None
        }
    }
}

fn life(info: &ValueInfo) -> HeldSince {
    match (info.role, info.storage) {
        _ if survives(info) => HeldSince::Resident,
        (Role::Input, _) | (_, Storage::External) => HeldSince::Input,
        _ => HeldSince::Temporary,
    }
}

/// Whether the next run expects what this run found.
fn survives(info: &ValueInfo) -> bool {
    matches!(info.storage, Storage::Persistent | Storage::Shared)
        || matches!(info.role, Role::Param | Role::Constant | Role::Static)
}

/// The bytes that the plan reserves for a value: what is behind its end is kept free like a guard.
fn reserved(plan: &Plan, value: usize) -> u64 {
    match plan.places.get(value) {
        Some(Place::Bank(slot)) => slot.reserved,
        _ => 0,
    }
}
