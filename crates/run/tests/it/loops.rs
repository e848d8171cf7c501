//! Bodies that run again and again: `Loop` and `Scan`, by hand, and random ones in each other and in branches.

#[path = "../../../onnx/tests/it/control/bodies.rs"]
mod bodies;

use std::collections::BTreeMap;

use plimsoll_graph::Dtype;
use plimsoll_onnx::proto::{GraphProto, ModelProto, NodeProto};
use plimsoll_onnx::testing::{
    BOOL, F32, I64, body, encode, graph, int, ints, model, node, stored, value,
};
use plimsoll_run::{Array, Options, Session, SessionError, check, compare, outputs, random_inputs};

use crate::random::ways;

fn flag(holds: bool) -> Array {
    Array { dtype: Dtype::Bool, dims: Vec::new(), bytes: vec![holds.into()] }
}

fn number(trips: i64) -> Array {
    Array::i64(&[], &[trips])
}

/// What a model computes in every plan, checked call by call.
fn run<const N: usize>(
    proto: &ModelProto,
    inputs: [(&str, Array); N],
) -> Result<BTreeMap<String, Vec<f32>>, SessionError> {
    let (model, weights) = plimsoll_onnx::read_with_weights(encode(proto)).unwrap();
    let inputs = inputs.map(|(name, array)| (name.to_owned(), array)).into();
    let found = outputs(&model, &weights, &inputs, &Options::default())?;
    for (way, options) in ways() {
        let checked = check(&model, &weights, &inputs, &options)?;
        assert_eq!(checked.unwrap_or_else(|fault| panic!("{way}: {fault}")).outputs, found);
    }
    Ok(found.into_iter().map(|(name, array)| (name, array.to_f32().unwrap())).collect())
}

/// A model with one node of a body, `trips` and `go` being inputs where they are named.
fn looping(operands: &[&str], outputs: &[(&str, &[i64])], repeated: GraphProto) -> ModelProto {
    let names: Vec<&str> = outputs.iter().map(|(name, _)| *name).collect();
    let outputs = outputs.iter().map(|(name, dims)| value(name, F32, dims)).collect();
    let of = |name: &&str| match *name {
        "" => None,
        "trips" => Some(value("trips", I64, &[])),
        "go" => Some(value("go", BOOL, &[])),
        name => Some(value(name, F32, &[2])),
    };
    let inputs = operands.iter().filter_map(of).collect();
    let node = node("rounds", "Loop", operands, &names).with(body("body", repeated));
    model(17, graph(inputs, outputs, vec![node]))
}

/// The body of a loop: a number and a condition before its inputs of two elements.
fn repeated(inputs: &[&str], goes_on: &str, results: &[&str], nodes: Vec<NodeProto>) -> GraphProto {
    let mut given = vec![value("number", I64, &[]), value("holds", BOOL, &[])];
    given.extend(inputs.iter().map(|name| value(name, F32, &[2])));
    let mut made = vec![value(goes_on, BOOL, &[])];
    made.extend(results.iter().map(|name| value(name, F32, &[2])));
    graph(given, made, nodes)
}

/// A state that the number of the round is added to.
fn counting() -> GraphProto {
    let nodes = vec![
        node("real", "Cast", &["number"], &["real"]).with(int("to", F32.into())),
        node("next", "Add", &["state", "real"], &["next"]),
    ];
    repeated(&["state"], "holds", &["next", "next"], nodes)
}

#[test]
fn rounds_are_counted_and_their_results_collected() {
    let mut proto = looping(&["trips", "", "x"], &[("last", &[2]), ("all", &[3, 2])], counting());
    let trips = stored("trips", I64, &[], 3i64.to_le_bytes().to_vec());
    let graph = proto.graph.as_mut().unwrap();
    graph.initializer.push(trips);
    graph.input.remove(0);
    let found = run(&proto, [("x", Array::f32(&[2], &[1.0, -1.0]))]).unwrap();
    assert_eq!(found["last"], [4.0, 2.0]);
    assert_eq!(found["all"], [1.0, -1.0, 2.0, 0.0, 4.0, 2.0]);
}

#[test]
fn how_many_rounds_there_are_may_be_an_input() {
    let proto = looping(&["trips", "go", "x"], &[("last", &[2])], {
        let mut body = counting();
        body.output.pop();
        body
    });
    let last = |trips: i64, go: bool| {
        let x = Array::f32(&[2], &[1.0, -1.0]);
        run(&proto, [("trips", number(trips)), ("go", flag(go)), ("x", x)]).unwrap()["last"].clone()
    };
    assert_eq!(last(4, true), [7.0, 5.0]);
    assert_eq!(last(1, true), [1.0, -1.0]);
    // Without a round, what is given is handed out.
    for (trips, go) in [(0, true), (-5, true), (4, false)] {
        assert_eq!(last(trips, go), [1.0, -1.0]);
    }
}

/// Doubles while the sum is below ten: the condition depends on what a round makes.
#[test]
fn a_condition_ends_them() {
    let nodes = vec![
        node("twice", "Add", &["state", "state"], &["twice"]),
        node("sum", "ReduceSum", &["twice"], &["sum"]).with(int("keepdims", 0)),
        node("below", "Less", &["sum", "ten"], &["below"]),
    ];
    let mut inner = repeated(&["state"], "below", &["twice"], nodes);
    inner.initializer.push(stored("ten", F32, &[], 10f32.to_le_bytes().to_vec()));
    let proto = looping(&["", "go", "x"], &[("y", &[2])], inner);
    let doubled = |x: [f32; 2]| {
        let inputs = [("go", flag(true)), ("x", Array::f32(&[2], &x))];
        run(&proto, inputs).unwrap()["y"].clone()
    };
    assert_eq!(doubled([1.0, 0.5]), [8.0, 4.0]);
    assert_eq!(doubled([30.0, 0.0]), [60.0, 0.0]);
}

