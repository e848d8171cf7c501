//! `plimsoll fit`: the same model, rewritten so that it needs less memory.

use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use clap::{ArgGroup, ValueEnum};
use plimsoll::{BankSpec, Boundary, SpillBanks};
use plimsoll_model::Model;
use plimsoll_onnx::{OnnxFile, Written};
use plimsoll_report::{
    FrontierPoint, FrontierReport, Region, RegionPeak, Tried, TwoMemoriesReport, Wanted,
};
use plimsoll_rewrite::{
    Applied, FitError, FitOptions, Frontier, Goal, Point, Rewritten, fit, in_two_memories,
};

use crate::choices::ChoiceArgs;
use crate::clock::Clock;
use crate::dims::DimArgs;
use crate::input::Source;
use crate::model::{KernelChoice, ModelArgs, how_to_bind};
use crate::noted_onnx::is_beside;
use crate::output::{self, Output, OutputArgs, Outputs};
use crate::packing::PackingArgs;
use crate::planning::PlanningArgs;
use crate::{Answer, bank, boundary, checkpoint, size, two_memories};

const EXAMPLES: &str = "\
Examples:
  plimsoll fit net.onnx                                  the frontier: arena against arithmetic
  plimsoll fit net.onnx --budget 1MiB -o small.onnx      the least arithmetic that fits
  plimsoll fit net.onnx --most-arithmetic 10% -o small.onnx
                                                         the smallest arena at that price
  plimsoll fit net.onnx --frontier -o frontier.html      the frontier as a picture; also .svg, .json
  plimsoll fit net.onnx --bank fast=256KiB --bank slow -o small.onnx -o plan.json
                                                         the fewest bytes moved between two memories,
                                                         and the plan with its copies
  plimsoll fit train.json --budget 2GiB -o small.plim    a training graph: what to keep of its first half and
                                                         what to compute again; -o list.json lists that

The rewritten model has the same inputs, outputs and weights, and any runtime executes it; its nodes are
in the planned order. External data stay in their files. If nothing fits the budget, the exit status is 1
and the smallest arena found is reported. To write a point of the frontier, give its arena as the budget.
A training graph does not say what its nodes compute: for one, --most-arithmetic is a share of the bytes
that nodes write.";

/// A rewritten model is for one size.
const DIM_HELP: &str = "The size of a symbolic dim; the rewritten model is for this size";

/// Rewrite a model so that it computes the same in less memory
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, group(ArgGroup::new("goal")),
          mut_arg("dim", |dim| dim.value_name("NAME=N").help(DIM_HELP).long_help(DIM_HELP)))]
pub(crate) struct Args {
    /// The model, an ONNX file, or a training graph (.json); "-" reads standard input; without one, the built-in
    /// sample is rewritten
    #[arg(value_name = "FILE")]
    model: Option<PathBuf>,

    /// Fit the arena into this many bytes, with the least extra arithmetic
    #[arg(long, visible_alias = "capacity", value_name = "SIZE", value_parser = size::parse,
          allow_hyphen_values = true, group = "goal", help_heading = "Goal")]
    budget: Option<u64>,

    /// Find the smallest arena for at most this much extra arithmetic, such as 10%
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent, allow_hyphen_values = true, group = "goal", help_heading = "Goal")]
    most_arithmetic: Option<f64>,

    /// Find the whole frontier of arena against extra arithmetic; the default without a goal
    #[arg(long, group = "goal", help_heading = "Goal")]
    frontier: bool,

    /// The largest number of candidates to plan
    #[arg(long, value_name = "NUMBER", help_heading = "Goal")]
    work: Option<u64>,

    #[command(flatten)]
    dims: DimArgs,

    /// What the runtime's kernels can do, as for `plimsoll plan`: standard, strided, views, copying, tflm or fused;
    /// with fused, the file has plain nodes, and its arena is that of a runtime that fuses them [default: standard]
    #[arg(long, value_name = "NAME", help_heading = "Model")]
    kernels: Option<KernelChoice>,

    /// Align every offset to this many bytes [default: 64]
    #[arg(long, value_name = "SIZE", value_parser = size::parse_align, allow_hyphen_values = true, help_heading = "Placement")]
    align: Option<NonZeroU64>,

    /// Which inputs, weights and outputs are placed in the arena: a list of these words, "all" or
    /// "none" [default: outputs]
    #[arg(long, value_name = "KINDS", value_parser = boundary::parse_place, help_heading = "Placement")]
    place: Option<Boundary<bool>>,

    /// Never compute in place, except where an op requires it
    #[arg(long, help_heading = "Placement")]
    no_in_place: bool,

    /// Two memories, first the fast one with its capacity (fast=256KiB), then the slow one
    ///
    /// Values wait in the slow memory between uses; the model that moves the fewest bytes is found.
    #[arg(long = "bank", value_name = "BANK", value_parser = bank::parse, help_heading = "Placement",
          conflicts_with_all = ["budget", "frontier"])]
    banks: Vec<BankSpec>,

    #[command(flatten)]
    pub(crate) packing: PackingArgs,

    #[command(flatten)]
    pub(crate) output: OutputArgs<Format>,
}

