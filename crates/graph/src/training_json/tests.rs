//! Reading training graphs: a small one by hand, the corpus if it is there, every error.

use plimsoll::{AccessKind, Program, StepId};

use super::*;
use crate::graph::{Kernels, NodeId};
use crate::scheduled::{LoweringOptions, ScheduledGraph};

const SMALL: &str = include_str!("../../../../corpus/graphs/small_train.json");

fn small() -> Graph {
    read(SMALL.as_bytes()).unwrap()
}

#[test]
fn views_are_parts_where_that_is_known_and_the_whole_otherwise() {
    let graph = small();
    let aliases = graph.aliases(&Kernels::default());
    let alias = |name: &str| {
        let alias = aliases.resolve(graph.value_by_name(name).unwrap());
        let bytes = graph.value(graph.value_by_name(name).unwrap()).native_size().known().unwrap();
        (graph.value(alias.root).name.as_str(), alias.offset, bytes)
    };
    assert_eq!(alias("wt"), ("w", 0, 64));
    assert_eq!(alias("row"), ("relu", 0, 64), "where the row begins is not known");
    assert_eq!(alias("wide"), ("relu", 0, 64), "an expansion has no bytes of its own");
    assert_eq!(alias("flat"), ("relu", 0, 64));
    assert_eq!(alias("a"), ("relu", 0, 32));
    assert_eq!(alias("b"), ("relu", 32, 32));
    assert!([0, 3, 4, 5, 6].iter().all(|node| aliases.is_pure_view(NodeId(*node))));
    assert_eq!(graph.outputs().len(), 2);
}

#[test]
fn only_ops_on_the_same_layout_may_overwrite() {
    let graph = small();
    let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).unwrap();
    let overwrites = |name: &str| {
        let node = graph.node_by_name(name).unwrap();
        program.overwrites(program.step_of(node).unwrap()).into_owned()
    };
    let id = |name: &str| graph.value_by_name(name).unwrap();
    let may = |output, input| Overwrite { output: id(output), input: id(input), must: false };
    assert_eq!(overwrites("relu"), [may("relu", "mm")]);
    assert_eq!(overwrites("exp"), [], "the input is transposed");
    // Both halves are parts of one tensor: to write over one is no harm to the other, but which
    // bytes a kernel reads when is not for us to guess.
    assert_eq!(overwrites("sum"), []);
    assert_eq!(overwrites("w2"), [Overwrite { must: true, ..may("w2", "w") }]);
    assert!(graph.value(id("w")).donated);
}

#[test]
fn what_looks_only_at_shapes_reads_nothing() {
    let graph = small();
    let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).unwrap();
    assert!(program.accesses(StepId(9)).is_empty());
    let kinds: Vec<AccessKind> = program.accesses(StepId(1)).iter().map(|a| a.kind).collect();
    assert_eq!(kinds, [AccessKind::Read, AccessKind::Read, AccessKind::Write]);
}

/// x, relu, an op in place on it, and what reads it afterwards.
fn in_place(op: &str, said: &str, read: u64, outputs: &str) -> Result<Graph, TrainingJsonError> {
    let tensor = |id: u64, name: &str, kind: &str| {
        format!(
            r#"{{"id":{id},"name":"{name}","bytes":64,"dtype":"float32","shape":[16],"stride":[1],"kind":"{kind}"}}"#
        )
    };
    let text = format!(
        r#"{{"tensors":[{},{},{},{},{}],"nodes":[
            {{"id":0,"op":"aten.relu.default","inputs":[0],"outputs":[1]}},
            {{"id":1,"op":"aten.view.default","inputs":[1],"outputs":[2],"view_of":1}},
            {{"id":2,"op":"{op}","inputs":[1,0],"outputs":[3]{said}}},
            {{"id":3,"op":"aten.exp.default","inputs":[{read}],"outputs":[4]}}],
            "outputs":{outputs}}}"#,
        tensor(0, "x", "input"),
        tensor(1, "a", "intermediate"),
        tensor(2, "part", "intermediate"),
        tensor(3, "b", "intermediate"),
        tensor(4, "y", "output"),
    );
    super::read(text.as_bytes())
}

