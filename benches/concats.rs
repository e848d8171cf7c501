//! What it gains to do without the copies of concats, on models that are beside the repository.
//!
//! `cargo bench -p plimsoll-onnx --features testing --bench concats` prints a table. The models are
//! looked for in `../shared/corpus/models`.

use std::path::Path;
use std::time::Instant;

use plimsoll::{Options, plan};
use plimsoll_graph::{
    Graph, Kernels, LoweringOptions, ScheduledGraph, concat_candidates, join_concats,
};
use plimsoll_model::{Bindings, infer};

const MODELS: [&str; 8] = [
    "tv_densenet121",
    "tv_googlenet",
    "tv_inception_v3",
    "tv_squeezenet1_1",
    "smp_unet_resnet34",
    "timm_hrnet_w18",
    "tv_shufflenet_v2_x1_0",
    "timm_nasnetalarge",
];

fn main() {
    let folder = "../shared/corpus/models";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    if !path.is_dir() {
        println!("{folder} is not there: no table");
        return;
    }
    println!(
        "Arena with and without the copies of concats, and what copies move in a run, in bytes.\n"
    );
    println!(
        "| model | concats | could vanish | elided | arena | without | ratio | moved | without | seconds |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for name in MODELS {
        let model = plimsoll_onnx::load(&path.join(format!("{name}.onnx"))).expect("a model");
        let graph = infer(&model, &Bindings::default()).expect("shapes that can be found").graph;
        let start = Instant::now();
        let joined = join_concats(&graph, &LoweringOptions::default(), &Options::default());
        let seconds = start.elapsed().as_secs_f64();
        let concats = graph.nodes().iter().filter(|node| node.op.class() == "concat").count();
        let (before, after) = (arena(&graph), arena(&joined.graph));
        println!(
            "| {name} | {concats} | {} | {} | {before} | {after} | {:.3} | {} | {} | {seconds:.2} |",
            concat_candidates(&graph, &Kernels::default()).len(),
            joined.elided.len(),
            after as f64 / before as f64,
            joined.moved_before,
            joined.moved,
        );
    }
}

fn arena(graph: &Graph) -> u64 {
    let program = ScheduledGraph::new(graph, &LoweringOptions::default()).expect("sizes are known");
    let plan = plan(&program, &Options::default()).expect("a valid program");
    plan.banks.iter().map(|bank| bank.bytes).sum()
}
