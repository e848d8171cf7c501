//! Files that are large, changed or shorter than they were.

use std::fs;

use super::*;
use crate::testing::{F32, encode, graph, list, model, node, stored, value};
use crate::{Annotated, Notes, read};

const BYTES: usize = 1 << 20;

/// A model with a large weight between small tensors, and a value of every byte in it.
fn sample() -> Bytes {
    let data = (0..BYTES).map(|byte| byte as u8 | 1).collect();
    let inputs = vec![value("x", F32, &[1 << 18])];
    let nodes = vec![
        node("add", "Add", &["x", "w"], &["a"]),
        node("shape", "Reshape", &["a", "dims"], &["y"]),
    ];
    let mut graph = graph(inputs, vec![value("y", F32, &[])], nodes);
    graph.initializer = vec![
        list("before", &[1, 2, 3]),
        stored("w", F32, &[1 << 18], data),
        list("dims", &[512, 512]),
    ];
    encode(&model(17, graph))
}

/// The file of these bytes, in a folder of its own.
fn path(name: &str, bytes: &[u8]) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("plimsoll-file-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for tests");
    let path = folder.join(name);
    fs::write(&path, bytes).expect("a file for tests");
    path
}

#[test]
fn a_weight_is_a_hole_and_all_else_is_in_memory() {
    let bytes = sample();
    let path = path("holes", &bytes);
    let file = OnnxFile::open(&path).expect("a model");
    let [hole] = &file.holes[..] else { panic!("{:?}", file.holes) };
    assert_eq!(hole.len(), BYTES);
    assert_eq!(bytes[hole.clone()][..4], [1, 1, 3, 3]);
    // What follows the first page of it was never read.
    assert!(file.bytes[hole.start + MOST_READ as usize..hole.end].iter().all(|byte| *byte == 0));
    assert_eq!(file.bytes[..hole.start], bytes[..hole.start]);
    assert_eq!(file.bytes[hole.end..], bytes[hole.end..]);
    assert_eq!(format!("{:?}", read(file.clone())), format!("{:?}", read(bytes.clone())));
    let mut copy = Vec::new();
    Annotated::new(file, &Notes::default()).expect("a model").write(&mut copy).expect("memory");
    assert!(copy == bytes, "what is written is the file");
    fs::remove_file(path).expect("the file is ours");
}

#[test]
fn a_file_that_ends_before_it_should_is_an_error() {
    let bytes = sample();
    let shortened = OnnxError::File(SHORTENED.to_owned());
    // As if it had been shortened after its length was asked for: in the structure, in the weight,
    // and behind it.
    for kept in [0, 10, 200, BYTES / 2, bytes.len() - 1] {
        let path = path(&format!("short-{kept}"), &bytes[..kept]);
        let file = File::open(&path).expect("a file");
        let error = OnnxFile::of_length(file, bytes.len() as u64).expect_err("it is short");
        assert_eq!(error, shortened, "{kept}");
        fs::remove_file(path).expect("the file is ours");
    }
}

#[test]
fn a_file_that_is_shortened_later_is_not_copied() {
    let bytes = sample();
    let path = path("later", &bytes);
    let file = OnnxFile::open(&path).expect("a model");
    let annotated = Annotated::new(file.clone(), &Notes::default()).expect("a model");
    File::options().write(true).open(&path).expect("a file").set_len(1000).expect("shorter");
    // The structure is in memory, and its weights are gone.
    assert!(read(file).is_ok());
    let error = annotated.write(&mut Vec::new()).expect_err("it is short");
    assert_eq!(error.to_string(), SHORTENED);
    fs::remove_file(path).expect("the file is ours");
}

#[test]
fn small_data_are_read_wherever_they_are() {
    // Integers of half a megabyte, and then more than are read.
    for (count, holes) in [(65_536, 0), (65_537, 1)] {
        let values: Vec<i64> = (0..count).collect();
        let mut graph = graph(vec![], vec![value("w", 7, &[count])], vec![]);
        graph.initializer = vec![list("w", &values)];
        let bytes = encode(&model(17, graph));
        let path = path(&format!("integers-{count}"), &bytes);
        let file = OnnxFile::open(&path).expect("a model");
        assert_eq!(file.holes.len(), holes, "{count}");
        assert_eq!(format!("{:?}", read(file)), format!("{:?}", read(bytes)));
        fs::remove_file(path).expect("the file is ours");
    }
}
