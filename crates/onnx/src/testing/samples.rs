//! Small models that are kept in `corpus/models`.

use super::{
    BOOL, F32, I64, body, float, graph, import, int, ints, list, model, node, reference, shaped,
    stored, tensor, value,
};
use crate::proto::attribute_proto::AttributeType;
use crate::proto::tensor_shape_proto::dimension;
use crate::proto::{FunctionProto, ModelProto, NodeProto, TensorProto};

/// Every sample with the name of its file.
#[must_use]
pub fn samples() -> Vec<(&'static str, ModelProto)> {
    vec![
        ("sample.onnx", network()),
        ("bodies.onnx", bodies()),
        ("functions.onnx", functions()),
        ("version9.onnx", version9()),
        ("encoder.onnx", encoder()),
        ("decoder.onnx", decoder()),
    ]
}

/// Weights that are the same on every machine, each between -1/8 and 1/8.
struct Weights(u32);

impl Weights {
    fn tensor(&mut self, name: &str, dims: &[i64]) -> TensorProto {
        let count: i64 = dims.iter().product();
        let raw = (0..count).flat_map(|_| self.next().to_le_bytes()).collect();
        stored(name, F32, dims, raw)
    }

    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        // Sixteen bits, so that nothing is rounded.
        f32::from((self.0 >> 16) as u16) / 262_144.0 - 0.125
    }
}

fn conv(name: &str, input: &str, kernel: i64) -> NodeProto {
    let (weights, bias) = (format!("{name}.weight"), format!("{name}.bias"));
    let pad = kernel / 2;
    node(name, "Conv", &[input, &weights, &bias], &[&format!("{name}.y")])
        .with(ints("kernel_shape", &[kernel, kernel]))
        .with(ints("pads", &[pad, pad, pad, pad]))
}

/// A convolutional network: a residual block, two branches that are put together, a classifier
/// behind a reshape whose dims are reckoned from a shape.
fn network() -> ModelProto {
    let mut weights = Weights(1);
    let mut initializer = Vec::new();
    let convs: [(&str, [i64; 4]); 5] = [
        ("stem", [16, 3, 3, 3]),
        ("block.1", [16, 16, 3, 3]),
        ("block.2", [16, 16, 3, 3]),
        ("narrow", [8, 16, 1, 1]),
        ("wide", [16, 16, 3, 3]),
    ];
    for (name, dims) in convs {
        initializer.push(weights.tensor(&format!("{name}.weight"), &dims));
        initializer.push(weights.tensor(&format!("{name}.bias"), &dims[..1]));
    }
    initializer.push(weights.tensor("classifier.weight", &[10, 24]));
    initializer.push(weights.tensor("classifier.bias", &[10]));
    initializer.push(list("first", &[0]));
    initializer.push(list("rest", &[-1]));
    let nodes = vec![
        conv("stem", "image", 3),
        node("stem.relu", "Relu", &["stem.y"], &["stem.a"]),
        node("stem.pool", "MaxPool", &["stem.a"], &["stem.p"])
            .with(ints("kernel_shape", &[2, 2]))
            .with(ints("strides", &[2, 2])),
        conv("block.1", "stem.p", 3),
        node("block.relu", "Relu", &["block.1.y"], &["block.a"]),
        conv("block.2", "block.a", 3),
        node("block.add", "Add", &["block.2.y", "stem.p"], &["block.s"]),
        node("block.out", "Relu", &["block.s"], &["block.y"]),
        conv("narrow", "block.y", 1),
        conv("wide", "block.y", 3),
        node("join", "Concat", &["narrow.y", "wide.y"], &["joined"]).with(int("axis", 1)),
        node("join.relu", "Relu", &["joined"], &["joined.a"]),
        node("pool", "GlobalAveragePool", &["joined.a"], &["pooled"]),
        node("shape", "Shape", &["pooled"], &["pooled.dims"]),
        node("batch", "Gather", &["pooled.dims", "first"], &["pooled.batch"]),
        node("flat.dims", "Concat", &["pooled.batch", "rest"], &["flat.shape"])
            .with(int("axis", 0)),
        node("flatten", "Reshape", &["pooled", "flat.shape"], &["flat"]),
        node("classifier", "Gemm", &["flat", "classifier.weight", "classifier.bias"], &["scores"])
            .with(int("transB", 1)),
        node("softmax", "Softmax", &["scores"], &["classes"]).with(int("axis", 1)),
    ];
    let image = value("image", F32, &[1, 3, 32, 32]);
    let mut graph = graph(vec![image], vec![value("classes", F32, &[1, 10])], nodes);
    graph.initializer = initializer;
    model(17, graph)
}

