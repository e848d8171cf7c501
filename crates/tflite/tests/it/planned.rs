//! Plans in files, and what the interpreter of TensorFlow Lite Micro takes with them.

use std::fs;
use std::path::Path;

use plimsoll_graph::NodeId;
use plimsoll_tflite::TfliteFile;
use plimsoll_tflite::testing::{Net, NetGraph, NetTensor, dtypes, samples};
use plimsoll_tflite::tflm::AT_RUN_TIME;

fn file(net: &Net) -> TfliteFile {
    TfliteFile::read(net.to_bytes()).expect("a model")
}

fn plan(offsets: &[i32]) -> Vec<u8> {
    let head = [1, 0, i32::try_from(offsets.len()).expect("few")];
    head.iter().chain(offsets).flat_map(|number| number.to_le_bytes()).collect()
}

#[test]
fn what_the_interpreter_takes_by_itself() {
    let head = |net: &Net| file(net).head_bytes(&[]).expect("stored sizes");
    // The interpreter itself takes these, by tools/tflite/prove.py. Seven tensors of 2048 bytes are there at a time.
    assert_eq!(head(&samples::branches(6, 512)), 8 * 2048);
    // What is chosen from and what is chosen stay while both ends of the bodies are there.
    assert_eq!(head(&samples::choice()), 4 * 256 + 16);
    // Tensors of a body live from its first call to its last.
    assert_eq!(head(&samples::twice()), 6 * 256 + 16);
    assert_eq!(head(&samples::counting()), 3 * 16 + 16);
    // The input, the output, and the scratch memory of SVDF: 24 and 12 bytes, rounded up.
    assert_eq!(head(&samples::state()), 16 + 16 + 32 + 16);
    assert_eq!(head(&samples::parts()), 512);
}

#[test]
fn what_nobody_uses_lies_side_by_side_before_the_beginning() {
    let mut net = samples::parts();
    for name in ["one", "two", "three"] {
        net.subgraphs[0].tensor(name, dtypes::F32, &[64]);
    }
    let file = file(&net);
    assert_eq!(file.head_bytes(&[]).unwrap(), 3 * 256);
    let imported = file.import().unwrap();
    let settled = imported.settled_offsets(&file, &vec![AT_RUN_TIME; file.tensor_count()]);
    assert_eq!(settled[10..], [0, 0, 0]);
    assert!(settled[..10].iter().all(|offset| *offset == AT_RUN_TIME));
    assert_eq!(file.head_bytes(&settled).unwrap(), 512);
}

#[test]
fn variables_of_other_subgraphs_are_left_to_the_interpreter_by_their_index_in_the_first() {
    let mut net = samples::choice();
    let kept = NetTensor {
        name: "kept".to_owned(),
        dims: vec![4],
        is_variable: true,
        ..NetTensor::default()
    };
    net.subgraphs[1].tensors.push(kept);
    let file = file(&net);
    let imported = file.import().unwrap();
    let settled = imported.settled_offsets(&file, &vec![64; file.tensor_count()]);
    // It is tensor 2 of its subgraph, and 5 + 2 of all.
    let left: Vec<usize> = (0..settled.len()).filter(|at| settled[*at] == AT_RUN_TIME).collect();
    assert_eq!(left, [2]);
}

#[test]
fn a_plan_comes_in_front_of_the_file_which_stays_as_it_was() {
    for (name, net) in samples::samples() {
        let before = file(&net);
        assert_eq!(before.offline_plan(), Ok(None), "{name}");
        let offsets: Vec<i32> =
            (0..before.tensor_count()).map(|at| 16 * i32::try_from(at).expect("few")).collect();
        let after = before.with_offline_plan(&plan(&offsets)).unwrap();
        assert!(after.bytes().ends_with(before.bytes()), "{name}");
        let front = after.bytes().len() - before.bytes().len();
        assert!(front.is_multiple_of(64), "{name}: {front}");
        assert_eq!(after.subgraphs.len(), before.subgraphs.len());
        for (after, before) in after.subgraphs.iter().zip(&before.subgraphs) {
            assert_eq!((&after.tensors, &after.operators), (&before.tensors, &before.operators));
            assert_eq!((&after.inputs, &after.outputs), (&before.inputs, &before.outputs));
        }
        assert_eq!(after.offline_offsets(), Ok(offsets), "{name}");
    }
}

