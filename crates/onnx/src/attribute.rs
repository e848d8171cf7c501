//! Attributes of nodes, by name and type.

use std::collections::HashMap;
use std::str;

use plimsoll_graph::Dtype;

use crate::dtype::dtype;
use crate::error::Fault;
use crate::proto::attribute_proto::AttributeType;
use crate::proto::{AttributeProto, GraphProto, NodeProto, TensorProto};
use crate::tensor::content_bytes;

/// What a function was called with, by the names that its nodes refer to.
pub(crate) type Given<'m> = HashMap<&'m str, &'m AttributeProto>;

/// The attributes of one node, where none refers to another any more.
pub(crate) struct Attributes<'m> {
    list: Vec<(&'m str, &'m AttributeProto)>,
    /// How many bytes those take that are put in for references.
    pub(crate) put_in: u64,
}

impl<'m> Attributes<'m> {
    /// Those of a node. Inside of a function, what it was called with is put in.
    pub(crate) fn of(node: &'m NodeProto, given: &Given<'m>) -> Result<Self, Fault> {
        let mut list = Vec::with_capacity(node.attribute.len());
        let mut put_in = 0;
        for attribute in &node.attribute {
            let reference = attribute.ref_attr_name();
            if reference.is_empty() {
                list.push((attribute.name(), attribute));
            } else if let Some(value) = given.get(reference) {
                if value.g.is_some() {
                    return Err(format!("`{reference}` is a graph that is handed to a function"));
                }
                list.push((attribute.name(), *value));
                put_in += attribute_bytes(value);
            }
        }
        Ok(Attributes { list, put_in })
    }

    /// All of them, by name.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'m str, &'m AttributeProto)> {
        self.list.iter().copied()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.list.iter().any(|(other, _)| *other == name)
    }

    /// The attribute of a name, if it is there, which must be of the type.
    fn get(&self, name: &str, of: AttributeType) -> Result<Option<&'m AttributeProto>, Fault> {
        let Some((_, found)) = self.list.iter().find(|(other, _)| *other == name) else {
            return Ok(None);
        };
        // Files of the first editions do not say the type.
        match found.r#type() {
            AttributeType::Undefined => Ok(Some(found)),
            other if other == of => Ok(Some(found)),
            _ => Err(format!("attribute `{name}` is not {}", words(of))),
        }
    }

    pub(crate) fn int(&self, name: &str) -> Result<Option<i64>, Fault> {
        Ok(self.get(name, AttributeType::Int)?.map(AttributeProto::i))
    }

    pub(crate) fn int_or(&self, name: &str, default: i64) -> Result<i64, Fault> {
        Ok(self.int(name)?.unwrap_or(default))
    }

    /// A number that is there, and not negative.
    pub(crate) fn count(&self, name: &str) -> Result<Option<u64>, Fault> {
        self.int(name)?.map(|value| not_negative(name, value)).transpose()
    }

    /// A number that other than 0 means yes.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Result<bool, Fault> {
        Ok(self.int(name)?.map_or(default, |value| value != 0))
    }

    pub(crate) fn ints(&self, name: &str) -> Result<Option<&'m [i64]>, Fault> {
        Ok(self.get(name, AttributeType::Ints)?.map(|found| &found.ints[..]))
    }

    /// Numbers that are not negative.
    pub(crate) fn counts(&self, name: &str) -> Result<Option<Vec<u64>>, Fault> {
        let Some(ints) = self.ints(name)? else { return Ok(None) };
        ints.iter().map(|value| not_negative(name, *value)).collect::<Result<_, _>>().map(Some)
    }

    pub(crate) fn float(&self, name: &str) -> Result<Option<f64>, Fault> {
        Ok(self.get(name, AttributeType::Float)?.map(|found| f64::from(found.f())))
    }

    /// A number as it is in the file, or what is meant without one.
    pub(crate) fn number(&self, name: &str, default: f32) -> Result<f32, Fault> {
        Ok(self.get(name, AttributeType::Float)?.map_or(default, AttributeProto::f))
    }

    pub(crate) fn floats(&self, name: &str) -> Result<Option<Vec<f64>>, Fault> {
        let found = self.get(name, AttributeType::Floats)?;
        Ok(found.map(|found| found.floats.iter().map(|value| f64::from(*value)).collect()))
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&'m str>, Fault> {
        let Some(found) = self.get(name, AttributeType::String)? else { return Ok(None) };
        let text = str::from_utf8(found.s.as_deref().unwrap_or_default());
        text.map(Some).map_err(|_| format!("attribute `{name}` is not text"))
    }

    /// What a text stands for, of which there are a few. The first is meant without one.
    pub(crate) fn choice<T: Copy>(&self, name: &str, of: &[(&str, T)]) -> Result<T, Fault> {
        let Some(text) = self.text(name)?.filter(|text| !text.is_empty()) else {
            return Ok(of[0].1);
        };
        let found = of.iter().find(|(other, _)| *other == text);
        found.map(|(_, meaning)| *meaning).ok_or_else(|| {
            let known: Vec<String> = of.iter().map(|(known, _)| format!("`{known}`")).collect();
            format!("attribute `{name}` is `{text}`, none of {}", known.join(", "))
        })
    }

    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<&'m str>>, Fault> {
        let Some(found) = self.get(name, AttributeType::Strings)? else { return Ok(None) };
        let texts = found.strings.iter().map(|text| str::from_utf8(text));
        let texts = texts.collect::<Result<_, _>>();
        texts.map(Some).map_err(|_| format!("attribute `{name}` is not text"))
    }

    pub(crate) fn tensor(&self, name: &str) -> Result<Option<&'m TensorProto>, Fault> {
        Ok(self.get(name, AttributeType::Tensor)?.and_then(|found| found.t.as_deref()))
    }

    pub(crate) fn graph(&self, name: &str) -> Result<&'m GraphProto, Fault> {
        let found = self.get(name, AttributeType::Graph)?.and_then(|found| found.g.as_deref());
        found.ok_or_else(|| missing(name))
    }

    /// An element type; 0 is as good as none.
    pub(crate) fn dtype(&self, name: &str) -> Result<Option<Dtype>, Fault> {
        match self.int(name)? {
            None | Some(0) => Ok(None),
            Some(number) => dtype(number).map(Some),
        }
    }
}

/// About how many bytes an attribute becomes.
pub(crate) fn attribute_bytes(attribute: &AttributeProto) -> u64 {
    let list = attribute.ints.len() + attribute.floats.len();
    let text = attribute.s.as_ref().map_or(0, bytes::Bytes::len);
    let tensor = attribute.t.as_deref().map_or(0, content_bytes);
    8 * list as u64 + text as u64 + tensor
}

/// What is said of an attribute that has to be there, and is not.
pub(crate) fn missing(name: &str) -> Fault {
    format!("attribute `{name}` is missing")
}

fn not_negative(name: &str, value: i64) -> Result<u64, Fault> {
    u64::try_from(value).map_err(|_| format!("attribute `{name}` is negative: {value}"))
}

fn words(of: AttributeType) -> &'static str {
    match of {
        AttributeType::Int => "an integer",
        AttributeType::Ints => "a list of integers",
        AttributeType::Float => "a number",
        AttributeType::Floats => "a list of numbers",
        AttributeType::String => "text",
        AttributeType::Strings => "a list of texts",
        AttributeType::Tensor => "a tensor",
        AttributeType::Graph => "a graph",
        _ => "of that type",
    }
}
