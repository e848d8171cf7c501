//! How much memory a file takes once it is decoded, known before it is.
//!
//! An empty message takes two bytes in a file and hundreds in memory: a few megabytes of them
//! would fill any machine. So the fields are walked once without keeping anything, which costs no
//! more than decoding does, and a file that is too heavy is turned away.

use std::mem::size_of;
use std::ops::Range;

use crate::error::Malformed;
use crate::proto::{
    AttributeProto, DeviceConfigurationProto, FunctionProto, GraphProto, IntIntListEntryProto,
    NodeDeviceConfigurationProto, NodeProto, OperatorSetIdProto, ShardedDimProto,
    ShardingSpecProto, SimpleShardedDimProto, SparseTensorProto, StringStringEntryProto,
    TensorAnnotation, TensorProto, TensorShapeProto, TrainingInfoProto, TypeProto, ValueInfoProto,
    tensor_proto, tensor_shape_proto, type_proto,
};
use crate::tensor::most_raw_bytes;

/// How deep messages may be nested: as deep as the decoder goes.
const MOST_LEVELS: usize = 100;
/// A field that is a list or text, without what is in it.
const FIELD: u64 = 32;

/// Bytes that the walk goes over from the first to the last.
pub(crate) trait Source {
    /// What can go wrong beside the form.
    type Error: From<Malformed>;

    /// Where it is.
    fn at(&self) -> u64;

    /// Takes the next byte, of which there is one.
    fn byte(&mut self) -> Result<u8, Self::Error>;

    /// Goes over bytes that somebody looks at later.
    fn pass(&mut self, to: u64) -> Result<(), Self::Error>;

    /// Goes past bytes that nobody looks at, unless they turn out to be wanted.
    fn leave(&mut self, to: u64);

    /// Some that were left, and are looked at after all.
    fn want(&mut self, left: Range<u64>) -> Result<(), Self::Error>;
}

/// Bytes in memory.
pub(crate) struct Memory<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Memory<'b> {
    /// From the first on.
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Memory { bytes, at: 0 }
    }
}

impl Source for Memory<'_> {
    type Error = Malformed;

    fn at(&self) -> u64 {
        self.at as u64
    }

    fn byte(&mut self) -> Result<u8, Malformed> {
        self.at += 1;
        Ok(self.bytes[self.at - 1])
    }

    fn pass(&mut self, to: u64) -> Result<(), Malformed> {
        self.at = to as usize;
        Ok(())
    }

    fn leave(&mut self, to: u64) {
        self.at = to as usize;
    }

    fn want(&mut self, _: Range<u64>) -> Result<(), Malformed> {
        Ok(())
    }
}

/// At least as many bytes as the decoded model takes, without what is not copied. So many bytes are
/// the file's.
pub(crate) fn weight<S: Source>(source: &mut S, length: u64) -> Result<u64, S::Error> {
    Walk { source }.message(Kind::Model, length, 0)
}

/// The messages, as far as they differ in what is inside of them.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Model,
    Graph,
    Function,
    Training,
    Node,
    NodeDevice,
    Sharding,
    ShardedDim,
    Pairs,
    Attribute,
    Tensor,
    Sparse,
    Value,
    Type,
    TensorType,
    /// A type made of another, which is its first field.
    Holder,
    /// A type made of another, which is its second field.
    Map,
    Shape,
    Annotation,
    Leaf,
}

