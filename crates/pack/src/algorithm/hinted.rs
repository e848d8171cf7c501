//! At the hints: each buffer that has one goes there if that is free, lowest hint first; the
//! others follow, largest first, at the lowest free offset.
//!
//! For packing again what was packed before and has changed a little: what can stay does. Without
//! hints it is first fit by size. Cost: as first fit.

use super::{Order, Packing, Task, place_in_order};
use crate::problem::BufferId;

pub(super) fn pack(task: Task<'_>) -> Packing {
    let Task { problem, sweep, .. } = task;
    let (mut order, others): (Vec<BufferId>, Vec<BufferId>) = Order::Size
        .sorted(problem, sweep)
        .into_iter()
        .partition(|id| problem.buffer(*id).hint.is_some());
    order.sort_by_key(|id| problem.buffer(*id).hint);
    order.extend(others);
    place_in_order(task, &order, |timeline, id| {
        let buffer = problem.buffer(id);
        let welcome = buffer.hint.filter(|hint| {
            let end = hint.checked_add(buffer.size);
            let sane = end.is_some_and(|end| i64::try_from(end).is_ok());
            sane && hint.is_multiple_of(buffer.align) && timeline.is_free(id, *hint)
        });
        welcome.unwrap_or_else(|| timeline.lowest_fit(id, buffer.align, 0))
    })
}
