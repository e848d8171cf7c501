//! `plimsoll fit` with files: what is written computes the same in the arena that was promised.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// A new folder with samples of the corpus.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fit").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/models");
    for sample in ["sample.onnx", "encoder.onnx"] {
        fs::copy(corpus.join(sample), folder.join(sample)).unwrap();
    }
    folder
}

fn plimsoll(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

/// What a command prints, where it ends with a status.
fn told(folder: &Path, arguments: &[&str], status: i32) -> String {
    let output = plimsoll(folder, arguments);
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}");
    text
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = plimsoll(folder, arguments);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{arguments:?}: {e}"))
}

fn arena(folder: &Path, model: &str, options: &[&str]) -> u64 {
    let plan = json(folder, &[&["plan", model, "--format", "json"], options].concat());
    plan["arena_bytes"].as_u64().unwrap()
}

/// Runs both models with the same numbers, and says how far their outputs are apart.
fn run_both(folder: &Path, model: &str, small: &str, options: &[&str]) {
    told(folder, &[&["run", model, "-q", "-o", "out.npz"], options].concat(), 0);
    let tolerance = ["--tolerance", "1e-5"];
    let expect = [&["run", small, "-q", "--expect", "out.npz"], &tolerance[..], options].concat();
    let text = told(folder, &expect, 0);
    assert!(text.contains("as expected: "), "{text}");
}

#[test]
fn every_point_of_a_frontier_can_be_written_and_computes_the_same_in_its_arena() {
    let folder = folder("points");
    for (model, most, options) in [
        ("sample.onnx", 20, &[][..]),
        ("sample.onnx", 25, &["--kernels", "copying"]),
        ("sample.onnx", 60, &["--place", "all", "--align", "256"]),
        ("sample.onnx", 30, &["--kernels", "fused"]),
        ("encoder.onnx", 90, &["--dim", "seq=64"]),
    ] {
        let found = json(&folder, &[&["fit", model, "--format", "json"], options].concat());
        let before = found["source"]["arena_bytes"].as_u64().unwrap();
        assert_eq!(before, arena(&folder, model, options), "{model} {options:?}");
        let points = found["points"].as_array().unwrap();
        let least = points.last().unwrap()["arena_bytes"].as_u64().unwrap();
        assert!(least * 100 <= before * most, "{model} {options:?}: {least} of {before}");
        for point in points {
            let promised = point["arena_bytes"].as_u64().unwrap();
            let budget = promised.to_string();
            let fit = ["fit", model, "--budget", &budget, "-o", "small.onnx", "-q"];
            assert_eq!(told(&folder, &[&fit, options].concat(), 0), "");
            assert_eq!(arena(&folder, "small.onnx", options), promised, "{model} {options:?}");
            let dims: Vec<&str> =
                options.chunks(2).filter(|pair| pair[0] == "--dim").flatten().copied().collect();
            run_both(&folder, model, "small.onnx", &dims);
        }
    }
}

#[test]
fn the_same_arguments_write_the_same_bytes_over_what_was_there() {
    let folder = folder("again");
    let fit = ["fit", "sample.onnx", "--most-arithmetic", "0", "-o", "small.onnx", "-q"];
    told(&folder, &fit, 0);
    let first = fs::read(folder.join("small.onnx")).unwrap();
    fs::write(folder.join("small.onnx"), "something else").unwrap();
    told(&folder, &fit, 0);
    assert!(first == fs::read(folder.join("small.onnx")).unwrap());
    let text = told(&folder, &["fit", "sample.onnx", "--budget", "20K", "-o", "sample.onnx"], 2);
    assert!(text.contains("is read by this command, and is not written over"), "{text}");
}

#[test]
fn nothing_is_written_where_nothing_fits() {
    let folder = folder("nothing");
    let fit = ["fit", "sample.onnx", "--budget", "1K", "-o", "small.onnx", "-o", "why.json"];
    let text = told(&folder, &fit, 1);
    assert!(text.contains("does not fit: the smallest arena found has "), "{text}");
    assert!(!folder.join("small.onnx").exists());
    let why: Value = serde_json::from_slice(&fs::read(folder.join("why.json")).unwrap()).unwrap();
    assert_eq!((&why["chosen"], &why["budget_bytes"]), (&Value::Null, &Value::from(1024)));
    assert!(why["reason"].as_str().unwrap().starts_with("the smallest arena found has "), "{why}");
    let peak = &why["points"][0]["peak"];
    let at_once = peak["tensors"].as_array().unwrap().iter();
    let at_once: u64 = at_once.map(|tensor| tensor["bytes"].as_u64().unwrap()).sum();
    let arena = why["points"][0]["arena_bytes"].as_u64().unwrap();
    assert!(at_once > 1024 && at_once <= arena, "{peak}");
}

