//! Plans for people, tools and devices: a page to walk through; JSON that can be read back, TSV, a
//! trace of lives; C and Rust for firmware, and what TensorFlow Lite Micro takes; what two plans
//! differ in.

mod c_header;
mod chrome_trace;
mod device;
pub mod diff;
mod follows;
mod json;
mod map;
mod rust_source;
mod tflm;
mod tsv;

pub use c_header::{BadSymbolPrefix, SymbolPrefix, write_c_header};
pub use chrome_trace::write_chrome_trace;
pub use json::{
    FalseClaim, PLAN_FORMAT, PlanFileRead, PlanReadError, Told, false_claims, read_plan,
    read_plan_file, unreserved, write_plan,
};
pub use map::{Labels, Packing, ValueLabel, write_map, write_packing_map};
pub use rust_source::write_rust_source;
pub use tflm::{OfflineMemoryAllocation, TflmError};
pub use tsv::write_tsv;

use crate::ids::ValueId;
use crate::plan::{Place, Plan};
use crate::program::{Program, Role, Storage};

/// The whole picture in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// All banks together.
    pub arena_bytes: u64,
    /// Below this they cannot be, with this schedule and this sharing.
    pub lower_bound_bytes: u64,
    /// What it would take to give every value and every scratch memory a place of its own: no view,
    /// nothing in place.
    pub unshared_bytes: u64,
    /// What is left of that where views, and what is in place of something, have no bytes of their
    /// own: the sum of all buffers that were packed.
    pub buffers_bytes: u64,
    /// Weights and constants that are in the caller's memory.
    pub weights_bytes: u64,
    /// What is computed of them when the model is loaded, in the caller's memory.
    pub static_bytes: u64,
    /// Inputs that are in the caller's memory.
    pub inputs_bytes: u64,
    /// Outputs, wherever they are.
    pub outputs_bytes: u64,
}

impl Totals {
    /// Adds a plan up.
    #[must_use]
    pub fn new(program: &dyn Program, plan: &Plan) -> Self {
        let mut totals = Totals {
            arena_bytes: plan.banks.iter().fold(0, |sum, bank| bank.bytes.saturating_add(sum)),
            lower_bound_bytes: plan.derivation.lower_bound_bytes,
            unshared_bytes: plan.derivation.unshared_bytes,
            buffers_bytes: plan.derivation.buffers.iter().map(|buffer| buffer.slot.bytes).sum(),
            ..Totals::default()
        };
        for (index, place) in plan.places.iter().enumerate() {
            let info = program.value(ValueId::new(index));
            let add = |total: &mut u64| *total = total.saturating_add(info.bytes);
            let outside = *place == Place::External && info.storage != Storage::Shared;
            match info.role {
                Role::Param | Role::Constant if outside => add(&mut totals.weights_bytes),
                Role::Static if outside => add(&mut totals.static_bytes),
                Role::Input if outside => add(&mut totals.inputs_bytes),
                _ => {}
            }
            if info.output {
                add(&mut totals.outputs_bytes);
            }
        }
        totals
    }

    /// What sharing saves; below 0 where holes cost more than that.
    #[must_use]
    pub fn saved_bytes(&self) -> i64 {
        let saved = i128::from(self.unshared_bytes) - i128::from(self.arena_bytes);
        i64::try_from(saved).unwrap_or(if saved < 0 { i64::MIN } else { i64::MAX })
    }
}
