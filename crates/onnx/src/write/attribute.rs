//! Attributes, to be written.

use bytes::Bytes;

use crate::proto::attribute_proto::AttributeType;
use crate::proto::{AttributeProto, TensorProto};

/// An attribute of a type, without a value.
pub(crate) fn attribute(name: &str, of: AttributeType) -> AttributeProto {
    let name = Some(name.to_owned());
    AttributeProto { name, r#type: Some(of.into()), ..AttributeProto::default() }
}

/// An attribute that is an integer.
#[must_use]
pub fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..attribute(name, AttributeType::Int) }
}

/// An attribute that is a list of integers.
#[must_use]
pub fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { ints: values.to_vec(), ..attribute(name, AttributeType::Ints) }
}

/// An attribute that is a number.
#[must_use]
pub fn float(name: &str, value: f32) -> AttributeProto {
    AttributeProto { f: Some(value), ..attribute(name, AttributeType::Float) }
}

/// An attribute that is a list of numbers.
#[must_use]
pub fn floats(name: &str, values: &[f32]) -> AttributeProto {
    AttributeProto { floats: values.to_vec(), ..attribute(name, AttributeType::Floats) }
}

/// An attribute that is text.
#[must_use]
pub fn text(name: &str, value: &str) -> AttributeProto {
    let value = Bytes::copy_from_slice(value.as_bytes());
    AttributeProto { s: Some(value), ..attribute(name, AttributeType::String) }
}

/// An attribute that is a tensor.
#[must_use]
pub fn tensor(name: &str, value: TensorProto) -> AttributeProto {
    AttributeProto { t: Some(Box::new(value)), ..attribute(name, AttributeType::Tensor) }
}
