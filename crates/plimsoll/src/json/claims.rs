//! What a plan says of itself, held against the program and the places: totals, bounds, sizes, and
//! the bytes that it has promised to leave free.
//!
//! The verifier looks at places alone. A plan that is right in them and lies in a total misleads
//! whoever allocates by that total; so what can be worked out again is.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;

use super::names::Names;
use super::{ORDER_BOUND, PlanReadError, Totals};
use crate::ids::{StepId, ValueId};
use crate::json_fault::object_from_json;
use crate::options::Boundary;
use crate::plan::{Place, Plan};
use crate::program::{Layout, Program, Role, roots_of};

/// Something that a plan says of itself and that is not so.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FalseClaim {
    /// A total that is another number.
    Total {
        /// The key.
        key: &'static str,
        /// What the plan says.
        claimed: u64,
        /// What it is.
        is: u64,
    },
    /// What is saved is not what is left of the bytes with every tensor apart.
    Saved {
        /// What the plan says.
        claimed: i64,
        /// What it is.
        is: i64,
    },
    /// A bound that no arena is below, and that its own arena is below.
    BoundAboveArena {
        /// The key.
        key: &'static str,
        /// The bound.
        bound: u64,
        /// The arena.
        arena: u64,
    },
    /// A value that has another size.
    Bytes {
        /// The value.
        value: String,
        /// What the plan says.
        claimed: u64,
        /// What it is.
        is: u64,
    },
    /// A view that is another part of another value.
    Root {
        /// The value.
        value: String,
    },
    /// A value behind which less is left free than the options say.
    Unreserved {
        /// The value.
        value: String,
        /// What its place reserves.
        reserved: u64,
        /// What it should reserve, guard included.
        needs: u64,
    },
}

impl fmt::Display for FalseClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FalseClaim::Total { key, claimed, is } => {
                write!(f, "the plan says {key} {claimed}, and it is {is}")
            }
            FalseClaim::Saved { claimed, is } => {
                write!(f, "the plan says saved_bytes {claimed}, and it is {is}")
            }
            FalseClaim::BoundAboveArena { key, bound, arena } => {
                write!(f, "the plan says {key} {bound}, and its own arena is {arena}")
            }
            FalseClaim::Bytes { value, claimed, is } => {
                write!(f, "the plan says that {value:?} has {claimed} bytes, and it has {is}")
            }
            FalseClaim::Root { value } => {
                write!(f, "the plan says that {value:?} is a part of what it is no part of")
            }
            FalseClaim::Unreserved { value, reserved, needs } => write!(
                f,
                "{value:?} has {reserved} bytes reserved, and needs {needs} with what the options \
                 leave free"
            ),
        }
    }
}

/// What a plan says of itself; keys that it does not have say nothing.
#[derive(Deserialize)]
struct Claims {
    arena_bytes: Option<u64>,
    lower_bound_bytes: Option<u64>,
    schedule_lower_bound_bytes: Option<u64>,
    unshared_bytes: Option<u64>,
    saved_bytes: Option<i64>,
    weights_bytes: Option<u64>,
    static_bytes: Option<u64>,
    inputs_bytes: Option<u64>,
    outputs_bytes: Option<u64>,
    #[serde(default)]
    values: Vec<Claim>,
}

/// What a row says of its value.
#[derive(Deserialize)]
struct Claim {
    name: String,
    bytes: Option<u64>,
    root: Option<String>,
    root_offset: Option<u64>,
    row_bytes: Option<u64>,
    pitch_bytes: Option<u64>,
}

/// Everything in the text of a plan that is not so.
pub fn false_claims(
    program: &dyn Program,
    plan: &Plan,
    text: &str,
) -> Result<Vec<FalseClaim>, PlanReadError> {
    let claims: Claims = object_from_json(text).map_err(PlanReadError::Json)?;
    let mut found = totals(program, plan, &claims);
    let names = Names::of(program, std::iter::empty()).values;
    let mut rows: Vec<&Claim> = claims.values.iter().collect();
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let roots = roots_of(program);
    for (index, name) in names.iter().enumerate() {
        let row = rows.binary_search_by(|row| row.name.as_str().cmp(name)).ok().map(|at| rows[at]);
        if let Some(row) = row {
            found.extend(of_value(program, plan, &names, &roots, (ValueId::new(index), row)));
        }
    }
    Ok(found)
}

