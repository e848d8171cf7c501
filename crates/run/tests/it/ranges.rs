//! Ranges of dims: one session for every size, in the arena of the largest; bit for bit what a session made for just that
//! size computes.

use std::path::Path;

use plimsoll_model::{Bindings, Model, Weights};
use plimsoll_onnx::proto::ValueInfoProto;
use plimsoll_onnx::proto::tensor_shape_proto::dimension;
use plimsoll_onnx::testing::{F32, encode, graph, int, ints, model, node, shaped, stored, value};
use plimsoll_run::{Options, Session, SessionError, random_inputs};

fn bindings(symbol: &str, size: u64) -> Bindings {
    Bindings { symbols: [(symbol.to_owned(), size)].into(), ..Bindings::default() }
}

/// A value of dims that are numbers or symbols.
fn value_of(name: &str, dims: &[&str]) -> ValueInfoProto {
    let dim = |text: &&str| match text.parse() {
        Ok(number) => Some(dimension::Value::DimValue(number)),
        Err(_) => Some(dimension::Value::DimParam((*text).to_owned())),
    };
    shaped(name, F32, dims.iter().map(dim).collect())
}

/// Runs a model at every size of a range, from the largest to the least and back.
fn every_size(model: &Model, weights: &dyn Weights, symbol: &str, (least, most): (u64, u64)) {
    let options = Options::default().with_ranges(&[(symbol, least, most)]);
    let mut session = Session::new(model, weights, &options).unwrap_or_else(|e| panic!("{e}"));
    let arena = session.arena_bytes();
    for size in (least..=most).rev().chain(least..=most) {
        session.resize(model, weights, &[(symbol, size)]).unwrap_or_else(|e| panic!("{size}: {e}"));
        let mut exact = Options::default().with_bindings(bindings(symbol, size));
        exact.fuse = plimsoll_run::Fuse::Nothing;
        let mut exact = Session::new(model, weights, &exact).unwrap();
        let inputs = random_inputs(size, exact.inputs());
        session.poison();
        for session in [&mut session, &mut exact] {
            session.fill(&inputs).unwrap();
            session.run().unwrap();
        }
        assert_eq!(session.outputs().len(), exact.outputs().len());
        for port in exact.outputs() {
            let (here, there) = (session.output_bytes(&port.name), exact.output_bytes(&port.name));
            assert_eq!(here, there, "`{}` at {size}", port.name);
            let ports = session.outputs().iter().find(|other| other.name == port.name).unwrap();
            assert_eq!(ports.dims, port.dims);
        }
        assert_eq!(session.arena_bytes(), arena);
    }
}

/// Rows of a symbol, through products, views, joins and reductions.
#[test]
fn rows_of_any_number() {
    let numbers =
        |count: usize| (0..count).flat_map(|i| (i as f32 / 7.0).sin().to_le_bytes()).collect();
    let nodes = vec![
        node("product", "MatMul", &["x", "w"], &["p"]),
        node("relu", "Relu", &["p"], &["r"]),
        node("softmax", "Softmax", &["r"], &["s"]).with(int("axis", 0)),
        node("join", "Concat", &["r", "s"], &["j"]).with(int("axis", 0)),
        node("turn", "Transpose", &["j"], &["t"]).with(ints("perm", &[1, 0])),
        node("mean", "ReduceMean", &["t"], &["m"]).with(ints("axes", &[1])),
        node("add", "Add", &["j", "j"], &["y"]),
    ];
    let inputs = vec![value_of("x", &["n", "4"])];
    let outputs = vec![value_of("y", &["2n", "6"]), value("m", F32, &[6, 1])];
    let mut graph = graph(inputs, outputs, nodes);
    graph.initializer.push(stored("w", F32, &[4, 6], numbers(24)));
    let (model, weights) = plimsoll_onnx::read_with_weights(encode(&model(13, graph))).unwrap();
    every_size(&model, &weights, "n", (1, 9));
}

#[test]
fn an_encoder_of_any_length() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let path = corpus.join("models/encoder.onnx");
    let (model, weights) = plimsoll_onnx::load_with_weights(&path).unwrap();
    every_size(&model, &weights, "seq", (1, 7));
}

/// Models that are wrong inside of a range if only its ends are looked at.
#[test]
fn what_is_largest_or_a_view_at_some_sizes_only_is_right_at_all() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/ranges");
    for (file, symbol, least, most) in [
        ("blockpad", "T", 16, 34),
        ("para", "seq", 1, 9),
        ("sometimes", "seq", 4, 11),
        ("transp", "seq", 4, 11),
        ("mod", "seq", 7, 16),
    ] {
        let path = corpus.join(format!("{file}.onnx"));
        let (model, weights) = plimsoll_onnx::load_with_weights(&path).unwrap();
        every_size(&model, &weights, symbol, (least, most));
    }
}

#[test]
fn sizes_beyond_the_range_are_errors() {
    let nodes = vec![node("relu", "Relu", &["x"], &["y"])];
    let graph = graph(vec![value_of("x", &["n"])], vec![value_of("y", &["n"])], nodes);
    let (model, weights) = plimsoll_onnx::read_with_weights(encode(&model(13, graph))).unwrap();
    let options = Options::default().with_ranges(&[("n", 2, 5)]);
    let mut session = Session::new(&model, &weights, &options).unwrap();
    assert_eq!(session.outputs()[0].dims, [5]);
    let mut told =
        |sizes: &[(&str, u64)]| session.resize(&model, &weights, sizes).unwrap_err().to_string();
    assert_eq!(told(&[("n", 6)]), "another size: `n` is 6, planned is 2 to 5");
    assert_eq!(told(&[]), "another size: no size is given for `n`");
    assert_eq!(told(&[("n", 3), ("m", 1)]), "another size: `m` has no range");
    let exact = Options::default().with_bindings(bindings("n", 4));
    let mut exact = Session::new(&model, &weights, &exact).unwrap();
    let error = exact.resize(&model, &weights, &[("n", 4)]).unwrap_err();
    assert!(matches!(error, SessionError::Size(_)), "{error}");
}
