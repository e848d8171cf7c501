//! Graphs of thousands of small steps: networks that are computed in bands of rows.
//!
//! `cargo bench -p plimsoll-graph --features testing --bench bands` prints a table for
//! `docs/algorithms.md`: how far a plan is above its bound, and how long it takes, by default and by
//! rules alone in the order of the file. With a folder as an argument, the graphs are written there as
//! well, for the command line.

use std::time::Instant;

use plimsoll::{Options, OrderEffort};
use plimsoll_graph::testing::{band_graph, band_text};
use plimsoll_graph::{Best, Graph, LoweringOptions, Tries, best};

/// Layers and bands.
const SIZES: [(usize, usize); 3] = [(12, 48), (16, 80), (20, 120)];

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    println!(
        "| steps | arena / bound | ms | arena, best / given | by rules, arena / bound | ms for 1000 steps |"
    );
    println!("|---:|---:|---:|---:|---:|---:|");
    for (layers, bands) in SIZES {
        let graph = band_graph(layers, bands);
        let steps = graph.nodes().len();
        if let Some(folder) = &folder {
            let path = format!("{folder}/bands_{steps}.plim");
            std::fs::write(path, band_text(layers, bands)).expect("a folder to write to");
        }
        let tries = Tries { order: Some(OrderEffort::Default), join: true };
        let (found, millis) = timed(&graph, &Options::default(), tries);
        let unordered = Tries { order: None, join: true };
        let (given, _) = timed(&graph, &Options::default(), unordered);
        let mut quick = Options::default();
        quick.pack.work = Some(0);
        let (by_rules, quick_millis) = timed(&graph, &quick, unordered);
        println!(
            "| {steps} | {:.4} | {millis:.0} | {:.4} | {:.4} | {:.1} |",
            above(&found),
            arena(&found) / arena(&given),
            above(&by_rules),
            quick_millis * 1000.0 / steps as f64,
        );
    }
}

fn timed(graph: &Graph, options: &Options, tries: Tries) -> (Best, f64) {
    let start = Instant::now();
    let found = best(graph, &LoweringOptions::default(), options, tries);
    (found.expect("sizes are known"), start.elapsed().as_secs_f64() * 1000.0)
}

fn arena(found: &Best) -> f64 {
    found.plan.as_ref().map_or(f64::NAN, |plan| plan.arena_bytes() as f64)
}

fn above(found: &Best) -> f64 {
    let bound = found.plan.as_ref().map_or(0, |plan| plan.derivation.lower_bound_bytes);
    arena(found) / bound as f64
}
