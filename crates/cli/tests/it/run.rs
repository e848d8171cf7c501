//! `plimsoll run` with files: what is written, what is expected, what is put in.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use plimsoll_onnx::proto::tensor_shape_proto::dimension;
use plimsoll_onnx::testing::{F32, encode, graph, model as proto, node, shaped, value};
use serde_json::Value;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("run").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn plimsoll(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(folder).arg("run").args(arguments).output().unwrap()
}

fn told(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

#[test]
fn what_is_written_is_expected_and_other_inputs_give_something_else() {
    let folder = folder("expected");
    assert_eq!(told(&plimsoll(&folder, &["-q", "-o", "out.npz"])), (Some(0), String::new()));
    let (status, text) = told(&plimsoll(&folder, &["-q", "--expect", "out.npz"]));
    assert_eq!(status, Some(0), "{text}");
    assert!(text.starts_with("  as expected: `classes`, worst at 0: "), "{text}");
    assert!(text.ends_with(", 0.00e0 of the largest\n"), "{text}");
    let (status, text) = told(&plimsoll(&folder, &["-q", "--expect", "out.npz", "--seed", "1"]));
    assert_eq!(status, Some(1), "{text}");
    assert!(text.starts_with("  not as expected: `classes`, worst at "), "{text}");
}

#[test]
fn an_input_is_an_array_or_raw_elements_of_the_right_size() {
    let folder = folder("inputs");
    let elements: Vec<u8> = (0..3 * 32 * 32).flat_map(|_| 0.5f32.to_le_bytes()).collect();
    fs::write(folder.join("image.raw"), &elements).unwrap();
    let mut array = b"\x93NUMPY\x01\x00\x4e\x00".to_vec();
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 32, 32), }";
    array.extend(format!("{header:77}\n").bytes());
    array.extend(&elements);
    fs::write(folder.join("image.npy"), array).unwrap();
    let raw = ["-q", "--input", "image=image.raw", "-o", "out.npz"];
    assert_eq!(told(&plimsoll(&folder, &raw)), (Some(0), String::new()));
    let (status, text) =
        told(&plimsoll(&folder, &["-q", "--input", "image=image.npy", "--expect", "out.npz"]));
    assert_eq!(status, Some(0), "{text}");
    fs::write(folder.join("image.raw"), &elements[4..]).unwrap();
    let short =
        "plimsoll: the built-in sample: input `image`: 12284 bytes, where 12288 are needed\n";
    assert_eq!(told(&plimsoll(&folder, &raw)), (Some(2), short.to_owned()));
    let same = ["--input", "image=out.npz", "-o", "out.npz"];
    let (status, text) = told(&plimsoll(&folder, &same));
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("is read by this command, and is not written over"), "{text}");
}

/// Small models of one operator, with what onnxruntime computes (`tools/engines/node_cases.py`).
#[test]
fn nodes_compute_what_is_expected() {
    let nodes = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/nodes");
    let mut cases: Vec<PathBuf> =
        fs::read_dir(nodes).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    for case in &cases {
        let expect = ["--expect", "out.npz", "--tolerance", "1e-5", "--check"];
        let arguments = [&["-q", "model.onnx", "--input", "in.npz"][..], &expect].concat();
        let (status, text) = told(&plimsoll(case, &arguments));
        assert_eq!(status, Some(0), "{}: {text}", case.display());
        assert!(text.contains("as with every tensor apart"), "{text}");
    }
    assert_eq!(cases.len(), 57);
}