fn totals(program: &dyn Program, plan: &Plan, claims: &Claims) -> Vec<FalseClaim> {
    let is = Totals::new(program, plan);
    let arena = is.arena_bytes;
    let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    let saved = claims.unshared_bytes.map(|unshared| signed(unshared) - signed(arena));
    let saved = claims.saved_bytes.zip(saved).filter(|(claimed, is)| claimed != is);
    let saved = saved.map(|(claimed, is)| FalseClaim::Saved { claimed, is });
    let totals = [
        ("arena_bytes", claims.arena_bytes, Some(arena)),
        ("weights_bytes", claims.weights_bytes, Some(is.weights_bytes)),
        ("static_bytes", claims.static_bytes, Some(is.static_bytes)),
        ("inputs_bytes", claims.inputs_bytes, Some(is.inputs_bytes)),
        ("outputs_bytes", claims.outputs_bytes, Some(is.outputs_bytes)),
    ];
    let wrong = totals.into_iter().filter_map(|(key, claimed, is)| {
        let (claimed, is) = claimed.zip(is).filter(|(claimed, is)| claimed != is)?;
        Some(FalseClaim::Total { key, claimed, is })
    });
    let bounds = [
        ("lower_bound_bytes", claims.lower_bound_bytes),
        (ORDER_BOUND, claims.schedule_lower_bound_bytes),
    ];
    let above = bounds.into_iter().filter_map(|(key, bound)| {
        let bound = bound.filter(|bound| *bound > arena)?;
        Some(FalseClaim::BoundAboveArena { key, bound, arena })
    });
    wrong.chain(saved).chain(above).collect()
}

/// What a row says of the size of a value and of what it is a part of.
fn of_value(
    program: &dyn Program,
    plan: &Plan,
    names: &[Cow<'_, str>],
    roots: &[(ValueId, Layout)],
    (value, row): (ValueId, &Claim),
) -> Vec<FalseClaim> {
    let name = || program.value_name(value).into_owned();
    let mut found = Vec::new();
    let is = program.value(value).bytes;
    if let Some(claimed) = row.bytes.filter(|claimed| *claimed != is) {
        found.push(FalseClaim::Bytes { value: name(), claimed, is });
    }
    let (root, Layout { first, rows }) = roots[value.index()];
    let (root, first) = match plan.places.get(value.index()) {
        // What is written over the caller's memory says so in the same keys.
        Some(Place::Outside { root: over, offset }) if root == value => (*over, *offset),
        _ => (root, first),
    };
    let wrong = row.root.as_ref().is_some_and(|claimed| *claimed != names[root.index()])
        || row.root_offset.is_some_and(|claimed| claimed != first)
        || row.row_bytes.is_some_and(|claimed| Some(claimed) != rows.map(|rows| rows.bytes))
        || row.pitch_bytes.is_some_and(|claimed| Some(claimed) != rows.map(|rows| rows.stride));
    if wrong {
        found.push(FalseClaim::Root { value: name() });
    }
    found
}

/// The values behind which a plan leaves less free than it should: so many bytes behind values at the
/// boundary, beside what they ask for themselves, and no less than `min_slot` for what comes from
/// outside. That is asked of values with bytes of their own in a bank; not of views, nor of the next
/// state of a value that is changed in place.
#[must_use]
pub fn unreserved(
    program: &dyn Program,
    plan: &Plan,
    guards: &Boundary<u64>,
    min_slot: u64,
) -> Vec<FalseClaim> {
    let mut is_next_state = vec![false; program.values()];
    for step in (0..program.steps()).map(StepId::new) {
        for overwrite in program.overwrites(step).iter().filter(|o| o.must) {
            if let Some(is_next) = is_next_state.get_mut(overwrite.output.index()) {
                *is_next = true;
            }
        }
    }
    let mut found = Vec::new();
    for (index, place) in plan.places.iter().enumerate() {
        let value = ValueId::new(index);
        let info = program.value(value);
        let Place::Bank(slot) = place else { continue };
        if info.view_of.is_some() {
            continue;
        }
        let guard = if is_next_state[index] { 0 } else { guards.of(&info, 0) };
        let own = info.bytes.saturating_add(info.guard).saturating_add(guard);
        let least = if info.role == Role::Temporary { 0 } else { min_slot };
        let needs = own.max(least);
        // What asks for nothing more is the verifier's affair.
        if needs > info.bytes.saturating_add(info.guard) && slot.reserved < needs {
            let value = program.value_name(value).into_owned();
            found.push(FalseClaim::Unreserved { value, reserved: slot.reserved, needs });
        }
    }
    found
}
