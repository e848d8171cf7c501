//! Writes a rewritten model as a file that any runtime executes.
//!
//! The file that the model was read from is taken apart into its fields and put together again. What a rewrite did
//! not touch is copied byte by byte: nodes with their bodies and attributes, functions, weights, whatever is declared
//! of inputs and outputs. Of a node that only got other tensors the names are changed. What a rewrite made or changed
//! is [emitted](emit) in the edition of the operators that the file has. Data of weights are never in memory; data
//! that are in other files stay there.
//!
//! - Nodes stand in the order of the rewritten model, constants that are nodes in front of all.
//! - A part of a weight is stored as a part ([`stored_parts`]), and the whole only if somebody still reads it.
//! - Nodes say in their metadata which node of the file they come from, and in which step of which region they are
//!   ([`stages`](crate::stages)). One that is as it was says nothing.
//! - A call of a function whose nodes are all as they were stays a call. Otherwise the nodes that it runs are emitted.
//!
//! Cost: the structure of the file, twice, and the new nodes.

#[cfg_attr(
    not(feature = "testing"),
    allow(unreachable_pub, reason = "tests of other crates make attributes too")
)]
pub(crate) mod attribute;
mod carry;
mod emit;
mod names;
mod source;
mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::Range;

use plimsoll_graph::Dtype;
use plimsoll_model::{
    Body, Content as Elements, Model, ModelNode, Operator, Origin, Tensor, TensorId,
};
use plimsoll_rewrite::{Rewritten, Stage, StoredPart, Way, stored_parts};
use prost::Message;

use self::emit::emit;
use self::names::names;
use self::source::Source;
use crate::error::{Fault, Malformed, OnnxError};
use crate::file::OnnxFile;
use crate::proto::{NodeProto, StringStringEntryProto};
use crate::stages::{REGIONS, SOURCE, STEP, count, entry, regions_entry, said, step_entry};
use crate::wire::{Content, Pieces, fields};

/// A rewritten model as a file, ready to be written.
pub struct Written {
    file: OnnxFile,
    pieces: Pieces,
    has_external_data: bool,
}

impl Written {
    /// The file of a rewritten model, from the file, or its [`Bytes`](bytes::Bytes), that the source was read from.
    pub fn new(file: impl Into<OnnxFile>, rewritten: &Rewritten) -> Result<Self, OnnxError> {
        let file = file.into();
        let source = Source::new(&file)?;
        if !is_made_from(rewritten, &source.model) {
            return Err(OnnxError::Model("the rewritten model was made from another file".into()));
        }
        let writer = Writer::new(&source, rewritten);
        let pieces = writer.model()?;
        let has_external_data = source.has_external_data;
        drop(writer);
        drop(source);
        Ok(Written { file, pieces, has_external_data })
    }

    /// Writes it.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.pieces.write(&self.file, out)
    }

    /// Whether weights are in other files, which are found from the folder of this one.
    #[must_use]
    pub fn has_external_data(&self) -> bool {
        self.has_external_data
    }
}

/// Whether a model has the tensors of its source, and nodes that come from it.
fn is_made_from(rewritten: &Rewritten, source: &Model) -> bool {
    let nodes = source.body.nodes.len();
    let (new, old) = (&rewritten.model.tensors, &source.tensors);
    new.len() >= old.len()
        && old.iter().zip(new).all(|(old, new)| old.name == new.name)
        && rewritten.sources.len() == rewritten.model.body.nodes.len()
        && rewritten.stages.len() == rewritten.sources.len()
        && rewritten.sources.iter().flatten().all(|node| *node < nodes)
}

struct Writer<'a> {
    source: &'a Source<'a>,
    rewritten: &'a Rewritten,
    /// What each tensor is called in the file that is written.
    names: Vec<String>,
    parts: BTreeMap<TensorId, StoredPart>,
    /// Of stored tensors that are the same the first, which is stored.
    same: BTreeMap<TensorId, TensorId>,
    /// What somebody reads: in the source, and now.
    read_before: BTreeSet<TensorId>,
    read_now: BTreeSet<TensorId>,
    /// What nodes make now.
    made: BTreeSet<TensorId>,
}

/// The nodes of a graph as fields of it, and the stored tensors that they need beside those of the file.
#[derive(Default)]
struct Nodes {
    pieces: Pieces,
    needed: BTreeSet<TensorId>,
}

