//! Writes what fuzzing begins with into `fuzz/corpus`: `cargo run -p plimsoll --features testing
//! --example fuzz_seeds`.

use std::path::Path;
use std::{fs, io};

use plimsoll_graph::testing::fuzz_seeds;

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (number, (target, seed)) in fuzz_seeds().into_iter().enumerate() {
        let folder = corpus.join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("seed_{number}")), seed)?;
    }
    Ok(())
}
