//! ONNX models through the command line: files that are no models or not whole, models whose shapes
//! cannot be found, and plans for ranges of dims.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use plimsoll_onnx::proto::ModelProto;
use plimsoll_onnx::proto::NodeProto;
use plimsoll_onnx::proto::tensor_shape_proto::dimension::Value as Dim;
use plimsoll_onnx::proto::type_proto;
use plimsoll_onnx::testing::{
    BOOL, F32, body, encode, graph, list, model, node, samples, shaped, typed, value,
};
use serde_json::Value;

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(args).stdin(Stdio::null()).output().expect("it runs")
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("text")
}

/// A file in a folder of its own.
fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("onnx-{name}"));
    fs::create_dir_all(&folder).expect("a folder for tests");
    let path = folder.join(format!("{name}.onnx"));
    fs::write(&path, bytes).expect("a file for tests");
    path
}

/// What is said of a file that cannot be planned, behind its name: one line, soon.
fn refused(name: &str, bytes: &[u8], args: &[&str]) -> String {
    let path = file(name, bytes);
    let path = path.to_str().expect("a plain path");
    let start = Instant::now();
    let output = run(&[&["plan", path], args].concat());
    assert!(start.elapsed() < Duration::from_secs(20), "{name}: {:?}", start.elapsed());
    assert_eq!(output.status.code(), Some(2), "{name}: {}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "", "{name}");
    let said = text(&output.stderr);
    assert_eq!(said.lines().count(), 1, "{name}: {said}");
    let said = said.trim_end().strip_prefix(&format!("plimsoll: {path}: "));
    said.unwrap_or_else(|| panic!("{name}: {}", text(&output.stderr))).to_owned()
}

/// A model of these nodes from `x`, 4 numbers, to `y`.
fn of_nodes(nodes: Vec<NodeProto>) -> ModelProto {
    let row = |name| value(name, F32, &[4]);
    model(17, graph(vec![row("x")], vec![row("y")], nodes))
}

/// A model that takes `x` of these dims.
fn taking(dims: Vec<Option<Dim>>) -> ModelProto {
    let relu = node("relu", "Relu", &["x"], &["y"]);
    model(17, graph(vec![shaped("x", F32, dims)], vec![shaped("y", F32, vec![])], vec![relu]))
}

fn symbol(name: &str) -> Dim {
    Dim::DimParam(name.to_owned())
}

#[test]
fn files_that_are_no_models() {
    let (_, sample) = samples().swap_remove(0);
    let whole = encode(&sample);
    let no_model = |name, bytes: &[u8]| {
        let said = refused(name, bytes, &[]);
        assert!(said.starts_with("not an ONNX model: "), "{said}");
    };
    no_model("truncated", &whole[..whole.len() / 2]);
    no_model("empty", b"");
    no_model("text", b"plim 1\ninput x: f32[4]\n");
    no_model("noise", &[0xff; 1000]);
    let leaf = || graph(vec![], vec![value("x", F32, &[4])], vec![]);
    let nested = (0..300).fold(leaf(), |inner, _| {
        let choose = node("if", "If", &["x"], &["y"])
            .with(body("then_branch", inner))
            .with(body("else_branch", leaf()));
        graph(vec![], vec![value("y", F32, &[4])], vec![choose])
    });
    no_model("nested", &encode(&model(17, nested)));
}

#[test]
fn models_that_do_not_hang_together() {
    let said = |name, model: &ModelProto| refused(name, &encode(model), &[]);
    let dangling = of_nodes(vec![node("add", "Add", &["x", "nowhere"], &["y"])]);
    assert_eq!(said("dangling", &dangling), "node `add` (Add): there is no tensor `nowhere`");
    let cycle = of_nodes(vec![
        node("there", "Add", &["x", "b"], &["y"]),
        node("back", "Relu", &["y"], &["b"]),
    ]);
    assert_eq!(
        said("cycle", &cycle),
        "node `there` never runs: it, or what it waits for, waits for itself"
    );
    let misfit = model(
        17,
        graph(
            vec![value("x", F32, &[4]), value("w", F32, &[3])],
            vec![value("y", F32, &[4])],
            vec![node("add", "Add", &["x", "w"], &["y"])],
        ),
    );
    assert!(said("misfit", &misfit).starts_with("node `add`: "));
    let negative = taking(vec![Some(Dim::DimValue(-4))]);
    let negative = said("negative", &negative);
    assert!(negative.contains("`x`"), "{negative}");
    let huge = taking(vec![Some(Dim::DimValue(1 << 60)), Some(Dim::DimValue(1 << 10))]);
    let huge = said("huge", &huge);
    assert!(huge.contains("`x`") || huge.contains("`y`"), "{huge}");
}

#[test]
fn what_has_no_size() {
    let of = |of| model(17, graph(vec![of], vec![], vec![]));
    let sequence = of(typed("s", type_proto::Value::SequenceType(Box::default())));
    assert_eq!(
        refused("sequence", &encode(&sequence), &[]),
        "tensor `s`: it is a sequence, which has no size that could be planned"
    );
    let strings = of(value("t", 8, &[1]));
    assert_eq!(
        refused("strings", &encode(&strings), &[]),
        "tensor `t`: text has no size that could be planned"
    );
}

#[test]
fn dims_that_are_not_said() {
    let open = encode(&taking(vec![
        Some(symbol("batch")),
        Some(symbol("length")),
        Some(Dim::DimValue(4)),
    ]));
    assert_eq!(
        refused("unbound", &open, &["--dim", "batch=2"]),
        "symbol `length` is not bound: it is axis 1 of input `x` (say it with --dim NAME=N)"
    );
    let said = refused("no-symbol", &open, &["--dim", "depth=2"]);
    assert!(
        said.contains("there is no symbol `depth`; the symbols are `batch`, `length`"),
        "{said}"
    );
    assert_eq!(refused("rank", &open, &["--input-shape", "x=1,2"]), "input `x` has 3 dims, not 2");
    let said = refused("no-input", &open, &["--input-shape", "w=1,2"]);
    assert!(said.contains("there is no input `w`; the inputs are `x`"), "{said}");
    assert_eq!(
        refused("no-dim", &encode(&taking(vec![None])), &[]),
        "axis 0 of input `x` is not known: its shape has to be given \
         (say it with --input-shape INPUT=N,N)"
    );
}

#[test]
fn sizes_that_depend_on_data() {
    let range = node("count", "Range", &["from", "to", "by"], &["y"]);
    let scalar = |name| value(name, F32, &[]);
    let inputs = ["from", "to", "by"].map(scalar).to_vec();
    let unlimited = model(17, graph(inputs, vec![shaped("y", F32, vec![None])], vec![range]));
    assert_eq!(
        refused("unlimited", &encode(&unlimited), &[]),
        "sizes are not known and have to be given: y (with --sizes)"
    );
}

#[test]
fn a_branch_that_cannot_run_is_noted() {
    let branch = |name: &str, dims: &str| {
        let nodes = vec![node(name, "Reshape", &["x", dims], &[name])];
        graph(vec![], vec![value(name, F32, &[4])], nodes)
    };
    let choose = node("if", "If", &["condition"], &["y"])
        .with(body("then_branch", branch("fits", "four")))
        .with(body("else_branch", branch("not", "three")));
    let mut chosen = of_nodes(vec![choose]);
    let graph = chosen.graph.as_mut().expect("a graph");
    graph.input.push(value("condition", BOOL, &[]));
    graph.initializer = vec![list("four", &[2, 2]), list("three", &[3])];
    let path = file("branch", &encode(&chosen));
    let output = run(&["plan", path.to_str().expect("a plain path")]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stderr);
    assert!(said.contains("node `if`: its else branch cannot run with these shapes ("), "{said}");
    assert!(said.ends_with("; planned without it\n"), "{said}");
}

/// `y` is `x`, of `[seq, 4]`, and something of `[others, 4]`, added up behind a `Relu`.
fn ranged(others: Option<Dim>) -> Vec<u8> {
    let four = || Some(Dim::DimValue(4));
    let inputs = vec![
        shaped("x", F32, vec![Some(symbol("seq")), four()]),
        shaped("w", F32, vec![others, four()]),
    ];
    let nodes = vec![
        node("relu", "Relu", &["x"], &["a"]),
        node("add", "Add", &["a", "w"], &["b"]),
        node("twice", "Concat", &["b", "b"], &["y"]).with(plimsoll_onnx::testing::int("axis", 0)),
    ];
    let output = shaped("y", F32, vec![None, four()]);
    encode(&model(17, graph(inputs, vec![output], nodes))).to_vec()
}

#[test]
fn a_range_is_planned_at_its_end_and_holds_at_its_beginning() {
    let path = file("range", &ranged(Some(symbol("seq"))));
    let path = path.to_str().expect("a plain path");
    let args = ["plan", path, "--dim", "seq=1..512", "--align", "1"];
    let output = run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    // `b` is over `a`; `y` is twice as large. At 1 the same places are used, up to the end of the
    // last of them.
    let plan = run(&[&args[..], &["--format", "json"]].concat());
    let plan: Value = serde_json::from_slice(&plan.stdout).expect("JSON");
    assert_eq!(plan["arena_bytes"], 3 * 512 * 16);
    assert_eq!(plan["options"]["dims"]["seq"], "1..512");
    let used = plan["used_bytes_at"]["seq=1"].as_u64().expect("a corner");
    let place = |name: &str| {
        let values = plan["values"].as_array().expect("values");
        let value = values.iter().find(|value| value["name"] == name).expect(name);
        value["offset"].as_u64().expect("an offset")
    };
    assert_eq!(used, (place("a") + 16).max(place("y") + 32));
    let in_use = text(&output.stdout).lines().find(|line| line.trim_start().starts_with("in use"));
    let in_use = in_use.expect("a line for the corner");
    assert!(in_use.ends_with("at seq=1"), "{in_use}");

    // Whoever verifies the plan looks at both ends.
    let kept = Path::new(path).with_extension("json");
    let kept = kept.to_str().expect("a plain path");
    fs::write(kept, plan.to_string()).expect("a file for tests");
    let verdict = run(&["verify", path, kept]);
    assert_eq!(verdict.status.code(), Some(0), "{}", text(&verdict.stderr));
}

#[test]
fn a_range_in_which_something_broadcasts_is_refused() {
    // Of 8 rows each is written over its own; of one row all 8 are made.
    let model = ranged(Some(Dim::DimValue(8)));
    let place = file("broadcast", &model);
    let path = place.to_str().expect("a plain path");
    assert_eq!(run(&["plan", path, "--dim", "seq=8"]).status.code(), Some(0));
    let said = refused("broadcast", &model, &["--dim", "seq=1..8"]);
    let words = "the plan does not hold at seq=1; try --no-in-place: step \"add\" overwrites \"a\"";
    assert!(said.starts_with(words), "{said}");
    let apart = ["plan", path, "--dim", "seq=1..8", "--no-in-place", "--format", "json"];
    assert_eq!(run(&apart).status.code(), Some(0));

    // A plan for 8 that is said to be for the range is found out.
    let plan = run(&["plan", path, "--dim", "seq=8", "--format", "json"]);
    let mut plan: Value = serde_json::from_slice(&plan.stdout).expect("JSON");
    plan["options"]["dims"]["seq"] = Value::from("1..8");
    let kept = place.with_extension("json");
    fs::write(&kept, plan.to_string()).expect("a file for tests");
    let verdict = run(&["verify", path, kept.to_str().expect("a plain path")]);
    assert_eq!(verdict.status.code(), Some(1), "{}", text(&verdict.stderr));
    assert!(text(&verdict.stdout).starts_with("at seq=1: "), "{}", text(&verdict.stdout));
}
