//! The ways in which a plan is wrong, as data and in words.

use std::fmt;

use crate::ids::{BankId, StepId, ValueId};
use crate::program::Program;

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
    /// The program itself breaks the rules of [`Program`], so that this part of it was not
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

impl Violation {
    /// The violation in words, with the names of the program.
    pub fn describe<'a>(&'a self, program: &'a dyn Program) -> impl fmt::Display + 'a {
        let names = Names(Some(program));
        fmt::from_fn(move |f| words(self, names, f))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        words(self, Names(None), f)
    }
}

/// Names of the program, escaped, or ids.
#[derive(Clone, Copy)]
struct Names<'a>(Option<&'a dyn Program>);

impl Names<'_> {
    fn value(self, value: ValueId) -> String {
        match self.0.filter(|p| value.index() < p.values()) {
            Some(program) => format!("{:?}", program.value_name(value)),
            None => value.to_string(),
        }
    }

    fn step(self, step: StepId) -> String {
        match self.0.filter(|p| step.index() < p.steps()) {
            Some(program) => format!("{:?}", program.step_name(step)),
            None => step.to_string(),
        }
    }

    fn thing(self, thing: Thing) -> String {
        match thing {
            Thing::Value(value) => self.value(value),
            Thing::Guard(value) => format!("the guard of {}", self.value(value)),
            Thing::Scratch(step) => format!("the scratch memory of {}", self.step(step)),
        }
    }

    fn culprit(self, culprit: Culprit) -> String {
        match (culprit.thing, culprit.step) {
            (Thing::Scratch(_), _) => self.thing(culprit.thing),
            (thing, Some(step)) => format!("{} (step {})", self.thing(thing), self.step(step)),
            (thing, None) => format!("{} (from outside)", self.thing(thing)),
        }
    }

    fn region(self, at: Region) -> String {
        match at.space {
            Space::Bank(bank) => format!("bytes {}..{} of {bank}", at.lo, at.hi),
            Space::Outside(value) => {
                format!("bytes {}..{} of {}", at.lo, at.hi, self.value(value))
            }
        }
    }
}

fn words(violation: &Violation, n: Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match *violation {
        Violation::ReadBeforeWrite { .. }
        | Violation::Clobbered { .. }
        | Violation::WriteWhileWritten { .. }
        | Violation::OwnInputOverwritten { .. }
        | Violation::ScratchClobbered { .. }
        | Violation::OutputLost { .. }
        | Violation::PersistentLost { .. }
        | Violation::NotOrdered { .. } => words_of_bytes(violation, n, f),
        Violation::BadProgram { step, value, why } => {
            let step = step.map_or(String::new(), |s| format!("step {}: ", n.step(s)));
            let value = value.map_or(String::new(), |v| format!("{}: ", n.value(v)));
            write!(f, "bad program: {step}{value}{why}")
        }
        Violation::WrongCounts { of, found, expected } => {
            let of = match of {
                Counted::Schedule => "steps in its schedule",
                Counted::Places => "places of values",
                Counted::Scratch => "entries for scratch memory",
            };
            write!(f, "the plan has {found} {of}, not {expected}")
        }
        Violation::UnknownStep { step } => write!(f, "the schedule has {step}, which is unknown"),
        Violation::StepTwice { step } => {
            write!(f, "step {} is scheduled more than once", n.step(step))
        }
        Violation::StepMissing { step } => write!(f, "step {} is not scheduled", n.step(step)),
        Violation::OrderViolated { step, needs } => {
            write!(f, "step {} must run after step {}", n.step(step), n.step(needs))
        }
        _ => words_of_places(violation, n, f),
    }
}

