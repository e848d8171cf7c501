//! Which steps are certainly over before which others begin, where steps do not run in order.
//!
//! The direct edges are what the program declares: under a partial order the flow of data and
//! `after`, on queues the order of each queue and `after`. All edges go forward in the schedule,
//! so one pass from the back gives for every step the set of all steps after it, as bits.
//!
//! Cost: n²/8 bytes, and O(edges × n/64) time: 20 000 steps take 50 MB and a fraction of a second.

use plimsoll_pack::dense::BitMatrix;

use crate::ids::StepId;
use crate::program::{AccessKind, Execution};
use crate::validate::{
    Fault, ProgramError, StepAccess, Touch, ValidatedProgram, comes_from_outside, written,
};

/// The most steps that are accepted: the sets take half a gigabyte then.
pub(crate) const MAX_STEPS: usize = 1 << 16;

/// The transitive closure of "is over before".
pub(crate) struct HappensBefore {
    /// Row `p`, column `q`: the step at position `p` is over before the one at position `q` begins.
    after: BitMatrix,
    /// By step.
    position: Vec<usize>,
}

impl HappensBefore {
    /// Closes over the declared order, and rejects reads that nothing orders after their write.
    pub(crate) fn new(validated: &ValidatedProgram<'_>) -> Result<Self, ProgramError> {
        let steps = validated.steps();
        if steps > MAX_STEPS {
            return Err(Fault::TooManySteps(steps).named(validated.program));
        }
        let flows = flows(validated);
        let mut edges = waits(validated);
        let at = |step: StepId| validated.position[step.index()];
        if validated.program.execution() == Execution::Partial {
            for (write, read) in flows.iter().filter(|(write, read)| at(write.step) < at(read.step))
            {
                edges[at(write.step)].push(at(read.step));
            }
        }
        let (after, position) = (BitMatrix::new(steps, steps), validated.position.clone());
        let mut order = HappensBefore { after, position };
        for position in (0..steps).rev() {
            for next in std::mem::take(&mut edges[position]) {
                order.add_edge(position, next);
            }
        }
        for (write, read) in flows {
            // What is there before the run may be read before it is written anew.
            let root = validated.roots[read.value.index()].root;
            let ordered = if at(write.step) < at(read.step) {
                order.ordered(&write.access(), &read.access())
            } else {
                comes_from_outside(&validated.values[root.index()])
                    && order.ordered(&read.access(), &write.access())
            };
            if !ordered && write.step != read.step {
                let (reader, writer, value) = (read.step, write.step, read.value);
                return Err(Fault::Race { reader, writer, value }.named(validated.program));
            }
        }
        order.check_writes(validated)?;
        Ok(order)
    }

    /// Of two steps that write the same bytes, one is over before the other begins.
    fn check_writes(&self, validated: &ValidatedProgram<'_>) -> Result<(), ProgramError> {
        for writes in by_root(validated, AccessKind::Write) {
            for (index, second) in writes.iter().enumerate() {
                let races = |first: &&Touch| {
                    first.step != second.step
                        && first.span.meets(second.span)
                        && !self.ordered(&first.access(), &second.access())
                        && !self.ordered(&second.access(), &first.access())
                };
                if let Some(first) = writes[..index].iter().find(races) {
                    let (value, steps) = (second.value, [first.step, second.step]);
                    return Err(Fault::WriteRace { steps, value }.named(validated.program));
                }
            }
        }
        Ok(())
    }

    /// Whether `a` is certainly over before `b` begins.
    pub(crate) fn before(&self, a: StepId, b: StepId) -> bool {
        self.after.contains(self.position[a.index()], self.position[b.index()])
    }

    /// Whether one access is certainly over before another may begin.
    pub(crate) fn ordered(&self, a: &StepAccess, b: &StepAccess) -> bool {
        let over_before = |begin: StepId| {
            self.before(a.step, begin) && a.last.is_some_and(|last| self.before(last, begin))
        };
        over_before(b.step) && over_before(b.first)
    }

    /// The bits of the steps (by position) that begin only once `step` is over.
    pub(crate) fn all_after(&self, step: StepId) -> &[u64] {
        self.after.row(self.position[step.index()])
    }

    /// Rows behind `from` are complete.
    fn add_edge(&mut self, from: usize, to: usize) {
        if to > from && !self.after.contains(from, to) {
            self.after.add_row(from, to);
            self.after.insert(from, to);
        }
    }
}

