//! Nodes that are carried over: the bytes of a node of the file, with other names where tensors are others.

use std::ops::Range;

use plimsoll_model::{ModelNode, TensorId};
use prost::Message;

use super::Writer;
use crate::error::Malformed;
use crate::proto::NodeProto;
use crate::stages::{SOURCE, is_of_stages, said};
use crate::wire::{Content, Pieces, fields, push_bytes};

/// What a node of the file reads and makes in its new place.
pub(super) struct Carried {
    pub(super) reads: Vec<TensorId>,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

type Operands = [Option<TensorId>];

impl Writer<'_> {
    /// What the names of a node's source have to become; `None` if other names alone do not make it.
    pub(super) fn carried(&self, node: &ModelNode, source: usize) -> Option<Carried> {
        let old = &self.source.model.body.nodes[source];
        let at = self.source.origins.nodes()[source];
        let same_form = node.operator == old.operator && node.outputs.len() == old.outputs.len();
        if !same_form || self.source.call(at).is_some() {
            return None;
        }
        let proto = &self.source.nodes[at].proto;
        let mut inputs: Vec<Option<TensorId>> =
            proto.input.iter().map(|name| self.source.tensor(name)).collect();
        let inputs = {
            let length = inputs.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
            inputs.truncate(length);
            by_place(&inputs, &old.inputs, &node.inputs)
                .or_else(|| by_tensor(&inputs, &old.inputs, &node.inputs))?
        };
        let outputs = proto.output.iter().enumerate();
        let outputs = outputs.map(|(slot, _)| self.name(node.outputs.get(slot).copied().flatten()));
        Some(Carried {
            reads: inputs.iter().flatten().copied().collect(),
            inputs: inputs.iter().map(|id| self.name(*id)).collect(),
            outputs: outputs.collect(),
        })
    }

    /// Appends the node; as it is if its names are the same.
    pub(super) fn carry(
        &self,
        carried: &Carried,
        at: usize,
        source: usize,
        pieces: &mut Pieces,
    ) -> Result<(), Malformed> {
        let node = &self.rewritten.model.body.nodes[at];
        let file_node = &self.source.nodes[self.source.origins.nodes()[source]];
        let is_same_node = node.name == self.source.model.body.nodes[source].name;
        let is_in_step = self.rewritten.stages[at].is_some();
        let has_notes = self.has_notes(file_node.message.clone())?;
        if is_same_node && !is_in_step && !has_notes && has_names(&file_node.proto, carried) {
            pieces.same(file_node.whole.clone());
            return Ok(());
        }
        let mut fresh = Vec::new();
        carried.inputs.iter().for_each(|name| push_bytes(&mut fresh, 1, name.as_bytes()));
        carried.outputs.iter().for_each(|name| push_bytes(&mut fresh, 2, name.as_bytes()));
        let name = if is_same_node && !is_in_step { file_node.proto.name() } else { &node.name };
        push_bytes(&mut fresh, 3, name.as_bytes());
        let mut message = Pieces::default();
        message.fresh(fresh);
        for field in fields(self.source.bytes, file_node.message.clone()) {
            let field = field?;
            match (field.number, &field.content) {
                (1..=3, Content::Bytes(_)) => {}
                (9, Content::Bytes(range)) if self.is_ours(range.clone())? => {}
                _ => message.same(field.whole),
            }
        }
        let tells = !is_same_node || is_in_step || said(&file_node.proto, SOURCE).is_some();
        let origin = tells.then(|| self.source_note(source));
        for entry in origin.into_iter().chain(self.step_note(at)) {
            let mut bytes = Vec::new();
            push_bytes(&mut bytes, 9, &entry.encode_to_vec());
            message.fresh(bytes);
        }
        pieces.message(1, message);
        Ok(())
    }

    /// Whether an entry is a note, of a plan or of where a node comes from.
    fn is_ours(&self, range: Range<usize>) -> Result<bool, Malformed> {
        let is_of_stages = self.source.name(&range, 1)?.is_some_and(is_of_stages);
        Ok(is_of_stages || self.source.is_note(range)?)
    }

    /// Whether a node has notes of a plan, which hold no longer.
    fn has_notes(&self, node: Range<usize>) -> Result<bool, Malformed> {
        for field in fields(self.source.bytes, node) {
            let field = field?;
            if let (9, Content::Bytes(range)) = (field.number, field.content)
                && self.source.is_note(range)?
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Whether a node has these names already, apart from operands at its end that are absent.
fn has_names(node: &NodeProto, carried: &Carried) -> bool {
    let read = node.input.len().max(carried.inputs.len());
    let name = |list: &[String], slot: usize| list.get(slot).cloned().unwrap_or_default();
    (0..read).all(|slot| name(&node.input, slot) == name(&carried.inputs, slot))
        && node.output == carried.outputs
}

/// The operands of a node of the file if those of the old node are the same in the same places, with what was an
/// attribute or is captured behind them.
fn by_place(file: &Operands, old: &Operands, new: &Operands) -> Option<Vec<Option<TensorId>>> {
    let behind = file.len();
    let is_aligned = old.len() >= behind && old[..behind] == *file && new.len() == old.len();
    (is_aligned && old[behind..] == new[behind..]).then(|| new[..behind].to_vec())
}

/// The operands of a node of the file whose places are others than those of the old node: every tensor becomes what
/// it became there, if that is one.
fn by_tensor(file: &Operands, old: &Operands, new: &Operands) -> Option<Vec<Option<TensorId>>> {
    if old.len() != new.len() {
        return None;
    }
    let becomes = |id: TensorId| {
        let mut places = old.iter().zip(new).filter(|(old, _)| **old == Some(id));
        let first = *places.next()?.1;
        places.all(|(_, new)| *new == first).then_some(first)
    };
    let of_file = |id: &Option<TensorId>| file.contains(id);
    let same_rest = old.iter().zip(new).all(|(old, new)| of_file(old) || old == new);
    let operands = file.iter().map(|id| id.map_or(Some(None), becomes));
    operands.collect::<Option<_>>().filter(|_| same_rest)
}
