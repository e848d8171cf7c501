//! Rewritten models as files: what is carried over as it is, what is emitted, and what cannot be written.

use bytes::Bytes;
use plimsoll_model::{Bindings, Model, Operator, TensorId, Unary, infer};
use plimsoll_onnx::proto::tensor_proto::DataLocation;
use plimsoll_onnx::proto::{
    FunctionProto, ModelProto, NodeProto, StringStringEntryProto, TensorProto,
};
use plimsoll_onnx::testing::{
    BOOL, F32, body, encode, graph, import, int, ints, list, model, node, samples, stored, tensor,
    value,
};
use plimsoll_onnx::{StagedNode, Stages, Written, read};
use plimsoll_rewrite::{Draft, FitOptions, Goal, Rewritten, Stage, Way, fit};
use prost::Message;

fn written(bytes: &Bytes, rewritten: &Rewritten) -> ModelProto {
    ModelProto::decode(bytes_of(bytes, rewritten)).expect("a model")
}

fn bytes_of(bytes: &Bytes, rewritten: &Rewritten) -> Bytes {
    let written = Written::new(bytes.clone(), rewritten).expect("it can be written");
    let mut out = Vec::new();
    written.write(&mut out).expect("memory can be written");
    out.into()
}

fn fault(bytes: &Bytes, rewritten: &Rewritten) -> String {
    Written::new(bytes.clone(), rewritten).err().expect("it cannot be written").to_string()
}

fn unchanged(bytes: &Bytes) -> Rewritten {
    Rewritten::unchanged(read(bytes.clone()).expect("a model"))
}

fn tensor_of(model: &Model, name: &str) -> TensorId {
    let index = model.tensors.iter().position(|tensor| tensor.name == name);
    TensorId::new(index.unwrap_or_else(|| panic!("no tensor {name}")))
}

fn kinds(model: &ModelProto) -> Vec<&str> {
    let nodes = &model.graph.as_ref().expect("a graph").node;
    nodes.iter().map(NodeProto::op_type).collect()
}

fn initializers(model: &ModelProto) -> Vec<(&str, &[i64])> {
    let stored = &model.graph.as_ref().expect("a graph").initializer;
    stored.iter().map(|tensor| (tensor.name(), &tensor.dims[..])).collect()
}

fn source_of(node: &NodeProto) -> Option<&str> {
    let said = node.metadata_props.iter().find(|entry| entry.key() == "plimsoll.source")?;
    Some(said.value())
}

/// A part of a tensor along an axis.
fn part(draft: &mut Draft, of: TensorId, bounds: [i64; 2], axis: i64) -> TensorId {
    let [start, end] = bounds.map(|bound| Some(draft.ints("bound", &[bound])));
    let axis = Some(draft.ints("axis", &[axis]));
    draft.node("part", Operator::Slice, &[Some(of), start, end, axis], None)
}

/// y = relu(x · w), with a weight whose bytes are 0, 1, 2, ….
fn product(version: i64) -> ModelProto {
    let nodes =
        vec![node("mm", "MatMul", &["x", "w"], &["m"]), node("relu", "Relu", &["m"], &["y"])];
    let mut graph = graph(vec![value("x", F32, &[6, 4])], vec![value("y", F32, &[6, 4])], nodes);
    graph.initializer.push(stored("w", F32, &[4, 4], (0..64).collect()));
    graph.value_info.push(value("m", F32, &[6, 4]));
    model(version, graph)
}

