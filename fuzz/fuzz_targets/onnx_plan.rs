//! Any bytes as a model that is planned. The body is `plimsoll_onnx::testing::fuzz_onnx_plan`, which
//! also runs over mutated models in the normal tests.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Whether they were accepted is for the tests to count.
    let _ = plimsoll_onnx::testing::fuzz_onnx_plan(bytes);
});
