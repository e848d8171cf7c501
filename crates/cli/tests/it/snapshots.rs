//! What every command prints, word for word: `tests/cmd/*.trycmd`, with their files beside them.
//!
//! `TRYCMD=overwrite cargo test` writes what is printed now; read the difference before you keep it.

#[test]
fn every_command_prints_what_it_did() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
