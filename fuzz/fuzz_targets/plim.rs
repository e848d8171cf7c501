//! Any bytes as a graph in text. The body is `plimsoll_graph::testing::fuzz_plim`, which also runs over
//! mutated texts in the normal tests.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Whether they were accepted is for the tests to count.
    let _ = plimsoll_graph::testing::fuzz_plim(bytes);
});
