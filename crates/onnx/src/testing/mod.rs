//! Models to test with, and the bodies of fuzz targets.

#[allow(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "indices into small tensors, which definitions count from either end"
)]
mod kernels;
mod machine;
mod samples;

use std::collections::BTreeMap;

use bytes::Bytes;
pub use kernels::onnx_kernel;
pub use machine::OnnxMachine;
use plimsoll_graph::testing::assert_plans_are_right;
use plimsoll_model::{Bindings, Body, Model, ModelNode, Operator, TensorId, infer};
use prost::Message;
pub use samples::samples;

use crate::proto::attribute_proto::AttributeType;
use crate::proto::tensor_shape_proto::{Dimension, dimension};
use crate::proto::{
    AttributeProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto,
    TensorShapeProto, TypeProto, ValueInfoProto, type_proto,
};
use crate::write::attribute::attribute;
pub use crate::write::attribute::{float, floats, int, ints, tensor, text};
use crate::{Annotated, Note, Notes, read};

/// The number of the type of 32-bit floats.
pub const F32: i32 = 1;
/// The number of the type of 64-bit integers.
pub const I64: i32 = 7;
/// The number of the type of truth values.
pub const BOOL: i32 = 9;

/// A node of that name without attributes.
#[must_use]
pub fn node(name: &str, kind: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    NodeProto {
        name: Some(name.to_owned()),
        op_type: Some(kind.to_owned()),
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: outputs.iter().map(|name| (*name).to_owned()).collect(),
        ..NodeProto::default()
    }
}

impl NodeProto {
    /// The node with one more attribute.
    #[must_use]
    pub fn with(mut self, attribute: AttributeProto) -> Self {
        self.attribute.push(attribute);
        self
    }
}

/// An attribute that is a body.
#[must_use]
pub fn body(name: &str, value: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(Box::new(value)), ..attribute(name, AttributeType::Graph) }
}

/// An attribute of a node of a function, which is the function's attribute of that name.
#[must_use]
pub fn reference(name: &str, of: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { ref_attr_name: Some(of.to_owned()), ..attribute(name, kind) }
}

/// A tensor with raw data.
#[must_use]
pub fn stored(name: &str, of: i32, dims: &[i64], raw: Vec<u8>) -> TensorProto {
    TensorProto {
        name: Some(name.to_owned()),
        data_type: Some(of),
        dims: dims.to_vec(),
        raw_data: Some(raw.into()),
        ..TensorProto::default()
    }
}

/// A list of integers.
#[must_use]
pub fn list(name: &str, values: &[i64]) -> TensorProto {
    let raw = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    stored(name, I64, &[values.len().cast_signed() as i64], raw)
}

/// A value of that type and of dims that are numbers.
#[must_use]
pub fn value(name: &str, of: i32, dims: &[i64]) -> ValueInfoProto {
    let dims = dims.iter().map(|dim| dimension::Value::DimValue(*dim));
    shaped(name, of, dims.map(Some).collect())
}

/// A value of that type and of any dims.
#[must_use]
pub fn shaped(name: &str, of: i32, dims: Vec<Option<dimension::Value>>) -> ValueInfoProto {
    let dim = dims.into_iter().map(|value| Dimension { value, denotation: None }).collect();
    let shape = Some(TensorShapeProto { dim });
    let tensor = type_proto::Tensor { elem_type: Some(of), shape };
    typed(name, type_proto::Value::TensorType(tensor))
}

