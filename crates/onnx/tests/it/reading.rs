//! What is made of models that are odd, but fine.

use plimsoll_graph::Dtype;
use plimsoll_model::{
    Axis, Binary, Content, Custom, FusedMatMul, Model, Operator, Origin, SkipNorm, Unary,
};
use plimsoll_onnx::proto::attribute_proto::AttributeType;
use plimsoll_onnx::proto::tensor_proto::DataLocation;
use plimsoll_onnx::proto::tensor_shape_proto::dimension::Value::{DimParam, DimValue};
use plimsoll_onnx::proto::{
    FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto,
};
use plimsoll_onnx::read;
use plimsoll_onnx::testing::{
    BOOL, F32, I64, body, encode, float, floats, graph, import, int, ints, list, model, node,
    reference, shaped, stored, tensor, value,
};
use prost::Message;

fn accepted(model: &ModelProto) -> Model {
    read(encode(model)).unwrap_or_else(|error| panic!("{error}"))
}

fn row(name: &str) -> ValueInfoProto {
    value(name, F32, &[4])
}

/// One node from `x` to `y`, in the domain.
fn single(domain: &str, version: i64, node: NodeProto) -> ModelProto {
    let node = NodeProto { domain: Some(domain.to_owned()), ..node };
    model(version, graph(vec![row("x")], vec![row("y")], vec![node]))
}

fn operator(domain: &str, version: i64, node: NodeProto) -> Operator {
    accepted(&single(domain, version, node)).body.nodes[0].operator.clone()
}

#[test]
fn dims_that_are_not_known_are_written_in_many_ways() {
    let dims = vec![
        Some(DimValue(2)),
        Some(DimValue(0)),
        Some(DimValue(-1)),
        Some(DimParam("batch".into())),
        Some(DimParam("?".into())),
        Some(DimParam(String::new())),
        None,
    ];
    let mut untyped = row("z");
    untyped.r#type = None;
    let graph = graph(vec![shaped("x", I64, dims), untyped], vec![row("x")], vec![]);
    let model = accepted(&model(17, graph));
    let symbol = Axis::Symbol("batch".into());
    let unknown = || Axis::Unknown;
    let dims = vec![Axis::Known(2), unknown(), unknown(), symbol, unknown(), unknown(), unknown()];
    let x = model.tensor(model.body.inputs[0]);
    assert_eq!((x.dtype, &x.dims), (Some(Dtype::I64), &Some(dims)));
    let z = model.tensor(model.body.inputs[1]);
    assert_eq!((z.dtype, &z.dims), (None, &None));
}

#[test]
fn weights_that_are_listed_as_inputs_are_weights() {
    let add = node("add", "Add", &["x", "w"], &["y"]);
    let mut graph = graph(vec![row("x"), row("w")], vec![row("y")], vec![add]);
    graph.initializer = vec![stored("w", F32, &[4], vec![0; 16])];
    let model = accepted(&model(17, graph));
    assert_eq!(model.body.inputs.len(), 1);
    let weight = model.body.nodes[0].inputs[1].expect("an operand");
    assert_eq!(model.tensor(weight).origin, Origin::Stored);
}

#[test]
fn data_outside_of_the_file_need_not_be_there() {
    let add = node("add", "Add", &["x", "w"], &["y"]);
    let mut graph = graph(vec![row("x")], vec![row("y")], vec![add]);
    graph.initializer = vec![TensorProto {
        raw_data: None,
        data_location: Some(DataLocation::External.into()),
        ..stored("w", F32, &[1 << 30, 1 << 30], Vec::new())
    }];
    let model = accepted(&model(17, graph));
    let weight = model.tensor(model.body.nodes[0].inputs[1].expect("an operand"));
    assert_eq!(weight.dims, Some(vec![Axis::Known(1 << 30), Axis::Known(1 << 30)]));
    assert_eq!(weight.content, None);
}

#[test]
fn the_data_of_weights_are_not_copied() {
    let mut graph = graph(vec![], vec![], vec![]);
    graph.initializer = vec![stored("w", F32, &[1_000], vec![1; 4_000])];
    let bytes = encode(&model(17, graph));
    let decoded = ModelProto::decode(bytes.clone()).expect("a model");
    let graph = decoded.graph.expect("a graph");
    let data = graph.initializer[0].raw_data.as_ref().expect("raw data");
    assert_eq!(data.len(), 4_000);
    assert!(bytes.as_ptr_range().contains(&data.as_ptr()));
}

