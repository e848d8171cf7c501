//! `docs/plan.schema.json` against what is written: every plan keeps to it, nothing in it is without a plan
//! that has it, and what is not a plan does not keep to it. The validator below knows the words that the
//! schema uses, and rejects others.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schema() -> Value {
    let text = fs::read_to_string(root().join("docs/plan.schema.json")).expect("the schema");
    serde_json::from_str(&text).expect("JSON")
}

/// What is planned: together, these have every key that a plan can have.
const PLANS: [&[&str]; 18] = [
    &[],
    &["--place", "all", "--guard", "32", "--min-slot", "64"],
    &["--bank", "sram=72KiB,align=16", "--bank", "dram"],
    &["--bank", "sram=64"],
    &["--budget", "1K", "--no-reuse"],
    &["--time-limit", "1h"],
    &["corpus/models/encoder.onnx", "--dim", "seq=1..64"],
    &["corpus/models/decoder.onnx", "--donate", "past=present"],
    &["corpus/models/decoder.onnx", "--state", "past=present"],
    &["corpus/models/decoder.onnx", "--kernels", "fused"],
    &["corpus/graphs/kv_cache_decode.plim"],
    &["corpus/graphs/two_queues.plim"],
    &["corpus/graphs/elided_transpose.plim"],
    &["corpus/graphs/packed_qkv.plim", "--kernels", "strided"],
    &["corpus/ranges/para.onnx", "--kernels", "strided", "--dim", "seq=8"],
    &["corpus/graphs/small_train.json"],
    &["crates/cli/tests/cmd/plan.in/scratch.plim", "--bank", "sram=170"],
    &["crates/cli/tests/cmd/plan.in/scratch.plim", "--effort", "fast"],
];

fn plan(args: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.current_dir(root()).arg("plan").args(args).args(["--format", "json"]);
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{args:?}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// Holds values against a schema.
struct Validator<'s> {
    schema: &'s Value,
}

impl Validator<'_> {
    /// What is wrong, with the place.
    fn check(&self, rule: &Value, value: &Value, at: &str) -> Result<(), String> {
        for (word, wanted) in rule.as_object().expect("a rule is an object") {
            let is_kept = match word.as_str() {
                "$ref" => {
                    let path = wanted.as_str().expect("a path").trim_start_matches('#').to_owned();
                    let rule = self.schema.pointer(&path).expect("it leads somewhere").clone();
                    self.check(&rule, value, at)?;
                    true
                }
                "oneOf" => {
                    let rules = wanted.as_array().expect("rules");
                    let kept = rules.iter().filter(|rule| self.check(rule, value, at).is_ok());
                    kept.count() == 1
                }
                "type" => match wanted.as_str().expect("a type") {
                    "object" => value.is_object(),
                    "array" => value.is_array(),
                    "string" => value.is_string(),
                    "boolean" => value.is_boolean(),
                    "integer" => value.is_u64() || value.is_i64(),
                    other => panic!("unknown type {other}"),
                },
                "const" => value == wanted,
                "enum" => wanted.as_array().expect("values").contains(value),
                "minimum" => {
                    wanted.as_i64() == Some(1) && value.as_u64() >= Some(1)
                        || wanted == 0 && value.is_u64()
                }
                "required" => {
                    let mut keys = wanted.as_array().expect("keys").iter();
                    keys.all(|key| value.get(key.as_str().expect("a key")).is_some())
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.check(wanted, item, &format!("{at}[{index}]"))?;
                    }
                    true
                }
                "properties" => {
                    for (key, rule) in wanted.as_object().expect("rules") {
                        if let Some(value) = value.get(key) {
                            self.check(rule, value, &format!("{at}.{key}"))?;
                        }
                    }
                    true
                }
                "additionalProperties" => {
                    let known = rule.get("properties").and_then(Value::as_object);
                    for (key, value) in value.as_object().into_iter().flatten() {
                        match wanted {
                            _ if known.is_some_and(|known| known.contains_key(key)) => {}
                            Value::Bool(true) => {}
                            Value::Bool(false) => return Err(format!("{at}: unknown key {key}")),
                            rule => self.check(rule, value, &format!("{at}.{key}"))?,
                        }
                    }
                    true
                }
                "description" | "$schema" | "title" | "$defs" => true,
                other => panic!("the schema has {other}, which is not looked at here"),
            };
            if !is_kept {
                return Err(format!("{at}: {word} is not {wanted}"));
            }
        }
        Ok(())
    }
}