#[test]
fn a_plan_takes_the_place_of_another() {
    let net = samples::choice();
    let before = file(&net);
    let count = before.tensor_count();
    let once = before.with_offline_plan(&plan(&vec![16; count])).unwrap();
    let again = once.with_offline_plan(&plan(&vec![32; count])).unwrap();
    assert_eq!(again.bytes().len(), once.bytes().len());
    assert_eq!(again.offline_offsets(), Ok(vec![32; count]));
    let differ = again.bytes().iter().zip(once.bytes()).filter(|(a, b)| a != b).count();
    assert_eq!(differ, count);
    // One for another number of tensors is left behind, and the note beside it is still there.
    let wrong = before.with_offline_plan(&plan(&[16])).unwrap();
    assert_eq!(wrong.offline_offsets(), Ok(vec![]));
    let right = wrong.with_offline_plan(&plan(&vec![48; count])).unwrap();
    assert_eq!(right.offline_offsets(), Ok(vec![48; count]));
    assert!(right.bytes().ends_with(before.bytes()));
}

#[test]
fn without_a_plan_all_places_are_left_to_the_interpreter() {
    let before = file(&samples::parts());
    assert_eq!(before.without_offline_plan().unwrap().bytes(), before.bytes());
    let count = before.tensor_count();
    let planned = before.with_offline_plan(&plan(&vec![4096; count])).unwrap();
    let without = planned.without_offline_plan().unwrap();
    assert_eq!(without.offline_offsets(), Ok(vec![AT_RUN_TIME; count]));
    assert_eq!(without.head_bytes(&without.offline_offsets().unwrap()), Ok(512));
    assert_eq!(without.bytes().len(), planned.bytes().len());
}

#[test]
fn operators_change_places_by_the_references_to_them() {
    let before = file(&samples::branches(3, 32));
    let count = before.subgraphs[0].operators.len();
    let order: Vec<usize> = (0..count).rev().collect();
    let after = before.with_operators_in_order(&order).unwrap();
    let reversed: Vec<_> = before.subgraphs[0].operators.iter().rev().cloned().collect();
    assert_eq!(after.subgraphs[0].operators, reversed);
    assert_eq!(after.subgraphs[0].tensors, before.subgraphs[0].tensors);
    let differ = |one: &[u8], other: &[u8]| one.iter().zip(other).filter(|(a, b)| a != b).count();
    assert!(differ(after.bytes(), before.bytes()) <= 4 * count);
    let back = after.with_operators_in_order(&order).unwrap();
    assert_eq!(back.bytes(), before.bytes());
    let error = before.with_operators_in_order(&[0; 3]).expect_err("not all").to_string();
    assert_eq!(error, "the order does not have every operator once");
}

#[test]
fn only_operators_of_the_first_subgraph_have_an_order() {
    let file = file(&samples::choice());
    let imported = file.import().unwrap();
    let nodes = (0..imported.graph.nodes().len()).map(NodeId::new);
    assert_eq!(imported.operator_order(nodes), [0, 1, 2]);
}

#[test]
fn a_size_that_is_not_stored_is_named() {
    let mut graph = NetGraph::default();
    let x = graph.input("x", dtypes::F32, &[-1, 4]);
    graph.outputs = vec![x];
    let error = file(&Net::of(graph)).head_bytes(&[]).expect_err("no size").to_string();
    assert_eq!(error, "subgraph 0, tensor 0 (`x`): its size is not stored");
}

#[test]
fn custom_operators_are_named_whose_scratch_memory_is_not_known() {
    assert_eq!(file(&samples::state()).unknown_operators(), ["Mystery"]);
    assert_eq!(file(&samples::parts()).unknown_operators(), [""; 0]);
}

/// The files of the corpus are those of the samples.
#[test]
fn the_corpus_is_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/tflite");
    for (name, net) in samples::samples() {
        let stored = fs::read(folder.join(format!("{name}.tflite"))).expect("in the corpus");
        assert!(
            stored == net.to_bytes(),
            "{name}: cargo run -p plimsoll-tflite --example make_samples --features testing"
        );
    }
}
