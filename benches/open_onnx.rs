//! How long it takes to open large models, and how much memory.
//!
//! Writes a model of 500 MB and one of 2.5 GB into the temporary folder (files with holes: they
//! take no room), opens each a few times, and fails if more than 60 MB are resident. Run it with
//! `cargo bench -p plimsoll-onnx --features testing --bench open_onnx`.

use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use plimsoll_onnx::load;
use plimsoll_onnx::testing::{F32, graph, model, node, stored, value};
use prost::Message;
use prost::encoding::{encode_varint, encoded_len_varint};

const MEGABYTE: u64 = 1_000_000;
const MOST_RESIDENT: u64 = 60 * MEGABYTE;

fn main() -> io::Result<ExitCode> {
    let folder = std::env::temp_dir().join(format!("plimsoll-open-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let mut fine = true;
    for (weights, side) in [(125, 1_000), (2_000, 250), (25, 5_000)] {
        let path = folder.join("large.onnx");
        write(&path, weights, side)?;
        fine &= open(&path, weights)?;
    }
    fs::remove_dir_all(folder)?;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Opens a file a few times. Says whether it took little memory.
fn open(path: &Path, weights: usize) -> io::Result<bool> {
    let megabytes = fs::metadata(path)?.len() / MEGABYTE;
    let mut times = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        let model = load(path).map_err(io::Error::other)?;
        times.push(start.elapsed());
        assert_eq!(model.body.nodes.len(), weights);
    }
    let most = *times.iter().max().expect("five times");
    let least = *times.iter().min().expect("five times");
    let resident = most_resident()?;
    println!(
        "{megabytes} MB in {weights} weights: {least:.2?} (the slowest {most:.2?}), at most {} MB resident",
        resident.div_ceil(MEGABYTE)
    );
    Ok(resident <= MOST_RESIDENT)
}

/// The most bytes that were resident since the process began.
fn most_resident() -> io::Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    number.map(|kibibytes| kibibytes << 10).ok_or_else(|| io::Error::other("no VmHWM"))
}

/// Writes a chain of products with so many square weights, whose zeros are holes.
fn write(path: &Path, weights: usize, side: i64) -> io::Result<()> {
    let bytes = 4 * (side * side).unsigned_abs();
    let name = |index: usize| format!("x{index}");
    let nodes = (0..weights).map(|index| {
        let weight = format!("w{index}");
        node(&weight, "MatMul", &[&name(index), &weight], &[&name(index + 1)])
    });
    let ends = [0, weights].map(|index| value(&name(index), F32, &[1, side]));
    let [input, output] = ends;
    let plain = graph(vec![input], vec![output], nodes.collect()).encode_to_vec();
    let heads: Vec<Vec<u8>> = (0..weights)
        .map(|index| {
            let mut tensor = stored(&format!("w{index}"), F32, &[side, side], Vec::new());
            tensor.raw_data = None;
            let mut head = tensor.encode_to_vec();
            // The raw data come last: their field, their length, and then nothing but zeros.
            head.push(9 << 3 | 2);
            encode_varint(bytes, &mut head);
            head
        })
        .collect();
    let tensor_length = |head: &Vec<u8>| head.len() as u64 + bytes;
    let field = |length: u64| 1 + encoded_len_varint(length) as u64 + length;
    let all: u64 = heads.iter().map(|head| field(tensor_length(head))).sum();
    let mut file = File::create(path)?;
    let mut start = model(17, graph(vec![], vec![], vec![]));
    start.graph = None;
    let mut start = start.encode_to_vec();
    start.push(7 << 3 | 2);
    encode_varint(plain.len() as u64 + all, &mut start);
    file.write_all(&start)?;
    file.write_all(&plain)?;
    for head in &heads {
        let mut begin = vec![5 << 3 | 2];
        encode_varint(tensor_length(head), &mut begin);
        file.write_all(&begin)?;
        file.write_all(head)?;
        file.seek(SeekFrom::Current(bytes.cast_signed()))?;
    }
    let length = file.stream_position()?;
    file.set_len(length)
}
