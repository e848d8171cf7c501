//! Every rule of a graph, broken; and what follows from graphs that keep them.

use plimsoll::{AccessKind, Overwrite, View};

use super::*;
use crate::dtype::Dtype;
use crate::graph::{Kernels, Preset, no_reuse, selected_nodes, topological_order};
use crate::op::Op;
use crate::text;

/// What is wrong with a text of a graph, without its place.
fn fault(lines: &str) -> String {
    let error = text::parse(&format!("plim 1\n{lines}\n")).unwrap_err();
    match error.fault {
        text::TextFault::Graph(error) => error.to_string(),
        other => panic!("{other}"),
    }
}

fn graph(lines: &str) -> Graph {
    text::parse(&format!("plim 1\n{lines}\n")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn an_empty_graph_is_fine() {
    let graph = GraphBuilder::new().finish().unwrap();
    assert_eq!((graph.values().len(), graph.nodes().len()), (0, 0));
    assert_eq!(topological_order(&graph), []);
}

#[test]
fn empty_names_are_absent_operands() {
    let mut builder = GraphBuilder::new();
    let x = builder.input("x", Dtype::F32, [1]).unwrap();
    assert_eq!(builder.operands("n", &["x", "", "x"]), Ok(vec![Some(x), None, Some(x)]));
    let error = builder.operands("n", &["x", "y"]).unwrap_err();
    assert_eq!(error.to_string(), "node `n`: there is no value `y`");
}

#[test]
fn values_that_break_a_rule_are_named() {
    let x = "input x: f32[4]\n";
    let cases = [
        ("input x: f32[4294967296, 4294967296]", "value `x`: its size does not fit 64 bits"),
        ("input x: f32[4611686018427387904]", "value `x`: its size does not fit 64 bits"),
        ("input x: f32[1] align 0", "value `x`: an alignment is at least 1"),
        ("value x: f32[1] donated", "value `x`: only what comes from outside can be donated"),
        ("a: f32[4] = exp(x)\na = exp(x) as n", "value `a`: written again by node `n`"),
        ("x = fill() as n", "value `x`: comes from outside, but node `n` writes it"),
        ("value a: f32[1]\na = exp(a)", "value `a`: node `a` both reads and writes it"),
        ("value a: f32[1]\nb: f32[1] = exp(a)", "value `a`: read, but no node writes it"),
        (
            "value a: f32[1]\noutput a",
            "value `a`: an output that no node makes and that does not come from outside",
        ),
        ("value v: f32[3] view x at 8", "value `v`: a view up to byte 20 of `x`, which has 16"),
        (
            "value v: u8[8] view x at 18446744073709551615",
            "value `v`: a view up to byte 18446744073709551615 of `x`, which has 16",
        ),
        ("value v: u8[1] view w\nvalue w: u8[1] view v", "value `v`: a view of itself"),
        ("a: f32[4] elided = fill()\noutput a", "value `a`: an output cannot be elided"),
        ("output x, x", "value `x`: listed twice among the outputs"),
        (
            "a: f32[4] elided = exp(x)\nb: f32[4] = exp(a)",
            "value `a`: elided, but node `b` reads its bytes",
        ),
        (
            "a: f32[4] elided = exp(x)\nb: f32[4] elided = exp(a) elided\nc: f32[4] = exp(b)",
            "value `a`: elided, but node `c` reads its bytes",
        ),
        (
            "a: f32[4] elided = exp(x) elided\nvalue v: f32[2] view a",
            "value `v`: a view of `a`, which is elided, has to be elided too",
        ),
    ];
    for (lines, message) in cases {
        let lines =
            if lines.starts_with("input x") { lines.to_owned() } else { format!("{x}{lines}") };
        let lines = lines.replacen(&format!("{x}value x"), "value x", 1);
        assert_eq!(fault(&lines), message, "{lines}");
    }
}

#[test]
fn nodes_that_break_a_rule_are_named() {
    let x = "input x: f32[4]\n";
    let cases = [
        ("a: f32[5] = reshape(x)", "node `a`: 4 elements cannot become 5"),
        (
            "a: f32[4] = exp(x) queue 1",
            "node `a`: on a queue, but the graph does not execute in queues",
        ),
        ("a: f32[4] = exp(x) after(a)", "node `a`: waits for itself"),
        (
            "a: f32[4] = exp(x) scratch 1 align 0",
            "node `a`: an alignment of scratch memory is at least 1",
        ),
        (
            "a: f32[4] = exp(x) may_overwrite(x: a)",
            "node `a`: overwrites by `x`, which is not an output of it",
        ),
        (
            "a: f32[4] = exp(x) must_overwrite(a: x, a: x)",
            "node `a`: `a` must overwrite two values",
        ),
        (
            "a: f32[4] = custom \"f\"(x, x) may_overwrite(a: x)",
            "node `a`: `a` cannot overwrite `x`, which its step reads by another operand too",
        ),
        (
            "a: f32[4] = custom \"f\"(x) also_reads(x) must_overwrite(a: x)",
            "node `a`: `a` cannot overwrite `x`, which its step reads by another operand too",
        ),
        (
            "a: f32[4] = scatter(x, x, x) may_overwrite(a: x)",
            "node `a`: `a` cannot overwrite `x`, which its step reads by another operand too",
        ),
        (
            "a: f32[4] elided = custom \"f\"(x)\nb: f32[4] = add(a, x) elided may_overwrite(b: x)",
            "node `b`: `b` cannot overwrite `x`, which its step reads by another operand too",
        ),
        (
            "t: f32[4] elided = relu(x) elided\na: f32[4] = add(t, x) may_overwrite(a: x)",
            "node `a`: `a` cannot overwrite `x`, which its step reads by another operand too",
        ),
        ("a: f32[4] = binary \"add\"(x)", "node `a`: an op on two operands, of which there is 1"),
        ("a: f32[4] = add(x, _)", "node `a`: an op on two operands, of which there is 1"),
        ("a: f32[4] = add()", "node `a`: an op on two operands, of which there are 0"),
        (
            "w: f32[3] = fill()\na: f32[4] = add(x, w)",
            "node `a`: [4] and [3] do not fit: 4 and 3 do not broadcast",
        ),
        (
            "w: f32[2, 1] = fill()\na: f32[4] = mul(x, w)",
            "node `a`: [4] and [2, 1] make [2, 4], not [4]",
        ),
        (
            "a: f32[5] = pad(x) must_overwrite(a: x)",
            "node `a`: `a` does not fit into `x`, which it overwrites",
        ),
        (
            "a: f32[4] = exp(x) writes(x)",
            "node `a`: a window of `x`, which it does not access that way",
        ),
        ("a: f32[4] = exp(x) reads(x, x)", "node `a`: two windows of `x`"),
        (
            "a: f32[4] = exp(x) reads(x bytes 4..17)",
            "node `a`: a window of bytes that `x` does not have",
        ),
        (
            "a: f32[4] = exp(x) reads(x bytes 4..3)",
            "node `a`: a window of bytes that `x` does not have",
        ),
        (
            "a: f32[4] = exp(x) writes(a until writes)",
            "node `a`: the write of `a` cannot be over before the node writes",
        ),
        (
            "t: f32[4] elided = exp(x) elided\na: f32[4] = exp(x) reads(x until t)",
            "node `a`: refers to the step of `t`, which is elided and takes none",
        ),
        (
            "a: f32[4] = exp(x) elided",
            "node `a`: elided, and no single step that runs writes `a` in its place",
        ),
        (
            "a: f32[4] elided = exp(x)\nb: f32[4] elided = exp(x)\nc: f32[4] = add(a, b) elided",
            "node `c`: elided, and no single step that runs writes `c` in its place",
        ),
    ];
    for (lines, message) in cases {
        assert_eq!(fault(&format!("{x}{lines}")), message, "{lines}");
    }
}

#[test]
fn ids_that_are_not_there_are_named() {
    let start = || {
        let mut builder = GraphBuilder::new();
        let x = builder.input("x", Dtype::F32, [4]).unwrap();
        let y = builder.op("y", Op::Unary, &[x], Dtype::F32, [4]).unwrap();
        (builder, x, y)
    };
    let broken = |change: fn(&mut GraphBuilder)| {
        let (mut builder, ..) = start();
        change(&mut builder);
        builder.finish().unwrap_err().to_string()
    };
    let (far_value, far_node) = (ValueId(9), NodeId(9));
    assert_eq!((far_value.index(), far_node.index()), (9, 9));
    assert_eq!(broken(|b| b.output(ValueId(9))), "value `value 9`: an output that is not there");
    assert_eq!(
        broken(|b| b.value_mut(ValueId(0)).view = Some(View::new(ValueId(9), 0))),
        "value `x`: a view of a value that is not there"
    );
    assert_eq!(
        broken(|b| b.node_mut(NodeId(0)).also_reads.push(ValueId(9))),
        "node `y`: there is no value `value 9`"
    );
    assert_eq!(
        broken(|b| b.node_mut(NodeId(0)).after.push(NodeId(9))),
        "node `y`: there is no node `node 9`"
    );
    let (mut builder, x, _) = start();
    assert_eq!(
        builder.value(Value::new("", Dtype::F32, [1])).unwrap_err().to_string(),
        "value ``: a value needs a name"
    );
    assert_eq!(
        builder.node(Node::new("", Op::Unary, &[x], &[])).unwrap_err().to_string(),
        "node ``: a node needs a name"
    );
    // Names that were changed later are looked at again.
    builder.value_mut(ValueId(1)).name = "x".into();
    assert_eq!(
        builder.clone().finish().unwrap_err().to_string(),
        "value `x`: the name is used twice"
    );
    builder.value_mut(ValueId(1)).name = "z".into();
    assert_eq!(builder.finish().unwrap().value_by_name("z"), Some(ValueId(1)));
}

#[test]
fn cycles_are_named_node_by_node() {
    let lines = "value c: f32[1]\na: f32[1] = exp(c)\nb: f32[1] = exp(a)\nc = exp(b)\n\
                 d: f32[1] = exp(c)";
    assert_eq!(fault(lines), "nodes wait for each other: `a` -> `b` -> `c` -> `a`");
    // A reader of what must be overwritten cannot wait for the overwriter.
    let lines = "state s: f32[1]\nt: f32[1] = exp(s) must_overwrite(t: s)\nu: f32[1] = add(s, t)";
    assert_eq!(fault(lines), "nodes wait for each other: `t` -> `u` -> `t`");
}

#[test]
fn the_order_is_kept_where_it_can_be() {
    let names = |graph: &Graph| -> Vec<String> {
        topological_order(graph).iter().map(|n| graph.node(*n).name.clone()).collect()
    };
    let parts =
        graph("input x: f32[1]\nb: f32[1] = exp(x)\na: f32[1] = exp(x)\nc: f32[1] = exp(b)");
    assert_eq!(names(&parts), ["b", "a", "c"]);
    let late = graph(
        "input x: f32[1]\nvalue z: f32[1]\ny: f32[1] = exp(z)\nw: f32[1] = exp(x)\nz = exp(x)",
    );
    assert_eq!(names(&late), ["w", "z", "y"]);
    // Whoever reads the old state goes before whoever overwrites it.
    let state =
        graph("state s: f32[1]\nt: f32[1] = exp(s) must_overwrite(t: s)\nr: f32[1] = neg(s)");
    assert_eq!(names(&state), ["r", "t"]);
    let forced = graph("input x: f32[1]\na: f32[1] = exp(x) after(b)\nb: f32[1] = exp(x)");
    assert_eq!(names(&forced), ["b", "a"]);
    // Whoever reads the whole waits for all who write parts of it.
    let parts = graph(
        "input x: f32[1]\nvalue whole: f32[2]\ny: f32[2] = exp(whole)\n\
         a: f32[1] view whole at 0 = exp(x)\nb: f32[1] view whole at 4 = exp(a)",
    );
    assert_eq!(names(&parts), ["a", "b", "y"]);
}

#[test]
fn chains_of_views_resolve_to_a_root_and_a_summed_offset() {
    let graph = graph(
        "input x: f32[8, 4]\na: f32[4, 4] = slice{axis=0, start=2, len=4}(x)\nb: f32[16] = reshape(a)\n\
         c: f32[4] = slice{axis=0, start=6, len=4}(b)\nd: f32[4] = relu(c)\n\
         e: f32[4] align 64 = identity(d)\nl: f32[1], r: f32[3] = split{axis=0}(c) as s",
    );
    let aliases = graph.aliases(&Kernels::default());
    let of = |name: &str| {
        let alias = aliases.resolve(graph.value_by_name(name).unwrap());
        (graph.value(alias.root).name.clone(), alias.offset)
    };
    assert_eq!(of("a"), ("x".into(), 32));
    assert_eq!(of("b"), ("x".into(), 32));
    assert_eq!(of("c"), ("x".into(), 56));
    assert_eq!(of("r"), ("x".into(), 60));
    assert_eq!(of("d"), ("d".into(), 0));
    assert_eq!(of("e"), ("e".into(), 0), "it wants a place of its own");
    let standard = Kernels::default();
    let pure: Vec<bool> =
        graph.node_ids().map(|node| graph.is_pure_view(node, &standard)).collect();
    assert_eq!(pure, [true, true, true, false, false, true]);
    let no_views = vec!["reshape".parse().unwrap()];
    let kernels = Kernels { no_views, ..Kernels::default() };
    let pure: Vec<bool> = graph.node_ids().map(|n| graph.is_pure_view(n, &kernels)).collect();
    assert_eq!(pure, [true, false, true, false, false, true], "kernels are asked");
    let table: Vec<u32> = aliases.table().map(|(value, _)| value.0).collect();
    assert_eq!(table, [1, 2, 3, 6, 7]);
}

#[test]
fn who_makes_a_view_beside_something_else_does_not_write_it() {
    // Two dropouts of one value, each with a mask: the values are views, the masks are written.
    let graph = graph(
        "input x: f32[4]\nd: f32[4], dm: bool[4] = dropout(x)\ne: f32[4], em: bool[4] = dropout(x)\n\
         f: f32[4], fm: bool[4] = dropout(d)\ny = add(e, f)\noutput y, dm, em, fm",
    );
    let aliases = graph.aliases(&Kernels::default());
    let written = |name: &str| {
        let value = graph.value_by_name(name).unwrap();
        aliases.are_written(&graph, graph.producer(value).unwrap(), value)
    };
    assert_eq!(["d", "e", "f"].map(written), [false; 3]);
    assert_eq!(["dm", "em", "fm", "y"].map(written), [true; 4]);
    let flow = Flow::of(&graph, &aliases, &Folds::default());
    let before: Vec<&[NodeId]> = graph.node_ids().map(|node| flow.before(node)).collect();
    assert_eq!(before, [&[][..], &[], &[NodeId(0)], &[NodeId(1), NodeId(2)]]);
    // Parts that others write of something are waited for still.
    let parts = self::graph(
        "input x: f32[4]\nvalue all: f32[8]\na: f32[4] view all = relu(x)\n\
         b: f32[4] view all at 16 = exp(x)\ny: f32[8] = neg(all)\noutput y",
    );
    let flow = Flow::of(&parts, &parts.aliases(&Kernels::default()), &Folds::default());
    assert_eq!(flow.before(NodeId(2)), [NodeId(0), NodeId(1)]);
}

#[test]
fn what_goes_element_by_element_may_overwrite_what_it_reads_twice() {
    for line in [
        "y = add(r, r) may_overwrite(y: r)",
        "y = mul(r, r) must_overwrite(y: r)",
        "y = custom \"f\"(r, x) may_overwrite(y: r)",
        "y: f32[4] = custom \"f\"(x, x) may_overwrite(y: r)",
    ] {
        let line = line.replacen("y =", "y: f32[4] =", 1);
        let text = format!("input x: f32[4]\nr = relu(x)\n{line}\noutput y");
        assert_eq!(graph(&text).nodes()[1].overwrites.len(), 1, "{line}");
    }
}

#[test]
fn operands_of_which_little_is_known_fit() {
    let dims = ["?", "<=4", "4", "1"];
    for (a, b) in dims.iter().flat_map(|a| dims.iter().map(move |b| (a, b))) {
        let text = format!(
            "input a: f32[{a}] bytes 16\ninput b: f32[2, {b}] bytes 32\n\
             y: f32[2, ?] bytes 32 = add(a, b)\noutput y"
        );
        assert_eq!(graph(&text).nodes().len(), 1, "{a} {b}");
    }
}

#[test]
fn kernels_can_do_without_views() {
    let graph = graph(
        "input x: f32[8]\na: f32[8] = reshape(x)\nb: f32[8] = identity(a)\nc: f32[2] view b at 8 = custom \"part\"(b)",
    );
    let roots = |kernels: &Kernels| -> Vec<u32> {
        let aliases = graph.aliases(kernels);
        graph.value_ids().map(|value| aliases.resolve(value).root.0).collect()
    };
    assert_eq!(roots(&Kernels::default()), [0, 0, 0, 0]);
    assert_eq!(roots(&Kernels::new(Preset::Views)), [0, 0, 0, 0]);
    // What is declared holds in any case.
    assert_eq!(roots(&Kernels::new(Preset::Copying)), [0, 1, 2, 2]);
    assert_eq!(roots(&Kernels::new(Preset::Tflm)), [0, 0, 2, 2]);
    let some = Kernels { no_views: vec!["Identity".parse().unwrap()], ..Kernels::default() };
    assert_eq!(roots(&some), [0, 0, 2, 2]);
}

#[test]
fn nodes_are_selected_by_kind_and_index() {
    let mut lines = String::from("input x: f32[64]\n");
    for index in 0..12 {
        let cut = format!("axis=0, start={index}, len=1");
        let line = format!("n{index}: f32[1] = narrow{{{cut}}}(x)\nr{index} = relu(n{index})\n");
        lines.push_str(&line);
    }
    let graph = graph(&lines);
    let names = |selectors: &[&str]| -> Vec<String> {
        let selectors: Vec<_> = selectors.iter().map(|s| s.parse().unwrap()).collect();
        no_reuse(&graph, &selectors).iter().map(|v| graph.value(*v).name.clone()).collect()
    };
    assert_eq!(names(&["Narrow:0-9"]).len(), 10);
    assert_eq!(names(&["Narrow:10-99"]), ["n10", "n11"]);
    assert_eq!(names(&["slice:3", "RELU:3-3"]), ["n3", "r3"]);
    assert_eq!(names(&["unary"]).len(), 12);
    assert_eq!(names(&["Transpose"]), Vec::<String>::new());
    assert_eq!(
        selected_nodes(&graph, &["relu".parse().unwrap(), "relu:0".parse().unwrap()]).len(),
        12
    );
    for bad in ["", ":3", "relu:3-1", "relu:-1", "relu:1-", "relu:"] {
        assert!(bad.parse::<crate::graph::Selector>().is_err(), "{bad}");
    }
    for good in ["relu", "relu:3", "relu:0-9", "custom::op", "custom::op:4-5"] {
        assert_eq!(good.parse::<crate::graph::Selector>().unwrap().to_string(), good);
    }
    let message = "x:".parse::<crate::graph::Selector>().unwrap_err().to_string();
    assert_eq!(message, "`x:` does not select nodes: write KIND, KIND:N or KIND:FIRST-LAST");
}

#[test]
fn windows_and_overwrites_can_be_declared_with_the_builder() {
    let mut builder = GraphBuilder::new();
    let s = builder.state("s", Dtype::F32, [4]).unwrap();
    let c = builder.constant("c", Dtype::F32, [4]).unwrap();
    let p = builder.param("p", Dtype::F32, [4]).unwrap();
    let t = builder.op("t", Op::UpdateSlice, &[s, c, p], Dtype::F32, [4]).unwrap();
    let node = builder.node_mut(NodeId(0));
    node.overwrites.push(Overwrite { output: t, input: s, must: true });
    node.windows.push(Window { until: End::EndOfRun, ..Window::new(c, AccessKind::Read) });
    let graph = builder.finish().unwrap();
    assert_eq!(graph.producer(t), Some(NodeId(0)));
    assert_eq!(
        text::print(&graph).lines().last().unwrap(),
        "t: f32[4] = update_slice(s, c, p) must_overwrite(t: s) reads(c until end)"
    );
}