/// The message that a field holds, and its size.
fn inner(kind: Kind, field: u64) -> Option<(Kind, usize)> {
    Some(match (kind, field) {
        (Kind::Model, 7) | (Kind::Attribute, 6 | 11) | (Kind::Training, 1 | 2) => {
            (Kind::Graph, size_of::<GraphProto>())
        }
        (Kind::Model, 8) | (Kind::Function, 9) => (Kind::Leaf, size_of::<OperatorSetIdProto>()),
        (Kind::Model | Kind::Function, 14)
        | (Kind::Training, 3 | 4)
        | (Kind::Graph, 16)
        | (Kind::Node, 9)
        | (Kind::Tensor, 13 | 16)
        | (Kind::Value, 4)
        | (Kind::Annotation, 2) => (Kind::Leaf, size_of::<StringStringEntryProto>()),
        (Kind::Model, 20) => (Kind::Training, size_of::<TrainingInfoProto>()),
        (Kind::Model, 25) => (Kind::Function, size_of::<FunctionProto>()),
        (Kind::Model, 26) => (Kind::Leaf, size_of::<DeviceConfigurationProto>()),
        (Kind::Graph, 1) | (Kind::Function, 7) => (Kind::Node, size_of::<NodeProto>()),
        (Kind::Graph, 5) | (Kind::Attribute, 5 | 10) | (Kind::Sparse, 1 | 2) => {
            (Kind::Tensor, size_of::<TensorProto>())
        }
        (Kind::Graph, 15) | (Kind::Attribute, 22 | 23) => {
            (Kind::Sparse, size_of::<SparseTensorProto>())
        }
        (Kind::Graph, 11..=13) | (Kind::Function, 12) => (Kind::Value, size_of::<ValueInfoProto>()),
        (Kind::Graph, 14) => (Kind::Annotation, size_of::<TensorAnnotation>()),
        (Kind::Node, 5) | (Kind::Function, 11) => (Kind::Attribute, size_of::<AttributeProto>()),
        (Kind::Node, 10) => (Kind::NodeDevice, size_of::<NodeDeviceConfigurationProto>()),
        (Kind::NodeDevice, 2) => (Kind::Sharding, size_of::<ShardingSpecProto>()),
        (Kind::Sharding, 3) => (Kind::Pairs, size_of::<IntIntListEntryProto>()),
        (Kind::Sharding, 4) => (Kind::ShardedDim, size_of::<ShardedDimProto>()),
        (Kind::ShardedDim, 2) => (Kind::Leaf, size_of::<SimpleShardedDimProto>()),
        (Kind::Tensor, 3) => (Kind::Leaf, size_of::<tensor_proto::Segment>()),
        (Kind::Attribute, 14 | 15) | (Kind::Value | Kind::Map, 2) | (Kind::Holder, 1) => {
            (Kind::Type, size_of::<TypeProto>())
        }
        (Kind::Type, 1 | 8) => (Kind::TensorType, size_of::<type_proto::Tensor>()),
        (Kind::Type, 4 | 9) => (Kind::Holder, size_of::<type_proto::Sequence>()),
        (Kind::Type, 5) => (Kind::Map, size_of::<type_proto::Map>()),
        (Kind::Type, 7) => (Kind::Leaf, size_of::<type_proto::Opaque>()),
        (Kind::TensorType, 2) => (Kind::Shape, size_of::<TensorShapeProto>()),
        (Kind::Shape, 1) => (Kind::Leaf, size_of::<tensor_shape_proto::Dimension>()),
        _ => return None,
    })
}

/// What a field takes that holds so many bytes and no message.
fn plain(kind: Kind, field: u64, length: u64) -> u64 {
    match (kind, field) {
        // Numbers of a byte each that become eight.
        (Kind::Tensor, 1 | 5 | 7 | 11)
        | (Kind::Attribute, 8)
        | (Kind::Sharding | Kind::Pairs, 2) => FIELD + 8 * length,
        // Text, or numbers that are as long in the file.
        _ => FIELD + length,
    }
}

struct Walk<'s, S> {
    source: &'s mut S,
}

/// What a tensor says of its data.
#[derive(Default)]
struct Data {
    /// Where they are, once for each time that they are there: the last counts.
    raw: Vec<Range<u64>>,
    /// The number of their type.
    dtype: Option<u64>,
}

