//! How long it takes from an ONNX file to the JSON of its plan, and how much memory, where there are very
//! many nodes: a chain of Relus.
//!
//! Writes a chain of 100 000 nodes into the temporary folder, plans it as by default and throws the JSON
//! away; fails if more than 2 600 bytes a node are resident at any time. Run it with `cargo bench -p plimsoll-onnx
//! --features testing --bench chains`; a number behind `--` is another length.

use std::fs;
use std::io::{self, BufWriter};
use std::path::Path;
use std::process::{Command, ExitCode};

use plimsoll::{Recorded, write_plan_to};
use plimsoll_graph::Case;
use plimsoll_model::{Bindings, infer};
use plimsoll_onnx::load;
use plimsoll_onnx::testing::{F32, graph, model, node, value};
use prost::Message;

const MOST_A_NODE: u64 = 2_600;

fn main() -> io::Result<ExitCode> {
    let mut numbers = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let length = numbers.next().and_then(|number| number.parse().ok()).unwrap_or(100_000);
    let path = std::env::temp_dir().join(format!("plimsoll-chain-{length}.onnx"));
    if numbers.next().is_some() {
        write(&path, length)?;
        return Ok(ExitCode::SUCCESS);
    }
    // What writes the file has memory of its own.
    let status =
        Command::new(std::env::current_exe()?).args([&length.to_string(), "write"]).status()?;
    assert!(status.success(), "the file is written");
    plan(&path)?;
    fs::remove_file(&path)?;
    let (resident, user) = (most_resident()?, user_seconds()?);
    let a_node = resident / length as u64;
    println!(
        "{length} nodes: {user:.2} s, {} MB resident, {a_node} bytes a node",
        resident / 1_000_000
    );
    Ok(if a_node <= MOST_A_NODE { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// From the file to the JSON of its plan.
fn plan(path: &Path) -> io::Result<()> {
    let model = load(path).map_err(io::Error::other)?;
    let graph = infer(&model, &Bindings::default()).map_err(io::Error::other)?.graph;
    drop(model);
    let planned = Case::new(graph).plan().map_err(io::Error::other)?;
    let mut out = BufWriter::new(io::sink());
    write_plan_to(&mut out, &planned.program(), &planned.plan, Recorded::new(), Recorded::new())
}

fn write(path: &Path, length: usize) -> io::Result<()> {
    let name = |index: usize| format!("t{index}");
    let nodes = (0..length)
        .map(|index| node(&format!("relu_{index}"), "Relu", &[&name(index)], &[&name(index + 1)]));
    let [input, output] = [0, length].map(|index| value(&name(index), F32, &[1, 64]));
    let graph = graph(vec![input], vec![output], nodes.collect());
    fs::write(path, model(17, graph).encode_to_vec())
}

/// The most bytes that were resident since the process began.
fn most_resident() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.map(|kibibytes| kibibytes << 10).ok_or_else(|| io::Error::other("no VmHWM"))
}

/// The time that the process has spent so far, in hundredths of a second.
fn user_seconds() -> io::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let behind = stat.rsplit(')').next().unwrap_or_default();
    let ticks = behind.split_whitespace().nth(11).and_then(|ticks| ticks.parse::<f64>().ok());
    ticks.map(|ticks| ticks / 100.0).ok_or_else(|| io::Error::other("no user time"))
}