/// `s + x`, where `s` is what the last run has left.
#[test]
fn state_goes_from_run_to_run() {
    let folder = folder("state");
    let model = |kind: &str| {
        let nodes = vec![node("n", kind, &["s", "x"], &["y"])];
        let square = |name| value(name, F32, &[2, 2]);
        encode(&proto(17, graph(vec![square("s"), square("x")], vec![square("y")], nodes)))
    };
    let raw = |numbers: [f32; 4]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    fs::write(folder.join("x.raw"), raw([1.0, 2.0, 0.5, 1.0])).unwrap();
    for (kind, state) in [("Add", [0.0, 1.0, 2.0, 3.0]), ("MatMul", [1.0, 0.0, 0.0, 1.0])] {
        fs::write(folder.join("net.onnx"), model(kind)).unwrap();
        fs::write(folder.join("s.raw"), raw(state)).unwrap();
        let given = ["-q", "net.onnx", "--input", "x=x.raw", "-o", "out.npz"];
        let mut state = "s.raw";
        for _ in 0..3 {
            let state_of = format!("s={state}");
            let by_hand = [&given[..], &["--input", &state_of]].concat();
            assert_eq!(told(&plimsoll(&folder, &by_hand)), (Some(0), String::new()));
            fs::rename(folder.join("out.npz"), folder.join("last.npz")).unwrap();
            state = "last.npz";
        }
        let runs = ["-q", "net.onnx", "--input", "x=x.raw", "--input", "s=s.raw", "--runs", "3"];
        let kept = ["--state", "s=y", "--expect", "last.npz", "--tolerance", "0"];
        let (status, text) = told(&plimsoll(&folder, &[&runs[..], &kept].concat()));
        assert_eq!((status, text.contains("0.00e0 of the largest")), (Some(0), true), "{text}");
    }
    let (status, text) = told(&plimsoll(&folder, &["net.onnx", "--donate", "s=y"]));
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains("`y` for `s` of the next run: "), "{text}");
    let (status, text) = told(&plimsoll(&folder, &["net.onnx", "--state", "q=y"]));
    assert_eq!(
        (status, text.as_str()),
        (Some(2), "plimsoll: --state q=y: there is no such input\n")
    );
}

#[test]
fn any_size_of_a_range_runs_in_one_arena() {
    let folder = folder("range");
    let dim = |text: &str| Some(dimension::Value::DimParam(text.to_owned()));
    let rows = |name| shaped(name, F32, vec![dim("n"), Some(dimension::Value::DimValue(4))]);
    let nodes = vec![
        node("relu", "Relu", &["x"], &["r"]),
        node("softmax", "Softmax", &["r"], &["s"]),
        node("add", "Add", &["s", "x"], &["y"]),
    ];
    let net = encode(&proto(17, graph(vec![rows("x")], vec![rows("y")], nodes)));
    fs::write(folder.join("net.onnx"), net).unwrap();
    let arena = |text: &str| text.lines().find(|line| line.contains("arena")).unwrap().to_owned();
    let mut arenas = Vec::new();
    for size in ["1", "5", "8"] {
        let size = format!("n={size}");
        let exact = ["-q", "net.onnx", "--dim", &size, "-o", "out.npz"];
        assert_eq!(told(&plimsoll(&folder, &exact)), (Some(0), String::new()));
        let range = ["net.onnx", "--dim", "n=1..8", "--at", &size, "--check"];
        let same = ["--expect", "out.npz", "--tolerance", "1e-6"];
        let (status, text) = told(&plimsoll(&folder, &[&range[..], &same].concat()));
        assert_eq!(status, Some(0), "{text}");
        assert!(text.contains("allocations    0 in 1 run"), "{text}");
        arenas.push(arena(&text));
    }
    assert!(arenas.iter().all(|other| *other == arenas[0]), "{arenas:?}");
    let (status, text) = told(&plimsoll(&folder, &["net.onnx", "--dim", "n=1..8", "--at", "n=9"]));
    assert_eq!(status, Some(2), "{text}");
    assert!(text.ends_with("another size: `n` is 9, planned is 1 to 8\n"), "{text}");
}