/// The forms of what was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Text,
    /// One JSON object, for scripts
    Json,
    /// A page with a picture
    Html,
    /// A picture for documents
    Svg,
    /// The rewritten model
    Onnx,
    /// The graph of a training step that computes nodes again
    Plim,
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
            Format::Plim => &["plim"],
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
    /// How the model is read and planned.
    pub(crate) fn planning(&self) -> PlanningArgs {
        let how_to_read = ModelArgs::plain(self.dims.clone(), self.kernels.clone());
        let packing = self.packing.clone();
        let choices = ChoiceArgs::plain(self.align, self.place, self.no_in_place, packing);
        PlanningArgs { how_to_read, choices }
    }

    fn goal(&self) -> Goal {
        match (self.budget, self.most_arithmetic) {
            (Some(budget), _) => Goal::Budget(budget),
            (None, Some(percent)) => Goal::MostArithmetic { percent },
            (None, None) => Goal::Frontier,
        }
    }

    /// What is asked for, in words of reports.
    pub(crate) fn wanted(&self) -> Wanted {
        wanted(self.goal())
    }

    /// The files that are read.
    pub(crate) fn files(&self) -> Vec<&Path> {
        self.model.as_deref().into_iter().collect()
    }
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    if let Some(banks) = two_memories::banks(&args.banks)? {
        if args.kernels.as_ref().is_some_and(KernelChoice::is_fused) {
            bail!("--bank: two memories are planned for kernels that are not fused");
        }
        return run_in_two(args, &banks);
    }
    let outputs = args.output.resolve(&args.files())?;
    args.check_forms(&outputs)?;
    let source = Source::or_sample(args.model.as_deref());
    if source.has_extension("json") {
        return checkpoint::run(args, &source, &outputs);
    }
    if outputs.has(|format| format == Format::Plim) {
        bail!("{source}: a model that is fitted is written as .onnx");
    }
    let clock = args.packing.start_clock();
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
        let is_one = |format| matches!(format, Format::Onnx | Format::Plim);
        if self.goal() == Goal::Frontier && outputs.has(is_one) {
            bail!(
                "a frontier is many models: say which one to write, by --budget or --most-arithmetic"
            );
        }
        Ok(())
    }

    /// Looks for other ways to compute a model; nothing if only a list of algorithms was asked for.
    pub(crate) fn fit(&self, source: Source, mut clock: Clock) -> Result<Option<Fitted>> {
        let goal = self.goal();
        let planning = self.planning();
        let Some(options) = planning.choices.resolve()? else { return Ok(None) };
        let lowering = planning.how_to_read.resolve()?;
        let (model, file, bindings) = lowering.model(&source)?;
        let mut fitting = FitOptions::new(goal);
        (fitting.options, fitting.lowering) = (options, lowering.options());
        fitting.fusions.clone_from(lowering.fusion_kinds());
        fitting.work = self.work.unwrap_or(fitting.work);
        let mut stopped = false;
        let mut pulse = || {
            stopped |= clock.tick(|| "trying other ways to compute it".to_owned()).is_break();
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let found = fit(&model, &bindings, &fitting, &mut pulse);
        let frontier = found.map_err(|error| blamed(&error, &source))?;
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
            points: self.frontier.points.iter().map(|point| self.told(point)).collect(),
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
            Format::Plim => Ok(()),
        }
    }
}

impl Fitted {
    /// What is said of a point.
    fn told(&self, point: &Point) -> FrontierPoint {
        let regions = point.rewritten.regions.iter().zip(&point.regions).enumerate();
        FrontierPoint {
            arena_bytes: point.arena_bytes,
            multiply_adds: point.multiply_adds,
            nodes: point.rewritten.model.body.nodes.len(),
            regions: regions
                .map(|(at, (applied, peak))| self.region(point, at, applied, *peak))
                .collect(),
            peak_node: point.peak.node.clone(),
            peak_tensors: point.peak.tensors.clone(),
        }
    }

    fn region(
        &self,
        point: &Point,
        at: usize,
        applied: &Applied,
        peak: Option<plimsoll_rewrite::RegionPeak>,
    ) -> Region {
        let name = |node: usize| self.model.body.nodes[node].name.clone();
        let loads = applied.nodes.iter().map(|node| self.frontier.source_loads[*node]);
        let Rewritten { stages, .. } = &point.rewritten;
        let told = |peak: plimsoll_rewrite::RegionPeak| RegionPeak {
            nodes: stages.iter().flatten().filter(|stage| stage.region == at).count(),
            bytes: peak.bytes,
            step: peak.step,
            source: peak.source.map(name),
            carried_bytes: peak.carried_bytes,
        };
        Region {
            way: applied.way.name(),
            words: applied.way.to_string(),
            nodes: applied.nodes.iter().map(|node| name(*node)).collect(),
            source_peak_bytes: loads.max().unwrap_or(0),
            peak: peak.map(told),
        }
    }
}

