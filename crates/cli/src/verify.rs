//! `plimsoll verify`: is this plan right for that model?

use std::collections::HashSet;
use std::fmt;
use std::io::{self, Write};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use plimsoll::verify::trace::TraceViolation;
use plimsoll::verify::{trace, violations};
use plimsoll::{
    Boundary, FalseClaim, JsonFault, Options, Plan, Program, Recorded, false_claims,
    object_from_json, read_plan, unreserved,
};
use plimsoll_graph::Graph;
use plimsoll_model::range::Proof;
use plimsoll_report::{one_line, ranges_in_words, ranges_json, write_json};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::input::Source;
use crate::kind::Wanted;
use crate::model::{ModelArgs, taken};
use crate::output::{self, OutputArgs, TextOrJson};
use crate::verdict::{self, MOST_VIOLATIONS};
use crate::{Answer, bank, boundary, size, two_memories};

const EXAMPLES: &str = "\
A plan is valid if every read of every step finds what was written last, also in later runs; a plan for
ranges of dims has to be proven so for every size in them. What the plan claims of itself is checked too:
totals, bounds, sizes, guards.
Dims, donations, sizes, widths and kernels are taken from the plan where they are not given here; the
verdict says which. With --strict they are not: what is not given here has the defaults of `plimsoll plan`.
One of the files may be - for standard input.

Examples:
  plimsoll verify net.plim plan.json
  plimsoll plan net.plim --format json | plimsoll verify net.plim -
  plimsoll verify net.plim plan.json --strict --width four
  plimsoll verify net.plim plan.json --trace trace.jsonl
  plimsoll verify net.plim plan.json --format json";

/// Verify a plan, whoever made it, and list every violation
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The model; "-" reads standard input
    #[arg(value_name = "FILE")]
    model: PathBuf,

    /// The plan, as `plimsoll plan -o plan.json` writes it; "-" reads standard input
    #[arg(value_name = "PLAN.json")]
    plan: PathBuf,

    /// Also check what an executor really did: a recorded trace, one JSON object per line
    #[arg(long, value_name = "TRACE.jsonl")]
    trace: Option<PathBuf>,

    /// Take nothing about the model from the plan: neither sizes and widths nor dims, kernels, donations
    /// and alignment
    #[arg(long)]
    strict: bool,

    /// Require offsets aligned to this many bytes, unless a value declares its own alignment [default: as
    /// in the plan; with --strict, 64]
    #[arg(long, value_name = "SIZE", value_parser = size::parse_align, allow_hyphen_values = true)]
    align: Option<NonZeroU64>,

    /// Require this many free bytes after every placed input, weight and output, or by kind:
    /// inputs=SIZE,outputs=SIZE [default: as in the plan]
    #[arg(long, value_name = "SIZE", value_parser = boundary::parse_guards, allow_hyphen_values = true)]
    guard: Option<Boundary<u64>>,

    #[command(flatten)]
    how_to_read: ModelArgs,

    #[command(flatten)]
    output: OutputArgs<TextOrJson>,
}

impl Args {
    /// The files that are read.
    fn files(&self) -> Vec<&Path> {
        let own = [Some(&self.model), Some(&self.plan), self.trace.as_ref()];
        let own = own.into_iter().flatten().map(PathBuf::as_path);
        own.chain(self.how_to_read.files()).collect()
    }
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let output = args.output.resolve(&args.files())?;
    let (model, plan) = (Source::named(&args.model), Source::named(&args.plan));
    let trace = args.trace.as_deref().map(Source::named);
    let sources = [Some(&model), Some(&plan), trace.as_ref()];
    if sources.into_iter().flatten().filter(|source| **source == Source::Stdin).count() > 1 {
        bail!("only one of the model, the plan and the trace can be standard input");
    }
    let text = plan.text(Wanted::Plan).with_context(|| plan.to_string())?;
    let recorded = recorded(&text).with_context(|| plan.to_string())?;
    let believed = if args.strict { taken::decisions(&recorded) } else { recorded.clone() };
    let lowering = args.how_to_read.or_as_recorded(&believed, &plan)?;
    let loaded = lowering.load_as_recorded(&model).or_else(|error| {
        if let Ok(loaded) = lowering.load(&model) {
            check_names(&text, &plan, &loaded.graph, &model)?;
        }
        Err(error)
    })?;
    loaded.notes.iter().for_each(|note| output::note(note));
    let scheduled = lowering.program(&loaded.graph, &model)?;
    let copies = || two_memories::recorded_copies(&scheduled, &options(&recorded)?, &recorded);
    let copies = copies().with_context(|| plan.to_string())?;
    let program: &dyn Program = copies.as_ref().map_or(&scheduled, |copies| copies);
    let read = || -> Result<_> {
        let mut read = read_plan(program, &text)?;
        let claims = claims(program, &mut read, &recorded, &text, args)?;
        Ok((read, claims))
    };
    let (mut plan, claims) = read().or_else(|error| {
        check_names(&text, &plan, &loaded.graph, &model)?;
        Err(error.context(plan.to_string()))
    })?;
    let mut taken = args.how_to_read.taken(&believed);
    let default = Options::default().align;
    match args.align {
        None if !args.strict && plan.align != default => {
            taken.insert("align".to_owned(), plan.align.into());
        }
        align if args.strict || align.is_some() => {
            plan.align = align.map_or(default, NonZeroU64::get);
        }
        _ => {}
    }
    let mut findings: Vec<Finding> = violations(program, &plan)
        .iter()
        .map(|violation| Finding::new(violation, violation.describe(program, &plan)))
        .collect();
    findings.extend(claims.iter().map(|claim| Finding::new(claim, claim)));
    let corners = if copies.is_some() {
        Vec::new()
    } else {
        lowering.at_corners(&loaded, &scheduled, &plan, &model)?
    };
    for (corner, used) in corners {
        if let Err(why) = used {
            findings.push(Finding::new(&why, format!("at {corner}: {why}")));
        }
    }
    if let Some(trace) = &trace {
        findings.extend(check_trace(program, &plan, trace)?);
    }
    let ranges = loaded.proof.as_ref();
    let verdict = Verdict {
        ranges: ranges.map(ranges_json),
        ..Verdict::new(program, &plan, taken, findings)
    };
    output.write(|format, out| match format {
        TextOrJson::Text => verdict.write_text(out, ranges),
        TextOrJson::Json => write_json(out, &verdict),
    })?;
    Ok(if verdict.valid { Answer::Yes } else { Answer::No })
}

