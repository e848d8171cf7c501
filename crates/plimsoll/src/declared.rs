//! A program as plain vectors, for those who declare values and steps one by one.
//!
//! ```
//! use plimsoll::{DeclaredProgram, Execution, Options, Role, ValueInfo, plan};
//!
//! let mut program = DeclaredProgram::new(Execution::InOrder);
//! let x = program.add(ValueInfo { role: Role::Input, ..ValueInfo::new(1024) });
//! let hidden = program.temporary(4096);
//! let y = program.output(4096);
//! program.step(&[x], &[hidden]);
//! let relu = program.step(&[hidden], &[y]);
//! program.overwrite(relu, y, hidden, false);
//! assert_eq!(plan(&program, &Options::default())?.arena_bytes(), 4096);
//! # Ok::<(), plimsoll::PlanError>(())
//! ```

use std::borrow::Cow;

use crate::ids::{StepId, ValueId};
use crate::program::{Access, AccessKind, Execution, Overwrite, Program, Scratch, ValueInfo, View};

/// A program that is declared value by value and step by step.
#[derive(Clone, Debug, Default)]
pub struct DeclaredProgram {
    /// By [`ValueId`].
    pub values: Vec<ValueInfo>,
    /// By [`StepId`].
    pub steps: Vec<DeclaredStep>,
    /// In which order steps run.
    pub execution: Execution,
    /// What values are called, by [`ValueId`]; those without a name go by their number.
    pub value_names: Vec<String>,
    /// The bank that each value has to be in, by [`ValueId`]; any where nothing is said.
    pub banks: Vec<Option<String>>,
}

/// What a step declares.
#[derive(Clone, Debug, Default)]
pub struct DeclaredStep {
    /// What it reads and writes.
    pub accesses: Vec<Access>,
    /// What its outputs take over.
    pub overwrites: Vec<Overwrite>,
    /// Its scratch memory.
    pub scratch: Option<Scratch>,
    /// Its queue.
    pub queue: u32,
    /// What it waits for.
    pub after: Vec<StepId>,
    /// Where its data come from, if no access says so.
    pub flows_from: Vec<StepId>,
    /// Whether it only moves bytes.
    pub only_moves: bool,
    /// What it is called; its number if that is empty.
    pub name: String,
}

impl DeclaredProgram {
    /// Without steps and values.
    #[must_use]
    pub fn new(execution: Execution) -> Self {
        DeclaredProgram { execution, ..DeclaredProgram::default() }
    }

    /// Adds a value.
    pub fn add(&mut self, info: ValueInfo) -> ValueId {
        self.values.push(info);
        ValueId::new(self.values.len() - 1)
    }

    /// Names a value in messages and reports.
    pub fn name_value(&mut self, value: ValueId, name: impl Into<String>) {
        if self.value_names.len() <= value.index() {
            self.value_names.resize(value.index() + 1, String::new());
        }
        self.value_names[value.index()] = name.into();
    }

    /// Adds a temporary of so many bytes.
    pub fn temporary(&mut self, bytes: u64) -> ValueId {
        self.add(ValueInfo::new(bytes))
    }

    /// Adds a temporary that is an output.
    pub fn output(&mut self, bytes: u64) -> ValueId {
        self.add(ValueInfo { output: true, ..ValueInfo::new(bytes) })
    }

    /// Adds a part of another value.
    pub fn view(&mut self, of: ValueId, offset: u64, bytes: u64) -> ValueId {
        self.add(ValueInfo { view_of: Some(View::new(of, offset)), ..ValueInfo::new(bytes) })
    }

    /// Adds a step that reads and writes values as wholes.
    pub fn step(&mut self, reads: &[ValueId], writes: &[ValueId]) -> StepId {
        let reads = reads.iter().map(|value| Access::read(*value));
        let writes = writes.iter().map(|value| Access::write(*value));
        let accesses = reads.chain(writes).collect();
        self.steps.push(DeclaredStep { accesses, ..DeclaredStep::default() });
        StepId::new(self.steps.len() - 1)
    }

    /// The access of a step to a value, to change it.
    ///
    /// # Panics
    /// If there is none.
    pub fn access(&mut self, step: StepId, value: ValueId, kind: AccessKind) -> &mut Access {
        let mut all = self.steps[step.index()].accesses.iter_mut();
        all.find(|a| a.value == value && a.kind == kind).expect("the step has that access")
    }

    /// Declares an overwrite.
    pub fn overwrite(&mut self, step: StepId, output: ValueId, input: ValueId, must: bool) {
        self.steps[step.index()].overwrites.push(Overwrite { output, input, must });
    }
}

impl Program for DeclaredProgram {
    fn steps(&self) -> usize {
        self.steps.len()
    }

    fn values(&self) -> usize {
        self.values.len()
    }

    fn value(&self, value: ValueId) -> ValueInfo {
        self.values[value.index()]
    }

    fn accesses(&self, step: StepId) -> Cow<'_, [Access]> {
        Cow::Borrowed(&self.steps[step.index()].accesses)
    }

    fn overwrites(&self, step: StepId) -> Cow<'_, [Overwrite]> {
        Cow::Borrowed(&self.steps[step.index()].overwrites)
    }

    fn scratch(&self, step: StepId) -> Option<Scratch> {
        self.steps[step.index()].scratch
    }

    fn execution(&self) -> Execution {
        self.execution
    }

    fn queue(&self, step: StepId) -> u32 {
        self.steps[step.index()].queue
    }

    fn after(&self, step: StepId) -> Cow<'_, [StepId]> {
        Cow::Borrowed(&self.steps[step.index()].after)
    }

    fn flows_from(&self, step: StepId) -> Cow<'_, [StepId]> {
        Cow::Borrowed(&self.steps[step.index()].flows_from)
    }

    fn only_moves(&self, step: StepId) -> bool {
        self.steps[step.index()].only_moves
    }

    fn bank(&self, value: ValueId) -> Option<Cow<'_, str>> {
        self.banks.get(value.index())?.as_deref().map(Cow::Borrowed)
    }

    fn value_name(&self, value: ValueId) -> Cow<'_, str> {
        match self.value_names.get(value.index()) {
            Some(name) if !name.is_empty() => Cow::Borrowed(name),
            _ => Cow::Owned(format!("v{}", value.0)),
        }
    }

    fn step_name(&self, step: StepId) -> Cow<'_, str> {
        match &self.steps[step.index()].name {
            name if name.is_empty() => Cow::Owned(format!("s{}", step.0)),
            name => Cow::Borrowed(name),
        }
    }
}
