//! Scratch memory that takes what is free.
//!
//! Some kernels run with little scratch and are faster with more. Such a program declares the least, so that scratch
//! does not raise the arena, and is planned. Then [`with_room`] looks at each step: bytes of the bank that nobody uses
//! while it runs are its own as well. Scratch lives for one step and never beside another step's, so that every step
//! can be looked at alone, and nothing else moves.
//!
//! Cost: O(steps that want more × buffers).

use plimsoll_pack::Span;

use crate::explain::window;
use crate::plan::{Place, Plan, Slot};
use crate::point::{LiveRange, Point};
use crate::program::Program;
use crate::{StepId, ValueId};

/// The plan with the largest free run of bytes as each step's scratch, up to what the step wants: `wanted` by
/// [`StepId`]. Only steps that have scratch get more, in the bank where it is, and never less than they have.
///
/// The program of this plan is one that declares the scratch of the plan; the plan is to be verified with that.
#[must_use]
pub fn with_room(program: &dyn Program, plan: &Plan, wanted: &[u64]) -> Plan {
    let mut roomy = plan.clone();
    for (position, step) in plan.schedule.iter().enumerate() {
        let Some(slot) = plan.scratch[step.index()] else { continue };
        let wanted = wanted.get(step.index()).copied().unwrap_or_default();
        if wanted <= slot.bytes {
            continue;
        }
        let Some(widened) = widened(program, plan, *step, position, wanted) else { continue };
        roomy.scratch[step.index()] = Some(widened);
        let live = LiveRange::new(Point::reads(position), Point::after(position));
        let is_own = |index: &usize| {
            let buffer = &plan.derivation.buffers[*index];
            buffer.slot == slot && buffer.live == live
        };
        if let Some(own) = (0..plan.derivation.buffers.len()).find(is_own) {
            roomy.derivation.buffers[own].slot = widened;
        }
        roomy.derivation.unshared_bytes += widened.bytes - slot.bytes;
    }
    roomy
}

/// The largest run that is free while a step runs, if that is more than the step has.
fn widened(
    program: &dyn Program,
    plan: &Plan,
    step: StepId,
    position: usize,
    wanted: u64,
) -> Option<Slot> {
    let slot = plan.scratch[step.index()]?;
    let align = program.scratch(step)?.align.max(1);
    let mut taken = taken(program, plan, slot, position);
    taken.sort_unstable_by_key(|span| (span.lo, span.hi));
    let bank_bytes = plan.banks[slot.bank.index()].bytes;
    taken.push(Span::new(bank_bytes, bank_bytes));
    let (mut end, mut best) = (0_u64, slot);
    for span in taken {
        let begin = end.next_multiple_of(align);
        // Whole multiples, so that elements of any type fill it.
        let bytes = span.lo.saturating_sub(begin) / align * align;
        if bytes.min(wanted) > best.bytes {
            best = Slot::new(slot.bank, begin, bytes.min(wanted));
        }
        end = end.max(span.hi);
    }
    (best.bytes > slot.bytes).then_some(best)
}

/// The bytes of a bank that others use while the step at a position runs.
fn taken(program: &dyn Program, plan: &Plan, own: Slot, position: usize) -> Vec<Span> {
    let points = [Point::reads(position), Point::writes(position)];
    let live = LiveRange::new(points[0], Point::after(position));
    let mut taken = Vec::new();
    for buffer in plan.derivation.buffers.iter().filter(|buffer| buffer.slot.bank == own.bank) {
        if buffer.live.meets(live) && !(buffer.slot == own && buffer.live == live) {
            let used = points.iter().filter_map(|point| window(buffer, *point));
            taken.extend(used.map(|span| span.shifted(buffer.slot.offset)));
        }
    }
    // What another plan has placed has no buffer here.
    for (index, (place, member)) in plan.places.iter().zip(&plan.derivation.members).enumerate() {
        if let (Place::Bank(slot), None) = (place, member)
            && slot.bank == own.bank
            && program.value(ValueId::new(index)).view_of.is_none()
        {
            taken.push(Span::new(slot.offset, slot.offset + slot.reserved));
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DeclaredProgram, Execution, Options, Scratch, plan, verify};

    /// 4096 and 1024 bytes are alive together, then these 1024 and 512 beside the scratch of the last step.
    fn program(scratch_bytes: u64) -> DeclaredProgram {
        let mut program = DeclaredProgram::new(Execution::InOrder);
        let (a, b, c) = (program.temporary(4096), program.temporary(1024), program.output(512));
        program.step(&[], &[a]);
        program.step(&[a], &[b]);
        let last = program.step(&[b], &[c]);
        program.steps[last.index()].scratch = Some(Scratch { bytes: scratch_bytes, align: 64 });
        program
    }

    #[test]
    fn scratch_takes_what_is_free_and_no_more_than_it_wants() {
        let least = plan(&program(64), &Options::default()).expect("a plan");
        assert_eq!(least.arena_bytes(), 5120);
        for (wanted, expected) in [(0, 64), (1000, 1000), (3584, 3584), (1 << 20, 3584)] {
            let roomy = with_room(&program(64), &least, &[0, 0, wanted]);
            let slot = roomy.scratch[2].expect("scratch");
            assert_eq!(slot.bytes, expected);
            assert_eq!(slot.offset % 64, 0);
            verify(&program(expected), roomy).expect("a plan of the program with that scratch");
        }
    }

    #[test]
    fn steps_without_scratch_get_none() {
        let mut without = program(64);
        without.steps[2].scratch = None;
        let plain = plan(&without, &Options::default()).expect("a plan");
        assert_eq!(with_room(&without, &plain, &[1 << 20; 3]), *plain);
    }
}
