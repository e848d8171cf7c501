//! The packers over the project's corpus, over `../shared/corpus/problems` where that is there,
//! and over generated problems of growing size: arena / lower bound, and time.
//!
//! `cargo bench --bench packers` runs all of it; `-- large` only what has `large` in its folder or
//! name. `-- --most 1000000` sets the largest generated problem (default 100 000), and
//! `-- --plot FILE.svg` only draws how time grows with size. Everything runs on one thread. Peak memory is that of the whole process so far, as the system tells it in
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
    if let Some(path) = &arguments.plot {
        return fs::write(path, plot(&measured(&arguments))).expect("a file that can be written");
    }
    for folder in FOLDERS {
        table(folder, &arguments);
    }
    growth(&arguments);
}

/// What the command line asks for.
struct Arguments {
    filter: String,
    most: usize,
    plot: Option<PathBuf>,
}

impl Arguments {
    fn parse() -> Self {
        let mut parsed = Arguments { filter: String::new(), most: 100_000, plot: None };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => {}
                "--most" => {
                    let most = arguments.next().and_then(|n| n.parse().ok());
                    parsed.most = most.expect("--most wants a number");
                }
                "--plot" => parsed.plot = arguments.next().map(PathBuf::from),
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

/// The points of the plot, which are printed too: the least of three runs, of one where that takes
/// long.
fn measured(arguments: &Arguments) -> Vec<Point> {
    let sizes = (3..).map(|power| 10usize.pow(power)).take_while(|n| *n <= arguments.most);
    let least = |problem: &Problem, options: &Options| {
        let first = run(problem, options).seconds;
        let again = if first < 5.0 { 2 } else { 0 };
        (0..again).map(|_| run(problem, options).seconds).fold(first, f64::min)
    };
    let point = |buffers| {
        let problem = training_like(buffers, 1);
        let mut alone = rules_alone();
        alone.algorithms = vec![Algorithm::LargestFirst];
        let largest_first = least(&problem, &alone);
        let portfolio = least(&problem, &rules_alone());
        println!("{buffers:>8} buffers: {largest_first:.4} s, portfolio {portfolio:.4} s");
        Point { buffers, largest_first, portfolio }
    };
    sizes.map(point).collect()
}

/// Seconds for a number of buffers.
struct Point {
    buffers: usize,
    largest_first: f64,
    portfolio: f64,
}

/// Time over size, both on a scale of powers of ten. Grey lines and text are readable on light and
/// on dark pages.
fn plot(points: &[Point]) -> String {
    let x = |buffers: f64| 70.0 + (buffers.log10() - 3.0) * 150.0;
    let y = |seconds: f64| 30.0 + (2.0 - seconds.log10()) * 45.0;
    let mut svg = vec![
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 620 340\" font-family=\"sans-serif\" \
         font-size=\"12\" fill=\"#888\">"
            .to_owned(),
        "<title>Seconds to pack, by number of buffers</title>".to_owned(),
    ];
    for power in -4..=2 {
        let (at, label) = (y(10f64.powi(power)), 10f64.powi(power));
        svg.push(format!("<path d=\"M70 {at}H520\" stroke=\"#888\" stroke-opacity=\"0.35\"/>"));
        svg.push(format!("<text x=\"62\" y=\"{}\" text-anchor=\"end\">{label} s</text>", at + 4.0));
    }
    for (power, label) in (3..).zip(["1 000", "10 000", "100 000", "1 000 000"]) {
        let at = x(10f64.powi(power));
        svg.push(format!("<path d=\"M{at} 30V300\" stroke=\"#888\" stroke-opacity=\"0.35\"/>"));
        svg.push(format!("<text x=\"{at}\" y=\"318\" text-anchor=\"middle\">{label}</text>"));
    }
    svg.push("<text x=\"295\" y=\"336\" text-anchor=\"middle\">buffers</text>".to_owned());
    let mut line = |name: &str, colour: &str, seconds: &dyn Fn(&Point) -> f64| {
        let at = |p: &Point| (x(p.buffers as f64), y(seconds(p)));
        let corners: Vec<String> =
            points.iter().map(at).map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let corners = corners.join(" ");
        svg.push(format!(
            "<polyline points=\"{corners}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
        ));
        for point in points {
            let ((x, y), seconds) = (at(point), seconds(point));
            svg.push(format!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\">\
                 <title>{name}: {seconds:.4} s</title></circle>"
            ));
        }
        if let Some((x, y)) = points.last().map(at) {
            let (x, y) = (x + 8.0, y + 4.0);
            svg.push(format!("<text x=\"{x:.1}\" y=\"{y:.1}\" fill=\"{colour}\">{name}</text>"));
        }
    };
    line("portfolio", "#d9730d", &|p| p.portfolio);
    line("largest first", "#2f80c3", &|p| p.largest_first);
    svg.push("</svg>\n".to_owned());
    svg.join("\n")
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
