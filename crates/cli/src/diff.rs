//! `plimsoll diff`: what moved, what grew, and what changed the peak.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use plimsoll_report::diff::{DiffReport, WrittenPlan, diff_plans};
use plimsoll_report::write_json;

use crate::Answer;
use crate::input::Source;
use crate::kind::Wanted;
use crate::output::{OutputArgs, TextOrJson};

const EXAMPLES: &str = "\
Plans are compared by the names of their values and steps; no model is needed. The difference of the peaks
is accounted for: the values that came, those that went, and how much the others grew or shrank.

Examples:
  plimsoll diff old.plan.json new.plan.json
  plimsoll diff old.plan.json new.plan.json --all      every value that changed
  plimsoll diff old.plan.json new.plan.json --format json
  plimsoll plan net.onnx --format json | plimsoll diff old.plan.json -

Exit status:
  0  the plans are the same
  1  they differ
  2  bad usage or bad input";

/// Compare two plans: what moved, what grew, what changed the peak
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The first plan, as `plimsoll plan -o plan.json` writes it; "-" reads standard input
    #[arg(value_name = "A.json")]
    before: PathBuf,

    /// The second plan
    #[arg(value_name = "B.json")]
    after: PathBuf,

    /// List everything that changed, not only the first of each kind
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    output: OutputArgs<TextOrJson>,
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let output = args.output.resolve(&[&args.before, &args.after])?;
    let (before, after) = (Source::named(&args.before), Source::named(&args.after));
    if before == Source::Stdin && after == Source::Stdin {
        bail!("only one of the plans can be standard input");
    }
    let diff = diff_plans(&read(&before)?, &read(&after)?);
    let report = DiffReport {
        before: &before.origin(),
        after: &after.origin(),
        diff: &diff,
        is_full: args.all,
    };
    output.write(|format, out| match format {
        TextOrJson::Text => report.write_text(out),
        TextOrJson::Json => write_json(out, &diff),
    })?;
    Ok(if diff.same { Answer::Yes } else { Answer::No })
}

fn read(source: &Source) -> Result<WrittenPlan> {
    let text = source.text(Wanted::Plan).with_context(|| source.to_string())?;
    WrittenPlan::read(&text).map_err(|error| anyhow!("{source}: {error}"))
}
