//! Writes the models of `corpus/tflite`: `cargo run -p plimsoll-tflite --features testing --example
//! make_samples`.

use std::path::Path;
use std::{fs, io};

use plimsoll_tflite::testing::samples;

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/tflite");
    fs::create_dir_all(&folder)?;
    for (name, net) in samples::samples() {
        fs::write(folder.join(format!("{name}.tflite")), net.to_bytes())?;
    }
    Ok(())
}