/// Whether the plan is for this model at all: most names of its values are those of the model.
fn check_names(text: &str, plan: &Source, graph: &Graph, model: &Source) -> Result<()> {
    #[derive(Deserialize)]
    struct Row {
        name: String,
    }
    #[derive(Deserialize)]
    struct Strided {
        #[serde(default)]
        values: Vec<Row>,
    }
    // What else is wrong with either is said by who reads it.
    let Ok(Strided { values }) = object_from_json(text) else { return Ok(()) };
    let known: HashSet<&str> = graph.value_ids().map(|id| graph.value(id).name.as_str()).collect();
    let mut strange = values.iter().filter(|row| !known.contains(row.name.as_str()));
    let Some(first) = strange.next() else { return Ok(()) };
    let (strange, all) = (strange.count() + 1, values.len());
    if 2 * strange < all {
        return Ok(());
    }
    let name = &first.name;
    bail!(
        "{plan}: is a plan of another model: {strange} of its {all} values are not in {model}, like \
         {name:?}"
    )
}

/// What the plan says of itself, or was asked for, that is not so. Banks may be as large as the plan
/// was asked for, whatever their rows say.
fn claims(
    program: &dyn Program,
    plan: &mut Plan,
    recorded: &Recorded,
    text: &str,
    args: &Args,
) -> Result<Vec<FalseClaim>> {
    let options = options(recorded)?;
    for bank in &mut plan.banks {
        let asked = bank::recorded_capacity(&options.banks, &bank.name);
        bank.capacity = bank.capacity.into_iter().chain(asked).min();
    }
    let mut claims = false_claims(program, plan, text)?;
    let align = recorded.get("align").and_then(Value::as_u64).filter(|align| *align != plan.align);
    claims.extend(align.map(|claimed| FalseClaim::Total {
        key: "options.align",
        claimed,
        is: plan.align,
    }));
    let guards = args.guard.unwrap_or(options.guards);
    claims.extend(unreserved(program, plan, &guards, options.min_slot));
    Ok(claims)
}

/// The options of the plan itself that a plan records.
fn options(recorded: &Recorded) -> Result<Options> {
    let object = Value::Object(recorded.clone().into_iter().collect());
    let options = serde_json::from_value(object).map_err(JsonFault::from);
    options.context("options")
}

fn check_trace(program: &dyn Program, plan: &Plan, source: &Source) -> Result<Vec<Finding>> {
    let trace = source.open(Wanted::Other).with_context(|| source.to_string())?;
    let found = trace::check(program, plan, trace).map_err(|error| anyhow!("{source}: {error}"))?;
    let finding = |violation: &TraceViolation| {
        let text = format!("{source}: {}", violation.describe(program, plan));
        Finding::new(&violation.kind, text)
    };
    Ok(found.iter().map(finding).collect())
}

/// The options that a plan tells of itself.
fn recorded(text: &str) -> Result<Recorded> {
    #[derive(Deserialize)]
    struct Teller {
        #[serde(default)]
        options: Recorded,
    }
    let teller: Teller = object_from_json(text).context("not a plan")?;
    Ok(teller.options)
}

/// What is said about a plan; also its form as JSON.
#[derive(Serialize)]
struct Verdict {
    valid: bool,
    arena_bytes: u64,
    steps: usize,
    values: usize,
    /// What the plan says of the model, and nobody else does.
    taken_from_plan: Map<String, Value>,
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
    fn new(
        program: &dyn Program,
        plan: &Plan,
        taken_from_plan: Map<String, Value>,
        mut findings: Vec<Finding>,
    ) -> Self {
        let found = findings.len();
        findings.truncate(MOST_VIOLATIONS);
        Verdict {
            valid: found == 0,
            arena_bytes: plan.banks.iter().fold(0, |sum, bank| bank.bytes.saturating_add(sum)),
            steps: program.steps(),
            values: program.values(),
            taken_from_plan,
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
        if !self.taken_from_plan.is_empty() {
            let taken = taken::in_words(&self.taken_from_plan);
            writeln!(out, "taken from the plan: {}", one_line(&taken))?;
        }
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
