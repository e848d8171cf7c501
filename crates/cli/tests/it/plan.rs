//! Plans through the command line: exact numbers for every option, files that come back, and that
//! names, processes and threads change nothing.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(args).stdin(Stdio::null()).output().expect("it runs")
}

fn run_with_stdin(args: &[&str], stdin: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let _ = child.stdin.take().expect("piped").write_all(stdin.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("text")
}

/// A model of the snapshots, where the arithmetic is written down.
fn model(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd/plan.in");
    folder.join(name).to_str().expect("a plain path").to_owned()
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("plan-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder for tests");
    path
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("a plain path").to_owned()
}

/// The plan as JSON; offsets are multiples of 1, so that numbers are sums.
fn plan(name: &str, args: &[&str]) -> Value {
    let name = model(name);
    let mut all = vec!["plan", &name, "--align", "1", "--format", "json"];
    all.extend(args);
    let output = run(&all);
    assert_eq!(code(&output), Some(0), "{args:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn arena(name: &str, args: &[&str]) -> u64 {
    plan(name, args)["arena_bytes"].as_u64().expect("a number")
}

fn offsets(plan: &Value) -> Vec<Option<u64>> {
    let values = plan["values"].as_array().expect("values");
    values.iter().map(|value| value["offset"].as_u64()).collect()
}

fn offset_of(plan: &Value, name: &str) -> Option<u64> {
    let values = plan["values"].as_array().expect("values");
    values.iter().find(|value| value["name"] == name).expect(name)["offset"].as_u64()
}

#[test]
fn what_is_placed_at_the_boundary_is_chosen() {
    // a + b = 600; x = 100, w = 300, c = 50 live all the time.
    assert_eq!(arena("tiny.plim", &[]), 600);
    assert_eq!(arena("tiny.plim", &["--place", "none"]), 600);
    assert_eq!(arena("tiny.plim", &["--place", "inputs"]), 700);
    assert_eq!(arena("tiny.plim", &["--place", "params,constants,outputs"]), 950);
    assert_eq!(arena("tiny.plim", &["--place", "all"]), 1050);
    assert_eq!(arena("tiny.plim", &["--preset", "inference"]), 1064); // c takes 64
    assert_eq!(arena("tiny.plim", &["--preset", "inference", "--min-slot", "0"]), 1050);
    // All but w, which is 300 of the 1064.
    assert_eq!(arena("tiny.plim", &["--preset", "activations"]), 764);
    let activations = plan("tiny.plim", &["--preset", "activations"]);
    let placed = ["x", "c", "y", "w"].map(|name| offset_of(&activations, name).is_some());
    assert_eq!(placed, [true, true, true, false]);
}

#[test]
fn inputs_are_reclaimed_only_if_that_is_said() {
    // x is read by the first step only: x + a = 300, then a + b = 600.
    assert_eq!(arena("tiny.plim", &["--place", "inputs,outputs"]), 700);
    assert_eq!(arena("tiny.plim", &["--place", "inputs,outputs", "--reclaim-inputs"]), 600);
}

#[test]
fn guards_and_least_slots_are_added() {
    // With all placed 1050: 10 behind x, w and c; y is not there at the peak.
    assert_eq!(arena("tiny.plim", &["--place", "all", "--guard", "10"]), 1080);
    assert_eq!(arena("tiny.plim", &["--place", "all", "--guard", "inputs=10,params=1KiB"]), 2084);
    // x + y = 200, and an address for what is empty.
    assert_eq!(arena("empty.plim", &["--place", "inputs,outputs"]), 200);
    assert_eq!(arena("empty.plim", &["--place", "inputs,outputs", "--min-slot", "64"]), 264);
}

#[test]
fn in_place_and_reuse_can_be_off() {
    // r over a: 200 + 50. Not so: a + r = 400, and y fits where a was.
    assert_eq!(arena("relu.plim", &[]), 250);
    assert_eq!(arena("relu.plim", &["--no-in-place"]), 400);
    assert_eq!(arena("relu.plim", &["--kernels", "views"]), 400);
    // Everything apart is the sum.
    let apart = plan("relu.plim", &["--no-reuse"]);
    assert_eq!(apart["arena_bytes"], 450);
    assert_eq!(apart["unshared_bytes"], 450);
    assert_eq!(arena("tiny.plim", &["--no-reuse"]), 700);
    // Only b, the second matmul: a and y share 200 bytes beside it.
    assert_eq!(arena("tiny.plim", &["--no-reuse=matmul:1"]), 600);
    // Only a: it keeps its 200 bytes while b + y = 500.
    assert_eq!(arena("tiny.plim", &["--no-reuse=MatMul:0-0"]), 700);
    assert_eq!(arena("tiny.plim", &["--no-reuse=matmul:7-9"]), 600);
}

#[test]
fn views_cost_nothing_unless_kernels_copy() {
    // f is a: 200 + 50. A copy: a + f = 400.
    assert_eq!(arena("views.plim", &[]), 250);
    assert_eq!(arena("views.plim", &["--kernels", "copying"]), 400);
}

#[test]
fn widths_and_sizes_change_what_values_take() {
    assert_eq!(arena("tiny.plim", &["--width", "four"]), 2400);
    assert_eq!(arena("tiny.plim", &["--width", "int-wide"]), 2400);
    assert_eq!(arena("tiny.plim", &["--width", "half-wide"]), 600);
    let with_sizes = plan("tiny.plim", &["--sizes", &model("sizes.json")]);
    assert_eq!(with_sizes["arena_bytes"], 1400); // a is 1000
    assert_eq!(with_sizes["options"]["sizes"]["a"], 1000);
}

#[test]
fn the_order_can_be_given() {
    assert_eq!(arena("branches.plim", &[]), 120);
    assert_eq!(arena("branches.plim", &["--order", "given"]), 120);
    for order in ["order.txt", "order.json"] {
        let plan = plan("branches.plim", &["--order", &model(order)]);
        assert_eq!(plan["arena_bytes"], 210, "{order}");
        assert_eq!(plan["schedule"], serde_json::json!(["a", "c", "b", "d", "y"]), "{order}");
    }
}

#[test]
fn banks_are_filled_in_order_and_within_their_limits() {
    let bank_bytes = |args: &[&str]| {
        let plan = plan("tiny.plim", args);
        let banks = plan["banks"].as_array().expect("banks").clone();
        let bank = |bank: &Value| {
            let name = bank["name"].as_str().expect("a name").to_owned();
            (name, bank["bytes"].as_u64().expect("bytes"))
        };
        banks.iter().map(bank).collect::<Vec<_>>()
    };
    let named = |rows: &[(&str, u64)]| {
        rows.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect::<Vec<_>>()
    };
    let two = ["--bank", "sram=256", "--bank", "dram"];
    assert_eq!(bank_bytes(&two), named(&[("sram", 200), ("dram", 400)]));
    // Only y is small enough for a buffer of the first.
    let small = ["--bank", "sram=256,buffer=100", "--bank", "dram"];
    assert_eq!(bank_bytes(&small), named(&[("sram", 100), ("dram", 600)]));
    let roles = ["--place", "params,outputs", "--bank", "flash,roles=params", "--bank", "dram"];
    assert_eq!(bank_bytes(&roles), named(&[("flash", 300), ("dram", 600)]));
    // a and y in one bank of 400, b in a copy of it, or the other way round.
    let repeated: u64 = bank_bytes(&["--bank", "vram=400,repeat"]).iter().map(|b| b.1).sum();
    assert_eq!(repeated, 600);
    let aligned = ["--bank", "dram,align=256"];
    // b at 0 and a at 512, or a at 0 and b at 256: 656.
    assert_eq!(bank_bytes(&aligned), named(&[("dram", 656)]));
}

#[test]
fn weights_are_shared_by_two_plans() {
    let folder = folder("shared");
    let (layout, forward) = (path(&folder, "weights.json"), path(&folder, "forward.json"));
    let model_path = model("forward.plim");
    let place = ["plan", &model_path, "--align", "1", "--place", "params,outputs"];
    let more = ["--write-shared", &layout, "-o", &forward];
    assert_eq!(code(&run(&[&place[..], &more[..]].concat())), Some(0));
    let shared: Value = serde_json::from_slice(&fs::read(&layout).expect("written")).expect("JSON");
    assert_eq!(shared["values"].as_object().expect("values").len(), 2);

    for from in [&layout, &forward] {
        let backward = plan("backward.plim", &["--shared-from", from]);
        let w = shared["values"]["w"]["offset"].as_u64();
        assert_eq!(offset_of(&backward, "w"), w, "{from}");
        // g does not touch w (300 bytes) nor v (60 bytes), wherever they are.
        let (g, v) = (offset_of(&backward, "g").expect("placed"), &shared["values"]["v"]["offset"]);
        for (start, bytes) in [(w.expect("shared"), 300), (v.as_u64().expect("shared"), 60)] {
            assert!(g + 80 <= start || start + bytes <= g, "{from}: {g} meets {start}");
        }
    }
    let model_path = model("tiny.plim");
    let output = run(&["plan", &model_path, "--write-shared", &layout]);
    assert!(text(&output.stderr).contains("no param has a place"), "{}", text(&output.stderr));
}

#[test]
fn a_budget_is_kept_or_refused() {
    let model = model("tiny.plim");
    let with = |budget, format| {
        run(&["plan", &model, "--align", "1", "--budget", budget, "--format", format])
    };
    assert_eq!(code(&with("600", "text")), Some(0));
    assert!(text(&with("1KiB", "text").stdout).contains("fits, 424 bytes to spare"));
    let output = with("599", "text");
    assert_eq!((code(&output), text(&output.stderr)), (Some(1), ""));
    assert!(text(&output.stdout).ends_with(
        "over budget: the arena has 600 bytes, the budget is 599; the lower bound of 600 is above \
         it too, so no packing of this order fits\n"
    ));
    let output = with("599", "json");
    assert_eq!(code(&output), Some(1));
    assert!(text(&output.stderr).contains("tiny.plim: over budget: the arena has 600 bytes"));
    // A rule alone may stay above the bound: then there is hope.
    let graph = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/graphs/elided_transpose.plim");
    let rule = ["--order", "given", "--algorithm", "largest-first", "--budget", "32810"];
    let output = run(&[&["plan", graph], &rule[..]].concat());
    assert_eq!(code(&output), Some(1));
    assert!(text(&output.stdout).contains("the lower bound of 32800 is not above it"));
}

#[test]
fn names_processes_and_threads_change_nothing() {
    let graph = fs::read_to_string(model("branches.plim")).expect("there");
    let mut renamed = graph.clone();
    for (old, new) in [("a", "zz"), ("b", "Y9"), ("c", "\"a b\""), ("d", "b"), ("y", "last")] {
        // Names stand before `:`, or between brackets and commas.
        for (before, after) in [("\n", ":"), ("(", ")"), ("(", ","), (" ", ")"), ("output ", "\n")]
        {
            let from = format!("{before}{old}{after}");
            renamed = renamed.replace(&from, &format!("{before}<{new}>{after}"));
        }
    }
    let renamed = renamed.replace(['<', '>'], "");
    assert!(renamed.contains("\"a b\": u8[100]") && renamed.contains("output last"), "{renamed}");
    let plan = |graph: &str, threads| {
        let output =
            run_with_stdin(&["plan", "-", "--format", "json", "--threads", threads], graph);
        assert_eq!(code(&output), Some(0), "{}", text(&output.stderr));
        output.stdout
    };
    let first = plan(&graph, "1");
    assert_eq!(first, plan(&graph, "1"));
    assert_eq!(first, plan(&graph, "8"));
    let parsed = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).expect("JSON");
    assert_eq!(offsets(&parsed(&first)), offsets(&parsed(&plan(&renamed, "1"))));
}

#[test]
fn what_plan_writes_verify_accepts() {
    let folder = folder("verify");
    let all = ["--place", "all", "--guard", "10", "--min-slot", "64"];
    let cases: [(&str, &[&str]); 9] = [
        ("tiny.plim", &[]),
        ("tiny.plim", &all),
        ("tiny.plim", &["--width", "four", "--bank", "sram=1KiB", "--bank", "dram"]),
        ("empty.plim", &all),
        ("relu.plim", &["--no-reuse"]),
        ("views.plim", &["--kernels", "copying"]),
        ("partial.plim", &[]),
        ("scratch.plim", &[]),
        ("names.plim", &[]),
    ];
    for (name, args) in cases {
        let (model, plan) = (model(name), path(&folder, "plan.json"));
        let output = run(&[&["plan", &model, "-o", &plan][..], args].concat());
        assert_eq!(code(&output), Some(0), "{name} {args:?}: {}", text(&output.stderr));
        let output = run(&["verify", &model, &plan]);
        let said = text(&output.stdout);
        assert!(said.starts_with("valid: arena "), "{name} {args:?}: {said}");
        assert_eq!(code(&output), Some(0), "{name} {args:?}");
    }
    // Sizes and order come with the plan.
    let (model, plan) = (model("branches.plim"), path(&folder, "ordered.json"));
    let sizes = path(&folder, "sizes.json");
    fs::write(&sizes, "{\"c\": 999}").expect("written");
    let order = self::model("order.txt");
    run(&["plan", &model, "--order", &order, "--sizes", &sizes, "-o", &plan]);
    assert_eq!(code(&run(&["verify", &model, &plan])), Some(0));
}

#[test]
fn the_packing_below_a_plan_can_be_checked() {
    let folder = folder("csv");
    let packing = path(&folder, "packing.csv");
    for name in ["tiny.plim", "scratch.plim", "branches.plim", "names.plim"] {
        run(&["plan", &model(name), "-o", &packing]);
        let output = run(&["check", &packing, &packing]);
        assert_eq!(code(&output), Some(0), "{name}: {}", text(&output.stdout));
    }
    let output = run(&["plan", "-o", &packing]);
    assert!(text(&output.stderr).contains("built-in sample"));
    assert_eq!(code(&run(&["check", &packing, &packing])), Some(0));
}

#[test]
fn a_picture_has_a_panel_for_each_bank() {
    let svg = |args: &[&str]| {
        let model = model("tiny.plim");
        let output = run(&[&["plan", &model, "--format", "svg"][..], args].concat());
        text(&output.stdout).to_owned()
    };
    assert_eq!(svg(&[]).matches(">address</text>").count(), 1);
    let two = svg(&["--bank", "sram=256", "--bank", "dram"]);
    assert_eq!(two.matches(">address</text>").count(), 2);
    assert!(two.contains("tiny.plim: sram: arena 200 bytes"), "{two}");
    let names = run(&["plan", &model("names.plim"), "--format", "svg"]).stdout;
    assert!(text(&names).contains("&lt;/title&gt;&amp;"));
    assert!(!text(&names).contains('\u{1b}'));
}

#[test]
fn a_training_graph_is_read_from_json() {
    let graph = r#"{"tensors": [
        {"id": 0, "name": "x", "bytes": 100, "dtype": "uint8", "shape": [100], "stride": [1], "kind": "input"},
        {"id": 1, "name": "a", "bytes": 200, "dtype": "uint8", "shape": [200], "stride": [1], "kind": "intermediate"},
        {"id": 2, "name": "y", "bytes": 50, "dtype": "uint8", "shape": [50], "stride": [1], "kind": "output"}],
      "nodes": [
        {"id": 0, "op": "aten.mm.default", "inputs": [0], "outputs": [1]},
        {"id": 1, "op": "aten.mm.default", "inputs": [1], "outputs": [2]}],
      "outputs": [2]}"#;
    let output = run_with_stdin(&["plan", "-", "--align", "1", "--format", "json"], graph);
    let plan: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(plan["arena_bytes"], 250); // a is read while y is written
}

