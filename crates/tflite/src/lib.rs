//! Reads TensorFlow Lite models, and writes plans into them.
//!
//! [`TfliteFile::read`] reads a file, [`TfliteFile::import`] makes a graph of it, which can be planned:
//!
//! ```no_run
//! let file = plimsoll_tflite::TfliteFile::read(std::fs::read("net.tflite")?)?;
//! let planned = plimsoll_graph::Case::new(file.import()?.graph).plan()?;
//! println!("{} bytes", planned.arena_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No bytes make it panic, or take time or memory without bound: they get a [`TfliteError`] that names the
//! operator or the tensor.

mod builtin;
mod class;
mod dtype;
mod error;
mod file;
mod flatbuffer;
mod import;
mod schema;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tflm;
mod write;

pub use crate::error::TfliteError;
pub use crate::file::{Operator, Subgraph, Tensor, TfliteFile};
pub use crate::import::Imported;
