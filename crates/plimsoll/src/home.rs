//! Where each value lives, once the options have been asked: the one place that looks at roles.

use std::fmt;

use crate::ids::ValueId;
use crate::options::{Apart, Options};
use crate::program::{Role, Storage};
use crate::shared::SharedSlot;
use crate::validate::{Checked, Rooted};

/// Where a root value (and all views of it) lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Home {
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
pub(crate) fn homes(checked: &Checked<'_>, options: &Options) -> Result<Vec<Home>, SharedError> {
    let mut roots = Vec::with_capacity(checked.values.len());
    let mut filled = vec![false; checked.values.len()];
    checked.filled_parts().for_each(|part| filled[checked.roots[part.index()].root.index()] = true);
    for value in checked.value_ids() {
        // Only the entries of roots are looked at below.
        roots.push(if checked.is_root(value) {
            let home = home(checked, options, value)?;
            // What the caller fills in part is where inputs are.
            match home {
                Home::Packed | Home::Kept if filled[value.index()] && !options.place.inputs => {
                    Home::External
                }
                Home::External if filled[value.index()] && options.place.inputs => Home::Packed,
                home => home,
            }
        } else {
            Home::Elided
        });
    }
    if let Apart::Values(apart) = &options.apart {
        for value in apart {
            let root = checked.roots[value.index()].root.index();
            if roots[root] == Home::Packed {
                roots[root] = Home::Kept;
            }
        }
    }
    follow_states(checked, &mut roots);
    let of = |value: ValueId| {
        let elided = checked.values[value.index()].elided;
        let root = checked.roots[value.index()].root;
        if elided { Home::Elided } else { roots[root.index()].clone() }
    };
    Ok(checked.value_ids().map(of).collect())
}

/// What must be changed in place lives where it is: if any of its states is kept, all are, in the
/// bytes of the first; what is changed in memory that is not ours stays there.
fn follow_states(checked: &Checked<'_>, roots: &mut [Home]) {
    let rooted = |value: ValueId| checked.roots[value.index()];
    let musts: Vec<(Rooted, usize)> = checked
        .schedule
        .iter()
        .flat_map(|step| checked.overwrites[step.index()].iter().filter(|o| o.must))
        .filter(|o| checked.is_root(o.output))
        .map(|o| (rooted(o.input), o.output.index()))
        .collect();
    for (input, output) in musts.iter().rev() {
        let input = input.root.index();
        if roots[*output] == Home::Kept && roots[input] == Home::Packed {
            roots[input] = Home::Kept;
        }
    }
    for (input, output) in musts {
        let info = &checked.values[output];
        let next = match (&roots[input.root.index()], info.storage) {
            _ if roots[output] == Home::Elided => continue,
            (Home::Packed | Home::Kept, Storage::Arena | Storage::Persistent) => Home::Packed,
            (Home::External, Storage::Arena | Storage::External) => Home::External,
            (Home::Shared(slot), Storage::Arena) => Home::Shared(SharedSlot {
                offset: slot.offset + input.offset,
                bytes: info.bytes,
                bank: slot.bank.clone(),
            }),
            _ => continue,
        };
        roots[output] = next;
    }
}

fn home(checked: &Checked<'_>, options: &Options, value: ValueId) -> Result<Home, SharedError> {
    let info = &checked.values[value.index()];
    if info.elided {
        return Ok(Home::Elided);
    }
    Ok(match info.storage {
        Storage::External => Home::External,
        Storage::Persistent => Home::Kept,
        Storage::Shared => Home::Shared(shared(checked, options, value)?),
        Storage::Arena if !options.place.of(info, true) => Home::External,
        Storage::Arena if options.apart == Apart::Everything => Home::Kept,
        Storage::Arena => match info.role {
            Role::Param | Role::Constant | Role::Static => Home::Kept,
            Role::Input if !options.reclaim_inputs && !info.donated => Home::Kept,
            Role::Input | Role::Temporary => Home::Packed,
        },
    })
}

fn shared(
    checked: &Checked<'_>,
    options: &Options,
    value: ValueId,
) -> Result<SharedSlot, SharedError> {
    let name = checked.program.value_name(value).into_owned();
    let layout = options.shared.as_ref();
    let Some(slot) = layout.and_then(|layout| layout.values.get(&name)) else {
        return Err(SharedError::Missing { name });
    };
    let wanted = checked.values[value.index()].bytes;
    if slot.bytes != wanted {
        return Err(SharedError::Size { name, lent: slot.bytes, wanted });
    }
    Ok(slot.clone())
}

/// Why a shared value could not be found where another plan has put it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedError {
    /// The layout has no value of that name, or there is no layout.
    Missing {
        /// The name.
        name: String,
    },
    /// The layout has another size for it.
    Size {
        /// The name.
        name: String,
        /// The size in the layout.
        lent: u64,
        /// The size in the program.
        wanted: u64,
    },
}

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SharedError::Missing { name } => {
                write!(f, "value {name:?} is shared, but the shared layout does not have it")
            }
            SharedError::Size { name, lent, wanted } => write!(
                f,
                "value {name:?} has {wanted} bytes, but the shared layout has {lent} for it"
            ),
        }
    }
}