#[test]
fn names_are_made_unique_and_never_empty() {
    let nodes = vec![
        node("same", "Relu", &["x"], &["a"]),
        node("same", "Relu", &["a"], &["b"]),
        node("", "Relu", &["b"], &["c"]),
        node("same#2", "Relu", &["c"], &["d"]),
        node("same", "Relu", &["d"], &["y"]),
        node("", "Relu", &["x"], &[""]),
    ];
    let model = accepted(&model(17, graph(vec![row("x")], vec![row("y")], nodes)));
    let names: Vec<&str> = model.body.nodes.iter().map(|node| &node.name[..]).collect();
    assert_eq!(names, ["same", "same#2", "c", "same#2#2", "same#3", "Relu 5"]);
}

#[test]
fn a_body_may_have_the_names_of_what_is_around_it() {
    let shadow = || {
        let pick = node("if", "Neg", &["x"], &["y"]);
        graph(vec![], vec![row("y")], vec![pick])
    };
    let choose = node("if", "If", &["x"], &["y"])
        .with(body("then_branch", shadow()))
        .with(body("else_branch", graph(vec![], vec![row("x")], vec![])));
    let model = accepted(&model(17, graph(vec![row("x")], vec![row("y")], vec![choose])));
    assert_eq!(model.tensor(model.body.outputs[0]).name, "y");
    let Operator::If(branches) = &model.body.nodes[0].operator else { panic!("not an If") };
    assert_eq!(branches.then.nodes[0].name, "if/then/if");
    assert_eq!(model.tensor(branches.then.outputs[0]).name, "if/then/y");
    // A branch hands out what is around it.
    assert_eq!(branches.otherwise.outputs, model.body.inputs);
}

#[test]
fn absent_operands_and_results_are_trimmed() {
    let clip = node("clip", "Clip", &["x", "", "most", ""], &["y"]);
    let drop = node("drop", "Dropout", &["y"], &["z", ""]);
    let mut graph = graph(vec![row("x"), row("most")], vec![row("z")], vec![clip, drop]);
    graph.value_info = vec![value("y", F32, &[7]), row("nobody")];
    let model = accepted(&model(17, graph));
    let inputs: Vec<bool> = model.body.nodes[0].inputs.iter().map(Option::is_some).collect();
    assert_eq!(inputs, [true, false, true]);
    assert_eq!(model.body.nodes[1].outputs.len(), 1);
    // What is declared is kept.
    let y = model.tensor(model.body.nodes[0].outputs[0].expect("a result"));
    assert_eq!((y.dtype, &y.dims), (Some(Dtype::F32), &Some(vec![Axis::Known(7)])));
}

#[test]
fn nodes_may_be_listed_in_any_order() {
    let nodes = vec![node("b", "Relu", &["a"], &["y"]), node("a", "Relu", &["x"], &["a"])];
    let model = accepted(&model(17, graph(vec![row("x")], vec![row("y")], nodes)));
    assert_eq!(model.body.nodes[0].inputs, model.body.nodes[1].outputs);
}

#[test]
fn constants_are_stored_tensors() {
    let nodes = vec![
        node("a", "Constant", &[], &["a"]).with(int("value_int", 3)),
        node("b", "Constant", &[], &["b"]).with(ints("value_ints", &[1, 2])),
        node("c", "Constant", &[], &["c"]).with(float("value_float", 0.5)),
        node("d", "Constant", &[], &["d"]).with(floats("value_floats", &[0.5])),
        node("e", "Constant", &[], &["e"]).with(tensor("value", list("", &[7, 8, 9]))),
    ];
    let outputs = ["a", "b", "c", "d", "e"].map(row).to_vec();
    let model = accepted(&model(17, graph(vec![], outputs, nodes)));
    assert!(model.body.nodes.is_empty());
    let of = |index: usize| model.tensor(model.body.outputs[index]);
    let dims = |index: usize| of(index).dims.clone().expect("its dims are said");
    assert!(model.tensors.iter().all(|tensor| tensor.origin == Origin::Stored));
    assert_eq!((of(0).dtype, dims(0)), (Some(Dtype::I64), vec![]));
    assert_eq!((of(2).dtype, dims(2)), (Some(Dtype::F32), vec![]));
    assert_eq!(dims(3), [Axis::Known(1)]);
    assert_eq!(of(1).content, Some(Content::Ints(vec![1, 2])));
    assert_eq!((&of(4).name[..], &of(4).content), ("e", &Some(Content::Ints(vec![7, 8, 9]))));
}

#[test]
fn operators_that_are_not_known_are_assumed_nothing_of() {
    let custom = Operator::Custom(Custom::default());
    assert_eq!(operator("elsewhere", 17, node("n", "Relu", &["x"], &["y"])), custom);
    assert_eq!(operator("", 99, node("n", "FromTheFuture", &["x"], &["y"])), custom);
    assert_eq!(operator("ai.onnx.ml", 17, node("n", "Scaler", &["x"], &["y"])), custom);
}

