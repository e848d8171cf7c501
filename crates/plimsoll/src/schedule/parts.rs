//! Cut points: groups through which everything passes.
//!
//! If every other group has to run before it or after it, a group is where every order can be cut:
//! what runs between two such groups can be ordered on its own, since what is alive at the cuts is
//! the same in all orders.

use super::cost::{CostModel, GroupId};

/// The groups of an order in parts, each of which ends with a cut, but for the last.
pub(crate) fn parts(model: &CostModel, order: &[GroupId]) -> Vec<Vec<GroupId>> {
    let mut position = vec![0usize; model.len()];
    for (index, group) in order.iter().enumerate() {
        position[*group as usize] = index;
    }
    // Nothing begins of itself behind a cut, and nothing ends before it.
    let source = |group: &GroupId| model.before(*group).is_empty();
    let sink = |group: &GroupId| model.behind(*group).is_empty();
    let last_source = order.iter().rposition(source).unwrap_or(0);
    let first_sink = order.iter().position(sink).unwrap_or(order.len());
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut reach = 0;
    for (index, group) in order.iter().enumerate() {
        part.push(*group);
        // Does anything wait for a group before this one and come behind it?
        let passes = reach <= index && index >= last_source && index <= first_sink;
        if passes {
            parts.push(std::mem::take(&mut part));
        }
        let behind = model.behind(*group).iter().map(|other| position[*other as usize]);
        reach = reach.max(behind.max().unwrap_or(0));
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}
