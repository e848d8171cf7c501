//! What two plans differ in: exact reports of small ones, and sums that hold for random ones.

use std::collections::BTreeSet;

use plimsoll::testing::{Shape, random_program};
use plimsoll::{
    DeclaredProgram, Options, Program, Recorded, SharedLayout, SharedSlot, Storage, plan,
    write_plan,
};
use plimsoll_graph::{LoweringOptions, ScheduledGraph, text};
use plimsoll_pack::testing::Rng;
use plimsoll_report::diff::{AtPeak, PlanDiff, WrittenPlan, diff_plans};
use serde_json::{Value, json};

fn written(program: &dyn Program, options: &Options) -> Option<String> {
    let plan = plan(program, options).ok()?;
    let told = Recorded::from([("reclaim_inputs".to_owned(), json!(options.reclaim_inputs))]);
    Some(write_plan(program, &plan, told, Recorded::new()))
}

fn plim(lines: &str) -> String {
    let graph = text::parse(&format!("plim 1\n{lines}")).unwrap_or_else(|e| panic!("{e}"));
    let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).expect("sizes");
    written(&program, &Options::default()).expect("it fits")
}

fn diff(before: &str, after: &str) -> PlanDiff {
    let read = |text| WrittenPlan::read(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    diff_plans(&read(before), &read(after))
}

/// The report without what is equal and without totals.
fn report(before: &str, after: &str) -> Value {
    let mut report = json!(diff(before, after));
    let object = report.as_object_mut().expect("an object");
    object.remove("totals");
    object.remove("format");
    report
}

const CHAIN: &str = "input x: f32[16]\nparam w: f32[16, 16]\na: f32[16] = matmul(x, w)\n\
    b: f32[16] = matmul(a, w)\ny: f32[16] = matmul(b, w)\noutput y\n";

#[test]
fn a_plan_differs_from_itself_in_nothing() {
    let text = plim(CHAIN);
    let diff = diff(&text, &text);
    assert!(diff.same);
    let equal = diff.totals.iter().all(|total| !total.change.is_any());
    assert!(equal && diff.recorded.is_empty() && diff.banks.is_empty() && diff.order.is_same());
    assert_eq!((diff.values.common, diff.values.changed.len()), (5, 0));
    assert_eq!((diff.peak.entered.len(), diff.peak.left.len()), (0, 0));
    assert_eq!(diff.peak.before, diff.peak.after);
    assert_eq!((diff.peak.after.bytes, diff.peak.after.step.as_deref()), (128, Some("b")));
}

#[test]
fn a_value_that_grew_moves_its_neighbours_and_the_peak() {
    // The middle of the chain is four times as large, and there is one step more.
    let after = "input x: f32[16]\nparam w: f32[16, 16]\nparam v: f32[16, 64]\n\
        a: f32[16] = matmul(x, w)\nb: f32[64] = matmul(a, v)\nc: f32[16] = matmul(b, v)\n\
        y: f32[16] = matmul(c, w)\noutput y\n";
    let mut report = report(&plim(CHAIN), &plim(after));
    let totals = diff(&plim(CHAIN), &plim(after)).totals;
    let of = |name: &str| {
        let total = totals.iter().find(|total| total.name == name).expect("a total");
        (total.change.before, total.change.after)
    };
    assert_eq!(of("arena_bytes"), (128, 320));
    assert_eq!(of("weights_bytes"), (1024, 1024 + 4096));
    assert_eq!(of("unshared_bytes"), (192, 448));
    assert_eq!(of("outputs_bytes"), (64, 64));
    let changed = report["values"]["changed"].take();
    let moved = |name: &str| {
        let rows = changed.as_array().expect("rows");
        rows.iter().find(|row| row["name"] == name).cloned().unwrap_or(Value::Null)
    };
    assert_eq!(moved("b")["bytes"], json!({"before": 64, "after": 256}));
    assert_eq!(moved("x"), Value::Null);
    assert_eq!(
        report["values"]["added"],
        json!([
            {"name": "v", "bytes": 4096}, {"name": "c", "bytes": 64},
        ])
    );
    assert_eq!(report["values"]["removed"], json!([]));
    assert_eq!(report["order"], json!({"common": 3, "removed": [], "added": ["c"], "moved": []}));
    assert_eq!(report["banks"], json!([{"name": "arena", "before": 128, "after": 320}]));
    assert_eq!(
        report["peak"],
        json!({
            "before": {"bytes": 128, "point": 3, "step": "b"},
            "after": {"bytes": 320, "point": 3, "step": "b"},
            "entered": [],
            "left": [],
            "resized": [{"name": "b", "before": 64, "after": 256}],
        })
    );
    assert_eq!(report["same"], false);
}

#[test]
fn who_comes_and_who_goes_at_the_peak() {
    let branches = |order: &str| {
        let node = |name: char| match name {
            'a' => "a: f32[256] = matmul(x, x)\n",
            'b' => "b: f32[128] = matmul(x, x)\n",
            'c' => "c: f32[16] = sum(a)\n",
            _ => "d: f32[16] = sum(b)\n",
        };
        let nodes: String = order.chars().map(node).collect();
        plim(&format!("input x: f32[16]\n{nodes}y: f32[16] = matmul(c, d)\noutput y\n"))
    };
    let (slow, quick) = (branches("abcd"), branches("acbd"));
    let report = report(&slow, &quick);
    assert_eq!(report["order"]["moved"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        report["peak"],
        json!({
            // Both branches and the end of the first; one branch and its end.
            "before": {"bytes": 1024 + 512 + 64, "point": 5, "step": "c"},
            "after": {"bytes": 1024 + 64, "point": 3, "step": "c"},
            "entered": [],
            "left": [{"name": "b", "scratch": false, "bytes": 512}],
            "resized": [],
        })
    );
}

#[test]
fn what_shares_bytes_counts_once() {
    // A view has the bytes of its root, and what is in place those of what was before.
    let text = plim(
        "input x: f32[16]\na: f32[16] = matmul(x, x)\nv: f32[4, 4] = reshape(a)\n\
         r: f32[4, 4] = relu(v)\ny: f32[16] = matmul(r, r)\noutput y\n",
    );
    let diff = diff(&text, &text);
    assert_eq!((diff.peak.after.bytes, diff.peak.after.step.as_deref()), (128, Some("y")));
}

#[test]
fn other_sharing_is_told_with_the_place() {
    let lines = "input x: f32[16]\na: f32[16] = matmul(x, x)\nr: f32[16] = relu(a)\n\
        y: f32[16] = matmul(r, x)\noutput y\n";
    let graph = text::parse(&format!("plim 1\n{lines}")).expect("a graph");
    let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).expect("sizes");
    let mut apart = Options::default();
    apart.in_place = false;
    let (before, after) =
        (written(&program, &Options::default()).unwrap(), written(&program, &apart).unwrap());
    let report = report(&before, &after);
    let rows = report["values"]["changed"].as_array().expect("rows");
    let r = rows.iter().find(|row| row["name"] == "r").expect("r has changed");
    assert_eq!(r["in_place_of"], json!({"before": "a", "after": null}));
    assert_eq!(r["place"]["before"]["offset"], 0);
    assert_eq!(r["place"]["after"]["offset"], 64);
    assert_eq!(r.get("bytes"), None);
}

#[test]
fn what_cannot_be_compared_says_why() {
    let error = |text: &str| match WrittenPlan::read(text) {
        Ok(_) => panic!("{text} is a plan"),
        Err(error) => error.to_string(),
    };
    let plan = |rest: &str| {
        format!(
            r#"{{"format":"plimsoll.plan/1","align":1,"banks":[],"schedule":[],"values":[]{rest}}}"#
        )
    };
    assert!(WrittenPlan::read(&plan("")).is_ok());
    assert_eq!(error("{"), "not a plan: line 1, column 1: the text ends inside of an object");
    assert_eq!(
        error(r#"{"format":"plimsoll.solution/1"}"#),
        r#"format is "plimsoll.solution/1", expected "plimsoll.plan/1""#
    );
    assert_eq!(
        error(r#"{"format":"plimsoll.plan/1","arena_bytes":null,"status":"infeasible"}"#),
        "no plan: it says that the program does not fit"
    );
    let missing = error(r#"{"format":"plimsoll.plan/1"}"#);
    assert!(missing.ends_with(": the key `align` is missing"), "{missing}");
    let twice = plan("").replace("\"schedule\":[]", r#""schedule":["a","a"]"#);
    assert_eq!(error(&twice), r#""a" is used for two different things"#);
    let row = |bytes: u64| format!(r#"{{"name":"v{bytes}","bytes":{bytes},"storage":"arena"}}"#);
    let rows = format!("\"values\":[{},{}]", row(1 << 62), row((1 << 62) + 1));
    let large = plan("").replace("\"values\":[]", &rows);
    assert_eq!(error(&large), "larger than any memory: 2^63 bytes or more");
}

/// Options under which a random program can be planned, or nearly always.
fn options_for(rng: &mut Rng, program: &DeclaredProgram) -> Options {
    let mut layout = SharedLayout::default();
    for (index, info) in program.values.iter().enumerate() {
        if info.storage == Storage::Shared {
            let (bank, offset) = ("arena".to_owned(), 128 * index as u64);
            layout
                .values
                .insert(format!("v{index}"), SharedSlot { bank, offset, bytes: info.bytes });
        }
    }
    let mut options = if rng.chance(50) { Options::inference() } else { Options::default() };
    options.shared = Some(layout);
    options.align = [1, 2, 16][rng.below(3) as usize];
    options.reclaim_inputs = rng.chance(50);
    options.in_place = rng.chance(80);
    options.pack.work = Some(0);
    options
}

/// The most bytes in use at once, byte for byte and point for point.
fn plain_peak(text: &str) -> u64 {
    let plan: Value = serde_json::from_str(text).expect("JSON");
    let number = |row: &Value, key: &str| row[key].as_u64();
    let steps: Vec<&str> =
        plan["schedule"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let end = 2 * steps.len() as u64 + 1;
    let mut in_use: BTreeSet<(u64, u64, u64)> = BTreeSet::new();
    for row in plan["values"].as_array().unwrap() {
        let (Some(buffer), Some(offset)) = (number(row, "buffer"), number(row, "offset")) else {
            continue;
        };
        let bytes = number(row, "slot_bytes").or(number(row, "bytes")).unwrap();
        let reclaimed = plan["options"]["reclaim_inputs"] == true && row["role"] == "input";
        let is_kept = row.get("root").is_none()
            && ((row.get("role").is_some() && !reclaimed) || row["storage"] == "persistent");
        let life = if is_kept {
            0..end
        } else {
            number(row, "start").unwrap()..number(row, "end").unwrap()
        };
        for point in life {
            in_use.extend((offset..offset + bytes).map(|byte| (point, buffer, byte)));
        }
    }
    for (index, row) in plan["scratch"].as_array().unwrap().iter().enumerate() {
        let at = steps.iter().position(|step| row["step"] == *step).unwrap() as u64;
        let (offset, bytes) = (number(row, "offset").unwrap(), number(row, "bytes").unwrap());
        let buffer = 1_000_000 + index as u64;
        for point in 2 * at..2 * at + 2 {
            in_use.extend((offset..offset + bytes).map(|byte| (point, buffer, byte)));
        }
    }
    let count = |point| in_use.range((point, 0, 0)..(point + 1, 0, 0)).count() as u64;
    (0..=end).map(count).max().unwrap_or(0)
}

#[test]
fn the_peak_of_random_pairs_is_accounted_for() {
    let mut last: Option<String> = None;
    let (mut pairs, mut differing, mut resized) = (0, 0, 0);
    for seed in 0..600 {
        let mut rng = Rng::new(seed);
        let shape = if rng.chance(50) { Shape::plain() } else { Shape::everything() };
        let program = random_program(&mut rng, &shape);
        let options = options_for(&mut rng, &program);
        let Some(text) = written(&program, &options) else { continue };
        let own = diff(&text, &text);
        assert!(own.same, "seed {seed}");
        assert_eq!(own.peak.after.bytes, plain_peak(&text), "seed {seed}");
        if let Some(before) = last.replace(text.clone()) {
            let diff = diff(&before, &text);
            let peak = &diff.peak;
            let sum = |alive: &[AtPeak]| alive.iter().map(|at| at.bytes).sum::<u64>();
            let grown: u64 = peak.resized.iter().map(|of| of.change.after).sum();
            let shrunk: u64 = peak.resized.iter().map(|of| of.change.before).sum();
            assert_eq!(
                peak.before.bytes + sum(&peak.entered) + grown,
                peak.after.bytes + sum(&peak.left) + shrunk,
                "seed {seed}"
            );
            pairs += 1;
            differing += u64::from(!diff.same);
            resized += peak.resized.len();
        }
    }
    assert!(pairs > 400 && differing > 400 && resized > 100, "{pairs} {differing} {resized}");
}
