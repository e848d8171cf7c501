//! What a program would take if nothing shared bytes with anything: the baseline of every plan.
//!
//! Every tensor has bytes of its own then: no view, nothing in place, no concat made in its parts; and
//! so has the scratch memory of every step. Two states of something that must be changed in place are
//! one tensor. What is in the caller's memory does not count, and what is elided is nowhere. No holes
//! are left for alignment.

use crate::ids::ValueId;
use crate::liveness::reserved;
use crate::options::Options;
use crate::program::{Role, Storage};
use crate::validate;
use crate::validate::ValidatedProgram;

/// The bytes of all that is placed, each in a place of its own, with what is reserved behind it.
pub(crate) fn unshared_bytes(validated: &ValidatedProgram<'_>, options: &Options) -> u64 {
    let values = validated.value_ids().filter(|value| is_apart(validated, options, *value));
    let values = values.map(|value| reserved_apart(validated, value, options));
    let scratch = validated.scratch.iter().flatten().map(|scratch| scratch.bytes);
    values.chain(scratch).fold(0, u64::saturating_add)
}

/// What a value takes in a place of its own, where a view has what the options leave free behind it.
fn reserved_apart(validated: &ValidatedProgram<'_>, value: ValueId, options: &Options) -> u64 {
    let free = options.guards.of(&validated.values[value.index()], 0);
    reserved(validated, value, options) + if validated.is_root(value) { 0 } else { free }
}

/// Whether a value would have a place of its own.
fn is_apart(validated: &ValidatedProgram<'_>, options: &Options, value: ValueId) -> bool {
    let info = &validated.values[value.index()];
    if info.elided || validated.is_next_state[value.index()] {
        return false;
    }
    // A part of what the caller fills is there with the whole.
    let root = &validated.values[validated.roots[value.index()].root.index()];
    let is_part = !validated.is_root(value) && info.role != Role::Temporary;
    if is_part && validate::comes_from_outside(root) {
        return false;
    }
    match info.storage {
        Storage::External => false,
        Storage::Persistent | Storage::Shared => true,
        Storage::Arena => options.place.of(info, true),
    }
}
