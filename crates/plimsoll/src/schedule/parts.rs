//! Cut points: units through which everything passes.
//!
//! If every other unit has to run before it or after it, a unit is where every order can be cut:
//! what runs between two such units can be ordered on its own, since what is alive at the cuts is
//! the same in all orders.

use super::course::{Course, UnitId};

/// The units of an order in parts, each of which ends with a cut, but for the last.
pub(crate) fn parts(course: &Course, order: &[UnitId]) -> Vec<Vec<UnitId>> {
    let mut position = vec![0usize; course.len()];
    for (index, unit) in order.iter().enumerate() {
        position[*unit as usize] = index;
    }
    // Nothing begins of itself behind a cut, and nothing ends before it.
    let source = |unit: &UnitId| course.before(*unit).is_empty();
    let sink = |unit: &UnitId| course.behind(*unit).is_empty();
    let last_source = order.iter().rposition(source).unwrap_or(0);
    let first_sink = order.iter().position(sink).unwrap_or(order.len());
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut reach = 0;
    for (index, unit) in order.iter().enumerate() {
        part.push(*unit);
        // Does anything wait for a unit before this one and come behind it?
        let passes = reach <= index && index >= last_source && index <= first_sink;
        if passes {
            parts.push(std::mem::take(&mut part));
        }
        let behind = course.behind(*unit).iter().map(|other| position[*other as usize]);
        reach = reach.max(behind.max().unwrap_or(0));
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}
