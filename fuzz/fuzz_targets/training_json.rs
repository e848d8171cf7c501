//! Any bytes as the graph of a training step. The body is `plimsoll_graph::testing::fuzz_training_json`,
//! which also runs over mutated graphs in the normal tests.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Whether they were accepted is for the tests to count.
    let _ = plimsoll_graph::testing::fuzz_training_json(bytes);
});
