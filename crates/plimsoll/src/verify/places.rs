//! Is everything where it can be at all? Each value and each scratch alone. O(values + steps).
//!
//! - A root of storage arena or persistent is in a bank, the one that it has to be in if it says so; what comes from outside, is an output or
//!   shared may be outside of the plan; what is external must be; what is elided is nowhere.
//! - A view is at its root's place plus its offset.
//! - An offset is a multiple of the value's alignment, or of the plan's where it says nothing. A
//!   view follows its root, and is held only to an alignment of its own.
//! - A thing ends at its offset plus the largest of its place's bytes, what the place reserves, and its own bytes
//!   with guard;
//!   the size of a bank is the highest such end.

use plimsoll_pack::Span;

use super::facts::Facts;
use super::violation::{Counted, Thing, Violation};
use crate::ids::{BankId, StepId, ValueId};
use crate::plan::{Place, Slot};
use crate::program::{Role, Storage, ValueInfo};

/// Adds what is wrong with places.
pub(super) fn check(facts: &Facts, found: &mut Vec<Violation>) {
    let plan = facts.plan;
    let mut check = Check { facts, ends: vec![0; plan.banks.len()], found };
    check.counts();
    for value in facts.ids() {
        if let Some(place) = plan.places.get(value.index()) {
            check.value(value, *place);
        }
    }
    for step in (0..facts.program.steps()).map(StepId::new) {
        check.scratch(step);
        check.overwrites(step);
    }
    check.banks();
}

struct Check<'a, 'b> {
    facts: &'a Facts<'a>,
    /// The highest end of anything, by bank.
    ends: Vec<u64>,
    found: &'b mut Vec<Violation>,
}

impl Check<'_, '_> {
    fn counts(&mut self) {
        let (program, plan) = (self.facts.program, self.facts.plan);
        let lists = [
            (Counted::Schedule, plan.schedule.len(), program.steps()),
            (Counted::Places, plan.places.len(), program.values()),
            (Counted::Scratch, plan.scratch.len(), program.steps()),
        ];
        for (of, found, expected) in lists {
            // Steps that the schedule lacks or repeats are named by themselves.
            if found != expected && of != Counted::Schedule {
                self.found.push(Violation::WrongCounts { of, found, expected });
            }
        }
    }

    fn value(&mut self, value: ValueId, place: Place) {
        let info = self.facts.program.value(value);
        let fact = self.facts.value(value);
        if fact.elided {
            if place != Place::Elided {
                self.found.push(Violation::PlacedElided { value });
            }
            return;
        }
        if fact.root == value {
            self.kind_of_place(value, &info, place);
        } else if !self.view_in_place(value, place) {
            let (root, offset) = (fact.root, fact.offset);
            self.found.push(Violation::ViewMoved { value, root, offset });
        }
        if let Place::Bank(slot) = place {
            let own = if fact.root == value { Some(self.facts.plan.align) } else { None };
            let align = info.align.or(own).unwrap_or(1);
            let bytes = fact.layout(0).hull(Span::new(0, info.bytes)).len();
            self.slot(Thing::Value(value), slot, bytes, info.guard, align);
        }
    }

    fn kind_of_place(&mut self, value: ValueId, info: &ValueInfo, place: Place) {
        let from_outside = info.role != Role::Temporary || info.output;
        let outside_allowed = match info.storage {
            Storage::Arena => {
                from_outside || self.takes_over_outside(value) || self.facts.is_filled(value)
            }
            Storage::Persistent => self.takes_over_outside(value),
            Storage::External | Storage::Shared => true,
        };
        let violation = match place {
            Place::Elided => Some(Violation::NotPlaced { value }),
            Place::External | Place::Outside { .. } if !outside_allowed => {
                Some(Violation::PlacedOutside { value })
            }
            Place::Bank(_) if info.storage == Storage::External => {
                Some(Violation::PlacedInBank { value })
            }
            Place::Outside { .. } if !self.takes_over_outside(value) => {
                Some(Violation::PlacedOutside { value })
            }
            _ => None,
        };
        self.found.extend(violation);
        if let (Place::Bank(slot), Some(wanted)) = (place, self.facts.program.bank(value)) {
            let (bank, bank_of) = (slot.bank, self.facts.plan.banks.get(slot.bank.index()));
            if bank_of.is_some_and(|bank| bank.name != wanted) {
                self.found.push(Violation::WrongBank { value, bank });
            }
        }
    }