/// A value of any type.
#[must_use]
pub fn typed(name: &str, of: type_proto::Value) -> ValueInfoProto {
    let of = TypeProto { denotation: None, value: Some(of) };
    ValueInfoProto { name: Some(name.to_owned()), r#type: Some(of), ..ValueInfoProto::default() }
}

/// A graph without weights.
#[must_use]
pub fn graph(
    inputs: Vec<ValueInfoProto>,
    outputs: Vec<ValueInfoProto>,
    nodes: Vec<NodeProto>,
) -> GraphProto {
    let name = Some("graph".to_owned());
    GraphProto { name, input: inputs, output: outputs, node: nodes, ..GraphProto::default() }
}

/// A model with operators of that version.
#[must_use]
pub fn model(version: i64, graph: GraphProto) -> ModelProto {
    ModelProto {
        ir_version: Some(8),
        producer_name: Some("plimsoll".to_owned()),
        opset_import: vec![import("", version)],
        graph: Some(graph),
        ..ModelProto::default()
    }
}

/// A set of operators.
#[must_use]
pub fn import(domain: &str, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto { domain: Some(domain.to_owned()), version: Some(version) }
}

/// The bytes of a model.
#[must_use]
pub fn encode(model: &ModelProto) -> Bytes {
    model.encode_to_vec().into()
}

/// The body of the fuzz target: bytes are rejected, or they are a model that keeps its promises.
/// Says whether they were accepted.
///
/// # Panics
/// If any of that fails.
#[must_use]
pub fn fuzz_onnx(bytes: &[u8]) -> bool {
    let Ok(model) = read(Bytes::copy_from_slice(bytes)) else { return false };
    let mut tensors: Vec<&str> = model.tensors.iter().map(|tensor| &tensor.name[..]).collect();
    assert_unique(&mut tensors);
    let mut nodes = Vec::new();
    visit(&model, &model.body, &mut nodes);
    assert_unique(&mut nodes);
    assert_notes_change_nothing(bytes, &model);
    true
}

/// The same bytes on the way to a plan: what can be inferred survives as a text, and its plans are
/// right. Says whether there was a graph to plan.
///
/// # Panics
/// If any of that fails.
#[must_use]
pub fn fuzz_onnx_plan(bytes: &[u8]) -> bool {
    let Ok(model) = read(Bytes::copy_from_slice(bytes)) else { return false };
    let Ok(inferred) = infer(&model, &Bindings::default()) else { return false };
    assert_plans_are_right(&inferred.graph);
    true
}

/// With a note on every tensor it is the same model still, and noting it again changes no byte.
fn assert_notes_change_nothing(bytes: &[u8], model: &Model) {
    let mut notes = Notes::default();
    for tensor in &model.tensors {
        let note = Note::Tensor(tensor.name.clone());
        notes.tensors.insert(tensor.name.clone(), BTreeMap::from([("note".to_owned(), note)]));
    }
    let written = |bytes: &[u8]| {
        let annotated = Annotated::new(Bytes::copy_from_slice(bytes), &notes).ok()?;
        let mut out = Vec::new();
        annotated.write(&mut out).expect("memory can be written");
        Some(out)
    };
    // Some files are read, though they are in parts that notes cannot be spliced into.
    let Some(once) = written(bytes) else { return };
    assert_eq!(written(&once).as_ref(), Some(&once), "twice is not once");
    let again = read(Bytes::from(once)).expect("notes are not read");
    assert_eq!(format!("{again:?}"), format!("{model:?}"), "notes have changed the model");
}

/// Checks that ids are those of tensors, and collects the names of nodes.
fn visit<'m>(model: &'m Model, body: &'m Body, names: &mut Vec<&'m str>) {
    let check = |id: &TensorId| assert!(id.index() < model.tensors.len(), "there is no {id}");
    body.inputs.iter().chain(&body.outputs).for_each(check);
    for ModelNode { name, operator, inputs, outputs, .. } in &body.nodes {
        inputs.iter().chain(outputs).flatten().for_each(check);
        names.push(name);
        match operator {
            Operator::If(branches) => {
                visit(model, &branches.then, names);
                visit(model, &branches.otherwise, names);
            }
            Operator::Loop(body) => visit(model, body, names),
            Operator::Scan(iteration) => visit(model, &iteration.body, names),
            _ => {}
        }
    }
}

fn assert_unique(names: &mut [&str]) {
    names.sort_unstable();
    assert!(names.iter().all(|name| !name.is_empty()), "a name is empty");
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "two have the same name");
}
