//! A moment of a plan, in words: which step it is, what is there, and from when until when.

use plimsoll::explain::{Alive, Peak, Why};
use plimsoll::{LiveRange, Plan, Point, Program, StepId, ValueId};

use crate::words::plain;

/// A plan, and the program whose names are told.
#[derive(Clone, Copy)]
pub(crate) struct Story<'a> {
    pub(crate) program: &'a dyn Program,
    pub(crate) plan: &'a Plan,
}

impl Story<'_> {
    pub(crate) fn value(self, value: ValueId) -> String {
        plain(&self.program.value_name(value))
    }

    pub(crate) fn step(self, step: StepId) -> String {
        plain(&self.program.step_name(step))
    }

    /// `while conv writes, step 3 of 15`.
    pub(crate) fn when(self, peak: &Peak) -> String {
        let Some(step) = peak.step else { return "at the end".to_owned() };
        let does = if peak.point.0.is_multiple_of(2) { "reads" } else { "writes" };
        let (number, of) = (peak.point.0 / 2 + 1, self.plan.schedule.len());
        format!("while {} {does}, step {number} of {of}", self.step(step))
    }

    /// `from conv to add`: the life of a value, or of its bytes if they are kept for longer.
    pub(crate) fn life(self, alive: &Alive) -> String {
        let member = self.plan.derivation.members[alive.value.index()];
        let Some(member) = member else { return String::new() };
        let buffer = self.plan.derivation.buffers[member.buffer.index()].live;
        let live = if alive.why == Why::Kept { buffer } else { member.live };
        self.span(live)
    }

    fn span(self, live: LiveRange) -> String {
        let name = |point: u64| {
            let step = self.plan.schedule.get(usize::try_from(point / 2).ok()?);
            step.map(|step| self.step(*step))
        };
        let from = if live.start == Point(0) { None } else { name(live.start.0) };
        let from = from.map_or("from the start".to_owned(), |step| format!("from {step}"));
        let to = name(live.end.0.saturating_sub(1));
        let to = to.map_or("to the end".to_owned(), |step| format!("to {step}"));
        format!("{from} {to}")
    }

    /// Why a value is there.
    pub(crate) fn why(self, alive: &Alive) -> String {
        match alive.why {
            Why::Written => "written now".to_owned(),
            Why::Read => "read now, for the last time".to_owned(),
            Why::Waits { next, last, steps } if next == last => {
                format!("waits for {}, {}", self.step(last), later(steps))
            }
            Why::Waits { next, last, steps } => {
                let (next, last) = (self.step(next), self.step(last));
                format!("waits for {next} and at last {last}, {}", later(steps))
            }
            Why::Output => "an output: stays to the end".to_owned(),
            Why::Kept => "kept for the whole run".to_owned(),
        }
    }

    /// What a value is the same bytes as, if it is.
    pub(crate) fn sharing(self, alive: &Alive) -> Option<String> {
        let names = |values: &[ValueId]| {
            const MOST: usize = 3;
            let mut names: Vec<String> =
                values.iter().take(MOST).map(|value| self.value(*value)).collect();
            if values.len() > MOST {
                names.push(format!("{} more", values.len() - MOST));
            }
            names.join(", ")
        };
        let mut parts = Vec::new();
        if let Some(before) = alive.in_place_of {
            parts.push(format!("in place of {}", self.value(before)));
        }
        if !alive.taken_over_by.is_empty() {
            parts.push(format!("taken over by {}", names(&alive.taken_over_by)));
        }
        if !alive.views.is_empty() {
            parts.push(format!("views: {}", names(&alive.views)));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

fn later(steps: usize) -> String {
    if steps == 1 { "the next step".to_owned() } else { format!("{steps} steps later") }
}
