//! When values are used, and what a step has to have in the fast memory.
//!
//! Bytes are moved by roots: a root with all views of it. A step has to have there whatever it touches, with its
//! scratch memory. An output that can take over an operand which is not needed any more counts once.
//!
//! A step that only moves bytes can be *streamed*: it reads what waits in the slow memory, and writes there. What it
//! reads has left by then, and what it makes is like something given from that step on.

use crate::assignment::Assignment;
use crate::ids::{StepId, ValueId};
use crate::liveness::reserved;
use crate::options::Options;
use crate::program::{AccessKind, Role, Storage};
use crate::spill::choose::{Choices, Gap};
use crate::validate::ValidatedProgram;

/// A root that has a place.
#[derive(Clone, Debug)]
pub(super) struct Used {
    pub(super) root: ValueId,
    /// The bytes that are moved.
    pub(super) bytes: u64,
    /// The bytes that it takes, up to where the next value can begin.
    size: u64,
    /// The positions of the steps that touch it.
    pub(super) at: Vec<usize>,
    /// The first of these behind which it does not change, and can leave; beyond the last if it cannot.
    pub(super) settled: usize,
    /// Whether it comes from outside, and waits in the slow memory from the start, or from a streamed step.
    pub(super) is_given: bool,
    /// The positions of the streamed steps that read it in the slow memory.
    pub(super) streamed: Vec<usize>,
    /// Whether it has to be there at the end.
    is_output: bool,
}

/// All roots that have a place and are touched, where some steps are streamed.
pub(super) fn used(
    validated: &ValidatedProgram<'_>,
    assignments: &[Assignment],
    options: &Options,
    streamed: &[StepId],
) -> Vec<Used> {
    let mut by_root: Vec<Option<Used>> = vec![None; validated.values.len()];
    for (root, info) in validated.values.iter().enumerate() {
        let id = ValueId::new(root);
        let is_placed = matches!(assignments[root], Assignment::Packed | Assignment::Kept);
        if validated.is_root(id) && is_placed {
            let align = info.align.unwrap_or(options.align).max(1);
            by_root[root] = Some(Used {
                root: id,
                bytes: info.bytes,
                size: reserved(validated, id, options).next_multiple_of(align),
                at: Vec::new(),
                settled: 0,
                is_given: info.role != Role::Temporary,
                streamed: Vec::new(),
                is_output: info.output,
            });
        }
    }
    let mut made_slow: Vec<ValueId> = Vec::new();
    for touch in &validated.accesses {
        let at = validated.position[touch.step.index()];
        let Some(used) = of(validated, &mut by_root, touch.value) else { continue };
        if streamed.contains(&touch.step) {
            match touch.kind {
                AccessKind::Read => used.streamed.push(at),
                AccessKind::Write => made_slow.push(used.root),
            }
            continue;
        }
        if used.at.last() != Some(&at) {
            used.at.push(at);
        }
        let ends_early = touch.ends_with_step && touch.first == touch.step;
        if touch.kind == AccessKind::Write || !ends_early {
            let is_last = ends_early && used.settled != usize::MAX && !used.is_given;
            used.settled = if is_last { used.at.len() - 1 } else { usize::MAX };
        }
    }
    for value in validated.value_ids() {
        let (is_output, held) =
            (validated.values[value.index()].output, is_held(validated, assignments, value));
        let Some(used) = of(validated, &mut by_root, value) else { continue };
        used.is_output |= is_output;
        if held {
            used.settled = usize::MAX;
        }
    }
    for step in &validated.schedule {
        let block = validated.program.block(*step).is_some();
        let musts =
            validated.overwrites.row(step.index()).iter().filter(|overwrite| overwrite.must);
        let bound: Vec<ValueId> = musts.flat_map(|o| [o.output, o.input]).collect();
        let inside = validated.touches_of(*step).iter().filter(|_| block).map(|touch| touch.value);
        for value in bound.into_iter().chain(inside) {
            if let Some(used) = of(validated, &mut by_root, value) {
                used.settled = usize::MAX;
            }
        }
    }
    for root in &made_slow {
        if let Some(used) = &mut by_root[root.index()] {
            used.is_given = true;
        }
    }
    let mut used: Vec<Used> = by_root.into_iter().flatten().collect();
    used.retain(|used| (!used.at.is_empty() || made_slow.contains(&used.root)) && used.size > 0);
    for used in &mut used {
        used.is_given &= used.settled != usize::MAX;
        used.streamed.dedup();
    }
    used
}

/// The steps that only move bytes, have no room for what they touch, and can work in the slow memory instead.
pub(super) fn streamable(
    validated: &ValidatedProgram<'_>,
    used: &[Used],
    room: u64,
) -> Vec<StepId> {
    let base = alone(validated, used);
    let steps = validated.schedule.iter().enumerate();
    let steps = steps.filter(|(at, step)| base[*at] > room && can_stream(validated, used, **step));
    steps.map(|(_, step)| *step).collect()
}

/// Whether a step can work in the slow memory: nobody else writes what it makes, and what it reads can have left.
pub(super) fn can_stream(validated: &ValidatedProgram<'_>, used: &[Used], step: StepId) -> bool {
    let at = validated.position[step.index()];
    let is_bare = validated.scratch[step.index()].is_none()
        && validated.program.block(step).is_none()
        && validated.program.only_moves(step);
    let fits = |value: ValueId, kind: AccessKind| {
        let root = validated.roots[value.index()].root;
        let Some(one) = used.iter().find(|one| one.root == root) else { return true };
        match kind {
            AccessKind::Read => one.is_given || one.last_before(at).is_some(),
            AccessKind::Write => one.settled == 0 && one.at.first() == Some(&at) && !one.is_given,
        }
    };
    is_bare && validated.touches_of(step).iter().all(|touch| fits(touch.value, touch.kind))
}

