//! What two orders of steps differ in: who is new, who is gone, and who has changed places.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

/// What two orders differ in.
///
/// As few steps as possible have moved: of those that both have, a longest row that comes in the
/// same order in both stays where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OrderDiff {
    /// How many steps both have.
    pub common: usize,
    /// Those that only the first has.
    pub removed: Vec<String>,
    /// Those that only the second has.
    pub added: Vec<String>,
    /// Those that come elsewhere, in the order of the second.
    pub moved: Vec<String>,
}

impl OrderDiff {
    pub(super) fn new(before: &[String], after: &[String]) -> Self {
        let position: HashMap<&String, usize> =
            before.iter().enumerate().map(|(position, name)| (name, position)).collect();
        let kept: HashSet<&String> = after.iter().collect();
        let common: Vec<&String> =
            after.iter().filter(|name| position.contains_key(name)).collect();
        let positions: Vec<usize> = common.iter().map(|name| position[name]).collect();
        let stays = longest_rise(&positions);
        let moved = common.iter().zip(stays).filter(|(_, stays)| !stays);
        OrderDiff {
            common: common.len(),
            removed: before.iter().filter(|name| !kept.contains(name)).cloned().collect(),
            added: after.iter().filter(|name| !position.contains_key(name)).cloned().collect(),
            moved: moved.map(|(name, _)| (*name).clone()).collect(),
        }
    }

    /// Whether they are the same order of the same steps.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty() && self.moved.is_empty()
    }
}

/// Which of the numbers, no two of which are equal, belong to a longest rising row of them.
/// O(n log n): of all rows of a length, the one with the smallest end is kept.
fn longest_rise(numbers: &[usize]) -> Vec<bool> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; numbers.len()];
    for (index, number) in numbers.iter().enumerate() {
        let length = ends.partition_point(|end| numbers[*end] < *number);
        before[index] = length.checked_sub(1).map(|shorter| ends[shorter]);
        if length == ends.len() {
            ends.push(index);
        } else {
            ends[length] = index;
        }
    }
    let mut belongs = vec![false; numbers.len()];
    let mut at = ends.last().copied();
    while let Some(index) = at {
        belongs[index] = true;
        at = before[index];
    }
    belongs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(before: &str, after: &str) -> OrderDiff {
        let names = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        OrderDiff::new(&names(before), &names(after))
    }

    #[test]
    fn one_step_that_moved_is_one_step() {
        assert!(diff("a b c d", "a b c d").is_same());
        assert_eq!(diff("a b c d", "b c d a").moved, ["a"]);
        assert_eq!(diff("a b c d", "d a b c").moved, ["d"]);
        assert_eq!(diff("a b c d e", "a c b d e").moved.len(), 1);
    }

    #[test]
    fn what_is_new_or_gone_has_not_moved() {
        let diff = diff("a b c d", "x c a d y");
        assert_eq!((diff.common, diff.removed), (3, vec!["b".to_owned()]));
        assert_eq!(diff.added, ["x", "y"]);
        assert_eq!(diff.moved.len(), 1);
    }

    #[test]
    fn no_row_is_longer() {
        // All orders of six numbers, against all their subsets.
        let mut order: Vec<usize> = (0..6).collect();
        let mut seen = 0;
        loop {
            let rises = |set: usize| {
                let row: Vec<usize> =
                    (0..6).filter(|i| set >> i & 1 == 1).map(|i| order[i]).collect();
                row.is_sorted().then_some(row.len())
            };
            let longest = (0..1 << 6).filter_map(rises).max();
            let found = longest_rise(&order);
            let row: Vec<usize> =
                order.iter().zip(&found).filter(|(_, is)| **is).map(|(n, _)| *n).collect();
            assert!(row.is_sorted(), "{order:?}");
            assert_eq!(Some(row.len()), longest, "{order:?}");
            seen += 1;
            if !next_permutation(&mut order) {
                break;
            }
        }
        assert_eq!(seen, 720);
    }

    fn next_permutation(order: &mut [usize]) -> bool {
        let Some(pivot) = (1..order.len()).rev().find(|i| order[i - 1] < order[*i]) else {
            return false;
        };
        let larger = (pivot..order.len()).rev().find(|i| order[*i] > order[pivot - 1]);
        order.swap(pivot - 1, larger.unwrap_or(pivot));
        order[pivot..].reverse();
        true
    }
}
