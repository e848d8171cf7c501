//! How long a plan of a small program takes, and how often it asks for memory.
//!
//! A runtime that plans anew for every shape plans hundreds of steps at a time. `cargo bench -p
//! plimsoll-run --bench small_plans` prints the table of `docs/algorithms.md`: the least CPU time of many
//! runs of a [`Planner`] that is kept, with the rules alone (`--effort fast`), and how many times memory
//! was asked for in a run after the first. *Greedy* is what a planner does at the least: first writes and last reads, largest first,
//! each at the lowest offset that is free, every pair compared; it shares nothing in place, proves
//! nothing and verifies nothing.
//!
//! With the name of a row and a number, `small_plans random-500 100`, it plans that program so many times
//! and prints nothing, for a profiler; `verified` behind that verifies too.

use std::hint::black_box;
use std::time::{Duration, Instant};

use plimsoll::{
    AccessKind, DeclaredProgram, Execution, Options, Planner, Program, Role, StepId, ValueId,
    ValueInfo,
};
use plimsoll_pack::Effort;
use plimsoll_pack::testing::Rng;
use plimsoll_run::Counted;

#[global_allocator]
static MEMORY: Counted = Counted::new();

/// How long each is measured.
const LEAST: Duration = Duration::from_millis(400);

/// How long a batch of runs takes, about.
const BATCH: Duration = Duration::from_millis(2);

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    if let (Some(name), Some(times)) = (arguments.next(), arguments.next()) {
        let (_, program) = programs().into_iter().find(|(n, _)| *n == name).expect("a row");
        repeat(&program, times.parse().expect("a number"), arguments.next().is_some());
        return;
    }
    println!("| program | steps | greedy | unverified | verified | allocations | arena / bound |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, program) in programs() {
        row(&name, &program);
    }
}

/// Plans again and again.
fn repeat(program: &DeclaredProgram, times: usize, verified: bool) {
    let (mut planner, options) = (Planner::default(), options());
    for _ in 0..times {
        if verified {
            drop(black_box(planner.plan(black_box(program), &options)));
        } else {
            drop(black_box(planner.plan_unverified(black_box(program), &options)));
        }
    }
}

fn row(name: &str, program: &DeclaredProgram) {
    let options = options();
    let mut greedy = Greedy::default();
    let greedy = least(|| {
        black_box(greedy.pack(black_box(program)));
    });
    let mut planner = Planner::default();
    let unverified = least(|| {
        drop(black_box(planner.plan_unverified(black_box(program), &options)));
    });
    let verified = least(|| drop(black_box(planner.plan(black_box(program), &options))));
    let before = MEMORY.count();
    let plan = planner.plan(program, &options).expect("a plan");
    let allocations = MEMORY.count() - before;
    let ratio = plan.arena_bytes() as f64 / plan.derivation.lower_bound_bytes as f64;
    let steps = program.steps.len();
    println!(
        "| {name} | {steps} | {greedy:.1} | {unverified:.1} | {verified:.1} | {allocations} | {ratio:.3} |"
    );
}

fn options() -> Options {
    let mut options = Options::default();
    options.pack.effort = Effort::Fast;
    options.pack.work = None;
    options
}

/// The least time that a run takes, in microseconds: of batches of a few milliseconds the one in which a
/// run takes least.
fn least(mut run: impl FnMut()) -> f64 {
    let before = Instant::now();
    run();
    let batch = BATCH.div_duration_f64(before.elapsed()).clamp(1.0, 100.0) as u32;
    let (start, mut least) = (Instant::now(), f64::MAX);
    while start.elapsed() < LEAST {
        let before = cpu_nanos();
        (0..batch).for_each(|_| run());
        least = least.min((cpu_nanos() - before) as f64 / f64::from(batch));
    }
    least / 1000.0
}

/// The time that this thread has been running: what others do meanwhile does not count.
fn cpu_nanos() -> u64 {
    // The count is brought up to date when somebody else may run.
    std::thread::yield_now();
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
    stat.split(' ').next().and_then(|nanos| nanos.parse().ok()).expect("a number comes first")
}

/// Makes a program of so many steps.
type Kind = fn(usize) -> DeclaredProgram;

/// Every kind of program, in two sizes.
fn programs() -> Vec<(String, DeclaredProgram)> {
    let kinds: [(&str, Kind); 4] = [
        ("chain", chain),
        ("residual", residual),
        ("transformer", transformer),
        ("random", random),
    ];
    let sizes = [100, 500];
    let all = kinds
        .iter()
        .flat_map(|(kind, make)| sizes.map(|steps| (format!("{kind}-{steps}"), make(steps))));
    all.collect()
}

/// A program that is made step by step: what is computed, each from some values.
struct Making {
    program: DeclaredProgram,
    steps: usize,
}

impl Making {
    /// A program of so many steps, and its input.
    fn new(steps: usize, bytes: u64) -> (Self, ValueId) {
        let mut program = DeclaredProgram::new(Execution::InOrder);
        let input = program.add(ValueInfo { role: Role::Input, ..ValueInfo::new(bytes) });
        (Making { program, steps }, input)
    }

    /// A step with a weight.
    fn weighted(&mut self, from: ValueId, bytes: u64) -> ValueId {
        let param = ValueInfo { role: Role::Param, ..ValueInfo::new(4096) };
        let weight = self.program.add(param);
        self.computed(&[from, weight], bytes)
    }

    /// A step of some values.
    fn computed(&mut self, from: &[ValueId], bytes: u64) -> ValueId {
        if self.is_done() {
            return from[0];
        }
        let to = self.program.temporary(bytes);
        self.program.step(from, &[to]);
        to
    }