fn of<'u>(
    validated: &ValidatedProgram<'_>,
    by_root: &'u mut [Option<Used>],
    value: ValueId,
) -> Option<&'u mut Used> {
    by_root[validated.roots[value.index()].root.index()].as_mut()
}

/// Whether somebody else counts on where a value is.
fn is_held(validated: &ValidatedProgram<'_>, assignments: &[Assignment], value: ValueId) -> bool {
    let info = &validated.values[value.index()];
    let is_part = info.role != Role::Temporary && !validated.is_root(value);
    // What is given stays in the slow memory for the whole run.
    let root = validated.roots[value.index()].root;
    let is_made = validated.values[root.index()].role == Role::Temporary;
    let is_kept = is_made && assignments[value.index()] == Assignment::Kept;
    info.storage != Storage::Arena || is_part || is_kept
}

impl Used {
    /// Whether it can leave behind its use at a position.
    pub(super) fn can_leave_behind(&self, position: usize) -> bool {
        self.at.binary_search(&position).is_ok_and(|index| self.can_leave(index))
    }

    /// Whether it can leave behind one of its uses.
    fn can_leave(&self, index: usize) -> bool {
        index >= self.settled
    }

    /// Its last use in the fast memory before a position, if it can leave behind that.
    pub(super) fn last_before(&self, position: usize) -> Option<usize> {
        let index = self.at.partition_point(|at| *at < position).checked_sub(1)?;
        self.can_leave(index).then_some(index)
    }

    /// Behind which of its uses it has to leave, since a streamed step reads it then.
    pub(super) fn must_leave(&self) -> Vec<usize> {
        if self.is_given {
            return Vec::new();
        }
        let mut musts: Vec<usize> =
            self.streamed.iter().filter_map(|at| self.last_before(*at)).collect();
        musts.dedup();
        musts
    }
}

/// What can be chosen, and by gap which root it is of and behind which of its uses.
pub(super) fn choices(
    validated: &ValidatedProgram<'_>,
    used: &[Used],
    capacity: u64,
) -> (Choices, Vec<(usize, usize)>) {
    let steps = validated.steps();
    let mut choices =
        Choices { capacity, base: alone(validated, used), gaps: Vec::new(), values: used.len() };
    let mut whose = Vec::new();
    for (index, one) in used.iter().enumerate().filter(|(_, one)| !one.at.is_empty()) {
        let musts = one.must_leave();
        let ends = one.at[1..].iter().copied().chain(one.is_output.then_some(steps));
        for (which, (from, to)) in one.at.iter().zip(ends).enumerate() {
            let from = from + 1;
            if from >= to || musts.contains(&which) {
                continue;
            }
            if one.can_leave(which) {
                let back = if which + 1 < one.at.len() { one.bytes } else { 0 };
                let out = if one.is_given || !musts.is_empty() { 0 } else { one.bytes };
                choices.gaps.push(Gap { value: index, from, to, size: one.size, back, out });
                whose.push((index, which));
            } else {
                choices.base[from..to].iter_mut().for_each(|base| *base += one.size);
            }
        }
        // What survives the run, or was there before it, is always there.
        if one.settled == usize::MAX
            && !matches!(validated.values[one.root.index()].storage, Storage::Arena)
        {
            let (first, last) = (one.at[0], one.at[one.at.len() - 1]);
            choices.base[..first].iter_mut().for_each(|base| *base += one.size);
            choices.base[last + 1..].iter_mut().for_each(|base| *base += one.size);
        }
    }
    (choices, whose)
}

/// What each step has to have at once.
fn alone(validated: &ValidatedProgram<'_>, used: &[Used]) -> Vec<u64> {
    let mut base = vec![0; validated.steps()];
    let mut by_root: Vec<Option<&Used>> = vec![None; validated.values.len()];
    for one in used {
        by_root[one.root.index()] = Some(one);
        one.at.iter().for_each(|at| base[*at] += one.size);
    }
    for (at, step) in validated.schedule.iter().enumerate() {
        base[at] += validated.scratch[step.index()].map_or(0, |scratch| scratch.bytes);
        base[at] -= taken_over(validated, &by_root, *step, at);
    }
    base
}

/// The bytes that a step's outputs can take over.
fn taken_over(
    validated: &ValidatedProgram<'_>,
    by_root: &[Option<&Used>],
    step: StepId,
    at: usize,
) -> u64 {
    let mut taken: Vec<ValueId> = Vec::new();
    let mut saved = 0;
    for overwrite in validated.overwrites.row(step.index()) {
        let root = |value: ValueId| {
            let rooted = validated.roots[value.index()];
            let bytes = validated.values[value.index()].bytes;
            let used = by_root[rooted.root.index()].filter(|used| used.bytes == bytes);
            used.filter(|_| rooted.rows.is_none())
        };
        let (Some(output), Some(input)) = (root(overwrite.output), root(overwrite.input)) else {
            continue;
        };
        let is_over = input.at.last() == Some(&at) && !input.is_output && !input.is_given;
        let begins = output.at.first() == Some(&at);
        let is_taken = taken.contains(&output.root) || taken.contains(&input.root);
        if is_over && begins && !is_taken {
            taken.extend([output.root, input.root]);
            saved += output.size.min(input.size);
        }
    }
    saved
}
