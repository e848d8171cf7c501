//! The elements of stored tensors: in the file, in its fields, and in files beside it.

use std::fs;
use std::path::PathBuf;

use plimsoll_model::{Model, TensorId, stored_bytes};
use plimsoll_onnx::proto::tensor_proto::DataLocation;
use plimsoll_onnx::proto::{ModelProto, StringStringEntryProto, TensorProto};
use plimsoll_onnx::testing::{F32, graph, model, node, stored, value};
use plimsoll_onnx::{OnnxWeights, load_with_weights};

/// A model that adds a weight of four numbers.
fn adding(weight: TensorProto) -> ModelProto {
    let nodes = vec![node("add", "Add", &["x", "w"], &["y"])];
    let mut graph = graph(vec![value("x", F32, &[4])], vec![value("y", F32, &[4])], nodes);
    graph.initializer.push(weight);
    model(13, graph)
}

/// Writes a model to a folder of its own, and reads it with its weights.
fn written(folder: &str, proto: &ModelProto) -> (PathBuf, Model, OnnxWeights) {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("model.onnx");
    fs::write(&path, plimsoll_onnx::testing::encode(proto)).unwrap();
    let (model, weights) = load_with_weights(&path).unwrap();
    (folder, model, weights)
}

fn weight(model: &Model) -> TensorId {
    TensorId::new(model.tensors.iter().position(|tensor| tensor.name == "w").unwrap())
}

fn bytes(model: &Model, weights: &OnnxWeights) -> Result<Vec<u8>, String> {
    let bytes = stored_bytes(model, weights, weight(model));
    bytes.map(std::borrow::Cow::into_owned).map_err(|error| error.to_string())
}

fn external(location: &str, offset: &str, length: &str) -> TensorProto {
    let entry = |key: &str, value: &str| StringStringEntryProto {
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
    };
    let mut tensor = stored("w", F32, &[4], Vec::new());
    tensor.raw_data = None;
    tensor.data_location = Some(DataLocation::External as i32);
    tensor.external_data =
        vec![entry("location", location), entry("offset", offset), entry("length", length)];
    tensor
}

#[test]
fn large_weights_are_read_from_the_file_when_they_are_asked_for() {
    // More than is read with the structure.
    let data: Vec<u8> = (0..1 << 20).map(|i: u32| (i * 7 / 8) as u8).collect();
    let mut proto = adding(stored("w", F32, &[1 << 18], data.clone()));
    let graph = proto.graph.as_mut().unwrap();
    graph.input[0] = value("x", F32, &[1 << 18]);
    graph.output[0] = value("y", F32, &[1 << 18]);
    let (_, model, weights) = written("large", &proto);
    assert_eq!(bytes(&model, &weights), Ok(data));
}

#[test]
fn weights_in_fields_have_the_bytes_of_their_type() {
    let mut tensor = stored("w", F32, &[4], Vec::new());
    (tensor.raw_data, tensor.float_data) = (None, vec![1.0, 2.0, 3.0, 4.0]);
    let (_, model, weights) = written("fields", &adding(tensor));
    let expected: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(bytes(&model, &weights), Ok(expected));
}

#[test]
fn weights_beside_the_file_are_found_in_its_folder() {
    let (folder, model, weights) = written("beside", &adding(external("data.bin", "8", "16")));
    let missing = bytes(&model, &weights).unwrap_err();
    assert!(missing.starts_with("weight `w`: its data in `data.bin`: "), "{missing}");
    let data: Vec<u8> = (0..30).collect();
    fs::write(folder.join("data.bin"), &data).unwrap();
    assert_eq!(bytes(&model, &weights), Ok(data[8..24].to_vec()));
    fs::write(folder.join("data.bin"), &data[..20]).unwrap();
    let short = "weight `w`: its data in `data.bin`: it has no bytes 8 to 24";
    assert_eq!(bytes(&model, &weights), Err(short.to_owned()));
    fs::remove_file(folder.join("data.bin")).unwrap();
}

#[test]
fn weights_are_not_looked_for_outside_of_the_folder() {
    for location in ["../data.bin", "/data.bin", "a/../../data.bin", "..\\data.bin", ""] {
        let (_, model, weights) = written("outside", &adding(external(location, "0", "16")));
        let fault =
            format!("its data are in `{location}`, which is not in the folder of the model");
        assert_eq!(bytes(&model, &weights), Err(format!("weight `w`: {fault}")));
    }
    let (_, model, weights) = written("lengths", &adding(external("data.bin", "0", "12")));
    let fault = "weight `w`: 12 bytes of data in `data.bin`, where 16 are needed";
    assert_eq!(bytes(&model, &weights), Err(fault.to_owned()));
}
