//! The file that a model was rewritten from, taken apart.

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use plimsoll_model::{Model, Origin, TensorId};
use plimsoll_rewrite::StoredPart;
use prost::Message;

use super::stored::Runs;
use crate::error::{Malformed, OnnxError};
use crate::file::OnnxFile;
use crate::origin::{Origins, Path};
use crate::proto::tensor_proto::DataLocation;
use crate::proto::{GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto};
use crate::reader::{domain, functions, key};
use crate::stages::{is_of_stages, regions};
use crate::wire::{Content, fields, last_bytes};
use crate::{LIMITS, Wanted, read_within};

/// What the keys of notes of plans begin with.
const NOTES: &str = "plimsoll.";

/// A file and the model in it.
pub(super) struct Source<'f> {
    pub(super) bytes: &'f Bytes,
    pub(super) model: Model,
    pub(super) origins: Origins,
    /// The edition of ONNX's operators.
    pub(super) version: Option<i64>,
    /// Whether a stored tensor has to be an input as well: before edition 4 of the format.
    pub(super) lists_weights: bool,
    pub(super) nodes: Vec<FileNode>,
    pub(super) has_external_data: bool,
    /// What it says of regions, if it was rewritten itself.
    pub(super) regions: Option<String>,
    names: HashMap<String, TensorId>,
    stored: HashMap<TensorId, StoredAt>,
    /// For every node of the file that calls a function the nodes that it runs.
    calls: HashMap<usize, Range<usize>>,
}

/// A node of the file's own graph.
pub(super) struct FileNode {
    /// With the head of its field.
    pub(super) whole: Range<usize>,
    /// Its message.
    pub(super) message: Range<usize>,
    pub(super) proto: NodeProto,
}

/// A stored tensor of the file.
pub(super) struct StoredAt {
    pub(super) message: Range<usize>,
    pub(super) proto: TensorProto,
}

impl<'f> Source<'f> {
    pub(super) fn new(file: &'f OnnxFile) -> Result<Self, OnnxError> {
        let wanted = Wanted { origins: Some(Origins::default()), ..Wanted::default() };
        let (model, found) = read_within(file, LIMITS, wanted)?;
        let origins = found.origins.unwrap_or_default();
        let bytes = &file.bytes;
        let malformed = |error: prost::DecodeError| OnnxError::Protobuf(error.to_string());
        let proto = ModelProto::decode(bytes.clone()).map_err(malformed)?;
        let own = proto.opset_import.iter().filter(|import| domain(import.domain()).is_empty());
        let graph_names = origins.graph(&Path::new()).cloned().unwrap_or_default();
        let functions = functions(&proto)?;
        let graph = proto.graph.as_ref();
        let list = graph.map_or(&[][..], |graph| &graph.node[..]);
        let is_call = |index: &usize| functions.contains_key(&key(&list[*index]));
        let calls = calls(origins.nodes(), is_call);
        let mut source = Source {
            bytes,
            model,
            version: own.map(OperatorSetIdProto::version).max(),
            lists_weights: proto.ir_version() < 4,
            nodes: Vec::new(),
            has_external_data: graph.is_some_and(has_external_data),
            regions: regions(bytes)?,
            names: graph_names,
            stored: HashMap::new(),
            calls,
            origins,
        };
        source.take_apart()?;
        Ok(source)
    }

    fn take_apart(&mut self) -> Result<(), OnnxError> {
        let mut graphs = 0;
        for field in fields(self.bytes, 0..self.bytes.len()) {
            let field = field?;
            if let (7, Content::Bytes(range)) = (field.number, field.content) {
                graphs += 1;
                self.graph(range)?;
            }
        }
        // Their nodes would count as those of one.
        if graphs > 1 {
            return Err(Malformed("its graph is in several parts").into());
        }
        Ok(())
    }

