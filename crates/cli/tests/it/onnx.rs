//! ONNX models through the command line: files that are no models or not whole, models whose shapes
//! cannot be found, and plans for ranges of dims.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use plimsoll_onnx::proto::tensor_shape_proto::dimension::Value as Dim;
use plimsoll_onnx::proto::{ModelProto, NodeProto, type_proto};
use plimsoll_onnx::testing::{
    BOOL, F32, I64, body, encode, graph, int, list, model, node, samples, shaped, typed, value,
};
use serde_json::{Value, json};

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
    assert_eq!(
        said("misfit", &misfit),
        "node `add` (Add): `x` is f32[4], `w` is f32[3]: 4 and 3 do not broadcast"
    );
    let negative = taking(vec![Some(Dim::DimValue(-4))]);
    let negative = said("negative", &negative);
    assert!(negative.contains("`x`"), "{negative}");
    let huge = taking(vec![Some(Dim::DimValue(1 << 60)), Some(Dim::DimValue(1 << 10))]);
    let huge = said("huge", &huge);
    assert!(huge.contains("`x`") || huge.contains("`y`"), "{huge}");
}

#[test]
fn a_dim_of_0_is_a_size_where_it_is_said_to_be() {
    let empty = encode(&taking(vec![Some(Dim::DimValue(0)), Some(Dim::DimValue(4))]));
    let said = refused("empty-dim", &empty, &[]);
    assert!(said.starts_with("axis 0 of input `x` is not known"), "{said}");
    let path = file("empty-said", &empty);
    let path = path.to_str().expect("a plain path");
    let output = run(&["plan", path, "--input-shape", "x=0,4", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(plan["arena_bytes"], 0);
}

#[test]
fn convolutions_in_no_groups_are_named() {
    for kind in ["Conv", "ConvTranspose"] {
        let conv = node("conv", kind, &["x", "w"], &["y"]).with(int("group", 0));
        let image = |name| value(name, F32, &[1, 4, 8, 8]);
        let model = model(17, graph(vec![image("x"), image("w")], vec![image("y")], vec![conv]));
        let said = refused(&format!("no-groups-{kind}"), &encode(&model), &[]);
        let operands = "`x` is f32[1, 4, 8, 8], `w` is f32[1, 4, 8, 8]";
        assert_eq!(said, format!("node `conv` ({kind}): {operands}: channels in 0 groups"));
    }
}

#[test]
fn short_fourier_transforms_take_signals_of_two_axes() {
    let stft = node("stft", "STFT", &["x", "step", "window"], &["y"]);
    let open = shaped("y", F32, vec![None; 4]);
    let inputs = vec![value("x", F32, &[2, 100]), value("window", F32, &[16])];
    let mut graph = graph(inputs, vec![open], vec![stft]);
    let step = plimsoll_onnx::testing::stored("step", I64, &[], 10i64.to_le_bytes().to_vec());
    graph.initializer = vec![step];
    let path = file("stft", &encode(&model(17, graph)));
    let output =
        run(&["plan", path.to_str().expect("a plain path"), "--align", "1", "--format", "json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    // 2 signals, 9 frames, 9 bins, real and imaginary.
    assert_eq!(plan["arena_bytes"], 4 * 2 * 9 * 9 * 2);
}

#[test]
fn dropouts_with_masks_of_one_tensor_wait_for_nobody() {
    let drop = |name: &str, of: &str, to: &str| node(name, "Dropout", &[of], &[to, name]);
    let add = |a: &str, b: &str| node("add", "Add", &[a, b], &["y"]);
    let two = vec![drop("m1", "x", "d1"), drop("m2", "x", "d2"), add("d1", "d2")];
    let chain = vec![drop("m1", "x", "d1"), drop("m2", "d1", "d2"), add("d2", "x")];
    let early = vec![node("relu", "Relu", &["x"], &["e"]), drop("m1", "x", "d1"), add("d1", "e")];
    for (name, nodes, masks) in [("two", two, 2), ("chain", chain, 2), ("early", early, 1)] {
        let mut model = of_nodes(nodes);
        let graph = model.graph.as_mut().expect("a graph");
        graph.output.extend((1..=masks).map(|mask| value(&format!("m{mask}"), BOOL, &[4])));
        let path = file(&format!("dropout-{name}"), &encode(&model));
        let path = path.to_str().expect("a plain path");
        for order in ["best", "given"] {
            let args = ["plan", path, "--order", order, "--align", "1", "--format", "json"];
            let output = run(&args);
            assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
            let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            // The masks of 4 bytes each, and the sum; in the last, the sum is where `e` was.
            assert_eq!(plan["arena_bytes"], 16 + 4 * masks, "{name} in the order {order}");
        }
    }
}

/// A slice of `x`, 4 rows of 6, by these numbers.
fn slicing(numbers: [&[i64]; 4], made: &[i64]) -> ModelProto {
    let names = ["starts", "ends", "axes", "steps"];
    let nodes = vec![
        node("relu", "Relu", &["x"], &["a"]),
        node("cut", "Slice", &[&["a"], &names[..]].concat(), &["b"]),
        node("exp", "Exp", &["b"], &["y"]),
        node("neg", "Neg", &["a"], &["z"]),
    ];
    let outputs = vec![value("y", F32, made), value("z", F32, &[4, 6])];
    let mut graph = graph(vec![value("x", F32, &[4, 6])], outputs, nodes);
    graph.initializer =
        names.iter().zip(numbers).map(|(name, list_of)| list(name, list_of)).collect();
    model(17, graph)
}

#[test]
fn a_reversed_axis_is_copied() {
    let cut = |name: &str, step: i64, from: i64, to: i64| {
        let model = slicing([&[from, 1], &[to, 3], &[0, 1], &[step, 1]], &[4, 2]);
        let path = file(&format!("slice-{name}"), &encode(&model));
        let path = path.to_str().expect("a plain path");
        let args = ["plan", path, "--kernels", "strided", "--align", "1", "--format", "json"];
        let output = run(&args);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let values = plan["values"].as_array().expect("values");
        let b = values.iter().find(|value| value["name"] == "b").expect("the slice");
        b["row_bytes"].clone()
    };
    assert_eq!(cut("forward", 1, 0, 4), 8);
    assert_eq!(cut("backward", -1, 3, i64::MIN), Value::Null);
}

#[test]
fn any_step_of_a_slice_is_read_back_from_text() {
    let model = slicing([&[-1, 0], &[i64::MIN, 6], &[0, 1], &[i64::MIN, i64::MAX]], &[1, 1]);
    let path = file("slice-step", &encode(&model));
    let noted = path.with_extension("plim");
    let (path, noted) =
        (path.to_str().expect("a plain path"), noted.to_str().expect("a plain path"));
    let output = run(&["plan", path, "-o", noted]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(fs::read_to_string(noted).expect("text").contains("step=-9223372036854775808"));
    let output = run(&["plan", noted]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
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
        "symbol `length` is not bound: it is axis 1 of input `x` (give it with --dim NAME=N)"
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
         (give it with --input-shape INPUT=N,N; the file declares a dim of 0 or less, which is unknown)"
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
    let line = |heading: &str| {
        let found = text(&output.stdout).lines().find(|line| line.starts_with(heading));
        found.map(str::to_owned).unwrap_or_default()
    };
    assert!(line("in use").ends_with("at seq=1"), "{}", line("in use"));
    let how = "proven for all 512 sizes: as a whole, by expressions of the dims";
    assert_eq!(line("ranges"), format!("ranges       {how}"));
    let proof = json!({
        "proof": "symbolic", "sizes": 512, "parts": 1, "sizes_checked": 0, "sizes_refused": 0,
        "given_up": [], "larger": {},
    });
    assert_eq!(plan["ranges"], proof);

    // Whoever verifies the plan proves it again.
    let kept = Path::new(path).with_extension("json");
    let kept = kept.to_str().expect("a plain path");
    fs::write(kept, plan.to_string()).expect("a file for tests");
    let verdict = run(&["verify", path, kept]);
    assert_eq!(verdict.status.code(), Some(0), "{}", text(&verdict.stderr));
    assert!(text(&verdict.stdout).contains(how), "{}", text(&verdict.stdout));
    let verdict = run(&["verify", path, kept, "--format", "json"]);
    let verdict: Value = serde_json::from_slice(&verdict.stdout).expect("JSON");
    assert_eq!(verdict["ranges"], proof);
}

#[test]
fn where_something_broadcasts_in_a_range_nothing_is_taken_over() {
    // Of 8 rows each is written over its own; of one row all 8 are made.
    let model = ranged(Some(Dim::DimValue(8)));
    let place = file("broadcast", &model);
    let path = place.to_str().expect("a plain path");
    assert_eq!(run(&["plan", path, "--dim", "seq=8"]).status.code(), Some(0));
    let plan = run(&["plan", path, "--dim", "seq=1..8", "--format", "json"]);
    let plan: Value = serde_json::from_slice(&plan.stdout).expect("JSON");
    let given_up = json!([{"value": "b", "why": "impossible", "at": "seq=1"}]);
    assert_eq!(plan["ranges"]["given_up"], given_up);
    // `a` and `b` are apart: `b` in the first half of `y`, which is twice as large, and `a` in the second.
    assert_eq!(plan["arena_bytes"], 2 * 8 * 16);
    let kept = place.with_extension("json");
    fs::write(&kept, plan.to_string()).expect("a file for tests");
    let verdict = run(&["verify", path, kept.to_str().expect("a plain path")]);
    assert_eq!(verdict.status.code(), Some(0), "{}", text(&verdict.stdout));

    // A plan for 8 that is said to be for the range is found out.
    let plan = run(&["plan", path, "--dim", "seq=8", "--format", "json"]);
    let mut plan: Value = serde_json::from_slice(&plan.stdout).expect("JSON");
    plan["options"]["dims"]["seq"] = Value::from("1..8");
    let kept = place.with_extension("json");
    fs::write(&kept, plan.to_string()).expect("a file for tests");
    let verdict = run(&["verify", path, kept.to_str().expect("a plain path")]);
    assert_eq!(verdict.status.code(), Some(1), "{}", text(&verdict.stderr));
    let said = text(&verdict.stdout);
    assert!(said.starts_with("step \"add\" overwrites \"a\" with \"b\""), "{said}");
    assert!(said.contains("\nat seq=1: "), "{said}");
}

/// Two layers of a decoder: keys that grow by a row in the axis that is the outermost of more than
/// one element, values of which a row is replaced.
fn decoder(axis: i64) -> ModelProto {
    let mut inputs = vec![value("x", F32, &[1, 16]), value("place", I64, &[1, 16])];
    let mut outputs = vec![value("y1", F32, &[1, 16])];
    let mut nodes = Vec::new();
    for (layer, from) in [(0, "x"), (1, "y0")] {
        let name = |what: &str| format!("{what}{layer}");
        let (keys, values, row) = (name("past_k"), name("past_v"), name("row"));
        let (new_keys, new_values, y) = (name("present_k"), name("present_v"), name("y"));
        let (by_keys, sum) = (name("by_keys"), name("sum"));
        inputs.extend([value(&keys, F32, &[2, 8, 16]), value(&values, F32, &[32, 16])]);
        let grown: &[i64] = if axis == 0 { &[3, 8, 16] } else { &[2, 9, 16] };
        let of_row: &[i64] = if axis == 0 { &[1, 8, 16] } else { &[2, 1, 16] };
        inputs.push(value(&row, F32, of_row));
        outputs.extend([value(&new_keys, F32, grown), value(&new_values, F32, &[32, 16])]);
        nodes.push(
            node(&name("append"), "Concat", &[&keys, &row], &[&new_keys]).with(int("axis", axis)),
        );
        let update = [values.as_str(), "place", from];
        nodes.push(node(&name("update"), "ScatterElements", &update, &[&new_values]));
        let read = node(&name("read"), "Mystery", &[from, &new_keys, &new_values], &[&by_keys]);
        nodes.push(read);
        nodes.push(node(&name("add"), "Add", &[from, from], &[&sum]));
        nodes.push(node(&name("relu"), "Relu", &[&sum], &[&y]));
        outputs.push(value(&by_keys, F32, &[1, 16]));
    }
    model(17, graph(inputs, outputs, nodes))
}

const CACHES: [&str; 8] = [
    "--donate",
    "past_k0=present_k0",
    "--donate",
    "past_v0=present_v0",
    "--donate",
    "past_k1=present_k1",
    "--donate",
    "past_v1=present_v1",
];

/// The rows of a plan by name.
fn row<'a>(plan: &'a Value, name: &str) -> &'a Value {
    let rows = plan["values"].as_array().expect("rows");
    rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn caches_are_donated_and_verified_without_saying_it_again() {
    let path = file("decoder", &encode(&decoder(0)));
    let path = path.to_str().expect("a plain path");
    let sizes = file("decoder-sizes", br#"{"by_keys0": 64, "by_keys1": 64}"#);
    let sizes = ["--sizes", sizes.to_str().expect("a plain path")];
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("decoder-plan.json");
    let out = out.to_str().expect("a plain path");
    let arena = |more: &[&str]| {
        let planned = run(&[&["plan", path, "-o", out], &sizes[..], more].concat());
        assert_eq!(planned.status.code(), Some(0), "{}", text(&planned.stderr));
        let plan: Value = serde_json::from_slice(&fs::read(out).expect("a plan")).expect("JSON");
        let verified = run(&["verify", path, out]);
        assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stdout));
        (plan["arena_bytes"].as_u64().expect("a number"), plan)
    };
    let (without, _) = arena(&[]);
    let (with, plan) = arena(&CACHES);
    // Keys of 3 x 8 x 16 and values of 32 x 16 floats in each of two layers.
    assert_eq!(without - with, 2 * (1536 + 2048));
    assert_eq!(row(&plan, "present_v1")["root"], "past_v1");
    assert_eq!(row(&plan, "present_v1")["storage"], "external");
    assert_eq!(row(&plan, "past_k1")["root"], "present_k1");
    assert_eq!(plan["options"]["donate"].as_array().map(Vec::len), Some(4));

    let (placed, plan) = arena(&[&CACHES[..], &["--place", "inputs,outputs"]].concat());
    let offset = |name: &str| row(&plan, name)["offset"].as_u64().expect("an offset");
    for cache in ["k0", "v0", "k1", "v1"] {
        assert_eq!(offset(&format!("past_{cache}")), offset(&format!("present_{cache}")));
    }
    let (apart, _) = arena(&["--place", "inputs,outputs"]);
    // What is saved is the past, which had its own place.
    assert_eq!(apart - placed, 2 * (1024 + 2048));

    let (_, plan) = arena(&["--state", "past_v0=present_v0"]);
    assert_eq!(row(&plan, "past_v0")["storage"], "persistent");
    assert_eq!(row(&plan, "past_v0")["offset"], row(&plan, "present_v0")["offset"]);
    // A plan that has the present elsewhere is not what was asked for.
    let (_, plan) = arena(&CACHES);
    let mut rows = plan.clone();
    for row in rows["values"].as_array_mut().expect("rows") {
        if row["name"] == "present_v1" {
            let row = row.as_object_mut().expect("a row");
            row.remove("root");
            row.remove("root_offset");
        }
    }
    fs::write(out, rows.to_string()).expect("a file");
    let verified = run(&["verify", path, out]);
    assert_eq!(verified.status.code(), Some(1), "{}", text(&verified.stderr));
    assert!(text(&verified.stdout).contains("present_v1"), "{}", text(&verified.stdout));
}

#[test]
fn what_cannot_be_donated_is_said() {
    let bytes = encode(&decoder(1));
    let say = |pair: &str, why: &str| {
        let said = refused("donated", &bytes, &["--donate", pair]);
        assert_eq!(said, format!("--donate {pair}: {why}"));
    };
    say(
        "past_k0=present_k0",
        "node `append0` concatenates on axis 1, which is not the outermost of more than one \
         element, so that its input is no stretch of its output",
    );
    say("past_v0=present_v1", "`past_v1` is not made from `past_v0` in place");
    say("past=present_v1", "there is no value `past`");
    say("past_v0=present", "there is no value `present`");
    say("y1=present_v0", "`y1` is not an input");
    say("past_v0=y0", "`y0` is not an output");
    let twice = ["--donate", "past_v0=present_v0", "--state", "past_v0=present_v0"];
    let said = refused("donated", &bytes, &twice);
    assert_eq!(said, "--state past_v0=present_v0: `past_v0` is asked for twice");
    let output = run(&["plan", "--donate", "past"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("expected INPUT=OUTPUT"));
}
