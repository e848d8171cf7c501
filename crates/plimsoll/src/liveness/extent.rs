//! How many bytes a value takes up, with what lies behind its end. The one place that decides it.

use plimsoll_pack::Span;

use crate::ids::ValueId;
use crate::options::Options;
use crate::program::Role;
use crate::validate::{Fault, ProgramError, ValidatedProgram};

/// A value with more bytes than this, guard included, is rejected, so that no sum of a few overflows.
const MOST_BYTES: u64 = 1 << 62;

/// Rejects values that are too large to be planned with these options.
pub(crate) fn check_sizes(
    validated: &ValidatedProgram<'_>,
    options: &Options,
) -> Result<(), ProgramError> {
    let fits = |value: &ValueId| {
        let info = &validated.values[value.index()];
        let guard = info.guard.checked_add(options.guards.of(info, 0));
        let bytes = guard.and_then(|guard| guard.checked_add(info.bytes));
        bytes.is_some_and(|bytes| bytes.max(options.min_slot) <= MOST_BYTES)
    };
    match validated.value_ids().find(|value| !fits(value)) {
        Some(value) => Err(Fault::TooLarge(value).named(validated.program)),
        None => Ok(()),
    }
}

/// The bytes of a value in its root, with what lies behind its end and may be written too.
pub(crate) fn whole(validated: &ValidatedProgram<'_>, value: ValueId, options: &Options) -> Span {
    let bytes = validated.values[value.index()].bytes;
    let Span { lo, hi } = validated.roots[value.index()].hull(bytes);
    Span::new(lo, hi + reserved(validated, value, options) - bytes)
}

/// The bytes that a value takes up, with what lies behind its end.
pub(crate) fn reserved(validated: &ValidatedProgram<'_>, value: ValueId, options: &Options) -> u64 {
    let info = &validated.values[value.index()];
    let bytes = info.bytes + guard(validated, value, options);
    let own = info.role != Role::Temporary && validated.is_root(value);
    if own { bytes.max(options.min_slot) } else { bytes }
}

/// The bytes behind the end of a value that may be written with it. What the options leave free
/// at the boundary is behind values that have bytes of their own: not behind views, nor behind
/// the next state of a value that is changed in place.
pub(crate) fn guard(validated: &ValidatedProgram<'_>, value: ValueId, options: &Options) -> u64 {
    let info = &validated.values[value.index()];
    let own = validated.is_root(value) && !validated.is_next_state[value.index()];
    info.guard + if own { options.guards.of(info, 0) } else { 0 }
}
