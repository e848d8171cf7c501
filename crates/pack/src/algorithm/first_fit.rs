//! First fit: each buffer at the lowest offset that is free for its whole life.
//!
//! Keeps everything low and leaves small holes behind; with a good order it is hard to beat.
//! Cost: one [`Timeline`](crate::timeline) query and one insertion a buffer.

use super::{Order, Packing, place_in_order};
use crate::problem::Problem;
use crate::sweep::Sweep;

pub(super) fn pack(problem: &Problem, sweep: &Sweep, order: Order) -> Packing {
    place_in_order(problem, sweep, &order.sorted(problem, sweep), |timeline, id| {
        timeline.lowest_fit(id, problem.buffer(id).align, 0)
    })
}
