//! `plimsoll solve`: packs bare rectangles.

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use plimsoll_pack::{Algorithm, Options, csv, solve};

use crate::Answer;
use crate::input::{ProblemArgs, Source};
use crate::output::{self, OutputArgs};
use crate::report::Report;

const EXAMPLES: &str = "\
The problem is a CSV file with the columns id, lower, upper, size and, if you like, alignment,
offset (a fixed place), hint and gaps. A buffer lives in [lower, upper); with a column end in
place of upper, end belongs to the life.

Examples:
  plimsoll solve                                 the built-in sample
  plimsoll solve problem.csv                     a summary and a map
  plimsoll solve problem.csv -o solution.csv     the problem with the offsets
  plimsoll solve problem.csv -o map.svg          a picture, time x address
  plimsoll solve problem.csv --format json       for scripts
  plimsoll solve problem.csv --capacity 256KiB   does it fit? exit status 1 if not
  plimsoll solve - --align 64 < problem.csv      from standard input
  plimsoll solve --algorithm list                what can be tried";

/// Pack buffers into one arena that is as small as can be found
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The problem; - for standard input, nothing for the built-in sample
    #[arg(value_name = "PROBLEM.csv")]
    problem: Option<PathBuf>,

    #[command(flatten)]
    how_to_read: ProblemArgs,

    /// Use this algorithm alone; "list" prints all of them [default: try all]
    #[arg(long, value_name = "NAME", value_parser = parse_choice)]
    algorithm: Option<Choice>,

    /// How many algorithms run at once; the answer does not depend on it [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    threads: Option<NonZeroUsize>,

    #[command(flatten)]
    output: OutputArgs<Format>,
}

/// What can follow `--algorithm`.
#[derive(Clone, Copy, Debug)]
enum Choice {
    List,
    One(Algorithm),
}

fn parse_choice(name: &str) -> Result<Choice, String> {
    if name == "list" {
        return Ok(Choice::List);
    }
    let unknown = || "unknown algorithm; `plimsoll solve --algorithm list` prints all".to_owned();
    Algorithm::by_name(name).map(Choice::One).ok_or_else(unknown)
}

fn parse_threads(number: &str) -> Result<NonZeroUsize, String> {
    number.parse().map_err(|_| "expected a number of threads, at least 1".to_owned())
}

/// The forms of a packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A summary and a map, for people
    Text,
    /// One object, for scripts
    Json,
    /// The problem with its offsets
    Csv,
    /// A picture, time x address
    Svg,
}

impl output::Format for Format {
    const TEXT: Self = Format::Text;

    fn extension(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Json => "json",
            Format::Csv => "csv",
            Format::Svg => "svg",
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let algorithms = match args.algorithm {
        Some(Choice::List) => return list_algorithms(),
        Some(Choice::One(algorithm)) => vec![algorithm],
        None => Vec::new(),
    };
    let output = args.output.resolve()?;
    let source = args.problem.as_deref().map_or(Source::Sample, Source::named);
    let table = args.how_to_read.read(&source)?;

    let mut options = Options::default();
    options.algorithms = algorithms;
    options.threads = args.threads.map_or(1, NonZeroUsize::get);
    let outcome = solve(&table.problem, &options);
    let report = Report::new(&source, &table, &outcome);

    // Without a solution there is nothing to draw, nor are there offsets to list.
    if outcome.solution.is_some() || matches!(output.format, Format::Text | Format::Json) {
        output.write(|out| render(out, output.format, &report))?;
    }
    if source == Source::Sample && !output.is_read_at_once() {
        output::note("no problem given; this is the built-in sample");
    }
    let Some(refusal) = report.refusal() else { return Ok(Answer::Yes) };
    if !output.is_read_at_once() {
        output::note(&format!("{source}: {refusal}"));
    }
    Ok(Answer::No)
}

fn render(out: &mut dyn Write, format: Format, report: &Report<'_>) -> io::Result<()> {
    match (format, &report.outcome.solution) {
        (Format::Text, _) => report.write_text(out),
        (Format::Json, _) => report.write_json(out),
        (Format::Csv, Some(solution)) => csv::write_solution(out, report.table, solution),
        (Format::Svg, Some(solution)) => report.write_svg(out, solution),
        (Format::Csv | Format::Svg, None) => Ok(()),
    }
}

fn list_algorithms() -> Result<Answer> {
    output::to_stdout(true, |out| {
        for algorithm in Algorithm::all() {
            writeln!(out, "{:<24}{}", algorithm.to_string(), algorithm.about())?;
        }
        Ok(())
    })?;
    Ok(Answer::Yes)
}
