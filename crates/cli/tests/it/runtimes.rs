//! Exports for runtimes that work in a way of their own, and what all exports tell alike.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use plimsoll_onnx::proto::{ModelProto, StringStringEntryProto};
use plimsoll_onnx::testing::{F32, encode, graph, model, node, stored, value};
use prost::Message;
use serde_json::Value;

/// Two branches, each large at first: the best order is not that of the file.
const BRANCHES: &str = "plim 1
input x: f32[1, 32, 32, 3]
param w1: f32[16, 3, 3, 3]
big1: f32[1, 32, 32, 16] = conv(x, w1)
param w2: f32[16, 3, 3, 3]
big2: f32[1, 32, 32, 16] = conv(x, w2)
small1: f32[1, 8, 8, 16] = max_pool(big1)
small2: f32[1, 8, 8, 16] = max_pool(big2)
sum = add(small1, small2)
output sum
";

/// Steps that can work in place, views, and a concat that can be made of its parts.
const SHARING: &str = "plim 1
input x: f32[64, 16]
a: f32[64, 16] = matmul(x, x)
r: f32[64, 16] = relu(a)
f: f32[1024] = reshape(r)
g: f32[1024] = exp(f)
b: f32[1024] = matmul(g, x)
c: f32[2048] = concat{axis=0}(g, b)
h: f32[1024] = slice{axis=0, start=1024, len=1024}(c)
y: f32[1024] = add(h, g)
output y
";

/// An output that is a view.
const TOLD: &str = "plim 1
input x: f32[1024]
mm: f32[1024] = matmul(x)
r: f32[32, 32] = reshape(mm)
q: f32[2048] = conv(x)
s: f32[1024] = conv(q)
output r, s
";

fn plimsoll(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(args).stdin(Stdio::null()).output().expect("it runs")
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("text")
}

/// What it prints where all is well.
fn stdout(args: &[&str]) -> Vec<u8> {
    let output = plimsoll(args);
    assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    output.stdout
}

fn json(args: &[&str]) -> Value {
    serde_json::from_slice(&stdout(args)).expect("JSON")
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("runtimes-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder for tests");
    path
}

fn written(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).expect("written");
    path.to_str().expect("a plain path").to_owned()
}

