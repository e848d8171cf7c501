//! A table of models and what fitting makes of them:
//! `cargo run --release -p plimsoll-rewrite --example fitted -- MODEL… [NAME=SIZE…]`.

use std::ops::ControlFlow;
use std::path::Path;

use plimsoll_model::Bindings;
use plimsoll_rewrite::{FitOptions, Goal, fit};

fn main() {
    let (sizes, models): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|arg| arg.contains('='));
    let mut bindings = Bindings::default();
    for (name, size) in sizes.iter().filter_map(|size| size.split_once('=')) {
        bindings.symbols.insert(name.to_owned(), size.parse().unwrap_or(1));
    }
    println!("| model | plan | at 0 % | of it | at 5 % | of it | arithmetic | nodes |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    for path in models {
        match row(Path::new(&path), &bindings) {
            Ok(row) => println!("{row}"),
            Err(error) => eprintln!("{path}: {error}"),
        }
    }
}

#[allow(clippy::cast_precision_loss, reason = "for people")]
fn row(path: &Path, bindings: &Bindings) -> Result<String, Box<dyn std::error::Error>> {
    let model = plimsoll_onnx::load(path)?;
    let mut pulse = || ControlFlow::Continue(());
    let frontier = fit(&model, bindings, &FitOptions::new(Goal::Frontier), &mut pulse)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let source = frontier.source_arena_bytes;
    let mut row = format!("| {name} | {source} |");
    for percent in [0.0, 5.0] {
        let point = frontier.at_most(percent).ok_or("there is always a point")?;
        let share = point.arena_bytes as f64 / source.max(1) as f64;
        row += &format!(" {} | {share:.2} |", point.arena_bytes);
        if percent > 0.0 {
            let nodes = point.rewritten.model.body.nodes.len();
            row += &format!(" {:+.1} % | {nodes} |", frontier.extra_percent(point));
        }
    }
    Ok(row)
}
