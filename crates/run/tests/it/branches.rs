//! Branches whose condition is known in a run alone: only the nodes of the one that is taken run.

use std::collections::BTreeMap;

use plimsoll_graph::Dtype;
use plimsoll_onnx::proto::ModelProto;
use plimsoll_onnx::testing::{BOOL, F32, I64, body, encode, graph, model, node, value};
use plimsoll_run::{Array, Options, SessionError, check, outputs};

/// `c ? -(x * x) : x[i]`, and its exponential.
fn choosing() -> ModelProto {
    let result = |name: &str| vec![value(name, F32, &[2])];
    let then = vec![
        node("square", "Mul", &["x", "x"], &["xx"]),
        node("negate", "Neg", &["xx"], &["negative"]),
    ];
    let otherwise = vec![node("pick", "Gather", &["x", "i"], &["picked"])];
    let choose = node("choose", "If", &["c"], &["chosen"])
        .with(body("then_branch", graph(Vec::new(), result("negative"), then)))
        .with(body("else_branch", graph(Vec::new(), result("picked"), otherwise)));
    let inputs = vec![value("c", BOOL, &[]), value("x", F32, &[2]), value("i", I64, &[2])];
    let nodes = vec![choose, node("exp", "Exp", &["chosen"], &["y"])];
    model(17, graph(inputs, result("y"), nodes))
}

fn inputs(condition: bool, indices: [i64; 2]) -> BTreeMap<String, Array> {
    let condition = Array { dtype: Dtype::Bool, dims: Vec::new(), bytes: vec![condition.into()] };
    let arrays =
        [("c", condition), ("x", Array::f32(&[2], &[0.0, 1.0])), ("i", Array::i64(&[2], &indices))];
    arrays.map(|(name, array)| (name.to_owned(), array)).into()
}

fn run(condition: bool, indices: [i64; 2]) -> Result<Vec<f32>, SessionError> {
    let (model, weights) = plimsoll_onnx::read_with_weights(encode(&choosing())).unwrap();
    let inputs = inputs(condition, indices);
    let found = outputs(&model, &weights, &inputs, &Options::default())?;
    let checked = check(&model, &weights, &inputs, &Options::default())?;
    assert_eq!(checked.unwrap_or_else(|fault| panic!("{fault}")).outputs, found);
    Ok(found["y"].to_f32().unwrap())
}

#[test]
fn the_branch_that_is_taken_is_handed_on() {
    let e = 1f32.exp();
    let near = |found: Vec<f32>, expected: [f32; 2]| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found:?}");
    };
    near(run(true, [0, 0]).unwrap(), [1.0, 1.0 / e]);
    near(run(false, [1, 0]).unwrap(), [e, 1.0]);
}

/// A branch whose shapes do not fit cannot run: the other one is taken, whatever the condition is.
#[test]
fn a_branch_that_cannot_run_is_never_asked_for() {
    let mut proto = choosing();
    let otherwise = &mut proto.graph.as_mut().unwrap().node[0].attribute[1];
    let picked = vec![node("pick", "MatMul", &["x", "three"], &["picked"])];
    let mut body = graph(Vec::new(), vec![value("picked", F32, &[2])], picked);
    body.initializer.push(plimsoll_onnx::testing::stored("three", F32, &[3], vec![0; 12]));
    otherwise.g = Some(Box::new(body));
    let (model, weights) = plimsoll_onnx::read_with_weights(encode(&proto)).unwrap();
    for condition in [true, false] {
        let found = outputs(&model, &weights, &inputs(condition, [0, 0]), &Options::default());
        let found = found.unwrap()["y"].to_f32().unwrap();
        assert!((found[1] - (-1f32).exp()).abs() < 1e-6, "{found:?}");
    }
}

#[test]
fn the_other_one_does_not_run() {
    // An index beyond the axis is an error, but only where somebody asks for it.
    assert_eq!(run(true, [7, 0]).unwrap().len(), 2);
    let error = run(false, [7, 0]).unwrap_err().to_string();
    assert_eq!(error, "node `pick`: index 7 of an axis of 2");
}
