//! The body of the fuzz target.

use plimsoll_graph::testing::assert_plans_are_right;

use crate::TfliteFile;

/// Bytes that may be a model: they are rejected, or are a graph whose plans are right, and the file can have a plan
/// and is the same model still. Says whether they were accepted.
///
/// # Panics
/// If any of that fails.
#[must_use]
pub fn fuzz_tflite(bytes: &[u8]) -> bool {
    let Ok(file) = TfliteFile::read(bytes.to_vec()) else { return false };
    let Ok(imported) = file.import() else { return false };
    assert_plans_are_right(&imported.graph);
    let offsets = imported.settled_offsets(&file, &vec![0; file.tensor_count()]);
    let _ = (file.head_bytes(&offsets), file.head_bytes(&[]));
    // Some files are read, though nothing can be put in front of them.
    let count = (offsets.len() as u32).cast_signed();
    let numbers = [&[1, 0, count][..], &offsets].concat();
    let plan: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    if let Ok(planned) = file.with_offline_plan(&plan) {
        assert_eq!(planned.offline_offsets(), Ok(offsets), "a plan was changed");
        let same = planned
            .subgraphs
            .iter()
            .zip(&file.subgraphs)
            .all(|(a, b)| a.operators == b.operators && a.tensors == b.tensors);
        assert!(same, "a plan has changed the model");
    }
    true
}
