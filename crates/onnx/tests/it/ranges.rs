//! Models that are wrong inside of a range of dims if only its ends are looked at: the plans hold at
//! every size, as the verifier finds when it is shown each of them.

use std::path::Path;

use plimsoll::{Options, plan};
use plimsoll_graph::at_sizes::used_at;
use plimsoll_graph::{LoweringOptions, ScheduledGraph};
use plimsoll_model::Bindings;
use plimsoll_model::range::{Proof, Range, over_ranges};

/// Plans a model of the corpus for a range of one symbol and looks at every size of it; the bytes of
/// the arena, and how it was proven.
fn planned(file: &str, symbol: &str, least: u64, most: u64) -> (u64, Proof) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let bytes = std::fs::read(corpus.join(file)).expect("a model of the corpus");
    let model = plimsoll_onnx::read(bytes::Bytes::from(bytes)).expect("a model");
    let at = |size: u64| Bindings {
        symbols: [(symbol.to_owned(), size)].into_iter().collect(),
        ..Bindings::default()
    };
    let range = Range { symbol: symbol.to_owned(), least, most };
    let ranged = over_ranges(&model, &at(most), &[range]).expect("a graph for the range");
    let program = ScheduledGraph::new(&ranged.graph, &LoweringOptions::default()).expect("sizes");
    let plan = plan(&program, &Options::default()).expect("a plan");
    for size in least..=most {
        let there = ranged.at(&model, &at(size)).expect("a model that runs at every size");
        let other = ScheduledGraph::new(&there, &LoweringOptions::default()).expect("sizes");
        let used = used_at(&program, &plan, &other);
        assert!(used.is_ok(), "{file} at {symbol}={size}: {used:?}");
    }
    (plan.banks.iter().map(|bank| bank.bytes).sum(), ranged.proof)
}

/// The names of what is given up, and of what is larger inside, with its bytes.
fn found(proof: &Proof) -> (Vec<String>, Vec<(&str, u64)>) {
    let given_up = proof.given_up.iter().map(ToString::to_string).collect();
    let larger = proof.larger.iter().map(|(value, bytes)| (&value[..], *bytes)).collect();
    (given_up, larger)
}

#[test]
fn a_value_that_is_empty_at_both_ends_has_room_in_between() {
    let (bytes, proof) = planned("ranges/blockpad.onnx", "T", 16, 512);
    assert_eq!((bytes, proof.sizes, proof.sizes_refused), (393_216, 497, 0));
    assert_eq!(found(&proof), (vec![], vec![("fill", 3840)]));
}

#[test]
fn a_value_that_is_largest_in_the_middle_has_that_size() {
    let (bytes, proof) = planned("ranges/para.onnx", "seq", 1, 511);
    assert_eq!((bytes, proof.sizes), (524_356, 511));
    assert_eq!(found(&proof), (vec![], vec![("o", 262_148), ("p", 262_148)]));
}

#[test]
fn what_is_a_view_at_even_sizes_only_is_a_copy() {
    let (bytes, proof) = planned("ranges/sometimes.onnx", "seq", 4, 64);
    assert_eq!(bytes, 66_048);
    let given_up = ["`e` (not possible at seq=63)", "`t` (not possible at seq=63)"];
    let larger = vec![("e", 32_256), ("t", 1536), ("u", 1536), ("v", 32_256)];
    assert_eq!(found(&proof), (given_up.map(str::to_owned).to_vec(), larger));

    let (bytes, proof) = planned("ranges/transp.onnx", "seq", 4, 64);
    assert_eq!(bytes, 64_512);
    let larger = vec![("e", 32_256), ("e2", 32_256), ("t", 32_256), ("u", 32_256)];
    assert_eq!(found(&proof), (given_up.map(str::to_owned).to_vec(), larger));
}

#[test]
fn what_depends_on_a_rest_is_as_large_as_it_is_anywhere() {
    let (bytes, proof) = planned("ranges/mod.onnx", "seq", 7, 70);
    assert_eq!(bytes, 38_656);
    let larger = vec![("e", 1536), ("o", 19_200), ("tail", 1536), ("z", 19_200)];
    assert_eq!(found(&proof), (vec![], larger));
}

#[test]
fn an_encoder_is_proven_at_once() {
    let (bytes, proof) = planned("models/encoder.onnx", "seq", 1, 128);
    assert_eq!(bytes, 114_688);
    assert_eq!(proof, Proof { sizes: 128, parts: 1, ..Proof::default() });
    assert_eq!(proof.method(), "symbolic");
}
