//! `plimsoll check`: is this packing valid?

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Result, bail};
use plimsoll_pack::csv::Table;
use plimsoll_pack::{BufferId, Claim, Sweep, Violation, bound, check_at_most};
use plimsoll_report::{gap, write_json};
use serde::Serialize;

use crate::input::{ProblemArgs, Source};
use crate::output::{OutputArgs, TextOrJson};
use crate::verdict::{self, MOST_VIOLATIONS};
use crate::{Answer, claim};

const EXAMPLES: &str = "\
The solution is a CSV file with the columns id and offset, in any order of rows, or what
`plimsoll solve --format json` writes. One of the two files may be - for standard input.

Examples:
  plimsoll check problem.csv solution.csv
  plimsoll check problem.csv solution.json --budget 256KiB
  plimsoll solve problem.csv --format json | plimsoll check problem.csv -
  plimsoll check problem.csv solution.csv --format json";

/// Check a packing, whoever made it, and list every violation
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The problem; "-" reads standard input
    #[arg(value_name = "PROBLEM.csv")]
    problem: PathBuf,

    /// The packing, CSV or JSON; "-" reads standard input
    #[arg(value_name = "SOLUTION")]
    solution: PathBuf,

    #[command(flatten)]
    how_to_read: ProblemArgs,

    #[command(flatten)]
    output: OutputArgs<TextOrJson>,
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let output = args.output.resolve(&[&args.problem, &args.solution])?;
    let (problem, solution) = (Source::named(&args.problem), Source::named(&args.solution));
    if problem == Source::Stdin && solution == Source::Stdin {
        bail!("only one of the problem and the solution can be standard input");
    }
    let table = args.how_to_read.read(&problem)?;
    let claim = claim::read(&solution, &table)?;
    let verdict = Verdict::new(&table, &claim);
    output.write(|format, out| match format {
        TextOrJson::Text => verdict.write_text(out),
        TextOrJson::Json => write_json(out, &verdict),
    })?;
    Ok(if verdict.valid { Answer::Yes } else { Answer::No })
}

/// What is said about a packing; also its form as JSON.
#[derive(Serialize)]
struct Verdict {
    valid: bool,
    arena_bytes: u64,
    lower_bound_bytes: u64,
    capacity_bytes: Option<u64>,
    /// Whether `violations` are all.
    complete: bool,
    violations: Vec<Finding>,
}

/// A violation in words, with the ids of the buffers that it is about.
#[derive(Serialize)]
struct Finding {
    kind: &'static str,
    text: String,
    buffers: Vec<String>,
}

impl Verdict {
    fn new(table: &Table, claim: &Claim) -> Self {
        let problem = &table.problem;
        let violations = check_at_most(problem, claim, MOST_VIOLATIONS);
        Verdict {
            valid: violations.is_empty(),
            arena_bytes: arena_bytes(table, claim),
            lower_bound_bytes: bound(problem, &Sweep::new(problem)).bytes,
            capacity_bytes: problem.capacity(),
            complete: violations.len() <= MOST_VIOLATIONS,
            violations: violations
                .iter()
                .take(MOST_VIOLATIONS)
                .map(|violation| Finding::new(table, violation))
                .collect(),
        }
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (arena, bound) = (self.arena_bytes, self.lower_bound_bytes);
        let gap = gap(arena, bound);
        let fine = format!("arena {arena} bytes, lower bound {bound} bytes, gap {gap}");
        let violations = self.violations.iter().map(|violation| violation.text.as_str());
        verdict::write_text(out, violations, self.complete, &fine)
    }
}

impl Finding {
    fn new(table: &Table, violation: &Violation) -> Self {
        let quoted = |id: BufferId| format!("{:?}", table.name(id));
        let id = |buffer: &BufferId| table.name(*buffer).to_owned();
        let (kind, buffers) = match violation {
            Violation::Missing { buffer } => ("missing", vec![id(buffer)]),
            Violation::Unknown { id } => ("unknown", vec![id.clone()]),
            Violation::Misaligned { buffer, .. } => ("misaligned", vec![id(buffer)]),
            Violation::NotFixed { buffer, .. } => ("not-fixed", vec![id(buffer)]),
            Violation::OverCapacity { buffer, .. } => ("over-capacity", vec![id(buffer)]),
            Violation::Overlap { a, b, .. } => ("overlap", vec![id(a), id(b)]),
            Violation::Conflict { a, b, .. } => ("conflict", vec![id(a), id(b)]),
            _ => ("other", Vec::new()),
        };
        Finding { kind, text: violation.describe(quoted).to_string(), buffers }
    }
}

/// The highest end of any buffer that has an offset.
fn arena_bytes(table: &Table, claim: &Claim) -> u64 {
    let buffers = table.problem.buffers().iter().zip(&claim.offsets);
    let ends =
        buffers.filter_map(|(buffer, offset)| Some(offset.as_ref()?.saturating_add(buffer.size)));
    ends.max().unwrap_or(0)
}
