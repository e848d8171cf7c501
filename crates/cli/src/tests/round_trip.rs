//! What `plan` writes `verify` accepts: over the corpus and random graphs, with sets of options and
//! random command lines; and nothing that it says of itself is believed with `--strict`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use plimsoll_graph::testing::random_graph;
use plimsoll_graph::text;
use plimsoll_pack::testing::Rng;
use serde_json::Value;

use crate::{Answer, Cli};

/// Runs a command line: its answer, or what is wrong.
fn run(args: &[&str]) -> Result<Answer, String> {
    let cli = Cli::try_parse_from(["plimsoll"].iter().chain(args)).map_err(|e| e.to_string())?;
    cli.command.run().map_err(|error| format!("{error:#}"))
}

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("plimsoll-{name}-{}", std::process::id()));
    fs::create_dir_all(&path).expect("a folder for tests");
    path
}

fn plain(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}

/// The options of a command line that `verify` knows too: what the model is like.
const OF_THE_MODEL: [&str; 9] = [
    "--width",
    "--sizes",
    "--kernels",
    "--own-bytes",
    "--strided",
    "--dim",
    "--input-shape",
    "--donate",
    "--state",
];

/// Those of them, with their values; and what is the same to both.
fn of_the_model<'a>(options: &[&'a str]) -> Vec<&'a str> {
    let mut own = Vec::new();
    for (option, value) in options.iter().zip(options.iter().skip(1)) {
        if OF_THE_MODEL.contains(option) || ["--align", "--guard"].contains(option) {
            own.extend([*option, *value]);
        }
    }
    own
}

/// Plans a model, and verifies the plan, believing it and not. Whether there is a plan.
fn round_trip(model: &str, options: &[&str], folder: &Path) -> bool {
    let shown = || format!("{model} {}", options.join(" "));
    let (plan, verdict) = (plain(&folder.join("plan.json")), plain(&folder.join("verdict.json")));
    let mut args = vec!["plan", model, "-o", &plan, "--effort", "fast"];
    args.extend(options);
    match run(&args) {
        Ok(Answer::Yes) => {}
        Ok(Answer::No) => return false,
        Err(error) => {
            assert!(!error.contains("verifier rejects"), "{}: {error}", shown());
            return false;
        }
    }
    let json = |path: &str| -> Value {
        serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
    };
    let file = json(&plan);
    let arena = file["arena_bytes"].as_u64();
    assert!(file["lower_bound_bytes"].as_u64() <= arena, "{}", shown());
    assert!(file["schedule_lower_bound_bytes"].as_u64() <= arena, "{}", shown());
    let strict: Vec<&str> = ["--strict"].into_iter().chain(of_the_model(options)).collect();
    for more in [&[][..], &strict] {
        let mut args = vec!["verify", model, &plan, "-o", &verdict];
        args.extend(more);
        let answer = run(&args);
        assert!(answer.is_ok(), "{} {more:?}: {answer:?}", shown());
        let said = json(&verdict);
        assert_eq!(answer, Ok(Answer::Yes), "{} {more:?}: {said:#}", shown());
        assert!(more.is_empty() || said["taken_from_plan"] == serde_json::json!({}), "{}", shown());
    }
    true
}

/// The graphs and models of the repository, with what has to be said of their dims.
fn corpus() -> Vec<(String, &'static [&'static str])> {
    let mut files = Vec::new();
    for kind in ["graphs", "models"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus").join(kind);
        let entries = fs::read_dir(root).expect("the corpus");
        files.extend(entries.map(|entry| entry.expect("readable").path()));
    }
    files.sort();
    let dims = |path: &Path| -> &'static [&'static str] {
        match path.file_stem().and_then(|stem| stem.to_str()) {
            Some("encoder") => &["--dim", "seq=1..16"],
            _ => &[],
        }
    };
    files.iter().map(|path| (plain(path), dims(path))).collect()
}

