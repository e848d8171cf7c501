//! The ways in which a plan is wrong, as data. `words` has them in words.

use std::fmt;

use crate::ids::{BankId, StepId, ValueId};

/// What occupies bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Thing {
    /// A value.
    Value(ValueId),
    /// The bytes behind the end of a value that its writers may write too.
    Guard(ValueId),
    /// The scratch memory of a step.
    Scratch(StepId),
}

/// An address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// A bank of the plan.
    Bank(BankId),
    /// The memory that holds that value, outside of the plan.
    Outside(ValueId),
}

/// Some bytes of an address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region {
    /// Where.
    pub space: Space,
    /// The first byte.
    pub lo: u64,
    /// One past the last byte.
    pub hi: u64,
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Region { lo, hi, .. } = self;
        match self.space {
            Space::Bank(bank) => write!(f, "bytes {lo}..{hi} of {bank}"),
            Space::Outside(value) => write!(f, "bytes {lo}..{hi} of {value}"),
        }
    }
}

/// What put something where something else was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Culprit {
    /// What is there now.
    pub thing: Thing,
    /// The step that put it there; `None` for whoever fills values from outside.
    pub step: Option<StepId>,
}

/// A list of a plan that has one entry for each value or step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Counted {
    /// Steps of the schedule.
    Schedule,
    /// Places of values.
    Places,
    /// Scratch memory of steps.
    Scratch,
}

/// One way in which a plan is wrong. What refers to bytes tells the bytes of the address space,
/// not of the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Violation {
    /// The program itself breaks the rules of [`Program`](crate::program::Program), so that this part of it was not
    /// followed.
    BadProgram {
        /// The step that declares it, if it is a step.
        step: Option<StepId>,
        /// The value that it is about.
        value: Option<ValueId>,
        /// What is wrong.
        why: &'static str,
    },
    /// The plan has not one entry for each value or step.
    WrongCounts {
        /// Which list of the plan.
        of: Counted,
        /// How many there are.
        found: usize,
        /// How many there must be.
        expected: usize,
    },
    /// The schedule has a step that the program has not.
    UnknownStep {
        /// The step.
        step: StepId,
    },
    /// The schedule runs a step more than once.
    StepTwice {
        /// The step.
        step: StepId,
    },
    /// The schedule does not run a step.
    StepMissing {
        /// The step.
        step: StepId,
    },
    /// The schedule runs a step before another that it needs.
    OrderViolated {
        /// The step that runs too early.
        step: StepId,
        /// What must run before it.
        needs: StepId,
    },
    /// Something is in a bank that the plan has not.
    UnknownBank {
        /// What.
        thing: Thing,
        /// The bank.
        bank: BankId,
    },
    /// Something ends above the size of its bank.
    OutsideBank {
        /// What.
        thing: Thing,
        /// The bank.
        bank: BankId,
        /// Where it ends, guard included; `u64::MAX` if not even that is enough to say it.
        end: u64,
        /// The size of the bank.
        bank_bytes: u64,
    },
    /// A bank is larger than the highest end of anything in it.
    BankSizeWrong {
        /// The bank.
        bank: BankId,
        /// Its size.
        bytes: u64,
        /// The highest end, guards included.
        end: u64,
    },
    /// A bank is larger than it may be.
    OverCapacity {
        /// The bank.
        bank: BankId,
        /// What it needs.
        bytes: u64,
        /// How large it may be.
        capacity: u64,
    },
    /// An offset is not a multiple of the alignment.
    Misaligned {
        /// What.
        thing: Thing,
        /// Where it is.
        offset: u64,
        /// What its offset must be a multiple of.
        align: u64,
    },
    /// A place has fewer bytes than what is there.
    TooSmall {
        /// What.
        thing: Thing,
        /// The bytes of the place.
        bytes: u64,
        /// The bytes that it needs.
        needs: u64,
    },
    /// A value has bytes, but the plan folds it away.
    NotPlaced {
        /// The value.
        value: ValueId,
    },
    /// A value that must be in a bank is outside of the plan.
    PlacedOutside {
        /// The value.
        value: ValueId,
    },
    /// A value that is in the caller's memory has a place in a bank.
    PlacedInBank {
        /// The value.
        value: ValueId,
    },
    /// A value is in another bank than the one that it has to be in.
    WrongBank {
        /// The value.
        value: ValueId,
        /// The bank that it is in.
        bank: BankId,
    },
    /// A value that has no bytes has a place.
    PlacedElided {
        /// The value.
        value: ValueId,
    },
    /// A view is not where its bytes are.
    ViewMoved {
        /// The view.
        value: ValueId,
        /// The value whose bytes it is a part of.
        root: ValueId,
        /// The first byte of the view in it.
        offset: u64,
    },
    /// An output is not at the place of the value that it must overwrite.
    OverwriteIgnored {
        /// The step.
        step: StepId,
        /// What is written.
        output: ValueId,
        /// Whose bytes it must take.
        input: ValueId,
    },
    /// A step touches a value that has no bytes.
    ElidedTouched {
        /// The step.
        step: StepId,
        /// The value.
        value: ValueId,
    },
    /// A step has no place for its scratch memory.
    ScratchMissing {
        /// The step.
        step: StepId,
        /// How much it needs.
        bytes: u64,
    },
    /// A step reads bytes that nobody has finished to write.
    ReadBeforeWrite {
        /// The step that reads.
        step: StepId,
        /// What it reads.
        value: ValueId,
        /// Where.
        at: Region,
    },
    /// Bytes of a value are overwritten before a step has finished to read them.
    Clobbered {
        /// The step that reads.
        step: StepId,
        /// What it wants to read.
        value: ValueId,
        /// What is there instead.
        by: Culprit,
        /// Where.
        at: Region,
        /// Whether it was put there in an earlier run.
        earlier_run: bool,
    },
    /// Two writes to the same bytes at the same time.
    WriteWhileWritten {
        /// The one that began first.
        first: Culprit,
        /// The other.
        second: Culprit,
        /// Where.
        at: Region,
    },
    /// A step writes over bytes that it may still read, and has not declared that it may.
    OwnInputOverwritten {
        /// The step.
        step: StepId,
        /// What it reads.
        input: ValueId,
        /// What it writes.
        by: Thing,
        /// Where.
        at: Region,
    },
    /// Scratch memory is overwritten while its step runs.
    ScratchClobbered {
        /// The step.
        step: StepId,
        /// By what.
        by: Culprit,
        /// Where.
        at: Region,
    },
    /// An output is not there when the run is over.
    OutputLost {
        /// The output.
        value: ValueId,
        /// What is there instead; `None` if it was never written.
        by: Option<Culprit>,
        /// Where.
        at: Region,
    },
    /// A value that must survive from run to run (persistent, shared, a weight or a constant) is
    /// overwritten.
    PersistentLost {
        /// The value.
        value: ValueId,
        /// By what.
        by: Culprit,
        /// Where.
        at: Region,
    },
    /// Two accesses to the same bytes, at least one of them a write, that nothing orders.
    NotOrdered {
        /// What one of them touches, and its step.
        a: Culprit,
        /// What the other touches, and its step.
        b: Culprit,
        /// Where.
        at: Region,
    },
}
