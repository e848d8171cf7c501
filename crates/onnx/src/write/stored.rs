//! Stored tensors that a file has beside those that it had: parts of weights, and small constants.

use std::collections::BTreeSet;

use plimsoll_graph::Dtype;
use plimsoll_model::{Axis, Content, Model, Tensor, TensorId};
use plimsoll_rewrite::StoredPart;
use prost::Message;

use super::Writer;
use super::attribute::attribute;
use super::emit::number;
use super::source::StoredAt;
use crate::error::{Fault, OnnxError};
use crate::proto::attribute_proto::AttributeType;
use crate::proto::tensor_proto::DataLocation;
use crate::proto::{NodeProto, StringStringEntryProto, TensorProto};
use crate::tensor::element_bytes;
use crate::wire::{Pieces, last_bytes, push_varint};

/// A block of a tensor as ranges of its bytes.
pub(super) struct Runs {
    /// How many there are.
    pub(super) count: u64,
    /// How long each is.
    bytes: u64,
    /// Whole and part, up to the last axis of which only a part is taken.
    axes: Vec<(u64, u64, u64)>,
}

impl Runs {
    /// The ranges of a part; `None` if elements are no whole bytes, or the dims are not known.
    pub(super) fn new(model: &Model, part: &StoredPart) -> Option<Self> {
        let tensor = model.tensor(part.weight);
        let width = tensor.dtype.filter(|dtype| dtype.bits() % 8 == 0)?.bits() / 8;
        let known = |axis: &Axis| if let Axis::Known(dim) = axis { Some(*dim) } else { None };
        let dims: Vec<u64> = tensor.dims.as_ref()?.iter().map(known).collect::<Option<_>>()?;
        let cut = (0..dims.len()).rposition(|axis| dims[axis] != part.dims[axis]).unwrap_or(0);
        let inner: u64 = width * dims.get(cut + 1..).unwrap_or_default().iter().product::<u64>();
        let mut stride = inner;
        let mut axes = Vec::new();
        for axis in (0..dims.len().min(cut + 1)).rev() {
            axes.push((stride, part.starts[axis], part.dims[axis]));
            stride *= dims[axis];
        }
        let bytes = inner * part.dims.get(cut).copied().unwrap_or(1);
        let count = part.dims.iter().take(cut).product();
        Some(Runs { count, bytes, axes })
    }

    /// Where each begins.
    fn starts(&self) -> impl Iterator<Item = u64> + '_ {
        let first: u64 = self.axes.iter().map(|(stride, start, _)| stride * start).sum();
        (0..self.count).map(move |index| {
            let mut left = index;
            let outer = self.axes.iter().skip(1).map(|(stride, _, length)| {
                let at = left % length;
                left /= length;
                at * stride
            });
            first + outer.sum::<u64>()
        })
    }
}

impl Writer<'_> {
    /// The stored tensors that nodes need and the file does not have: as nodes, and as fields of the graph.
    pub(super) fn stored(
        &self,
        needed: &BTreeSet<TensorId>,
    ) -> Result<(Pieces, Pieces), OnnxError> {
        let (mut nodes, mut fields) = (Pieces::default(), Pieces::default());
        let in_file = |id: &TensorId| self.source.tensor(&self.names[id.index()]) == Some(*id);
        let needed = needed.iter().map(|id| *self.same.get(id).unwrap_or(id));
        let needed: BTreeSet<TensorId> = needed.filter(|id| !in_file(id)).collect();
        for id in needed {
            let name = &self.names[id.index()];
            let message = match self.parts.get(&id) {
                Some(part) => self.part(name, part),
                None => small(self.rewritten.model.tensor(id), name),
            };
            let message = message.map_err(|fault| OnnxError::tensor(name, fault))?;
            if self.source.lists_weights {
                nodes.message(1, constant(name, message));
            } else {
                fields.message(5, message);
            }
        }
        Ok((nodes, fields))
    }

    /// A part of a weight under a name.
    fn part(&self, name: &str, part: &StoredPart) -> Result<Pieces, Fault> {
        let lost = || "it is a part of a weight that is not in the file".to_owned();
        let at = self.source.stored(part.weight).ok_or_else(lost)?;
        let runs = Runs::new(&self.source.model, part).ok_or_else(lost)?;
        let mut proto = TensorProto {
            name: Some(name.to_owned()),
            dims: part.dims.iter().map(|dim| dim.cast_signed()).collect(),
            data_type: at.proto.data_type,
            ..TensorProto::default()
        };
        if at.proto.data_location() == DataLocation::External {
            let start = runs.starts().next().unwrap_or(0);
            proto.data_location = Some(DataLocation::External.into());
            proto.external_data = range_of(&at.proto, start, runs.bytes)?;
        }
        let mut pieces = Pieces::default();
        pieces.fresh(proto.encode_to_vec());
        if at.proto.data_location() == DataLocation::Default {
            self.data(at, &runs, part, &mut pieces)?;
        }
        Ok(pieces)
    }

    /// The data of a part, as a field of its message.
    fn data(
        &self,
        at: &StoredAt,
        runs: &Runs,
        part: &StoredPart,
        pieces: &mut Pieces,
    ) -> Result<(), Fault> {
        let mut head = Vec::new();
        push_varint(&mut head, 9 << 3 | 2);
        push_varint(&mut head, runs.count * runs.bytes);
        pieces.fresh(head);
        let raw = last_bytes(self.source.bytes, at.message.clone(), 9).map_err(|fault| fault.0)?;
        if let Some(raw) = raw.filter(|raw| !raw.is_empty()) {
            for start in runs.starts() {
                let start = raw.start + start as usize;
                pieces.same(start..start + runs.bytes as usize);
            }
            return Ok(());
        }
        let dtype = self.source.model.tensor(part.weight).dtype.unwrap_or(Dtype::F32);
        let bytes = element_bytes(&at.proto, dtype);
        for start in runs.starts() {
            pieces.fresh(bytes[start as usize..(start + runs.bytes) as usize].to_vec());
        }
        Ok(())
    }
}

