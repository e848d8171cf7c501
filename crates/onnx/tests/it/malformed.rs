//! Bytes that are no model, and models that are wrong: each gets an error that names the place.

use std::time::Instant;

use bytes::Bytes;
use plimsoll_onnx::proto::type_proto::{Opaque, SparseTensor, Value};
use plimsoll_onnx::proto::{
    FunctionProto, GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto,
    ValueInfoProto,
};
use plimsoll_onnx::testing::{
    F32, I64, body, encode, float, fuzz_onnx, fuzz_onnx_plan, graph, import, int, ints, list,
    model, node, samples, stored, tensor, text, typed, value,
};
use plimsoll_onnx::{OnnxError, load, read};
use plimsoll_pack::testing::Rng;

fn row(name: &str) -> ValueInfoProto {
    value(name, F32, &[4])
}

fn fault(model: &ModelProto) -> String {
    read(encode(model)).expect_err("a fault").to_string()
}

/// The fault of a model of these nodes from `x` to `y`.
fn fault_of(version: i64, nodes: Vec<NodeProto>) -> String {
    fault(&model(version, graph(vec![row("x")], vec![row("y")], nodes)))
}

fn fault_of_weight(tensor: TensorProto) -> String {
    let mut graph = graph(vec![row("x")], vec![row("x")], vec![]);
    graph.initializer = vec![tensor];
    fault(&model(17, graph))
}

#[test]
fn every_prefix_is_rejected_or_read() {
    for (name, model) in samples() {
        let bytes = encode(&model);
        let step = if bytes.len() > 4096 { 97 } else { 1 };
        let accepted = (0..bytes.len()).step_by(step).filter(|end| fuzz_onnx(&bytes[..*end]));
        // Only the version, or the functions, are behind the graph.
        assert!(accepted.count() < 30, "{name}");
        assert!(fuzz_onnx(&bytes), "{name}");
    }
}

/// Runs a body over mutations of the small samples; how many were accepted.
fn accepted(rounds: usize, body: fn(&[u8]) -> bool) -> usize {
    let seeds: Vec<Bytes> = samples()
        .iter()
        .map(|(_, model)| encode(model))
        .filter(|bytes| bytes.len() < 4096)
        .collect();
    let mut rng = Rng::new(1);
    let mutations = (0..rounds).filter(|round| {
        let mut bytes = seeds[round % seeds.len()].to_vec();
        for _ in 0..=rng.below(3) {
            let at = rng.below(bytes.len() as u64) as usize;
            match rng.below(6) {
                0 => bytes[at] = rng.below(256) as u8,
                1 if bytes.len() > 1 => drop(bytes.drain(at..=at)),
                2 => bytes.insert(at, rng.below(256) as u8),
                3 => bytes[at] ^= 1 << rng.below(8),
                4 => bytes[at] = bytes[at].wrapping_add(1),
                _ => bytes.truncate(at + 1),
            }
        }
        body(&bytes)
    });
    mutations.count()
}

#[test]
fn mutated_models_never_panic() {
    const ROUNDS: usize = 200_000;
    let accepted = accepted(ROUNDS, fuzz_onnx);
    assert!(accepted > ROUNDS / 40, "only {accepted} mutations were still models");
}

#[test]
fn mutated_models_are_rejected_or_planned_right() {
    const ROUNDS: usize = 20_000;
    let accepted = accepted(ROUNDS, fuzz_onnx_plan);
    assert!(accepted > ROUNDS / 80, "only {accepted} mutations could be planned");
}

