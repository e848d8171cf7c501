//! Depth first: what a group needs is finished just before it, the greediest part of it first.
//!
//! For trees whose results are all of a size this is the rule of Sethi and Ullman: a part that
//! needs much and leaves little comes before one that needs little and leaves much, so that what is
//! held meanwhile is small. Needs are those of trees; what is shared in the graph is counted more
//! than once, which only makes the choice worse, not the order wrong.

use std::cmp::Reverse;

use super::cost::{CostModel, GroupId};

/// An order of the groups. `base` is any order in which they can run; ties go by it.
pub(crate) fn depth_first(model: &CostModel, base: &[GroupId]) -> Vec<GroupId> {
    let (need, hold) = needs(model, base);
    let excess = |group: &GroupId| need[*group as usize].saturating_sub(hold[*group as usize]);
    let mut done = vec![false; model.len()];
    let mut order = Vec::with_capacity(model.len());
    let sinks = base.iter().copied().filter(|group| model.behind(*group).is_empty());
    let mut stack: Vec<(GroupId, bool)> = Vec::new();
    for sink in sinks {
        stack.push((sink, false));
        while let Some((group, opened)) = stack.pop() {
            if done[group as usize] {
                continue;
            }
            if opened {
                done[group as usize] = true;
                order.push(group);
                continue;
            }
            stack.push((group, true));
            let mut parts: Vec<GroupId> =
                model.before(group).iter().copied().filter(|part| !done[*part as usize]).collect();
            // The last that is pushed comes first.
            parts.sort_by_key(|part| (excess(part), Reverse(*part)));
            stack.extend(parts.into_iter().map(|part| (part, false)));
        }
    }
    order
}

/// What it takes to run each group with all that it waits for, as if that were a tree, and what its
/// results hold.
fn needs(model: &CostModel, base: &[GroupId]) -> (Vec<u64>, Vec<u64>) {
    let mut need = vec![0u64; model.len()];
    let mut hold = vec![0u64; model.len()];
    let mut begun = vec![false; model.pieces()];
    for group in base {
        let mut made = 0u64;
        for piece in model.touches(*group) {
            if !std::mem::replace(&mut begun[*piece as usize], true) && !model.ends(*piece).0 {
                made = made.saturating_add(model.bytes(*piece));
            }
        }
        let mut parts: Vec<(u64, u64)> = model
            .before(*group)
            .iter()
            .map(|part| (need[*part as usize], hold[*part as usize]))
            .collect();
        parts.sort_by_key(|(need, hold)| Reverse(need.saturating_sub(*hold)));
        let (mut most, mut sum) = (0u64, 0u64);
        for (need, hold) in parts {
            most = most.max(sum.saturating_add(need));
            sum = sum.saturating_add(hold);
        }
        need[*group as usize] = most.max(sum.saturating_add(made));
        hold[*group as usize] = made;
    }
    (need, hold)
}
