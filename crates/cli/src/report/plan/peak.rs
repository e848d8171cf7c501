//! When most bytes are in use, and by what.

use std::cmp::Reverse;

use plimsoll::{Buffer, LiveRange, Plan, Point, Program, ValueId};
use plimsoll_pack::{Problem, Sweep};

use super::pictures::{packed, scratch_name};

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
                let name = super::super::plain(&self.program.step_name(*step));
                format!("while {name} {does}, step {} of {steps}", position + 1)
            }
            None => "at the end".to_owned(),
        }
    }

    fn alive(&self, point: Point) -> Vec<Alive> {
        let is_alive = |live: LiveRange| live.start <= point && point < live.end;
        let mut values = vec![None; self.plan.derivation.buffers.len()];
        for (index, member) in self.plan.derivation.members.iter().enumerate() {
            let (value, Some(member)) = (ValueId::new(index), member) else { continue };
            let info = self.program.value(value);
            if is_alive(member.live) && info.view_of.is_none() {
                // Of values that take each other over in this step, the larger speaks for both.
                let rank = (info.bytes, Reverse(value));
                let best = &mut values[member.buffer.index()];
                if best.is_none_or(|(best, _)| rank > best) {
                    *best = Some((rank, member.live));
                }
            }
        }
        let buffers = self.plan.derivation.buffers.iter().zip(values);
        let alive = |(buffer, value): (&Buffer, Option<((u64, Reverse<ValueId>), LiveRange)>)| {
            if !is_alive(buffer.live) {
                return None;
            }
            Some(match value {
                Some(((bytes, Reverse(value)), live)) => Alive {
                    name: self.program.value_name(value).into_owned(),
                    bytes,
                    life: self.life(live),
                },
                None if self.is_scratch(buffer) => Alive {
                    name: scratch_name(self.program, self.plan, buffer),
                    bytes: buffer.slot.bytes,
                    life: self.life(buffer.live),
                },
                None => return None,
            })
        };
        let mut alive: Vec<Alive> = buffers.filter_map(alive).collect();
        alive.sort_by_key(|alive| Reverse(alive.bytes));
        alive
    }

    fn is_scratch(&self, buffer: &Buffer) -> bool {
        self.plan.scratch.iter().flatten().any(|slot| *slot == buffer.slot)
    }

    fn life(&self, live: LiveRange) -> String {
        let name = |point: u64| {
            let step = self.plan.schedule.get((point / 2) as usize);
            step.map(|step| super::super::plain(&self.program.step_name(*step)))
        };
        let from = if live.start == Point(0) { None } else { name(live.start.0) };
        let from = from.map_or("from the start".to_owned(), |step| format!("from {step}"));
        let to = name(live.end.0.saturating_sub(1));
        let to = to.map_or("to the end".to_owned(), |step| format!("to {step}"));
        format!("{from} {to}")
    }
}
