//! A long program.

use crate::declared::DeclaredProgram;
use crate::ids::ValueId;
use crate::program::Execution;

/// A long chain of steps: each reads what the one before has written, every tenth also what was
/// written eight steps before. Its last value is an output.
#[must_use]
pub fn chain(steps: usize, execution: Execution) -> DeclaredProgram {
    let mut program = DeclaredProgram::new(execution);
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
