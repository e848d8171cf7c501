//! The program with its copies: every stay of a root in the fast memory is a value of its own, and so is its wait in
//! the slow one.
//!
//! The first stay has the ids of the program's own values. A copy out stands right before the last use of the first
//! stay, so that its bytes can be taken over then, or right behind the step that makes it. A copy back stands right
//! before the use that it is for.

use std::collections::BTreeMap;

use crate::declared::{DeclaredProgram, DeclaredStep};
use crate::ids::{StepId, ValueId};
use crate::program::{Access, Execution, Role, ValueInfo, View};
use crate::spill::uses::Used;
use crate::spill::{Leave, Moved, SpillBanks};
use crate::validate::ValidatedProgram;

/// Where a root is while the program is written down.
#[derive(Clone, Copy, Debug, Default)]
struct At {
    /// How many stays have begun, without that of the program's own values.
    stay: usize,
    /// The root of the stay in the fast memory.
    fast: Option<ValueId>,
    /// The value in the slow memory, once there is one.
    slow: Option<ValueId>,
}

pub(super) struct Writing<'a, 'p> {
    validated: &'a ValidatedProgram<'p>,
    used: &'a [Used],
    banks: &'a SpillBanks,
    /// By value of the program, the one of `used` that it is a part of.
    index: Vec<Option<usize>>,
    at: Vec<At>,
    program: DeclaredProgram,
    /// A value of the program within a stay, by the root of the stay.
    parts: BTreeMap<(ValueId, ValueId), ValueId>,
    moved: Moved,
}

impl<'a, 'p> Writing<'a, 'p> {
    pub(super) fn new(
        validated: &'a ValidatedProgram<'p>,
        used: &'a [Used],
        banks: &'a SpillBanks,
    ) -> Self {
        let mut program = DeclaredProgram::new(Execution::InOrder);
        program.values.clone_from(&validated.values);
        let names = validated.value_ids().map(|id| validated.program.value_name(id).into_owned());
        program.value_names = names.collect();
        program.banks = vec![Some(banks.fast.clone()); program.values.len()];
        let mut by_root = vec![None; validated.values.len()];
        let mut at = vec![At::default(); used.len()];
        for (index, one) in used.iter().enumerate() {
            by_root[one.root.index()] = Some(index);
            if one.is_given {
                program.banks[one.root.index()] = Some(banks.slow.clone());
                at[index].slow = Some(one.root);
            } else {
                at[index].fast = Some(one.root);
            }
        }
        let index = validated.roots.iter().map(|rooted| by_root[rooted.root.index()]).collect();
        let moved = Moved::default();
        Writing { validated, used, banks, index, at, program, parts: BTreeMap::new(), moved }
    }

    /// The program in which roots leave, and some steps work in the slow memory.
    pub(super) fn write(
        mut self,
        leaves: &[Leave],
        streamed: &[StepId],
    ) -> (DeclaredProgram, Moved) {
        let mut by_step: Vec<Vec<usize>> = vec![Vec::new(); self.validated.steps()];
        let mut starts: Vec<Vec<usize>> = by_step.clone();
        for (index, one) in self.used.iter().enumerate() {
            one.at.iter().for_each(|at| starts[*at].push(index));
        }
        for leave in leaves {
            if let Some(index) = self.index[leave.value.index()] {
                by_step[self.validated.position[leave.after.index()]].push(index);
            }
        }
        for (position, step) in self.validated.schedule.clone().into_iter().enumerate() {
            for index in starts[position].clone() {
                if self.at[index].fast.is_none() {
                    self.copy_back(index);
                }
            }
            let (behind, before): (Vec<usize>, Vec<usize>) =
                by_step[position].iter().partition(|index| self.settles(**index, position));
            for index in before {
                self.copy_out(index);
            }
            if streamed.contains(&step) {
                self.stream(step);
            } else {
                self.step(step);
            }
            for index in behind {
                self.copy_out(index);
            }
            for index in &by_step[position] {
                self.at[*index].fast = None;
            }
        }
        self.hand_outputs_on();
        (self.program, self.moved)
    }

    /// Whether a root is written at a position, for the last time.
    fn settles(&self, index: usize, position: usize) -> bool {
        let one = &self.used[index];
        !one.is_given && one.at.get(one.settled) == Some(&position)
    }

    fn copy_out(&mut self, index: usize) {
        let (at, one) = (self.at[index], &self.used[index]);
        let (Some(fast), None) = (at.fast, at.slow) else { return };
        let name = self.program.value_names[one.root.index()].clone();
        let slow = self.value(one.root, format!("{name}.{}", self.banks.slow), &self.banks.slow);
        self.copy(fast, slow, format!("{name}.out"));
        self.at[index].slow = Some(slow);
        self.moved.out_bytes += one.bytes;
        self.moved.out += 1;
    }