#[test]
fn a_price_that_is_not_to_be_paid_is_not_paid() {
    let folder = folder("price");
    for percent in [0.0, 2.5, 10.0, 100.0] {
        let price = format!("{percent}%");
        let found =
            json(&folder, &["fit", "sample.onnx", "--most-arithmetic", &price, "--format", "json"]);
        let point = &found["points"][usize::try_from(found["chosen"].as_u64().unwrap()).unwrap()];
        let count = |of: &Value| of["multiply_adds"].as_u64().unwrap() as f64;
        let extra = (count(point) / count(&found["source"]) - 1.0) * 100.0;
        assert!(extra <= percent + 1e-9, "{extra} of {percent}");
        assert!((extra - point["extra_percent"].as_f64().unwrap()).abs() < 1e-9);
    }
}

#[test]
fn a_frontier_is_a_table_a_picture_and_a_page() {
    let folder = folder("pictures");
    let files = ["f.txt", "f.json", "f.svg", "f.html"];
    let outputs = files.iter().flat_map(|file| ["-o", file]);
    let fit: Vec<&str> =
        ["fit", "sample.onnx", "--frontier", "-q"].into_iter().chain(outputs).collect();
    assert_eq!(told(&folder, &fit, 0), "");
    let [text, json, svg, html] = files.map(|file| fs::read_to_string(folder.join(file)).unwrap());
    let found: Value = serde_json::from_str(&json).unwrap();
    let points = found["points"].as_array().unwrap();
    assert_eq!(svg.matches("<circle").count(), points.len());
    assert_eq!(html.matches("<circle").count(), points.len());
    for point in points {
        let arena = point["arena_bytes"].to_string();
        assert!([&text, &svg, &html].iter().all(|form| form.contains(&arena)), "{arena}");
    }
    assert!(svg.starts_with("<svg") && html.starts_with("<!doctype html>"));
}

#[test]
fn what_is_found_in_no_time_is_told_as_such() {
    let folder = folder("time");
    let fit = ["fit", "sample.onnx", "--time-limit", "1ms", "--format", "json"];
    let found = json(&folder, &fit);
    assert_eq!(found["reproducible"], false);
    assert_eq!(found["points"][0]["arena_bytes"], 81920);
    let text = told(&folder, &fit[..4], 0);
    assert!(
        text.ends_with("the time limit ended the search before everything was tried\n"),
        "{text}"
    );
}

#[test]
fn what_is_no_onnx_model_cannot_be_fitted() {
    let folder = folder("other");
    fs::write(folder.join("net.plim"), "plim 1\ninput x: f32[4]\ny = relu(x)\noutput y\n").unwrap();
    let text = told(&folder, &["fit", "net.plim"], 2);
    assert_eq!(
        text,
        "plimsoll: net.plim: only ONNX models and training graphs (.json) can be fitted\n"
    );
    fs::write(folder.join("bad.onnx"), b"\x08\xff\xff").unwrap();
    assert!(told(&folder, &["fit", "bad.onnx"], 2).starts_with("plimsoll: bad.onnx: "));
    let text = told(&folder, &["fit", "encoder.onnx"], 2);
    assert_eq!(
        text,
        "plimsoll: encoder.onnx: symbol `seq` is not bound: it is axis 0 of input `x` (give it with --dim NAME=N)\n"
    );
}

#[test]
fn two_memories_have_a_plan_with_copies_that_is_verified_from_its_files() {
    let folder = folder("two");
    let fit = ["fit", "sample.onnx", "--bank", "fast=10KiB", "--bank", "slow"];
    let text = told(&folder, &[&fit[..], &["-o", "two.onnx", "-o", "two.json"]].concat(), 0);
    assert!(text.contains("\nfits: a run moves "), "{text}");
    let read = || -> Value {
        serde_json::from_slice(&fs::read(folder.join("two.json")).unwrap()).unwrap()
    };
    let plan = read();
    let (moved, count) = (&plan["moved"], |key: &str| plan["moved"][key].as_u64().unwrap());
    assert_eq!(count("bytes"), count("out_bytes") + count("back_bytes"), "{moved}");
    assert!(count("bytes") > 0 && plan["banks"][0]["bytes"].as_u64().unwrap() <= 10240, "{moved}");
    let copies = plan["schedule"].as_array().unwrap().iter();
    let copies = copies.filter(|step| {
        let name = step.as_str().unwrap();
        name.rsplit_once('.').is_some_and(|(_, end)| end == "out") || name.contains(".back.")
    });
    assert_eq!(copies.count() as u64, count("out_copies") + count("back_copies"));
    assert!(told(&folder, &["verify", "two.onnx", "two.json"], 0).starts_with("valid: "));
    run_both(&folder, "sample.onnx", "two.onnx", &[]);
    // A plan whose fast memory is smaller than what it uses, and one that lets something leave which cannot.
    let mut wrong = read();
    wrong["options"]["banks"][0]["capacity"] = 64.into();
    fs::write(folder.join("wrong.json"), wrong.to_string()).unwrap();
    let text = told(&folder, &["verify", "two.onnx", "wrong.json"], 1);
    assert!(text.contains("and may have 64"), "{text}");
    wrong["options"]["spilled"]["leaves"][0]["value"] = 999_999.into();
    fs::write(folder.join("wrong.json"), wrong.to_string()).unwrap();
    let text = told(&folder, &["verify", "two.onnx", "wrong.json"], 2);
    assert!(text.contains("options.spilled: "), "{text}");
}