/// Plans the corpus with sets of options; whether there is a plan, for each.
fn over_the_corpus(folder: &Path) -> Vec<bool> {
    let sets: [&[&str]; 16] = [
        &[],
        &["--order", "given", "--concat", "copy"],
        &["--order", "fast", "--kernels", "strided"],
        &["--kernels", "views", "--align", "1"],
        &["--kernels", "copying", "--width", "four"],
        &["--width", "half-wide", "--place", "all"],
        &["--place", "all", "--guard", "128", "--min-slot", "64"],
        &["--place", "all", "--reclaim-inputs", "--guard", "inputs=64,outputs=32"],
        &["--place", "none", "--no-in-place"],
        &["--preset", "inference", "--algorithm", "best-fit"],
        &["--preset", "activations"],
        &["--no-reuse"],
        &["--no-reuse=MatMul:0-1"],
        &["--own-bytes", "MatMul", "--strided", "Relu"],
        &["--bank", "sram=64KiB,buffer=16KiB", "--bank", "dram", "--align", "16"],
        &["--bank", "rom,roles=params+constants,align=128", "--bank", "ram", "--place", "all"],
    ];
    let mut came = Vec::new();
    for (model, dims) in corpus() {
        for set in &sets {
            let options: Vec<&str> = dims.iter().chain(*set).copied().collect();
            came.push(round_trip(&model, &options, folder));
        }
        if model.ends_with("decoder.onnx") {
            came.push(round_trip(&model, &["--donate", "past=present"], folder));
            came.push(round_trip(&model, &["--state", "past=present", "--guard", "64"], folder));
        }
    }
    came
}

#[test]
fn plans_of_the_corpus_are_accepted_with_any_options() {
    let folder = folder("corpus");
    let came = over_the_corpus(&folder);
    fs::remove_dir_all(folder).expect("it was made here");
    // Selectors of kinds that a graph does not have are errors, and some have no room.
    let planned = came.iter().filter(|planned| **planned).count();
    assert!(came.len() > 250 && planned > came.len() * 2 / 3, "{planned} of {}", came.len());
}

/// A command line with a choice from each row, or without.
fn random_options(rng: &mut Rng, sizes: &str) -> Vec<String> {
    let rows: [&[&str]; 13] = [
        &["--kernels standard", "--kernels strided", "--kernels views", "--kernels copying"],
        &["--concat copy", "--concat join"],
        &["--order given", "--order fast", "--order best"],
        &["--width four", "--width params-native", "--width int-wide", "--width bf16-wide"],
        &["--place all", "--place none", "--place inputs,outputs", "--preset inference"],
        &["--guard 40", "--guard inputs=7,outputs=128"],
        &["--min-slot 64"],
        &["--align 1", "--align 16", "--align 256"],
        &[
            "--bank sram=256 --bank dram",
            "--bank a=1KiB,repeat",
            "--bank rom,roles=params --bank r",
        ],
        &["--no-reuse", "--no-in-place"],
        &["--reclaim-inputs"],
        &["--algorithm first-fit", "--algorithm largest-first"],
        &["--sizes"],
    ];
    let mut options = Vec::new();
    for row in rows {
        if rng.chance(45) {
            let chosen = row[rng.below(row.len() as u64) as usize];
            options.extend(chosen.split(' ').map(str::to_owned));
            options.extend((chosen == "--sizes").then(|| sizes.to_owned()));
        }
    }
    options
}

/// Plans random graphs with random options; whether there is a plan, for each.
fn over_random_graphs(folder: &Path) -> Vec<bool> {
    let (model, sizes) = (plain(&folder.join("net.plim")), plain(&folder.join("sizes.json")));
    let mut rng = Rng::new(7);
    let mut came = Vec::new();
    for _ in 0..1_500 {
        let graph = random_graph(&mut rng, 8);
        let roomy = graph.value(plimsoll::ValueId::new(graph.values().len() / 2)).name.clone();
        fs::write(&model, text::print(&graph)).expect("a file");
        fs::write(&sizes, serde_json::json!({ roomy: 200 }).to_string()).expect("a file");
        let options = random_options(&mut rng, &sizes);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        came.push(round_trip(&model, &options, folder));
    }
    came
}

#[test]
fn plans_of_random_graphs_are_accepted_with_random_options() {
    let folder = folder("random");
    let came = over_random_graphs(&folder);
    fs::remove_dir_all(folder).expect("it was made here");
    let planned = came.iter().filter(|planned| **planned).count();
    assert!(planned > came.len() / 2, "{planned} of {}", came.len());
}