fn words_of_places(violation: &Violation, n: Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match *violation {
        Violation::UnknownBank { thing, bank } => {
            write!(f, "{} is in {bank}, which is unknown", n.thing(thing))
        }
        Violation::OutsideBank { thing, bank, end: u64::MAX, .. } => {
            write!(f, "{} ends beyond the address space of {bank}", n.thing(thing))
        }
        Violation::OutsideBank { thing, bank, end, bank_bytes } => {
            write!(f, "{} ends at {end}, {bank} at {bank_bytes}", n.thing(thing))
        }
        Violation::BankSizeWrong { bank, bytes, end } => {
            write!(f, "{bank} has {bytes} bytes, but everything in it ends at {end}")
        }
        Violation::OverCapacity { bank, bytes, capacity } => {
            write!(f, "{bank} needs {bytes} bytes, and may have {capacity}")
        }
        Violation::Misaligned { thing, offset, align } => {
            write!(f, "{} is at {offset}, not a multiple of {align}", n.thing(thing))
        }
        Violation::TooSmall { thing, bytes, needs } => {
            write!(f, "{} has a place of {bytes} bytes, and needs {needs}", n.thing(thing))
        }
        Violation::NotPlaced { value } => write!(f, "{} has no place", n.value(value)),
        Violation::PlacedOutside { value } => {
            write!(f, "{} must be in a bank, and is outside of the plan", n.value(value))
        }
        Violation::PlacedInBank { value } => {
            write!(f, "{} is the caller's, and has a place in a bank", n.value(value))
        }
        Violation::PlacedElided { value } => {
            write!(f, "{} is folded away, and has a place", n.value(value))
        }
        Violation::ViewMoved { value, root, offset } => {
            let (value, root) = (n.value(value), n.value(root));
            write!(f, "{value} is not at byte {offset} of {root}, whose bytes it is a part of")
        }
        Violation::OverwriteIgnored { step, output, input } => {
            let (output, input) = (n.value(output), n.value(input));
            write!(f, "step {} must write {output} over {input}, not elsewhere", n.step(step))
        }
        Violation::ElidedTouched { step, value } => {
            write!(f, "step {} touches {}, which is folded away", n.step(step), n.value(value))
        }
        Violation::ScratchMissing { step, bytes } => {
            write!(f, "step {} has no place for {bytes} bytes of scratch memory", n.step(step))
        }
        _ => fmt::Debug::fmt(violation, f),
    }
}

fn words_of_bytes(violation: &Violation, n: Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match *violation {
        Violation::ReadBeforeWrite { step, value, at } => {
            let (step, value) = (n.step(step), n.value(value));
            write!(f, "step {step} reads {value} before it is written ({})", n.region(at))
        }
        Violation::Clobbered { step, value, by, at, earlier_run } => {
            let when = if earlier_run { "in an earlier run " } else { "" };
            let (step, value, by) = (n.step(step), n.value(value), n.culprit(by));
            write!(f, "step {step} reads {value}, {when}overwritten by {by} ({})", n.region(at))
        }
        Violation::WriteWhileWritten { first, second, at } => {
            let (first, second) = (n.culprit(first), n.culprit(second));
            write!(f, "{first} and {second} are written at the same time ({})", n.region(at))
        }
        Violation::OwnInputOverwritten { step, input, by, at } => {
            let (step, input, by) = (n.step(step), n.value(input), n.thing(by));
            write!(f, "step {step} overwrites {input} with {by} while it reads it ")?;
            write!(f, "({})", n.region(at))
        }
        Violation::ScratchClobbered { step, by, at } => {
            let (step, by) = (n.step(step), n.culprit(by));
            write!(f, "the scratch memory of {step} is overwritten by {by} ({})", n.region(at))
        }
        Violation::OutputLost { value, by: Some(by), at } => {
            let (value, by) = (n.value(value), n.culprit(by));
            write!(f, "the output {value} is overwritten by {by} ({})", n.region(at))
        }
        Violation::OutputLost { value, by: None, at } => {
            write!(f, "the output {} is not written ({})", n.value(value), n.region(at))
        }
        Violation::PersistentLost { value, by, at } => {
            let (value, by) = (n.value(value), n.culprit(by));
            write!(f, "{value} must survive, and is overwritten by {by} ({})", n.region(at))
        }
        Violation::NotOrdered { a, b, at } => {
            let (a, b) = (n.culprit(a), n.culprit(b));
            write!(f, "nothing orders {a} and {b} on the same bytes ({})", n.region(at))
        }
        _ => fmt::Debug::fmt(violation, f),
    }
}