    fn copy_back(&mut self, index: usize) {
        let (at, one) = (self.at[index], &self.used[index]);
        let Some(slow) = at.slow else { return };
        let stay = at.stay + 1;
        let name = self.program.value_names[one.root.index()].clone();
        let fast =
            self.value(one.root, format!("{name}.{}.{stay}", self.banks.fast), &self.banks.fast);
        self.copy(slow, fast, format!("{name}.back.{stay}"));
        self.at[index] = At { stay, fast: Some(fast), slow: Some(slow) };
        self.moved.back_bytes += one.bytes;
        self.moved.back += 1;
    }

    /// A value like a root, in a bank.
    fn value(&mut self, root: ValueId, name: String, bank: &str) -> ValueId {
        let of = self.validated.values[root.index()];
        let info = ValueInfo { role: Role::Temporary, output: false, donated: false, ..of };
        self.add(info, name, bank)
    }

    fn add(&mut self, info: ValueInfo, name: String, bank: &str) -> ValueId {
        let id = self.program.add(info);
        self.program.name_value(id, name);
        self.program.banks.push(Some(bank.to_owned()));
        id
    }

    fn copy(&mut self, from: ValueId, to: ValueId, name: String) {
        let step = self.program.step(&[from], &[to]);
        self.program.steps[step.index()].name = name;
    }

    /// A step of the program, with values where they are now.
    fn step(&mut self, step: StepId) {
        let program = self.validated.program;
        let mut accesses: Vec<Access> = program.accesses(step).into_owned();
        for access in &mut accesses {
            access.value = self.now(access.value);
        }
        let mut overwrites = program.overwrites(step).into_owned();
        for overwrite in &mut overwrites {
            (overwrite.output, overwrite.input) =
                (self.now(overwrite.output), self.now(overwrite.input));
        }
        self.program.steps.push(DeclaredStep {
            accesses,
            overwrites,
            scratch: program.scratch(step),
            name: program.step_name(step).into_owned(),
            ..DeclaredStep::default()
        });
    }

    /// A step that works in the slow memory, on what waits there.
    fn stream(&mut self, step: StepId) {
        let program = self.validated.program;
        let mut accesses: Vec<Access> = program.accesses(step).into_owned();
        for access in &mut accesses {
            let Some(index) = self.index[access.value.index()] else { continue };
            let bytes = self.validated.values[access.value.index()].bytes;
            self.moved.streamed_bytes += access.bytes.map_or(bytes, |span| span.hi - span.lo);
            if let Some(root) = self.at[index].slow {
                access.value = self.part(access.value, root);
            }
        }
        let name = program.step_name(step).into_owned();
        let step = DeclaredStep { accesses, only_moves: true, name, ..DeclaredStep::default() };
        self.program.steps.push(step);
    }

    /// A value of the program as it is there now.
    fn now(&mut self, value: ValueId) -> ValueId {
        let stay = self.index[value.index()].and_then(|index| self.at[index].fast);
        stay.map_or(value, |root| self.part(value, root))
    }

    /// A value of the program as a part of a copy of its root.
    fn part(&mut self, value: ValueId, root: ValueId) -> ValueId {
        let own = self.validated.roots[value.index()].root;
        if own == root {
            return value;
        }
        if own == value {
            return root;
        }
        if let Some(part) = self.parts.get(&(value, root)) {
            return *part;
        }
        let info = self.validated.values[value.index()];
        let of = info.view_of.map_or(own, |view| view.of);
        let of = self.part(of, root);
        let view_of = info.view_of.map(|view| View { of, ..view });
        let copy = self.program.value_names[root.index()].clone();
        let name = format!("{}.{copy}", self.program.value_names[value.index()]);
        let bank = self.program.banks[root.index()].clone().unwrap_or_default();
        let info =
            ValueInfo { role: Role::Temporary, view_of, output: false, donated: false, ..info };
        let part = self.add(info, name, &bank);
        self.parts.insert((value, root), part);
        part
    }

    /// Outputs are what is there at the end.
    fn hand_outputs_on(&mut self) {
        for value in self.validated.value_ids() {
            let Some(index) = self.index[value.index()] else { continue };
            let At { fast, slow, .. } = self.at[index];
            if let (true, Some(root)) = (self.validated.values[value.index()].output, fast.or(slow))
            {
                self.program.values[value.index()].output = false;
                let last = self.part(value, root);
                self.program.values[last.index()].output = true;
            }
        }
    }
}