fn refused(args: &[&str], said: &str) {
    let output = plimsoll(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}");
    assert!(text(&output.stderr).contains(said), "{args:?}: {}", text(&output.stderr));
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// An operator as the interpreter of TensorFlow Lite Micro sees it: what it makes, and what it reads.
struct Operator {
    made: String,
    reads: Vec<String>,
}

/// The operators of a graph, in the order of the file.
fn operators(plim: &str) -> Vec<Operator> {
    let line = |line: &str| {
        let (made, rest) = line.split_once(" = ")?;
        let made = made.split(':').next()?.to_owned();
        let operands = rest.rsplit_once('(')?.1.trim_end_matches(')');
        Some(Operator { made, reads: operands.split(", ").map(str::to_owned).collect() })
    };
    plim.lines().filter_map(line).collect()
}

/// The tensors that are at the same place while both are in use, by the lifetimes of the
/// interpreter: from the operator that makes a tensor to the last that reads it, both included.
fn overlaps(plim: &str, args: &[&str]) -> Vec<(String, String)> {
    let recorded = json(&[&["plan"], args, &["--format", "tflm-json"]].concat());
    let plan = json(&[&["plan"], args, &["--format", "json"]].concat());
    let mut bytes = BTreeMap::new();
    for row in plan["values"].as_array().expect("rows") {
        bytes.insert(row["name"].as_str().expect("a name").to_owned(), number(&row["bytes"]));
    }
    let operators = operators(plim);
    let output = plim.lines().last().and_then(|line| line.strip_prefix("output ")).expect("last");
    let mut placed = Vec::new();
    let names = recorded["names"].as_array().expect("names").iter().map(|name| name.as_str());
    for (name, offset) in names.zip(recorded["offsets"].as_array().expect("offsets")) {
        let (name, offset) = (name.expect("a name"), offset.as_i64().expect("a number"));
        let Ok(offset) = u64::try_from(offset) else { continue };
        let first = operators.iter().position(|operator| operator.made == name).expect("made");
        let reads = |operator: &Operator| operator.reads.iter().any(|read| read == name);
        let last = operators.iter().rposition(reads).unwrap_or(first);
        let last = if output.split(", ").any(|output| output == name) { usize::MAX } else { last };
        placed.push((name.to_owned(), offset..offset + bytes[name], first, last));
    }
    let mut found = Vec::new();
    for (index, (one, at, first, last)) in placed.iter().enumerate() {
        for (other, beside, begin, end) in &placed[index + 1..] {
            let meet = at.start < beside.end && beside.start < at.end;
            if meet && first <= end && begin <= last {
                found.push((one.clone(), other.clone()));
            }
        }
    }
    found
}

#[test]
fn an_offline_plan_is_for_the_order_of_the_file() {
    let folder = folder("order");
    let branches = written(&folder, "branches.plim", BRANCHES);
    assert_eq!(overlaps(BRANCHES, &[&branches, "--align", "16"]), []);
    // The best order would have one large tensor where the other is.
    let best = json(&["plan", &branches, "--format", "json"]);
    assert_eq!(number(&best["arena_bytes"]), 65536 + 4096 + 4096);
    let recorded = json(&["plan", &branches, "--format", "tflm-json"]);
    let largest =
        recorded["offsets"].as_array().expect("offsets").iter().map(serde_json::Value::as_i64);
    assert_eq!(largest.max().flatten(), Some(131_072));
    // Another order is no plan for it; the same by name is.
    let file = folder.join("net.tflm").to_str().expect("plain").to_owned();
    for order in ["best", "fast"] {
        refused(
            &["plan", &branches, "--order", order, "-o", &file],
            "TFLite Micro runs operators in the order of the file",
        );
    }
    let other = written(&folder, "other.txt", "big1\nsmall1\nbig2\nsmall2\nsum\n");
    refused(
        &["plan", &branches, "--order", &other, "-o", &file],
        "branches.plim: the plan is for another order than that of the file",
    );
    assert!(!Path::new(&file).exists());
    let same = written(&folder, "same.txt", "big1\nbig2\nsmall1\nsmall2\nsum\n");
    stdout(&["plan", &branches, "--order", &same, "-o", &file]);
    let one = fs::read(&file).expect("written");
    assert_eq!(one, stdout(&["plan", &branches, "--order", "given", "--format", "tflm"]));
    assert_eq!(one, stdout(&["plan", &branches, "--format", "tflm"]));
}

#[test]
fn an_offline_plan_has_views_and_nothing_in_place_unless_kernels_can() {
    let folder = folder("sharing");
    let sharing = written(&folder, "sharing.plim", SHARING);
    let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
    // Views are where their roots are: what makes them copies bytes onto themselves.
    let views = [pair("r", "f"), pair("c", "h")];
    assert_eq!(overlaps(SHARING, &[&sharing]), views);
    // In place, and concats made of their parts, if that is said of the kernels.
    let said = overlaps(SHARING, &[&sharing, "--kernels", "standard"]);
    assert!(said.contains(&pair("a", "r")), "{said:?}");
    assert_eq!(overlaps(SHARING, &[&sharing, "--kernels", "copying"]), []);
    let recorded = written(&folder, "recorded.plim", TOLD);
    assert_eq!(overlaps(TOLD, &[&recorded]), [pair("mm", "r")]);
}

/// Two branches as an ONNX model, in an order that is not the best.
fn onnx() -> Vec<u8> {
    let (small, large) = ([16, 16], [16, 1024]);
    let weight = |name: &str, dims: &[i64; 2]| {
        let bytes = usize::try_from(dims[0] * dims[1] * 4).expect("small");
        stored(name, F32, dims, vec![0; bytes])
    };
    let nodes = vec![
        node("first", "MatMul", &["x", "up"], &["a"]),
        node("second", "MatMul", &["x", "up"], &["b"]),
        node("third", "MatMul", &["a", "down"], &["c"]),
        node("fourth", "MatMul", &["b", "down"], &["d"]),
        node("last", "Add", &["c", "d"], &["y"]),
    ];
    let mut net = graph(vec![value("x", F32, &small)], vec![value("y", F32, &small)], nodes);
    net.initializer = vec![weight("up", &large), weight("down", &[1024, 16])];
    encode(&model(17, net)).to_vec()
}

fn note(notes: &[StringStringEntryProto], key: &str) -> Option<String> {
    let found = notes.iter().find(|entry| entry.key.as_deref() == Some(key));
    found.and_then(|entry| entry.value.clone())
}

/// What the notes of a model say of the order: that of the model, and the step of each node.
fn noted_order(args: &[&str]) -> (Option<String>, Vec<Option<String>>) {
    let bytes = stdout(&[&["plan"], args, &["--format", "onnx"]].concat());
    let model = ModelProto::decode(&bytes[..]).expect("a model");
    let nodes = model.graph.expect("a graph").node;
    let steps = nodes.iter().map(|node| note(&node.metadata_props, "plimsoll.position"));
    (note(&model.metadata_props, "plimsoll.order"), steps.collect())
}

#[test]
fn a_model_with_notes_is_planned_in_its_order_or_says_in_which() {
    let folder = folder("onnx");
    let net = written(&folder, "net.onnx", onnx());
    let (order, steps) = noted_order(&[&net]);
    assert_eq!(order.as_deref(), Some("file"));
    let steps: Vec<_> = steps.iter().flatten().map(String::as_str).collect();
    assert_eq!(steps, ["0", "1", "2", "3", "4"]);
    // The best order finishes a branch before it begins the next.
    let (order, steps) = noted_order(&[&net, "--order", "best"]);
    assert_eq!(order.as_deref(), Some("position"));
    let steps: Vec<_> = steps.iter().flatten().map(String::as_str).collect();
    assert_eq!(steps, ["0", "2", "1", "3", "4"]);
}

#[test]
fn rows_have_a_bank_and_views_are_there() {
    let folder = folder("tsv");
    let bk = "plim 1\ninput x: f32[64]\nparam w: f32[64]\na: f32[64] = matmul(x, w)\n\
              b: f32[64] = matmul(a)\noutput b\n";
    let bk = written(&folder, "bk.plim", bk);
    let banks = ["--place", "all", "--bank", "a=512", "--bank", "b", "--format", "tsv"];
    let rows = stdout(&[&["plan", &bk[..]], &banks[..]].concat());
    let rows: Vec<Vec<&str>> =
        text(&rows).lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let mut in_bank = BTreeMap::new();
    for row in &rows {
        assert_eq!(row.len(), 6, "{row:?}");
        // No two are at the same place: every offset of every bank is there once.
        assert_eq!(in_bank.insert((row[3], row[0]), row[2]), None, "{rows:?}");
    }
    assert_eq!(rows.len(), 4);
    // A view has a row, and what is reserved behind an output is told beside its size.
    let recorded = written(&folder, "recorded.plim", TOLD);
    let rows =
        stdout(&["plan", &recorded, "--order", "given", "--guard", "100", "--format", "tsv"]);
    let rows: Vec<&str> = text(&rows).lines().skip(1).collect();
    let find = |name: &str| rows.iter().find(|row| row.split('\t').nth(2) == Some(name));
    let fields = |name: &str| {
        let row = find(name).unwrap_or_else(|| panic!("{name} has no row: {rows:?}"));
        row.split('\t').skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(fields("r"), ["4096", "r", "arena", "4096", "mm"]);
    assert_eq!(fields("s"), ["4096", "s", "arena", "4196", ""]);
}

#[test]
fn the_baseline_is_one() {
    let folder = folder("baseline");
    let models = [("branches.plim", BRANCHES), ("sharing.plim", SHARING), ("recorded.plim", TOLD)];
    // Every tensor that a step makes, each apart.
    let expected = [65536 + 65536 + 4096 * 3, 4096 * 7 + 8192, 4096 * 3 + 8192];
    for ((name, lines), expected) in models.into_iter().zip(expected) {
        let model = written(&folder, name, lines);
        let plan = json(&["plan", &model, "--format", "json"]);
        let arena = number(&plan["arena_bytes"]);
        assert_eq!(number(&plan["unshared_bytes"]), expected, "{name}");
        assert_eq!(number(&plan["saved_bytes"]), expected - arena, "{name}");
        assert!(number(&plan["buffers_bytes"]) <= expected, "{name}");
        let compared = json(&["compare", &model, "--no-time", "--format", "json"]);
        assert_eq!(compared["unshared_bytes"], plan["unshared_bytes"], "{name}");
        let none = compared["rows"].as_array().expect("rows").iter();
        let none = none.filter(|row| row["sharing"] == "none").map(|row| &row["arena_bytes"]);
        assert_eq!(none.collect::<Vec<_>>(), [&plan["unshared_bytes"]], "{name}");
    }
}

#[test]
fn optimal_says_for_what() {
    let folder = folder("optimal");
    let branches = written(&folder, "branches.plim", BRANCHES);
    let given = ["plan", &branches, "--order", "given"];
    assert_eq!(json(&[&given[..], &["--format", "json"]].concat())["optimal_for"], "order");
    let shown = stdout(&given);
    assert!(
        text(&shown).contains(
            "status       optimal: no arena is smaller with this order and this sharing\n"
        )
    );
    // What the last step reads and writes is there in any order.
    let recorded = written(&folder, "recorded.plim", TOLD);
    assert_eq!(json(&["plan", &recorded, "--format", "json"])["optimal_for"], "every order");
    let shown = stdout(&["plan", &recorded]);
    assert!(
        text(&shown).contains(
            "status       optimal: no order of the steps needs less, with this sharing\n"
        )
    );
    let partial = "plim 1\nexecution partial\ninput x: f32[16]\na: f32[16] = exp(x)\noutput a\n";
    let partial = written(&folder, "partial.plim", partial);
    let plan = json(&["plan", &partial, "--format", "json"]);
    assert_eq!((&plan["status"], &plan["optimal_for"]), (&"optimal".into(), &"execution".into()));
}

#[test]
fn a_layout_that_names_a_plain_param_is_noted() {
    let folder = folder("shared");
    let lines = |kind: &str| {
        format!(
            "plim 1\ninput x: f32[16]\n{kind} w: f32[16]\n{kind} v: f32[16]\n\
             a: f32[16] = matmul(x, w)\nb: f32[16] = matmul(a, v)\noutput b\n"
        )
    };
    let forward = written(&folder, "forward.plim", lines("param"));
    let layout = folder.join("weights.json").to_str().expect("plain").to_owned();
    stdout(&["plan", &forward, "--place", "params,outputs", "--write-shared", &layout]);
    let said = |model: &str| {
        let output = plimsoll(&["plan", model, "--shared-from", &layout]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr).to_owned()
    };
    let plain = said(&forward);
    assert!(
        plain.contains("weights.json: \"w\" is a param of this model that is not shared"),
        "{plain}"
    );
    assert!(plain.contains("(1 more are like that)"), "{plain}");
    let shared = lines("param")
        .replace("f32[16]\nparam v: f32[16]", "f32[16] shared\nparam v: f32[16] shared");
    assert_eq!(said(&written(&folder, "backward.plim", shared)), "");
}