/// Branches, a loop and a scan, which read what is around them.
fn bodies() -> ModelProto {
    let row = |name| value(name, F32, &[4]);
    let branch = |kind| {
        graph(vec![], vec![row("chosen")], vec![node("pick", kind, &["x", "y"], &["chosen"])])
    };
    let repeated = graph(
        vec![value("trip", I64, &[]), value("go", BOOL, &[]), row("state")],
        vec![value("go.on", BOOL, &[]), row("state.next"), row("seen")],
        vec![
            node("keep", "Identity", &["go"], &["go.on"]),
            node("step", "Add", &["state", "choice"], &["state.next"]),
            node("see", "Relu", &["state.next"], &["seen"]),
        ],
    );
    let scanned = graph(
        vec![row("sum"), row("element")],
        vec![row("sum.next"), row("running")],
        vec![
            node("add", "Add", &["sum", "element"], &["sum.next"]),
            node("copy", "Identity", &["sum.next"], &["running"]),
        ],
    );
    let nodes = vec![
        node("if", "If", &["condition"], &["choice"])
            .with(body("then_branch", branch("Add")))
            .with(body("else_branch", branch("Mul"))),
        node("loop", "Loop", &["trips", "", "x"], &["last", "all"]).with(body("body", repeated)),
        node("scan", "Scan", &["last", "all"], &["total", "totals"])
            .with(int("num_scan_inputs", 1))
            .with(body("body", scanned)),
    ];
    let inputs = vec![value("condition", BOOL, &[]), row("x"), row("y")];
    let mut graph = graph(inputs, vec![row("total"), value("totals", F32, &[3, 4])], nodes);
    graph.initializer = vec![stored("trips", I64, &[], 3i64.to_le_bytes().to_vec())];
    model(17, graph)
}

/// A function that is called twice, with an attribute and with its default, and calls another.
fn functions() -> ModelProto {
    let function = |name: &str, nodes: Vec<NodeProto>| FunctionProto {
        name: Some(name.to_owned()),
        domain: Some("sample".to_owned()),
        input: vec!["x".to_owned()],
        output: vec!["y".to_owned()],
        node: nodes,
        opset_import: vec![import("", 17), import("sample", 1)],
        ..FunctionProto::default()
    };
    let own = |name: &str, kind: &str, input: &str, output: &str| NodeProto {
        domain: Some("sample".to_owned()),
        ..node(name, kind, &[input], &[output])
    };
    let mut scaled = function(
        "Scaled",
        vec![
            node("factor", "Constant", &[], &["factor"]).with(reference(
                "value_float",
                "by",
                AttributeType::Float,
            )),
            node("product", "Mul", &["x", "factor"], &["y"]),
        ],
    );
    scaled.attribute_proto = vec![float("by", 2.0)];
    let block = function(
        "Block",
        vec![own("scale", "Scaled", "x", "scaled"), node("relu", "Relu", &["scaled"], &["y"])],
    );
    let nodes = vec![
        own("a", "Block", "in", "between"),
        own("b", "Scaled", "between", "out").with(float("by", 3.0)),
    ];
    let value = |name| value(name, F32, &[2, 8]);
    let mut model = model(17, graph(vec![value("in")], vec![value("out")], nodes));
    model.opset_import.push(import("sample", 1));
    model.functions = vec![block, scaled];
    model
}

