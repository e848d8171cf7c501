//! Where each value lives, once the options have been asked: the one place that looks at roles.

use thiserror::Error;

use crate::ids::ValueId;
use crate::options::{NoShare, Options};
use crate::program::{Role, Storage};
use crate::shared::SharedSlot;
use crate::validate::{Rooted, ValidatedProgram};

/// Where a root value (and all views of it) lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Assignment {
    /// In a bank, while it is needed.
    Packed,
    /// In a bank, for the whole run.
    Kept,
    /// Where another plan has put it.
    Shared(SharedSlot),
    /// In the caller's memory.
    External,
    /// Nowhere.
    Elided,
}

/// The home of every value, by [`ValueId`]; that of a view is its root's.
pub(crate) fn assignments(
    validated: &ValidatedProgram<'_>,
    options: &Options,
) -> Result<Vec<Assignment>, SharedError> {
    let mut roots = Vec::with_capacity(validated.values.len());
    let mut filled = vec![false; validated.values.len()];
    validated
        .filled_parts()
        .for_each(|part| filled[validated.roots[part.index()].root.index()] = true);
    for value in validated.value_ids() {
        // Only the entries of roots are looked at below.
        roots.push(if validated.is_root(value) {
            let assignment = assignment(validated, options, value)?;
            // What the caller fills in part is where inputs are.
            match assignment {
                Assignment::Packed | Assignment::Kept
                    if filled[value.index()] && !options.place.inputs =>
                {
                    Assignment::External
                }
                Assignment::External if filled[value.index()] && options.place.inputs => {
                    Assignment::Packed
                }
                assignment => assignment,
            }
        } else {
            Assignment::Elided
        });
    }
    if let NoShare::Values(apart) = &options.no_share {
        for value in apart {
            let root = validated.roots[value.index()].root.index();
            if roots[root] == Assignment::Packed {
                roots[root] = Assignment::Kept;
            }
        }
    }
    follow_states(validated, &mut roots);
    let of = |value: ValueId| {
        let elided = validated.values[value.index()].elided;
        let root = validated.roots[value.index()].root;
        if elided { Assignment::Elided } else { roots[root.index()].clone() }
    };
    Ok(validated.value_ids().map(of).collect())
}

/// What must be changed in place lives where it is: if any of its states is kept, all are, in the
/// bytes of the first; what is changed in memory that is not ours stays there.
fn follow_states(validated: &ValidatedProgram<'_>, roots: &mut [Assignment]) {
    let rooted = |value: ValueId| validated.roots[value.index()];
    let musts: Vec<(Rooted, usize)> = validated
        .schedule
        .iter()
        .flat_map(|step| validated.overwrites.row(step.index()).iter().filter(|o| o.must))
        .filter(|o| validated.is_root(o.output))
        .map(|o| (rooted(o.input), o.output.index()))
        .collect();
    for (input, output) in musts.iter().rev() {
        let input = input.root.index();
        if roots[*output] == Assignment::Kept && roots[input] == Assignment::Packed {
            roots[input] = Assignment::Kept;
        }
    }
    for (input, output) in musts {
        let info = &validated.values[output];
        let next = match (&roots[input.root.index()], info.storage) {
            _ if roots[output] == Assignment::Elided => continue,
            (Assignment::Packed | Assignment::Kept, Storage::Arena | Storage::Persistent) => {
                Assignment::Packed
            }
            (Assignment::External, Storage::Arena | Storage::External) => Assignment::External,
            (Assignment::Shared(slot), Storage::Arena) => Assignment::Shared(SharedSlot {
                offset: slot.offset + input.offset,
                bytes: info.bytes,
                bank: slot.bank.clone(),
            }),
            _ => continue,
        };
        roots[output] = next;
    }
}

fn assignment(
    validated: &ValidatedProgram<'_>,
    options: &Options,
    value: ValueId,
) -> Result<Assignment, SharedError> {
    let info = &validated.values[value.index()];
    if info.elided {
        return Ok(Assignment::Elided);
    }
    Ok(match info.storage {
        Storage::External => Assignment::External,
        Storage::Persistent => Assignment::Kept,
        Storage::Shared => Assignment::Shared(shared(validated, options, value)?),
        Storage::Arena if !options.place.of(info, true) => Assignment::External,
        Storage::Arena if options.no_share == NoShare::Everything => Assignment::Kept,
        Storage::Arena => match info.role {
            Role::Param | Role::Constant | Role::Static => Assignment::Kept,
            Role::Input if !options.reclaim_inputs && !info.donated => Assignment::Kept,
            Role::Input | Role::Temporary => Assignment::Packed,
        },
    })
}

fn shared(
    validated: &ValidatedProgram<'_>,
    options: &Options,
    value: ValueId,
) -> Result<SharedSlot, SharedError> {
    let name = validated.program.value_name(value).into_owned();
    let layout = options.shared.as_ref();
    let Some(slot) = layout.and_then(|layout| layout.values.get(&name)) else {
        return Err(SharedError::Missing { name });
    };
    let wanted = validated.values[value.index()].bytes;
    if slot.bytes != wanted {
        return Err(SharedError::Size { name, imported: slot.bytes, wanted });
    }
    Ok(slot.clone())
}

/// Why a shared value could not be found where another plan has put it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SharedError {
    /// The layout has no value of that name, or there is no layout.
    #[error("value {name:?} is shared, but the shared layout does not have it")]
    Missing {
        /// The name.
        name: String,
    },
    /// The layout has another size for it.
    #[error("value {name:?} has {wanted} bytes, but the shared layout has {imported} for it")]
    Size {
        /// The name.
        name: String,
        /// The size in the layout.
        imported: u64,
        /// The size in the program.
        wanted: u64,
    },
}
