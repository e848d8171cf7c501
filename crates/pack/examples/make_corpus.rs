//! Makes the generated part of `corpus/problems`: every file is what a seed says it is.
//!
//! `cargo run -p plimsoll-pack --features testing --example make_corpus` writes the files; a test
//! holds the committed ones equal to what the generators give.

use std::path::Path;

use plimsoll_pack::Problem;
use plimsoll_pack::csv::{Table, write_problem};
use plimsoll_pack::testing::{Rng, Shape, perfect, random_problem, training_like};

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/problems");
    for (name, problem) in generated() {
        std::fs::write(folder.join(format!("{name}.csv")), text(problem))?;
        println!("{name}.csv");
    }
    Ok(())
}

/// Name and problem of every generated file.
pub(crate) fn generated() -> Vec<(&'static str, Problem)> {
    let few = Shape { buffers: 40..41, times: 30, sizes: 1..64, ..Shape::plain() };
    let many = Shape { buffers: 300..301, times: 150, sizes: 1..4096, ..Shape::plain() };
    let every = |shape: &Shape| Shape { aligned: 30, fixed: 10, gapped: 30, ..shape.clone() };
    let random = |seed, shape: &Shape| random_problem(&mut Rng::new(seed), shape);
    vec![
        ("perfect_16", perfect(&mut Rng::new(1), 16, 12, 64)),
        ("perfect_60", perfect(&mut Rng::new(2), 60, 40, 4096)),
        ("perfect_300", perfect(&mut Rng::new(3), 300, 200, 1 << 20)),
        ("random_40", random(4, &few)),
        ("random_300", random(5, &many)),
        ("random_40_aligned", random(6, &Shape { aligned: 60, ..few.clone() })),
        ("random_40_fixed", random(7, &Shape { fixed: 30, ..few.clone() })),
        ("random_40_gaps", random(8, &Shape { gapped: 60, ..few.clone() })),
        ("random_40_everything", random(9, &every(&few))),
        ("random_300_everything", random(10, &every(&many))),
        ("training_100", training_like(100, 11)),
        ("training_1000", training_like(1000, 12)),
    ]
}

/// The problem as CSV; buffers are called by their numbers.
pub(crate) fn text(problem: Problem) -> String {
    let ids = (0..problem.len()).map(|i| i.to_string()).collect();
    let mut bytes = Vec::new();
    write_problem(&mut bytes, &Table { ids, problem }).expect("writing to memory does not fail");
    String::from_utf8(bytes).expect("CSV is text")
}