/// The product in two halves of the rows, and its weight in two halves along an axis.
fn in_halves(source: &Model, weight_axis: i64) -> Rewritten {
    let [x, w, y] = ["x", "w", "y"].map(|name| tensor_of(source, name));
    let mut draft = Draft::new(source);
    let mut halves = Vec::new();
    for half in [[0, 3], [3, 6]] {
        let rows = part(&mut draft, x, half, 0);
        let mut products = Vec::new();
        for bounds in [[0, 2], [2, 4]] {
            let weights = part(&mut draft, w, bounds, weight_axis);
            let left = if weight_axis == 0 { part(&mut draft, rows, bounds, 1) } else { rows };
            let inputs = [Some(left), Some(weights)];
            products.push(Some(draft.node("mm", Operator::MatMul, &inputs, Some(0))));
        }
        let join = match weight_axis {
            0 => Operator::Binary(plimsoll_model::Binary::Add),
            _ => Operator::Concat { axis: 1 },
        };
        let sum = draft.node("sum", join, &products, None);
        let relu = Operator::Unary(Unary::Relu);
        halves.push(Some(draft.node("relu", relu, &[Some(sum)], Some(1))));
    }
    draft.node_into("y", Operator::Concat { axis: 0 }, &halves, &[Some(y)], None);
    draft.finish()
}

#[test]
fn a_model_that_is_as_it_was_is_the_same_file() {
    for (name, sample) in samples() {
        let bytes = encode(&sample);
        let rewritten = unchanged(&bytes);
        let after = written(&bytes, &rewritten);
        // Constants are in front of all other nodes.
        let mut before = sample;
        let nodes = &mut before.graph.as_mut().expect("a graph").node;
        nodes.sort_by_key(|node| node.op_type() != "Constant");
        assert_eq!(after, before, "{name}");
    }
}

#[test]
fn parts_are_written_with_their_shapes_and_where_they_come_from() {
    let source = product(17);
    let bytes = encode(&source);
    let rewritten = in_halves(&read(bytes.clone()).expect("a model"), 0);
    let after = written(&bytes, &rewritten);
    let graph = after.graph.as_ref().expect("a graph");
    let half = ["Slice", "Slice", "MatMul", "Slice", "MatMul", "Add", "Relu"];
    assert_eq!(kinds(&after), [&half[..], &half[..], &["Concat"]].concat());
    assert_eq!(graph.value_info, [], "m is no longer made");
    assert_eq!((&graph.input, &graph.output), {
        let graph = source.graph.as_ref().expect("a graph");
        (&graph.input, &graph.output)
    });
    let sources: Vec<Option<&str>> = graph.node.iter().map(source_of).collect();
    assert_eq!(sources[..7], [None, None, Some("mm"), None, Some("mm"), None, Some("relu")]);
    // It is read as the model that was written, without the slices of weights.
    let again = read(bytes_of(&bytes, &rewritten)).expect("a model");
    let promised = plimsoll_rewrite::with_parts_stored(&rewritten);
    let found = infer(&again, &Bindings::default()).expect("shapes");
    let expected = infer(&promised, &Bindings::default()).expect("shapes");
    let arena = |graph| plimsoll_graph::Case::new(graph).plan().expect("a plan").arena_bytes();
    assert_eq!(arena(found.graph), arena(expected.graph));
}

#[test]
fn a_weight_in_parts_is_stored_once_as_its_parts() {
    let bytes = encode(&product(17));
    let model = read(bytes.clone()).expect("a model");
    let rows = written(&bytes, &in_halves(&model, 0));
    let of = |after: &ModelProto, name: &str| -> Vec<u8> {
        let stored = &after.graph.as_ref().expect("a graph").initializer;
        let found = stored.iter().find(|tensor| tensor.name() == name).expect("it is stored");
        found.raw_data.clone().expect("raw data").to_vec()
    };
    let weights: Vec<&str> = initializers(&rows)
        .into_iter()
        .filter(|(_, dims)| dims.len() == 2)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(weights.len(), 2, "two halves, each taken twice: {weights:?}");
    assert_eq!(of(&rows, weights[0]), (0..32).collect::<Vec<u8>>());
    assert_eq!(of(&rows, weights[1]), (32..64).collect::<Vec<u8>>());
    let columns = written(&bytes, &in_halves(&model, 1));
    let weights: Vec<(&str, &[i64])> =
        initializers(&columns).into_iter().filter(|(_, dims)| dims.len() == 2).collect();
    assert_eq!(weights[1].1, [4, 2]);
    let right = (0..4).flat_map(|row| 16 * row + 8..16 * row + 16);
    assert_eq!(of(&columns, weights[1].0), right.collect::<Vec<u8>>());
}

