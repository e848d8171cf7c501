//! Writes the models of `corpus/models`: `cargo run -p plimsoll-onnx --features testing --example
//! make_sample`.

use std::path::Path;
use std::{fs, io};

use plimsoll_onnx::testing::{encode, samples};

fn main() -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/models");
    fs::create_dir_all(&folder)?;
    for (name, model) in samples() {
        fs::write(folder.join(name), encode(&model))?;
    }
    Ok(())
}
