//! `plimsoll run`: a model inside exactly the bytes that are planned for it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anstyle::AnsiColor;
use anyhow::{Context, Result, anyhow, bail, ensure};
use bytes::Bytes;
use clap::ValueEnum;
use plimsoll::OrderEffort;
use plimsoll_model::{Model, Weights};
use plimsoll_onnx::OnnxWeights;
use plimsoll_report::size::long;
use plimsoll_report::{bold, counted, plain};
use plimsoll_run::{Array, CallInfo, Checked, Fuse, Options, Port, SeededWeights, Session, check};
use serde_json::{Value, json};

use crate::dims::{DimArgs, RecordedDims};
use crate::donations::DonationArgs;
use crate::given::GivenInputs;
use crate::input::Source;
use crate::kind::Wanted;
use crate::model::SAMPLE;
use crate::numbers::{Summary, Worst, worst};
use crate::{ALLOCATOR, Answer, npy, output};

const EXAMPLES: &str = "\
Examples:
  plimsoll run                                   the built-in sample, on random inputs
  plimsoll run net.onnx --input x=image.npy      a model, on a numpy array
  plimsoll run net.onnx --dim batch=1 -o out.npz the size of a symbolic dim; the outputs to a file
  plimsoll run net.onnx --runs 20 --profile      the time of a run, by operator and by node
  plimsoll run net.onnx --trace run.json         every call in time, for Perfetto
  plimsoll run net.onnx --state past=present --runs 8
                                                 state that is carried from run to run
  plimsoll run net.onnx --dim seq=1..512 --at seq=17
                                                 one plan for every size in a range; a run at one of them
  plimsoll run net.onnx --check                  compare with a run in which no two tensors share memory
  plimsoll run net.onnx --expect out.npz         exit status 1 if the outputs differ from these
  plimsoll run stripped.onnx --random-weights 1  a model whose weights are missing

Arrays are .npy files, .npz archives (the member named like the input, or the only one), or raw little-endian
elements. An array gives the sizes of its input's symbolic dims: they need no --dim and no --at.";

/// Execute a model inside its planned arena, without allocating
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The model, an ONNX file; without one, the built-in sample is run
    #[arg(value_name = "FILE")]
    model: Option<PathBuf>,

    #[command(flatten)]
    dims: DimArgs,

    /// The size of a ranged dim in this run [default: the largest]
    #[arg(long, value_name = "NAME=N", value_parser = parse_size, help_heading = "Model")]
    at: Vec<(String, u64)>,

    #[command(flatten)]
    donations: DonationArgs,

    /// Read an input from a file; without a name, all inputs from the arrays of an .npz archive
    #[arg(long, value_name = "NAME=FILE|FILE.npz", value_parser = parse_input, help_heading = "Data")]
    input: Vec<(Option<String>, PathBuf)>,

    /// The seed of random inputs, for those that are not given
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Data")]
    seed: u64,

    /// Use random weights from this seed where the file lacks them
    #[arg(long, value_name = "SEED", help_heading = "Data")]
    random_weights: Option<u64>,

    /// How much to search for a schedule with a smaller arena
    #[arg(long, value_enum, value_name = "HOW", default_value_t = Order::Fast, help_heading = "Execution")]
    order: Order,

    /// Execute node by node: do not fuse nodes into steps that need less memory
    #[arg(long, help_heading = "Execution")]
    no_fuse: bool,

    /// The number of runs; the shortest time is reported
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_count::<1_000_000_000>, help_heading = "Execution")]
    runs: usize,

    /// The number of threads; the outputs are the same bit for bit
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_count::<16>, help_heading = "Execution")]
    threads: usize,

    /// Compare every read and write with a run in which no two tensors share memory; dead bytes are poisoned
    #[arg(long, help_heading = "Checks")]
    check: bool,

    /// Report the time by operator and by node: of every call the shortest of all runs
    #[arg(long, help_heading = "Checks")]
    profile: bool,

    /// Write a trace of every call, for Perfetto
    #[arg(long, value_name = "FILE.json", help_heading = "Checks")]
    trace: Option<PathBuf>,

    /// Compare the outputs with these, by name; exit status 1 if they differ
    #[arg(long, value_name = "FILE.npz", help_heading = "Checks")]
    expect: Option<PathBuf>,

    /// The largest difference from an expected output, relative to its largest element
    #[arg(long, value_name = "X", default_value_t = 1e-5, value_parser = parse_tolerance, allow_negative_numbers = true, help_heading = "Checks")]
    tolerance: f64,

    /// Write the outputs to this file
    #[arg(short, long, value_name = "FILE.npz", value_parser = parse_archive, help_heading = "Output")]
    output: Option<PathBuf>,
}