#[test]
fn data_in_other_files_stay_there() {
    let entry = |key: &str, value: &str| StringStringEntryProto {
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
    };
    let mut source = product(17);
    let weight = TensorProto {
        raw_data: None,
        data_location: Some(DataLocation::External.into()),
        external_data: vec![
            entry("location", "w.bin"),
            entry("offset", "128"),
            entry("length", "64"),
        ],
        ..stored("w", F32, &[4, 4], Vec::new())
    };
    source.graph.as_mut().expect("a graph").initializer[0] = weight;
    let bytes = encode(&source);
    let model = read(bytes.clone()).expect("a model");
    let rewritten = in_halves(&model, 0);
    let rows = written(&bytes, &rewritten);
    let lower = &rows.graph.as_ref().expect("a graph").initializer;
    let lower = lower.iter().filter(|tensor| tensor.dims.len() == 2).nth(1).expect("two halves");
    let expected = [entry("location", "w.bin"), entry("offset", "160"), entry("length", "32")];
    assert_eq!((&lower.external_data[..], &lower.raw_data), (&expected[..], &None));
    assert!(
        Written::new(bytes.clone(), &rewritten).expect("it can be written").has_external_data()
    );
    // Columns are no range of a file: they are taken where the model runs.
    let columns = written(&bytes, &in_halves(&model, 1));
    let whole = initializers(&columns).into_iter().filter(|(_, dims)| dims.len() == 2);
    assert_eq!(whole.collect::<Vec<_>>(), [("w", &[4i64, 4][..])]);
    assert_eq!(kinds(&columns).iter().filter(|kind| **kind == "Slice").count(), 6);
}

/// The largest of each column of relu(x · w), with a weight in another file.
fn largest_columns() -> ModelProto {
    let nodes = vec![
        node("mm", "MatMul", &["x", "w"], &["m"]),
        node("erf", "Erf", &["m"], &["e"]),
        node("sum", "Add", &["m", "e"], &["s"]),
        node("max", "ReduceMax", &["s", "axes"], &["y"]),
    ];
    let mut graph = graph(vec![value("x", F32, &[16, 4])], vec![value("y", F32, &[1, 512])], nodes);
    let entry = |key: &str, value: &str| StringStringEntryProto {
        key: Some(key.to_owned()),
        value: Some(value.to_owned()),
    };
    graph.initializer.push(TensorProto {
        raw_data: None,
        data_location: Some(DataLocation::External.into()),
        external_data: vec![entry("location", "w.bin")],
        ..stored("w", F32, &[4, 512], Vec::new())
    });
    graph.initializer.push(list("axes", &[0]));
    model(18, graph)
}

#[test]
fn a_plan_of_what_is_written_has_the_arena_that_was_promised() {
    let bytes = encode(&largest_columns());
    let fitted = |bytes: Bytes, work: u64| {
        let mut options = FitOptions::new(Goal::Frontier);
        options.work = work;
        let model = read(bytes).expect("a model");
        let mut pulse = || std::ops::ControlFlow::Continue(());
        fit(&model, &Bindings::default(), &options, &mut pulse).expect("it is planned")
    };
    let frontier = fitted(bytes.clone(), 64);
    let point = frontier.at_most(0.0).expect("there is a point");
    assert!(4 * point.arena_bytes < frontier.source_arena_bytes, "columns one after the other");
    let written = bytes_of(&bytes, &point.rewritten);
    // Columns of a weight in another file are cut out before the first run, not in it.
    let model = ModelProto::decode(written.clone()).expect("a model");
    assert!(kinds(&model).contains(&"Slice"));
    assert_eq!(fitted(written, 0).source_arena_bytes, point.arena_bytes);
}