    /// Whether a value is inside the caller's memory of another.
    fn takes_over_outside(&self, value: ValueId) -> bool {
        let Place::Outside { .. } = self.facts.plan.places[value.index()] else { return false };
        self.facts.value(value).at.is_some()
    }

    fn view_in_place(&self, value: ValueId, place: Place) -> bool {
        let fact = self.facts.value(value);
        let of_root = self.facts.plan.places.get(fact.root.index());
        match (of_root, place) {
            (Some(Place::Bank(root)), Place::Bank(view)) => {
                root.bank == view.bank && root.offset.checked_add(fact.offset) == Some(view.offset)
            }
            (Some(Place::External), Place::Outside { root, offset }) => {
                root == fact.root && offset == fact.offset
            }
            (Some(Place::Outside { root, offset }), Place::Outside { root: of, offset: at }) => {
                *root == of && offset.checked_add(fact.offset) == Some(at)
            }
            // Without a place the root is at fault, and said to be.
            (Some(Place::External), Place::External) | (None | Some(Place::Elided), _) => true,
            _ => false,
        }
    }

    fn scratch(&mut self, step: StepId) {
        let wanted = self.facts.program.scratch(step).filter(|s| s.bytes > 0);
        match (wanted, self.facts.plan.scratch.get(step.index()).copied().flatten()) {
            (Some(wanted), Some(slot)) => {
                self.slot(Thing::Scratch(step), slot, wanted.bytes, 0, wanted.align);
            }
            (Some(wanted), None) => {
                self.found.push(Violation::ScratchMissing { step, bytes: wanted.bytes });
            }
            (None, Some(slot)) => self.slot(Thing::Scratch(step), slot, 0, 0, 1),
            (None, None) => {}
        }
    }

    fn slot(&mut self, thing: Thing, slot: Slot, bytes: u64, guard: u64, align: u64) {
        if !slot.offset.is_multiple_of(align.max(1)) {
            self.found.push(Violation::Misaligned { thing, offset: slot.offset, align });
        }
        let room = slot.bytes.min(slot.reserved);
        if room < bytes {
            self.found.push(Violation::TooSmall { thing, bytes: room, needs: bytes });
        }
        let Some(bank) = self.facts.plan.banks.get(slot.bank.index()) else {
            self.found.push(Violation::UnknownBank { thing, bank: slot.bank });
            return;
        };
        let own = bytes.saturating_add(guard);
        let end = slot.offset.saturating_add(slot.bytes.max(slot.reserved).max(own));
        if end > bank.bytes {
            let bank_bytes = bank.bytes;
            self.found.push(Violation::OutsideBank { thing, bank: slot.bank, end, bank_bytes });
        }
        let highest = &mut self.ends[slot.bank.index()];
        *highest = end.max(*highest);
    }

    fn overwrites(&mut self, step: StepId) {
        let facts = self.facts;
        for overwrite in facts.overwrites(step).iter().filter(|o| o.must) {
            let (output, input) = (overwrite.output, overwrite.input);
            if [output, input].iter().any(|value| self.facts.value(*value).rows.is_some()) {
                let (step, value, why) = (Some(step), Some(output), "an overwrite of rows");
                self.found.push(Violation::BadProgram { step, value, why });
            }
            if self.facts.value(input).bytes < self.facts.value(output).bytes {
                let why = "an overwrite of a value that is smaller";
                let (step, value) = (Some(step), Some(output));
                self.found.push(Violation::BadProgram { step, value, why });
            }
            // Both the caller's by declaration: its affair.
            let outside = |v: ValueId| {
                let root = self.facts.value(v).root;
                let place = self.facts.plan.places.get(root.index());
                let declared = self.facts.program.value(root).storage == Storage::External;
                declared && matches!(place, Some(Place::External)) || place.is_none()
            };
            let both_outside = outside(output) && outside(input);
            if !both_outside && !self.facts.same_place(output, input) {
                self.found.push(Violation::OverwriteIgnored { step, output, input });
            }
        }
    }

    fn banks(&mut self) {
        for (index, bank) in self.facts.plan.banks.iter().enumerate() {
            let (id, end) = (BankId::new(index), self.ends[index]);
            if end < bank.bytes {
                self.found.push(Violation::BankSizeWrong { bank: id, bytes: bank.bytes, end });
            }
            let bytes = bank.bytes.max(end);
            if let Some(capacity) = bank.capacity.filter(|capacity| bytes > *capacity) {
                self.found.push(Violation::OverCapacity { bank: id, bytes, capacity });
            }
        }
    }
}