/// Two states that change places, and are added up: numbers of Fibonacci.
#[test]
fn states_may_change_places() {
    let sum = vec![node("sum", "Add", &["a", "b"], &["sum"])];
    let swap = looping(
        &["trips", "", "x", "y"],
        &[("p", &[2]), ("q", &[2])],
        repeated(&["a", "b"], "holds", &["b", "a"], Vec::new()),
    );
    let fibonacci = looping(
        &["trips", "", "x", "y"],
        &[("p", &[2]), ("q", &[2])],
        repeated(&["a", "b"], "holds", &["b", "sum"], sum),
    );
    let inputs = |trips: i64| {
        let (x, y) = (Array::f32(&[2], &[0.0, 2.0]), Array::f32(&[2], &[1.0, 1.0]));
        [("trips", number(trips)), ("x", x), ("y", y)]
    };
    assert_eq!(run(&swap, inputs(2)).unwrap()["p"], [0.0, 2.0]);
    assert_eq!(run(&swap, inputs(3)).unwrap()["p"], [1.0, 1.0]);
    assert_eq!(run(&fibonacci, inputs(7)).unwrap()["p"], [13.0, 29.0]);
    assert_eq!(run(&fibonacci, inputs(7)).unwrap()["q"], [21.0, 47.0]);
}

/// Running sums along the columns of a matrix, from the last to the first, put together as rows from the end.
#[test]
fn a_scan_goes_along_any_axis_either_way() {
    let nodes = vec![node("sum", "Add", &["state", "column"], &["sum"])];
    let inner = graph(
        vec![value("state", F32, &[2]), value("column", F32, &[2])],
        vec![value("sum", F32, &[2]), value("sum", F32, &[2])],
        nodes,
    );
    let scan = node("scan", "Scan", &["s", "x"], &["total", "sums"])
        .with(int("num_scan_inputs", 1))
        .with(ints("scan_input_axes", &[1]))
        .with(ints("scan_input_directions", &[1]))
        .with(ints("scan_output_directions", &[1]))
        .with(ints("scan_output_axes", &[-2]))
        .with(body("body", inner));
    let inputs = vec![value("s", F32, &[2]), value("x", F32, &[2, 3])];
    let made = vec![value("total", F32, &[2]), value("sums", F32, &[3, 2])];
    let proto = model(17, graph(inputs, made, vec![scan]));
    let x = Array::f32(&[2, 3], &[1.0, 2.0, 3.0, 10.0, 20.0, 30.0]);
    let found = run(&proto, [("s", Array::f32(&[2], &[0.5, 0.0])), ("x", x)]).unwrap();
    assert_eq!(found["total"], [6.5, 60.0]);
    assert_eq!(found["sums"], [6.5, 60.0, 5.5, 50.0, 3.5, 30.0]);
}

/// What cannot be run is said when the session is made, with the node.
#[test]
fn what_has_no_size_or_no_end_is_refused() {
    let refused = |proto: &ModelProto| {
        let (model, weights) = plimsoll_onnx::read_with_weights(encode(proto)).unwrap();
        Session::new(&model, &weights, &Options::default()).err().unwrap().to_string()
    };
    let endless = looping(&["", "", "x"], &[("last", &[2])], {
        let mut body = counting();
        body.output.pop();
        body
    });
    let words = "1 node cannot be run\n  node `rounds` (Loop): its rounds never end";
    assert_eq!(refused(&endless), words);
    let collected = looping(&["trips", "", "x"], &[("last", &[2]), ("all", &[3, 2])], counting());
    let words = "1 node cannot be run\n  node `rounds` (Loop): collected result 0 has dims that depend on data";
    assert_eq!(refused(&collected), words);
    let nodes = vec![node("more", "Concat", &["state", "state"], &["more"]).with(int("axis", 0))];
    let growing = looping(
        &["trips", "", "x"],
        &[("last", &[2])],
        repeated(&["state"], "holds", &["more"], nodes),
    );
    assert!(refused(&growing).contains("node `rounds` (Loop): state 0 "), "{}", refused(&growing));
}

#[test]
fn random_bodies_compute_the_same_in_every_plan() {
    for seed in 0..40 {
        let proto = bodies::random_model(seed);
        let (model, weights) = plimsoll_onnx::read_with_weights(encode(&proto)).unwrap();
        for (way, options) in ways() {
            let session = Session::new(&model, &weights, &options);
            let session = session.unwrap_or_else(|error| panic!("seed {seed}, {way}: {error}"));
            for number in 0..2 {
                let inputs = random_inputs(2 * seed + number, session.inputs());
                let (_, difference) = compare(&model, &weights, &inputs, &options).unwrap();
                assert_eq!(difference, None, "seed {seed}, {way}");
                let checked = check(&model, &weights, &inputs, &options).unwrap();
                assert!(checked.is_ok(), "seed {seed}, {way}: {}", checked.unwrap_err());
            }
        }
    }
}
