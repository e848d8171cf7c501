//! Files with notes: what is noted where, and that nothing else changes.

use std::collections::BTreeMap;

use bytes::Bytes;
use plimsoll_onnx::proto::tensor_proto::DataLocation;
use plimsoll_onnx::proto::{
    FunctionProto, GraphProto, ModelProto, NodeProto, StringStringEntryProto, ValueInfoProto,
};
use plimsoll_onnx::testing::{
    BOOL, F32, body, encode, graph, import, model, node, samples, stored, value,
};
use plimsoll_onnx::{Annotated, Note, Notes, OnnxError, read};
use prost::Message;

/// An `offset` for each of these tensors: its place in the list.
fn offsets(tensors: &[&str]) -> Notes {
    let mut notes = Notes::default();
    for (index, name) in tensors.iter().enumerate() {
        let offset = Note::Text(index.to_string());
        notes.tensors.insert((*name).to_owned(), BTreeMap::from([("offset".to_owned(), offset)]));
    }
    notes
}

fn written(bytes: &Bytes, notes: &Notes) -> Bytes {
    let annotated = Annotated::new(bytes.clone(), notes).expect("a model");
    let mut out = Vec::new();
    annotated.write(&mut out).expect("memory can be written");
    out.into()
}

fn noted(model: &ModelProto, notes: &Notes) -> ModelProto {
    ModelProto::decode(written(&encode(model), notes)).expect("a model")
}

fn entry(key: &str, value: &str) -> StringStringEntryProto {
    StringStringEntryProto { key: Some(key.to_owned()), value: Some(value.to_owned()) }
}

fn texts(entries: &[StringStringEntryProto]) -> Vec<String> {
    entries.iter().map(|entry| format!("{}={}", entry.key(), entry.value())).collect()
}

fn row(name: &str) -> ValueInfoProto {
    value(name, F32, &[4])
}

fn of_node(model: &ModelProto, index: usize) -> Vec<String> {
    texts(&model.graph.as_ref().expect("a graph").node[index].metadata_props)
}

/// x is split into a and b, one result of three is not wanted, and y is made of both.
fn parts() -> ModelProto {
    let split = node("split", "Parts", &["x"], &["a", "", "b"]);
    let split = NodeProto { domain: Some("mine".to_owned()), ..split };
    let add = node("add", "Add", &["a", "w"], &["y"]);
    let mut graph = graph(vec![row("x")], vec![row("y")], vec![split, add]);
    graph.initializer.push(stored("w", F32, &[4], vec![7; 16]));
    graph.value_info.push(row("b"));
    let mut model = model(17, graph);
    model.opset_import.push(import("mine", 1));
    model
}

#[test]
fn nodes_values_and_weights_have_notes() {
    let before = parts();
    let mut notes = offsets(&["x", "a", "b", "y", "w"]);
    notes.model.insert("arena_bytes".to_owned(), "64".to_owned());
    let inplace = ("inplace_input".to_owned(), Note::Tensor("a".to_owned()));
    notes.tensors.get_mut("y").expect("y").extend([inplace]);
    let mut after = noted(&before, &notes);
    assert_eq!(of_node(&after, 0), ["plimsoll.offset=1", "plimsoll.offset.2=2"]);
    assert_eq!(of_node(&after, 1), ["plimsoll.inplace_input=a", "plimsoll.offset=3"]);
    assert_eq!(texts(&after.metadata_props), ["plimsoll.arena_bytes=64"]);
    let graph = after.graph.as_mut().expect("a graph");
    assert_eq!(texts(&graph.input[0].metadata_props), ["plimsoll.offset=0"]);
    assert_eq!(texts(&graph.value_info[0].metadata_props), ["plimsoll.offset=2"]);
    assert_eq!(texts(&graph.initializer[0].metadata_props), ["plimsoll.offset=4"]);
    assert_eq!(graph.output[0].metadata_props.len(), 2);
    // Without the notes it is what it was.
    for node in &mut graph.node {
        node.metadata_props.clear();
    }
    let values = graph.input.iter_mut().chain(&mut graph.output).chain(&mut graph.value_info);
    values.for_each(|value| value.metadata_props.clear());
    graph.initializer[0].metadata_props.clear();
    after.metadata_props.clear();
    assert_eq!(after, before);
}

#[test]
fn notes_are_replaced_and_those_of_others_stay() {
    let mut model = parts();
    let graph = model.graph.as_mut().expect("a graph");
    graph.node[1].metadata_props =
        vec![entry("plimsoll.offset", "stale"), entry("namespace", "block.1")];
    graph.initializer[0].metadata_props = vec![entry("plimsoll.offset", "stale")];
    model.metadata_props = vec![entry("author", "me"), entry("plimsoll.old", "stale")];
    let notes = offsets(&["y"]);
    let once = written(&encode(&model), &notes);
    let after = ModelProto::decode(once.clone()).expect("a model");
    assert_eq!(of_node(&after, 1), ["namespace=block.1", "plimsoll.offset=0"]);
    assert_eq!(texts(&after.metadata_props), ["author=me"]);
    assert!(after.graph.expect("a graph").initializer[0].metadata_props.is_empty());
    assert_eq!(written(&once, &notes), once, "twice is once");
    let clean = written(&once, &Notes::default());
    let clean = ModelProto::decode(clean).expect("a model");
    assert_eq!(of_node(&clean, 1), ["namespace=block.1"]);
}

