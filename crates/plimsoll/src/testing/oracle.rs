//! The oracle: bytes with tokens, and every legal order of the steps.
//!
//! Written to be believed, not to be fast: time is walked point by point, and at every point
//! every access that has begun and is not over acts on each of its bytes. A write stores its
//! token again and again (not yet readable), last when it is over; a read looks again and again.
//! What happens at the same point is tried in both directions. Nothing is shared with the
//! verifier but the declarations.

use std::collections::BTreeMap;

use plimsoll_pack::Span;

use crate::ids::{StepId, ValueId};
use crate::plan::{Place, Plan};
use crate::program::{Access, AccessKind, Execution, Program, Role, Storage, Until};

/// How many orders of a partial order to try.
#[derive(Clone, Copy, Debug)]
pub struct Orders(pub usize);

/// Whether some legal order of three runs makes somebody see a wrong byte. The plan must have a
/// place for everything; if there are more orders than allowed, the answer no is not certain.
#[must_use]
pub fn corrupts(program: &dyn Program, plan: &Plan, most: Orders) -> bool {
    let mut orders = Vec::new();
    if program.execution() == Execution::InOrder {
        orders.push(plan.schedule.clone());
    } else {
        let before = happens_before(program);
        extend(&before, &mut Vec::new(), &mut orders, most.0);
    }
    orders.iter().any(|order| {
        [false, true].into_iter().any(|reverse| World::new(program, plan, order, reverse).run())
    })
}

/// All orders that respect `before`.
fn extend(
    before: &[Vec<bool>],
    done: &mut Vec<StepId>,
    orders: &mut Vec<Vec<StepId>>,
    most: usize,
) {
    if done.len() == before.len() {
        orders.push(done.clone());
        return;
    }
    for next in (0..before.len()).map(StepId::new) {
        let ready = |s: &StepId| (0..before.len()).all(|b| !before[b][s.index()] || has(done, b));
        if orders.len() < most && !done.contains(&next) && ready(&next) {
            done.push(next);
            extend(before, done, orders, most);
            done.pop();
        }
    }
}

fn has(done: &[StepId], step: usize) -> bool {
    done.contains(&StepId::new(step))
}

/// The root of a value.
fn root(program: &dyn Program, mut value: ValueId) -> ValueId {
    while let Some(view) = program.value(value).view_of {
        value = view.of;
    }
    value
}

/// Which byte of its root a byte of a value is.
fn byte_of_root(program: &dyn Program, mut value: ValueId, mut byte: u64) -> u64 {
    while let Some(view) = program.value(value).view_of {
        if let Some(rows) = view.rows {
            byte = byte / rows.bytes * rows.stride + byte % rows.bytes;
        }
        byte += view.offset;
        value = view.of;
    }
    byte
}

/// Whether it survives from run to run.
fn lasts(program: &dyn Program, value: ValueId) -> bool {
    let info = program.value(value);
    matches!(info.storage, Storage::Persistent | Storage::Shared)
        || matches!(info.role, Role::Param | Role::Constant | Role::Static)
}

/// Whether it is there before the run.
fn given(program: &dyn Program, value: ValueId) -> bool {
    let info = program.value(value);
    lasts(program, value) || info.role == Role::Input || info.storage == Storage::External
}

/// Every byte of roots that a step reads or writes.
fn touched(program: &dyn Program, step: StepId, kind: AccessKind) -> Vec<(ValueId, u64)> {
    let mut all = Vec::new();
    let mut add = |value: ValueId, lo: u64, hi: u64| {
        let root = root(program, value);
        all.extend((lo..hi).map(|byte| (root, byte_of_root(program, value, byte))));
    };
    for access in program.accesses(step).iter().filter(|a| a.kind == kind) {
        let whole = program.value(access.value).bytes;
        add(access.value, access.bytes.map_or(0, |b| b.lo), access.bytes.map_or(whole, |b| b.hi));
    }
    for overwrite in program.overwrites(step).iter().filter(|o| o.must) {
        let value = if kind == AccessKind::Read { overwrite.input } else { overwrite.output };
        add(value, 0, program.value(overwrite.output).bytes);
    }
    all
}

