//! Reads ONNX models, and writes what became of them.
//!
//! [`load`] makes a [`Model`] of a file, [`read`] of bytes. Weights are never touched, however
//! large: they are gone past, and of the data only the small tensors are read that shapes are
//! reckoned with. Data outside of the file need not be there.
//!
//! What comes out is free of what ONNX has grown over the years. Functions are put where they are
//! called, constants are stored tensors, names are unique, and every operator is in the form of
//! its newest edition. Of operators that are not known nothing is assumed.
//!
//! From a file to a verified plan:
//!
//! ```no_run
//! let model = plimsoll_onnx::load("net.onnx".as_ref())?;
//! let graph = plimsoll_model::infer(&model, &plimsoll_model::Bindings::default())?.graph;
//! let planned = plimsoll_graph::Case::new(graph).plan()?;
//! println!("{} bytes", planned.arena_bytes());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! No bytes make it panic, or take time or memory without bound: they get an [`OnnxError`] that
//! names the node or the tensor.

mod annotate;
mod attribute;
mod constant;
mod control;
mod cost;
mod draft;
mod dtype;
mod error;
mod file;
mod name;
mod operator;
mod origin;
#[allow(missing_docs, clippy::pedantic, reason = "generated")]
pub mod proto;
mod reader;
mod stages;
mod tensor;
#[cfg(feature = "testing")]
pub mod testing;
mod value;
mod weight;
mod weights;
mod wire;
mod write;

use std::path::Path;

use plimsoll_model::Model;
use prost::Message;

pub use crate::annotate::{Annotatable, Annotated, Note, Notes};
use crate::attribute::Given;
pub use crate::error::OnnxError;
pub use crate::file::OnnxFile;
use crate::origin::Origins;
use crate::proto::ModelProto;
use crate::reader::{Around, Reader, Versions, functions};
pub use crate::stages::{StagedNode, Stages};
use crate::weight::Memory;
pub use crate::weights::OnnxWeights;
use crate::weights::Sources;
pub use crate::write::Written;

/// How many bytes reading may take.
#[derive(Clone, Copy)]
struct Limits {
    /// For the file, once it is decoded.
    file: u64,
    /// For the model.
    model: u64,
}

/// As much as millions of nodes need.
const LIMITS: Limits = Limits { file: 4 << 30, model: 4 << 30 };

/// The model in a file, of any size.
pub fn load(path: &Path) -> Result<Model, OnnxError> {
    read(open(path)?)
}

/// The model in a file, and its weights: those in the file, and those in files beside it.
pub fn load_with_weights(path: &Path) -> Result<(Model, OnnxWeights), OnnxError> {
    let folder = path.parent().map(|folder| if folder == "" { Path::new(".") } else { folder });
    with_weights(open(path)?, folder)
}

/// The model that a file, or the [`Bytes`](bytes::Bytes) of one, describes, and the weights that are in it.
pub fn read_with_weights(file: impl Into<OnnxFile>) -> Result<(Model, OnnxWeights), OnnxError> {
    with_weights(file.into(), None)
}

fn with_weights(file: OnnxFile, folder: Option<&Path>) -> Result<(Model, OnnxWeights), OnnxError> {
    let wanted = Wanted { sources: Some(Sources::of(&file)), ..Wanted::default() };
    let (model, found) = read_within(&file, LIMITS, wanted)?;
    let sources = found.sources.unwrap_or_else(|| Sources::of(&file));
    Ok((model, OnnxWeights::new(file, folder, sources)))
}

/// A file of any size, without the data of its weights.
pub fn open(path: &Path) -> Result<OnnxFile, OnnxError> {
    OnnxFile::open(path)
}

/// The model that a file, or the [`Bytes`](bytes::Bytes) of one, describes.
pub fn read(file: impl Into<OnnxFile>) -> Result<Model, OnnxError> {
    read_within(&file.into(), LIMITS, Wanted::default()).map(|(model, _)| model)
}

/// What is to be found beside the model: what is there is filled.
#[derive(Default)]
struct Wanted {
    /// Which name of which graph each tensor is.
    origins: Option<Origins>,
    /// Where the elements of stored tensors are.
    sources: Option<Sources>,
}

/// The model, and what else is wanted.
fn read_within(
    file: &OnnxFile,
    limits: Limits,
    wanted: Wanted,
) -> Result<(Model, Wanted), OnnxError> {
    let malformed = |fault: String| OnnxError::Protobuf(fault);
    let bytes = &file.bytes;
    let weight = match file.weight {
        Some(weight) => weight,
        None => weight::weight(&mut Memory::new(bytes), bytes.len() as u64)?,
    };
    if weight > limits.file {
        return Err(malformed(format!("its messages take {weight} bytes of memory")));
    }
    let proto = ModelProto::decode(bytes.clone()).map_err(|error| malformed(error.to_string()))?;
    let Some(graph) = &proto.graph else {
        return Err(malformed("it has no graph".to_owned()));
    };
    let functions = functions(&proto)?;
    cost::check(graph, &functions, limits.model)?;
    let versions = Versions::of(&proto.opset_import)?;
    let mut reader = Reader::new(functions, limits.model);
    (reader.origins, reader.sources) = (wanted.origins, wanted.sources);
    let around = Around { versions: &versions, given: &Given::new(), path: "" };
    let body = reader.graph(graph, None, around)?;
    let found = Wanted { origins: reader.origins, sources: reader.sources };
    Ok((Model { body, ..reader.table.model }, found))
}