    fn graph(&mut self, range: Range<usize>) -> Result<(), OnnxError> {
        let decode = |error: prost::DecodeError| OnnxError::Protobuf(error.to_string());
        for field in fields(self.bytes, range) {
            let field = field?;
            match (field.number, field.content) {
                (1, Content::Bytes(message)) => {
                    let proto = NodeProto::decode(self.bytes.slice(message.clone()));
                    let proto = proto.map_err(decode)?;
                    self.constant(&proto, message.clone())?;
                    self.nodes.push(FileNode { whole: field.whole, message, proto });
                }
                (5, Content::Bytes(message)) => {
                    let proto = TensorProto::decode(self.bytes.slice(message.clone()));
                    let proto = proto.map_err(decode)?;
                    if let Some(id) = self.tensor(proto.name()) {
                        self.stored.insert(id, StoredAt { message, proto });
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Keeps where the value of a constant is.
    fn constant(&mut self, node: &NodeProto, message: Range<usize>) -> Result<(), OnnxError> {
        let is_own = domain(node.domain()).is_empty() && node.op_type() == "Constant";
        let Some(id) = node.output.first().and_then(|name| self.tensor(name)) else {
            return Ok(());
        };
        let value = node.attribute.iter().find(|attribute| attribute.name() == "value");
        let Some(proto) = value.and_then(|value| value.t.as_deref()).filter(|_| is_own) else {
            return Ok(());
        };
        for field in fields(self.bytes, message) {
            let field = field?;
            if let (5, Content::Bytes(range)) = (field.number, field.content)
                && self.name(&range, 1)? == Some("value")
                && let Some(message) = last_bytes(self.bytes, range, 5)?
            {
                self.stored.insert(id, StoredAt { message, proto: proto.clone() });
            }
        }
        Ok(())
    }

    /// The tensor of a name of the file's own graph.
    pub(super) fn tensor(&self, name: &str) -> Option<TensorId> {
        self.names.get(name).copied()
    }

    /// The name that a message tells by a field.
    pub(super) fn name(&self, of: &Range<usize>, field: u64) -> Result<Option<&'f str>, Malformed> {
        let name = last_bytes(self.bytes, of.clone(), field)?;
        Ok(name.and_then(|name| str::from_utf8(&self.bytes[name]).ok()))
    }

    /// Whether an entry is a note of a plan, which holds no longer.
    pub(super) fn is_note(&self, range: Range<usize>) -> Result<bool, Malformed> {
        let key = self.name(&range, 1)?;
        Ok(key.is_some_and(|key| key.starts_with(NOTES) && !is_of_stages(key)))
    }

    pub(super) fn is_stored(&self, id: TensorId) -> bool {
        self.model.tensor(id).origin == Origin::Stored
    }

    pub(super) fn is_made(&self, id: TensorId) -> bool {
        self.model.tensor(id).origin == Origin::Node
    }

    /// Where a stored tensor is in the file.
    pub(super) fn stored(&self, id: TensorId) -> Option<&StoredAt> {
        self.stored.get(&id)
    }

    /// The nodes that a node of the file runs, if it calls a function.
    pub(super) fn call(&self, node: usize) -> Option<Range<usize>> {
        self.calls.get(&node).cloned()
    }

    /// Whether a part of a weight can be stored: its data are whole bytes, and one range if they are in another file.
    pub(super) fn can_store(&self, part: &StoredPart) -> bool {
        let Some(at) = self.stored(part.weight) else { return false };
        let Some(runs) = Runs::new(&self.model, part) else { return false };
        at.proto.data_location() == DataLocation::Default || runs.count == 1
    }
}

/// The nodes that each call runs: those that have its index.
fn calls(nodes: &[usize], is_call: impl Fn(&usize) -> bool) -> HashMap<usize, Range<usize>> {
    let mut calls: HashMap<usize, Range<usize>> = HashMap::new();
    for (node, by) in nodes.iter().enumerate().filter(|(_, by)| is_call(by)) {
        calls.entry(*by).or_insert(node..node).end = node + 1;
    }
    calls
}

/// Whether stored tensors of a graph, of its bodies or its constants are in other files.
fn has_external_data(graph: &GraphProto) -> bool {
    let is_external = |tensor: &TensorProto| tensor.data_location() == DataLocation::External;
    let attributes = || graph.node.iter().flat_map(|node| &node.attribute);
    graph.initializer.iter().any(is_external)
        || attributes().any(|attribute| attribute.t.as_deref().is_some_and(is_external))
        || attributes().any(|attribute| attribute.g.as_deref().is_some_and(has_external_data))
}
