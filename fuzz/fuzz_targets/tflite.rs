//! Any bytes as a model that is planned. The body is `plimsoll_tflite::testing::fuzz_tflite`, which also
//! runs over mutated models in the normal tests.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Whether they were accepted is for the tests to count.
    let _ = plimsoll_tflite::testing::fuzz_tflite(bytes);
});