/// The bodies of such an operator may read what is around it, which then are its operands.
#[test]
fn bodies_of_unknown_operators_keep_what_they_read() {
    let inner = graph(
        vec![row("p")],
        vec![row("q")],
        vec![node("m", "Add", &["p", "a"], &["r"]), node("n", "Add", &["r", "b"], &["q"])],
    );
    let search = NodeProto {
        domain: Some("elsewhere".to_owned()),
        ..node("search", "Search", &["x"], &["y"]).with(body("decoder", inner))
    };
    let inputs = vec![row("x"), row("a"), row("b"), row("c")];
    let model = accepted(&model(17, graph(inputs, vec![row("y")], vec![search])));
    assert_eq!(model.body.nodes.len(), 1);
    let read: Vec<_> = model.body.nodes[0].inputs.iter().flatten().copied().collect();
    assert_eq!(read, model.body.inputs[..3]);
}

#[test]
fn operators_of_microsoft_are_known_by_a_table() {
    let of = |node| operator("com.microsoft", 17, node);
    let gelu = Operator::Binary(Binary::AddGelu { tanh: false });
    assert_eq!(of(node("n", "BiasGelu", &["x", "x"], &["y"])), gelu);
    let quick = Operator::Unary(Unary::Swish { alpha: 1.702 });
    assert_eq!(of(node("n", "QuickGelu", &["x"], &["y"])), quick);
    let skip = ["x", "x", "x"];
    let norm = |epsilon, rms| Operator::SkipNorm(SkipNorm { epsilon, rms });
    let name = "SkipLayerNormalization";
    assert_eq!(of(node("n", name, &skip, &["y"])), norm(1e-12, false));
    let simplified = node("n", "SkipSimplifiedLayerNormalization", &skip, &["y"]);
    assert_eq!(of(simplified.with(float("epsilon", 0.5))), norm(0.5, true));
    assert_eq!(of(node("n", "FusedMatMul", &["x", "x"], &["y"])), Operator::MatMul);
    let crossed = node("n", "FusedMatMul", &["x", "x"], &["y"]);
    let turned =
        FusedMatMul { transpose_a: true, transpose_b: false, alpha: 0.5, activation: None };
    let both = crossed.clone().with(int("transA", 1)).with(float("alpha", 0.5));
    assert_eq!(of(both), Operator::FusedMatMul(turned));
    let batch = crossed.with(int("transBatchA", 1));
    assert_eq!(of(batch), Operator::Custom(Custom::default()));
    // The second operand of two is behind the scale and the zero point of the first.
    let add = node("n", "QLinearAdd", &["x", "s", "z", "w", "s", "z", "s", "z"], &["y"]);
    let add = NodeProto { domain: Some("com.microsoft".to_owned()), ..add };
    let inputs = ["x", "s", "z", "w"].map(row).to_vec();
    let model = accepted(&model(17, graph(inputs, vec![row("y")], vec![add])));
    let node = &model.body.nodes[0];
    assert_eq!(node.operator, Operator::Binary(Binary::QuantizedAdd));
    assert_eq!(node.inputs[1], Some(model.body.inputs[3]));
}

#[test]
fn the_version_decides_what_attributes_mean() {
    let squeeze = || node("n", "Squeeze", &["x"], &["y"]).with(ints("axes", &[0]));
    let inputs = |version| accepted(&single("", version, squeeze())).body.nodes[0].inputs.len();
    assert_eq!((inputs(12), inputs(13)), (2, 1));
    let drop = |version| operator("", version, node("n", "Dropout", &["x"], &["y", "m"]));
    assert!(matches!(drop(6), Operator::Custom(_)));
    assert_eq!(drop(9), Operator::Dropout { early_mask: true });
    assert_eq!(drop(10), Operator::Dropout { early_mask: false });
    let mut fourier = single("", 17, node("n", "DFT", &["x"], &["y"]));
    assert_eq!(accepted(&fourier).body.nodes[0].inputs.len(), 3);
    fourier.opset_import = vec![import("ai.onnx", 20)];
    assert_eq!(accepted(&fourier).body.nodes[0].inputs.len(), 1);
}

fn function(inputs: &[&str], outputs: &[&str], nodes: Vec<NodeProto>) -> FunctionProto {
    FunctionProto {
        name: Some("F".to_owned()),
        domain: Some("own".to_owned()),
        input: inputs.iter().map(|name| (*name).to_owned()).collect(),
        output: outputs.iter().map(|name| (*name).to_owned()).collect(),
        node: nodes,
        opset_import: vec![import("", 12)],
        ..FunctionProto::default()
    }
}

