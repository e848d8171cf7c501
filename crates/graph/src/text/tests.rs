//! The text form: examples there and back, what is inferred, every error with its place.

use plimsoll::{Execution, Role, Storage, ValueId};

use super::*;
use crate::dtype::Dtype;
use crate::graph::NodeId;
use crate::op::{Cut, Op};
use crate::shape::Shape;

const EXAMPLES: [(&str, &str); 9] = [
    ("residual_block", include_str!("../../../../corpus/graphs/residual_block.plim")),
    ("transformer_block", include_str!("../../../../corpus/graphs/transformer_block.plim")),
    ("dense_block", include_str!("../../../../corpus/graphs/dense_block.plim")),
    ("kv_cache_decode", include_str!("../../../../corpus/graphs/kv_cache_decode.plim")),
    ("packed_qkv", include_str!("../../../../corpus/graphs/packed_qkv.plim")),
    ("two_queues", include_str!("../../../../corpus/graphs/two_queues.plim")),
    ("diamond", include_str!("../../../../corpus/graphs/diamond.plim")),
    ("late_host_read", include_str!("../../../../corpus/graphs/late_host_read.plim")),
    ("elided_transpose", include_str!("../../../../corpus/graphs/elided_transpose.plim")),
];

#[test]
fn examples_survive_printing_and_reading() {
    for (name, text) in EXAMPLES {
        let graph = parse(text).unwrap_or_else(|error| panic!("{name}.plim:{error}"));
        let printed = print(&graph);
        assert_eq!(parse(&printed).as_ref(), Ok(&graph), "{name}\n{printed}");
        assert_eq!(print(&parse(&printed).unwrap()), printed, "{name}");
    }
}

/// Everything that can be said, in canonical form.
const EVERYTHING: &str = r#"plim 1
execution queues
input x: f32[4, 8] donated
param w: i4[3] external
constant c: bool[] shared guard 16
state s: f16[8] align 128 exempt
param p: f32[?, 2] bytes 64 persistent
a: f32[4, 8] guard 8, _, b: u8[2] bytes 7 external = custom "my op"(x, _, w) as "node 1" also_reads(c, p) scratch 100 align 16 may_overwrite(a: x) queue 2
value later: f32[4, 8]
value q: f32[8] view later at 32
t: f32[8, 4] elided = transpose{perm=[1, 0]}(a) elided
do custom "sync"() as sync block 3
s2: f16[8] = Update_Slice(s) as "?" must_overwrite(s2: s)
later = unary "f"(x) may_overwrite(later: x) must_overwrite(later: x) reads(x from "node 1" until end bytes 0..16) writes(later until sync) after("node 1", "?") notes(key = "a \"b\"\n")
cut: f32[2, 4] = slice{axis=0, start=1, len=2; axis=1, start=7, len=4, step=-2}(x)
l: f32[2, 8], r: f32[2, 8] = split{axis=0}(x)
"output": f32[8, 8] = concat{axis=0}(x, x) reads(x until writes)
output later, "output"
"#;

#[test]
fn everything_that_can_be_said_is_read_back() {
    let graph = parse(EVERYTHING).unwrap();
    assert_eq!(print(&graph), EVERYTHING);
    assert_eq!(graph.execution(), Execution::Queues);
    let value = |name: &str| graph.value(graph.value_by_name(name).unwrap());
    assert_eq!(value("w").storage, Storage::External);
    assert_eq!(value("c").role, Role::Constant);
    assert_eq!((value("s").role, value("s").storage), (Role::Temporary, Storage::Persistent));
    assert_eq!(value("b").bytes, Some(7));
    let node = graph.node(NodeId(0));
    assert_eq!((node.name.as_str(), node.kind.as_str()), ("node 1", "my op"));
    assert_eq!((node.inputs[1], node.outputs[1]), (None, None));
    assert_eq!(graph.node(NodeId(4)).notes["key"], "a \"b\"\n");
}

#[test]
fn lines_can_be_broken_in_brackets_and_commented() {
    let text = "# first\n\nplim 1 # version\ninput x: f32[1_000,\n  2]\n\ny = relu(x # the input\n)\r\noutput y";
    let graph = parse(text).unwrap();
    assert_eq!(
        print(&graph),
        "plim 1\ninput x: f32[1000, 2]\ny: f32[1000, 2] = relu(x)\noutput y\n"
    );
    assert_eq!(parse("plim 1").map(|graph| graph.nodes().len()), Ok(0));
    assert_eq!(print(&parse("\u{feff}plim 1").unwrap()), "plim 1\n");
}

