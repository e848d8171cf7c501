//! `plan --near`: one op added to the sample moves what has to move, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(args).stdin(Stdio::null()).output().expect("it runs")
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("text")
}

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("near-{name}"));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).expect("a folder for tests");
    path
}

fn path(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().expect("a plain path").to_owned()
}

/// The sample as text, without what a plan notes in it.
fn sample() -> String {
    let output = run(&["plan", "--format", "plim"]);
    let plain = |line: &str| {
        let line = line.split(" notes(").next().unwrap_or(line).replace(" elided", "");
        match line.split_once(" view joined at ") {
            Some((before, behind)) => {
                let (_, behind) = behind.split_once(' ').expect("an op");
                format!("{before} {behind}\n")
            }
            None => line + "\n",
        }
    };
    text(&output.stdout).lines().map(plain).collect()
}

/// The sample with a convolution behind the pool of what was joined.
fn edited() -> String {
    let sample = sample();
    let edited = sample.replace(
        "pooled: f32",
        "joined.b: f32[1, 24, 16, 16] = Conv(joined.a, stem.bias) as extra\npooled: f32",
    );
    let edited =
        edited.replace("\"GlobalAveragePool\"(joined.a)", "\"GlobalAveragePool\"(joined.b)");
    assert_eq!(edited.lines().count(), sample.lines().count() + 1);
    edited
}

/// What two plans differ in.
fn diff(old: &str, new: &str) -> Value {
    let output = run(&["diff", old, new, "--format", "json"]);
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// How many values are elsewhere, and how many are new.
fn moved_and_added(diff: &Value) -> (usize, usize) {
    let changed = diff["values"]["changed"].as_array().expect("values that changed");
    let moved = changed.iter().filter(|value| !value["place"].is_null()).count();
    (moved, diff["values"]["added"].as_array().map_or(0, Vec::len))
}

#[test]
fn one_op_more_moves_four_values_of_the_sample_and_near_to_the_old_plan_none() {
    let folder = folder("sample");
    let [old, new, fresh, near] =
        ["old.json", "new.plim", "fresh.json", "near.json"].map(|name| path(&folder, name));
    fs::write(&new, edited()).expect("it can be written");
    assert!(run(&["plan", "-o", &old]).status.success());
    assert!(run(&["plan", &new, "-o", &fresh]).status.success());
    let output = run(&["plan", &new, "--near", &old, "-o", &near]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(moved_and_added(&diff(&old, &fresh)), (4, 1));
    assert_eq!(moved_and_added(&diff(&old, &near)), (0, 1));
    let verified = run(&["verify", &new, &near]);
    assert!(verified.status.success(), "{}", text(&verified.stderr));
    let arena = |plan: &str| {
        let plan: Value =
            serde_json::from_str(&fs::read_to_string(plan).expect("a plan")).expect("JSON");
        plan["arena_bytes"].as_u64()
    };
    assert_eq!((arena(&near), arena(&fresh)), (Some(81_920), Some(81_920)));
}

#[test]
fn what_is_no_plan_is_an_error_that_names_the_file() {
    let folder = folder("errors");
    let cases = [
        ("text.json", "no json", "not JSON of a plan"),
        (
            "other.json",
            "{\"format\": \"plimsoll.diff/1\"}",
            "its format is not \"plimsoll.plan/1\"",
        ),
    ];
    for (name, content, expected) in cases {
        let file = path(&folder, name);
        fs::write(&file, content).expect("it can be written");
        let output = run(&["plan", "--near", &file]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.contains(name) && message.contains(expected), "{message}");
    }
    let output = run(&["plan", "--near", &path(&folder, "missing.json")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("missing.json"));
}
