//! A run allocates nothing, from the first on. Alone in its process: all threads are counted.

use std::path::Path;

use plimsoll_run::{Counted, Options, Session, random_inputs};

#[global_allocator]
static COUNTED: Counted = Counted::new();

#[test]
fn a_run_allocates_nothing() {
    // The second one has branches, a loop and a scan.
    for name in ["sample", "bodies"] {
        runs_of(name);
    }
}

fn runs_of(name: &str) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus");
    let path = corpus.join(format!("models/{name}.onnx"));
    let (model, weights) = plimsoll_onnx::load_with_weights(&path).unwrap();
    let mut session = Session::new(&model, &weights, &Options::default()).unwrap();
    let inputs = random_inputs(1, session.inputs());
    session.fill(&inputs).unwrap();
    let before = COUNTED.count();
    for _ in 0..3 {
        session.run().unwrap();
    }
    assert_eq!(COUNTED.count() - before, 0, "{name}");
    assert!(before > 0, "what comes before is counted");
}