fn happens_before(program: &dyn Program) -> Vec<Vec<bool>> {
    let n = program.steps();
    let mut before = vec![vec![false; n]; n];
    for b in 0..n {
        let step = StepId::new(b);
        program.after(step).iter().for_each(|a| before[a.index()][b] = true);
        for (a, row) in before.iter_mut().enumerate() {
            let other = StepId::new(a);
            row[b] |= if program.execution() == Execution::Queues {
                a < b && program.queue(other) == program.queue(step)
            } else {
                let written = touched(program, other, AccessKind::Write);
                let reads = touched(program, step, AccessKind::Read);
                a != b
                    && reads
                        .iter()
                        .any(|byte| written.contains(byte) && (a < b || !given(program, byte.0)))
            };
        }
    }
    for via in 0..n {
        for a in 0..n {
            for b in 0..n {
                before[a][b] |= before[a][via] && before[via][b];
            }
        }
    }
    before
}

/// What a byte holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    Value { root: ValueId, byte: u64, run: u32, readable: bool },
    Scratch(StepId),
    Junk,
}

type Address = (bool, u32, u64);

/// An access in time.
struct Act {
    step: StepId,
    access: Access,
    begin: usize,
    end: usize,
}

struct World<'a> {
    program: &'a dyn Program,
    plan: &'a Plan,
    order: &'a [StepId],
    acts: Vec<Act>,
    bytes: BTreeMap<Address, Token>,
    /// For an output that must overwrite, what it overwrites.
    head: BTreeMap<ValueId, ValueId>,
    run: u32,
}

impl<'a> World<'a> {
    fn new(program: &'a dyn Program, plan: &'a Plan, order: &'a [StepId], reverse: bool) -> Self {
        let position = |step: StepId| order.iter().position(|s| *s == step).expect("scheduled");
        let mut acts = Vec::new();
        let mut head = BTreeMap::new();
        for step in order {
            let own = position(*step);
            for overwrite in program.overwrites(*step).iter().filter(|o| o.must) {
                let bytes = Some(Span::new(0, program.value(overwrite.output).bytes));
                let input = Access { until: Until::Writes, bytes, ..Access::read(overwrite.input) };
                acts.push(Act { step: *step, access: input, begin: 2 * own, end: 2 * own + 1 });
                let output = Access::write(overwrite.output);
                let (begin, end) = (2 * own + 1, 2 * own + 2);
                acts.push(Act { step: *step, access: output, begin, end });
                let of = |v| root(program, v);
                head.insert(of(overwrite.output), of(overwrite.input));
            }
            for access in program.accesses(*step).iter() {
                let begin = match access.from.filter(|from| from != step) {
                    Some(from) => 2 * position(from).min(own),
                    None => 2 * own + usize::from(access.kind == AccessKind::Write),
                };
                let end = match access.until {
                    Until::Writes => 2 * own + 1,
                    Until::Step => 2 * own + 2,
                    Until::After(step) => 2 * own.max(position(step)) + 2,
                    Until::EndOfRun => 2 * order.len() + 1,
                };
                acts.push(Act { step: *step, access: *access, begin, end });
            }
        }
        if reverse {
            acts.reverse();
        }
        World { program, plan, order, acts, bytes: BTreeMap::new(), head, run: 0 }
    }

    /// Where a byte of a value is.
    fn address(&self, value: ValueId, byte: u64) -> Address {
        let (root, byte) = (root(self.program, value), byte_of_root(self.program, value, byte));
        match self.plan.places[root.index()] {
            Place::Bank(slot) => (true, slot.bank.0, slot.offset + byte),
            Place::Outside { root, offset: at } => (false, root.0, at + byte),
            Place::External | Place::Elided => (false, root.0, byte),
        }
    }

