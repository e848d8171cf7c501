//! How close to the limit: what `solve` and the exact search reach on the corpus.
//!
//! `cargo bench --bench limits` prints, for every problem, LOAD, the arena, their ratio, the status,
//! the work and the time (least of `--repeat N`, default 1). `-- tiny` only runs what has `tiny` in
//! its path, `-- --effort high` works harder, `-- --work N` just so much, `-- --corpus DIR` reads the
//! folders of another place.
//! `-- --retold` tells every problem in other orders of its rows too, and with time backwards.
//! `-- --ablation` instead turns each rule of the exact search off in turn: work until a capacity
//! that fits is met, and until the optimum of small random problems is proven. `-- --carry` packs
//! tight problems that nothing was tuned on, whose optimum is known. Every answer is checked.
//! `-- --tight` packs tight problems of every kind and size (`-- --tight gaps --sizes 100,300 --seeds 1,3,5`), with
//! `--algorithm search` for one way only; odd seeds unless they are given: what is tuned is tuned on even ones. `--minimalloc PROGRAM` runs that program beside us, for as
//! much CPU time as each of our answers took (at least a second), where there are neither alignments nor windows.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use plimsoll_pack::exact::{self, Verdict};
use plimsoll_pack::testing::tight::{Cuts, Tight, tight};
use plimsoll_pack::testing::{Rng, perfect, permuted, reversed};
use plimsoll_pack::{
    Algorithm, Buffer, Effort, Life, Options, Problem, Status, Sweep, bound, check, csv, solve,
};

#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
struct Arguments {
    filter: String,
    effort: Effort,
    work: Option<u64>,
    repeat: u32,
    ablation: bool,
    carry: bool,
    retold: bool,
    tight: bool,
    sizes: Vec<usize>,
    seeds: Vec<u64>,
    minimalloc: Option<PathBuf>,
    algorithms: Vec<Algorithm>,
    corpus: Option<PathBuf>,
}

fn main() {
    let arguments = arguments();
    if arguments.carry {
        return carry(&arguments);
    }
    if arguments.tight {
        return tight_problems(&arguments);
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let shared = arguments.corpus.clone().unwrap_or(root.join("../shared/corpus/problems"));
    let mut problems = vec![("easy_1000".to_owned(), easy(1000))];
    problems.retain(|(name, _)| name.contains(&arguments.filter));
    for folder in [
        root.join("corpus/problems"),
        shared.join("minimalloc"),
        shared.join("large"),
        shared.join("xla"),
    ] {
        read_folder(&folder, &arguments.filter, &mut problems);
    }
    if arguments.retold {
        problems = problems.iter().flat_map(retold).collect();
    }
    if arguments.ablation {
        ablation(&problems);
    } else {
        table(&problems, &arguments);
    }
}

fn arguments() -> Arguments {
    let mut found = Arguments {
        filter: String::new(),
        effort: Effort::default(),
        work: None,
        repeat: 1,
        ablation: false,
        carry: false,
        retold: false,
        tight: false,
        sizes: vec![50, 100, 150, 300, 500, 1000],
        seeds: vec![1, 3, 5, 7, 9, 11, 13, 15],
        minimalloc: None,
        algorithms: Vec::new(),
        corpus: None,
    };
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--bench" => {}
            "--ablation" => found.ablation = true,
            "--carry" => found.carry = true,
            "--retold" => found.retold = true,
            "--tight" => found.tight = true,
            "--sizes" => found.sizes = numbers(rest.next()),
            "--seeds" => found.seeds = numbers(rest.next()),
            "--minimalloc" => found.minimalloc = rest.next().map(PathBuf::from),
            "--algorithm" => {
                found.algorithms.extend(rest.next().and_then(|name| Algorithm::by_name(&name)));
            }
            "--corpus" => found.corpus = rest.next().map(PathBuf::from),
            "--work" => found.work = rest.next().and_then(|n| n.parse().ok()),
            "--repeat" => found.repeat = rest.next().and_then(|n| n.parse().ok()).unwrap_or(1),
            "--effort" => {
                let name = rest.next().unwrap_or_default();
                found.effort =
                    Effort::ALL.into_iter().find(|e| e.name() == name).unwrap_or_default();
            }
            other => other.clone_into(&mut found.filter),
        }
    }
    found
}

/// Numbers with commas between them.
fn numbers<T: std::str::FromStr>(list: Option<String>) -> Vec<T> {
    list.unwrap_or_default().split(',').filter_map(|n| n.parse().ok()).collect()
}