#[test]
fn what_has_room_in_the_fast_memory_moves_nothing() {
    let folder = folder("room");
    let fit = ["fit", "sample.onnx", "--bank", "fast=80KiB", "--bank", "slow", "--work", "0"];
    assert_eq!(told(&folder, &[&fit[..], &["-q", "-o", "two.json"]].concat(), 0), "");
    let plan: Value = serde_json::from_slice(&fs::read(folder.join("two.json")).unwrap()).unwrap();
    assert_eq!((&plan["moved"]["bytes"], &plan["banks"][0]["bytes"]), (&0.into(), &81920.into()));
    assert!(told(&folder, &["verify", "sample.onnx", "two.json"], 0).starts_with("valid: "));
    let text = told(&folder, &["fit", "--bank", "fast=64", "--bank", "slow", "--work", "0"], 1);
    assert!(text.contains("bytes at once, where the fast memory has 64"), "{text}");
    for banks in [&["fast=1K"][..], &["fast", "slow"], &["fast=1K", "slow=1K"], &["a=1K", "a"]] {
        let banks = banks.iter().flat_map(|bank| ["--bank", bank]);
        let text = told(&folder, &["fit"].into_iter().chain(banks).collect::<Vec<_>>(), 2);
        assert!(
            text.starts_with("plimsoll: --bank: expected a fast memory with its size"),
            "{text}"
        );
    }
}

#[test]
fn a_fitted_model_is_told_by_its_regions_and_planned_without_them() {
    let folder = folder("regions");
    let fit =
        ["fit", "sample.onnx", "--most-arithmetic", "0", "-o", "small.onnx", "-o", "fit.json"];
    let text = told(&folder, &fit, 0);
    assert!(text.contains("steps of rows\n") && text.contains(" carried on; "), "{text}");
    let fit: Value = serde_json::from_slice(&fs::read(folder.join("fit.json")).unwrap()).unwrap();
    let chosen = usize::try_from(fit["chosen"].as_u64().unwrap()).unwrap();
    let region = |row: &Value| -> (Value, Value, Value, Value) {
        let peak = &row["peak"];
        let step = if peak["step"].is_null() { &peak["region_step"] } else { &peak["step"] };
        (row["way"].clone(), row["carried_bytes"].clone(), peak["bytes"].clone(), step.clone())
    };
    let promised = fit["points"][chosen]["regions"].as_array().unwrap();
    let promised: Vec<_> = promised.iter().filter(|row| row["peak"].is_object()).collect();
    assert!(!promised.is_empty(), "{fit}");
    for row in &promised {
        assert!(row["peak"]["bytes"].as_u64() <= row["source_peak_bytes"].as_u64(), "{row}");
    }
    // `explain` and `plan` tell the same regions of the file, with the same peaks.
    let explained = json(&folder, &["explain", "small.onnx", "--no-advice", "--format", "json"]);
    let planned = json(&folder, &["plan", "small.onnx", "--format", "json"]);
    for found in [&explained, &planned] {
        let found = found["regions"].as_array().unwrap();
        assert_eq!(found.len(), promised.len());
        for (found, promised) in found.iter().zip(&promised) {
            assert_eq!(region(found), region(promised));
            assert_eq!(found["program_steps"], promised["new_nodes"], "{found}");
            let sources = found["sources"].as_array().unwrap();
            let nodes = promised["nodes"].as_array().unwrap();
            assert!(sources.iter().all(|source| nodes.contains(source)), "{found} {promised}");
        }
    }
    let peak = &explained["peaks"][0];
    assert!(peak["region"].is_u64() && peak["region_step"].is_u64(), "{peak}");
    let text = told(&folder, &["explain", "small.onnx", "--no-advice"], 0);
    assert!(text.contains("Regions of the rewritten model\n"), "{text}");
    assert!(text.contains(" pieces of "), "{text}");
    assert!(!told(&folder, &["explain", "sample.onnx", "--no-advice"], 0).contains("Regions"));
    told(&folder, &["plan", "small.onnx", "-q", "-o", "map.html"], 0);
    let map = fs::read_to_string(folder.join("map.html")).unwrap();
    assert!(map.contains("\"part_of\":[\""));
    // The notes are for reports: a plan of the same nodes without them is the same.
    told(&folder, &["plan", "small.onnx", "-q", "-o", "small.plim"], 0);
    assert_eq!(arena(&folder, "small.plim", &[]), planned["arena_bytes"].as_u64().unwrap());
}