/// How long to search for an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// Not at all: that of the file
    Given,
    /// By rules
    Fast,
    /// As `plimsoll plan` does
    Best,
}

fn parse_input(text: &str) -> Result<(Option<String>, PathBuf), String> {
    match text.split_once('=') {
        Some((name, path)) => Ok((Some(name.to_owned()), PathBuf::from(path))),
        None if Path::new(text).extension().is_some_and(|end| end == "npz") => {
            Ok((None, PathBuf::from(text)))
        }
        None => Err("expected NAME=FILE or FILE.npz".to_owned()),
    }
}

fn parse_count<const MOST: usize>(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=MOST).contains(count));
    count.ok_or_else(|| format!("expected a number from 1 to {MOST}"))
}

fn parse_tolerance(text: &str) -> Result<f64, String> {
    let tolerance = text.parse().ok().filter(|x: &f64| x.is_finite() && *x >= 0.0);
    tolerance.ok_or_else(|| "expected a number that is not negative".to_owned())
}

fn parse_archive(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let is_archive = path.extension().is_some_and(|end| end == "npz");
    if is_archive { Ok(path) } else { Err("outputs are written as .npz".to_owned()) }
}

fn parse_size(text: &str) -> Result<(String, u64), String> {
    let (name, size) = text.rsplit_once('=').ok_or("expected NAME=N")?;
    Ok((name.to_owned(), size.parse().map_err(|_| format!("{size:?} is not a number"))?))
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let source = Source::or_sample(args.model.as_deref());
    args.spare_inputs()?;
    let opened = Opened::new(args, source)?;
    let named = |error: anyhow::Error| opened.named(&error);
    let expectations = args.expect.as_deref().map(Expected::read).transpose()?;
    let mut session = opened.session()?;
    if let Some(expectations) = &expectations {
        expectations.check_names(&session)?;
    }
    opened.resize(&mut session).map_err(named)?;
    let inputs = opened.given.filled(args.seed, session.inputs());
    session.fill(&inputs).map_err(|error| named(error.into()))?;
    let timed = timed(&mut session, args.runs).map_err(named)?;
    let outputs = outputs_of(&session);
    if !output::is_quiet() {
        output::to_stdout(true, |out| {
            write_summary(out, &opened.source, &session, &timed, &outputs)
        })?;
    }
    if args.profile || args.trace.is_some() {
        session.fill(&inputs).map_err(|error| named(error.into()))?;
        let calls = watched(&mut session, args.runs.max(1)).map_err(named)?;
        if args.profile {
            output::to_stdout(true, |out| {
                if let Some((node, bytes)) = session.largest_scratch() {
                    writeln!(out, "  most scratch   {} of {}", long(bytes), plain(node))?;
                }
                profile(&calls).write(out)
            })?;
        }
        if let Some(path) = &args.trace {
            output::to_path(path, trace(&calls))?;
        }
    }
    let mut answer = Answer::Yes;
    if args.check {
        let options = opened.one_size();
        let checked =
            opened.with_weights(|weights| checked(&opened.model, weights, &inputs, &options));
        answer = checked.map_err(named)?;
    }
    if let Some(path) = &args.output {
        let bytes = npy::write_archive(outputs.iter().map(|(name, array)| (&name[..], array)))?;
        output::to_path(path, bytes)?;
    }
    if let Some(expectations) = &expectations
        && !expectations.are_met(&outputs, args.tolerance)?
    {
        answer = Answer::No;
    }
    if opened.source == Source::Sample {
        output::note("no model given; this is the built-in sample");
    }
    Ok(answer)
}

/// A model that is read, and how it is to be run.
pub(crate) struct Opened {
    source: Source,
    model: Model,
    weights: OnnxWeights,
    random_weights: Option<u64>,
    options: Options,
    given: GivenInputs,
    /// The sizes of dims that have a range, as far as anybody says.
    sizes: BTreeMap<String, u64>,
}