fn fault(schema: &Value, plan: &Value) -> Option<String> {
    Validator { schema }.check(schema, plan, "plan").err()
}

#[test]
fn every_plan_keeps_to_the_schema() {
    let schema = schema();
    for args in PLANS {
        let plan = plan(args);
        let which = if plan["status"] == "infeasible" { "infeasible" } else { "plan" };
        let rule = schema["$defs"][which].clone();
        assert_eq!(Validator { schema: &schema }.check(&rule, &plan, "plan"), Ok(()), "{args:?}");
        assert_eq!(fault(&schema, &plan), None, "{args:?}");
    }
}

/// The keys of plans, with the objects they are in; what is in an array or under any key is `*`.
fn keys(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                found.insert(format!("{at}.{key}"));
                keys(value, &format!("{at}.{key}"), found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, at, found)),
        _ => {}
    }
}

/// The keys that a rule names.
fn named(schema: &Value, rule: &Value, at: &str, found: &mut BTreeSet<String>) {
    if let Some(path) = rule["$ref"].as_str() {
        let rule = schema.pointer(path.trim_start_matches('#')).expect("it leads somewhere");
        return named(schema, rule, at, found);
    }
    for (key, rule) in rule["properties"].as_object().into_iter().flatten() {
        found.insert(format!("{at}.{key}"));
        named(schema, rule, &format!("{at}.{key}"), found);
    }
    if rule["items"].is_object() {
        named(schema, &rule["items"], at, found);
    }
}

#[test]
fn everything_in_the_schema_is_in_some_plan() {
    let schema = schema();
    let (mut written, mut recorded) = (BTreeSet::new(), BTreeSet::new());
    for args in PLANS {
        keys(&plan(args), "", &mut written);
    }
    for which in ["plan", "infeasible"] {
        named(&schema, &schema["$defs"][which], "", &mut recorded);
    }
    let missing: Vec<&String> = recorded.difference(&written).collect();
    // Only where a search is ended by a limit in time, and where sizes depend on data.
    assert_eq!(missing, [".reproducible", ".values.at_most"]);
}

#[test]
fn what_is_not_a_plan_does_not_keep_to_the_schema() {
    let schema = schema();
    let good = plan(&[]);
    for key in schema["$defs"]["plan"]["required"].as_array().expect("keys") {
        let mut plan = good.clone();
        plan.as_object_mut().expect("an object").remove(key.as_str().expect("a key"));
        assert!(fault(&schema, &plan).is_some(), "without {key}");
    }
    let changes = [
        ("/format", json!("plimsoll.plan/2")),
        ("/arena_bytes", json!(-1)),
        ("/arena_bytes", json!("80 KiB")),
        ("/status", json!("good")),
        ("/align", json!(0)),
        ("/values/0/storage", json!("heap")),
        ("/values/0/name", json!(5)),
        ("/banks/0", json!({"name": "arena"})),
        ("/schedule/0", json!(0)),
        ("/buffers/0/colour", json!("red")),
    ];
    for (at, value) in changes {
        let mut plan = good.clone();
        match at {
            "/buffers/0/colour" => plan["buffers"][0]["colour"] = value,
            at => *plan.pointer_mut(at).expect("it is there") = value,
        }
        assert!(fault(&schema, &plan).is_some(), "{at}");
    }
}
