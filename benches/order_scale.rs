//! How long it takes to order, plan and explain graphs of thousands of nodes.
//!
//! `cargo bench -p plimsoll-graph --features testing --bench order_scale` prints a table
//! for 10 000 nodes; with `-- --most 100000` for 100 000 too. Times are CPU seconds of one run: of
//! `--order given`, of `--order best`, and of the advice of `explain` behind that, up to 10 000 nodes.

use std::ops::ControlFlow;

use plimsoll_graph::advise::advise;
use plimsoll_graph::testing::{column_graph, layered_graph, series_parallel_graph, training_graph};
use plimsoll_graph::{Case, Graph, PlannedGraph};
use plimsoll_pack::testing::Rng;

/// Advice is asked for up to so many nodes.
const MOST_ADVISED: usize = 10_000;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let most = arguments.iter().skip_while(|argument| *argument != "--most").nth(1);
    let most = most.map_or(10_000, |most| most.parse().expect("a number of nodes"));
    println!("| graph | nodes | given, s | best, s | best / given | best / bound | advice, s |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for nodes in [1000, 10_000, 100_000].into_iter().filter(|nodes| *nodes <= most) {
        for (name, graph) in graphs(nodes) {
            row(&name, graph);
        }
    }
}

/// Graphs of about so many nodes.
fn graphs(nodes: usize) -> Vec<(String, Graph)> {
    let mut rng = Rng::new(2026);
    let mut graphs = vec![("columns".to_owned(), column_graph(nodes / 4))];
    for (width, reads) in [(10, 2), (100, 3), (nodes / 10, 2)] {
        let graph = layered_graph(&mut rng, nodes, width, reads);
        graphs.push((format!("layers of {width}, up to {reads} reads"), graph));
    }
    graphs.push(("series and parallel".to_owned(), series_parallel_graph(&mut rng, nodes)));
    graphs.push(("training step".to_owned(), training_graph(&mut rng, nodes / 4)));
    graphs
}

fn row(name: &str, graph: Graph) {
    let nodes = graph.nodes().len();
    let mut given = Case::new(graph.clone());
    given.tries.order = None;
    let (given, given_seconds) = timed(|| given.plan().expect("there is a plan"));
    let (best, best_seconds) = timed(|| Case::new(graph).plan().expect("there is a plan"));
    let advice = (nodes <= MOST_ADVISED + MOST_ADVISED / 10)
        .then(|| timed(|| advise(&best, &[], &mut |_| ControlFlow::Continue(()))).1);
    let arena = |planned: &PlannedGraph| planned.arena_bytes() as f64;
    println!(
        "| {name} | {nodes} | {given_seconds:.2} | {best_seconds:.2} | {:.3} | {:.3} | {} |",
        arena(&best) / arena(&given),
        arena(&best) / best.plan.derivation.lower_bound_bytes as f64,
        advice.map_or(String::new(), |seconds| format!("{seconds:.2}")),
    );
}

/// What comes of it, and the CPU seconds that it takes.
fn timed<T>(run: impl FnOnce() -> T) -> (T, f64) {
    let before = cpu_seconds();
    let done = run();
    (done, cpu_seconds() - before)
}

/// The time that this thread has been running: what others do meanwhile does not count.
fn cpu_seconds() -> f64 {
    // The count is brought up to date when somebody else may run.
    std::thread::yield_now();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    let nanos: u64 = stat.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
    nanos as f64 / 1e9
}