impl Opened {
    pub(crate) fn new(args: &Args, source: Source) -> Result<Self> {
        let (model, weights) = read(&source)?;
        let given = GivenInputs::read(&args.input, &model)?;
        let (random_weights, mut options) = (args.random_weights, args.options(&model)?);
        let mut sizes = given.bind(&model, &options.ranges, &mut options.bindings);
        sizes.extend(args.at.iter().cloned());
        Ok(Opened { source, model, weights, random_weights, options, given, sizes })
    }

    /// Sets a session up for the sizes that are asked for; the largest where nobody asks.
    fn resize(&self, session: &mut Session<'_>) -> Result<()> {
        if self.sizes.is_empty() {
            return Ok(());
        }
        let largest = self.options.ranges.iter().map(|range| (&range.symbol[..], range.most));
        let mut sizes: BTreeMap<&str, u64> = largest.collect();
        sizes.extend(self.sizes.iter().map(|(symbol, size)| (&symbol[..], *size)));
        let sizes: Vec<(&str, u64)> = sizes.into_iter().collect();
        self.with_weights(|weights| Ok(session.resize(&self.model, weights, &sizes)?))
    }

    /// The options for the size that is run alone: what is checked is one run.
    fn one_size(&self) -> Options {
        let mut options = self.options.clone();
        options.bindings.symbols.extend(self.sizes.clone());
        options.ranges.clear();
        options
    }

    /// The model, ready to run.
    pub(crate) fn session(&self) -> Result<Session<'static>> {
        let session = self.with_weights(|weights| {
            Session::new(&self.model, weights, &self.options).map_err(anyhow::Error::from)
        });
        session.map_err(|error| self.named(&error))
    }

    fn with_weights<T>(&self, work: impl FnOnce(&dyn Weights) -> T) -> T {
        match self.random_weights {
            Some(seed) => work(&SeededWeights::new(&self.model, &self.weights, seed)),
            None => work(&self.weights),
        }
    }

    /// What is wrong with the model, with its name.
    fn named(&self, error: &anyhow::Error) -> anyhow::Error {
        anyhow!("{}: {error:#}", self.source)
    }
}

/// The model of a source, with its weights.
fn read(source: &Source) -> Result<(Model, OnnxWeights)> {
    let read = match source {
        Source::Sample => plimsoll_onnx::read_with_weights(Bytes::from_static(SAMPLE)),
        Source::Stdin => bail!("standard input: a model that is run has to be a file"),
        Source::Memory(bytes) => plimsoll_onnx::read_with_weights(bytes.clone()),
        Source::File(path) => {
            source.open(Wanted::Model).with_context(|| source.to_string())?;
            plimsoll_onnx::load_with_weights(path)
        }
    };
    read.map_err(|error| anyhow!("{source}: {error}"))
}

impl Args {
    /// None of the files that are read may be written.
    fn spare_inputs(&self) -> Result<()> {
        let inputs = self.input.iter().map(|(_, path)| path.as_path());
        let read = self.model.iter().chain(&self.expect).map(PathBuf::as_path).chain(inputs);
        let read: Vec<&Path> = read.collect();
        self.output.iter().chain(&self.trace).try_for_each(|path| output::spare(path, &read))
    }

    fn options(&self, model: &Model) -> Result<Options> {
        let dims = self.dims.or_as_recorded(RecordedDims::default())?;
        let mut options = Options::default().with_bindings(dims.largest());
        options.ranges = dims.all_ranges();
        (options.donations, options.states) = self.donations.of(model)?;
        ensure!(
            options.ranges.is_empty() || options.donations.is_empty(),
            "--donate: with a range of sizes, outputs are not made in the bytes of inputs"
        );
        options.threads = self.threads;
        options.tries.order = match self.order {
            Order::Given => None,
            Order::Fast => Some(OrderEffort::Fast),
            Order::Best => Some(OrderEffort::Default),
        };
        if self.no_fuse {
            options.fuse = Fuse::Nothing;
        }
        Ok(options)
    }
}