fn calling(function: FunctionProto, call: NodeProto, outputs: &[&str]) -> ModelProto {
    let call = NodeProto { domain: Some("own".to_owned()), ..call };
    let outputs = outputs.iter().map(|name| row(name)).collect();
    let mut model = model(17, graph(vec![row("x")], outputs, vec![call]));
    model.functions = vec![function];
    model
}

#[test]
fn functions_have_a_version_of_their_own() {
    let squeeze = node("s", "Squeeze", &["p"], &["q"]).with(ints("axes", &[0]));
    let model =
        calling(function(&["p"], &["q"], vec![squeeze]), node("call", "F", &["x"], &["y"]), &["y"]);
    // In version 12 the axes are an attribute.
    assert_eq!(accepted(&model).body.nodes[0].inputs.len(), 2);
}

#[test]
fn functions_may_be_called_without_operands_and_results() {
    let clip = node("clip", "Clip", &["p", "least", "most"], &["q"]);
    let relu = node("relu", "Relu", &["q"], &["r"]);
    let f = function(&["p", "least", "most"], &["q", "r"], vec![clip, relu]);
    let model = accepted(&calling(f, node("call", "F", &["x"], &["", "y"]), &["y"]));
    assert_eq!(model.body.nodes.len(), 2);
    assert_eq!(model.body.nodes[0].inputs, [Some(model.body.inputs[0])]);
    assert_eq!(model.body.nodes[1].outputs, [Some(model.body.outputs[0])]);
}

#[test]
fn what_a_function_hands_through_is_copied() {
    let relu = node("relu", "Relu", &["p"], &["q"]);
    let f = function(&["p"], &["p", "q", "q"], vec![relu]);
    let call = node("call", "F", &["x"], &["a", "b", "c"]);
    let model = accepted(&calling(f, call, &["a", "b", "c"]));
    let kinds: Vec<&str> = model.body.nodes.iter().map(|node| &node.kind[..]).collect();
    assert_eq!(kinds, ["Relu", "Identity", "Identity"]);
    assert_eq!(model.body.nodes[1].inputs, [Some(model.body.inputs[0])]);
    assert_eq!(model.body.nodes[1].outputs, [Some(model.body.outputs[0])]);
    assert_eq!(model.body.nodes[2].inputs, [Some(model.body.outputs[1])]);
}

#[test]
fn an_attribute_that_is_not_given_is_absent() {
    let cut = || reference("axis", "along", AttributeType::Int);
    let softmax = node("g", "Gather", &["p", "p"], &["q"]).with(cut());
    let of = |call: NodeProto| {
        let model = calling(function(&["p"], &["q"], vec![softmax.clone()]), call, &["y"]);
        accepted(&model).body.nodes[0].operator.clone()
    };
    let call = || node("call", "F", &["x"], &["y"]);
    assert_eq!(of(call()), Operator::Gather { axis: 0 });
    assert_eq!(of(call().with(int("along", 2))), Operator::Gather { axis: 2 });
}

/// As many names of one kind as there are nodes, all the same or all told apart by their places.
#[test]
fn a_million_nodes_are_read_in_no_time() {
    const NODES: usize = 1_000_000;
    let name = |index: usize| format!("a_layer_of_the_network/{index}");
    let mut nodes = Vec::with_capacity(NODES);
    for index in 0..NODES {
        nodes.push(node("same", "Relu", &[&name(index)], &[&name(index + 1)]));
    }
    let bytes = encode(&model(17, graph(vec![row(&name(0))], vec![row(&name(NODES))], nodes)));
    let model = read(bytes).expect("a model");
    assert_eq!(model.body.nodes.len(), NODES);
    assert_eq!(model.body.nodes[NODES - 1].name, format!("same#{NODES}"));
}

#[test]
fn loops_may_lack_both_operands_in_front() {
    let inner = graph(
        vec![value("i", I64, &[]), value("c", BOOL, &[])],
        vec![value("c", BOOL, &[]), row("s")],
        vec![node("s", "Relu", &["x"], &["s"])],
    );
    let repeat = node("loop", "Loop", &["", ""], &["y"]).with(body("body", inner));
    let model = accepted(&model(17, graph(vec![row("x")], vec![row("y")], vec![repeat])));
    assert_eq!(model.body.nodes[0].inputs, [None, None]);
    assert_eq!(model.body.nodes[0].outputs.len(), 1);
}

/// A body without a graph of its own around it.
#[test]
fn an_empty_graph_is_a_model() {
    let model =
        accepted(&ModelProto { graph: Some(GraphProto::default()), ..ModelProto::default() });
    assert_eq!(model, Model::default());
}
