//! The plan that is always right: nothing shares bytes that need not.

use std::collections::BTreeMap;

use plimsoll_pack::Span;

use crate::ids::{BankId, StepId, ValueId};
use crate::plan::{Bank, Derivation, Place, Plan, Slot};
use crate::program::{Layout as Bytes, Program, Storage};

/// A plan in which every value has bytes of its own, but for views and for outputs that must
/// overwrite; steps in order of ids. What comes from outside is in the bank too, unless it is
/// external.
///
/// # Panics
/// If the program is not valid.
#[must_use]
pub fn unshared_plan(program: &dyn Program, align: u64) -> Plan {
    let mut end: u64 = 0;
    plan_at(program, align, |_, bytes, align| {
        let offset = end.next_multiple_of(align);
        end = offset + bytes;
        offset
    })
}

/// A plan with one bank in which each root, and then each scratch, is where `choose` says; it gets
/// the value (`None` for scratch), its bytes with guard, and its alignment. Views, and outputs
/// that must overwrite, follow.
///
/// # Panics
/// If the program is not valid.
#[must_use]
pub fn plan_at(
    program: &dyn Program,
    align: u64,
    choose: impl FnMut(Option<ValueId>, u64, u64) -> u64,
) -> Plan {
    let mut layout =
        Layout { program, align, choose, taken: taken(program), known: BTreeMap::new() };
    let values = (0..program.values()).map(ValueId::new);
    let places: Vec<Place> = values.map(|value| layout.place(value)).collect();
    let mut scratch = Vec::new();
    for step in (0..program.steps()).map(StepId::new) {
        scratch.push(program.scratch(step).filter(|s| s.bytes > 0).map(|wanted| {
            let offset = (layout.choose)(None, wanted.bytes, wanted.align.max(1));
            Slot::new(BankId(0), offset, wanted.bytes)
        }));
    }
    let mut plan = Plan {
        schedule: (0..program.steps()).map(StepId::new).collect(),
        places,
        scratch,
        banks: vec![Bank { name: "arena".to_owned(), bytes: 0, capacity: None }],
        align,
        derivation: Derivation::default(),
    };
    plan.banks[0].bytes = bank_of(program, &plan, BankId(0));
    plan
}

/// The highest end of anything that a plan has in a bank.
#[must_use]
pub fn bank_of(program: &dyn Program, plan: &Plan, bank: BankId) -> u64 {
    let mut end = 0;
    for (index, place) in plan.places.iter().enumerate() {
        if let Place::Bank(slot) = place
            && slot.bank == bank
        {
            let info = program.value(ValueId::new(index));
            let rows = info.view_of.is_some_and(|view| view.rows.is_some());
            let own = if rows { 0 } else { info.bytes + info.guard };
            end = end.max(slot.offset + slot.reserved.max(own));
        }
    }
    let scratch = plan.scratch.iter().flatten().filter(|slot| slot.bank == bank);
    scratch.map(|slot| slot.offset + slot.reserved).fold(end, u64::max)
}

/// What each output must overwrite.
fn taken(program: &dyn Program) -> BTreeMap<ValueId, ValueId> {
    let steps = (0..program.steps()).map(StepId::new);
    let overwrites = steps.flat_map(|step| program.overwrites(step).into_owned());
    overwrites.filter(|o| o.must).map(|o| (o.output, o.input)).collect()
}

struct Layout<'a, F> {
    program: &'a dyn Program,
    align: u64,
    choose: F,
    taken: BTreeMap<ValueId, ValueId>,
    known: BTreeMap<ValueId, Place>,
}

impl<F: FnMut(Option<ValueId>, u64, u64) -> u64> Layout<'_, F> {
    fn place(&mut self, value: ValueId) -> Place {
        if let Some(place) = self.known.get(&value) {
            return *place;
        }
        let info = self.program.value(value);
        let place = if info.elided {
            Place::Elided
        } else if let Some(view) = info.view_of {
            let layout = Bytes { first: 0, rows: view.rows };
            let bytes = layout.hull(Span::new(0, info.bytes)).len();
            self.inside(view.of, view.offset, bytes)
        } else if let Some(input) = self.taken.get(&value).copied() {
            self.inside(input, 0, info.bytes)
        } else if info.storage == Storage::External {
            Place::External
        } else {
            let align = info.align.unwrap_or(self.align).max(1);
            let offset = (self.choose)(Some(value), info.bytes + info.guard, align);
            Place::Bank(Slot::new(BankId(0), offset, info.bytes))
        };
        self.known.insert(value, place);
        place
    }

    fn inside(&mut self, of: ValueId, by: u64, bytes: u64) -> Place {
        match self.place(of) {
            Place::Bank(slot) => Place::Bank(Slot::new(slot.bank, slot.offset + by, bytes)),
            Place::External => Place::Outside { root: of, offset: by },
            Place::Outside { root, offset } => Place::Outside { root, offset: offset + by },
            Place::Elided => Place::Elided,
        }
    }
}