fn outputs_of(session: &Session<'_>) -> BTreeMap<String, Array> {
    let output = |port: &Port| {
        let bytes = session.output_bytes(&port.name).unwrap_or_default().to_vec();
        (port.name.clone(), Array { dtype: port.dtype, dims: port.dims.clone(), bytes })
    };
    session.outputs().iter().map(output).collect()
}

/// How long runs take, and what they ask for.
struct Timed {
    runs: usize,
    least: Duration,
    allocations: u64,
}

fn timed(session: &mut Session<'_>, runs: usize) -> Result<Timed> {
    let (mut least, before) = (Duration::MAX, ALLOCATOR.count());
    for _ in 0..runs {
        let start = Instant::now();
        session.run()?;
        least = least.min(start.elapsed());
    }
    Ok(Timed { runs, least, allocations: ALLOCATOR.count() - before })
}

fn write_summary(
    out: &mut dyn Write,
    source: &Source,
    session: &Session<'_>,
    timed: &Timed,
    outputs: &BTreeMap<String, Array>,
) -> io::Result<()> {
    let style = bold(AnsiColor::Green);
    let (calls, fused) = (counted(session.calls(), "call"), session.fused().len());
    let fused = if fused == 0 { String::new() } else { format!(", {fused} of several nodes") };
    writeln!(out, "{style}{source}{style:#}: {calls}{fused}")?;
    writeln!(out, "  arena          {}", long(session.arena_bytes()))?;
    writeln!(out, "  inputs         {}", long(session.input_memory_bytes() as u64))?;
    writeln!(out, "  weights        {}", long(session.constant_bytes() as u64))?;
    writeln!(out, "  packed weights {}", long(session.packed_bytes() as u64))?;
    let least = if timed.runs == 1 { String::new() } else { format!(", least of {}", timed.runs) };
    writeln!(out, "  time           {:.3} ms{least}", timed.least.as_secs_f64() * 1e3)?;
    writeln!(out, "  allocations    {} in {}", timed.allocations, counted(timed.runs, "run"))?;
    for (name, array) in outputs {
        writeln!(out, "  output {}", Summary { name, array })?;
    }
    Ok(())
}

/// Time by operator and by node.
struct Profile {
    total: Duration,
    ops: Vec<(String, usize, Duration)>,
    nodes: Vec<(String, String, Duration)>,
}

/// The most nodes that are told.
const MOST_NODES: usize = 10;

/// A call in a run: its node and operator, when it began and how long it took at least.
struct TimedCall {
    node: String,
    op: String,
    began: Duration,
    taken: Duration,
}

/// Runs so often once more, and notes of every call when it began in the first of these runs and the least time that it
/// took in any.
fn watched(session: &mut Session<'_>, runs: usize) -> Result<Vec<TimedCall>> {
    let mut calls: Vec<TimedCall> = Vec::with_capacity(session.calls());
    for _ in 0..runs {
        let start = Instant::now();
        let (mut began, mut at) = (start.elapsed(), 0);
        session.run_watched(|CallInfo { node, op }| {
            let taken = start.elapsed().saturating_sub(began);
            if let Some(call) = calls.get_mut(at) {
                call.taken = call.taken.min(taken);
            } else {
                let (node, op) = (node.to_owned(), op.to_owned());
                calls.push(TimedCall { node, op, began, taken });
            }
            at += 1;
            began = start.elapsed();
        })?;
    }
    Ok(calls)
}

/// The calls as events of a trace.
fn trace(calls: &[TimedCall]) -> String {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let event = |call: &TimedCall| {
        json!({
            "name": call.node, "cat": call.op, "ph": "X", "pid": 1, "tid": 1,
            "ts": micros(call.began), "dur": micros(call.taken), "args": { "op": call.op },
        })
    };
    let events: Vec<Value> = calls.iter().map(event).collect();
    json!({ "displayTimeUnit": "ns", "traceEvents": events }).to_string()
}

