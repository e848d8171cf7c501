//! TensorFlow Lite models on the command line: planned as others are, and written with a plan in them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use plimsoll_tflite::TfliteFile;
use serde_json::Value;

fn plimsoll(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(args).stdin(Stdio::null()).output().expect("it runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tflite-{name}"));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn model(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/tflite").join(name);
    path.to_str().expect("plain").to_owned()
}

fn json(args: &[&str]) -> Value {
    let output = plimsoll(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn read(path: &str) -> TfliteFile {
    TfliteFile::read(fs::read(path).expect("a file")).expect("a model")
}

/// Plans a model into a file; what is said of it, and the file.
fn planned(name: &str, args: &[&str]) -> (String, TfliteFile) {
    let source = model(name);
    let file = folder(name).join(format!("planned{}.tflite", args.concat()));
    let file = file.to_str().expect("plain");
    let output = plimsoll(&[&["plan", &source, "-o", file], args].concat());
    assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    let said = text(&output.stderr);
    let said =
        said.split_once(&format!("{name}: ")).expect("the file is named").1.trim().to_owned();
    (said, read(file))
}

/// From the operator that makes a tensor to the last that reads it, both included: the tensors of one subgraph that are
/// at the same bytes while both are in use.
fn overlaps(file: &TfliteFile) -> Vec<(String, String)> {
    let [graph] = &file.subgraphs[..] else { panic!("one subgraph") };
    let offsets = file.offline_offsets().expect("a plan");
    let mut placed = Vec::new();
    for (index, tensor) in graph.tensors.iter().enumerate() {
        let Ok(offset) = u64::try_from(offsets[index]) else { continue };
        let touches = |now: &usize| {
            let operator = &graph.operators[*now];
            operator.inputs.contains(&Some(index)) || operator.outputs.contains(&index)
        };
        let uses: Vec<usize> = (0..graph.operators.len()).filter(touches).collect();
        let first = if graph.inputs.contains(&index) { 0 } else { uses[0] };
        let last = if graph.outputs.contains(&index) { usize::MAX } else { *uses.last().unwrap() };
        let bytes = tensor.arena_bytes().expect("stored").next_multiple_of(16);
        placed.push((tensor.name.clone(), offset..offset + bytes, first, last));
    }
    let mut found = Vec::new();
    for (index, (one, at, first, last)) in placed.iter().enumerate() {
        for (other, beside, begin, end) in &placed[index + 1..] {
            let meet = at.start < beside.end && beside.start < at.end;
            if meet && first <= end && begin <= last {
                found.push((one.clone(), other.clone()));
            }
        }
    }
    found
}

#[test]
fn branches_take_less_with_a_plan_and_least_in_the_best_order() {
    let (said, file) = planned("branches.tflite", &[]);
    assert_eq!(said, "14336 bytes with the plan that was written, 16384 before");
    let offsets = file.offline_offsets().unwrap();
    assert_eq!(file.head_bytes(&offsets), Ok(14336));
    assert_eq!(overlaps(&file), []);
    let before = read(&model("branches.tflite"));
    assert!(file.bytes().ends_with(before.bytes()));

    // In place, each branch is gone over where it is.
    let (said, file) = planned("branches.tflite", &["--kernels", "tflm"]);
    assert_eq!(said, "12352 bytes with the plan that was written, 16384 before");
    let same = overlaps(&file);
    assert!(same.contains(&("padded0".to_owned(), "relu0".to_owned())), "{same:?}");
    let in_place = |(one, other): &(String, String)| {
        let index = |name: &String| file.subgraphs[0].tensors.iter().position(|t| t.name == *name);
        let (read, made) = (index(one), index(other).expect("a tensor"));
        file.subgraphs[0].operators.iter().any(|o| o.inputs.contains(&read) && o.outputs == [made])
    };
    assert!(same.iter().all(in_place), "{same:?}");

    // One branch after the other, in place: less than a third.
    let (said, file) = planned("branches.tflite", &["--kernels", "tflm", "--order", "best"]);
    assert_eq!(said, "2176 bytes with the plan that was written, 16384 before");
    let kinds: Vec<&str> = file.subgraphs[0].operators.iter().map(|o| &o.kind[..]).collect();
    assert_eq!(kinds[..5], ["PAD", "RELU", "ABS", "REDUCE_MAX", "PAD"]);
    assert_eq!(file.subgraphs[0].tensors, before.subgraphs[0].tensors);
}

#[test]
fn a_plan_is_written_only_where_it_takes_less() {
    for (name, bytes) in [("parts.tflite", 512), ("loop.tflite", 64), ("twice.tflite", 1552)] {
        let (said, file) = planned(name, &[]);
        let expected = format!(
            "{bytes} bytes as before, and {bytes} with our plan: the file was written as it is"
        );
        assert_eq!(said, expected);
        assert_eq!(file.bytes(), read(&model(name)).bytes());
        let (_, forced) = planned(name, &["--no-keep-better"]);
        assert_eq!(forced.head_bytes(&forced.offline_offsets().unwrap()), Ok(bytes), "{name}");
        assert_eq!(forced.offline_offsets().unwrap().len(), forced.tensor_count(), "{name}");
    }
}

#[test]
fn tensors_of_all_subgraphs_are_in_one_plan() {
    let (said, file) = planned("choice.tflite", &["--kernels", "tflm"]);
    assert_eq!(said, "784 bytes with the plan that was written, 1040 before");
    let offsets = file.offline_offsets().unwrap();
    assert_eq!(offsets.len(), 5 + 2 + 2);
    assert!(offsets.iter().all(|offset| *offset >= 0), "{offsets:?}");
    // The list alone has the same tensors.
    let told = json(&["plan", &model("choice.tflite"), "--format", "tflm-json", "--align", "16"]);
    let names: Vec<&str> =
        told["names"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
    let expected = ["condition", "x", "before", "chosen", "y", "x@1", "y@1", "x@2", "y@2"];
    assert_eq!(names, expected);
}

#[test]
fn variables_and_scratch_memory_are_left_to_the_interpreter() {
    let (said, file) = planned("state.tflite", &["--no-keep-better"]);
    let expected = "80 bytes with the plan that was written, 80 before \
                    (without the scratch memory of Mystery, which is not known)";
    assert_eq!(said, expected);
    let offsets = file.offline_offsets().unwrap();
    let left: Vec<usize> = (0..offsets.len()).filter(|at| offsets[*at] == -1).collect();
    // Weights, the variable, and what a weight is made from.
    assert_eq!(left, [1, 2, 3, 4]);
}

#[test]
fn a_plan_in_json_is_verified_and_explained() {
    let source = model("branches.tflite");
    let plan = folder("verify").join("plan.json");
    let plan = plan.to_str().expect("plain");
    let output = plimsoll(&["plan", &source, "-o", plan]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let output = plimsoll(&["verify", &source, plan]);
    assert!(output.status.success(), "{}", text(&output.stdout));
    let explained = json(&["explain", &source, "--format", "json", "--no-advice"]);
    assert_eq!(
        explained["arena_bytes"].as_u64(),
        json(&["plan", &source, "--format", "json"])["arena_bytes"].as_u64()
    );
    let compared = plimsoll(&["compare", &source, "--no-time"]);
    assert!(compared.status.success(), "{}", text(&compared.stderr));
}

#[test]
fn what_cannot_be_is_said() {
    let folder = folder("faults");
    let file = folder.join("out.tflite");
    let file = file.to_str().expect("plain");
    let refused = |args: &[&str], expected: &str| {
        let output = plimsoll(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = text(&output.stderr);
        assert!(said.contains(expected), "{args:?}: {said}");
    };
    refused(
        &["plan", "-o", file],
        "is not a TensorFlow Lite model, and only such a one can have a plan",
    );
    let source = model("parts.tflite");
    refused(&["plan", &source, "-o", "x.onnx"], "is not an ONNX model");
    refused(
        &["plan", &source, "--dim", "n=1"],
        "has neither symbolic dims nor inputs without a shape, so no dims can be given",
    );
    refused(&["plan", &source, "-o", file, "-o", "plan.json"], "write them in runs of their own");
    refused(
        &["plan", &source, "--no-keep-better"],
        "--no-keep-better is for TensorFlow Lite files",
    );
    refused(&["plan", &source, "-o", file, "--guard", "64"], "bytes are reserved behind");
    let cut = folder.join("cut.tflite");
    fs::write(&cut, &fs::read(&source).unwrap()[..100]).unwrap();
    refused(&["plan", cut.to_str().unwrap()], "cut.tflite: not a TensorFlow Lite model: ");
    refused(&["solve", &source], "is a TensorFlow Lite model, not a packing problem (CSV)");
}
