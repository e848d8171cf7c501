//! The models of `corpus/`, run in poisoned arenas: bit for bit what they compute with every tensor apart.

use std::path::{Path, PathBuf};

use plimsoll_graph::Dtype;
use plimsoll_model::Bindings;
use plimsoll_onnx::testing::{F32, I64, encode, graph, model, node, value};
use plimsoll_run::{Level, Options, Session, SessionError, compare, random_inputs};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(name)
}

fn bindings(symbols: &[(&str, u64)]) -> Bindings {
    let symbols = symbols.iter().map(|(name, dim)| ((*name).to_owned(), *dim)).collect();
    Bindings { symbols, ..Bindings::default() }
}

/// Runs a model of the corpus apart and in a plan, with every level of instructions.
fn check(path: &str, symbols: &[(&str, u64)]) {
    let (model, weights) = plimsoll_onnx::load_with_weights(&folder(path)).unwrap();
    for level in Level::available() {
        let mut options = Options::default().with_bindings(bindings(symbols));
        options.level = level;
        let session = Session::new(&model, &weights, &options);
        let session = session.unwrap_or_else(|error| panic!("{path}: {error}"));
        let inputs = random_inputs(1, session.inputs());
        let (outputs, difference) = compare(&model, &weights, &inputs, &options).unwrap();
        assert_eq!(difference, None, "{path}");
        for (name, output) in outputs.iter().filter(|(_, output)| output.dtype == Dtype::F32) {
            let numbers = output.to_f32().unwrap();
            assert!(numbers.iter().all(|x| x.is_finite()), "{path}: `{name}`");
            assert!(numbers.iter().any(|x| *x != 0.0), "{path}: `{name}`");
        }
        let checked = plimsoll_run::check(&model, &weights, &inputs, &options).unwrap();
        let checked = checked.unwrap_or_else(|fault| panic!("{path}: {fault}"));
        assert_eq!((checked.outputs, checked.calls), (outputs, session.calls()), "{path}");
        assert!(checked.poisoned_bytes > 0, "{path}: something dies");
    }
}

#[test]
fn the_sample_runs_in_its_plan() {
    check("models/sample.onnx", &[]);
}

#[test]
fn an_encoder_and_a_decoder_run_in_their_plans() {
    check("models/encoder.onnx", &[("seq", 5)]);
    check("models/decoder.onnx", &[]);
}

#[test]
fn bodies_run_in_their_plan() {
    check("models/bodies.onnx", &[]);
}

#[test]
fn nodes_without_a_kernel_are_listed_all_at_once() {
    let nodes = vec![
        node("det", "Det", &["x"], &["d"]),
        node("places", "NonZero", &["x"], &["p"]),
        node("exp", "Exp", &["d"], &["y"]),
    ];
    let outputs = vec![value("y", F32, &[]), value("p", I64, &[2, 1])];
    let proto = model(17, graph(vec![value("x", F32, &[2, 2])], outputs, nodes));
    let (model, weights) = plimsoll_onnx::read_with_weights(encode(&proto)).unwrap();
    let error = Session::new(&model, &weights, &Options::default()).err().unwrap();
    let SessionError::Missing(missing) = &error else { panic!("{error}") };
    let ops: Vec<&str> = missing.iter().map(|missing| &missing.op[..]).collect();
    assert_eq!(ops, ["Det", "NonZero"]);
    assert!(error.to_string().contains("\n  node `det` (Det): no kernel"), "{error}");
}