#[test]
fn what_is_not_protobuf_is_said_to_be_no_model() {
    let no_model = |bytes: &[u8]| {
        let error = read(Bytes::copy_from_slice(bytes)).expect_err("not a model");
        assert!(matches!(error, OnnxError::Protobuf(_)), "{error}");
        error.to_string()
    };
    assert_eq!(no_model(b""), "not an ONNX model: it has no graph");
    no_model(b"id,lower,upper,size\n");
    assert_eq!(no_model(&[0x3a, 2, 0]), "not an ONNX model: it ends inside of a field");
    assert_eq!(no_model(&[0x3a]), "not an ONNX model: it ends inside of a number");
    assert_eq!(no_model(&[0xff; 11]), "not an ONNX model: a number is too long");
    assert_eq!(no_model(&[0x3f]), "not an ONNX model: a field is of no known wire type");
    assert_eq!(no_model(&[0x0c]), "not an ONNX model: a group ends before it begins");
    assert_eq!(no_model(&[0x0b]), "not an ONNX model: a group has no end");
    // The graph as a number.
    assert!(no_model(&[0x38, 1]).contains("invalid wire type"));
}

#[test]
fn files_that_are_not_there_are_named_by_the_system() {
    let missing = load(std::path::Path::new("no/such/file.onnx")).expect_err("no file");
    assert!(matches!(missing, OnnxError::File(_)), "{missing}");
    let folder = load(std::path::Path::new(env!("CARGO_MANIFEST_DIR"))).expect_err("a folder");
    assert_eq!(folder.to_string(), "cannot be read: it is not a file");
}

/// Millions of empty messages, each hundreds of bytes once it is decoded.
#[test]
fn messages_that_would_fill_the_memory_are_not_decoded() {
    let nodes = [0x0a, 0x00].repeat(40_000_000);
    let mut bytes = vec![0x3a];
    prost::encoding::encode_varint(nodes.len() as u64, &mut bytes);
    bytes.extend(nodes);
    let start = Instant::now();
    let error = read(Bytes::from(bytes)).expect_err("a bomb").to_string();
    assert!(error.starts_with("not an ONNX model: its messages take "), "{error}");
    assert!(start.elapsed().as_secs() < 10);
}

#[test]
fn graphs_that_are_nested_too_deeply_are_rejected() {
    let leaf = || graph(vec![], vec![row("x")], vec![]);
    let nested = |depth: usize| {
        (0..depth).fold(leaf(), |inner, _| {
            let choose = node("if", "If", &["x"], &["x2"])
                .with(body("then_branch", inner))
                .with(body("else_branch", leaf()));
            graph(vec![], vec![row("x2")], vec![choose])
        })
    };
    let model = |depth| {
        let mut graph = nested(depth);
        graph.input = vec![row("x")];
        model(17, graph)
    };
    assert!(read(encode(&model(20))).is_ok());
    let error = read(encode(&model(200))).expect_err("too deep").to_string();
    assert_eq!(error, "not an ONNX model: messages are nested too deeply");
}

/// A chain of functions, each of which calls the next so many times.
fn chain(length: usize, calls: usize) -> ModelProto {
    let call = |index: usize, input: &str, output: &str| NodeProto {
        domain: Some("own".to_owned()),
        ..node("call", &format!("F{index}"), &[input], &[output])
    };
    let function = |index: usize| {
        let last = index + 1 == length;
        let names: Vec<String> = (0..=calls).map(|step| format!("t{step}")).collect();
        let nodes = (0..calls).map(|step| {
            let (input, output) = (&names[step][..], &names[step + 1][..]);
            if last {
                node("r", "Relu", &[input], &[output])
            } else {
                call(index + 1, input, output)
            }
        });
        FunctionProto {
            name: Some(format!("F{index}")),
            domain: Some("own".to_owned()),
            input: vec![names[0].clone()],
            output: vec![names[calls].clone()],
            node: nodes.collect(),
            ..FunctionProto::default()
        }
    };
    let mut model = model(17, graph(vec![row("x")], vec![row("y")], vec![call(0, "x", "y")]));
    model.functions = (0..length).map(function).collect();
    model
}