fn read_folder(folder: &Path, filter: &str, problems: &mut Vec<(String, Problem)>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        println!("{} is not there: skipped", folder.display());
        return;
    };
    let mut paths: Vec<_> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "csv"));
    paths.retain(|p| p.to_string_lossy().contains(filter));
    paths.sort();
    for path in paths {
        let file = std::fs::File::open(&path).expect("listed");
        let table = csv::read(std::io::BufReader::new(file)).expect("valid");
        let name = path.file_stem().map(|s| s.to_string_lossy().into_owned());
        problems.push((name.unwrap_or_default(), table.problem));
    }
}

fn table(problems: &[(String, Problem)], arguments: &Arguments) {
    println!(
        "{:<20} {:>8} {:>14} {:>14} {:>14} {:>9} {:<9} {:<22} {:>13} {:>9}",
        "problem",
        "buffers",
        "LOAD",
        "bound",
        "arena",
        "/ LOAD",
        "status",
        "won by",
        "work",
        "seconds"
    );
    let mut total = Duration::ZERO;
    for (name, problem) in problems {
        let mut options = Options::default();
        options.effort = arguments.effort;
        options.work = arguments.work;
        let mut best: Option<(Duration, _)> = None;
        for _ in 0..arguments.repeat.max(1) {
            let start = Instant::now();
            let outcome = solve(problem, &options);
            let time = start.elapsed();
            if best.as_ref().is_none_or(|(least, _)| time < *least) {
                best = Some((time, outcome));
            }
        }
        let (time, outcome) = best.expect("at least once");
        total += time;
        let solution = outcome.solution.as_ref().expect("nothing is fixed");
        assert_eq!(check(problem, &solution.into()), [], "{name}");
        let load = Sweep::new(problem).peak().0;
        let status = match outcome.status {
            Status::Optimal => "optimal",
            Status::Feasible => "feasible",
            _ => "infeasible",
        };
        println!(
            "{name:<20} {:>8} {load:>14} {:>14} {:>14} {:>9.6} {status:<9} {:<22} {:>13} {:>9.4}",
            problem.len(),
            outcome.lower_bound.bytes,
            outcome.arena_bytes,
            outcome.arena_bytes as f64 / load.max(1) as f64,
            outcome.won_by.map(|a| a.to_string()).unwrap_or_default(),
            outcome.work,
            time.as_secs_f64()
        );
    }
    println!("total {:.3} s", total.as_secs_f64());
}

/// Layers of the same size, each alive until two others are done: the first rule packs them.
fn easy(layers: i64) -> Problem {
    let layer = |start: i64| Buffer::new(4096, Life::new(start, start + 3));
    Problem::new((0..layers).map(layer).collect()).expect("valid")
}

/// The same problem, its rows in five random orders, and the same six with time backwards.
fn retold((name, problem): &(String, Problem)) -> Vec<(String, Problem)> {
    let mut rng = Rng::new(1);
    let mut told = vec![(name.clone(), problem.clone())];
    for order in 1..=5 {
        let mut ids: Vec<_> = problem.ids().collect();
        rng.shuffle(&mut ids);
        told.push((format!("{name} #{order}"), permuted(problem, &ids)));
    }
    let backwards = |(name, problem): &(String, Problem)| (format!("{name} <"), reversed(problem));
    let reversed: Vec<_> = told.iter().map(backwards).collect();
    told.extend(reversed);
    told
}

/// Rectangles cut into pieces, put together again: their height is the optimum.
fn carry(arguments: &Arguments) {
    println!("tight problems, eight of each kind: how many are packed into their optimum");
    println!("buffers  moments  optimal  worst / optimum  mean work, millions  seconds");
    for (buffers, times) in [(40, 20), (80, 40), (120, 60), (200, 60), (300, 100), (400, 400)] {
        let mut rng = Rng::new(buffers as u64);
        let (mut optimal, mut worst, mut work) = (0, 1.0_f64, 0);
        let start = Instant::now();
        for _ in 0..8 {
            let problem = perfect(&mut rng, buffers, times, 1 << 20);
            let mut options = Options::default();
            options.effort = arguments.effort;
            options.work = arguments.work;
            let outcome = solve(&problem, &options);
            let solution = outcome.solution.as_ref().expect("nothing is fixed");
            assert_eq!(check(&problem, &solution.into()), []);
            optimal += u32::from(outcome.arena_bytes == 1 << 20);
            worst = worst.max(outcome.arena_bytes as f64 / f64::from(1 << 20));
            work += outcome.work;
        }
        let seconds = start.elapsed().as_secs_f64();
        let work = work as f64 / 8e6;
        println!(
            "{buffers:>7}  {times:>7}  {optimal:>5}/8  {worst:>15.4}  {work:>19.1}  {seconds:>7.1}"
        );
    }
}

