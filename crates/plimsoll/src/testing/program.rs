//! A program as plain vectors.

use std::borrow::Cow;

use crate::ids::{StepId, ValueId};
use crate::program::{Access, AccessKind, Execution, Overwrite, Program, Scratch, ValueInfo, View};

/// A program to write down by hand.
#[derive(Clone, Debug)]
pub struct TestProgram {
    /// By [`ValueId`].
    pub values: Vec<ValueInfo>,
    /// By [`StepId`].
    pub steps: Vec<TestStep>,
    /// In which order steps run.
    pub execution: Execution,
}

/// What a step declares.
#[derive(Clone, Debug, Default)]
pub struct TestStep {
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
}

impl TestProgram {
    /// Without steps and values.
    #[must_use]
    pub fn new(execution: Execution) -> Self {
        TestProgram { values: Vec::new(), steps: Vec::new(), execution }
    }

    /// Adds a value.
    pub fn add(&mut self, info: ValueInfo) -> ValueId {
        self.values.push(info);
        ValueId::new(self.values.len() - 1)
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
        self.steps.push(TestStep { accesses, ..TestStep::default() });
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

impl Program for TestProgram {
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

    fn value_name(&self, value: ValueId) -> Cow<'_, str> {
        Cow::Owned(format!("v{}", value.0))
    }

    fn step_name(&self, step: StepId) -> Cow<'_, str> {
        Cow::Owned(format!("s{}", step.0))
    }
}

/// A long chain of steps: each reads what the one before has written, every tenth also what was
/// written eight steps before. Its last value is an output.
#[must_use]
pub fn chain(steps: usize, execution: Execution) -> TestProgram {
    let mut program = TestProgram::new(execution);
    let mut values: Vec<ValueId> = Vec::with_capacity(steps);
    for index in 0..steps {
        let value = program.temporary(64 + 64 * (index as u64 % 7));
        let mut reads: Vec<ValueId> = values.last().copied().into_iter().collect();
        if index % 10 == 0 && index >= 8 {
            reads.push(values[index - 8]);
        }
        program.step(&reads, &[value]);
        values.push(value);
    }
    if let Some(last) = program.values.last_mut() {
        last.output = true;
    }
    program
}
