//! Which nodes may leave their result where an operand is, or write it there: a table, with the
//! reason why a kernel that goes over the elements in order would never read what it has written.

use plimsoll::{Program, StepId, ValueId};
use plimsoll_graph::{LoweringOptions, ScheduledGraph};
use plimsoll_model::{Bindings, Model, infer};
use plimsoll_onnx::proto::NodeProto;
use plimsoll_onnx::proto::tensor_shape_proto::dimension;
use plimsoll_onnx::read;
use plimsoll_onnx::testing::{
    BOOL, F32, I64, encode, float, graph, int, list, model, node, shaped, stored, text, value,
};

const F16: i64 = 10;
const F64: i64 = 11;

/// What result 0 may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum May {
    /// The bytes of operand 0 themselves.
    View,
    /// Written over operand 0.
    Over0,
    /// Written over operand 1.
    Over1,
    /// Written over operands 0 or 1.
    OverBoth,
    /// Neither.
    Nothing,
}

use May::{Nothing, Over0, Over1, OverBoth, View};

/// A model with a node that reads `a`, 4 x 4 numbers that another node makes.
fn around(version: i64, tested: NodeProto) -> Model {
    let square = |name| value(name, F32, &[4, 4]);
    let inputs = vec![
        square("x"),
        square("w"),
        value("row", F32, &[4]),
        value("flag", BOOL, &[]),
        value("choice", BOOL, &[4, 4]),
        value("places", I64, &[4, 4]),
        value("lengths", I64, &[4]),
        value("image", F32, &[1, 4, 2, 2]),
    ];
    let open = shaped("y", F32, vec![None::<dimension::Value>; 2]);
    let mut nodes = vec![
        node("make a", "Relu", &["x"], &["a"]),
        node("make b", "Relu", &["w"], &["b"]),
        node("make pixels", "Relu", &["image"], &["pixels"]),
        node("make unknown", "Mystery", &["x"], &["unknown"]),
    ];
    if tested.input.contains(&"part".to_owned()) {
        nodes.push(node("make part", "Slice", &["a", "0", "1"], &["part"]));
    }
    nodes.push(tested);
    let mut graph = graph(inputs, vec![open], nodes);
    let scalar = |name, bits: Vec<u8>, of| stored(name, of, &[], bits);
    graph.initializer = vec![
        list("0", &[0]),
        list("1", &[1]),
        list("1, 1", &[1, 1]),
        list("2, 8", &[2, 8]),
        list("4, 4", &[4, 4]),
        scalar("axis", 0i64.to_le_bytes().to_vec(), I64),
        scalar("half", 0.5f32.to_le_bytes().to_vec(), F32),
        scalar("yes", vec![1], BOOL),
        scalar("no", vec![0], BOOL),
    ];
    read(encode(&model(version, graph))).unwrap_or_else(|error| panic!("{error}"))
}

