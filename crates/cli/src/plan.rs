//! `plimsoll plan`: what shares bytes with what, and where everything is.

use std::io::{self, Write};
use std::path::PathBuf;

use anstyle::AnsiColor;
use anyhow::{Result, anyhow};
use clap::ValueEnum;
use plimsoll::annotate::annotate;
use plimsoll::{
    Best, Homeless, NoRoom, PLAN_FORMAT, PlanError, Program, ScheduledGraph, SharedLayout, Told,
    VerifiedPlan, plan_watched, text,
};
use serde_json::json;

use crate::choices::ChoiceArgs;
use crate::input::Source;
use crate::model::ModelArgs;
use crate::output::{self, Output, OutputArgs};
use crate::report::{Asked, PlanReport, bold, write_title};
use crate::{Answer, size};

const EXAMPLES: &str = "\
The model is an .onnx file, a .plim file (a graph as text) or a .json file (a training graph).

Examples:
  plimsoll plan                                  the built-in sample
  plimsoll plan net.onnx                         a summary and a map
  plimsoll plan net.onnx --dim batch=1 --dim seq=1..512
                                                 what the symbols in its shapes stand for
  plimsoll plan net.onnx --input-shape x=1,3,224,224
                                                 the shape of an input that has none
  plimsoll plan net.onnx -o plan.json            the plan, for `plimsoll verify` and runtimes
  plimsoll plan net.onnx -o plan.tsv             offset, size and name of every value
  plimsoll plan net.onnx -o packing.csv          the packing below it, for `plimsoll check`
  plimsoll plan net.onnx -o map.svg              a picture, time x address
  plimsoll plan net.onnx -o noted.plim           the graph, with notes of where everything is
  plimsoll plan net.onnx --budget 256KiB         does it fit? exit status 1 if not
  plimsoll plan net.onnx --place all --guard 128 everything in one arena, bytes free behind it
  plimsoll plan net.onnx --bank sram=512KiB,align=16 --bank dram
                                                 two memories, the fast one first
  plimsoll plan decoder.onnx --donate past=present
                                                 a cache that is updated where it is
  plimsoll plan net.onnx --no-reuse              every value its own place, to find a bug
  plimsoll plan net.onnx --no-reuse=Transpose,Narrow:0-9
                                                 only what these nodes make
  plimsoll plan forward.plim --place params --write-shared weights.json
  plimsoll plan backward.plim --shared-from weights.json
                                                 one place for the weights of two graphs

With several banks a CSV has the rows of all of them, as BANK/NAME; offsets count in the bank.";

/// Plan the memory of a model: one arena, or several banks, as small as can be found
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The model; - for standard input, nothing for the built-in sample
    #[arg(value_name = "FILE")]
    model: Option<PathBuf>,

    #[command(flatten)]
    how_to_read: ModelArgs,

    #[command(flatten)]
    choices: ChoiceArgs,

    /// The arena (all banks together) shall have at most this many bytes
    #[arg(long, value_name = "SIZE", value_parser = size::parse, allow_hyphen_values = true)]
    budget: Option<u64>,

    /// Write down where the params are, for --shared-from
    #[arg(long, value_name = "FILE.json")]
    write_shared: Option<PathBuf>,

    #[command(flatten)]
    output: OutputArgs<Format>,
}

/// The forms of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A summary and a map, for people
    Text,
    /// One object, for scripts and `plimsoll verify`
    Json,
    /// Offset, size and name of every value
    Tsv,
    /// The packing below the plan
    Csv,
    /// A picture, time x address
    Svg,
    /// The graph, with notes on every node of where its outputs are
    Plim,
}

impl output::Format for Format {
    const TEXT: Self = Format::Text;

