//! Why values are there at a moment: who made them, and whom they wait for.

use super::account::{Account, What};
use crate::ids::BufferId;
use crate::plan::Plan;
use crate::point::LiveRange;
use crate::program::{AccessKind, Program, Until, roots_of};
use crate::{StepId, ValueId};

/// A value that takes bytes at a moment, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alive {
    /// The value.
    pub value: ValueId,
    /// Its bytes that are in use.
    pub bytes: u64,
    /// The step that writes it first; `None` if it comes from outside.
    pub made_by: Option<StepId>,
    /// The step that reads it last; `None` if none does.
    pub last_read_by: Option<StepId>,
    /// Why it is there.
    pub why: Why,
    /// The value whose bytes it took over.
    pub in_place_of: Option<ValueId>,
    /// The values that take over its bytes.
    pub taken_over_by: Vec<ValueId>,
    /// The views of it.
    pub views: Vec<ValueId>,
}

/// Why a value is there at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The step of that moment writes it.
    Written,
    /// The step of that moment reads it, for the last time.
    Read,
    /// A step reads it later.
    Waits {
        /// The next one that does.
        next: StepId,
        /// The last one that does.
        last: StepId,
        /// How many steps after this moment's the last one comes.
        steps: usize,
    },
    /// It is an output, and stays to the end.
    Output,
    /// It is kept for the whole run, or for the next one.
    Kept,
}

/// The values of an account, the largest first.
#[must_use]
pub fn alive(program: &dyn Program, plan: &Plan, account: &Account) -> Vec<Alive> {
    let mut bytes = vec![0; program.values()];
    for piece in &account.pieces {
        if let What::Value(value) = piece.what {
            bytes[value.index()] += piece.span.len();
        }
    }
    let uses = Uses::of(program, plan);
    let (views, heirs) = (uses.views(), heirs(program, plan));
    let now = usize::try_from(account.point.0 / 2).unwrap_or(usize::MAX);
    let there = (0..program.values()).map(ValueId::new).filter(|value| bytes[value.index()] > 0);
    let mut alive: Vec<Alive> = there
        .map(|value| Alive {
            value,
            bytes: bytes[value.index()],
            made_by: uses.of[value.index()].first_write.map(|at| plan.schedule[at]),
            last_read_by: uses.of[value.index()].reads.last().map(|at| plan.schedule[*at]),
            why: uses.why(plan, value, now),
            in_place_of: member(plan, value).and_then(|member| member.1),
            taken_over_by: heirs[value.index()].clone(),
            views: views[value.index()].clone(),
        })
        .collect();
    alive.sort_by_cached_key(|alive| (std::cmp::Reverse(alive.bytes), alive.value));
    alive
}

/// For each value those that take over its bytes.
fn heirs(program: &dyn Program, plan: &Plan) -> Vec<Vec<ValueId>> {
    let mut heirs = vec![Vec::new(); program.values()];
    for value in (0..program.values()).map(ValueId::new) {
        if let Some((_, Some(before))) = member(plan, value) {
            heirs[before.index()].push(value);
        }
    }
    heirs
}

fn member(plan: &Plan, value: ValueId) -> Option<(BufferId, Option<ValueId>)> {
    plan.derivation.members.get(value.index()).copied().flatten().map(|m| (m.buffer, m.took_over))
}

/// When each root is written and read, by positions in the schedule.
struct Uses {
    of: Vec<Use>,
    roots: Vec<ValueId>,
}

#[derive(Clone, Default)]
struct Use {
    first_write: Option<usize>,
    writes: Vec<usize>,
    reads: Vec<usize>,
    until_end: bool,
}

impl Uses {
    fn of(program: &dyn Program, plan: &Plan) -> Self {
        let roots: Vec<ValueId> = roots_of(program).into_iter().map(|(root, _)| root).collect();
        let mut position = vec![0; program.steps()];
        for (at, step) in plan.schedule.iter().enumerate() {
            position[step.index()] = at;
        }
        let mut of = vec![Use::default(); program.values()];
        for (at, step) in plan.schedule.iter().enumerate() {
            for access in program.accesses(*step).iter() {
                let user = &mut of[roots[access.value.index()].index()];
                match access.kind {
                    AccessKind::Write => {
                        user.first_write = user.first_write.or(Some(at));
                        user.writes.push(at);
                    }
                    AccessKind::Read => {
                        user.reads.push(match access.until {
                            Until::After(later) => position[later.index()].max(at),
                            Until::Writes | Until::Step | Until::EndOfRun => at,
                        });
                        user.until_end |= access.until == Until::EndOfRun;
                    }
                }
            }
        }
        for (value, root) in roots.iter().enumerate() {
            of[root.index()].until_end |= program.value(ValueId::new(value)).output;
        }
        for user in &mut of {
            user.reads.sort_unstable();
        }
        Uses { of, roots }
    }

    fn why(&self, plan: &Plan, value: ValueId, now: usize) -> Why {
        let user = &self.of[value.index()];
        let later: Vec<usize> = user.reads.iter().copied().filter(|at| *at > now).collect();
        if user.writes.contains(&now) {
            return Why::Written;
        }
        if let (Some(next), Some(last)) = (later.first(), later.last()) {
            let (next, last_step) = (plan.schedule[*next], plan.schedule[*last]);
            return Why::Waits { next, last: last_step, steps: last - now };
        }
        if user.until_end {
            return Why::Output;
        }
        // A value whose buffer is there for the whole run is kept, whoever reads it now.
        let kept = member(plan, value).is_some_and(|(buffer, _)| {
            let live = plan.derivation.buffers[buffer.index()].live;
            live == LiveRange::whole_run(plan.schedule.len())
        });
        if user.reads.contains(&now) && !kept { Why::Read } else { Why::Kept }
    }

    /// For each value the views of it.
    fn views(&self) -> Vec<Vec<ValueId>> {
        let mut views = vec![Vec::new(); self.roots.len()];
        for (value, root) in self.roots.iter().enumerate() {
            if root.index() != value {
                views[root.index()].push(ValueId::new(value));
            }
        }
        views
    }
}