/// Problems of every kind and size that were cut from full rectangles.
fn tight_problems(arguments: &Arguments) {
    println!(
        "cut from full rectangles, seeds {:?}; MiniMalloc has as much time as we",
        arguments.seeds
    );
    println!(
        "kind        buffers    met  mean / optimum  worst   millions  seconds  most  MiniMalloc  only it"
    );
    for cuts in Cuts::ALL {
        if !cuts.to_string().contains(&arguments.filter) {
            continue;
        }
        for buffers in &arguments.sizes {
            let mut row = Row::default();
            for seed in &arguments.seeds {
                row.add(&tight(cuts, *buffers, *seed), arguments);
            }
            println!("{cuts:<10}  {buffers:>7}  {row}");
        }
    }
}

/// What became of some tight problems.
#[derive(Default)]
struct Row {
    count: u32,
    met: u32,
    ratios: f64,
    worst: f64,
    work: u64,
    seconds: f64,
    most_seconds: f64,
    /// Of how many `MiniMalloc` was asked, how many it met, and how many only it.
    asked: u32,
    minimalloc: u32,
    only_it: u32,
}

impl Row {
    fn add(&mut self, Tight { problem, optimum, .. }: &Tight, arguments: &Arguments) {
        let mut options = Options::default();
        options.effort = arguments.effort;
        options.work = arguments.work;
        options.algorithms.clone_from(&arguments.algorithms);
        let start = cpu_seconds();
        let outcome = solve(problem, &options);
        let seconds = cpu_seconds() - start;
        let solution = outcome.solution.as_ref().expect("nothing is fixed");
        assert_eq!(check(problem, &solution.into()), []);
        let ratio = outcome.arena_bytes as f64 / *optimum as f64;
        let met = outcome.arena_bytes == *optimum;
        self.count += 1;
        self.met += u32::from(met);
        self.ratios += ratio;
        self.worst = self.worst.max(ratio);
        self.work += outcome.work;
        self.seconds += seconds;
        self.most_seconds = self.most_seconds.max(seconds);
        let simple = |b: &Buffer| b.align == 1 && b.gaps.is_empty();
        if let Some(program) = &arguments.minimalloc
            && problem.buffers().iter().all(simple)
        {
            let meets = minimalloc_meets(program, problem, *optimum, seconds.max(1.0));
            self.asked += 1;
            self.minimalloc += u32::from(meets);
            self.only_it += u32::from(meets && !met);
        }
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = f64::from(self.count);
        write!(
            f,
            "{:>2}/{:<2}  {:>14.5}  {:>6.4}  {:>7.1}  {:>7.2}  {:>4.1}",
            self.met,
            self.count,
            self.ratios / count,
            self.worst,
            self.work as f64 / 1e6 / count,
            self.seconds / count,
            self.most_seconds
        )?;
        if self.asked > 0 {
            write!(f, "  {:>7}/{:<2}  {:>7}", self.minimalloc, self.asked, self.only_it)?;
        }
        Ok(())
    }
}

/// Whether `MiniMalloc` packs a problem into a capacity, in so many seconds of CPU.
#[allow(clippy::cast_sign_loss, reason = "seconds are not negative")]
fn minimalloc_meets(program: &Path, problem: &Problem, capacity: u64, seconds: f64) -> bool {
    let file = std::env::temp_dir().join(format!("plimsoll-limits-{}.csv", std::process::id()));
    let mut text = String::from("id,lower,upper,size\n");
    for (id, Buffer { life, size, .. }) in problem.buffers().iter().enumerate() {
        writeln!(text, "{id},{},{},{size}", life.start, life.end).expect("text takes all");
    }
    std::fs::write(&file, text).expect("a place for temporary files");
    // The shell's limit is CPU time in whole seconds.
    let command = format!(
        "ulimit -t {}; exec '{}' --capacity={capacity} --input='{}' --output=/dev/null --validate",
        seconds.ceil() as u64,
        program.display(),
        file.display()
    );
    let run = std::process::Command::new("sh").arg("-c").arg(command).output().expect("a shell");
    let _ = std::fs::remove_file(&file);
    run.status.success()
}