#[test]
fn old_editions_have_attributes_and_no_stored_tensors_that_are_no_inputs() {
    let mut source = product(9);
    source.ir_version = Some(3);
    source.graph.as_mut().expect("a graph").input.push(value("w", F32, &[4, 4]));
    let bytes = encode(&source);
    let after = written(&bytes, &in_halves(&read(bytes.clone()).expect("a model"), 0));
    let graph = after.graph.as_ref().expect("a graph");
    assert_eq!(graph.input.len(), 1, "the weight is stored in parts, and handed in no longer");
    assert_eq!(initializers(&after), []);
    assert_eq!(kinds(&after)[..3], ["Constant", "Constant", "Slice"]);
    let slice = &graph.node[2];
    assert_eq!(slice.input, ["x"]);
    assert_eq!(slice.attribute, [ints("starts", &[0]), ints("ends", &[3]), ints("axes", &[0])]);
    read(bytes_of(&bytes, &in_halves(&read(bytes.clone()).expect("a model"), 0))).expect("a model");
}

/// y = twice(x), where a function adds x to itself and the node is followed by a branch.
fn called() -> ModelProto {
    let call = NodeProto { domain: Some("mine".to_owned()), ..node("", "Twice", &["x"], &["t"]) };
    let inner = |kind: &str| {
        graph(vec![], vec![value("z", F32, &[4])], vec![node("", kind, &["t"], &["z"])])
    };
    let branch = node("if", "If", &["c"], &["y"]);
    let branch =
        branch.with(body("then_branch", inner("Neg"))).with(body("else_branch", inner("Abs")));
    let inputs = vec![value("x", F32, &[4]), value("c", BOOL, &[])];
    let mut model = model(17, graph(inputs, vec![value("y", F32, &[4])], vec![call, branch]));
    model.opset_import.push(import("mine", 1));
    model.functions.push(FunctionProto {
        name: Some("Twice".to_owned()),
        domain: Some("mine".to_owned()),
        input: vec!["a".to_owned()],
        output: vec!["b".to_owned()],
        node: vec![node("", "Neg", &["a"], &["n"]), node("", "Sub", &["a", "n"], &["b"])],
        opset_import: vec![import("", 17)],
        ..FunctionProto::default()
    });
    model
}

#[test]
fn calls_stay_calls_unless_what_they_run_is_rewritten() {
    let source = called();
    let bytes = encode(&source);
    let same = unchanged(&bytes);
    assert_eq!(same.sources.len(), 3, "two nodes of the function, and the branch");
    assert_eq!(bytes_of(&bytes, &same), bytes);
    let mut draft = Draft::new(&same.model);
    let x = tensor_of(&same.model, "x");
    draft.keep(0);
    draft.node("more", Operator::Unary(Unary::Neg), &[Some(x)], Some(0));
    draft.keep(1);
    draft.keep(2);
    let after = written(&bytes, &draft.finish());
    assert_eq!(kinds(&after), ["Neg", "Neg", "Sub", "If"]);
    let nodes = &after.graph.as_ref().expect("a graph").node;
    assert_eq!(nodes[3], source.graph.as_ref().expect("a graph").node[1], "with its bodies");
    assert_eq!(nodes[2].input, ["x", &nodes[0].output[0]]);
}