#[test]
fn functions_that_grow_without_bound_are_rejected() {
    assert_eq!(read(encode(&chain(5, 3))).expect("243 nodes").body.nodes.len(), 243);
    assert_eq!(fault(&chain(40, 2)), "it would become more than 4294967296 bytes large");
    // What is read is in proportion to the file.
    assert_eq!(read(encode(&chain(16, 2))).expect("65536 nodes").body.nodes.len(), 65_536);
    assert_eq!(
        fault(&chain(20, 2)),
        "its functions would become 1048576 nodes: at most 131072 are read"
    );
    assert_eq!(read(encode(&chain(1, 140_000))).expect("as many").body.nodes.len(), 140_000);
    assert!(read(encode(&chain(60, 1))).is_ok());
    assert_eq!(fault(&chain(70, 1)), "node `call` (F65): it is nested too deeply");
    assert_eq!(fault(&chain(100_000, 1)), "node `call` (F65): it is nested too deeply");
}

#[test]
fn functions_that_call_themselves_are_rejected() {
    let mut model = chain(3, 1);
    model.functions[2].node[0] = model.graph.as_ref().expect("a graph").node[0].clone();
    assert_eq!(fault(&model), "function `own.F0`: it calls itself");
    let mut twice = chain(1, 1);
    twice.functions.push(twice.functions[0].clone());
    assert_eq!(fault(&twice), "function `own.F0`: it is defined twice");
}

#[test]
fn attributes_that_are_handed_on_many_times_are_bounded() {
    use plimsoll_onnx::proto::attribute_proto::AttributeType;
    let mut model = chain(1, 1);
    let long = ints("long", &vec![1; 65_536]);
    let of = || plimsoll_onnx::testing::reference("value_ints", "long", AttributeType::Ints);
    for index in 0..10_000 {
        let constant = node("", "Constant", &[], &[&format!("c{index}")]).with(of());
        model.functions[0].node.push(constant);
    }
    model.graph.as_mut().expect("a graph").node[0].attribute = vec![long];
    assert_eq!(fault(&model), "node 513 (Constant): the attributes of functions become too large");
}

#[test]
fn versions_have_to_be_known() {
    let relu = || node("n", "Relu", &["x"], &["y"]);
    assert_eq!(fault_of(5, vec![relu()]), "its operators are of version 5, the oldest known is 6");
    let mut silent = model(17, graph(vec![row("x")], vec![row("y")], vec![relu()]));
    silent.opset_import = vec![import("elsewhere", 1)];
    assert_eq!(
        fault(&silent),
        "node `n` (Relu): the model does not say which version of operators it uses"
    );
}

#[test]
fn names_that_do_not_fit_together_are_named() {
    assert_eq!(
        fault_of(17, vec![node("n", "Relu", &["gone"], &["y"])]),
        "node `n` (Relu): there is no tensor `gone`"
    );
    assert_eq!(
        fault_of(17, vec![node("", "Relu", &["gone"], &["y"])]),
        "node 0 (Relu): there is no tensor `gone`"
    );
    assert_eq!(fault_of(17, vec![]), "tensor `y`: it is a graph output without a producer");
    let twice = || node("n", "Relu", &["x"], &["y"]);
    assert_eq!(
        fault_of(17, vec![twice(), twice()]),
        "node `n` (Relu): tensor `y` is already there"
    );
    assert_eq!(
        fault_of(17, vec![node("n", "Relu", &["x"], &["x"])]),
        "node `n` (Relu): tensor `x` is already there"
    );
    let doubled = graph(vec![row("x"), row("x")], vec![], vec![]);
    assert_eq!(fault(&model(17, doubled)), "tensor `x`: it is handed in twice");
}

