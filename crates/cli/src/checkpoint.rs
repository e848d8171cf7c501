//! `plimsoll fit` for training graphs: what to keep of the forward pass, and what to compute again.

use std::ops::ControlFlow;

use anyhow::{Result, anyhow, bail};
use plimsoll_graph::checkpoint::{Checkpoints, checkpoint};
use plimsoll_graph::{text, training_json};
use plimsoll_report::{CheckpointReport, Wanted};

use crate::Answer;
use crate::fit::{Args, Format};
use crate::input::Source;
use crate::output::{self, Outputs};

/// Looks for checkpoints, and tells them.
pub(crate) fn run(args: &Args, source: &Source, outputs: &Outputs<Format>) -> Result<Answer> {
    if outputs.has(|format| matches!(format, Format::Html | Format::Svg | Format::Onnx)) {
        bail!(
            "{source}: what a training graph computes again is told as text, JSON and a graph (.plim)"
        );
    }
    let planning = args.planning();
    if planning.how_to_read.is_fused() {
        bail!("{source}: it does not say what its nodes compute, so that nothing can be fused");
    }
    let Some(options) = planning.choices.resolve()? else { return Ok(Answer::Yes) };
    let lowering = planning.how_to_read.resolve()?;
    let graph = lowering.load(source)?.graph;
    let case = lowering.case(graph, options)?;
    let mut clock = args.packing.start_clock();
    let mut stopped = false;
    let mut pulse = || {
        stopped |= clock.tick(|| "trying what to compute again".to_owned()).is_break();
        if stopped { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let found = checkpoint(&case, &training_json::is_repeatable, &mut pulse);
    let found = found.map_err(|error| anyhow!("{source}: {error}"))?;
    drop(clock);
    let wanted = args.wanted();
    let chosen = chosen(&found, wanted);
    let origin = source.origin();
    let report = CheckpointReport {
        source: &origin,
        graph: &case.graph,
        found: &found,
        wanted,
        chosen,
        stopped,
    };
    for output in outputs.iter() {
        match (output.format, chosen) {
            (Format::Text, _) => output.write(|out| report.write_text(out))?,
            (Format::Json, _) => output.write(|out| report.write_json(out))?,
            (Format::Plim, Some(chosen)) => {
                let graph = text::print(&found.points[chosen].graph);
                output.write(|out| out.write_all(graph.as_bytes()))?;
            }
            _ => {}
        }
    }
    if outputs.iter().all(|output| output.path().is_some()) && !output::is_quiet() {
        output::to_stdout(true, |out| report.write_text(out))?;
    }
    if chosen.is_none() && wanted != Wanted::Frontier {
        outputs.note(&format!("{source}: does not fit: {}", report.refusal()));
        return Ok(Answer::No);
    }
    Ok(Answer::Yes)
}

/// The point that meets a goal.
fn chosen(found: &Checkpoints, wanted: Wanted) -> Option<usize> {
    match wanted {
        Wanted::Budget(bytes) => found.points.iter().position(|point| point.arena_bytes <= bytes),
        Wanted::MostArithmetic(percent) => {
            found.points.iter().rposition(|point| found.extra_percent(point) <= percent)
        }
        Wanted::Frontier => None,
    }
}
