//! `plimsoll verify`: is this plan right for that model?

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use plimsoll::range::Proof;
use plimsoll::verify::trace::{self, TraceViolation};
use plimsoll::{Plan, Program, Told, read_plan, violations};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Answer;
use crate::input::Source;
use crate::model::ModelArgs;
use crate::output::{self, OutputArgs, TextOrJson};
use crate::report::{ranges_in_words, ranges_json};
use crate::verdict::{self, MOST_VIOLATIONS};

const EXAMPLES: &str = "\
Every read of every step must find what was written last, run after run, whoever made the plan; if
it is for ranges of dims, at every size of them: that is proven, or it is not valid.
Widths, sizes, kernels and order are those that the plan tells, unless they are given here. One
of the files may be - for standard input.

Examples:
  plimsoll verify net.plim plan.json
  plimsoll plan net.plim --format json | plimsoll verify net.plim -
  plimsoll verify net.plim plan.json --trace trace.jsonl
  plimsoll verify net.plim plan.json --format json";

/// Verify a plan, whoever made it, and list everything that is wrong with it
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The model; - for standard input
    #[arg(value_name = "FILE")]
    model: PathBuf,

    /// The plan, as `plimsoll plan -o plan.json` writes it; - for standard input
    #[arg(value_name = "PLAN.json")]
    plan: PathBuf,

    /// Check what an executor really did too: a recorded trace, a JSON object a line
    #[arg(long, value_name = "TRACE.jsonl")]
    trace: Option<PathBuf>,

    #[command(flatten)]
    how_to_read: ModelArgs,

    #[command(flatten)]
    output: OutputArgs<TextOrJson>,
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let output = args.output.resolve()?;
    let (model, plan) = (Source::named(&args.model), Source::named(&args.plan));
    let trace = args.trace.as_deref().map(Source::named);
    let sources = [Some(&model), Some(&plan), trace.as_ref()];
    if sources.into_iter().flatten().filter(|source| **source == Source::Stdin).count() > 1 {
        bail!("only one of the model, the plan and the trace can be standard input");
    }
    let text = plan.text("").with_context(|| plan.to_string())?;
    let told = told(&text).with_context(|| plan.to_string())?;
    let lowering = args.how_to_read.or_as_told(&told, &plan)?;
    let loaded = lowering.load_as_told(&model)?;
    let program = lowering.program(&loaded.graph, &model)?;
    let plan = read_plan(&program, &text).with_context(|| plan.to_string())?;
    let mut findings: Vec<Finding> = violations(&program, &plan)
        .iter()
        .map(|violation| Finding::new(violation, violation.describe(&program, &plan)))
        .collect();
    for (corner, used) in lowering.at_corners(&loaded, &program, &plan, &model)? {
        if let Err(why) = used {
            findings.push(Finding::new(&why, format!("at {corner}: {why}")));
        }
    }
    if let Some(trace) = &trace {
        findings.extend(check_trace(&program, &plan, trace)?);
    }
    let ranges = loaded.proof.as_ref();
    let verdict =
        Verdict { ranges: ranges.map(ranges_json), ..Verdict::new(&program, &plan, findings) };
    output.write(|out| match output.format {
        TextOrJson::Text => verdict.write_text(out, ranges),
        TextOrJson::Json => output::write_json(out, &verdict),
    })?;
    Ok(if verdict.valid { Answer::Yes } else { Answer::No })
}

fn check_trace(program: &dyn Program, plan: &Plan, source: &Source) -> Result<Vec<Finding>> {
    let trace = source.open().with_context(|| source.to_string())?;
    let found = trace::check(program, plan, trace).map_err(|error| anyhow!("{source}: {error}"))?;
    let finding = |violation: &TraceViolation| {
        let text = format!("{source}: {}", violation.describe(program, plan));
        Finding::new(&violation.kind, text)
    };
    Ok(found.iter().map(finding).collect())
}

/// The options that a plan tells of itself.
fn told(text: &str) -> Result<Told> {
    #[derive(Deserialize)]
    struct Teller {
        #[serde(default)]
        options: Told,
    }
    let teller: Teller = serde_json::from_str(text).context("not a plan")?;
    Ok(teller.options)
}

/// What is said about a plan; also its form as JSON.
#[derive(Serialize)]
struct Verdict {
    valid: bool,
    arena_bytes: u64,
    steps: usize,
    values: usize,
    /// How what holds at every size of ranges of dims was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    ranges: Option<Value>,
    /// Whether `violations` are all.
    complete: bool,
    violations: Vec<Finding>,
}

/// A violation in words.
#[derive(Serialize)]
struct Finding {
    kind: String,
    text: String,
}

impl Verdict {
    fn new(program: &dyn Program, plan: &Plan, mut findings: Vec<Finding>) -> Self {
        let found = findings.len();
        findings.truncate(MOST_VIOLATIONS);
        Verdict {
            valid: found == 0,
            arena_bytes: plan.banks.iter().fold(0, |sum, bank| bank.bytes.saturating_add(sum)),
            steps: program.steps(),
            values: program.values(),
            ranges: None,
            complete: found <= MOST_VIOLATIONS,
            violations: findings,
        }
    }

    fn write_text(&self, out: &mut dyn Write, ranges: Option<&Proof>) -> io::Result<()> {
        let Verdict { arena_bytes, steps, values, .. } = self;
        let fine = format!("arena {arena_bytes} bytes, steps {steps}, values {values}");
        let violations = self.violations.iter().map(|violation| violation.text.as_str());
        verdict::write_text(out, violations, self.complete, &fine)?;
        for (heading, words) in ranges.filter(|_| self.valid).into_iter().flat_map(ranges_in_words)
        {
            writeln!(out, "{heading:<12} {words}")?;
        }
        Ok(())
    }
}

impl Finding {
    fn new(violation: &impl fmt::Debug, text: impl fmt::Display) -> Self {
        Finding { kind: kind(violation), text: text.to_string() }
    }
}

/// The name of the variant, as `own-input-overwritten`.
fn kind(violation: &impl fmt::Debug) -> String {
    let debug = format!("{violation:?}");
    let name = debug.split([' ', '(', '{']).next().unwrap_or_default();
    let mut kind = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && !kind.is_empty() {
            kind.push('-');
        }
        kind.push(c.to_ascii_lowercase());
    }
    kind
}
