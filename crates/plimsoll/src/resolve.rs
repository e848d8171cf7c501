//! What a back end asks of a plan: where a value is, what to allocate, and which bytes each step touches.
//!
//! Everything here follows from the plan and from what the program declares; nothing is decided.
//! A question about one value, step or bank costs as much as what it asks about; a view costs the
//! length of its chain of views.

use plimsoll_pack::Span;

use crate::align::address_align;
use crate::ids::{BankId, StepId, ValueId};
use crate::plan::{Bank, Place, Plan, Slot};
use crate::program::{Access, AccessKind, Layout, Program, root_of};

/// An access of a step with the place of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedAccess {
    /// The value.
    pub value: ValueId,
    /// Read or write.
    pub kind: AccessKind,
    /// The memory that the bytes are in.
    pub memory: Memory,
    /// Where byte 0 of the value is in that memory, and where the rest is if it is strided.
    pub layout: Layout,
    /// Which bytes of the value are touched.
    pub within: Span,
}

/// A memory that bytes can be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Memory {
    /// A bank of the plan.
    Bank(BankId),
    /// The memory that the caller gives for that value.
    Caller(ValueId),
}

impl ResolvedAccess {
    /// The stretches of the memory that are touched, in order.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        self.layout.spans(self.within).collect()
    }
}

impl Plan {
    /// Where a value is in a bank; `None` if it is in the caller's memory, elided, or not of this plan.
    #[must_use]
    pub fn slot(&self, value: ValueId) -> Option<Slot> {
        match self.places.get(value.index())? {
            Place::Bank(slot) => Some(*slot),
            Place::External | Place::Outside { .. } | Place::Elided => None,
        }
    }

    /// The first bank: all there is to allocate, unless other banks were asked for. Every plan that
    /// [`plan`](crate::plan()) makes has one.
    #[must_use]
    pub fn arena(&self) -> Option<&Bank> {
        self.banks.first()
    }

    /// What the address of a bank must be a multiple of, so that everything in it is aligned as the
    /// program declares: a power of two. Of an alignment that is none, like 48, the offsets keep all
    /// and addresses the largest power of two in it.
    #[must_use]
    pub fn base_align(&self, program: &dyn Program, bank: BankId) -> u64 {
        let values = (0..self.places.len()).map(ValueId::new);
        let values = values.filter(|value| self.slot(*value).is_some_and(|slot| slot.bank == bank));
        let steps = (0..self.scratch.len()).map(StepId::new);
        let steps = steps
            .filter(|step| self.scratch[step.index()].is_some_and(|slot| slot.bank == bank))
            .filter_map(|step| program.scratch(step));
        let aligns = values.map(|value| self.align_of(program, value));
        aligns.chain(steps.map(|scratch| scratch.align)).map(address_align).max().unwrap_or(1)
    }

    /// What the offset of a value is a multiple of: what the program declares, the default of the plan
    /// for a value that declares nothing, and 1 for a view that declares nothing.
    #[must_use]
    pub fn align_of(&self, program: &dyn Program, value: ValueId) -> u64 {
        let info = program.value(value);
        let own = if info.view_of.is_none() { self.align } else { 1 };
        info.align.unwrap_or(own).max(1)
    }

    /// Every access of a step, in the order in which the program declares them, with the memory and
    /// the bytes that it touches.
    #[must_use]
    pub fn accesses(&self, program: &dyn Program, step: StepId) -> Vec<ResolvedAccess> {
        let accesses = program.accesses(step);
        accesses.iter().filter_map(|access| self.resolved(program, access)).collect()
    }

    fn resolved(&self, program: &dyn Program, access: &Access) -> Option<ResolvedAccess> {
        let Access { value, bytes, kind, .. } = *access;
        let (memory, first) = match *self.places.get(value.index())? {
            Place::Bank(slot) => (Memory::Bank(slot.bank), slot.offset),
            Place::External => (Memory::Caller(value), 0),
            Place::Outside { root, offset } => (Memory::Caller(root), offset),
            Place::Elided => return None,
        };
        let info = program.value(value);
        let rows = info.view_of.and_then(|_| root_of(program, value).1.rows);
        let within = bytes.unwrap_or(Span::new(0, info.bytes));
        Some(ResolvedAccess { value, kind, memory, layout: Layout { first, rows }, within })
    }
}
