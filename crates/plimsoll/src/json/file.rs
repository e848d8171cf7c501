//! The rows of a plan file, as they are written and read.

use serde::{Deserialize, Serialize, Serializer};

use super::Recorded;

/// A plan as a file has it. The rows of the long lists are there when a file has been read, and are made
/// one by one while it is written.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "S: Serialize, V: Serialize, B: Serialize + Rows"))]
pub struct PlanFile<S = Vec<String>, V = Vec<ValueRow>, B = Vec<BufferRow>>
where
    B: Rows,
{
    /// [`PLAN_FORMAT`](super::PLAN_FORMAT).
    pub format: String,
    /// All banks together.
    #[serde(default)]
    pub arena_bytes: u64,
    /// No arena of this order and this sharing is smaller.
    #[serde(default)]
    pub lower_bound_bytes: u64,
    /// `optimal` or `feasible`.
    #[serde(default)]
    pub status: String,
    /// What kept the packer from knowing more.
    #[serde(default)]
    pub limit: Option<String>,
    /// Only there where it is false: somebody has stopped the packer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproducible: Option<bool>,
    /// What it takes with every tensor apart.
    #[serde(default)]
    pub unshared_bytes: u64,
    /// What sharing saves of that.
    #[serde(default)]
    pub saved_bytes: i64,
    /// The sum of all buffers.
    #[serde(default)]
    pub buffers_bytes: u64,
    /// Weights and constants in the caller's memory.
    #[serde(default)]
    pub weights_bytes: u64,
    /// What is computed of them when the model is loaded.
    #[serde(default)]
    pub static_bytes: u64,
    /// Inputs in the caller's memory.
    #[serde(default)]
    pub inputs_bytes: u64,
    /// Outputs, wherever they are.
    #[serde(default)]
    pub outputs_bytes: u64,
    /// The packing rule that found the arena.
    #[serde(default)]
    pub won_by: String,
    /// What offsets are multiples of.
    pub align: u64,
    /// What else is known, under keys of its own.
    #[serde(flatten)]
    pub found: Recorded,
    /// The options and bindings that made the plan.
    #[serde(default)]
    pub options: Recorded,
    /// The address spaces.
    pub banks: Vec<BankRow>,
    /// The names of the steps, in order.
    pub schedule: S,
    /// Every value.
    pub values: V,
    /// The scratch memory of steps.
    #[serde(default)]
    pub scratch: Vec<ScratchRow>,
    /// What was packed; values say which of these they are in.
    #[serde(default, skip_serializing_if = "Rows::is_empty")]
    pub buffers: B,
}

/// A list of rows that is left out where it is empty.
pub trait Rows {
    /// Whether there is no row.
    fn is_empty(&self) -> bool;
}

impl<T> Rows for Vec<T> {
    fn is_empty(&self) -> bool {
        Vec::is_empty(self)
    }
}

/// So many rows, each made when it is written.
pub(super) struct MadeRows<F>(pub(super) usize, pub(super) F);

impl<F> Rows for MadeRows<F> {
    fn is_empty(&self) -> bool {
        self.0 == 0
    }
}

impl<R: Serialize, F: Fn(usize) -> R> Serialize for MadeRows<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.0).map(&self.1))
    }
}

/// An address space.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BankRow {
    /// What it is called.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// How large it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u64>,
}

/// A value, and where it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ValueRow {
    /// What it is called.
    pub name: String,
    /// The bank; absent for values outside of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bank: Option<String>,
    /// Its first byte in the bank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Its size.
    pub bytes: u64,
    /// Whether that is only a limit: how many are used depends on data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_most: bool,
    /// The bytes of its place, if they are more: some are left free behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot_bytes: Option<u64>,
    /// The point from which on its bytes are needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<u64>,
    /// The point at which they are free again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<u64>,
    /// `arena`, `persistent`, `shared`, `external` or `elided`.
    pub storage: String,
    /// Who makes it, if not a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What it is a view of, or what of the caller's it is written over, and where in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Its first byte in its root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root_offset: Option<u64>,
    /// The bytes of each of its rows and how far they are apart, if it is not one stretch of bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row_bytes: Option<u64>,
    /// From row to row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pitch_bytes: Option<u64>,
    /// The buffer that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<u32>,
    /// The value whose bytes it took over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_place_of: Option<String>,
    /// The values that had its bytes right before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub follows: Vec<String>,
}

/// Scratch memory of a step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScratchRow {
    /// The step.
    pub step: String,
    /// Its bank.
    pub bank: String,
    /// Its first byte in the bank.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
}

/// A buffer that was packed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BufferRow {
    /// Its bank.
    pub bank: String,
    /// Its first byte in the bank.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// The point from which on its bytes are needed.
    pub start: u64,
    /// The point at which they are free again.
    pub end: u64,
    /// What offsets are multiples of.
    pub align: u64,
    /// When only a part of it is needed, or nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<GapRow>,
}

/// A stretch of a buffer's life in which it uses nothing, or only the bytes of a window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GapRow {
    /// The point from which on its bytes are needed.
    pub start: i64,
    /// The point at which they are free again.
    pub end: i64,
    /// The bytes that are needed then; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<(u64, u64)>,
}
