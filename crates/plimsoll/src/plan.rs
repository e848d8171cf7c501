//! The plan: when each step runs, and where each value is.

use plimsoll_pack::{Gap, Life, Limit};

use crate::ids::{BankId, BufferId, StepId, ValueId};
use crate::point::{LiveRange, Point};

/// A schedule and a place for every value. Made by [`plan`](crate::plan()) or by anybody else;
/// whether it is right is for [`verify`](crate::verify()) to say, which trusts nothing in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The steps in order of execution (in one order that respects the dependencies, where several
    /// are possible).
    pub schedule: Vec<StepId>,
    /// Where each value is, by [`ValueId`].
    pub places: Vec<Place>,
    /// Where each step's scratch memory is, by [`StepId`].
    pub scratch: Vec<Option<Slot>>,
    /// The address spaces.
    pub banks: Vec<Bank>,
    /// What an offset is a multiple of where the value does not say.
    pub align: u64,
    /// How the places came about. Nothing of it is needed to verify the plan.
    pub derivation: Derivation,
}

impl Plan {
    /// The bytes of all banks together.
    #[must_use]
    pub fn arena_bytes(&self) -> u64 {
        self.banks.iter().map(|bank| bank.bytes).sum()
    }
}

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a bank.
    Bank(Slot),
    /// In the caller's memory.
    External,
    /// In the caller's memory or another plan's, at that byte of a value that is placed there.
    Outside {
        /// The value.
        root: ValueId,
        /// The first byte in it.
        offset: u64,
    },
    /// Nowhere: every reader folds it away.
    Elided,
}

/// A range of bytes of a bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The bank.
    pub bank: BankId,
    /// The first byte.
    pub offset: u64,
    /// How many bytes are in use, from the first to the last.
    pub bytes: u64,
    /// How many are kept free for it, these and what lies behind them: guards, and what fills it up to
    /// the least that a value takes.
    pub reserved: u64,
}

impl Slot {
    /// So many bytes, and nothing behind them.
    #[must_use]
    pub fn new(bank: BankId, offset: u64, bytes: u64) -> Self {
        Slot { bank, offset, bytes, reserved: bytes }
    }
}

/// An address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bank {
    /// What it is called.
    pub name: String,
    /// The highest end of anything in it, guards included.
    pub bytes: u64,
    /// How large it may be.
    pub capacity: Option<u64>,
}

/// How the places came about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Derivation {
    /// The buffers that were packed.
    pub buffers: Vec<Buffer>,
    /// The buffer of each value and where it begins in it, by [`ValueId`]; `None` for values
    /// that were not packed.
    pub members: Vec<Option<Member>>,
    /// Below this the arena (all banks together) cannot be, with this schedule and this sharing.
    pub lower_bound_bytes: u64,
    /// Below this it cannot be with any order, with the views of this program; `None` if no order
    /// was searched for.
    pub order_bound_bytes: Option<u64>,
    /// Whether the bound of this schedule is proven to be reached.
    pub optimal: bool,
    /// What kept the packer from knowing more, in the first bank of which it does not know all; that
    /// it was stopped counts for more than that.
    pub limit: Option<Limit>,
    /// What it would take to give every value and every scratch memory a place of its own: no view,
    /// nothing in place.
    pub unshared_bytes: u64,
    /// What the packer calls the rule that won.
    pub won_by: String,
}

/// Some values that are the same storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Where it is.
    pub slot: Slot,
    /// From the first byte written to the last byte needed.
    pub live: LiveRange,
    /// What its offset is a multiple of.
    pub align: u64,
    /// Stretches of that in which not all of its bytes are needed.
    pub gaps: Vec<Gap>,
}

impl Buffer {
    /// The buffer as the packer has seen it.
    #[must_use]
    pub fn packed(&self) -> plimsoll_pack::Buffer {
        let time = |point: Point| point.0.cast_signed();
        let life = Life::new(time(self.live.start), time(self.live.end));
        let packed = plimsoll_pack::Buffer::new(self.slot.bytes, life).aligned(self.align);
        plimsoll_pack::Buffer { gaps: self.gaps.clone(), ..packed }
    }
}

/// A value as a part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The buffer.
    pub buffer: BufferId,
    /// The first byte of the value in it.
    pub offset: u64,
    /// From the first byte of the value written to the last one needed.
    pub live: LiveRange,
    /// The value whose bytes it took over in place.
    pub took_over: Option<ValueId>,
}
