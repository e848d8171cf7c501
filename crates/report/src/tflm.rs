//! The plan as TensorFlow Lite Micro takes it: the metadata `OfflineMemoryAllocation` of a flatbuffer.
//!
//! A list of 32-bit integers: a version, the subgraph, how many tensors there are, and for each its
//! offset in the arena, or -1 where the runtime finds a place itself. Tensors go by index there, and
//! have no names: whose index is which is the order of the program's values, or one that is given.
//!
//! The interpreter knows nothing of a plan but these offsets. It runs every operator of the file, in
//! the order of the file. Tensors with -1, and the scratch memory that kernels ask for, it puts where
//! no tensor is that some operator still reads or writes. What follows for a plan:
//!
//! - Its steps run in the order of the program, which has to be that of the file.
//! - A view is fine: the kernel that makes it copies bytes onto themselves, or sees that it need not.
//! - What is in place of something is fine where the kernel works in place, which is for the kernels to
//!   say: the interpreter itself never lets an operator's output be where its inputs are.
//! - Rows that are apart are not known there.
//! - Bytes that no operator reads or writes at a time are taken for free: what is kept from run to run,
//!   placed by another plan, or reserved behind a value, would be overwritten.
//! - Weights stay in the flatbuffer, wherever a plan would have them.
//! - What must be written over the caller's memory would get a place of its own.
//! - Offsets are multiples of 16, since what the runtime places comes right behind them.
//!
//! A plan that is not so is an error.

use std::collections::{HashMap, HashSet};

use plimsoll::verify::VerifiedPlan;
use plimsoll::{Place, Plan, Program, Role, Slot, Storage, ValueId, ValueInfo};
use serde::Serialize;
use thiserror::Error;

/// The version of the list.
const VERSION: i32 = 1;
/// The subgraph that is planned.
const SUBGRAPH: i32 = 0;
/// What offsets are multiples of.
const ALIGN: u64 = 16;
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
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TflmError {
    /// There is one arena, and the plan has several banks.
    #[error("the plan has {0} banks, and TFLite Micro one arena")]
    Banks(usize),
    /// The steps run in another order than that of the program.
    #[error("the plan is for another order than that of the file, in which TFLite Micro runs")]
    Order,
    /// A value is in strided rows.
    #[error("{0:?} is a strided view, which TFLite Micro does not know")]
    Rows(String),
    /// A weight or a constant has a place.
    #[error(
        "{0:?} is a weight or a constant, which TFLite Micro leaves in the flatbuffer: it cannot \
         have a place"
    )]
    Weight(String),
    /// A value is kept from run to run.
    #[error("{0:?} is kept from run to run, and TFLite Micro would overwrite it")]
    Kept(String),
    /// A value is where another plan has put it.
    #[error("{0:?} is where another plan has put it, and TFLite Micro would overwrite it")]
    Imported(String),
    /// Bytes are reserved behind a value.
    #[error("bytes are reserved behind {0:?}, and TFLite Micro would take them for free")]
    Reserved(String),
    /// A value must be written over one in the caller's memory.
    #[error(
        "{name:?} has to be written over {root:?} in the caller's memory, and TFLite Micro would \
         put it elsewhere"
    )]
    Over {
        /// The value.
        name: String,
        /// The one in the caller's memory.
        root: String,
    },
    /// An offset is no multiple of 16.
    #[error(
        "{name:?} is at {offset}, and TFLite Micro wants offsets that are multiples of {ALIGN}"
    )]
    Misaligned {
        /// The value.
        name: String,
        /// Its offset.
        offset: u64,
    },
    /// An offset does not fit in 31 bits.
    #[error("{name:?} is at {offset}, and offsets of TFLite Micro are below 2^31")]
    TooFar {
        /// The value.
        name: String,
        /// Its offset.
        offset: u64,
    },
    /// The order of tensors has a name twice.
    #[error("the order of tensors has {0:?} twice")]
    Twice(String),
    /// The order of tensors has a name that no value has.
    #[error(
        "no value is called {0:?} (leave the line of a tensor blank that the model does not \
         have)"
    )]
    Unknown(String),
    /// The order of tensors names nothing that has a place.
    #[error("no value that has a place is named in it")]
    NamesNothing,
}

