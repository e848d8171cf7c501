//! How much memory a file takes once it is decoded, known before it is.
//!
//! An empty message takes two bytes in a file and hundreds in memory: a few megabytes of them
//! would fill any machine. So the fields are walked once without keeping anything, which costs no
//! more than decoding does, and a file that is too heavy is turned away.

use std::mem::size_of;

use crate::proto::{
    AttributeProto, DeviceConfigurationProto, FunctionProto, GraphProto, IntIntListEntryProto,
    NodeDeviceConfigurationProto, NodeProto, OperatorSetIdProto, ShardedDimProto,
    ShardingSpecProto, SimpleShardedDimProto, SparseTensorProto, StringStringEntryProto,
    TensorAnnotation, TensorProto, TensorShapeProto, TrainingInfoProto, TypeProto, ValueInfoProto,
    tensor_proto, tensor_shape_proto, type_proto,
};

/// How deep messages may be nested: as deep as the decoder goes.
const MOST_LEVELS: usize = 100;
/// A field that is a list or text, without what is in it.
const FIELD: u64 = 32;

/// Bytes that are no protobuf.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed(pub(crate) &'static str);

/// At least as many bytes as the decoded model takes, without what is not copied.
pub(crate) fn weight(bytes: &[u8]) -> Result<u64, Malformed> {
    walk(bytes, Kind::Model, 0)
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
fn plain(kind: Kind, field: u64, length: usize) -> u64 {
    match (kind, field) {
        // Raw data are not copied.
        (Kind::Tensor, 9) => FIELD,
        // Numbers of a byte each that become eight.
        (Kind::Tensor, 1 | 5 | 7 | 11)
        | (Kind::Attribute, 8)
        | (Kind::Sharding | Kind::Pairs, 2) => FIELD + 8 * length as u64,
        // Text, or numbers that are as long in the file.
        _ => FIELD + length as u64,
    }
}

fn walk(bytes: &[u8], kind: Kind, level: usize) -> Result<u64, Malformed> {
    if level > MOST_LEVELS {
        return Err(Malformed("messages are nested too deeply"));
    }
    let mut rest = bytes;
    let mut sum = 0;
    // Groups are no longer in use; the decoder skips them, and so do we.
    let mut groups = 0usize;
    while !rest.is_empty() {
        let key = varint(&mut rest)?;
        let field = key >> 3;
        match key & 7 {
            0 => {
                varint(&mut rest)?;
                sum += 8;
            }
            1 => {
                take(&mut rest, 8)?;
                sum += 8;
            }
            2 => {
                let length = varint(&mut rest)?;
                let content = take(&mut rest, length)?;
                if groups > 0 {
                    continue;
                }
                sum += match inner(kind, field) {
                    Some((inner, size)) => size as u64 + walk(content, inner, level + 1)?,
                    None => plain(kind, field, content.len()),
                };
            }
            3 => groups += 1,
            4 => {
                groups = groups.checked_sub(1).ok_or(Malformed("a group ends before it begins"))?;
            }
            5 => {
                take(&mut rest, 4)?;
                sum += 8;
            }
            _ => return Err(Malformed("a field is of no known wire type")),
        }
    }
    if groups > 0 { Err(Malformed("a group has no end")) } else { Ok(sum) }
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