#[test]
fn without_notes_every_byte_stays() {
    for (name, model) in samples() {
        let mut bytes = encode(&model).to_vec();
        // Fields that nobody knows: a number, a fixed one, bytes, and a group with a number in it.
        bytes.extend([0xa0, 0x3f, 1, 0xa5, 0x3f, 1, 2, 3, 4, 0xaa, 0x3f, 1, 9]);
        bytes.extend([0xab, 0x3f, 0x08, 1, 0xac, 0x3f]);
        let bytes = Bytes::from(bytes);
        assert_eq!(written(&bytes, &Notes::default()), bytes, "{name}");
    }
}

#[test]
fn bodies_have_notes_of_their_own_names() {
    // Both branches and the graph around them have a `y`.
    let branch = |kind: &str| {
        let inner = node("inner", kind, &["x"], &["y"]);
        GraphProto { name: Some(kind.to_owned()), ..graph(vec![], vec![row("y")], vec![inner]) }
    };
    let choose = node("if", "If", &["c"], &["z"])
        .with(body("then_branch", branch("Relu")))
        .with(body("else_branch", branch("Neg")));
    let own = node("own", "Abs", &["x"], &["y"]);
    let inputs = vec![value("c", BOOL, &[]), row("x")];
    let proto = model(17, graph(inputs, vec![row("z"), row("y")], vec![choose, own]));
    let names: Vec<String> =
        read(encode(&proto)).expect("a model").tensors.iter().map(|t| t.name.clone()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let at = |name: &str| names.iter().position(|n| *n == name).expect("there").to_string();
    let mut notes = offsets(&names);
    let inplace = ("inplace_input".to_owned(), Note::Tensor("if/else/y".to_owned()));
    notes.tensors.get_mut("z").expect("z").extend([inplace]);
    let after = noted(&proto, &notes);
    let own = |name: &str| vec![format!("plimsoll.offset={}", at(name))];
    assert_eq!(of_node(&after, 1), own("y"));
    assert_eq!(of_node(&after, 0)[0], "plimsoll.inplace_input=y", "as the file calls it");
    let attributes = &after.graph.as_ref().expect("a graph").node[0].attribute;
    for (attribute, name) in attributes.iter().zip(["if/then/y", "if/else/y"]) {
        let inner = attribute.g.as_ref().expect("a body");
        assert_eq!(texts(&inner.node[0].metadata_props), own(name));
        assert_eq!(texts(&inner.output[0].metadata_props), own(name));
    }
}

#[test]
fn calls_have_notes_and_functions_have_none() {
    let function = FunctionProto {
        name: Some("Twice".to_owned()),
        domain: Some("mine".to_owned()),
        input: vec!["x".to_owned()],
        output: vec!["y".to_owned()],
        node: vec![node("f", "Add", &["x", "x"], &["y"])],
        opset_import: vec![import("", 17)],
        ..FunctionProto::default()
    };
    let call = |from: &str, to: &str| {
        let call = node(to, "Twice", &[from], &[to]);
        NodeProto { domain: Some("mine".to_owned()), ..call }
    };
    let nodes = vec![call("x", "m"), call("m", "y")];
    let mut proto = model(17, graph(vec![row("x")], vec![row("y")], nodes));
    proto.opset_import.push(import("mine", 1));
    proto.functions.push(function.clone());
    let after = noted(&proto, &offsets(&["m", "y"]));
    assert_eq!(of_node(&after, 0), ["plimsoll.offset=0"]);
    assert_eq!(of_node(&after, 1), ["plimsoll.offset=1"]);
    assert_eq!(after.functions, [function]);
}

#[test]
fn data_outside_of_the_file_are_told() {
    let mut model = parts();
    let bytes = encode(&model);
    let has =
        |bytes| Annotated::new(bytes, &Notes::default()).expect("a model").has_external_data();
    assert!(!has(bytes));
    let weight = &mut model.graph.as_mut().expect("a graph").initializer[0];
    weight.raw_data = None;
    weight.data_location = Some(DataLocation::External.into());
    weight.external_data = vec![entry("location", "weights.bin")];
    assert!(has(encode(&model)));
}

#[test]
fn what_is_no_model_has_no_notes() {
    let fault = |bytes: Vec<u8>| Annotated::new(Bytes::from(bytes), &Notes::default()).err();
    assert_eq!(fault(vec![0x08]), Some(OnnxError::Protobuf("it ends inside of a number".into())));
    // Two graphs, which readers take for one.
    let mut twice = encode(&parts()).to_vec();
    push_graph(&mut twice, &GraphProto::default());
    let several = OnnxError::Protobuf("its graph is in several parts".into());
    assert_eq!(fault(twice), Some(several));
}

fn push_graph(bytes: &mut Vec<u8>, graph: &GraphProto) {
    let graph = graph.encode_to_vec();
    bytes.extend([0x3a, u8::try_from(graph.len()).expect("a short one")]);
    bytes.extend(graph);
}