impl OfflineMemoryAllocation {
    /// Of a plan with one bank. `order` has the names of the flatbuffer's tensors, by index; without
    /// it they are the values of the program. A tensor that the plan has no place for has none here.
    ///
    /// The steps of the program are the operators of the flatbuffer, in its order.
    pub fn new(
        program: &dyn Program,
        plan: &VerifiedPlan,
        order: Option<&[String]>,
    ) -> Result<Self, TflmError> {
        if !plan.schedule.is_sorted() {
            return Err(TflmError::Order);
        }
        OfflineMemoryAllocation::in_order_of_plan(program, plan, order)
    }

    /// The same for a flatbuffer that has its operators in the order in which the plan runs them.
    pub fn in_order_of_plan(
        program: &dyn Program,
        plan: &VerifiedPlan,
        order: Option<&[String]>,
    ) -> Result<Self, TflmError> {
        if plan.banks.len() > 1 {
            return Err(TflmError::Banks(plan.banks.len()));
        }
        let mut names = Vec::with_capacity(plan.places.len());
        let mut offsets = Vec::with_capacity(plan.places.len());
        for value in (0..plan.places.len()).map(ValueId::new) {
            offsets.push(offset(program, plan, value)?);
            names.push(program.value_name(value).into_owned());
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
            if name.is_empty() {
                offsets.push(AT_RUN_TIME);
                continue;
            }
            if !seen.insert(name.as_str()) {
                return Err(TflmError::Twice(name.clone()));
            }
            let offset =
                known.get(name.as_str()).ok_or_else(|| TflmError::Unknown(name.clone()))?;
            offsets.push(*offset);
        }
        let ordered = OfflineMemoryAllocation { offsets, names: order.to_vec(), ..*self };
        if self.placed() > 0 && ordered.placed() == 0 {
            return Err(TflmError::NamesNothing);
        }
        Ok(ordered)
    }

    /// The offsets, by index of the tensor; -1 where the runtime shall find a place.
    #[must_use]
    pub fn offsets(&self) -> &[i32] {
        &self.offsets
    }

    /// The same tensors at other offsets.
    ///
    /// # Panics
    /// If there are more or fewer than there are tensors.
    #[must_use]
    pub fn with_offsets(self, offsets: Vec<i32>) -> Self {
        assert_eq!(offsets.len(), self.offsets.len(), "an offset for each tensor");
        OfflineMemoryAllocation { offsets, ..self }
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

    /// How many tensors have a place.
    #[must_use]
    pub fn placed(&self) -> usize {
        self.offsets.iter().filter(|offset| **offset != AT_RUN_TIME).count()
    }
}

/// Where the runtime has to put a value, which it has to be able to leave alone there.
fn offset(program: &dyn Program, plan: &Plan, value: ValueId) -> Result<i32, TflmError> {
    let info = program.value(value);
    let name = || program.value_name(value).into_owned();
    if info.view_of.is_some_and(|view| view.rows.is_some()) {
        return Err(TflmError::Rows(name()));
    }
    match plan.places[value.index()] {
        Place::Bank(slot) => in_arena(&info, slot, name),
        Place::Outside { root, .. } if info.view_of.is_none() => {
            let root = program.value_name(root).into_owned();
            Err(TflmError::Over { name: name(), root })
        }
        Place::External | Place::Outside { .. } | Place::Elided => Ok(AT_RUN_TIME),
    }
}

/// The offset of a value in the arena.
fn in_arena(info: &ValueInfo, slot: Slot, name: impl Fn() -> String) -> Result<i32, TflmError> {
    match (info.storage, info.role) {
        (Storage::Persistent, _) => return Err(TflmError::Kept(name())),
        (Storage::Shared, _) => return Err(TflmError::Imported(name())),
        (_, Role::Param | Role::Constant) => return Err(TflmError::Weight(name())),
        _ => {}
    }
    if slot.reserved > info.bytes {
        return Err(TflmError::Reserved(name()));
    }
    let offset = slot.offset;
    let narrow = i32::try_from(offset).map_err(|_| TflmError::TooFar { name: name(), offset })?;
    if info.bytes > 0 && !offset.is_multiple_of(ALIGN) {
        return Err(TflmError::Misaligned { name: name(), offset });
    }
    Ok(narrow)
}