    fn first_of_set(&self, mut root: ValueId) -> ValueId {
        while let Some(before) = self.head.get(&root) {
            root = *before;
        }
        root
    }

    fn token(&self, value: ValueId, byte: u64, readable: bool) -> Token {
        let (root, byte) = (root(self.program, value), byte_of_root(self.program, value, byte));
        Token::Value { root, byte, run: self.run, readable }
    }

    /// Runs three times; whether somebody saw a wrong byte.
    fn run(mut self) -> bool {
        let lasting = |w: &Self, v| lasts(w.program, v);
        self.fill(lasting);
        for run in 0..3 {
            self.run = run;
            self.fill(|w, v| !lasts(w.program, v) && given(w.program, v));
            for point in 0..=2 * self.order.len() + 1 {
                if self.point(point) {
                    return true;
                }
            }
            if self.outputs_wrong() {
                return true;
            }
            self.hand_over();
        }
        false
    }

    fn roots(&self) -> Vec<ValueId> {
        let all = (0..self.program.values()).map(ValueId::new);
        all.filter(|v| self.program.value(*v).view_of.is_none()).collect()
    }

    fn fill(&mut self, which: impl Fn(&Self, ValueId) -> bool) {
        let filled: Vec<ValueId> = self.roots().into_iter().collect();
        let filled: Vec<ValueId> =
            filled.into_iter().filter(|v| which(self, *v) && !self.head.contains_key(v)).collect();
        let parts = (0..self.program.values()).map(ValueId::new).filter(|value| {
            let root = root(self.program, *value);
            let is_part = root != *value && !given(self.program, root);
            is_part && self.program.value(*value).role == Role::Input && which(self, *value)
        });
        let parts: Vec<ValueId> = parts.collect();
        for value in filled.iter().chain(&parts) {
            for byte in 0..self.program.value(*value).bytes {
                let token = self.token(*value, byte, true);
                self.bytes.insert(self.address(*value, byte), token);
            }
        }
        for value in &filled {
            self.spill(*value);
        }
    }

    fn spill(&mut self, value: ValueId) {
        let info = self.program.value(value);
        for byte in info.bytes..info.bytes + info.guard {
            self.bytes.insert(self.address(value, byte), Token::Junk);
        }
    }

    /// One moment: what is over stores for the last time, what is in progress acts.
    fn point(&mut self, point: usize) -> bool {
        let acts = std::mem::take(&mut self.acts);
        for act in acts.iter().filter(|act| act.end == point) {
            self.store(act, true);
        }
        let scratch = self.order.get(point / 2).filter(|_| point < 2 * self.order.len());
        if let Some(step) = scratch {
            for address in self.scratch_bytes(*step) {
                self.bytes.insert(address, Token::Scratch(*step));
            }
        }
        for act in acts.iter().filter(|act| act.begin <= point && point < act.end) {
            self.store(act, false);
        }
        let active = acts.iter().filter(|act| act.begin <= point && point < act.end);
        let mut wrong = active.into_iter().any(|act| self.sees_wrong(act, point));
        if let Some(step) = scratch {
            wrong |= self
                .scratch_bytes(*step)
                .iter()
                .any(|a| self.bytes.get(a) != Some(&Token::Scratch(*step)));
        }
        self.acts = acts;
        wrong || self.lasting_wrong()
    }

    fn scratch_bytes(&self, step: StepId) -> Vec<Address> {
        let bytes = self.program.scratch(step).map_or(0, |s| s.bytes);
        let slot = self.plan.scratch[step.index()];
        slot.map_or(Vec::new(), |slot| {
            (0..bytes).map(|byte| (true, slot.bank.0, slot.offset + byte)).collect()
        })
    }

    fn span(&self, access: &Access) -> std::ops::Range<u64> {
        let whole = self.program.value(access.value).bytes;
        access.bytes.map_or(0..whole, |b| b.lo..b.hi)
    }

