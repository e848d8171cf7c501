//! The peak of an order by its definition, and the best order by trying all: what the search is
//! held against. Nothing of it comes from the search.

use std::collections::HashMap;

use crate::ids::{StepId, ValueId};
use crate::options::Options;
use crate::program::{Access, Program, Role, Storage, Until};
use crate::scheduled::ScheduledGraph;

/// What is known of a program, for plain options: steps by their index.
pub(super) struct Model {
    pub(super) steps: usize,
    before: Vec<u32>,
    /// Whether a step has to come right behind the one of the index before it.
    follows: Vec<bool>,
    scratch: Vec<u64>,
    roots: Vec<Root>,
    /// For each step: outputs that may take over inputs, by root.
    takeovers: Vec<Vec<(usize, usize)>>,
}

/// A value that is no view, with all its views.
struct Root {
    bytes: u64,
    /// The steps at which it is touched, as bits.
    steps: u32,
    given: bool,
    kept: bool,
}

fn aligned(bytes: u64, options: &Options) -> u64 {
    bytes.div_ceil(options.align) * options.align
}

fn ending(access: &Access) -> Option<StepId> {
    match access.until {
        Until::After(later) => Some(later),
        _ => None,
    }
}

impl Model {
    pub(super) fn of(program: &ScheduledGraph<'_>, options: &Options) -> Self {
        let root_of = |mut value: ValueId| {
            while let Some(view) = program.value(value).view_of {
                value = view.of;
            }
            value
        };
        let steps = program.steps();
        let mut model = Model {
            steps,
            before: vec![0; steps],
            follows: vec![false; steps],
            scratch: Vec::new(),
            roots: Vec::new(),
            takeovers: Vec::new(),
        };
        let placed = |value: ValueId| {
            let info = program.value(root_of(value));
            let ours = info.storage == Storage::Arena && info.role == Role::Temporary;
            !info.elided && (ours || info.storage == Storage::Persistent)
        };
        for value in (0..program.values()).map(ValueId::new) {
            let info = program.value(value);
            let own = placed(value) && info.view_of.is_none();
            let forever = info.storage == Storage::Persistent;
            model.roots.push(Root {
                bytes: if own { aligned(info.bytes + info.guard, options) } else { 0 },
                steps: 0,
                given: own && forever,
                kept: own && forever,
            });
        }
        for value in (0..program.values()).map(ValueId::new) {
            model.roots[root_of(value).index()].kept |= program.value(value).output;
        }
        for (index, waits) in program.waits().iter().enumerate() {
            model.before[index] = waits.iter().fold(0, |set, step| set | 1 << step.index());
        }
        for step in (0..steps).map(StepId::new) {
            for access in program.accesses(step).iter() {
                let root = &mut model.roots[root_of(access.value).index()];
                root.steps |= 1 << step.index();
                root.steps |= access.from.map_or(0, |from| 1 << from.index());
                match access.until {
                    Until::After(later) => root.steps |= 1 << later.index(),
                    Until::EndOfRun => root.kept = true,
                    Until::Step | Until::Writes => {}
                }
            }
            let scratch = program.scratch(step).map_or(0, |scratch| scratch.bytes);
            model.scratch.push(aligned(scratch, options));
            let pairs = program.overwrites(step).to_vec();
            let free = |value: ValueId| program.value(value).guard == 0;
            let pairs = pairs.iter().filter(|o| free(o.output) && placed(o.output));
            let pairs = pairs.filter(|o| placed(o.input));
            // Whoever else is at the bytes, other reads of the step included, is in the way.
            let mut others = Vec::new();
            for other in (0..steps).map(StepId::new) {
                for access in program.accesses(other).iter() {
                    let ends = [access.from, ending(access)];
                    if other == step || ends.contains(&Some(step)) {
                        others.push((root_of(access.value), access.value));
                    }
                }
            }
            let alone = |value: ValueId| {
                others.iter().all(|(root, other)| *root != root_of(value) || *other == value)
            };
            let pairs = pairs.filter(|o| alone(o.input));
            model.takeovers.push(
                pairs.map(|o| (root_of(o.output).index(), root_of(o.input).index())).collect(),
            );
        }
        model
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
        let alive = |root: &&Root| {
            let begun = root.given || root.steps & done != 0;
            let needed = root.kept || root.steps & !done != 0;
            begun && needed && (root.given || root.steps != 0)
        };
        self.roots.iter().filter(alive).map(|root| root.bytes).sum()
    }

    /// What is alive while a step runs after these.
    fn during(&self, done: u32, step: usize) -> u64 {
        let (bit, after) = (1 << step, done | 1 << step);
        let alive = |root: &&Root| {
            let begun = root.given || root.steps & after != 0;
            let needed = root.kept || root.steps & !done != 0;
            begun && needed
        };
        let all: u64 = self.roots.iter().filter(alive).map(|root| root.bytes).sum();
        // One output at most in these graphs, so one takeover at most.
        let taken = |(output, input): &(usize, usize)| {
            let (output, input) = (&self.roots[*output], &self.roots[*input]);
            let born = output.steps & after == bit && !output.given;
            let dies = input.steps & !done == bit && !input.kept;
            (born && dies && output.bytes <= input.bytes).then_some(output.bytes)
        };
        let taken = self.takeovers[step].iter().filter_map(taken).max().unwrap_or(0);
        all + self.scratch[step] - taken
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
        peak
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