    fn extension(self) -> &'static str {
        match self {
            Format::Text => "txt",
            Format::Json => "json",
            Format::Tsv => "tsv",
            Format::Csv => "csv",
            Format::Svg => "svg",
            Format::Plim => "plim",
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let output = args.output.resolve()?;
    let Some(mut options) = args.choices.resolve()? else { return Ok(Answer::Yes) };
    let lowering = args.how_to_read.resolve()?;
    let source = args.model.as_deref().map_or(Source::Sample, Source::named);
    let mut loaded = lowering.load(&source)?;
    options.apart = args.choices.apart(&loaded.graph)?;
    let best = lowering.improve(&mut loaded, &options, &source)?;
    let program = lowering.program(&loaded.graph, &source)?;
    options.schedule = best.ordering.as_ref().and_then(|ordering| ordering.steps.clone());

    let mut told = Told::new();
    lowering.tell(&mut told);
    args.choices.tell(&options, &mut told);
    if !best.vanished.is_empty() {
        let names = best.vanished.iter().map(|node| &loaded.graph.node(*node).name);
        told.insert("joined".to_owned(), json!(names.collect::<Vec<_>>()));
    }
    if let Some(budget) = args.budget {
        told.insert("budget_bytes".to_owned(), json!(budget));
    }
    let mut clock = args.choices.packing.start_clock();
    let planned = plan_watched(&program, &options, &mut |progress| clock.look(progress));
    drop(clock);
    let answer = match planned {
        Ok(plan) => {
            let corners = lowering.used_at_corners(&loaded, &program, &plan, &source)?;
            let planned = Planned {
                source: &source,
                program: &program,
                plan: &plan,
                corners: &corners,
                best: &best,
            };
            args.show(&output, &planned, told)?
        }
        Err(PlanError::NoRoom(why)) => {
            refuse(&output, &source, &program, &why, &told)?;
            Answer::No
        }
        Err(error) => {
            let blamed = match (&error, args.choices.shared_source()) {
                (PlanError::Shared(_), Some(shared)) => shared,
                _ => source,
            };
            return Err(anyhow!(error).context(blamed.to_string()));
        }
    };
    if source == Source::Sample && !output.is_read_at_once() {
        output::note("no model given; this is the built-in sample");
    }
    Ok(answer)
}

/// A plan, what it is for, and what was found on the way.
struct Planned<'a> {
    source: &'a Source,
    program: &'a ScheduledGraph<'a>,
    plan: &'a VerifiedPlan,
    corners: &'a [(String, u64)],
    best: &'a Best,
}

impl Args {
    fn show(&self, output: &Output<Format>, planned: &Planned<'_>, told: Told) -> Result<Answer> {
        let Planned { source, program, plan, corners, best } = *planned;
        let asked =
            Asked { budget: self.budget, is_timed: self.choices.packing.is_timed(), corners, best };
        let report = PlanReport::new(source, program, plan, asked);
        output.write(|out| match output.format {
            Format::Text => report.write_text(out),
            Format::Json => report.write_json(out, told),
            Format::Tsv => report.write_tsv(out),
            Format::Csv => report.write_csv(out),
            Format::Svg => report.write_svg(out),
            Format::Plim => write_annotated(out, program, plan),
        })?;
        if let Some(path) = &self.write_shared {
            let layout = SharedLayout::from_plan(program, plan);
            if layout.values.is_empty() {
                output::note("no param has a place, so none is shared; try --place params,outputs");
            }
            output::to_path(path, &layout.to_json())?;
        }
        let Some(refusal) = report.refusal() else { return Ok(Answer::Yes) };
        if !output.is_read_at_once() {
            output::note(&format!("{source}: {refusal}"));
        }
        Ok(Answer::No)
    }
}

/// Writes the graph with what the plan says of each node.
fn write_annotated(
    out: &mut dyn Write,
    program: &ScheduledGraph<'_>,
    plan: &VerifiedPlan,
) -> io::Result<()> {
    let mut graph = program.graph().clone();
    annotate(program, plan).apply(&mut graph);
    out.write_all(text::print(&graph).as_bytes())
}

/// Says that there is no plan: in the form that was asked for, where it can say so.
fn refuse(
    output: &Output<Format>,
    source: &Source,
    program: &dyn Program,
    why: &NoRoom,
    told: &Told,
) -> Result<()> {
    let style = bold(AnsiColor::Red);
    let (word, refusal) = (if why.proven { "infeasible" } else { "not found" }, why.to_string());
    match output.format {
        Format::Text => output.write(|out| {
            write_title(out, source, program)?;
            writeln!(out, "{style}{word}{style:#}: {}", output::one_line(&refusal))
        })?,
        Format::Json => output.write(|out| write_infeasible(out, why, told))?,
        // Without a plan there is nothing to draw or to list.
        Format::Tsv | Format::Csv | Format::Svg | Format::Plim => {}
    }
    if !output.is_read_at_once() {
        output::note(&format!("{source}: {word}: {refusal}"));
    }
    Ok(())
}

fn write_infeasible(mut out: &mut dyn Write, why: &NoRoom, told: &Told) -> io::Result<()> {
    let mut object = json!({
        "format": PLAN_FORMAT,
        "arena_bytes": null,
        "lower_bound_bytes": why.lower_bound_bytes,
        "status": "infeasible",
        "proven": why.proven,
        "reason": why.to_string(),
        "options": told,
    });
    if !why.misfit.is_empty() {
        let row = |one: &Homeless| {
            let key = if one.is_scratch { "step" } else { "value" };
            json!({ key: one.name, "bytes": one.bytes })
        };
        object["misfit"] = why.misfit.iter().map(row).collect();
        object["misfit_irreducible"] = json!(why.irreducible);
    }
    serde_json::to_writer_pretty(&mut out, &object)?;
    writeln!(out)
}