impl<'a> Writer<'a> {
    fn new(source: &'a Source<'a>, rewritten: &'a Rewritten) -> Self {
        let parts = stored_parts(rewritten, |part| source.can_store(part));
        let is_part = |node: &&ModelNode| is_part(node, &parts);
        let body = &rewritten.model.body;
        let read_now = read(body.nodes.iter().filter(|node| !is_part(node)), &body.outputs);
        let old = &source.model.body;
        let read_before = read(old.nodes.iter(), &old.outputs);
        let mut names = names(&rewritten.model, &source.origins);
        let same = same_stored(&rewritten.model, &parts, source.model.tensors.len());
        for (id, first) in &same {
            let name = names[first.index()].clone();
            names[id.index()] = name;
        }
        let made = body.nodes.iter().flat_map(|node| &node.outputs).flatten().copied().collect();
        Writer { source, rewritten, names, parts, same, read_before, read_now, made }
    }

    fn model(&self) -> Result<Pieces, OnnxError> {
        let mut pieces = Pieces::default();
        for field in fields(self.source.bytes, 0..self.source.bytes.len()) {
            let field = field?;
            match (field.number, &field.content) {
                (7, Content::Bytes(range)) => pieces.field(&field, self.graph(range.clone())?),
                (14, Content::Bytes(range)) if self.is_replaced(range)? => {}
                _ => pieces.same(field.whole),
            }
        }
        if !self.rewritten.regions.is_empty() {
            let ways: Vec<Way> = self.rewritten.regions.iter().map(|region| region.way).collect();
            let mut message = Pieces::default();
            message.fresh(regions_entry(self.source.regions.as_deref(), &ways).encode_to_vec());
            pieces.message(14, message);
        }
        Ok(pieces)
    }

    /// Whether an entry of the model is a note, or says what regions there were.
    fn is_replaced(&self, entry: &Range<usize>) -> Result<bool, Malformed> {
        let tells = !self.rewritten.regions.is_empty();
        let is_regions = tells && self.source.name(entry, 1)? == Some(REGIONS);
        Ok(is_regions || self.source.is_note(entry.clone())?)
    }

    fn graph(&self, range: Range<usize>) -> Result<Pieces, OnnxError> {
        let nodes = self.nodes()?;
        let (front, stored) = self.stored(&nodes.needed)?;
        let mut pieces = Pieces::default();
        let mut nodes = Some((front, nodes.pieces));
        let mut place = |pieces: &mut Pieces| {
            if let Some((front, nodes)) = nodes.take() {
                pieces.append(front);
                pieces.append(nodes);
            }
        };
        for field in fields(self.source.bytes, range) {
            let field = field?;
            match (field.number, &field.content) {
                (1, Content::Bytes(_)) => place(&mut pieces),
                (5, Content::Bytes(range)) if self.is_gone(self.source.name(range, 8)?) => {}
                (11, Content::Bytes(range)) if self.is_gone(self.source.name(range, 1)?) => {}
                (13, Content::Bytes(range)) if self.is_unmade(self.source.name(range, 1)?) => {}
                (14, Content::Bytes(range)) if self.is_unmade(self.source.name(range, 1)?) => {}
                (5, Content::Bytes(range)) => pieces.field(&field, self.without_notes(range, 16)?),
                (11..=13, Content::Bytes(range)) => {
                    pieces.field(&field, self.without_notes(range, 4)?);
                }
                _ => pieces.same(field.whole),
            }
        }
        place(&mut pieces);
        pieces.append(stored);
        Ok(pieces)
    }

    /// A message without the notes of plans that a field of it holds.
    fn without_notes(&self, message: &Range<usize>, notes: u64) -> Result<Pieces, OnnxError> {
        let mut pieces = Pieces::default();
        for field in fields(self.source.bytes, message.clone()) {
            let field = field?;
            match &field.content {
                Content::Bytes(range)
                    if field.number == notes && self.source.is_note(range.clone())? => {}
                _ => pieces.same(field.whole),
            }
        }
        Ok(pieces)
    }

    /// Whether a stored tensor was read, and is no longer.
    fn is_gone(&self, name: Option<&str>) -> bool {
        let id = name.and_then(|name| self.source.tensor(name));
        id.is_some_and(|id| {
            self.source.is_stored(id)
                && self.read_before.contains(&id)
                && !self.read_now.contains(&id)
        })
    }

