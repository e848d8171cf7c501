//! Real training graphs. They live beside the repository, if at all: `PLIMSOLL_CORPUS` names the
//! directory.

use plimsoll::{Program, StepId};
use plimsoll_graph::{LoweringOptions, ScheduledGraph, text, training_json};

#[test]
fn the_graphs_of_the_corpus_can_be_read() {
    let Some(corpus) = std::env::var_os("PLIMSOLL_CORPUS") else {
        eprintln!("skipped: PLIMSOLL_CORPUS does not say where the corpus is");
        return;
    };
    let graphs = std::path::Path::new(&corpus).join("graphs");
    let mut count = 0;
    for entry in std::fs::read_dir(graphs).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display();
        let bytes = std::fs::read(&path).unwrap();
        let graph = training_json::read(&bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        let program = ScheduledGraph::new(&graph, &LoweringOptions::default()).unwrap();
        assert_eq!(program.steps(), graph.nodes().len());
        assert_eq!(text::parse(&text::print(&graph)).as_ref(), Ok(&graph), "{name}");
        let steps = (0..program.steps()).map(StepId::new);
        let overwrites: usize = steps.map(|step| program.overwrites(step).len()).sum();
        assert!(overwrites > 0, "{name}");
        count += 1;
    }
    assert_eq!(count, 7);
}