#[test]
fn nodes_that_get_other_tensors_keep_everything_else() {
    let mine =
        NodeProto { domain: Some("mine".to_owned()), ..node("m", "Mine", &["x", "", "w"], &["y"]) };
    let mine = NodeProto { doc_string: Some("kept".to_owned()), ..mine.with(int("level", 3)) };
    let mut graph = graph(vec![value("x", F32, &[4])], vec![value("y", F32, &[4])], vec![mine]);
    graph.initializer.push(list("w", &[1, 2]));
    let mut source = model(17, graph);
    source.opset_import.push(import("mine", 1));
    let bytes = encode(&source);
    let same = unchanged(&bytes);
    let [x, w, y] = ["x", "w", "y"].map(|name| tensor_of(&same.model, name));
    let custom = same.model.body.nodes[0].operator.clone();
    let mut draft = Draft::new(&same.model);
    let neg = draft.node("n", Operator::Unary(Unary::Neg), &[Some(x)], None);
    draft.node_into("m", custom, &[Some(neg), None, Some(w)], &[Some(y)], Some(0));
    let after = written(&bytes, &draft.finish());
    let node = &after.graph.as_ref().expect("a graph").node[1];
    assert_eq!(
        (&node.input[..], node.doc_string()),
        (&["n".to_owned(), String::new(), "w".to_owned()][..], "kept")
    );
    assert_eq!((node.attribute.clone(), source_of(node)), (vec![int("level", 3)], Some("m")));
}

#[test]
fn constants_that_are_nodes_stay_nodes_and_their_parts_are_stored() {
    let mut source = product(13);
    let graph = source.graph.as_mut().expect("a graph");
    let weight = graph.initializer.remove(0);
    graph
        .node
        .insert(1, node("", "Constant", &[], &["unused"]).with(tensor("value", list("", &[1]))));
    graph.node.insert(0, node("", "Constant", &[], &["w"]).with(tensor("value", weight)));
    let bytes = encode(&source);
    assert_eq!(
        kinds(&written(&bytes, &unchanged(&bytes))),
        ["Constant", "Constant", "MatMul", "Relu"]
    );
    let after = written(&bytes, &in_halves(&read(bytes.clone()).expect("a model"), 0));
    assert_eq!(kinds(&after)[0], "Constant");
    let names: Vec<&str> = after.graph.as_ref().expect("a graph").node[..2]
        .iter()
        .map(|node| &node.output[0][..])
        .collect();
    assert_eq!(names, ["unused", "part"], "nobody reads the whole weight");
    assert_eq!(initializers(&after).iter().filter(|(_, dims)| *dims == [2, 4]).count(), 2);
}

#[test]
fn notes_of_plans_go_and_those_of_sources_stay() {
    let bytes = encode(&product(17));
    let once = bytes_of(&bytes, &in_halves(&read(bytes.clone()).expect("a model"), 0));
    let noted = {
        let mut notes = plimsoll_onnx::Notes::default();
        notes.model.insert("arena_bytes".to_owned(), "64".to_owned());
        let offset = [("offset".to_owned(), plimsoll_onnx::Note::Text("0".to_owned()))];
        notes.tensors.insert("y".to_owned(), offset.into());
        let annotated = plimsoll_onnx::Annotated::new(once.clone(), &notes).expect("a model");
        let mut out = Vec::new();
        annotated.write(&mut out).expect("memory can be written");
        Bytes::from(out)
    };
    let again = bytes_of(&noted, &unchanged(&noted));
    assert_eq!(
        ModelProto::decode(again).expect("a model"),
        ModelProto::decode(once).expect("a model")
    );
}

#[test]
fn what_cannot_be_written_is_told() {
    let bytes = encode(&product(9));
    let model = read(bytes.clone()).expect("a model");
    let mut draft = Draft::new(&model);
    let m = draft.node(
        "g",
        Operator::Unary(Unary::Gelu { tanh: false }),
        &[Some(tensor_of(&model, "x"))],
        None,
    );
    draft.node_into("i", Operator::Identity, &[Some(m)], &[Some(tensor_of(&model, "y"))], None);
    assert_eq!(
        fault(&bytes, &draft.finish()),
        "node `g` (Unary): it cannot be written: Gelu is an operator since version 20, and the file has 9"
    );
    let other = encode(&called());
    let fault = fault(&other, &unchanged(&bytes));
    assert_eq!(fault, "the rewritten model was made from another file");
}

