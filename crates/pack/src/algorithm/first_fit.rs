//! First fit: each buffer at the lowest offset that is free for its whole life.
//!
//! Keeps everything low and leaves small holes behind; with a good order it is hard to beat.
//! Cost: one [`Timeline`](crate::timeline) query and one insertion a buffer.

use super::{Order, Packing, Task, place_in_order};

pub(super) fn pack(task: Task<'_>, order: Order) -> Packing {
    let Task { problem, sweep, .. } = task;
    place_in_order(task, &order.sorted(problem, sweep), |timeline, id| {
        timeline.lowest_fit(id, problem.buffer(id).align, 0)
    })
}