#[test]
fn a_flood_of_violations_is_cut_and_says_so() {
    let folder = folder("flood-of-violations");
    let nodes: Vec<String> =
        (0..10_001).map(|i| format!("v{i}: u8[64] = custom \"f\"(x)\n")).collect();
    let text = format!("plim 1\ninput x: u8[64]\n{}output v0\n", nodes.concat());
    let (model, plan) = (path(&folder, "model.plim"), path(&folder, "plan.json"));
    fs::write(&model, text).expect("written");
    assert_eq!(code(&run(&["plan", &model, "-o", &plan])), Some(0));
    // One byte further up nothing is aligned any more.
    let moved = fs::read_to_string(&plan).expect("written");
    let moved = moved
        .replace("\"offset\": 0,", "\"offset\": 1,")
        .replace(": 64,\n      \"bytes\"", ": 65,\n      \"bytes\"");
    fs::write(&plan, moved).expect("written");
    let output = run(&["verify", &model, &plan]);
    assert_eq!(code(&output), Some(1));
    let lines: Vec<&str> = self::text(&output.stdout).lines().collect();
    assert_eq!(lines.len(), 10_001);
    let expected = "not valid: more than 10000 violations, of which 10000 are listed";
    assert_eq!(lines[10_000], expected);
    let json = run(&["verify", &model, &plan, "--format", "json"]);
    let verdict: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(verdict["complete"], false);
    assert_eq!(verdict["violations"].as_array().map(Vec::len), Some(10_000));
}