/// Operators as version 9 has them: what are operands today are attributes.
fn version9() -> ModelProto {
    let nodes = vec![
        node("clip", "Clip", &["x"], &["clipped"]).with(float("min", 0.0)).with(float("max", 6.0)),
        node("pad", "Pad", &["clipped"], &["padded"]).with(ints("pads", &[0, 0, 1, 1, 0, 0, 1, 1])),
        node("slice", "Slice", &["padded"], &["sliced"])
            .with(ints("axes", &[2, 3]))
            .with(ints("starts", &[0, 0]))
            .with(ints("ends", &[8, 8])),
        node("split", "Split", &["sliced"], &["left", "right"])
            .with(int("axis", 1))
            .with(ints("split", &[1, 3])),
        node("upsample", "Upsample", &["right", "scales"], &["large"]),
        node("mean", "ReduceMean", &["large"], &["means"])
            .with(ints("axes", &[2, 3]))
            .with(int("keepdims", 0)),
        node("unsqueeze", "Unsqueeze", &["means"], &["column"]).with(ints("axes", &[2])),
        node("squeeze", "Squeeze", &["left"], &["plane"]).with(ints("axes", &[1])),
        node("best", "TopK", &["plane"], &["values", "places"]).with(int("k", 2)),
        node("fill", "ConstantOfShape", &["dims"], &["ones"])
            .with(tensor("value", stored("one", F32, &[1], 1f32.to_le_bytes().to_vec()))),
        node("sum", "Add", &["column", "ones"], &["y"]),
    ];
    let outputs = vec![
        value("y", F32, &[1, 3, 1]),
        value("values", F32, &[1, 8, 2]),
        value("places", I64, &[1, 8, 2]),
    ];
    let mut graph = graph(vec![value("x", F32, &[1, 4, 8, 8])], outputs, nodes);
    let scales = [1f32, 1.0, 2.0, 2.0].iter().flat_map(|scale| scale.to_le_bytes()).collect();
    graph.initializer = vec![stored("scales", F32, &[4], scales), list("dims", &[1])];
    model(9, graph)
}

/// Attention and two products over as many rows as the caller likes: `seq`.
fn encoder() -> ModelProto {
    let rows = |name| {
        let dims = [dimension::Value::DimParam("seq".to_owned()), dimension::Value::DimValue(32)];
        shaped(name, F32, dims.map(Some).to_vec())
    };
    let mut weights = Weights(2);
    let square = ["w.q", "w.k", "w.v"].map(|name| weights.tensor(name, &[32, 32]));
    let others = [weights.tensor("w.up", &[32, 128]), weights.tensor("w.down", &[128, 32])];
    let nodes = vec![
        node("queries", "MatMul", &["x", "w.q"], &["q"]),
        node("keys", "MatMul", &["x", "w.k"], &["k"]),
        node("values", "MatMul", &["x", "w.v"], &["v"]),
        node("turn", "Transpose", &["k"], &["k.t"]).with(ints("perm", &[1, 0])),
        node("match", "MatMul", &["q", "k.t"], &["scores"]),
        node("softmax", "Softmax", &["scores"], &["shares"]).with(int("axis", 1)),
        node("mix", "MatMul", &["shares", "v"], &["mixed"]),
        node("residual", "Add", &["mixed", "x"], &["h"]),
        node("up", "MatMul", &["h", "w.up"], &["wide"]),
        node("relu", "Relu", &["wide"], &["wide.a"]),
        node("down", "MatMul", &["wide.a", "w.down"], &["narrow"]),
        node("out", "Add", &["narrow", "h"], &["y"]),
    ];
    let mut graph = graph(vec![rows("x")], vec![rows("y")], nodes);
    graph.initializer = square.into_iter().chain(others).collect();
    model(17, graph)
}

/// One step of decoding: a row of a cache of 64 is replaced, and all of them are looked at.
fn decoder() -> ModelProto {
    let mut weights = Weights(3);
    let nodes = vec![
        node("key", "MatMul", &["x", "w.k"], &["row"]),
        node("update", "ScatterND", &["past", "position", "row"], &["present"]),
        node("turn", "Transpose", &["present"], &["keys"]).with(ints("perm", &[1, 0])),
        node("match", "MatMul", &["x", "keys"], &["scores"]),
        node("softmax", "Softmax", &["scores"], &["shares"]).with(int("axis", 1)),
        node("mix", "MatMul", &["shares", "present"], &["y"]),
    ];
    let inputs = vec![
        value("x", F32, &[1, 32]),
        value("position", I64, &[1, 1]),
        value("past", F32, &[64, 32]),
    ];
    let outputs = vec![value("y", F32, &[1, 32]), value("present", F32, &[64, 32])];
    let mut graph = graph(inputs, outputs, nodes);
    graph.initializer = vec![weights.tensor("w.k", &[32, 32])];
    model(17, graph)
}