#[test]
fn weights_that_are_wrong_are_named() {
    let of = |dims: &[i64], length: usize| fault_of_weight(stored("w", F32, dims, vec![0; length]));
    assert_eq!(of(&[2, -3], 0), "tensor `w`: a dim of -3");
    assert_eq!(of(&[1 << 32, 1 << 32], 0), "tensor `w`: its dims overflow");
    assert_eq!(
        of(&[1 << 60], 8),
        "tensor `w`: 8 bytes of data, where [1152921504606846976] of f32 needs 4611686018427387904"
    );
    assert_eq!(of(&[4], 15), "tensor `w`: 15 bytes of data, where [4] of f32 needs 16");
    assert_eq!(of(&[4], 0), "tensor `w`: 0 numbers of data, where [4] of f32 needs 4");
    assert_eq!(
        fault_of_weight(stored("w", 99, &[1], vec![0])),
        "tensor `w`: there is no element type 99"
    );
    assert_eq!(
        fault_of_weight(stored("", F32, &[0], vec![])),
        "tensor ``: a weight without a name"
    );
    let mut sparse = graph(vec![], vec![], vec![]);
    let values = Some(stored("w", F32, &[0], vec![]));
    sparse.sparse_initializer = vec![SparseTensorProto { values, ..SparseTensorProto::default() }];
    assert_eq!(fault(&model(17, sparse)), "tensor `w`: sparse weights are not supported");
    let mut twice = graph(vec![], vec![], vec![]);
    twice.initializer = vec![list("w", &[1]), list("w", &[2])];
    assert_eq!(fault(&model(17, twice)), "tensor `w`: it is stored twice");
}

#[test]
fn what_has_no_size_is_named() {
    let types = [
        (Value::SequenceType(Box::default()), "a sequence"),
        (Value::OptionalType(Box::default()), "an optional value"),
        (Value::MapType(Box::default()), "a map"),
        (Value::SparseTensorType(SparseTensor::default()), "a sparse tensor"),
        (Value::OpaqueType(Opaque::default()), "of an opaque type"),
    ];
    for (of, what) in types {
        let graph = graph(vec![typed("s", of)], vec![], vec![]);
        let expected = format!("tensor `s`: it is {what}, which has no size that could be planned");
        assert_eq!(fault(&model(17, graph)), expected);
    }
    let text_input = graph(vec![value("t", 8, &[1])], vec![], vec![]);
    assert_eq!(fault(&model(17, text_input)), "tensor `t`: text has no size that could be planned");
    // Text that nobody reads is no harm.
    let mut stored_text = graph(vec![row("x")], vec![row("x")], vec![]);
    let strings = TensorProto { data_type: Some(8), ..list("t", &[]) };
    stored_text.initializer = vec![strings];
    assert!(read(encode(&model(17, stored_text.clone()))).is_ok());
    stored_text.node = vec![node("n", "Equal", &["x", "t"], &["y"])];
    assert_eq!(
        fault(&model(17, stored_text)),
        "node `n` (Equal): it reads `t`: text has no size that could be planned"
    );
    assert_eq!(
        fault_of(17, vec![node("n", "SequenceConstruct", &["x"], &["y"])]),
        "node `n` (SequenceConstruct): it makes a sequence, which has no size that could be planned"
    );
    assert_eq!(
        fault_of(17, vec![node("n", "Cast", &["x"], &["y"]).with(int("to", 8))]),
        "node `n` (Cast): text has no size that could be planned"
    );
}

#[test]
fn constants_that_are_wrong_are_named() {
    let of = |constant: NodeProto| fault_of(17, vec![constant]);
    let constant = || node("n", "Constant", &[], &["y"]);
    assert_eq!(of(constant()), "node `n` (Constant): a constant without a value");
    assert_eq!(
        of(constant().with(text("value_string", "a"))),
        "node `n` (Constant): text has no size that could be planned"
    );
    assert_eq!(
        of(constant().with(tensor("value", stored("", I64, &[2], vec![0])))),
        "node `n` (Constant): 1 bytes of data, where [2] of i64 needs 16"
    );
}