/// What is wrong with a model, and how to say what it does not.
fn blamed(error: &FitError, source: &Source) -> anyhow::Error {
    let how = if let FitError::Shapes(error) = error { how_to_bind(error) } else { "" };
    anyhow!("{source}: {error}{how}")
}

/// The point that a goal is met by.
fn chosen(frontier: &Frontier, goal: Goal) -> Option<usize> {
    let point = frontier.asked_for(goal)?;
    frontier.points.iter().position(|other| std::ptr::eq(other, point))
}

fn wanted(goal: Goal) -> Wanted {
    match goal {
        Goal::Budget(budget) => Wanted::Budget(budget),
        Goal::MostArithmetic { percent } => Wanted::MostArithmetic(percent),
        Goal::Frontier => Wanted::Frontier,
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

/// The same with two memories: the model that moves fewest bytes between them.
fn run_in_two(args: &Args, banks: &SpillBanks) -> Result<Answer> {
    let outputs = args.output.resolve(&args.files())?;
    if outputs.has(|format| matches!(format, Format::Html | Format::Svg)) {
        bail!("--bank: what two memories take is told as text, JSON and a model");
    }
    let source = Source::or_sample(args.model.as_deref());
    let mut clock = args.packing.start_clock();
    let Some(found) = args.try_in_two(&source, banks, &mut clock)? else { return Ok(Answer::Yes) };
    let origin = source.origin();
    let report = TwoMemoriesReport {
        source: &origin,
        banks,
        source_multiply_adds: found.frontier.source_multiply_adds,
        chosen: two_memories::best(&found.tried),
        tried: found.tried,
        stopped: found.stopped,
    };
    let chosen = report.chosen.map(|chosen| &found.points[chosen]);
    // The model first: the plan is one of its file.
    let models = || outputs.iter().filter(|output| output.format == Format::Onnx);
    if let Some(point) = chosen {
        models().try_for_each(|output| write(output, &found.file, point, &source))?;
    }
    for output in outputs.iter() {
        match (output.format, chosen) {
            (Format::Json, Some(point)) => {
                let planned = if point.rewritten.regions.is_empty() {
                    Some(source.clone())
                } else {
                    models().find_map(|output| output.path().map(Source::named))
                };
                let Some(planned) = planned else {
                    bail!(
                        "the plan is one of the rewritten model: write that too, with -o small.onnx"
                    );
                };
                let text = two_memories::plan_file(&args.planning(), planned, banks, &mut clock)?;
                output.write(|out| out.write_all(text.as_bytes()))?;
            }
            (Format::Text, _) => output.write(|out| report.write_text(out))?,
            _ => {}
        }
    }
    drop(clock);
    if outputs.iter().all(|output| output.path().is_some()) && !output::is_quiet() {
        output::to_stdout(true, |out| report.write_text(out))?;
    }
    if chosen.is_some() {
        return Ok(Answer::Yes);
    }
    outputs.note(&format!("{source}: does not fit: {}", report.refusal()));
    Ok(Answer::No)
}

/// Models that were planned in two memories.
struct InBoth {
    file: OnnxFile,
    frontier: Frontier,
    points: Vec<Point>,
    /// By point, what came of it.
    tried: Vec<Tried>,
    stopped: bool,
}

impl Args {
    /// Plans all that is found for a model in two memories.
    fn try_in_two(
        &self,
        source: &Source,
        banks: &SpillBanks,
        clock: &mut Clock,
    ) -> Result<Option<InBoth>> {
        let planning = self.planning();
        let Some(options) = planning.choices.resolve()? else { return Ok(None) };
        let lowering = planning.how_to_read.resolve()?;
        let (model, file, bindings) = lowering.model(source)?;
        let mut fitting = FitOptions::new(Goal::Frontier);
        (fitting.options, fitting.lowering) = (options, lowering.options());
        fitting.work = self.work.unwrap_or(fitting.work);
        fitting.fast_bytes = Some(banks.capacity);
        let mut stopped = false;
        let mut pulse = || {
            stopped |= clock.tick(|| "trying other ways to compute it".to_owned()).is_break();
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let blame = |error: FitError| blamed(&error, source);
        let frontier = fit(&model, &bindings, &fitting, &mut pulse).map_err(blame)?;
        let most = self.most_arithmetic.unwrap_or(f64::INFINITY);
        let flowing = frontier.points.iter().filter(|point| !point.rewritten.regions.is_empty());
        let points = frontier.narrow.iter().chain(flowing).cloned();
        let points: Vec<Point> =
            points.filter(|point| frontier.extra_percent(point) <= most).collect();
        let mut tried = Vec::new();
        for point in &points {
            let two = in_two_memories(point, &bindings, &fitting, banks, &mut pulse);
            let outcome = two.map_err(blame)?.map_err(|error| error.to_string());
            tried.push(Tried {
                arena_bytes: point.arena_bytes,
                multiply_adds: point.multiply_adds,
                nodes: point.rewritten.model.body.nodes.len(),
                outcome: outcome.map(|two| two_memories::in_two(two.moved, &two.plan)),
            });
        }
        Ok(Some(InBoth { file, frontier, points, tried, stopped }))
    }
}