    fn store(&mut self, act: &Act, readable: bool) {
        if act.access.kind == AccessKind::Read {
            return;
        }
        let span = self.span(&act.access);
        for byte in span.clone() {
            let token = self.token(act.access.value, byte, readable);
            self.bytes.insert(self.address(act.access.value, byte), token);
        }
        if span.end == self.program.value(act.access.value).bytes {
            self.spill(act.access.value);
        }
    }

    fn sees_wrong(&self, act: &Act, point: usize) -> bool {
        act.access.kind == AccessKind::Read
            && self.span(&act.access).any(|byte| {
                let address = self.address(act.access.value, byte);
                let taken = self.taken_over(act, address, point);
                !taken && !self.right(act.access.value, byte, self.bytes.get(&address))
            })
    }

    /// Whether the step itself has begun to write the byte in place, as declared.
    fn taken_over(&self, act: &Act, address: Address, point: usize) -> bool {
        let own = self.order.iter().position(|s| *s == act.step).expect("scheduled");
        let bytes = |v: ValueId| self.program.value(v).bytes;
        let same = |a: ValueId, b: ValueId| {
            (0..bytes(a).min(bytes(b)).max(1))
                .all(|byte| self.address(a, byte) == self.address(b, byte))
        };
        let of = |v: ValueId| root(self.program, v);
        act.access.until == Until::Step
            && point > 2 * own
            && self.program.overwrites(act.step).iter().any(|o| {
                let writes = self.program.accesses(act.step);
                let mut writes = writes.iter().filter(|w| {
                    w.kind == AccessKind::Write && w.value == o.output && w.from.is_none()
                });
                let whole = Access::write(o.output);
                let in_it =
                    |w: &Access| self.span(w).any(|byte| self.address(o.output, byte) == address);
                same(o.output, o.input)
                    && same(act.access.value, o.input)
                    && of(act.access.value) == of(o.input)
                    && ((o.must && in_it(&whole)) || writes.any(in_it))
            })
    }

    fn right(&self, value: ValueId, byte: u64, token: Option<&Token>) -> bool {
        let (wanted, byte) = (root(self.program, value), byte_of_root(self.program, value, byte));
        let any_run = lasts(self.program, wanted);
        matches!(token, Some(Token::Value { root, byte: at, run, readable: true })
            if *root == wanted && *at == byte && (any_run || *run == self.run))
    }

    /// Whether what must survive is not there.
    fn lasting_wrong(&self) -> bool {
        self.roots().into_iter().any(|value| {
            let info = self.program.value(value);
            let outside = matches!(self.plan.places[value.index()], Place::External);
            let kept = lasts(self.program, value) || (outside && given(self.program, value));
            kept && !info.donated
                && !self.head.contains_key(&value)
                && (0..info.bytes).any(|byte| {
                    let token = self.bytes.get(&self.address(value, byte));
                    !matches!(token, Some(Token::Value { root, .. })
                        if self.first_of_set(*root) == value)
                })
        })
    }

    fn outputs_wrong(&self) -> bool {
        let outputs = (0..self.program.values()).map(ValueId::new);
        let mut outputs = outputs.filter(|v| self.program.value(*v).output);
        outputs.any(|value| {
            (0..self.program.value(value).bytes)
                .any(|byte| !self.right(value, byte, self.bytes.get(&self.address(value, byte))))
        })
    }

    /// The last of an alias set is what the next run finds in the first.
    fn hand_over(&mut self) {
        let first = |w: &Self, root| w.first_of_set(root);
        let firsts: BTreeMap<ValueId, ValueId> =
            self.roots().into_iter().map(|root| (root, first(self, root))).collect();
        for value in self.roots() {
            for byte in 0..self.program.value(value).bytes {
                let address = self.address(value, byte);
                if let Some(Token::Value { root, run, readable, .. }) = self.bytes.get(&address)
                    && firsts[root] == value
                    && *root != value
                    && lasts(self.program, value)
                {
                    let token = Token::Value { root: value, byte, run: *run, readable: *readable };
                    self.bytes.insert(address, token);
                }
            }
        }
    }
}
