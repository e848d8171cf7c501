//! Violations in words, with the names of program and plan, escaped: they are somebody else's text.

use std::fmt;

use super::violation::{Counted, Culprit, Region, Space, Thing, Violation};
use crate::ids::{BankId, StepId, ValueId};
use crate::plan::Plan;
use crate::program::Program;

impl Violation {
    /// The violation in words, with the names of the program and of the plan's banks.
    pub fn describe<'a>(
        &'a self,
        program: &'a dyn Program,
        plan: &'a Plan,
    ) -> impl fmt::Display + 'a {
        let names = Names(Some((program, plan)));
        fmt::from_fn(move |f| words(self, names, f))
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        words(self, Names(None), f)
    }
}

/// Names of program and plan, escaped, or ids.
#[derive(Clone, Copy)]
pub(super) struct Names<'a>(pub(super) Option<(&'a dyn Program, &'a Plan)>);

impl Names<'_> {
    pub(super) fn value(self, value: ValueId) -> String {
        match self.0.filter(|(program, _)| value.index() < program.values()) {
            Some((program, _)) => format!("{:?}", program.value_name(value)),
            None => value.to_string(),
        }
    }

    pub(super) fn step(self, step: StepId) -> String {
        match self.0.filter(|(program, _)| step.index() < program.steps()) {
            Some((program, _)) => format!("step {:?}", program.step_name(step)),
            None => step.to_string(),
        }
    }

    fn bank(self, bank: BankId) -> String {
        match self.0.and_then(|(_, plan)| plan.banks.get(bank.index())) {
            Some(known) => format!("bank {:?}", known.name),
            None => bank.to_string(),
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
            (thing, Some(step)) => format!("{} ({})", self.thing(thing), self.step(step)),
            (thing, None) => format!("{} (from outside)", self.thing(thing)),
        }
    }

    pub(super) fn region(self, at: Region) -> String {
        match at.space {
            Space::Bank(bank) => format!("bytes {}..{} of {}", at.lo, at.hi, self.bank(bank)),
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
            let step = step.map_or(String::new(), |s| format!("{}: ", n.step(s)));
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
            write!(f, "{} is scheduled more than once", n.step(step))
        }
        Violation::StepMissing { step } => write!(f, "{} is not scheduled", n.step(step)),
        Violation::OrderViolated { step, needs } => {
            write!(f, "{} must run after {}", n.step(step), n.step(needs))
        }
        _ => words_of_places(violation, n, f),
    }
}

fn words_of_places(violation: &Violation, n: Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match *violation {
        Violation::UnknownBank { thing, bank } => {
            write!(f, "{} is in {}, which is unknown", n.thing(thing), n.bank(bank))
        }
        Violation::OutsideBank { thing, bank, end: u64::MAX, .. } => {
            let (thing, bank) = (n.thing(thing), n.bank(bank));
            write!(f, "{thing} ends beyond the address space of {bank}")
        }
        Violation::OutsideBank { thing, bank, end, bank_bytes } => {
            write!(f, "{} ends at {end}, {} at {bank_bytes}", n.thing(thing), n.bank(bank))
        }
        Violation::BankSizeWrong { bank, bytes, end } => {
            let bank = n.bank(bank);
            write!(f, "{bank} has {bytes} bytes, but everything in it ends at {end}")
        }
        Violation::OverCapacity { bank, bytes, capacity } => {
            write!(f, "{} needs {bytes} bytes, and may have {capacity}", n.bank(bank))
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
        Violation::WrongBank { value, bank } => {
            write!(f, "{} is in {}, and has to be in another one", n.value(value), n.bank(bank))
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
            write!(f, "{} must write {output} over {input}, not elsewhere", n.step(step))
        }
        Violation::ElidedTouched { step, value } => {
            write!(f, "{} touches {}, which is folded away", n.step(step), n.value(value))
        }
        Violation::ScratchMissing { step, bytes } => {
            write!(f, "{} has no place for {bytes} bytes of scratch memory", n.step(step))
        }
        _ => fmt::Debug::fmt(violation, f),
    }
}

fn words_of_bytes(violation: &Violation, n: Names, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match *violation {
        Violation::ReadBeforeWrite { step, value, at } => {
            let (step, value) = (n.step(step), n.value(value));
            write!(f, "{step} reads {value} before it is written ({})", n.region(at))
        }
        Violation::Clobbered { step, value, by, at, earlier_run } => {
            let when = if earlier_run { "in an earlier run " } else { "" };
            let (step, value, by) = (n.step(step), n.value(value), n.culprit(by));
            write!(f, "{step} reads {value}, {when}overwritten by {by} ({})", n.region(at))
        }
        Violation::WriteWhileWritten { first, second, at } => {
            let (first, second) = (n.culprit(first), n.culprit(second));
            write!(f, "{first} and {second} are written at the same time ({})", n.region(at))
        }
        Violation::OwnInputOverwritten { step, input, by, at } => {
            let (step, input, by) = (n.step(step), n.value(input), n.thing(by));
            write!(f, "{step} overwrites {input} with {by} while it reads it ")?;
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
