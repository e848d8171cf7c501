//! `plimsoll solve`: packs bare rectangles.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::ValueEnum;
use plimsoll_pack::exact::{self, Misfit};
use plimsoll_pack::{
    Limit, Options, Outcome, Problem, Progress, Reason, Status, csv, solve_watched,
};
use plimsoll_report::{PackingReport, Panel, Timing, write_svg};

use crate::Answer;
use crate::clock::Clock;
use crate::input::{ProblemArgs, Source};
use crate::output::{self, OutputArgs};
use crate::packing::PackingArgs;

const EXAMPLES: &str = "\
The problem is a CSV file with the columns id, lower, upper, size, and optionally alignment, offset (a
fixed place), hint and gaps. A buffer is live in [lower, upper); with a column end instead of upper,
the end is inclusive.

Examples:
  plimsoll solve                                 the built-in sample
  plimsoll solve problem.csv                     a summary and a map
  plimsoll solve problem.csv -o solution.csv     the problem with the offsets
  plimsoll solve problem.csv -o map.svg          a picture, time x address
  plimsoll solve problem.csv -o map.html         the same as an interactive page
  plimsoll solve problem.csv --format json       for scripts
  plimsoll solve problem.csv --budget 256KiB     does it fit? exit status 1 if not
  plimsoll solve - --align 64 < problem.csv      from standard input
  plimsoll solve --algorithm list                the algorithms";

/// Pack buffers with live ranges into one arena, with a lower bound on its size
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The problem; "-" reads standard input; without one, the built-in sample is packed
    #[arg(value_name = "PROBLEM.csv")]
    problem: Option<PathBuf>,

    #[command(flatten)]
    how_to_read: ProblemArgs,

    #[command(flatten)]
    packing: PackingArgs,

    #[command(flatten)]
    output: OutputArgs<Format>,
}

/// The forms of a packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A summary and a map, for people
    Text,
    /// One JSON object, for scripts
    Json,
    /// The problem with an offset for every buffer
    Csv,
    /// A picture, time x address
    Svg,
    /// An interactive map
    Html,
}

impl output::Format for Format {
    const TEXT: Self = Format::Text;

    fn suffixes(self) -> &'static [&'static str] {
        match self {
            Format::Text => &["txt"],
            Format::Json => &["json"],
            Format::Csv => &["csv"],
            Format::Svg => &["svg"],
            Format::Html => &["html"],
        }
    }
}

impl Format {
    /// Whether it can say why there is no packing.
    fn tells_refusals(self) -> bool {
        matches!(self, Format::Text | Format::Json)
    }
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let Some(options) = args.packing.resolve(Options::default())? else { return Ok(Answer::Yes) };
    let read: Vec<&Path> = args.problem.as_deref().into_iter().collect();
    let output = args.output.resolve(&read)?;
    let source = Source::or_sample(args.problem.as_deref());
    let table = args.how_to_read.read(&source)?;

    let mut clock = args.packing.start_clock();
    let outcome = solve_watched(&table.problem, &options, &mut |progress| clock.look(progress));
    let is_told = output.has(Format::tells_refusals);
    let (misfit, is_cut) = if is_told {
        misfit(&table.problem, &options, &outcome, &mut clock)
    } else {
        (None, false)
    };
    drop(clock);
    let timing = Timing {
        is_limited: args.packing.is_timed(),
        is_over: is_cut || outcome.limit == Some(Limit::Stopped),
    };
    let origin = source.origin();
    let report = PackingReport::new(&origin, &table, &outcome, misfit, timing);

    for one in output.iter() {
        // Without a solution there is nothing to draw, nor are there offsets to list.
        if outcome.solution.is_some() || one.format.tells_refusals() {
            one.write(|out| render(out, one.format, &report))?;
        }
    }
    if source == Source::Sample {
        output.note("no problem given; this is the built-in sample");
    }
    let Some(refusal) = report.refusal() else { return Ok(Answer::Yes) };
    output.note(&format!("{source}: {refusal}"));
    Ok(Answer::No)
}

/// The smallest set of buffers that does not fit the capacity, if that is why there is no packing;
/// and whether time was over before it was clear that it is the smallest.
fn misfit(
    problem: &Problem,
    options: &Options,
    outcome: &Outcome,
    clock: &mut Clock,
) -> (Option<Misfit>, bool) {
    let Status::Infeasible(Reason::Capacity { capacity, bound }) = &outcome.status else {
        return (None, false);
    };
    let mut search = exact::Options::default();
    search.work = options.work.unwrap_or(options.effort.work()).max(search.work);
    let (arena_bytes, lower_bound_bytes) = (outcome.arena_bytes, bound.bytes);
    let mut is_cut = false;
    let misfit = exact::misfit_watched(problem, *capacity, &search, &mut |progress| {
        let look = clock.look(&Progress { arena_bytes, lower_bound_bytes, ..*progress });
        is_cut = look.is_break();
        look
    });
    (misfit, is_cut)
}

/// Writes a packing in one of its forms.
pub(crate) fn render(
    out: &mut dyn Write,
    format: Format,
    report: &PackingReport<'_>,
) -> io::Result<()> {
    match (format, &report.outcome.solution) {
        (Format::Text, _) => report.write_text(out),
        (Format::Json, _) => report.write_json(out),
        (Format::Csv, Some(solution)) => csv::write_solution(out, report.table, solution),
        (Format::Svg, Some(solution)) => {
            let panel = Panel { caption: report.caption(), drawing: report.drawing(solution) };
            write_svg(out, &report.source.name, &[panel])
        }
        (Format::Html, Some(solution)) => out.write_all(report.page(solution).as_bytes()),
        (Format::Csv | Format::Svg | Format::Html, None) => Ok(()),
    }
}
