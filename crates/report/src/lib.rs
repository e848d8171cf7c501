//! Plans for people, tools and devices.
//!
//! Reports for people, as text, JSON, SVG and pages: of packings ([`PackingReport`]), plans ([`PlanReport`]),
//! explanations and advice ([`ExplainReport`]), what fitting found ([`FrontierReport`]), comparisons, and differences. Text holds escape sequences for
//! colours; who writes to no terminal strips them.
//!
//! A plan as a page to walk through, as TSV and as a trace of live ranges; as C and Rust for firmware,
//! and as what TensorFlow Lite Micro takes; and what
//! two plans differ in ([`diff`]). Nothing is decided here: everything is told from a
//! [`Program`](plimsoll::Program), its [`VerifiedPlan`](plimsoll::VerifiedPlan) and
//! [`Labels`](plimsoll::Labels).

mod c_header;
mod checkpoints;
mod chrome_trace;
mod comparison;
mod device;
pub mod diff;
mod explain;
mod frontier;
mod map;
mod moment;
mod optimal;
mod origin;
mod packing;
mod picture;
mod plan;
#[allow(clippy::similar_names, reason = "ranges, and what is ranged over them")]
mod ranges;
mod regions;
mod rust_source;
pub mod size;
mod tflm;
mod tsv;
mod two_memories;
mod words;

pub use c_header::{BadSymbolPrefix, SymbolPrefix, write_c_header};
pub use checkpoints::CheckpointReport;
pub use chrome_trace::write_chrome_trace;
pub use comparison::{Comparison, Row};
pub use explain::ExplainReport;
pub use frontier::{FrontierPoint, FrontierReport, Region, RegionPeak, Wanted};
pub use map::{Packing, write_map, write_packing_map};
pub use origin::Origin;
pub use packing::{PackingReport, SOLUTION_FORMAT, Timing};
pub use picture::{Clock, Drawing, Panel, write_svg};
pub use plan::{Asked, PlanReport, write_title};
pub use ranges::{ranges_in_words, ranges_json};
pub use regions::{RegionWay, Regions, StagedStep};
pub use rust_source::write_rust_source;
pub use tflm::{OfflineMemoryAllocation, TflmError};
pub use tsv::write_tsv;
pub use two_memories::{InTwo, Tried, TwoMemoriesReport};
pub use words::{bold, counted, gap, limit_in_words, one_line, plain, write_json};
