//! `plimsoll explain`: why the arena is as large as it is, and what would lower it.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use plimsoll::PlanError;
use plimsoll_graph::CaseError;
use plimsoll_graph::advise::{Action, Fit, advise, fit};
use plimsoll_report::ExplainReport;

use crate::clock::Clock;
use crate::input::Source;
use crate::output::{self, OutputArgs, TextOrJson};
use crate::planning::{PlanningArgs, Subject};
use crate::staged::regions;
use crate::{Answer, size};

const EXAMPLES: &str = "\
Examples:
  plimsoll explain                               the built-in sample
  plimsoll explain net.onnx                      the peak, byte by byte, and what would lower it
  plimsoll explain net.onnx --budget 256KiB      what it takes to fit; exit status 1 if nothing does
  plimsoll explain net.onnx --format json        for tools
  plimsoll explain net.onnx --no-advice          the peak only, quickly
  plimsoll explain net.onnx --order given --concat copy --place all
                                                 as your runtime does it now

Every saving shown was planned and verified. Savings below half a percent are left out. The options for
reading and planning the model are those of `plimsoll plan`.";

/// Explain why the arena is as large as it is, and what would lower it by how much
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The model; "-" reads standard input; without one, the built-in sample is explained
    #[arg(value_name = "FILE")]
    model: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) planning: PlanningArgs,

    /// Find what it takes to fit the arena into this many bytes
    #[arg(long, visible_alias = "capacity", value_name = "SIZE", value_parser = size::parse,
          allow_hyphen_values = true, help_heading = "Advice")]
    budget: Option<u64>,

    /// Explain the peak only, without advice
    #[arg(long, conflicts_with = "budget", help_heading = "Advice")]
    no_advice: bool,

    #[command(flatten)]
    output: OutputArgs<TextOrJson>,
}

impl Args {
    /// The files that are read.
    fn files(&self) -> Vec<&Path> {
        let model = self.model.as_deref().into_iter();
        model.chain(self.planning.files()).collect()
    }
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let output = args.output.resolve(&args.files())?;
    let source = Source::or_sample(args.model.as_deref());
    let Some(subject) = args.planning.read(source)?.map(Subject::noted) else {
        return Ok(Answer::Yes);
    };
    let clock = args.planning.choices.packing.start_clock();
    let explained = args.explain(subject, clock, |report| {
        output.write(|format, out| match format {
            TextOrJson::Text => report.write_text(out),
            TextOrJson::Json => report.write_json(out),
        })?;
        if report.source.is_sample {
            output.note("no model given; this is the built-in sample");
        }
        Ok(if fits(report) { Answer::Yes } else { Answer::No })
    })?;
    Ok(explained.unwrap_or_else(|why| {
        output::note(&why);
        Answer::No
    }))
}

/// Whether it fits the budget, if there is one.
pub(crate) fn fits(report: &ExplainReport<'_>) -> bool {
    !matches!(&report.fit, Some((_, Fit::No(_))))
}

impl Args {
    /// Explains the model and tells that; or says why there is no plan to explain.
    pub(crate) fn explain<T>(
        &self,
        subject: Subject,
        mut clock: Clock,
        tell: impl FnOnce(&ExplainReport<'_>) -> Result<T>,
    ) -> Result<Result<T, String>> {
        let Subject { source, lowering, loaded, options, .. } = subject;
        let variants = if self.no_advice {
            Vec::new()
        } else {
            lowering.smaller(&source)?.into_iter().chain(lowering.fusions(&loaded)).collect()
        };
        let mut stopped = false;
        let mut pulse = || {
            let tick = clock.tick(|| "planning".to_owned());
            stopped |= tick.is_break();
            tick
        };
        let staged = loaded.staged();
        let settled = match lowering.case(loaded.graph, options)?.plan_watched(&mut pulse) {
            Ok(settled) => settled,
            Err(CaseError::Plan(PlanError::NoRoom(why))) => {
                return Ok(Err(format!("{source}: no plan to explain: {why}")));
            }
            Err(CaseError::Lowering(error)) => return Err(lowering.blamed(&error, &source)),
            Err(error) => return Err(anyhow!("{source}: {error}")),
        };
        let mut tried = 0;
        let mut watch = |_: &Action| {
            tried += 1;
            let tick = clock.tick(|| format!("tried {tried} ways to lower the arena"));
            stopped |= tick.is_break();
            if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let fit = self.budget.map(|budget| (budget, fit(&settled, &variants, budget, &mut watch)));
        let advice =
            if self.no_advice { Vec::new() } else { advise(&settled, &variants, &mut watch) };
        drop(clock);
        let source = &source.origin();
        let regions = staged.map(|staged| regions(&staged, &settled.program()));
        let (settled, variants, regions) = (&settled, &variants[..], regions.as_ref());
        tell(&ExplainReport { source, settled, regions, variants, advice, fit, stopped }).map(Ok)
    }
}
