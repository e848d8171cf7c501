//! Whose bytes each value follows: a sweep over time with the last user of every byte.

use std::collections::BTreeMap;

use crate::ids::{BankId, ValueId};
use crate::plan::{Member, Place, Plan, Slot};
use crate::point::Point;

/// For every value, the values that had its bytes right before it; views follow nobody. By value.
/// O(n log n), plus one for each that is followed.
pub fn follows(plan: &Plan, is_view: impl Fn(ValueId) -> bool) -> Vec<Vec<ValueId>> {
    let mut by_birth: Vec<(Point, ValueId, Slot)> = Vec::new();
    for (index, (place, member)) in plan.places.iter().zip(&plan.derivation.members).enumerate() {
        let value = ValueId::new(index);
        if let (Place::Bank(slot), Some(Member { live, .. })) = (place, member)
            && !is_view(value)
            && slot.reserved > 0
        {
            by_birth.push((live.start, value, *slot));
        }
    }
    by_birth.sort_unstable_by_key(|(birth, value, _)| (*birth, *value));
    let mut last_users: BTreeMap<BankId, Users> = BTreeMap::new();
    let mut follows = vec![Vec::new(); plan.places.len()];
    for (_, value, slot) in by_birth {
        let users = last_users.entry(slot.bank).or_default();
        let mut before = users.replace(slot.offset, slot.offset + slot.reserved, value);
        before.sort_unstable();
        before.dedup();
        follows[value.index()] = before;
    }
    follows
}

/// The last user of every byte that has had one: spans by their first byte.
#[derive(Default)]
struct Users(BTreeMap<u64, (u64, ValueId)>);

impl Users {
    /// Gives the bytes to `user`, and says who had them before.
    fn replace(&mut self, lo: u64, hi: u64, user: ValueId) -> Vec<ValueId> {
        let first = self.0.range(..=lo).next_back().map_or(lo, |(start, _)| *start);
        let met: Vec<(u64, u64, ValueId)> = self
            .0
            .range(first..hi)
            .filter(|(_, (end, _))| *end > lo)
            .map(|(start, (end, user))| (*start, *end, *user))
            .collect();
        for (start, end, other) in &met {
            self.0.remove(start);
            if *start < lo {
                self.0.insert(*start, (lo, *other));
            }
            if *end > hi {
                self.0.insert(hi, (*end, *other));
            }
        }
        self.0.insert(lo, (hi, user));
        met.into_iter().map(|(_, _, other)| other).collect()
    }
}