/// Where data in another file are, of which only a range is meant.
fn range_of(
    tensor: &TensorProto,
    start: u64,
    bytes: u64,
) -> Result<Vec<StringStringEntryProto>, Fault> {
    let old = tensor.external_data.iter().find(|entry| entry.key() == "offset");
    let old = old.map_or(Ok(0), |entry| entry.value().parse::<u64>());
    let old = old.map_err(|_| "the offset of its data is no number".to_owned())?;
    let entry = |key: &str, value: u64| StringStringEntryProto {
        key: Some(key.to_owned()),
        value: Some(value.to_string()),
    };
    // A checksum is of the whole.
    let kept = tensor.external_data.iter().filter(|entry| entry.key() == "location");
    let offset = old.checked_add(start).ok_or("the offset of its data is too large")?;
    Ok(kept.cloned().chain([entry("offset", offset), entry("length", bytes)]).collect())
}

/// A constant whose elements are known.
fn small(tensor: &Tensor, name: &str) -> Result<Pieces, Fault> {
    let unknown = || "it is no weight of the file, and its elements are not known".to_owned();
    let dtype = tensor.dtype.ok_or_else(unknown)?;
    let known =
        |axis: &Axis| if let Axis::Known(dim) = axis { Some(dim.cast_signed()) } else { None };
    let dims = tensor.dims.iter().flatten().map(known).collect::<Option<_>>();
    let content = tensor.content.as_ref().ok_or_else(unknown)?;
    let proto = TensorProto {
        name: Some(name.to_owned()),
        dims: dims.ok_or_else(unknown)?,
        data_type: Some(number(dtype) as i32),
        raw_data: Some(raw(dtype, content).ok_or_else(unknown)?.into()),
        ..TensorProto::default()
    };
    let mut pieces = Pieces::default();
    pieces.fresh(proto.encode_to_vec());
    Ok(pieces)
}

/// Elements as bytes, the least first, of the types that new constants have.
fn raw(dtype: Dtype, content: &Content) -> Option<Vec<u8>> {
    Some(match (dtype, content) {
        (Dtype::F32, Content::Floats(list)) => {
            list.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect()
        }
        (Dtype::F64, Content::Floats(list)) => {
            list.iter().flat_map(|value| value.to_le_bytes()).collect()
        }
        (Dtype::I64, Content::Ints(list)) => {
            list.iter().flat_map(|value| value.to_le_bytes()).collect()
        }
        (Dtype::I32, Content::Ints(list)) => {
            list.iter().flat_map(|value| (*value as i32).to_le_bytes()).collect()
        }
        (Dtype::Bool | Dtype::U8 | Dtype::I8, Content::Ints(list)) => {
            list.iter().map(|value| value.cast_unsigned() as u8).collect()
        }
        (Dtype::F16, Content::Floats(list)) => {
            list.iter().flat_map(|value| half_bits(*value).to_le_bytes()).collect()
        }
        _ => return None,
    })
}

/// A number of 16 bits that holds the value, which was one.
fn half_bits(value: f64) -> u16 {
    let found = (0..=u16::MAX).find(|bits| crate::tensor::half(*bits).to_bits() == value.to_bits());
    found.unwrap_or(0x7e00)
}

/// A node that makes a stored tensor.
fn constant(name: &str, tensor: Pieces) -> Pieces {
    let node = NodeProto {
        op_type: Some("Constant".to_owned()),
        output: vec![name.to_owned()],
        ..NodeProto::default()
    };
    let mut value = Pieces::default();
    value.fresh(attribute("value", AttributeType::Tensor).encode_to_vec());
    value.message(5, tensor);
    let mut pieces = Pieces::default();
    pieces.fresh(node.encode_to_vec());
    pieces.message(5, value);
    pieces
}