#[test]
fn what_works_in_place_changes_its_first_operand() {
    for said in [r#","mutates":true"#, r#","mutates":true,"view_of":1"#, r#","mutates":1"#] {
        let graph = in_place("aten.add_.Tensor", said, 1, "[4]").unwrap();
        let id = |name: &str| graph.value_by_name(name).unwrap();
        let add = graph.node(graph.node_by_name("b").unwrap());
        let must = Overwrite { output: id("b"), input: id("a"), must: true };
        assert_eq!(add.overwrites, [must], "{said}");
        assert_eq!((&add.op, graph.value(id("b")).view), (&Op::Binary, None), "{said}");
        // What reads the tensor behind it reads what it has become.
        let exp = graph.node(graph.node_by_name("y").unwrap());
        assert_eq!(exp.inputs, [Some(id("b"))], "{said}");
        // 64 bytes all the way: a, b over it, y over b.
        let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).unwrap();
        let plan = plimsoll::plan(&program, &plimsoll::Options::default()).unwrap().into_plan();
        assert_eq!(plan.banks[0].bytes, 64, "{said}");
    }
    let kept = in_place("aten.add_.Tensor", r#","mutates":true"#, 0, "[1]").unwrap();
    let outputs: Vec<&str> =
        kept.outputs().iter().map(|id| kept.value(*id).name.as_str()).collect();
    assert_eq!(outputs, ["b", "y"], "a is b in the end");
    let plain = in_place("aten.add.Tensor", r#","mutates":false"#, 1, "[4]").unwrap();
    assert!(plain.nodes().iter().all(|node| node.overwrites.is_empty()));
}

#[test]
fn what_is_changed_has_to_be_known() {
    let fault = |op, said, read, outputs| {
        in_place(op, said, read, outputs).map(drop).unwrap_err().to_string()
    };
    assert_eq!(
        fault("aten.frobnicate.default", r#","mutates":true"#, 1, "[4]"),
        "node 2 (aten.frobnicate.default): which tensors it changes is not said: \
         `mutates` has to be their ids"
    );
    assert_eq!(
        fault("aten.add_.Tensor", r#","mutates":true"#, 2, "[4]"),
        "node 3 (aten.exp.default): it reads `part`, a part of what node 2 has changed since"
    );
    assert_eq!(
        fault("aten.add_.Tensor", r#","mutates":true"#, 1, "[2]"),
        "tensor `part`: a part of what node 2 has changed since"
    );
}

#[test]
fn errors_name_the_tensor_or_the_node() {
    let fault = |from: &str, to: &str| {
        assert!(SMALL.contains(from), "{from}");
        read(SMALL.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
    };
    assert_eq!(fault("\"float32\"", "\"string\""), "tensor `x`: `string` is not an element type");
    assert_eq!(fault("\"id\": 11,", "\"id\": 10,"), "tensor `w`: there is another tensor 10");
    assert_eq!(fault("\"stride\": [4, 1]", "\"stride\": [1]"), "tensor `x`: 1 strides for 2 dims");
    assert_eq!(
        fault("\"inputs\": [10, 12]", "\"inputs\": [10, 99]"),
        "node 1 (aten.mm.default): there is no tensor 99"
    );
    assert_eq!(
        fault("\"outputs\": [20, 22]}", "\"outputs\": [7]}"),
        "there is no tensor 7 to output"
    );
    assert_eq!(
        fault("\"mutates\": 11", "\"mutates\": [11, 21]"),
        "node 10 (aten.add_.Tensor): it changes more tensors than it has outputs"
    );
    assert_eq!(
        fault("\"name\": \"flat\", \"bytes\": 64", "\"name\": \"flat\", \"bytes\": 60"),
        "node 5 (aten._unsafe_view.default): a reshape of 64 bytes into [60]"
    );
    assert_eq!(
        fault("\"outputs\": [13]", "\"outputs\": [11]"),
        "value `w`: comes from outside, but node `w` writes it"
    );
    assert_eq!(fault("\"name\": \"w\"", "\"name\": \"x\""), "value `x`: the name is used twice");
    let syntax = read(b"{\"tensors\": [}").unwrap_err().to_string();
    assert!(syntax.starts_with("1:14: "), "{syntax}");
    assert!(fault("\"kind\": \"input\"", "\"kind\": \"thing\"").contains("found `thing`"));
}
