//! Where things are in another plan, for those who plan again.

use crate::ids::BankId;
use crate::plan::{Place, Plan, Slot};

/// Where values and scratch memory are in another plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Near {
    /// What the banks of that plan are called, by [`BankId`].
    pub banks: Vec<String>,
    /// The bank and the first byte of each value, by [`ValueId`](crate::ValueId); `None` for those that
    /// have no place there.
    pub values: Vec<Option<(BankId, u64)>>,
    /// The same for the scratch memory of each step, by [`StepId`](crate::StepId).
    pub scratch: Vec<Option<(BankId, u64)>>,
}

impl Near {
    /// The places of a plan, for a program with the same values and steps.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let at = |slot: &Slot| (slot.bank, slot.offset);
        let value = |place: &Place| match place {
            Place::Bank(slot) => Some(at(slot)),
            Place::External | Place::Outside { .. } | Place::Elided => None,
        };
        Near {
            banks: plan.banks.iter().map(|bank| bank.name.clone()).collect(),
            values: plan.places.iter().map(value).collect(),
            scratch: plan.scratch.iter().map(|slot| slot.as_ref().map(at)).collect(),
        }
    }

    /// The first byte of something in the bank of that name.
    pub(crate) fn offset(&self, place: Option<&Option<(BankId, u64)>>, bank: &str) -> Option<u64> {
        let (of, offset) = (*place?)?;
        self.banks.get(of.index()).filter(|name| *name == bank).map(|_| offset)
    }
}