#[test]
fn types_are_inferred_where_they_follow() {
    let text = "plim 1
input x: f16[4, 1]
input y: f16[3]
input c: bool[4, 3]
a = relu(x)
b = add(x, y)
d = less(x, y)
e = where(c, x, y)
f = softmax(b)
g = isnan(x)
";
    let graph = parse(text).unwrap();
    let of = |name: &str| {
        let value = graph.value(graph.value_by_name(name).unwrap());
        (value.dtype, value.shape.clone())
    };
    assert_eq!(of("a"), (Dtype::F16, Shape::from([4, 1])));
    assert_eq!(of("b"), (Dtype::F16, Shape::from([4, 3])));
    assert_eq!(of("d"), (Dtype::Bool, Shape::from([4, 3])));
    assert_eq!(of("e"), (Dtype::F16, Shape::from([4, 3])));
    assert_eq!(of("f"), of("b"));
    assert_eq!(of("g"), (Dtype::Bool, Shape::from([4, 1])));
}

#[test]
fn names_may_be_used_before_they_are_declared() {
    let text = "plim 1\ny: f32[2] = relu(x)\ninput x: f32[2]\noutput y\n";
    let graph = parse(text).unwrap();
    assert_eq!(print(&graph), text);
    // A node may come before the one that it waits for.
    let text = "plim 1\ninput x: f32[2]\nvalue z: f32[2]\ny: f32[2] = relu(z)\nz = exp(x)\n";
    assert_eq!(print(&parse(text).unwrap()), text);
}

