//! The peak of an order by its definition, and the best order by trying all: what the search is
//! held against. Nothing of it comes from the search, or from live ranges.

use std::collections::HashMap;

use plimsoll::{Access, AccessKind, Options, Program, Role, StepId, Storage, Until, ValueId};
use plimsoll_graph::ScheduledGraph;

use super::graphs::UNIT;

/// The steps that each step waits for: those that data come from, and those with which its accesses
/// begin; whoever an access of another step lasts until waits for that step.
fn waits(program: &ScheduledGraph<'_>) -> Vec<Vec<StepId>> {
    let steps = (0..program.steps()).map(StepId::new);
    let mut waits: Vec<Vec<StepId>> =
        steps.clone().map(|step| program.flows_from(step).into_owned()).collect();
    for step in steps {
        for access in program.accesses(step).iter() {
            waits[step.index()].extend(access.from.filter(|from| *from != step));
            if let Until::After(later) = access.until
                && later != step
            {
                waits[later.index()].push(step);
            }
        }
    }
    waits
}

/// Whether a value has bytes of its own that are placed.
fn is_placed(program: &ScheduledGraph<'_>, value: ValueId) -> bool {
    let info = program.value(value);
    let ours = info.storage == Storage::Arena && info.role == Role::Temporary;
    info.view_of.is_none() && !info.elided && (ours || info.storage == Storage::Persistent)
}

/// The steps in which an access is there, with whether it is while the step reads and while it writes.
fn moments(step: StepId, access: &Access) -> Vec<(StepId, bool, bool)> {
    let early = access.from.filter(|from| *from != step);
    let reads = access.kind == AccessKind::Read || early.is_some();
    let mut moments = vec![(step, reads, access.until != Until::Writes)];
    moments.extend(early.map(|from| (from, true, true)));
    if let Until::After(later) = access.until
        && later != step
    {
        moments.push((later, true, true));
    }
    moments
}

/// What is known of a program, for plain options: steps by their index, memory by cells of
/// [`UNIT`] bytes, which everything is a multiple of.
pub(super) struct Model {
    pub(super) steps: usize,
    before: Vec<u32>,
    /// Whether a step has to come right behind the one of the index before it.
    follows: Vec<bool>,
    scratch: Vec<u64>,
    cells: Vec<Cell>,
    /// For each step: outputs that may take over inputs, as pairs of cells.
    takeovers: Vec<Vec<Vec<(usize, usize)>>>,
}

/// A cell of a value that is no view.
#[derive(Clone, Default)]
struct Cell {
    /// The steps at which it is touched, as bits.
    steps: u32,
    /// Those of them that touch it while they read, and while they write.
    reading: u32,
    writing: u32,
    given: bool,
    kept: bool,
}

/// The cells of a root that an access is to.
struct Reach {
    root: ValueId,
    cells: std::ops::Range<usize>,
}

impl Model {
    pub(super) fn of(program: &ScheduledGraph<'_>, options: &Options) -> Self {
        assert_eq!(options.align, UNIT);
        let steps = program.steps();
        let values = || (0..program.values()).map(ValueId::new);
        let mut first_cell = vec![0; program.values()];
        let mut cells: Vec<Cell> = Vec::new();
        for value in values().filter(|value| is_placed(program, *value)) {
            let info = program.value(value);
            first_cell[value.index()] = cells.len();
            let forever = info.storage == Storage::Persistent;
            let cell = Cell { given: forever, kept: forever, ..Cell::default() };
            cells.resize(cells.len() + ((info.bytes + info.guard) / UNIT) as usize, cell);
        }
        // The cells of an access; a write goes on to the end of the guard.
        let reach = |value: ValueId, guarded: bool| {
            let info = program.value(value);
            let (mut root, mut at) = (value, 0);
            while let Some(view) = program.value(root).view_of {
                (root, at) = (view.of, at + view.offset);
            }
            let end = at + info.bytes + if guarded { info.guard } else { 0 };
            is_placed(program, root).then(|| {
                let first = first_cell[root.index()];
                Reach { root, cells: first + (at / UNIT) as usize..first + (end / UNIT) as usize }
            })
        };
        for output in values().filter(|value| program.value(*value).output) {
            for cell in reach(output, true).into_iter().flat_map(|reach| reach.cells) {
                cells[cell].kept = true;
            }
        }
        for step in (0..steps).map(StepId::new) {
            for access in program.accesses(step).iter() {
                let write = access.kind == AccessKind::Write;
                let Some(reach) = reach(access.value, write) else { continue };
                for cell in reach.cells {
                    for (at, reading, writing) in moments(step, access) {
                        cells[cell].steps |= 1 << at.index();
                        cells[cell].reading |= u32::from(reading) << at.index();
                        cells[cell].writing |= u32::from(writing) << at.index();
                    }
                    cells[cell].kept |= access.until == Until::EndOfRun;
                }
            }
        }
        let mut takeovers = vec![Vec::new(); steps];
        for step in (0..steps).map(StepId::new) {
            for overwrite in program.overwrites(step).iter() {
                let (Some(new), Some(old)) =
                    (reach(overwrite.output, false), reach(overwrite.input, false))
                else {
                    continue;
                };
                // Whoever else is at the bytes while the step writes is in the way.
                let others = (0..steps).map(StepId::new).flat_map(|other| {
                    let accesses = program.accesses(other).to_vec();
                    accesses.into_iter().map(move |access| (other, access))
                });
                let target = old.cells.start..old.cells.start + new.cells.len();
                let is_alone = others.clone().all(|(other, access)| {
                    let own = other == step && access.value == overwrite.input;
                    let own = own && access.kind == AccessKind::Read;
                    let meets = reach(access.value, false).is_some_and(|reach| {
                        reach.cells.start < target.end && target.start < reach.cells.end
                    });
                    let there = moments(other, &access).iter().any(|(at, _, w)| *at == step && *w);
                    own && access.until == Until::Step || !meets || !there
                });
                let is_born = others.clone().all(|(other, access)| {
                    let same = reach(access.value, false).is_some_and(|r| r.root == new.root);
                    !same || moments(other, &access).iter().all(|(at, r, _)| *at != step || !*r)
                });
                if is_alone && is_born {
                    takeovers[step.index()].push(new.cells.zip(target).collect());
                }
            }
        }
        let bits = |waits: &Vec<StepId>| waits.iter().fold(0, |set, step| set | 1 << step.index());
        let scratch = |step: usize| program.scratch(StepId::new(step)).map_or(0, |s| s.bytes);
        Model {
            steps,
            before: waits(program).iter().map(bits).collect(),
            follows: vec![false; steps],
            scratch: (0..steps).map(scratch).collect(),
            cells,
            takeovers,
        }
    }