    /// A step that may do so in place of the first of them.
    fn in_place(&mut self, from: &[ValueId]) -> ValueId {
        let bytes = self.program.values[from[0].index()].bytes;
        let to = self.computed(from, bytes);
        if to != from[0] {
            let step = StepId::new(self.program.steps.len() - 1);
            self.program.overwrite(step, to, from[0], false);
        }
        to
    }

    fn is_done(&self) -> bool {
        self.program.steps.len() == self.steps
    }

    /// All of it: what nobody reads is an output.
    fn finish(mut self) -> DeclaredProgram {
        let mut is_read = vec![false; self.program.values.len()];
        for access in self.program.steps.iter().flat_map(|step| &step.accesses) {
            is_read[access.value.index()] |= access.kind == AccessKind::Read;
        }
        for (value, is_read) in self.program.values.iter_mut().zip(is_read) {
            value.output = !is_read && value.role == Role::Temporary;
        }
        self.program
    }
}

/// Layers one behind the other, every other in place.
fn chain(steps: usize) -> DeclaredProgram {
    let (mut making, mut x) = Making::new(steps, 64 * 1024);
    while !making.is_done() {
        let bytes = 1024 * (16 + 7 * making.program.steps.len() as u64 % 48);
        x = making.weighted(x, bytes);
        x = making.in_place(&[x]);
    }
    making.finish()
}

/// Blocks of two convolutions with a bypass, and a narrower one every eight.
fn residual(steps: usize) -> DeclaredProgram {
    let (mut making, x) = Making::new(steps, 64 * 1024);
    let mut bytes = 1 << 20;
    let mut x = making.weighted(x, bytes);
    for block in 0.. {
        if making.is_done() {
            break;
        }
        if block % 8 == 7 && bytes > 4096 {
            bytes /= 2;
            x = making.weighted(x, bytes);
        }
        let y = making.weighted(x, bytes);
        let y = making.in_place(&[y]);
        let y = making.weighted(y, bytes);
        let y = making.in_place(&[y, x]);
        x = making.in_place(&[y]);
    }
    making.finish()
}

/// Blocks of attention and of two dense layers.
fn transformer(steps: usize) -> DeclaredProgram {
    let (width, heads, hidden) = (96 * 1024, 160 * 1024, 4 * 96 * 1024);
    let (mut making, x) = Making::new(steps, width);
    let mut x = making.computed(&[x], width);
    while !making.is_done() {
        let normed = making.weighted(x, width);
        let q = making.weighted(normed, width);
        let k = making.weighted(normed, width);
        let v = making.weighted(normed, width);
        let scores = making.computed(&[q, k], heads);
        let scores = making.in_place(&[scores]);
        let mixed = making.computed(&[scores, v], width);
        let out = making.weighted(mixed, width);
        x = making.in_place(&[out, x]);
        let normed = making.weighted(x, width);
        let wide = making.weighted(normed, hidden);
        let wide = making.in_place(&[wide]);
        let out = making.weighted(wide, width);
        x = making.in_place(&[out, x]);
    }
    making.finish()
}

/// Steps that each read up to three of the last forty values, of any size.
fn random(steps: usize) -> DeclaredProgram {
    let mut rng = Rng::new(2026);
    let (mut making, x) = Making::new(steps, 4096);
    let mut made = vec![x];
    while !making.is_done() {
        let recent = &made[made.len().saturating_sub(40)..];
        let mut from: Vec<ValueId> = Vec::new();
        for _ in 0..rng.within(1..4) {
            let value = recent[rng.below(recent.len() as u64) as usize];
            if !from.contains(&value) {
                from.push(value);
            }
        }
        let is_unary = from.len() == 1 && from[0] != x;
        made.push(if is_unary && rng.below(2) == 0 {
            making.in_place(&from)
        } else {
            making.computed(&from, 64 * rng.within(1..1000))
        });
    }
    making.finish()
}

/// A plain planner, which keeps what it needs between calls.
#[derive(Default)]
struct Greedy {
    /// First step, last step, bytes and offset; by value.
    lives: Vec<(u32, u32, u64, u64)>,
    order: Vec<u32>,
    placed: Vec<u32>,
}

impl Greedy {
    /// The arena that it takes.
    fn pack(&mut self, program: &DeclaredProgram) -> u64 {
        self.lives.clear();
        let bytes = |info: &ValueInfo| if info.role == Role::Temporary { info.bytes } else { 0 };
        let unborn =
            |info: &ValueInfo| (u32::MAX, if info.output { u32::MAX } else { 0 }, bytes(info), 0);
        self.lives.extend(program.values.iter().map(unborn));
        for step in 0..program.steps() as u32 {
            for access in program.accesses(StepId(step)).iter() {
                let life = &mut self.lives[access.value.index()];
                *life = (life.0.min(step), life.1.max(step), life.2, life.3);
            }
        }
        self.order.clear();
        self.order.extend((0..self.lives.len() as u32).filter(|v| self.lives[*v as usize].2 > 0));
        self.order.sort_unstable_by_key(|v| std::cmp::Reverse(self.lives[*v as usize].2));
        self.placed.clear();
        let mut arena = 0;
        for value in &self.order {
            let (first, last, bytes, _) = self.lives[*value as usize];
            let mut offset = 0;
            for other in &self.placed {
                let (from, to, taken, at) = self.lives[*other as usize];
                if from <= last && first <= to && at < offset + bytes {
                    offset = u64::max(offset, (at + taken).next_multiple_of(64));
                }
            }
            self.lives[*value as usize].3 = offset;
            let at = self.placed.partition_point(|other| self.lives[*other as usize].3 <= offset);
            self.placed.insert(at, *value);
            arena = arena.max(offset + bytes);
        }
        arena
    }
}