fn profile(calls: &[TimedCall]) -> Profile {
    let mut nodes: Vec<(String, String, Duration)> = Vec::with_capacity(calls.len());
    for TimedCall { node, op, taken, .. } in calls {
        match nodes.last_mut() {
            Some((name, _, all)) if name == node => *all += *taken,
            _ => nodes.push((node.clone(), op.clone(), *taken)),
        }
    }
    let mut by_op: BTreeMap<&str, (usize, Duration)> = BTreeMap::new();
    for (_, op, taken) in &nodes {
        let entry = by_op.entry(op).or_default();
        *entry = (entry.0 + 1, entry.1 + *taken);
    }
    let mut ops: Vec<(String, usize, Duration)> =
        by_op.into_iter().map(|(op, (count, taken))| (op.to_owned(), count, taken)).collect();
    ops.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
    let total = nodes.iter().map(|(.., taken)| *taken).sum();
    nodes.sort_by_cached_key(|(.., taken)| std::cmp::Reverse(*taken));
    nodes.truncate(MOST_NODES);
    Profile { total, ops, nodes }
}

impl Profile {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let ms = |taken: Duration| taken.as_secs_f64() * 1e3;
        let part =
            |taken: Duration| 100.0 * taken.as_secs_f64() / self.total.as_secs_f64().max(1e-12);
        writeln!(out, "       ms      %  nodes  operator")?;
        for (op, count, taken) in &self.ops {
            writeln!(out, "{:9.3} {:6.1} {count:6}  {}", ms(*taken), part(*taken), plain(op))?;
        }
        writeln!(out, "       ms      %  node")?;
        for (node, op, taken) in &self.nodes {
            writeln!(
                out,
                "{:9.3} {:6.1}  {} ({})",
                ms(*taken),
                part(*taken),
                plain(node),
                plain(op)
            )?;
        }
        Ok(())
    }
}

fn checked(
    model: &Model,
    weights: &dyn Weights,
    inputs: &BTreeMap<String, Array>,
    options: &Options,
) -> Result<Answer> {
    match check(model, weights, inputs, options)? {
        Ok(Checked { calls, read_bytes, written_bytes, poisoned_bytes, .. }) => {
            output::to_stdout(true, |out| {
                let calls = counted(calls, "call");
                writeln!(
                    out,
                    "  checked        {calls}: {read_bytes} bytes read and {written_bytes} written as \
                     with every tensor apart, {poisoned_bytes} dead ones overwritten"
                )
            })?;
            Ok(Answer::Yes)
        }
        Err(fault) => {
            output::note(&fault.to_string());
            Ok(Answer::No)
        }
    }
}

/// The outputs that are expected.
struct Expected<'a> {
    path: &'a Path,
    arrays: Vec<(String, Array)>,
}

impl<'a> Expected<'a> {
    fn read(path: &'a Path) -> Result<Self> {
        let named = || path.display().to_string();
        let bytes = fs::read(path).context("cannot read").with_context(named)?;
        Ok(Expected { path, arrays: npy::read_archive(&bytes).with_context(named)? })
    }

    /// That they are of outputs that there are, and of some.
    fn check_names(&self, session: &Session<'_>) -> Result<()> {
        let path = self.path.display();
        ensure!(!self.arrays.is_empty(), "{path}: there is no array in it");
        for (name, _) in &self.arrays {
            let is_there = session.outputs().iter().any(|port| port.name == *name);
            ensure!(is_there, "{path}: there is no output `{}`", plain(name));
        }
        Ok(())
    }

    /// Whether the outputs are near enough; says where they are not.
    fn are_met(&self, outputs: &BTreeMap<String, Array>, tolerance: f64) -> Result<bool> {
        let mut fits = true;
        for (name, array) in &self.arrays {
            let place = || format!("{}: `{}`", self.path.display(), plain(name));
            let found = outputs.get(name).ok_or_else(|| anyhow!("{}: no such output", place()))?;
            let Worst { index, found, expected, scale } =
                worst(found, array).with_context(place)?;
            // Equal infinities have no difference.
            let is_same = found.total_cmp(&expected).is_eq();
            let relative = if is_same { 0.0 } else { (found - expected).abs() / scale };
            let is_near = relative <= tolerance || (found.is_nan() && expected.is_nan());
            let verdict = if is_near { "as expected" } else { "not as expected" };
            output::to_stdout(true, |out| {
                writeln!(
                    out,
                    "  {verdict}: `{}`, worst at {index}: {found:e} where {expected:e} is expected, \
                     {relative:.2e} of the largest",
                    plain(name)
                )
            })?;
            fits &= is_near;
        }
        Ok(fits)
    }
}
