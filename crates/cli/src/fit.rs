//! `plimsoll fit`: the same model, rewritten so that it needs less memory.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::{ArgGroup, ValueEnum};
use plimsoll_model::Model;
use plimsoll_onnx::{OnnxFile, Written};
use plimsoll_report::{FrontierPoint, FrontierReport, Region, Wanted};
use plimsoll_rewrite::{Applied, FitOptions, Frontier, Goal, Point, fit};

use crate::clock::Clock;
use crate::input::Source;
use crate::noted_onnx::is_beside;
use crate::output::{self, Output, OutputArgs, Outputs};
use crate::planning::PlanningArgs;
use crate::{Answer, size};

const EXAMPLES: &str = "\
Examples:
  plimsoll fit net.onnx                                  the frontier: arenas against arithmetic
  plimsoll fit net.onnx --budget 1MiB -o small.onnx      the least arithmetic that fits
  plimsoll fit net.onnx --most-arithmetic 10% -o small.onnx
                                                         the smallest arena for that price
  plimsoll fit net.onnx --frontier -o frontier.html      the frontier as a picture; also .svg, .json

The model that is written has the same inputs, outputs and weights, and any runtime executes it; its
nodes stand in the order that was planned. Weights are copied as they are, and those in other files
stay there. Exit status 1 if nothing that was found fits; the smallest arena is told then.
The same arguments as for `plimsoll plan` say how the model is read and planned.";

/// Rewrite a model so that it computes the same in less memory
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group(ArgGroup::new("goal")))]
pub(crate) struct Args {
    /// The model, in ONNX; - for standard input, nothing for the built-in sample
    #[arg(value_name = "FILE")]
    model: Option<PathBuf>,

    /// Find the least arithmetic with which the arena has at most this many bytes
    #[arg(long, visible_alias = "capacity", value_name = "SIZE", value_parser = size::parse,
          allow_hyphen_values = true, group = "goal")]
    budget: Option<u64>,

    /// Find the smallest arena for at most so much more arithmetic, such as 10%
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, group = "goal")]
    most_arithmetic: Option<f64>,

    /// Find every arena that is smaller for more arithmetic; this is what is done without a goal
    #[arg(long, group = "goal")]
    frontier: bool,

    /// How many ways to compute the model otherwise are planned at most
    #[arg(long, value_name = "NUMBER")]
    work: Option<u64>,

    #[command(flatten)]
    pub(crate) planning: PlanningArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs<Format>,
}

/// The forms of what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Text,
    /// One object, for scripts
    Json,
    /// A page with a picture
    Html,
    /// A picture for documents
    Svg,
    /// The rewritten model
    Onnx,
}

impl output::Format for Format {
    const TEXT: Self = Format::Text;

    fn suffixes(self) -> &'static [&'static str] {
        match self {
            Format::Text => &["txt"],
            Format::Json => &["json"],
            Format::Html => &["html"],
            Format::Svg => &["svg"],
            Format::Onnx => &["onnx"],
        }
    }
}

fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end();
    match number.parse::<f64>() {
        Ok(percent) if percent >= 0.0 && percent.is_finite() => Ok(percent),
        _ => Err("expected a percentage like 10% or 2.5%".to_owned()),
    }
}

impl Args {
    fn goal(&self) -> Goal {
        match (self.budget, self.most_arithmetic) {
            (Some(budget), _) => Goal::Budget(budget),
            (None, Some(percent)) => Goal::MostArithmetic { percent },
            (None, None) => Goal::Frontier,
        }
    }

    /// The files that are read.
    pub(crate) fn files(&self) -> Vec<&Path> {
        let model = self.model.as_deref().into_iter();
        model.chain(self.planning.files()).collect()
    }
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let outputs = args.output.resolve(&args.files())?;
    args.check_forms(&outputs)?;
    let source = Source::or_sample(args.model.as_deref());
    let clock = args.planning.choices.packing.start_clock();
    let Some(fitted) = args.fit(source, clock)? else { return Ok(Answer::Yes) };
    for output in outputs.iter() {
        fitted.write(output)?;
    }
    if outputs.iter().all(|output| output.path().is_some()) && !output::is_quiet() {
        output::to_stdout(true, |out| fitted.report(|report| report.write_text(out)))?;
    }
    if fitted.source == Source::Sample {
        outputs.note("no model given; this is the built-in sample");
    }
    match fitted.refusal() {
        None => Ok(Answer::Yes),
        Some(refusal) => {
            outputs.note(&refusal);
            Ok(Answer::No)
        }
    }
}

impl Args {
    /// A frontier is no single model.
    pub(crate) fn check_forms(&self, outputs: &Outputs<Format>) -> Result<()> {
        if self.goal() == Goal::Frontier && outputs.has(|format| format == Format::Onnx) {
            bail!(
                "a frontier is many models: say which one to write, by --budget or --most-arithmetic"
            );
        }
        Ok(())
    }