/// A chain of products and activations with its backward pass.
fn training(layers: usize) -> String {
    let (mut tensors, mut nodes) = (Vec::new(), Vec::new());
    let mut tensor = |name: String, kind: &str| -> usize {
        let id = tensors.len();
        tensors.push(serde_json::json!({
            "id": id, "name": name, "bytes": 4096, "dtype": "float32", "shape": [32, 32],
            "stride": [32, 1], "kind": kind,
        }));
        id
    };
    let mut node = |op: &str, inputs: &[usize], output: usize| {
        let id = nodes.len();
        nodes.push(serde_json::json!({
            "id": id, "op": op, "inputs": inputs, "outputs": [output],
        }));
    };
    let mut x = tensor("x".to_owned(), "input");
    let mut kept = Vec::new();
    for layer in 0..layers {
        let weight = tensor(format!("w{layer}"), "param");
        let product = tensor(format!("mm{layer}"), "intermediate");
        node("aten.mm.default", &[x, weight], product);
        let y = tensor(format!("relu{layer}"), "intermediate");
        node("aten.relu.default", &[product], y);
        kept.push((x, y, weight));
        x = y;
    }
    for (layer, (x_before, y, weight)) in kept.into_iter().enumerate().rev() {
        let masked = tensor(format!("masked{layer}"), "intermediate");
        node("aten.threshold_backward.default", &[x, y], masked);
        let of_weight = tensor(format!("of_weight{layer}"), "intermediate");
        node("aten.mm.default", &[x_before, masked], of_weight);
        x = tensor(format!("back{layer}"), "intermediate");
        node("aten.mm.default", &[masked, weight], x);
    }
    serde_json::json!({ "tensors": tensors, "nodes": nodes, "outputs": [x] }).to_string()
}

#[test]
fn a_training_graph_keeps_less_and_computes_again() {
    let folder = folder("training");
    fs::write(folder.join("train.json"), training(32)).unwrap();
    let found = json(&folder, &["fit", "train.json", "--format", "json"]);
    let before = found["source"]["arena_bytes"].as_u64().unwrap();
    assert_eq!(before, arena(&folder, "train.json", &[]));
    let points = found["points"].as_array().unwrap();
    let least = points.last().unwrap()["arena_bytes"].as_u64().unwrap();
    assert!(3 * least <= before, "{least} of {before}");
    assert!(least <= found["even"]["arena_bytes"].as_u64().unwrap());
    for point in points {
        let promised = point["arena_bytes"].as_u64().unwrap();
        let budget = promised.to_string();
        let fit = ["fit", "train.json", "--budget", &budget, "-o", "small.plim", "-q"];
        assert_eq!(told(&folder, &fit, 0), "");
        assert_eq!(arena(&folder, "small.plim", &[]), promised);
        told(&folder, &["plan", "small.plim", "-q", "-o", "plan.json"], 0);
        told(&folder, &["verify", "small.plim", "plan.json"], 0);
        let again = point["recomputed"].as_array().unwrap().len();
        let graph = fs::read_to_string(folder.join("small.plim")).unwrap();
        assert!(graph.matches(" again").count() >= again, "{graph}");
    }
    let text = told(&folder, &["fit", "train.json", "--budget", "1K"], 1);
    assert!(text.contains("does not fit: the smallest arena found has "), "{text}");
    let text = told(&folder, &["fit", "train.json", "--most-arithmetic", "0"], 0);
    assert!(text.contains(" for +0.0 % bytes written\n"), "{text}");
    for (arguments, fault) in [
        (["-o", "small.plim"], "a frontier is many models"),
        (["-o", "small.svg"], "is told as text, JSON and a graph (.plim)"),
        (["--kernels", "fused"], "nothing can be fused"),
    ] {
        let text = told(&folder, &[&["fit", "train.json"], &arguments[..]].concat(), 2);
        assert!(text.contains(fault), "{text}");
    }
    let text = told(&folder, &["fit", "sample.onnx", "--budget", "1M", "-o", "small.plim"], 2);
    assert!(text.contains("a model that is fitted is written as .onnx"), "{text}");
}
