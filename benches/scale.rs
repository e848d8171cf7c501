//! How packing grows with the number of buffers, for every kind of lives and sizes: arena / LOAD and CPU
//! seconds.
//!
//! `cargo bench --bench scale` packs 10⁴ and 10⁵ buffers of every kind at effort fast and default. `-- random` only runs what
//! has `random` in its name (`random/heavy`), `-- --buffers 1000000` sets the sizes, `-- --effort fast`
//! the efforts, `-- --seeds 1,3` the seeds (both lists with commas), `-- --algorithm NAME` packs by that alone. Every
//! answer is checked. One thread; reading and checking are not counted.

use plimsoll_pack::testing::scale::{Lives, Sizes, scale};
use plimsoll_pack::{Algorithm, Effort, Options, Sweep, check, solve};

struct Arguments {
    filter: String,
    buffers: Vec<usize>,
    efforts: Vec<Effort>,
    seeds: Vec<u64>,
    algorithms: Vec<Algorithm>,
}

fn main() {
    let arguments = arguments();
    println!("lives/sizes         buffers  seed  effort   arena / LOAD  seconds  millions  won by");
    for lives in Lives::ALL {
        for sizes in Sizes::ALL {
            let kind = format!("{lives}/{sizes}");
            if kind.contains(&arguments.filter) {
                rows(&kind, lives, sizes, &arguments);
            }
        }
    }
}

fn rows(kind: &str, lives: Lives, sizes: Sizes, arguments: &Arguments) {
    for buffers in &arguments.buffers {
        for seed in &arguments.seeds {
            let problem = scale(lives, sizes, *buffers, *seed);
            let load = Sweep::new(&problem).peak().0;
            for effort in &arguments.efforts {
                let mut options = Options::default();
                options.effort = *effort;
                options.algorithms.clone_from(&arguments.algorithms);
                let start = cpu_seconds();
                let outcome = solve(&problem, &options);
                let seconds = cpu_seconds() - start;
                let solution = outcome.solution.as_ref().expect("nothing is fixed");
                assert_eq!(check(&problem, &solution.into()), [], "{kind}");
                println!(
                    "{kind:<18} {buffers:>8}  {seed:>4}  {:<8} {:>12.5}  {seconds:>7.2}  {:>8.0}  {}",
                    effort.name(),
                    outcome.arena_bytes as f64 / load as f64,
                    outcome.work as f64 / 1e6,
                    outcome.won_by.map(|a| a.to_string()).unwrap_or_default()
                );
            }
        }
    }
}

fn arguments() -> Arguments {
    let mut found = Arguments {
        filter: String::new(),
        buffers: vec![10_000, 100_000],
        efforts: vec![Effort::Fast, Effort::Default],
        seeds: vec![1],
        algorithms: Vec::new(),
    };
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--bench" => {}
            "--buffers" => found.buffers = list(rest.next(), |n| n.parse().ok()),
            "--seeds" => found.seeds = list(rest.next(), |n| n.parse().ok()),
            "--effort" => {
                let by_name = |name: &str| Effort::ALL.into_iter().find(|e| e.name() == name);
                found.efforts = list(rest.next(), by_name);
            }
            "--algorithm" => found.algorithms = list(rest.next(), Algorithm::by_name),
            other => other.clone_into(&mut found.filter),
        }
    }
    found
}

/// What stands between commas.
fn list<T>(text: Option<String>, item: impl Fn(&str) -> Option<T>) -> Vec<T> {
    text.unwrap_or_default().split(',').filter_map(item).collect()
}

/// CPU time of this process so far, where the system tells; the clock's otherwise.
fn cpu_seconds() -> f64 {
    let ticks = std::fs::read_to_string("/proc/self/schedstat").ok();
    let nanos = ticks.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let clock = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    nanos.map_or_else(|| clock().map_or(0.0, |time| time.as_secs_f64()), |n| n / 1e9)
}
