//! A table of models with and without fused steps: `cargo run --release -p plimsoll-rewrite --example fused -- MODEL…`.

use std::collections::BTreeSet;
use std::path::Path;

use plimsoll_graph::Case;
use plimsoll_model::{AllKernels, Bindings, infer};
use plimsoll_rewrite::fuse::{FusionKind, fuse};

fn main() {
    println!("| model | not fused | fused | bound | fused steps | largest scratch |");
    println!("|---|---:|---:|---:|---:|---:|");
    for path in std::env::args().skip(1) {
        match row(Path::new(&path)) {
            Ok(row) => println!("{row}"),
            Err(error) => eprintln!("{path}: {error}"),
        }
    }
}

fn row(path: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let model = plimsoll_onnx::load(path)?;
    let inferred = infer(&model, &Bindings::default())?;
    let case = Case::new(inferred.graph.clone());
    let kinds: BTreeSet<FusionKind> = FusionKind::ALL.into_iter().collect();
    let fused = fuse(&model, &inferred, &case, &kinds, &AllKernels)?;
    let plan = &fused.planned.plan;
    let scratch = plan.scratch.iter().flatten().map(|slot| slot.bytes).max().unwrap_or(0);
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(format!(
        "| {name} | {} | {} | {} | {} | {scratch} |",
        fused.unfused_bytes,
        fused.planned.arena_bytes(),
        plan.derivation.lower_bound_bytes,
        fused.steps.len(),
    ))
}