#[test]
fn a_limit_in_time_that_is_not_reached_changes_no_byte_of_a_plan() {
    let model = model("tiny.plim");
    let json = |args: &[&str]| run(&[&["plan", &model, "--format", "json"], args].concat()).stdout;
    assert_eq!(json(&["--time-limit", "1h"]), json(&[]));
    let said = run(&["plan", &model, "--time-limit", "1h"]).stdout;
    assert!(text(&said).contains("\ntime limit   not reached\n"), "{}", text(&said));
}

/// A model of these lines is planned and the plan verified; the plan as JSON.
fn planned_and_verified(folder: &Path, lines: &str, args: &[&str]) -> Value {
    let (model, plan) = (path(folder, "net.plim"), path(folder, "plan.json"));
    fs::write(&model, format!("plim 1\n{lines}")).expect("a file");
    let output = run(&[&["plan", &model, "-o", &plan], args].concat());
    assert_eq!(code(&output), Some(0), "{}", text(&output.stderr));
    assert_eq!(code(&run(&["verify", &model, &plan])), Some(0));
    serde_json::from_slice(&fs::read(&plan).expect("a plan")).expect("JSON")
}

#[test]
fn concats_are_joined_and_the_plan_says_so() {
    let folder = folder("joined");
    let lines = "input x: f32[16]\na: f32[1, 64] = matmul(x, x)\nb: f32[1, 64] = matmul(x, x)\n\
                 c: f32[1, 128] = concat{axis=1}(a, b)\ny: f32[1, 1] = sum(c)\noutput y\n";
    // Parts of 256 bytes each, copied into 512; or made there, with 4 bytes for the sum.
    let copied = planned_and_verified(&folder, lines, &["--concat", "copy"]);
    assert_eq!((&copied["arena_bytes"], &copied["moved_bytes"]), (&1024.into(), &512.into()));
    assert_eq!(copied["options"]["joined"], Value::Null);
    let joined = planned_and_verified(&folder, lines, &[]);
    assert_eq!((&joined["arena_bytes"], &joined["moved_bytes"]), (&516.into(), &0.into()));
    assert_eq!(joined["options"]["joined"], serde_json::json!(["c"]));
}