impl<S: Source> Walk<'_, S> {
    /// The weight of what is in a message that ends there.
    fn message(&mut self, kind: Kind, end: u64, level: usize) -> Result<u64, S::Error> {
        if level > MOST_LEVELS {
            return Err(Malformed("messages are nested too deeply").into());
        }
        let mut sum = 0;
        let mut data = Data::default();
        let mut tensors = 0;
        // Groups are no longer in use; the decoder skips them, and so do we.
        let mut groups = 0usize;
        while self.source.at() < end {
            let key = self.number(end)?;
            let field = key >> 3;
            match key & 7 {
                0 => {
                    let number = self.number(end)?;
                    if (kind, field, groups) == (Kind::Tensor, 2, 0) {
                        data.dtype = Some(number);
                    }
                    sum += 8;
                }
                wire @ (1 | 5) => {
                    let stop = self.ahead(if wire == 1 { 8 } else { 4 }, end)?;
                    self.source.pass(stop)?;
                    sum += 8;
                }
                2 => {
                    let length = self.number(end)?;
                    let stop = self.ahead(length, end)?;
                    tensors += usize::from((kind, field, groups) == (Kind::Attribute, 5, 0));
                    match inner(kind, field).filter(|_| groups == 0) {
                        Some((inner, size)) => {
                            sum += size as u64 + self.message(inner, stop, level + 1)?;
                        }
                        None if (kind, field, groups) == (Kind::Tensor, 9, 0) => {
                            data.raw.push(self.source.at()..stop);
                            self.source.leave(stop);
                            sum += FIELD;
                        }
                        None => {
                            self.source.pass(stop)?;
                            sum += if groups == 0 { plain(kind, field, length) } else { 0 };
                        }
                    }
                }
                3 => groups += 1,
                4 => {
                    let fault = Malformed("a group ends before it begins");
                    groups = groups.checked_sub(1).ok_or(fault)?;
                }
                _ => return Err(Malformed("a field is of no known wire type").into()),
            }
        }
        if groups > 0 {
            return Err(Malformed("a group has no end").into());
        }
        // What they are together, nobody could say before both have been read.
        if tensors > 1 {
            return Err(Malformed("a tensor is in several parts").into());
        }
        self.want(data)?;
        Ok(sum)
    }

    /// Data that are so few that they are read.
    fn want(&mut self, data: Data) -> Result<(), S::Error> {
        let most = most_raw_bytes(data.dtype);
        for raw in data.raw.into_iter().filter(|raw| raw.end - raw.start <= most) {
            self.source.want(raw)?;
        }
        Ok(())
    }

    /// Takes a number that lies before that end.
    fn number(&mut self, end: u64) -> Result<u64, S::Error> {
        let mut value = 0;
        for index in 0..10 {
            if self.source.at() >= end {
                return Err(Malformed("it ends inside of a number").into());
            }
            let byte = self.source.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed("a number is too long").into())
    }

    /// Where so many bytes end, if that is before that end.
    fn ahead(&self, length: u64, end: u64) -> Result<u64, S::Error> {
        let stop = self.source.at().checked_add(length).filter(|stop| *stop <= end);
        Ok(stop.ok_or(Malformed("it ends inside of a field"))?)
    }
}

/// Takes a number off the front.
pub(crate) fn varint(rest: &mut &[u8]) -> Result<u64, Malformed> {
    let mut value = 0;
    for (index, byte) in rest.iter().take(10).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            *rest = &rest[index + 1..];
            return Ok(value);
        }
    }
    let cut = rest.len() < 10;
    Err(Malformed(if cut { "it ends inside of a number" } else { "a number is too long" }))
}

/// Takes so many bytes off the front.
pub(crate) fn take<'b>(rest: &mut &'b [u8], length: u64) -> Result<&'b [u8], Malformed> {
    let split = usize::try_from(length).ok().and_then(|length| rest.split_at_checked(length));
    let (taken, behind) = split.ok_or(Malformed("it ends inside of a field"))?;
    *rest = behind;
    Ok(taken)
}