#[test]
fn names_of_bodies_are_not_taken() {
    let source = called();
    let bytes = encode(&source);
    let same = unchanged(&bytes);
    let mut draft = Draft::new(&same.model);
    // The second body's `z` is called otherwise in the model: but in the file it is `z` too.
    let x = tensor_of(&same.model, "x");
    let made = draft.node("z", Operator::Unary(Unary::Neg), &[Some(x)], None);
    (0..3).for_each(|node| draft.keep(node));
    let rewritten = draft.finish();
    let name = &rewritten.model.tensor(made).name;
    let after = written(&bytes, &rewritten);
    let first: &NodeProto = &after.graph.as_ref().expect("a graph").node[0];
    assert_eq!((&first.output[0], first.output[0] == "z"), (name, false));
}

/// The model with a copy of each node in a region of its own.
fn once_more(source: &Model) -> Rewritten {
    let mut draft = Draft::new(source);
    for at in 0..source.body.nodes.len() {
        let region = draft.begin(Way::Flow { steps: 3 }, &[at]);
        draft.enter(Some(Stage { region, step: at as u64 }));
        draft.keep(at);
        draft.enter(None);
    }
    draft.finish()
}

#[test]
fn a_file_says_in_which_step_of_which_region_its_nodes_are() {
    let bytes = encode(&product(17));
    assert_eq!(Stages::read(&bytes.clone().into()), None);
    let once = bytes_of(&bytes, &once_more(&read(bytes.clone()).expect("a model")));
    let staged = |region, step, source: &str| StagedNode {
        stage: Some(Stage { region, step }),
        source: Some(source.to_owned()),
    };
    let told = Stages::read(&once.clone().into()).expect("it was rewritten");
    assert_eq!(told.regions, [Way::Flow { steps: 3 }; 2]);
    assert_eq!(told.nodes["mm"], staged(0, 0, "mm"));
    assert_eq!(told.nodes["relu"], staged(1, 1, "relu"));
    // Rewritten again, regions of the file come first; nodes that are kept stay where they were.
    let again = read(once.clone()).expect("a model");
    assert_eq!(bytes_of(&once, &Rewritten::unchanged(again.clone())), once);
    let mut draft = Draft::new(&again);
    let region = draft.begin(Way::Parts { parts: 2 }, &[1]);
    draft.keep(0);
    draft.enter(Some(Stage { region, step: 1 }));
    draft.keep(1);
    let twice = bytes_of(&once, &draft.finish());
    let told = Stages::read(&twice.into()).expect("it was rewritten");
    let flow = Way::Flow { steps: 3 };
    assert_eq!(told.regions, [flow, flow, Way::Parts { parts: 2 }]);
    assert_eq!(told.nodes["mm"], staged(0, 0, "mm"));
    assert_eq!(told.nodes["relu"], staged(2, 1, "relu"));
}

#[test]
fn what_is_no_region_or_step_says_nothing() {
    let with = |regions: &str, step: &str| {
        let entry = |key: &str, value: &str| StringStringEntryProto {
            key: Some(key.to_owned()),
            value: Some(value.to_owned()),
        };
        let mut model = product(17);
        model.metadata_props.push(entry("plimsoll.regions", regions));
        let node = &mut model.graph.as_mut().expect("a graph").node[0];
        node.metadata_props.push(entry("plimsoll.step", step));
        Stages::read(&encode(&model).into())
    };
    for regions in ["", "flow", "flow x", "again 2", "swim 3", "flow 3,parts 2", "flow -1"] {
        assert_eq!(with(regions, "0 0"), None, "{regions}");
    }
    for step in ["", "0", "1 0", "0 x", "-1 0", "0 0 0"] {
        let told = with("again", step).expect("there is a region");
        assert_eq!(told.nodes["mm"].stage, None, "{step}");
    }
    let told = with("again, windows, channels 2, parts 3, flow 4", "4 7").expect("regions");
    assert_eq!(
        (told.regions.len(), told.nodes["mm"].stage),
        (5, Some(Stage { region: 4, step: 7 }))
    );
}
