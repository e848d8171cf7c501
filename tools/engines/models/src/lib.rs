//! What the programs of all engines share: the protocol with the driver, CPU time, memory in use.
//!
//! A program is called with a model whose shapes are numbers, and with its inputs as `name type dims file`, four arguments
//! each. It loads the model, says `ready`, and then answers each line that it reads. A number is how often to run; the
//! answer is the least CPU time of a run in nanoseconds, allocations in the last run, the most heap in use beyond what was in use
//! before it, and resident bytes likewise. `profile N` tells of
//! each call in N runs; `outputs FOLDER` writes the outputs, in order, as `0`, `1`, ….

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Display;
use std::fs;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The allocator of the system, which counts calls and bytes.
pub struct Counted {
    calls: AtomicU64,
    live: AtomicU64,
    most: AtomicU64,
}

impl Counted {
    /// Nothing is counted yet.
    pub const fn new() -> Self {
        Counted { calls: AtomicU64::new(0), live: AtomicU64::new(0), most: AtomicU64::new(0) }
    }

    /// Bytes in use.
    pub fn live(&self) -> u64 {
        self.live.load(Ordering::Relaxed)
    }

    fn add(&self, bytes: usize) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let live = self.live.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
        self.most.fetch_max(live, Ordering::Relaxed);
    }

    fn remove(&self, bytes: usize) {
        self.live.fetch_sub(bytes as u64, Ordering::Relaxed);
    }
}

impl Default for Counted {
    fn default() -> Self {
        Counted::new()
    }
}

// SAFETY: all is handed to the allocator of the system.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller's promises are the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.remove(layout.size());
        // SAFETY: the caller's promises are the same.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.add(size);
        self.remove(layout.size());
        // SAFETY: the caller's promises are the same.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// An input as the driver gives it.
pub struct Input {
    /// Its name.
    pub name: String,
    /// `float32`, `int64`, …
    pub dtype: String,
    /// Its dims.
    pub dims: Vec<usize>,
    /// Its elements, least byte first.
    pub bytes: Vec<u8>,
}

impl Input {
    /// The elements.
    pub fn elements<const N: usize, T>(&self, from: impl Fn([u8; N]) -> T) -> Vec<T> {
        self.bytes.as_chunks::<N>().0.iter().map(|bytes| from(*bytes)).collect()
    }
}

/// What the program was called with: which engine, how many threads, the model, the inputs.
pub struct Task {
    /// The engine.
    pub engine: String,
    /// How many threads.
    pub threads: usize,
    /// The model.
    pub model: PathBuf,
    /// The inputs.
    pub inputs: Vec<Input>,
}

impl Task {
    /// From the arguments.
    pub fn from_args() -> Task {
        let args: Vec<String> = std::env::args().skip(1).collect();
        let [engine, threads, model, inputs @ ..] = &args[..] else {
            panic!("ENGINE THREADS MODEL (NAME TYPE DIMS FILE)*")
        };
        let inputs = inputs.chunks_exact(4).map(|part| Input {
            name: part[0].clone(),
            dtype: part[1].clone(),
            dims: part[2].split(',').filter_map(|dim| dim.parse().ok()).collect(),
            bytes: fs::read(&part[3]).expect("an input"),
        });
        let threads = threads.parse().expect("how many threads");
        Task { engine: engine.clone(), threads, model: model.into(), inputs: inputs.collect() }
    }
}

/// An engine with a model that is ready.
pub trait Engine {
    /// Runs it once.
    fn run(&mut self);
    /// Runs it once, and gives the bytes of its outputs.
    fn outputs(&mut self) -> Vec<Vec<u8>>;
    /// The least CPU time of each call in some runs, with its operator and node, where the engine tells.
    fn profile(&mut self, _runs: usize) -> Vec<String> {
        Vec::new()
    }
    /// What is to be told of it beside.
    fn about(&self) -> String {
        String::new()
    }
}

/// Answers the driver until it is gone.
pub fn serve<E: Engine, F: Display>(counted: &Counted, engine: Result<E, F>) {
    let mut engine = match engine {
        Ok(engine) => engine,
        Err(error) => {
            let told = error.to_string();
            println!("error {}", told.lines().next().unwrap_or_default());
            return;
        }
    };
    println!("ready {}", engine.about());
    for line in io::stdin().lock().lines() {
        let line = line.expect("a line");
        match line.split_once(' ') {
            Some(("profile", runs)) => {
                let calls = engine.profile(runs.parse().unwrap_or(1));
                calls.iter().for_each(|call| println!("{call}"));
                println!("end");
            }
            Some((_, folder)) => {
                for (index, bytes) in engine.outputs().iter().enumerate() {
                    fs::write(Path::new(folder).join(index.to_string()), bytes).expect("written");
                }
                println!("written");
            }
            None => println!("{}", measured(counted, &mut engine, line.trim().parse().unwrap_or(1))),
        }
        io::stdout().flush().expect("told");
    }
}

fn measured(counted: &Counted, engine: &mut impl Engine, runs: usize) -> String {
    let (mut least, mut calls) = (u64::MAX, 0);
    let before = counted.live.load(Ordering::Relaxed);
    counted.most.store(before, Ordering::Relaxed);
    let resident = reset_resident();
    for _ in 0..runs {
        let asked = counted.calls.load(Ordering::Relaxed);
        let start = cpu_nanos();
        engine.run();
        least = least.min(cpu_nanos() - start);
        calls = counted.calls.load(Ordering::Relaxed) - asked;
    }
    let heap = counted.most.load(Ordering::Relaxed) - before;
    let resident = most_resident().saturating_sub(resident);
    format!("{least} {calls} {heap} {resident}")
}

/// CPU time of all threads of the process.
pub fn cpu_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is that of a value of the right type.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Sets the most resident bytes to those of now, and gives these.
fn reset_resident() -> u64 {
    let _ = fs::write("/proc/self/clear_refs", "5");
    status("VmRSS:")
}

fn most_resident() -> u64 {
    status("VmHWM:")
}

/// A line of the kernel's report, in bytes.
fn status(field: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap_or(0) * 1024
}
