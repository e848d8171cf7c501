//! The packers over the project's corpus, over `../shared/corpus/problems` where that is there,
//! and over generated problems of growing size: arena / lower bound, and time.
//!
//! `cargo bench --bench packers` runs all of it; `-- large` only what has `large` in its folder or
//! name. `-- --most 1000000` sets the largest generated problem (default 100 000). Everything runs
//! on one thread. Peak memory is that of the whole process so far, as the system tells it in
//! `/proc/self/status`, and a dash where it does not.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Instant;

use plimsoll_pack::testing::training_like;
use plimsoll_pack::{Algorithm, Effort, Options, Problem, csv, solve};

const FOLDERS: [&str; 4] = [
    "corpus/problems",
    "../shared/corpus/problems/minimalloc",
    "../shared/corpus/problems/large",
    "../shared/corpus/problems/xla",
];

fn main() {
    let arguments = Arguments::parse();
    for folder in FOLDERS {
        table(folder, &arguments);
    }
    growth(&arguments);
}

/// What the command line asks for.
struct Arguments {
    filter: String,
    most: usize,
}

impl Arguments {
    fn parse() -> Self {
        let mut parsed = Arguments { filter: String::new(), most: 100_000 };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => {}
                "--most" => {
                    let most = arguments.next().and_then(|n| n.parse().ok());
                    parsed.most = most.expect("--most wants a number");
                }
                filter => filter.clone_into(&mut parsed.filter),
            }
        }
        parsed
    }
}

/// The problems of a folder: a row each, a column for every rule.
fn table(folder: &str, arguments: &Arguments) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let Ok(entries) = fs::read_dir(path) else {
        println!("\n{folder} is not there: skipped");
        return;
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "csv"));
    paths.retain(|p| format!("{folder}/{}", name(p)).contains(&arguments.filter));
    paths.sort();
    if paths.is_empty() {
        return;
    }
    println!("\n{folder}: arena / lower bound\n");
    header();
    for path in paths {
        let file = BufReader::new(File::open(&path).expect("listed before"));
        let problem = csv::read(file).expect("a valid problem").problem;
        let rules = portfolio_row(&name(&path), &problem);
        print_cells(rules.map(|run| format!("{:.4}", run.ratio)));
    }
}

/// Generated problems, ten times larger each time: seconds, and below them arena / lower bound.
fn growth(arguments: &Arguments) {
    let sizes = (3..).map(|power| 10usize.pow(power)).take_while(|n| *n <= arguments.most);
    let problems = sizes.map(|n| (n, format!("generated_{n}")));
    let wanted: Vec<_> = problems.filter(|(_, name)| name.contains(&arguments.filter)).collect();
    if wanted.is_empty() {
        return;
    }
    println!("\ngenerated, like a training step: seconds, and below them arena / lower bound\n");
    header();
    for (size, name) in wanted {
        let problem = training_like(size, 1);
        let runs: Vec<Run> = portfolio_row(&name, &problem).collect();
        print_cells(runs.iter().map(|run| format!("{:.4}", run.seconds)));
        print!("{:<82}", "");
        print_cells(runs.iter().map(|run| format!("{:.4}", run.ratio)));
    }
}

/// How one run went.
struct Run {
    seconds: f64,
    ratio: f64,
    by: String,
}

fn run(problem: &Problem, options: &Options) -> Run {
    let start = Instant::now();
    let outcome = solve(problem, options);
    let seconds = start.elapsed().as_secs_f64();
    let (arena, bound) = (outcome.arena_bytes as f64, outcome.lower_bound.bytes as f64);
    let ratio = if bound == 0.0 { 1.0 } else { arena / bound };
    Run { seconds, ratio, by: outcome.won_by.map(|a| a.to_string()).unwrap_or_default() }
}

fn header() {
    let columns = ["buffers", "best", "seconds", "by", "MiB"];
    let [buffers, best, seconds, by, memory] = columns;
    print!("{:<22} {buffers:>8} {best:>9} {seconds:>9} {by:>22} {memory:>7}", "problem");
    print_cells(rules().map(short));
}

/// The rules alone: what search adds is in the bench `limits`.
fn rules_alone() -> Options {
    let mut options = Options::default();
    options.effort = Effort::Fast;
    options
}

/// Prints what the whole portfolio gives; then come the runs of each rule.
fn portfolio_row<'p>(name: &str, problem: &'p Problem) -> impl Iterator<Item = Run> + use<'p> {
    let Run { seconds, ratio, by } = run(problem, &rules_alone());
    let memory = peak_mebibytes().map_or("-".to_owned(), |mebibytes| mebibytes.to_string());
    print!("{name:<22} {:>8} {ratio:>9.5} {seconds:>9.4} {by:>22} {memory:>7}", problem.len());
    rules().map(|algorithm| {
        let mut options = rules_alone();
        options.algorithms = vec![algorithm];
        run(problem, &options)
    })
}

fn print_cells(cells: impl Iterator<Item = String>) {
    cells.for_each(|cell| print!(" {cell:>9}"));
    println!();
}

/// Without hints, `hinted` is first fit by size.
fn rules() -> impl Iterator<Item = Algorithm> {
    Algorithm::all().into_iter().filter(|a| *a != Algorithm::Hinted)
}

/// `ff/area`, say: the columns are narrow.
fn short(algorithm: Algorithm) -> String {
    let name = algorithm.to_string();
    name.replace("first-fit", "ff")
        .replace("best-fit", "bf")
        .replace("largest-first", "largest")
        .replace("size-length", "size-l")
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The most memory that this process has had so far, in MiB.
fn peak_mebibytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? / 1024)
}