/// What the first result of the last node may be.
fn sharing(model: &Model) -> May {
    let inferred = infer(model, &Bindings::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut options = LoweringOptions::default();
    // Of what is not known, the size is not known either.
    for (name, bytes) in [("unknown", 64), ("y", 64)] {
        let known = |id: ValueId| inferred.graph.value(id).shape.known().is_some();
        if inferred.graph.value_by_name(name).is_some_and(|id| !known(id)) {
            options.sizes.insert(name.to_owned(), bytes);
        }
    }
    let program = ScheduledGraph::new(&inferred.graph, &options);
    let program = program.unwrap_or_else(|error| panic!("{error}"));
    let id = |name| inferred.graph.value_by_name(name).expect("a value");
    let node = &inferred.graph.nodes()[inferred.graph.node_by_name("n").expect("a node").index()];
    if program.value(id("y")).view_of.is_some_and(|view| Some(view.of) == node.inputs[0]) {
        return View;
    }
    let step = (0..program.steps()).map(StepId::new).find(|step| program.step_name(*step) == "n");
    let overwrites = program.overwrites(step.expect("a step"));
    let over = |operand: usize| {
        let input = node.inputs.get(operand).copied().flatten();
        overwrites.iter().any(|o| o.output == id("y") && Some(o.input) == input)
    };
    match (over(0), over(1)) {
        (true, true) => OverBoth,
        (true, false) => Over0,
        (false, true) => Over1,
        (false, false) => Nothing,
    }
}

fn n(kind: &str, inputs: &[&str]) -> NodeProto {
    node("n", kind, inputs, &["y"])
}

fn check(version: i64, rows: Vec<(NodeProto, May)>) {
    for (tested, may) in rows {
        let what = format!("{} {:?} of version {version}", tested.op_type(), tested.input);
        let found = sharing(&around(version, tested));
        assert_eq!(found, may, "{what}");
    }
}

fn microsoft(tested: NodeProto) -> NodeProto {
    NodeProto { domain: Some("com.microsoft".to_owned()), ..tested }
}

#[test]
fn element_by_element() {
    check(
        21,
        vec![
            // Each element is read before it is written.
            (n("Relu", &["a"]), Over0),
            (n("Gelu", &["a"]), Over0),
            (n("Clip", &["a", "half", ""]), Over0),
            (n("Trilu", &["a"]), Over0),
            (n("Add", &["a", "b"]), OverBoth),
            (n("Add", &["a", "a"]), OverBoth),
            (n("PRelu", &["a", "b"]), OverBoth),
            (n("Where", &["choice", "a", "b"]), Over1),
            // The other operand is read for every row.
            (n("Add", &["a", "row"]), Over0),
            (n("Sub", &["row", "b"]), Over1),
            // The first row is read for every row, and would be overwritten with the first.
            (n("Add", &["a", "part"]), Nothing),
            (n("Clip", &["part", "half", ""]), Over0),
            // Another type with as many bytes, fewer, more.
            (n("Cast", &["a"]).with(int("to", 6)), Over0),
            (n("Cast", &["a"]).with(int("to", F16)), Over0),
            (n("Cast", &["a"]).with(int("to", F64)), Nothing),
            (n("Equal", &["a", "b"]), Nothing),
            (n("IsNaN", &["a"]), Nothing),
            // Two operands are added up at once; of three, the third when the first sum is written.
            (n("Sum", &["a", "b"]), OverBoth),
            (n("Sum", &["a", "b", "x"]), Over0),
            (n("Sum", &["a", "b", "a"]), Nothing),
            (n("Max", &["a", "b", "row"]), Over0),
            // The rest is not said: what is random is not the same elements.
            (n("Bernoulli", &["a"]), Nothing),
            (n("Bernoulli", &["a"]).with(int("dtype", 1)), Nothing),
            (n("RandomNormalLike", &["a"]), Nothing),
        ],
    );
}

#[test]
fn the_same_elements() {
    check(
        21,
        vec![
            (n("Identity", &["a"]), View),
            (n("Reshape", &["a", "2, 8"]), View),
            (n("Flatten", &["a"]), View),
            (n("Unsqueeze", &["a", "0"]), View),
            (n("Expand", &["a", "4, 4"]), View),
            (n("Tile", &["a", "1, 1"]), View),
            (n("Cast", &["a"]).with(int("to", 1)), View),
            (n("CastLike", &["a", "row"]), View),
            (n("Slice", &["a", "0", "1"]), View),
            // Elements of a type that is not known are not those of any type.
            (n("Cast", &["unknown"]).with(int("to", 2)), Nothing),
            (n("Transpose", &["a"]), Nothing),
            (n("Concat", &["a", "b"]).with(int("axis", 0)), Nothing),
            (n("ReverseSequence", &["a", "lengths"]), Nothing),
            // The shape is the same and the elements are elsewhere.
            (n("Gather", &["a", "lengths"]), Nothing),
            (n("GatherElements", &["a", "places"]), Nothing),
            (n("DepthToSpace", &["pixels"]).with(int("blocksize", 1)), Nothing),
        ],
    );
}

#[test]
fn dropout_drops_only_in_training() {
    check(
        21,
        vec![
            (n("Dropout", &["a"]), View),
            (n("Dropout", &["a", "half"]), View),
            (n("Dropout", &["a", "half", "no"]), View),
            (n("Dropout", &["a", "half", "yes"]), Over0),
            (n("Dropout", &["a", "half", "flag"]), Over0),
        ],
    );
    // Once it was an attribute, and training the default.
    check(
        6,
        vec![(n("Dropout", &["a"]), Nothing), (n("Dropout", &["a"]).with(int("is_test", 1)), View)],
    );
    check(9, vec![(n("Dropout", &["a"]).with(float("ratio", 0.5)), View)]);
}

#[test]
fn row_by_row() {
    let norm = |kind, inputs: &[&str]| n(kind, inputs);
    check(
        21,
        vec![
            // What is known of a row is reckoned before its first element is written.
            (n("Softmax", &["a"]).with(int("axis", 0)), Over0),
            (n("Hardmax", &["a"]), Over0),
            (n("LpNormalization", &["a"]).with(int("axis", 0)), Over0),
            (norm("LayerNormalization", &["a", "row"]), Over0),
            (norm("InstanceNormalization", &["pixels", "row", "row"]), Over0),
            (norm("BatchNormalization", &["a", "row", "row", "row", "row"]), Over0),
            // A sum is stored behind the load of what it includes, or in front of it if it does not.
            (n("CumSum", &["a", "axis"]), Over0),
            (n("CumSum", &["a", "axis"]).with(int("reverse", 1)), Over0),
            (n("CumSum", &["a", "axis"]).with(int("exclusive", 1)), Nothing),
            // Channels beside an element are read after it is written.
            (n("LRN", &["pixels"]).with(int("size", 3)), Nothing),
            // Both halves of a row are read for either.
            (n("MatMul", &["a", "b"]), Nothing),
            (n("ReduceSum", &["a", "0"]), Nothing),
        ],
    );
    // A mean and a deviation are kept from before.
    let layer = node("n", "LayerNormalization", &["a", "row"], &["y", "mean"]);
    check(21, vec![(layer, Over0)]);
}

#[test]
fn elements_at_places() {
    check(
        21,
        vec![
            // Updates replace elements, or are added to them.
            (n("ScatterElements", &["a", "places", "b"]), Over0),
            (n("ScatterElements", &["a", "places", "b"]).with(text("reduction", "add")), Over0),
            // They would be replaced themselves.
            (n("ScatterElements", &["a", "places", "a"]), Nothing),
        ],
    );
    check(
        24,
        vec![
            (n("TensorScatter", &["pixels", "image"]).with(text("mode", "circular")), Over0),
            (n("TensorScatter", &["pixels", "pixels"]), Nothing),
        ],
    );
}

#[test]
fn operators_of_others() {
    check(
        17,
        vec![
            (microsoft(n("BiasGelu", &["a", "row"])), Over0),
            (microsoft(n("FastGelu", &["a"])), Over0),
            (microsoft(n("BiasSoftmax", &["a", "b"])), OverBoth),
            (microsoft(n("SkipLayerNormalization", &["a", "b", "row"])), OverBoth),
            // Its result may be in another order of elements.
            (microsoft(n("QOrderedGelu", &["a"])), Nothing),
            // Every query is read with every key.
            (microsoft(n("GroupQueryAttention", &["a", "b", "b"])), Nothing),
        ],
    );
    // The sum is read once more for the norm.
    let outputs = ["y", "", "", "sum"];
    let skip = node("n", "SkipLayerNormalization", &["a", "b", "row"], &outputs);
    check(17, vec![(microsoft(skip), Nothing)]);
}
