//! Depth first: what a unit needs is finished just before it, the greediest part of it first.
//!
//! For trees whose results are all of a size this is the rule of Sethi and Ullman: a part that
//! needs much and leaves little comes before one that needs little and leaves much, so that what is
//! held meanwhile is small. Needs are those of trees; what is shared in the graph is counted more
//! than once, which only makes the choice worse, not the order wrong.

use std::cmp::Reverse;

use super::course::{Course, UnitId};

/// An order of the units. `base` is any order in which they can run; ties go by it.
pub(crate) fn depth_first(course: &Course, base: &[UnitId]) -> Vec<UnitId> {
    let (need, hold) = needs(course, base);
    let excess = |unit: &UnitId| need[*unit as usize].saturating_sub(hold[*unit as usize]);
    let mut done = vec![false; course.len()];
    let mut order = Vec::with_capacity(course.len());
    let sinks = base.iter().copied().filter(|unit| course.behind(*unit).is_empty());
    let mut stack: Vec<(UnitId, bool)> = Vec::new();
    for sink in sinks {
        stack.push((sink, false));
        while let Some((unit, opened)) = stack.pop() {
            if done[unit as usize] {
                continue;
            }
            if opened {
                done[unit as usize] = true;
                order.push(unit);
                continue;
            }
            stack.push((unit, true));
            let mut parts: Vec<UnitId> =
                course.before(unit).iter().copied().filter(|part| !done[*part as usize]).collect();
            // The last that is pushed comes first.
            parts.sort_by_key(|part| (excess(part), Reverse(*part)));
            stack.extend(parts.into_iter().map(|part| (part, false)));
        }
    }
    order
}

/// What it takes to run each unit with all that it waits for, as if that were a tree, and what its
/// results hold.
fn needs(course: &Course, base: &[UnitId]) -> (Vec<u64>, Vec<u64>) {
    let mut need = vec![0u64; course.len()];
    let mut hold = vec![0u64; course.len()];
    let mut begun = vec![false; course.buffers()];
    for unit in base {
        let mut made = 0u64;
        for buffer in course.touches(*unit) {
            if !std::mem::replace(&mut begun[*buffer as usize], true) && !course.ends(*buffer).0 {
                made = made.saturating_add(course.bytes(*buffer));
            }
        }
        let mut parts: Vec<(u64, u64)> = course
            .before(*unit)
            .iter()
            .map(|part| (need[*part as usize], hold[*part as usize]))
            .collect();
        parts.sort_by_key(|(need, hold)| Reverse(need.saturating_sub(*hold)));
        let (mut most, mut sum) = (0u64, 0u64);
        for (need, hold) in parts {
            most = most.max(sum.saturating_add(need));
            sum = sum.saturating_add(hold);
        }
        need[*unit as usize] = most.max(sum.saturating_add(made));
        hold[*unit as usize] = made;
    }
    (need, hold)
}