#[test]
fn a_better_order_is_found_unless_the_given_one_is_asked_for() {
    let folder = folder("ordered");
    let lines = "input x: f32[16]\na: f32[256] = matmul(x, x)\nb: f32[256] = matmul(x, x)\n\
                 c: f32[16] = sum(a)\nd: f32[16] = sum(b)\ny: f32[16] = matmul(c, d)\noutput y\n";
    for (order, bytes) in [("given", 2112), ("fast", 1152), ("best", 1152)] {
        let plan = planned_and_verified(&folder, lines, &["--order", order]);
        assert_eq!(plan["arena_bytes"], bytes, "{order}");
        assert_eq!(plan["schedule_lower_bound_bytes"].is_null(), order == "given");
    }
}

#[test]
fn nodes_whose_kernels_can_do_less_are_told_apart() {
    let folder = folder("own-bytes");
    let lines = "input x: f32[16]\na: f32[16] = exp(x)\nb: f32[16] = relu(a)\n\
                 c: f32[4, 4] = reshape(b)\ny: f32[4, 4] = relu(c)\noutput y\n";
    let arena = |args: &[&str]| planned_and_verified(&folder, lines, args)["arena_bytes"].clone();
    assert_eq!(arena(&[]), 64);
    assert_eq!(arena(&["--own-bytes", "reshape"]), 128);
    assert_eq!(arena(&["--own-bytes", "relu:0,reshape"]), 128);
    let bad = run(&["plan", "--own-bytes", "relu:"]);
    assert_eq!(code(&bad), Some(2));
    assert!(text(&bad.stderr).contains("does not select nodes"), "{}", text(&bad.stderr));
    let absent = run(&["plan", "--own-bytes", "frobnicate"]);
    assert_eq!(code(&absent), Some(2));
    assert!(text(&absent.stderr).contains("no node is of kind"), "{}", text(&absent.stderr));
}
