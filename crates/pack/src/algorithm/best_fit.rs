//! Best fit: each buffer in the hole that it fills best, above everything if it fits in none.
//!
//! Spares large holes for large buffers that come later, so it wins with orders that do not put
//! the large ones first (by birth on `resnet50`, say). Cost: as first fit, but a query goes
//! on to the 16 lowest holes that are large enough, unless one fits exactly.

use super::{Order, Packing, Task, place_in_order};

pub(super) fn pack(task: Task<'_>, order: Order) -> Packing {
    let Task { problem, sweep, .. } = task;
    place_in_order(task, &order.sorted(problem, sweep), |timeline, id| {
        timeline.best_fit(id, problem.buffer(id).align)
    })
}