#[test]
fn attributes_that_are_wrong_are_named() {
    let of =
        |kind: &str, attribute| fault_of(17, vec![node("n", kind, &["x"], &["y"]).with(attribute)]);
    assert_eq!(
        of("Concat", float("axis", 1.0)),
        "node `n` (Concat): attribute `axis` is not an integer"
    );
    assert_eq!(of("Concat", int("other", 1)), "node `n` (Concat): attribute `axis` is missing");
    assert_eq!(
        of("Transpose", ints("perm", &[0, 0])),
        "node `n` (Transpose): [0, 0] is not a permutation"
    );
    assert_eq!(
        of("Transpose", ints("perm", &[0, -1])),
        "node `n` (Transpose): attribute `perm` is negative: -1"
    );
    assert_eq!(
        of("DepthToSpace", int("blocksize", 0)),
        "node `n` (DepthToSpace): blocks of size 0"
    );
    assert_eq!(of("Conv", ints("strides", &[0])), "node `n` (Conv): a stride of 0");
    assert_eq!(of("Conv", text("auto_pad", "all")), "node `n` (Conv): `all` is no way to pad");
    assert_eq!(of("Split", int("num_outputs", 3)), "node `n` (Split): 1 results of a split into 3");
    assert_eq!(
        of("MaxPool", int("x", 3)),
        "node `n` (MaxPool): attribute `kernel_shape` is missing"
    );
}

#[test]
fn bodies_that_do_not_fit_are_named() {
    let of = |kind: &str, bodies: &[(&str, GraphProto)]| {
        let mut choose = node("n", kind, &["x", "x", "x"], &["y"]);
        for (name, graph) in bodies {
            choose = choose.with(body(name, graph.clone()));
        }
        fault_of(17, vec![choose])
    };
    let empty = || graph(vec![], vec![], vec![]);
    let one = || graph(vec![], vec![row("x")], vec![]);
    let (then, otherwise) = ("then_branch", "else_branch");
    assert_eq!(of("If", &[(then, one())]), "node `n` (If): attribute `else_branch` is missing");
    assert_eq!(
        of("If", &[(then, one()), (otherwise, empty())]),
        "node `n` (If): one branch has 1 results, the other 0"
    );
    assert_eq!(
        of("If", &[(then, empty()), (otherwise, empty())]),
        "node `n` (If): 1 results of a body with 0"
    );
    assert_eq!(of("Loop", &[("body", one())]), "node `n` (Loop): 3 operands for a body of 0");
    let three = graph(vec![row("a"), row("b"), row("c")], vec![], vec![]);
    assert_eq!(
        of("Loop", &[("body", three.clone())]),
        "node `n` (Loop): a body with 0 results for 3 operands"
    );
    assert_eq!(
        of("Scan", &[("body", three)]),
        "node `n` (Scan): attribute `num_scan_inputs` is missing"
    );
    // What is wrong inside is named there.
    let inner = graph(vec![], vec![row("q")], vec![node("m", "Relu", &["gone"], &["q"])]);
    assert_eq!(
        of("If", &[(then, inner.clone()), (otherwise, inner)]),
        "node `m` (Relu): there is no tensor `gone`"
    );
}

#[test]
fn calls_that_do_not_fit_are_named() {
    let with = |call: NodeProto| {
        let mut model = chain(1, 1);
        model.graph.as_mut().expect("a graph").node[0] =
            NodeProto { domain: Some("own".to_owned()), ..call };
        fault(&model)
    };
    assert_eq!(
        with(node("n", "F0", &["x", "x"], &["y"])),
        "node `n` (F0): 2 operands for a function of 1"
    );
    assert_eq!(
        with(node("n", "F0", &["x"], &["y", "z"])),
        "node `n` (F0): 2 results of a function of 1"
    );
    let mut empty = chain(1, 1);
    empty.functions[0].node.clear();
    assert_eq!(fault(&empty), "node `call` (F0): the function does not make `t1`");
}
