//! Plans for people, tools and devices.
//!
//! A plan as a page to walk through, as TSV and as a trace of live ranges; as C and Rust for firmware,
//! and as what TensorFlow Lite Micro takes; and what
//! two plans differ in ([`diff`]). Nothing is decided here: everything is told from a
//! [`Program`](plimsoll::Program), its [`VerifiedPlan`](plimsoll::VerifiedPlan) and
//! [`Labels`](plimsoll::Labels).

mod c_header;
mod chrome_trace;
mod device;
pub mod diff;
mod map;
mod rust_source;
mod tflm;
mod tsv;

pub use c_header::{BadSymbolPrefix, SymbolPrefix, write_c_header};
pub use chrome_trace::write_chrome_trace;
pub use map::{Packing, write_map, write_packing_map};
pub use rust_source::write_rust_source;
pub use tflm::{OfflineMemoryAllocation, TflmError};
pub use tsv::write_tsv;