    /// Looks for other ways to compute a model; nothing if only a list of algorithms was asked for.
    pub(crate) fn fit(&self, source: Source, mut clock: Clock) -> Result<Option<Fitted>> {
        let goal = self.goal();
        let Some(options) = self.planning.choices.resolve()? else { return Ok(None) };
        let lowering = self.planning.how_to_read.resolve()?;
        let (model, file, bindings) = lowering.model(&source)?;
        let mut fitting = FitOptions::new(goal);
        (fitting.options, fitting.lowering) = (options, lowering.options());
        fitting.work = self.work.unwrap_or(fitting.work);
        let mut stopped = false;
        let mut pulse = || {
            stopped |= clock.tick(|| "trying other ways to compute it".to_owned()).is_break();
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let found = fit(&model, &bindings, &fitting, &mut pulse);
        let frontier = found.map_err(|error| anyhow!("{source}: {error}"))?;
        let chosen = chosen(&frontier, goal);
        Ok(Some(Fitted { source, model, file, goal, frontier, chosen, stopped }))
    }
}

/// What was found for a model.
pub(crate) struct Fitted {
    pub(crate) source: Source,
    model: Model,
    file: OnnxFile,
    goal: Goal,
    pub(crate) frontier: Frontier,
    /// The point that meets the goal.
    pub(crate) chosen: Option<usize>,
    stopped: bool,
}

impl Fitted {
    /// What is reported of it.
    pub(crate) fn report<T>(&self, tell: impl FnOnce(&FrontierReport<'_>) -> T) -> T {
        let origin = self.source.origin();
        tell(&FrontierReport {
            source: &origin,
            source_arena_bytes: self.frontier.source_arena_bytes,
            source_multiply_adds: self.frontier.source_multiply_adds,
            source_nodes: self.model.body.nodes.len(),
            wanted: wanted(self.goal),
            points: self.frontier.points.iter().map(|point| told(point, &self.model)).collect(),
            chosen: self.chosen,
            stopped: self.stopped,
        })
    }

    /// Why nothing meets the goal, if nothing does.
    pub(crate) fn refusal(&self) -> Option<String> {
        if self.goal == Goal::Frontier || self.chosen.is_some() {
            return None;
        }
        self.report(|report| Some(format!("{}: does not fit: {}", self.source, report.refusal())))
    }

    /// Writes it in the form that an output has; a model only if one meets the goal.
    pub(crate) fn write(&self, output: &Output<Format>) -> Result<()> {
        match output.format {
            Format::Text => output.write(|out| self.report(|report| report.write_text(out))),
            Format::Json => output.write(|out| self.report(|report| report.write_json(out))),
            Format::Html => output.write(|out| self.report(|report| report.write_html(out))),
            Format::Svg => output.write(|out| self.report(|report| report.write_svg(out))),
            Format::Onnx => match self.chosen {
                Some(chosen) => {
                    write(output, &self.file, &self.frontier.points[chosen], &self.source)
                }
                None => Ok(()),
            },
        }
    }
}

/// The point that a goal is met by.
fn chosen(frontier: &Frontier, goal: Goal) -> Option<usize> {
    let point = match goal {
        Goal::Budget(budget) => frontier.within(budget),
        Goal::MostArithmetic { percent } => frontier.at_most(percent),
        Goal::Frontier => None,
    }?;
    frontier.points.iter().position(|other| std::ptr::eq(other, point))
}

fn wanted(goal: Goal) -> Wanted {
    match goal {
        Goal::Budget(budget) => Wanted::Budget(budget),
        Goal::MostArithmetic { percent } => Wanted::MostArithmetic(percent),
        Goal::Frontier => Wanted::Frontier,
    }
}

/// What is said of a point.
fn told(point: &Point, model: &Model) -> FrontierPoint {
    let region = |applied: &Applied| Region {
        way: applied.way.name(),
        words: applied.way.to_string(),
        nodes: applied.nodes.iter().map(|node| model.body.nodes[*node].name.clone()).collect(),
    };
    FrontierPoint {
        arena_bytes: point.arena_bytes,
        multiply_adds: point.multiply_adds,
        nodes: point.rewritten.model.body.nodes.len(),
        regions: point.ways.iter().map(region).collect(),
    }
}

/// Writes the model of a point.
fn write(output: &Output<Format>, file: &OnnxFile, point: &Point, source: &Source) -> Result<()> {
    let written = Written::new(file.clone(), &point.rewritten);
    let written = written.map_err(|error| anyhow!("{source}: {error}"))?;
    if written.has_external_data() && !is_beside(source, output.path()) {
        bail!(
            "{source}: its weights are in other files, which are looked for in the folder of the model: \
             the rewritten one has to be in the same"
        );
    }
    output.write(|out| written.write(out))
}
