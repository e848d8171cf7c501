//! Fused kernels through the command line: plans with them, their verification, and what they do not go together with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(args).stdin(Stdio::null()).output().expect("it runs")
}

fn corpus(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(file);
    path.to_str().expect("a plain path").to_owned()
}

fn json_of(args: &[&str]) -> Value {
    let output = run(args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// What is said of arguments that are refused: one line.
fn refused(args: &[&str]) -> String {
    let output = run(args);
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8(output.stderr).expect("text").lines().next().unwrap_or_default().to_owned()
}

/// A plan in a file, and the file.
fn written(name: &str, plan: &Value) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, plan.to_string()).expect("a file for tests");
    path
}

#[test]
fn a_plan_lists_its_fused_steps_and_is_verified_with_them() {
    let model = corpus("models/decoder.onnx");
    let plain = json_of(&["plan", &model, "--format", "json"]);
    let fused = json_of(&["plan", &model, "--kernels", "fused", "--format", "json"]);
    assert_eq!((&plain["arena_bytes"], &fused["arena_bytes"]), (&json!(16640), &json!(8576)));
    assert_eq!(fused["options"]["fused"], json!([["turn", "match"]]));
    let schedule = fused["schedule"].as_array().expect("steps");
    assert!(schedule.contains(&json!("match")) && !schedule.contains(&json!("turn")));
    let path = written("fused.json", &fused);
    let verdict = run(&["verify", &model, path.to_str().expect("a plain path")]);
    let said = String::from_utf8(verdict.stdout).expect("text");
    assert!(verdict.status.success(), "{said}");
    assert!(said.starts_with("valid: arena 8576 bytes"), "{said}");
    assert!(said.contains("taken from the plan: kernels fused"), "{said}");
}

#[test]
fn steps_that_cannot_be_fused_are_refused() {
    let model = corpus("models/decoder.onnx");
    let mut plan = json_of(&["plan", &model, "--kernels", "fused", "--format", "json"]);
    for (steps, why) in [
        (json!([["turn", "nobody"]]), "there is no node `nobody`"),
        (json!([["match", "turn"]]), "its nodes are not listed in the order in which they run"),
        (json!([["turn", "softmax"]]), "node `turn` cannot be fused with those before it"),
    ] {
        plan["options"]["fused"] = steps;
        let path = written("unfusable.json", &plan);
        let said = refused(&["verify", &model, path.to_str().expect("a plain path")]);
        assert!(said.ends_with(why), "{said}");
    }
}

#[test]
fn kinds_that_do_not_help_leave_the_plan_as_it_is() {
    let model = corpus("models/decoder.onnx");
    let plan = json_of(&["plan", &model, "--kernels", "fused=activation", "--format", "json"]);
    assert_eq!((&plan["arena_bytes"], &plan["options"]["fused"]), (&json!(16640), &Value::Null));
}

#[test]
fn what_fused_kernels_do_not_go_together_with_is_said() {
    let encoder = corpus("models/encoder.onnx");
    let said = refused(&["plan", &encoder, "--dim", "seq=1..8", "--kernels", "fused"]);
    assert!(
        said.ends_with(
            "fused kernels are planned for one size; say --dim NAME=N instead of a range"
        ),
        "{said}"
    );
    let graph = corpus("graphs/diamond.plim");
    let said = refused(&["plan", &graph, "--kernels", "fused"]);
    assert!(
        said.ends_with("it does not say what its nodes compute, so that nothing can be fused"),
        "{said}"
    );
    let said = refused(&["plan", "--kernels", "fused=silu"]);
    assert!(
        said.contains("unknown kind of fusion \"silu\"; there are activation, norm, epilogue"),
        "{said}"
    );
    let said = refused(&["plan", "--kernels", "melted"]);
    assert!(
        said.contains(
            "there are standard, strided, views, copying, tflm, fused, and fused=KIND,KIND"
        ),
        "{said}"
    );
}

#[test]
fn explain_says_which_fusion_would_help() {
    let model = corpus("models/decoder.onnx");
    let explained = json_of(&["explain", &model, "--format", "json"]);
    let advice = explained["advice"].as_array().expect("advice");
    let fuse = advice.iter().find(|advice| advice["action"] == "fuse").expect("advice to fuse");
    assert_eq!(fuse["saved_bytes"], json!(16640 - 8576));
    assert_eq!(fuse["how"], json!("--kernels fused=layout"));
}