    /// Whether nobody makes a tensor any longer.
    fn is_unmade(&self, name: Option<&str>) -> bool {
        let Some(id) = name.and_then(|name| self.source.tensor(name)) else { return false };
        self.is_gone(name) || self.source.is_made(id) && !self.made.contains(&id)
    }

    /// The nodes, those that are constants in front.
    fn nodes(&self) -> Result<Nodes, OnnxError> {
        let mut nodes = Nodes::default();
        self.constants(&mut nodes)?;
        let list = &self.rewritten.model.body.nodes;
        let mut at = 0;
        while at < list.len() {
            if let Some((file_node, count)) = self.call_at(at) {
                nodes.pieces.same(self.source.nodes[file_node].whole.clone());
                at += count;
                continue;
            }
            if !is_part(&list[at], &self.parts) {
                self.node(at, &mut nodes)?;
            }
            at += 1;
        }
        Ok(nodes)
    }

    /// Nodes of the file that make nothing but stored tensors, as far as they are read.
    fn constants(&self, nodes: &mut Nodes) -> Result<(), OnnxError> {
        let with_nodes: BTreeSet<usize> = self.source.origins.nodes().iter().copied().collect();
        for (index, node) in self.source.nodes.iter().enumerate() {
            let is_gone = |name: &String| self.is_gone(Some(name));
            let made = node.proto.output.iter().filter(|name| !name.is_empty());
            if with_nodes.contains(&index) || made.clone().count() > 0 && made.clone().all(is_gone)
            {
                continue;
            }
            let computed =
                |name: &&String| self.source.tensor(name).is_some_and(|id| self.source.is_made(id));
            if let Some(name) = node.proto.input.iter().find(computed) {
                let fault = format!("it makes a constant, but reads `{name}`");
                return Err(OnnxError::node(index, &node.proto, fault));
            }
            nodes.pieces.same(node.whole.clone());
        }
        Ok(())
    }

    /// The call of a function whose nodes begin there, if all of them are as they were; and how many there are.
    fn call_at(&self, at: usize) -> Option<(usize, usize)> {
        let first = self.rewritten.sources[at]?;
        let file_node = self.source.origins.nodes()[first];
        let range = self.source.call(file_node)?;
        let same = range.start == first
            && range.clone().enumerate().all(|(index, source)| {
                self.rewritten.sources.get(at + index) == Some(&Some(source))
                    && self.rewritten.model.body.nodes[at + index]
                        == self.source.model.body.nodes[source]
            });
        same.then_some((file_node, range.len()))
    }

    /// One node: carried over if its operator is that of its source, else emitted.
    fn node(&self, at: usize, nodes: &mut Nodes) -> Result<(), OnnxError> {
        let node = &self.rewritten.model.body.nodes[at];
        let source = self.rewritten.sources[at];
        if let Some(index) = source
            && let Some(carried) = self.carried(node, index)
        {
            self.need(carried.reads.iter().copied(), nodes);
            return Ok(self.carry(&carried, at, index, &mut nodes.pieces)?);
        }
        let fault = |fault: Fault| OnnxError::Node {
            name: node.name.clone(),
            index: at,
            kind: if node.kind.is_empty() { kind(&node.operator) } else { node.kind.clone() },
            fault: format!("it cannot be written: {fault}"),
        };
        self.emit(at, nodes).map_err(fault)
    }

    fn emit(&self, at: usize, nodes: &mut Nodes) -> Result<(), Fault> {
        let (model, source) = (&self.rewritten.model, self.rewritten.sources[at]);
        let node = &model.body.nodes[at];
        let version = self.source.version.ok_or("the file has no version of operators")?;
        let mut emitted = emit(model, node, version)?;
        while emitted.inputs.last() == Some(&None) {
            emitted.inputs.pop();
        }
        self.need(emitted.inputs.iter().flatten().copied(), nodes);
        let domain = Some(emitted.domain.to_owned()).filter(|domain| !domain.is_empty());
        let origin = source.map(|index| self.source_note(index));
        let proto = NodeProto {
            name: Some(node.name.clone()),
            op_type: Some(emitted.kind.to_owned()),
            domain,
            input: emitted.inputs.iter().map(|id| self.name(*id)).collect(),
            output: node.outputs.iter().map(|id| self.name(*id)).collect(),
            attribute: emitted.attributes,
            metadata_props: origin.into_iter().chain(self.step_note(at)).collect(),
            ..NodeProto::default()
        };
        let mut message = Pieces::default();
        message.fresh(proto.encode_to_vec());
        nodes.pieces.message(1, message);
        Ok(())
    }