#[test]
fn every_call_is_in_the_trace() {
    let folder = folder("trace");
    let (status, text) = told(&plimsoll(&folder, &["--profile", "--trace", "run.json"]));
    assert_eq!(status, Some(0), "{text}");
    let calls: usize = text.split(": ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let trace: Value = serde_json::from_slice(&fs::read(folder.join("run.json")).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    assert_eq!(events.len(), calls);
    let mut end = 0.0;
    for event in events {
        assert!(event["ts"].as_f64().unwrap() >= end, "{event}");
        end = event["ts"].as_f64().unwrap() + event["dur"].as_f64().unwrap() - 1e-3;
        assert!(event["args"]["op"].is_string(), "{event}");
    }
    assert!(text.contains("  nodes  operator\n"), "{text}");
}

/// A model of `n` rows of two, and arrays of them.
fn rows(folder: &Path) {
    let dims = || {
        vec![Some(dimension::Value::DimParam("n".to_owned())), Some(dimension::Value::DimValue(2))]
    };
    let (x, y) = (shaped("x", F32, dims()), shaped("y", F32, dims()));
    let nodes = vec![node("relu", "Relu", &["x"], &["y"])];
    fs::write(folder.join("net.onnx"), encode(&proto(17, graph(vec![x], vec![y], nodes)))).unwrap();
    for count in [2u8, 3, 9] {
        let mut array = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({count}, 2), }}");
        array.extend(format!("{header:69}\n").bytes());
        array.extend((0..2 * count).flat_map(|i| f32::from(i).to_le_bytes()));
        fs::write(folder.join(format!("{count}.npy")), array).unwrap();
    }
}

#[test]
fn an_array_says_how_large_its_input_is() {
    let folder = folder("dims");
    rows(&folder);
    let told = |arguments: &[&str]| told(&plimsoll(&folder, &[&["net.onnx"], arguments].concat()));
    for arguments in [
        &["--input", "x=3.npy"][..],
        &["--input", "x=3.npy", "--dim", "n=3"],
        &["--input", "x=3.npy", "--dim", "n=1..4", "--check"],
    ] {
        let (status, text) = told(arguments);
        assert_eq!(status, Some(0), "{text}");
        assert!(text.contains("output y f32[3,2], 0 to 5: 0 1 2"), "{text}");
    }
    let (status, text) = told(&["--input", "x=3.npy", "--dim", "n=2"]);
    let words = "plimsoll: net.onnx: input `x`: f32 [3, 2], where f32 [2, 2] is needed\n";
    assert_eq!((status, &text[..]), (Some(2), words));
    let (status, text) = told(&["--input", "x=9.npy", "--dim", "n=1..4"]);
    let words = "plimsoll: net.onnx: another size: `n` is 9, planned is 1 to 4\n";
    assert_eq!((status, &text[..]), (Some(2), words));
}

/// With exit status 2, one message, and no file.
#[test]
fn what_is_wrong_is_told_before_anything_is_written() {
    let folder = folder("wrong");
    rows(&folder);
    let mut other = b"PK\x05\x06".to_vec();
    other.extend([0; 18]);
    fs::write(folder.join("empty.npz"), other).unwrap();
    for (arguments, words) in [
        (&["--expect", "absent.npz"][..], "absent.npz: cannot read: "),
        (&["--expect", "empty.npz"], "empty.npz: there is no array in it"),
        (&["--input", "x=2.npy"], "--input: `x` is given more than once"),
        (&["--runs", "0"], "expected a number from 1 to "),
        (&["--threads", "17"], "expected a number from 1 to 16"),
        (&["--tolerance", "-1"], "expected a number that is not negative"),
        (&["--tolerance", "nan"], "expected a number that is not negative"),
        (&["--trace", "no/such/folder.json"], "no/such/folder.json"),
    ] {
        let given = ["net.onnx", "--input", "x=2.npy", "-o", "out.npz"];
        let (status, text) = told(&plimsoll(&folder, &[&given[..], arguments].concat()));
        assert_eq!(status, Some(2), "{arguments:?}: {text}");
        assert!(text.contains(words), "{arguments:?}: {text}");
        assert!(!folder.join("out.npz").exists(), "{arguments:?}");
    }
    let (status, text) = told(&plimsoll(&folder, &["net.onnx", "-o", "out.json"]));
    assert_eq!((status, text.contains("outputs are written as .npz")), (Some(2), true), "{text}");
}
