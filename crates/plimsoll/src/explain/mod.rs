//! Why the arena is as large as it is.
//!
//! [`peaks`] finds the moments at which most bytes are in use, [`account`] says of every byte of
//! every bank what it is at such a moment, and [`alive`](alive()) why each value that is there has to
//! be. [`group_peaks`] does the first for steps that belong together. All look at the plan and at the program's declarations, and change nothing.

mod account;
mod alive;
mod peaks;
mod stages;

pub use account::{Account, Piece, What, account};
pub use alive::{Alive, Why, alive};
pub use peaks::{Peak, peaks};
use plimsoll_pack::Span;
pub use stages::{GroupPeak, Stage, group_peaks, step_loads};

use crate::plan::{Buffer, Plan};
use crate::point::Point;
use crate::program::Program;
use crate::{StepId, ValueId};

/// The bytes of a buffer that are in use at a moment, counted from its start; `None` if none are.
pub(crate) fn window(buffer: &Buffer, point: Point) -> Option<Span> {
    let now = point.0.cast_signed();
    let packed = buffer.packed();
    let here = packed.pieces().find(|piece| piece.life.start <= now && now < piece.life.end);
    here.map(|piece| piece.span)
}

/// The step that runs at a moment; `None` when all are over.
fn step_at(plan: &Plan, point: Point) -> Option<StepId> {
    plan.schedule.get(usize::try_from(point.0 / 2).ok()?).copied()
}

/// The first value of each buffer: not a view, in nobody's place. `None` for scratch memory.
#[must_use]
pub fn heads(program: &dyn Program, plan: &Plan) -> Vec<Option<ValueId>> {
    let mut heads = vec![None; plan.derivation.buffers.len()];
    for (index, member) in plan.derivation.members.iter().enumerate() {
        let (value, Some(member)) = (ValueId::new(index), member) else { continue };
        let is_view = program.value(value).view_of.is_some();
        let rank = (is_view, member.took_over.is_some(), member.live.start, value);
        let head = &mut heads[member.buffer.index()];
        if head.is_none_or(|best| rank < best) {
            *head = Some(rank);
        }
    }
    heads.into_iter().map(|head| head.map(|(.., value)| value)).collect()
}