    /// The same, where steps of the same block run in a row.
    pub(super) fn with_rows(mut self, blocks: &[Option<u32>]) -> Self {
        for step in 1..self.steps {
            if blocks[step].is_some() && blocks[step] == blocks[step - 1] {
                self.follows[step] = true;
            }
        }
        self
    }

    /// What is alive when exactly these steps have run.
    fn alive(&self, done: u32) -> u64 {
        let alive = |cell: &&Cell| {
            let begun = cell.given || cell.steps & done != 0;
            begun && (cell.kept || cell.steps & !done != 0)
        };
        self.cells.iter().filter(alive).count() as u64 * UNIT
    }

    /// What is alive while a step runs after these.
    fn during(&self, done: u32, step: usize) -> u64 {
        let (bit, after) = (1 << step, done | 1 << step);
        let reading = |cell: &&Cell| {
            let begun = cell.given || cell.steps & done != 0 || cell.reading & bit != 0;
            begun && (cell.kept || cell.steps & !done != 0)
        };
        let is_written = |cell: &&Cell| {
            let begun = cell.given || cell.steps & after != 0;
            begun && (cell.kept || cell.steps & !after != 0 || cell.writing & bit != 0)
        };
        let all = self.cells.iter();
        let reads = all.clone().filter(reading).count() as u64 * UNIT;
        let writes = all.filter(is_written).count() as u64 * UNIT;
        // One output at most in these graphs, so one takeover at most.
        let taken = |pairs: &Vec<(usize, usize)>| {
            let touched = |cell: &Cell| cell.steps & bit != 0;
            let pairs = pairs.iter().map(|(new, old)| (&self.cells[*new], &self.cells[*old]));
            let pairs: Vec<_> = pairs.filter(|(new, old)| touched(new) && touched(old)).collect();
            let possible = pairs.iter().all(|(new, old)| {
                let born = new.steps & after == bit && !new.given;
                born && old.steps & !done == bit && !old.kept
            });
            if possible { pairs.len() as u64 * UNIT } else { 0 }
        };
        let taken = self.takeovers[step].iter().map(taken).max().unwrap_or(0);
        reads.max(writes - taken) + self.scratch[step]
    }

    /// The most bytes alive in an order.
    pub(super) fn peak(&self, order: &[usize]) -> u64 {
        let (mut done, mut peak) = (0u32, self.alive(0));
        for step in order {
            assert_eq!(self.before[*step] & !done, 0, "step {step} is too early in {order:?}");
            peak = peak.max(self.during(done, *step));
            done |= 1 << step;
        }
        assert_eq!(done.count_ones() as usize, self.steps);
        peak.max(self.alive(done))
    }

    /// The steps that can run next. Within a row only the next of it can.
    fn ready(&self, done: u32) -> impl Iterator<Item = usize> + '_ {
        let has = move |step: usize| done >> step & 1 == 1;
        let open = (1..self.steps).find(|s| self.follows[*s] && has(s - 1) && !has(*s));
        self.free(done).filter(move |step| match open {
            Some(next) => *step == next,
            None => !self.follows[*step],
        })
    }

    fn free(&self, done: u32) -> impl Iterator<Item = usize> + '_ {
        (0..self.steps).filter(move |step| done >> step & 1 == 0 && self.before[*step] & !done == 0)
    }

    /// The lowest peak of all orders, one after another.
    pub(super) fn best_of_all_orders(&self) -> u64 {
        let mut best = u64::MAX;
        self.try_all(&mut Vec::new(), &mut best);
        best
    }

    fn try_all(&self, order: &mut Vec<usize>, best: &mut u64) {
        if order.len() == self.steps {
            *best = (*best).min(self.peak(order));
        }
        let done = order.iter().fold(0, |set, step| set | 1 << step);
        for step in self.ready(done) {
            order.push(step);
            self.try_all(order, best);
            order.pop();
        }
    }

    /// The lowest peak, set by set: what is reached with one step fewer is known already.
    pub(super) fn best(&self) -> u64 {
        let mut level: HashMap<u32, u64> = HashMap::from([(0, self.alive(0))]);
        for _ in 0..self.steps {
            let mut next: HashMap<u32, u64> = HashMap::new();
            for (done, peak) in level {
                for step in self.ready(done) {
                    let peak = peak.max(self.during(done, step));
                    let best = next.entry(done | 1 << step).or_insert(u64::MAX);
                    *best = (*best).min(peak);
                }
            }
            level = next;
        }
        level.into_values().min().expect("every set of steps can be completed")
    }
}
