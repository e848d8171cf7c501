//! Any bytes as a problem file. The body is `plimsoll_pack::testing::fuzz_csv`, which also runs
//! over mutated files in the normal tests.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Whether they were accepted is for the tests to count.
    let _ = plimsoll_pack::testing::fuzz_csv(bytes);
});
