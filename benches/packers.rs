//! The packers over the project's corpus, over `../shared/corpus/problems` where that is there,
//! and over generated problems of growing size: arena / lower bound, and time.
//!
//! `cargo bench --bench packers` runs all of it; `-- large` only what has `large` in its name.
//! `-- --most 1000000` sets the largest generated problem (default 100 000).

use std::path::Path;
use std::time::Instant;

use plimsoll_pack::testing::training_like;
use plimsoll_pack::{Algorithm, Options, Problem, csv, solve};

fn main() {
    let mut filter = String::new();
    let mut most = 100_000;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--bench" => {}
            "--most" => most = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(most),
            other => filter = other.to_owned(),
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for folder in ["corpus/problems", "../shared/corpus/problems/minimalloc",
        "../shared/corpus/problems/large", "../shared/corpus/problems/xla"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
            println!("{folder} is not there: skipped");
            continue;
        };
        let mut paths: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
        paths.retain(|p| p.extension().is_some_and(|e| e == "csv"));
        paths.retain(|p| p.to_string_lossy().contains(&filter));
        paths.sort();
        for path in paths {
            let file = std::fs::File::open(&path).expect("listed");
            let table = csv::read(std::io::BufReader::new(file)).expect("valid");
            let name = path.file_stem().map(|s| s.to_string_lossy().into_owned());
            measure(&name.unwrap_or_default(), &table.problem);
        }
    }
    let mut size = 1000;
    while size <= most {
        let name = format!("generated_{size}");
        if name.contains(&filter) {
            measure(&name, &training_like(size, 1));
        }
        size *= 10;
    }
}

/// One line for the portfolio, one for each rule.
fn measure(name: &str, problem: &Problem) {
    let start = Instant::now();
    let outcome = solve(problem, &Options::default());
    let time = start.elapsed();
    let bound = outcome.lower_bound.bytes;
    let won = outcome.won_by.map(|a| a.to_string()).unwrap_or_default();
    println!(
        "{name:<28} {:>8} buffers  bound {bound:>14}  portfolio {:.5}  {:>9.4} s  {won}  work {}",
        problem.len(), ratio(outcome.arena_bytes, bound), time.as_secs_f64(), outcome.work
    );
    for algorithm in Algorithm::all() {
        let mut options = Options::default();
        options.algorithms = vec![algorithm];
        let start = Instant::now();
        let outcome = solve(problem, &options);
        let time = start.elapsed();
        println!(
            "  {:<22} {:.5}  {:>9.4} s",
            algorithm.to_string(), ratio(outcome.arena_bytes, bound), time.as_secs_f64()
        );
    }
}

fn ratio(arena: u64, bound: u64) -> f64 {
    if bound == 0 { 1.0 } else { arena as f64 / bound as f64 }
}