/// CPU time of this process so far, where the system tells; the clock's otherwise.
fn cpu_seconds() -> f64 {
    let ticks = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanos = ticks.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let clock = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    nanos.map_or_else(|| clock().map_or(0.0, |time| time.as_secs_f64()), |n| n / 1e9)
}

/// Work to decide a capacity, with all rules and with each one off; the most is `LIMIT`.
fn ablation(problems: &[(String, Problem)]) {
    const LIMIT: u64 = 300_000_000;
    type Switch = (&'static str, fn(&mut exact::Options));
    let switches: [Switch; 9] = [
        ("all on", |_| {}),
        ("not_first", |o| o.not_first = false),
        ("blocked", |o| o.blocked = false),
        ("split", |o| o.split = false),
        ("nogoods", |o| o.nogoods = false),
        ("jump", |o| o.jump = false),
        ("twins", |o| o.twins = false),
        ("learn", |o| o.learn = false),
        ("restarts", |o| o.restarts = false),
    ];
    println!("millions of list entries looked at until the capacity is met, with one rule off");
    print!("{:<20} {:>14}", "problem", "capacity");
    for (name, _) in &switches {
        print!(" {name:>10}");
    }
    println!();
    for (name, problem) in problems {
        let sweep = Sweep::new(problem);
        // The number in a file's name is a capacity that is known to fit; LOAD otherwise.
        let load = bound(problem, &sweep).bytes;
        let known = name.rsplit('.').next().and_then(|n| n.parse().ok());
        let capacity = if exact_load(name) { load } else { known.unwrap_or(load) };
        print!("{name:<20} {capacity:>14}");
        for (_, switch) in &switches {
            let mut options = exact::Options::default();
            options.work = LIMIT;
            switch(&mut options);
            let decision = exact::decide(problem, &sweep, capacity, &options);
            let shown = match &decision.verdict {
                Verdict::Fits(solution) => {
                    assert_eq!(check(problem, &solution.into()), [], "{name}");
                    format!("{:.2}", decision.work as f64 / 1e6)
                }
                Verdict::Never => "never".to_owned(),
                Verdict::Stopped => format!("> {}", LIMIT / 1_000_000),
                Verdict::DoesNotApply => "-".to_owned(),
            };
            print!(" {shown:>10}");
        }
        println!();
    }
    for (name, steps) in [("proofs, 6 steps", 6), ("proofs, 8 steps", 8), ("proofs, 10 steps", 10)]
    {
        print!("{name:<20} {:>14}", "optimum");
        for (_, switch) in &switches {
            let mut options = exact::Options::default();
            options.work = LIMIT / 30;
            switch(&mut options);
            print!(" {:>10}", proofs(steps, &options));
        }
        println!();
    }
}

/// Work to prove the optimum of thirty problems, and how many proofs are missing.
fn proofs(steps: i64, options: &exact::Options) -> String {
    let mut rng = Rng::new(1);
    let (mut work, mut missing) = (0, 0);
    for _ in 0..30 {
        let problem = steady(&mut rng, steps);
        let found = exact::minimise(&problem, &Sweep::new(&problem), None, options);
        work += found.work;
        missing += u32::from(!found.optimal);
    }
    let work = work as f64 / 1e6;
    if missing == 0 { format!("{work:.2}") } else { format!("{work:.0} -{missing}") }
}

/// A problem with the same load all the time, which few packings meet: at each step two buffers die,
/// and two others take over their bytes.
fn steady(rng: &mut Rng, steps: i64) -> Problem {
    let mut live: Vec<(u64, i64)> = (0..8).map(|_| (rng.within(10..60), 0)).collect();
    let mut buffers = Vec::new();
    for now in 1..=steps {
        let mut bytes = 0;
        for _ in 0..2 {
            let (size, born) = live.swap_remove(rng.below(live.len() as u64) as usize);
            buffers.push(Buffer::new(size, Life::new(born, now)));
            bytes += size;
        }
        let part = rng.within(1..bytes);
        live.extend([(part, now), (bytes - part, now)]);
    }
    buffers.extend(live.iter().map(|(size, born)| Buffer::new(*size, Life::new(*born, steps + 1))));
    Problem::new(buffers).expect("valid")
}

/// All but two of the tight problems have a packing at LOAD.
fn exact_load(name: &str) -> bool {
    !name.starts_with("D.") && !name.starts_with("J.")
}