/// Edges between positions that are declared, or follow from queues.
fn waits(validated: &ValidatedProgram<'_>) -> Vec<Vec<usize>> {
    let mut edges = vec![Vec::new(); validated.steps()];
    let queues = validated.program.execution() == Execution::Queues;
    let mut last_on = std::collections::BTreeMap::new();
    for (position, step) in validated.schedule.iter().enumerate() {
        for needs in validated.program.after(*step).iter() {
            edges[validated.position[needs.index()]].push(position);
        }
        if queues && let Some(before) = last_on.insert(validated.program.queue(*step), position) {
            edges[before].push(position);
        }
    }
    edges
}

/// Every read with every write of the same bytes.
fn flows(validated: &ValidatedProgram<'_>) -> Vec<(Touch, Touch)> {
    let (writes, reads) =
        (by_root(validated, AccessKind::Write), by_root(validated, AccessKind::Read));
    let pairs = |(reads, writes): (Vec<Touch>, &Vec<Touch>)| {
        let of = |read: Touch| {
            let met = writes.iter().filter(move |write| write.span.meets(read.span));
            met.map(move |write| (*write, read))
        };
        reads.into_iter().flat_map(of).collect::<Vec<_>>()
    };
    reads.into_iter().zip(&writes).flat_map(pairs).collect()
}

/// All reads, or all writes, of each root.
fn by_root(validated: &ValidatedProgram<'_>, kind: AccessKind) -> Vec<Vec<Touch>> {
    let mut by_root: Vec<Vec<Touch>> = vec![Vec::new(); validated.values.len()];
    for touch in written::all_touches(validated).into_iter().filter(|touch| touch.kind == kind) {
        by_root[validated.roots[touch.value.index()].root.index()].push(touch);
    }
    by_root
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared::DeclaredProgram;
    use crate::program::Until;
    use crate::validate::validate;

    #[test]
    fn an_access_that_may_begin_early_is_ordered_from_its_beginning() {
        // s0 on one queue makes a. On the other s1 does nothing, and s2 waits for s0 and reads a.
        let mut program = DeclaredProgram::new(Execution::Queues);
        let (a, b) = (program.temporary(4), program.output(4));
        let [writer, early, reader] =
            [program.step(&[], &[a]), program.step(&[], &[]), program.step(&[a], &[b])];
        program.steps[early.index()].queue = 1;
        program.steps[reader.index()].queue = 1;
        program.steps[reader.index()].after.push(writer);
        let fault = |program: &DeclaredProgram| {
            validate(program, None, &mut crate::validate::ValidationMemory::default())
                .err()
                .map(|error| error.fault)
        };
        assert_eq!(fault(&program), None);
        // If it may read as soon as s1 runs, which waits for nobody, s0 need not be over.
        program.access(reader, a, AccessKind::Read).from = Some(early);
        assert_eq!(fault(&program), Some(Fault::Race { reader, writer, value: a }));
        program.steps[early.index()].after.push(writer);
        assert_eq!(fault(&program), None);
    }

    #[test]
    fn an_access_that_goes_on_is_ordered_from_its_end() {
        // s0 and s1 on one queue, s0 makes a. On the other s2 waits for s0 and reads a.
        let mut program = DeclaredProgram::new(Execution::Queues);
        let (a, b) = (program.temporary(4), program.output(4));
        let [writer, late, reader] =
            [program.step(&[], &[a]), program.step(&[], &[]), program.step(&[a], &[b])];
        program.steps[reader.index()].queue = 1;
        program.steps[reader.index()].after.push(writer);
        let fault = |program: &DeclaredProgram| {
            validate(program, None, &mut crate::validate::ValidationMemory::default())
                .err()
                .map(|error| error.fault)
        };
        assert_eq!(fault(&program), None);
        // If the write goes on until s1 is over, or the run, s2 does not wait for its end.
        for until in [Until::After(late), Until::EndOfRun] {
            program.access(writer, a, AccessKind::Write).until = until;
            assert_eq!(fault(&program), Some(Fault::Race { reader, writer, value: a }));
        }
        program.access(writer, a, AccessKind::Write).until = Until::After(late);
        program.steps[reader.index()].after.push(late);
        assert_eq!(fault(&program), None);
    }
}
