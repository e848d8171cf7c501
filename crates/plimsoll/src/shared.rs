//! Places that one plan lends to another: the weights of a forward pass for its backward pass.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ids::ValueId;
use crate::json_fault::{JsonFault, object_from_json};
use crate::plan::{Place, Plan};
use crate::program::{Program, Role};

/// Where named values are, in the banks of another plan.
///
/// A value of storage class *shared* is looked up here by name. All that is listed is in the way of
/// whatever is placed in a bank of the same name, used or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedLayout {
    /// By name of the value.
    pub values: BTreeMap<String, SharedSlot>,
}

/// Where a shared value is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedSlot {
    /// The name of the bank.
    pub bank: String,
    /// The first byte.
    pub offset: u64,
    /// How many bytes.
    pub bytes: u64,
}

impl SharedLayout {
    /// The places of all params that a plan has placed.
    #[must_use]
    pub fn from_plan(program: &dyn Program, plan: &Plan) -> Self {
        let mut values = BTreeMap::new();
        for (index, place) in plan.places.iter().enumerate() {
            let value = ValueId::new(index);
            let info = program.value(value);
            if let Place::Bank(slot) = place
                && info.role == Role::Param
                && info.view_of.is_none()
            {
                let bank = plan.banks[slot.bank.index()].name.clone();
                let shared = SharedSlot { bank, offset: slot.offset, bytes: info.bytes };
                values.insert(program.value_name(value).into_owned(), shared);
            }
        }
        SharedLayout { values }
    }

    /// Reads what [`SharedLayout::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Self, SharedLayoutError> {
        object_from_json(text).map_err(SharedLayoutError)
    }

    /// The layout as JSON, names in order.
    ///
    /// # Panics
    /// Never: names and numbers can always be written.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("names and numbers") + "\n"
    }
}

/// Why a shared layout could not be read.
#[derive(Debug, Error)]
#[error("not a shared layout: {0}")]
pub struct SharedLayoutError(JsonFault);
