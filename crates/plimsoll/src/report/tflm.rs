//! The plan as TensorFlow Lite Micro takes it: the metadata `OfflineMemoryAllocation` of a flatbuffer.
//!
//! A list of 32-bit integers: a version, the subgraph, how many tensors there are, and for each its
//! offset in the arena, or -1 where the runtime finds a place itself. Tensors go by index there, and
//! have no names: whose index is which is the order of the program's values, or one that is given.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde::Serialize;

use crate::ids::ValueId;
use crate::plan::Place;
use crate::program::Program;
use crate::verify::VerifiedPlan;

/// The version of the list.
const VERSION: i32 = 1;
/// The subgraph that is planned.
const SUBGRAPH: i32 = 0;
/// What the runtime wants offsets to be multiples of.
const ALIGN: i32 = 16;
/// The runtime shall find a place.
const AT_RUN_TIME: i32 = -1;

/// Where the tensors of a flatbuffer are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OfflineMemoryAllocation {
    version: i32,
    subgraph: i32,
    offsets: Vec<i32>,
    names: Vec<String>,
}

/// Why a plan is none for TensorFlow Lite Micro.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TflmError {
    /// There is one arena, and the plan has several banks.
    Banks(usize),
    /// An offset does not fit in 31 bits.
    TooFar {
        /// The value.
        name: String,
        /// Its offset.
        offset: u64,
    },
    /// The order of tensors has a name twice.
    Twice(String),
}

impl fmt::Display for TflmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TflmError::Banks(banks) => {
                write!(f, "the plan has {banks} banks, and TFLite Micro one arena")
            }
            TflmError::TooFar { name, offset } => {
                write!(f, "{name:?} is at {offset}, and offsets of TFLite Micro are below 2^31")
            }
            TflmError::Twice(name) => write!(f, "the order of tensors has {name:?} twice"),
        }
    }
}

impl std::error::Error for TflmError {}

impl OfflineMemoryAllocation {
    /// Of a plan with one bank. `order` has the names of the flatbuffer's tensors, by index; without
    /// it they are the values of the program. A tensor that the plan has no place for has none here.
    pub fn new(
        program: &dyn Program,
        plan: &VerifiedPlan,
        order: Option<&[String]>,
    ) -> Result<Self, TflmError> {
        if plan.banks.len() > 1 {
            return Err(TflmError::Banks(plan.banks.len()));
        }
        let mut names = Vec::with_capacity(plan.places.len());
        let mut offsets = Vec::with_capacity(plan.places.len());
        for (index, place) in plan.places.iter().enumerate() {
            let name = program.value_name(ValueId::new(index)).into_owned();
            offsets.push(match place {
                Place::Bank(slot) => i32::try_from(slot.offset)
                    .map_err(|_| TflmError::TooFar { name: name.clone(), offset: slot.offset })?,
                Place::External | Place::Outside { .. } | Place::Elided => AT_RUN_TIME,
            });
            names.push(name);
        }
        let own = OfflineMemoryAllocation { version: VERSION, subgraph: SUBGRAPH, offsets, names };
        order.map_or(Ok(own.clone()), |order| own.reordered(order))
    }

    fn reordered(&self, order: &[String]) -> Result<Self, TflmError> {
        let known = self.names.iter().map(String::as_str).zip(self.offsets.iter().copied());
        let known: HashMap<&str, i32> = known.collect();
        let mut seen = HashSet::with_capacity(order.len());
        let mut offsets = Vec::with_capacity(order.len());
        for name in order {
            // Tensors without a name are not looked for.
            if !name.is_empty() && !seen.insert(name.as_str()) {
                return Err(TflmError::Twice(name.clone()));
            }
            offsets.push(known.get(name.as_str()).copied().unwrap_or(AT_RUN_TIME));
        }
        Ok(OfflineMemoryAllocation { offsets, names: order.to_vec(), ..*self })
    }

    /// The list, little-endian: what the metadata buffer of the flatbuffer holds.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(4 * (3 + self.offsets.len()));
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(self.subgraph.to_le_bytes());
        bytes.extend((self.offsets.len() as u32).to_le_bytes());
        bytes.extend(self.offsets.iter().flat_map(|offset| offset.to_le_bytes()));
        bytes
    }

    /// The list as one JSON object, with the names of the tensors.
    ///
    /// # Panics
    /// Never: names and numbers can always be written.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("names and numbers") + "\n"
    }

    /// How many tensors are where TensorFlow Lite Micro wants none: not at a multiple of 16.
    #[must_use]
    pub fn misaligned(&self) -> usize {
        self.offsets.iter().filter(|offset| **offset >= 0 && **offset % ALIGN != 0).count()
    }

    /// How many tensors have a place.
    #[must_use]
    pub fn placed(&self) -> usize {
        self.offsets.iter().filter(|offset| **offset != AT_RUN_TIME).count()
    }
}