    /// Keeps which of these tensors have to be stored.
    fn need(&self, tensors: impl Iterator<Item = TensorId>, nodes: &mut Nodes) {
        let is_stored = |id: &TensorId| {
            self.rewritten.model.tensor(*id).origin == Origin::Stored || self.parts.contains_key(id)
        };
        nodes.needed.extend(tensors.filter(is_stored));
    }

    /// What a node of the source says of where it comes from, or that it does itself.
    fn source_note(&self, index: usize) -> StringStringEntryProto {
        let node = &self.source.nodes[self.source.origins.nodes()[index]].proto;
        let name = said(node, SOURCE).unwrap_or(&self.source.model.body.nodes[index].name);
        entry(SOURCE, name.to_owned())
    }

    /// What a node says of the step that it is in, or its source does; regions of the file come first.
    fn step_note(&self, at: usize) -> Option<StringStringEntryProto> {
        if let Some(stage) = self.rewritten.stages[at] {
            let before = count(self.source.regions.as_deref());
            return Some(step_entry(Stage { region: before + stage.region, ..stage }));
        }
        let source = self.source.origins.nodes()[self.rewritten.sources[at]?];
        let step = said(&self.source.nodes[source].proto, STEP)?;
        Some(entry(STEP, step.to_owned()))
    }

    fn name(&self, id: Option<TensorId>) -> String {
        id.map_or_else(String::new, |id| self.names[id.index()].clone())
    }
}

/// For every part of a weight, and for every list of integers that a rewrite made, the first that is the same.
fn same_stored(
    model: &Model,
    parts: &BTreeMap<TensorId, StoredPart>,
    first_new: usize,
) -> BTreeMap<TensorId, TensorId> {
    let mut first_part: BTreeMap<&StoredPart, TensorId> = BTreeMap::new();
    let parts = parts.iter().map(|(id, part)| (*id, *first_part.entry(part).or_insert(*id)));
    let mut same: BTreeMap<TensorId, TensorId> = parts.collect();
    let mut first_list: BTreeMap<(usize, &[i64]), TensorId> = BTreeMap::new();
    for id in (first_new..model.tensors.len()).map(TensorId::new) {
        let Tensor { dtype, dims, content, .. } = model.tensor(id);
        if let (Some(Dtype::I64), Some(dims), Some(Elements::Ints(list))) = (dtype, dims, content) {
            same.insert(id, *first_list.entry((dims.len(), list)).or_insert(id));
        }
    }
    same
}

/// Whether a node takes a part of a weight that is stored.
fn is_part(node: &ModelNode, parts: &BTreeMap<TensorId, StoredPart>) -> bool {
    matches!(node.outputs[..], [Some(id)] if parts.contains_key(&id))
}

/// The tensors that nodes, their bodies or the boundary read.
fn read<'n>(
    nodes: impl Iterator<Item = &'n ModelNode>,
    outputs: &[TensorId],
) -> BTreeSet<TensorId> {
    let mut found: BTreeSet<TensorId> = outputs.iter().copied().collect();
    let mut body = |body: &Body| found.extend(read(body.nodes.iter(), &body.outputs));
    let mut inputs: Vec<TensorId> = Vec::new();
    for node in nodes {
        inputs.extend(node.inputs.iter().flatten());
        match &node.operator {
            Operator::If(branches) => {
                body(&branches.then);
                body(&branches.otherwise);
            }
            Operator::Loop(inner) => body(inner),
            Operator::Scan(scan) => body(&scan.body),
            _ => {}
        }
    }
    found.extend(inputs);
    found
}

/// What an operator is called that has no name of its own: its variant.
fn kind(operator: &Operator) -> String {
    let text = format!("{operator:?}");
    text.split(|letter: char| !letter.is_ascii_alphanumeric()).next().unwrap_or_default().to_owned()
}
