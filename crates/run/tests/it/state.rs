//! State from run to run: bit for bit what comes of it if the state is passed by hand.

use std::collections::BTreeMap;

use plimsoll_model::{Model, Weights};
use plimsoll_onnx::OnnxWeights;
use plimsoll_onnx::testing::{F32, encode, graph, model, node, value};
use plimsoll_run::{Array, Options, Session, SessionError, check, random_inputs};

const DIMS: [i64; 2] = [3, 8];

/// `x, s` to `y`, by nodes that may have `t` and `u` in between.
fn read(nodes: &[(&str, &[&str], &str)]) -> (Model, OnnxWeights) {
    let nodes = nodes.iter().map(|(kind, inputs, output)| node(output, kind, inputs, &[output]));
    let inputs = vec![value("x", F32, &DIMS), value("s", F32, &DIMS)];
    let graph = graph(inputs, vec![value("y", F32, &DIMS)], nodes.collect());
    plimsoll_onnx::read_with_weights(encode(&model(17, graph))).unwrap()
}

/// What `y` is after each of some runs on other inputs, with the state passed by hand.
fn by_hand(model: &Model, weights: &dyn Weights, start: &Array, runs: u64) -> Vec<Vec<u8>> {
    let mut session = Session::new(model, weights, &Options::default()).unwrap();
    let mut state = start.clone();
    let mut found = Vec::new();
    for run in 0..runs {
        let mut inputs = random_inputs(run, session.inputs());
        inputs.insert("s".to_owned(), state.clone());
        session.fill(&inputs).unwrap();
        session.run().unwrap();
        state.bytes = session.output_bytes("y").unwrap().to_vec();
        found.push(state.bytes.clone());
    }
    found
}

/// The same with the state of the session.
fn by_session(session: &mut Session<'_>, start: &Array, runs: u64) -> Vec<Vec<u8>> {
    session.poison();
    session.input_bytes_mut("s").unwrap().copy_from_slice(&start.bytes);
    let mut found = Vec::new();
    for run in 0..runs {
        let x = random_inputs(run, session.inputs()).remove("x").unwrap();
        session.input_bytes_mut("x").unwrap().copy_from_slice(&x.bytes);
        session.run().unwrap();
        found.push(session.output_bytes("y").unwrap().to_vec());
        assert_eq!(session.input_bytes("s").unwrap(), found.last().unwrap());
    }
    found
}

fn start() -> Array {
    Array::f32(&[3, 8], &std::array::from_fn::<f32, 24, _>(|i| i as f32 / 8.0 - 1.0))
}

fn agree(nodes: &[(&str, &[&str], &str)], input_bytes: usize) {
    let (model, weights) = read(nodes);
    let options = Options::default().with_states(&[("s", "y")]);
    let mut session = Session::new(&model, &weights, &options).unwrap();
    let expected = by_hand(&model, &weights, &start(), 4);
    assert_eq!(by_session(&mut session, &start(), 4), expected);
    // Again from the start: nothing of the runs before is left.
    assert_eq!(by_session(&mut session, &start(), 4), expected);
    assert_eq!(session.input_memory_bytes(), input_bytes);
    let inputs: BTreeMap<String, Array> = [
        ("s".to_owned(), start()),
        ("x".to_owned(), random_inputs(0, session.inputs()).remove("x").unwrap()),
    ]
    .into();
    let checked = check(&model, &weights, &inputs, &options).unwrap().unwrap();
    assert_eq!(checked.outputs["y"].bytes, expected[0]);
}

/// The bytes of `x` alone, in whole lines of 64, and of both inputs.
const ONE: usize = 128;
const BOTH: usize = 256;

#[test]
fn a_state_that_is_updated_in_place_is_in_the_arena() {
    agree(&[("Add", &["s", "x"], "y")], ONE);
    agree(&[("Mul", &["x", "x"], "t"), ("Sub", &["s", "t"], "y")], ONE);
    agree(&[("Softmax", &["s"], "t"), ("Add", &["t", "x"], "u"), ("Mul", &["u", "s"], "y")], ONE);
}

#[test]
fn a_state_that_cannot_be_made_in_place_is_copied() {
    let products: &[(&str, &[&str], &str)] =
        &[("Transpose", &["x"], "t"), ("MatMul", &["s", "t"], "u"), ("MatMul", &["u", "x"], "y")];
    agree(products, BOTH);
}

#[test]
fn a_donation_that_cannot_be_is_an_error() {
    let (model, weights) = read(&[
        ("Transpose", &["x"], "t"),
        ("MatMul", &["s", "t"], "u"),
        ("MatMul", &["u", "x"], "y"),
    ]);
    let mut options = Options::default();
    options.donations = vec![("s".to_owned(), "y".to_owned())];
    let error = Session::new(&model, &weights, &options).err().unwrap();
    assert!(matches!(error, SessionError::State { .. }), "{error}");
    let (model, weights) = read(&[("Add", &["s", "x"], "y")]);
    let session = Session::new(&model, &weights, &options).unwrap();
    assert_eq!(session.input_memory_bytes(), ONE);
}

#[test]
fn states_must_be_there_and_alike() {
    let (model, weights) = read(&[("Add", &["s", "x"], "y")]);
    let told = |input: &str, output: &str| {
        let options = Options::default().with_states(&[(input, output)]);
        Session::new(&model, &weights, &options).err().unwrap().to_string()
    };
    assert_eq!(told("q", "y"), "`y` for `q` of the next run: there is no such input");
    assert_eq!(told("s", "x"), "`x` for `s` of the next run: there is no such output");
}
