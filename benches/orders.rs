//! What an order of execution costs, what a search for one gains, and our planner against
//! largest-first on training graphs.
//!
//! `cargo bench -p plimsoll --features testing --bench orders` prints the tables of
//! `docs/compare.md`. The training graphs are not part of this repository: they are looked for in
//! `../shared/corpus/graphs`.

mod order_graphs;
mod order_rules;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use order_graphs::{random, transformer, vocoder};
use order_rules::Rules;
use plimsoll::{Execution, NoShare, Options, OrderEffort, Plan, Schedule, plan, search_order};
use plimsoll_graph::{
    Graph, Kernels, LoweringOptions, NodeId, Preset, ScheduledGraph, training_json,
};
use plimsoll_pack::Algorithm;

fn main() {
    orders();
    let graphs = training_graphs();
    training(&graphs);
    searched(&graphs);
}

/// A network for each order of execution.
type Make = fn(Execution) -> Graph;

const NETWORKS: [(&str, Make); 4] = [
    ("vocoder, a chain", |execution| vocoder(execution, 1)),
    ("vocoder, 3 blocks a stage", |execution| vocoder(execution, 3)),
    ("transformer, 12 blocks", |execution| transformer(execution, 12)),
    ("random, 8 wide", |execution| random(execution, 2000, 8)),
];

/// The arena of every network in order, in a partial order, and with everything pinned.
fn orders() {
    println!("Arena by order of execution, in bytes.\n");
    println!(
        "| network | steps | bound, in order | in order | partial | partial / in order | all pinned | pinned / partial |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for (name, make) in NETWORKS {
        let in_order = planned(&make(Execution::InOrder), Preset::Standard, &Options::default());
        let graph = make(Execution::Partial);
        let partial = planned(&graph, Preset::Standard, &Options::default());
        let mut pinned = Options::default();
        pinned.apart = NoShare::Everything;
        let pinned = arena(&planned(&graph, Preset::Standard, &pinned).plan);
        let (bound, in_order) = (in_order.plan.derivation.lower_bound_bytes, arena(&in_order.plan));
        let partial = arena(&partial.plan);
        println!(
            "| {name} | {} | {bound} | {in_order} | {partial} | {:.3} | {pinned} | {:.1} |",
            graph.nodes().len(),
            ratio(partial, in_order),
            ratio(pinned, partial),
        );
    }
}

/// The graphs beside the repository, by name.
fn training_graphs() -> Vec<(String, Graph)> {
    let folder = "../shared/corpus/graphs";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let Ok(entries) = fs::read_dir(path) else {
        println!("\n{folder} is not there: no tables of training graphs");
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    paths.retain(|p| p.extension().is_some_and(|e| e == "json"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&path).expect("listed before");
        (name, training_json::read(&bytes).expect("a graph"))
    };
    paths.into_iter().map(read).collect()
}

/// Our planner and largest-first on the same buffers.
fn training(graphs: &[(String, Graph)]) {
    println!("\nTraining and inference graphs, in bytes.\n");
    println!(
        "| graph | kernels | bound | ours | ours / bound | largest-first | largest-first / ours | seconds |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|");
    for (name, graph) in graphs {
        for (kernels, preset) in [("views", Preset::Views), ("in place", Preset::Standard)] {
            let ours = planned(graph, preset, &Options::default());
            let mut largest_first = Options::default();
            largest_first.pack.algorithms = vec![Algorithm::LargestFirst];
            let largest_first = arena(&planned(graph, preset, &largest_first).plan);
            let (bound, seconds) = (ours.plan.derivation.lower_bound_bytes, ours.seconds);
            let ours = arena(&ours.plan);
            assert!(ours <= largest_first, "{name}: {ours} is above {largest_first}");
            println!(
                "| {name} | {kernels} | {bound} | {ours} | {:.4} | {largest_first} | {:.4} | {seconds:.3} |",
                ratio(ours, bound),
                ratio(largest_first, ours),
            );
        }
    }
}

/// The nodes of a schedule, in order.
fn nodes(program: &ScheduledGraph<'_>, schedule: &Schedule) -> Vec<NodeId> {
    schedule.steps.iter().map(|step| program.node_of(*step)).collect()
}

/// The bytes alive at most in the order of the file, in those of rules, and in those that the
/// search finds, as plans have them.
fn searched(graphs: &[(String, Graph)]) {
    println!("\nBytes alive at most by order, and seconds to find it.\n");
    println!(
        "| graph | nodes | no order is below, with sizes aligned | of the file | lowest peak first | breadth first | depth first | fast | seconds | default | seconds |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let lowering = LoweringOptions::default();
    for (name, graph) in graphs {
        let program = ScheduledGraph::new(graph, &lowering).expect("sizes are known");
        let own: Vec<NodeId> = graph.node_ids().collect();
        let rules = Rules::of(&program);
        let by_rules = [rules.lowest_peak_first(), rules.breadth_first(), rules.depth_first()];
        let [lowest, breadth, depth] = by_rules.map(|order| load(graph, &order));
        let found = [OrderEffort::Fast, OrderEffort::Default].map(|effort| {
            let start = Instant::now();
            let found = search_order(&program, &Options::default(), effort);
            (found.expect("a valid program"), start.elapsed().as_secs_f64())
        });
        let [(fast, fast_seconds), (found, seconds)] = found;
        println!(
            "| {name} | {} | {} | {} | {lowest} | {breadth} | {depth} | {} | {fast_seconds:.3} | {} | {seconds:.3} |",
            own.len(),
            found.arena_bound_bytes,
            load(graph, &own),
            load(graph, &nodes(&program, &fast)),
            load(graph, &nodes(&program, &found)),
        );
    }
}

/// The bytes alive at most in the plan of an order.
fn load(graph: &Graph, order: &[NodeId]) -> u64 {
    let program = ScheduledGraph::with_order(graph, order, &LoweringOptions::default());
    let mut options = Options::default();
    options.pack.work = Some(0);
    let plan = plan(&program.expect("an order in which they can run"), &options);
    plan.expect("a valid program").derivation.lower_bound_bytes
}

/// A plan, and how long it took, the verifier included.
struct Planned {
    plan: Plan,
    seconds: f64,
}

fn planned(graph: &Graph, preset: Preset, options: &Options) -> Planned {
    let mut lowering = LoweringOptions::default();
    lowering.kernels = Kernels::new(preset);
    let program = ScheduledGraph::new(graph, &lowering).expect("sizes are known");
    let start = Instant::now();
    let plan = plan(&program, options).expect("a valid program").into_plan();
    Planned { plan, seconds: start.elapsed().as_secs_f64() }
}

fn arena(plan: &Plan) -> u64 {
    plan.banks.iter().map(|bank| bank.bytes).sum()
}

fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}
