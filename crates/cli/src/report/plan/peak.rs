//! When most bytes are in use, and by what.

use std::cmp::Reverse;

use plimsoll::{Buffer, LiveRange, Plan, Point, Program, Role, ValueId};
use plimsoll_pack::{Problem, Sweep};

use super::pictures::{heads, packed, scratch_name};
use crate::report::plain;

/// The moment of the highest load.
pub(super) struct Peak {
    /// All banks together.
    pub(super) bytes: u64,
    /// When.
    pub(super) when: String,
    /// What is in use then, the largest first.
    pub(super) alive: Vec<Alive>,
}

/// Something in use at the peak.
pub(super) struct Alive {
    pub(super) name: String,
    pub(super) bytes: u64,
    /// From which step to which.
    pub(super) life: String,
}

impl Peak {
    /// The first moment of the highest load; `None` if nothing is in use ever.
    pub(super) fn find(program: &dyn Program, plan: &Plan) -> Option<Peak> {
        let buffers = &plan.derivation.buffers;
        let problem = Problem::new(buffers.iter().map(packed).collect()).ok()?;
        let sweep = Sweep::new(&problem);
        let (bytes, section) = sweep.peak();
        let point = Point(sweep.life_of(section?).start.unsigned_abs());
        let story = Story { program, plan };
        Some(Peak { bytes, when: story.moment(point), alive: story.alive(point) })
    }
}

struct Story<'a> {
    program: &'a dyn Program,
    plan: &'a Plan,
}

impl Story<'_> {
    fn moment(&self, point: Point) -> String {
        let steps = self.plan.schedule.len();
        let position = (point.0 / 2) as usize;
        match self.plan.schedule.get(position) {
            Some(step) => {
                let does = if point.0.is_multiple_of(2) { "reads" } else { "writes" };
                let name = plain(&self.program.step_name(*step));
                format!("while {name} {does}, step {} of {steps}", position + 1)
            }
            None => "at the end".to_owned(),
        }
    }

    fn alive(&self, point: Point) -> Vec<Alive> {
        let speakers = self.speakers(point);
        let heads = heads(self.program, self.plan);
        let mut alive = Vec::new();
        for ((buffer, speaker), head) in
            self.plan.derivation.buffers.iter().zip(speakers).zip(heads)
        {
            if !is_in_use(buffer, point) {
                continue;
            }
            // What is kept though nobody needs it now: inputs that are not reclaimed, weights, ….
            let kept = head.map(|head| (head, buffer.live));
            alive.push(match speaker.or(kept) {
                Some((value, live)) => Alive {
                    name: self.program.value_name(value).into_owned(),
                    bytes: self.program.value(value).bytes,
                    life: self.life(live),
                },
                None => Alive {
                    name: scratch_name(self.program, self.plan, buffer),
                    bytes: buffer.slot.bytes,
                    life: self.life(buffer.live),
                },
            });
        }
        alive.sort_by_key(|alive| Reverse(alive.bytes));
        alive
    }

    /// By buffer, the value in it that is needed at that point. Of values that take each other
    /// over in that very step, the larger speaks for both.
    fn speakers(&self, point: Point) -> Vec<Option<(ValueId, LiveRange)>> {
        let mut speakers: Vec<Option<(ValueId, LiveRange)>> =
            vec![None; self.plan.derivation.buffers.len()];
        for (index, member) in self.plan.derivation.members.iter().enumerate() {
            let (value, Some(member)) = (ValueId::new(index), member) else { continue };
            let info = self.program.value(value);
            let is_needed = member.live.start <= point && point < member.live.end;
            if !is_needed || info.view_of.is_some() {
                continue;
            }
            let buffer = &self.plan.derivation.buffers[member.buffer.index()];
            let live = if info.role == Role::Temporary { member.live } else { buffer.live };
            let speaker = &mut speakers[member.buffer.index()];
            if speaker.is_none_or(|(other, _)| info.bytes > self.program.value(other).bytes) {
                *speaker = Some((value, live));
            }
        }
        speakers
    }

    fn life(&self, live: LiveRange) -> String {
        let name = |point: u64| {
            let step = self.plan.schedule.get((point / 2) as usize);
            step.map(|step| plain(&self.program.step_name(*step)))
        };
        let from = if live.start == Point(0) { None } else { name(live.start.0) };
        let from = from.map_or("from the start".to_owned(), |step| format!("from {step}"));
        let to = name(live.end.0.saturating_sub(1));
        let to = to.map_or("to the end".to_owned(), |step| format!("to {step}"));
        format!("{from} {to}")
    }
}

/// Whether some byte of the buffer is in use at that point.
fn is_in_use(buffer: &Buffer, point: Point) -> bool {
    let now = point.0.cast_signed();
    packed(buffer)
        .pieces()
        .any(|piece| piece.life.start <= now && now < piece.life.end && !piece.span.is_empty())
}
