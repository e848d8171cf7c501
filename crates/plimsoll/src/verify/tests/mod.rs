//! Each way to be wrong; the scars of others; and the oracle against the verifier.

mod against_oracle;
mod kinds;
mod scale;
mod scars;

use super::*;
use crate::declared::DeclaredProgram;
use crate::ids::{BankId, StepId, ValueId};
use crate::plan::{Place, Slot};
use crate::testing::{bank_of, plan_at};

/// A plan with values (and then scratch memories) at these offsets; views and what must overwrite
/// follow by themselves and are not counted.
fn at(program: &DeclaredProgram, offsets: &[u64]) -> Plan {
    let mut offsets = offsets.iter();
    plan_at(program, 1, |_, _, _| *offsets.next().expect("an offset for each"))
}

fn region(lo: u64, hi: u64) -> Region {
    Region { space: Space::Bank(BankId(0)), lo, hi }
}

fn value(thing: ValueId, step: StepId) -> Culprit {
    Culprit { thing: Thing::Value(thing), step: Some(step) }
}

/// Moves a value, and nothing else, and makes the bank as large as it has to be.
fn moved(program: &DeclaredProgram, mut plan: Plan, value: ValueId, offset: u64) -> Plan {
    if let Place::Bank(slot) = &mut plan.places[value.index()] {
        slot.offset = offset;
    }
    plan.banks[0].bytes = bank_of(program, &plan, BankId(0));
    plan
}

fn slot(plan: &mut Plan, value: ValueId) -> &mut Slot {
    match &mut plan.places[value.index()] {
        Place::Bank(slot) => slot,
        other => panic!("{value} is at {other:?}"),
    }
}
