//! Any bytes as a plan. The body is `plimsoll_graph::testing::fuzz_plan_json`, which also runs over
//! mutated plans in the normal tests.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Whether they were accepted is for the tests to count.
    let _ = plimsoll_graph::testing::fuzz_plan_json(bytes);
});