#[test]
fn errors_have_a_place() {
    let cases = [
        ("", "1:1: expected `plim 1`, the first line of every text, found the end of the text"),
        ("plim 2", "1:6: expected version 1, found another version"),
        ("plim 1\ninput x", "2:8: expected `:` and a type, found the end of the line"),
        ("plim 1\ninput x: f33[1]", "2:10: `f33` is not an element type"),
        ("plim 1\ninput x: 5", "2:10: expected an element type, found 5"),
        ("plim 1\ninput x: f32", "2:13: expected `[` and dims, found the end of the line"),
        ("plim 1\ninput x: f32[a]", "2:14: expected a number, found `a`"),
        (
            "plim 1\ninput x: f32[4]\nr = relu(x)\n\ny: f32[4] = custom \"conv_add\"(r, x, r) may_overwrite(y: r)",
            "5:1: node `y`: `y` cannot overwrite `r`, which its step reads by another operand too",
        ),
        ("plim 1\ninput x: f32[1 2]", "2:16: expected `,` or the closing bracket, found 2"),
        ("plim 1\ninput x: f32[1] loud", "2:17: expected the end of the line, found `loud`"),
        (
            "plim 1\ninput x: f32[1] queue",
            "2:17: expected something that can be said of a value, found `queue`",
        ),
        ("plim 1\ninput x: f32[99999999999999999999]", "2:14: the number does not fit 64 bits"),
        ("plim 1\ninput output: f32[1]", "2:7: expected the name of a value, found `output`"),
        ("plim 1\nexecution fast", "2:11: expected in_order, partial or queues, found `fast`"),
        (
            "plim 1\ny: f32[1] = frob()",
            "2:13: unknown op `frob`: write custom \"frob\" if that is what it is called",
        ),
        ("plim 1\ny: f32[1] = frob \"x\"()", "2:13: `frob` is not a class of ops"),
        ("plim 1\ny: f32[1] = 5()", "2:13: expected an op, found 5"),
        ("plim 1\ny: f32[1] = relu{k=1}()", "2:18: unary has no `k`"),
        ("plim 1\ny: f32[1] = concat()", "2:13: concat needs `axis`"),
        ("plim 1\ny: f32[1] = transpose()", "2:13: transpose needs `perm`"),
        ("plim 1\ny: f32[1] = slice{axis=0}()", "2:13: slice needs `len`"),
        ("plim 1\ny: f32[1] = slice{len=0}()", "2:13: slice needs `axis`"),
        ("plim 1\ny: f32[1] = slice{lend=0}()", "2:19: slice has no `lend`"),
        ("plim 1\ny: f32[1] = slice{5}()", "2:19: expected axis, start, len or step, found 5"),
        (
            "plim 1\ny: f32[1] = slice{axis=0, len=0, step=9223372036854775808}()",
            "2:39: the number does not fit 64 bits",
        ),
        (
            "plim 1\ny: f32[1] = slice{axis=0, len=0, step=-9223372036854775809}()",
            "2:39: the number does not fit 64 bits",
        ),
        ("plim 1\ny: f32[1] = split{exis=0}()", "2:19: split has no `exis`"),
        ("plim 1\ny: f32[1] = fill() as a as b", "2:25: `as` is given twice"),
        ("plim 1\ny: f32[1] = fill() scratch 1 scratch 2", "2:30: `scratch` is given twice"),
        ("plim 1\ny: f32[1] = fill() notes(a = \"b\", a = \"c\")", "2:35: `a` is given twice"),
        (
            "plim 1\ny: f32[1] = fill() align 5",
            "2:20: expected something that can be said of a node, found `align`",
        ),
        (
            "plim 1\ny: f32[1] = fill() 5",
            "2:20: expected something that can be said of a node, found 5",
        ),
        ("plim 1\ny: f32[1] = fill() queue 4294967296", "2:26: the number does not fit 64 bits"),
        (
            "plim 1\ny: f32[1] relu()",
            "2:11: expected `=` and an op, or `,` and another output, found `relu`",
        ),
        ("plim 1\ny: f32[1] = fill() writes(y bytes 1 2)", "2:37: expected `..`, found 2"),
        (
            "plim 1\ny: f32[1] = fill() writes(y until (",
            "2:35: expected a node, writes, step or end, found `(`",
        ),
        ("plim 1\ny: f32[1] = relu(x)", "2:18: there is no value `x`"),
        ("plim 1\ny: f32[1] = fill() after(x)", "2:26: there is no node `x`"),
        ("plim 1\ninput x: f32[1] view r", "2:22: there is no value `r`"),
        ("plim 1\noutput x", "2:8: there is no value `x`"),
        ("plim 1\ny = fill()", "2:1: the type of `y` does not follow from its op: write it"),
        ("plim 1\n@", "2:1: unexpected character `@`"),
        ("plim 1\ninput \"x", "2:7: a quoted name ends on its own line"),
        (
            "plim 1\ninput \"x\\q\"",
            "2:9: not an escape: write \\\", \\\\, \\n, \\r, \\t or \\u{hex}",
        ),
        ("plim 1\ninput x: f32[1] .", "2:17: unexpected character `.`"),
        // What is wrong with the graph is found at the line of what is named.
        ("plim 1\ninput x: f32[1]\ninput x: f32[1]", "3:7: value `x`: the name is used twice"),
        (
            "plim 1\ninput x: f32[1]\na: f32[1] = exp(x) as n\nb: f32[1] = exp(x) as n",
            "4:1: node `n`: the name is used twice",
        ),
        (
            "plim 1\nvalue b: f32[1]\n\na: f32[1] = exp(b)\nb = exp(a)",
            "4:1: nodes wait for each other: `a` -> `b` -> `a`",
        ),
        (
            "plim 1\nvalue v: f32[1]\noutput v",
            "2:7: value `v`: an output that no node makes and that does not come from outside",
        ),
        (
            "plim 1\ninput x: f32[4]\ny: f32[5] = reshape(x)",
            "3:1: node `y`: 4 elements cannot become 5",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(parse(text).unwrap_err().to_string(), message, "{text}");
    }
}

#[test]
fn broken_texts_are_errors_and_nothing_worse() {
    // Every example with each of its bytes left out, doubled or replaced.
    for (_, text) in EXAMPLES.iter().chain([&("everything", EVERYTHING)]) {
        for at in (0..text.len()).filter(|at| text.is_char_boundary(*at)) {
            let (head, tail) = text.split_at(at);
            let _ = parse(head);
            let rest: String = tail.chars().skip(1).collect();
            let _ = parse(&format!("{head}{rest}"));
            for insert in ["(", "\"", "\n", "_", "9", "\\"] {
                let _ = parse(&format!("{head}{insert}{tail}"));
            }
        }
    }
}

#[test]
fn limits_of_dims_and_statics_are_read_back() {
    let text = "plim 1\nstatic w: f32[2, 3]\nx: f32[<=5, 3] = gather(w)\noutput x\n";
    let graph = parse(text).unwrap();
    assert_eq!(graph.value(ValueId(0)).role, Role::Static);
    assert_eq!(graph.value(ValueId(1)).shape.to_string(), "[<=5, 3]");
    assert_eq!(parse(&print(&graph)).unwrap(), graph);
    assert_eq!(
        parse("plim 1\ninput x: f32[<5]\n").unwrap_err().to_string(),
        "2:15: expected `=`, found 5"
    );
}

#[test]
fn a_step_is_any_number_of_64_bits() {
    for step in [i64::MIN, i64::MIN + 1, -1, 2, i64::MAX] {
        let cut = format!("slice{{axis=0, start=3, len=1, step={step}}}(x)");
        let graph = parse(&format!("plim 1\ninput x: f32[4]\ny: f32[1] = {cut}\noutput y\n"));
        let graph = graph.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            graph.nodes()[0].op,
            Op::Slice { cuts: vec![Cut { axis: 0, start: 3, len: 1, step }] }
        );
        assert_eq!(parse(&print(&graph)), Ok(graph));
    }
}
