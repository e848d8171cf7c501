//! `plimsoll compare`: orders, sharing and packing side by side.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use plimsoll::{Execution, NoShare, Program, Totals};
use plimsoll_pack::csv::Table;
use plimsoll_pack::{Algorithm, Effort, Options, Status, solve_watched};
use plimsoll_report::{Comparison, Row, counted};

use crate::clock::Clock;
use crate::input::{ProblemArgs, Source};
use crate::model::{Sequence, Sharing};
use crate::output::{self, OutputArgs};
use crate::planning::{Improved, Planned, PlanningArgs, Subject};
use crate::{Answer, size};

const EXAMPLES: &str = "\
A file named .csv is a packing problem, as for `plimsoll solve`; any other is a model.

A model is planned in every order (given, fast, best) with more and more sharing: none (every value its own
place), lives, views, in-place, concats, strides (with --kernels strided) and fused; each includes those
before it. The portfolio tries all packing rules; for the last order and sharing, each rule is also shown
alone. The column search is the time spent on order and concats, time that of planning and verifying. The smallest
arenas are marked with *; the simplest way to reach them comes first.
A problem is packed by every rule, and by the portfolio at every effort up to the given one [default: high].
What an option fixes is not varied: with --order fast, only that order is compared.

Examples:
  plimsoll compare                               the built-in sample
  plimsoll compare net.onnx --dim batch=1        a model
  plimsoll compare net.onnx --all                every order x sharing x algorithm
  plimsoll compare net.onnx -o table.md          a table for a page; .csv and .json too
  plimsoll compare net.onnx --no-time            the same bytes on every machine
  plimsoll compare problem.csv                   every algorithm on a problem
  plimsoll compare problem.csv --effort fast     without long searches";

/// Compare orders, sharing and packing of a model, or packings of a problem
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The model or problem; "-" reads a model from standard input; without one, the built-in sample is compared
    #[arg(value_name = "MODEL|PROBLEM.csv")]
    file: Option<PathBuf>,

    #[command(flatten)]
    planning: PlanningArgs,

    /// The capacity of a problem's arena
    #[arg(long, visible_alias = "capacity", value_name = "SIZE", value_parser = size::parse,
          allow_hyphen_values = true, help_heading = "Comparison")]
    budget: Option<u64>,

    /// Compare every combination; for a problem, also reordering and search alone
    #[arg(long, help_heading = "Comparison")]
    all: bool,

    /// Leave out times; all else is the same on every machine
    #[arg(long, help_heading = "Comparison")]
    no_time: bool,

    #[command(flatten)]
    output: OutputArgs<Format>,
}

/// The forms of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table and a conclusion, for people
    Text,
    /// One object, for scripts
    Json,
    /// One row per combination
    Csv,
    /// A Markdown table
    Md,
}

impl output::Format for Format {
    const TEXT: Self = Format::Text;

    fn suffixes(self) -> &'static [&'static str] {
        match self {
            Format::Text => &["txt"],
            Format::Json => &["json"],
            Format::Csv => &["csv"],
            Format::Md => &["md"],
        }
    }
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let output = args.output.resolve(&args.files())?;
    let source = Source::or_sample(args.file.as_deref());
    let compared = if source.has_extension("csv") {
        args.compare_packings(&source)?
    } else {
        ensure!(args.budget.is_none(), "--budget is for problems; models have --bank NAME=SIZE");
        args.compare_plans(source.clone())?
    };
    let Some(mut comparison) = compared else { return Ok(Answer::Yes) };
    comparison.has_times = !args.no_time;
    output.write(|format, out| match format {
        Format::Text => comparison.write_text(out),
        Format::Json => comparison.write_json(out),
        Format::Csv => comparison.write_csv(out),
        Format::Md => comparison.write_markdown(out),
    })?;
    if source == Source::Sample {
        output.note("no file given; this is the built-in sample");
    }
    Ok(Answer::Yes)
}

/// An order and a sharing, and who packs what comes of it: `None` is the portfolio.
struct Case {
    sequence: Sequence,
    sharing: Sharing,
    packers: Vec<Option<Algorithm>>,
}

impl Args {
    /// The files that are read.
    fn files(&self) -> Vec<&Path> {
        let model = self.file.as_deref().into_iter();
        model.chain(self.planning.files()).collect()
    }

    /// Plans a model in every way; `None` if only the list of algorithms was asked for.
    fn compare_plans(&self, source: Source) -> Result<Option<Comparison>> {
        let Some(subject) = self.planning.read(source)?.map(Subject::noted) else {
            return Ok(None);
        };
        let cases = self.cases(&subject);
        let count: usize = cases.iter().map(|case| case.packers.len()).sum();
        let mut comparison = Comparison::new(&["order", "sharing", "algorithm"]);
        let mut clock = self.planning.choices.packing.start_clock();
        for case in &cases {
            let at = comparison.rows.len() + 1;
            let (order, sharing) = (case.sequence.name(), case.sharing.name());
            clock.lap(&format!("{at} of {count}: {order} order, sharing {sharing}: "));
            let start = Instant::now();
            let improved = subject.variant(case.sequence, case.sharing)?.improve(&mut clock)?;
            let searched = start.elapsed();
            if let Some(ordering) = &improved.best.ordering {
                let bound = ordering.schedule.arena_bound_bytes;
                comparison.bound = Some(comparison.bound.map_or(bound, |least| least.min(bound)));
            }
            for packer in &case.packers {
                let (mut row, unshared) = planned(&improved, case, *packer, &mut clock)?;
                row.search_time = Some(searched);
                comparison.rows.push(row);
                comparison.unshared = comparison.unshared.or(unshared);
            }
        }
        drop(clock);
        comparison.source = subject.source.to_string();
        comparison.title = title(&subject)?;
        comparison.bound_of = "no order with any of this sharing gets below it";
        comparison.skipped = self.skipped(&subject, &cases);
        let lives =
            cases.iter().zip(firsts(&cases)).find(|(case, _)| case.sharing == Sharing::Lives);
        let lives = lives.and_then(|(_, row)| comparison.rows[row].arena_bytes);
        let references =
            [(comparison.unshared, "every tensor apart"), (lives, "sharing by lives alone")];
        let known = references.into_iter().filter_map(|(bytes, words)| Some((bytes?, words)));
        comparison.references.extend(known);
        Ok(Some(comparison))
    }

    /// What is planned: from what is simplest to what takes most.
    fn cases(&self, subject: &Subject) -> Vec<Case> {
        let mut sequences = self.planning.how_to_read.sequences();
        if subject.loaded.graph.execution() != Execution::InOrder {
            // There is nothing to search for.
            sequences.truncate(1);
        }
        let sharings: Vec<Sharing> =
            Sharing::ALL.into_iter().filter(|one| self.is_compared(*one, subject)).collect();
        let asked = self.planning.choices.packing.algorithm();
        let mut cases = Vec::new();
        for sharing in &sharings {
            // Where nothing is shared, no order is better than another.
            let orders = if *sharing == Sharing::None { 1 } else { sequences.len() };
            for sequence in &sequences[..orders] {
                let most = sharings.iter().rfind(|sharing| **sharing != Sharing::Fused);
                let is_last = Some(sharing) == most && Some(sequence) == sequences.last();
                let mut packers = vec![asked];
                if asked.is_none() && (is_last || self.all && *sharing != Sharing::None) {
                    packers.extend(Algorithm::all().into_iter().map(Some));
                }
                cases.push(Case { sequence: *sequence, sharing: *sharing, packers });
            }
        }
        cases
    }

    fn is_compared(&self, sharing: Sharing, subject: &Subject) -> bool {
        let choices = &self.planning.choices;
        let most = self.planning.how_to_read.most_sharing();
        match sharing {
            Sharing::None => true,
            _ if choices.keeps_all_apart() => false,
            Sharing::Strides => most == Sharing::Strides,
            Sharing::Fused => {
                most >= Sharing::Concats && subject.lowering.can_fuse(&subject.loaded)
            }
            Sharing::InPlace if choices.is_never_in_place() => false,
            sharing => sharing <= most,
        }
    }

    /// What is not shown, in words.
    fn skipped(&self, subject: &Subject, cases: &[Case]) -> Vec<String> {
        let mut skipped = Vec::new();
        if subject.loaded.graph.execution() != Execution::InOrder {
            skipped.push("other orders: the steps do not run in order".to_owned());
        }
        let asked = self.planning.choices.packing.algorithm();
        if !self.all && asked.is_none() && cases.len() > 2 {
            let rules = counted(Algorithm::all().len(), "rule");
            skipped.push(format!("the {rules} alone in the other rows; --all shows them"));
        }
        skipped
    }

    /// Packs a problem in every way; `None` if only the list of algorithms was asked for.
    fn compare_packings(&self, source: &Source) -> Result<Option<Comparison>> {
        if !self.planning.fits_problems() {
            bail!(
                "{source}: a problem has no model; of the options for plans, only --align, \
                 --algorithm, --effort, --threads and --time-limit are for problems"
            );
        }
        let packing = &self.planning.choices.packing;
        let Some(options) = packing.resolve(Options::default())? else { return Ok(None) };
        let table = ProblemArgs::new(self.budget, self.planning.choices.align).read(source)?;
        let most = if packing.has_effort() { options.effort } else { Effort::High };
        let ways = self.ways(&options, most);
        let mut comparison = Comparison::new(&["algorithm", "effort"]);
        let mut clock = packing.start_clock();
        for (at, way) in ways.iter().enumerate() {
            let labels = way.labels();
            clock.lap(&format!("{} of {}: {}: ", at + 1, ways.len(), labels.join(", ")));
            comparison.rows.push(packed(&table, &way.options, labels, &mut clock));
        }
        drop(clock);
        comparison.source = source.to_string();
        comparison.title = format!("{source}: {}", counted(table.problem.len(), "buffer"));
        comparison.bound = comparison.rows.iter().map(|row| row.lower_bound_bytes).max();
        comparison.bound_of = "no packing gets below it";
        comparison.unshared = Some(table.problem.unshared_bytes());
        comparison.references.push((table.problem.unshared_bytes(), "a place for every buffer"));
        let largest = Algorithm::LargestFirst.to_string();
        let largest = comparison.rows.iter().find(|row| row.labels[0] == largest);
        let bytes = largest.and_then(|row| row.arena_bytes);
        comparison.references.extend(bytes.map(|bytes| (bytes, "largest first")));
        if most != Effort::Exhaustive && packing.algorithm().is_none() {
            comparison.skipped.push("search to the end; --effort exhaustive shows it".to_owned());
        }
        Ok(Some(comparison))
    }

    /// How a problem is packed: by each rule, then by all of them with more and more search.
    fn ways(&self, options: &Options, most: Effort) -> Vec<Way> {
        let alone = |algorithm: Algorithm| {
            let mut options = options.clone();
            options.algorithms = vec![algorithm];
            Way { algorithm: Some(algorithm), options }
        };
        if let Some(algorithm) = self.planning.choices.packing.algorithm() {
            return vec![alone(algorithm)];
        }
        let rules = if self.all { Algorithm::named() } else { Algorithm::all() };
        let mut ways: Vec<Way> = rules.into_iter().map(alone).collect();
        for effort in [Effort::Fast, Effort::Default, Effort::High, Effort::Exhaustive] {
            let mut options = options.clone();
            options.effort = effort;
            ways.push(Way { algorithm: None, options });
            if effort == most {
                break;
            }
        }
        ways
    }
}

/// A way to pack a problem: by one algorithm, or by the portfolio.
struct Way {
    algorithm: Option<Algorithm>,
    options: Options,
}

impl Way {
    fn labels(&self) -> Vec<String> {
        let effort = match (self.algorithm, self.options.effort) {
            (
                Some(Algorithm::Reordering | Algorithm::Repair | Algorithm::Search) | None,
                effort,
            ) => effort_name(effort),
            (Some(_), _) => "rule",
        };
        vec![packer_name(self.algorithm), effort.to_owned()]
    }
}

fn effort_name(effort: Effort) -> &'static str {
    match effort {
        Effort::Fast => "fast",
        Effort::Default => "default",
        Effort::High => "high",
        Effort::Exhaustive => "exhaustive",
    }
}

fn packer_name(algorithm: Option<Algorithm>) -> String {
    algorithm.map_or("portfolio".to_owned(), |algorithm| algorithm.to_string())
}

/// The first row of each case.
fn firsts(cases: &[Case]) -> impl Iterator<Item = usize> {
    cases.iter().scan(0, |next, case| {
        let first = *next;
        *next += case.packers.len();
        Some(first)
    })
}

fn title(subject: &Subject) -> Result<String> {
    let program = subject.lowering.program(&subject.loaded.graph, &subject.source)?;
    let (steps, values) = (counted(program.steps(), "step"), counted(program.values(), "value"));
    Ok(format!("{}: {steps}, {values}", subject.source))
}

/// Plans once, and says what came of it, and what it would take with every tensor apart.
fn planned(
    improved: &Improved,
    case: &Case,
    packer: Option<Algorithm>,
    clock: &mut Clock,
) -> Result<(Row, Option<u64>)> {
    let program = improved.program()?;
    let mut options = improved.subject.options.clone();
    options.pack.algorithms = packer.into_iter().collect();
    let start = Instant::now();
    let planned = improved.plan_with(&program, &options, clock)?;
    let time = start.elapsed();
    let mut unshared = None;
    let (arena_bytes, lower_bound_bytes, status) = match planned {
        Ok(Planned { plan, .. }) => {
            let totals = Totals::new(&program, &plan);
            let status = if plan.derivation.optimal { "optimal" } else { "feasible" };
            unshared = Some(totals.unshared_bytes);
            (Some(totals.arena_bytes), totals.lower_bound_bytes, status)
        }
        Err(why) => {
            (None, why.lower_bound_bytes, if why.proven { "infeasible" } else { "not found" })
        }
    };
    let labels =
        vec![case.sequence.name().to_owned(), case.sharing.name().to_owned(), packer_name(packer)];
    let row = Row { labels, arena_bytes, lower_bound_bytes, status, search_time: None, time };
    Ok((row, unshared))
}

/// Packs once, and says what came of it.
fn packed(table: &Table, options: &Options, labels: Vec<String>, clock: &mut Clock) -> Row {
    let start = Instant::now();
    let outcome = solve_watched(&table.problem, options, &mut |progress| clock.look(progress));
    let time = start.elapsed();
    let status = match outcome.status {
        Status::Optimal => "optimal",
        Status::Infeasible(_) => "infeasible",
        _ if !outcome.fits(&table.problem) => "not found",
        // Valid, and nothing more is claimed.
        _ => "feasible",
    };
    let arena_bytes = outcome.fits(&table.problem).then_some(outcome.arena_bytes);
    let lower_bound_bytes = outcome.lower_bound.bytes;
    Row { labels, arena_bytes, lower_bound_bytes, status, search_time: None, time }
}

impl Subject {
    /// The same in another order, with other sharing.
    fn variant(&self, sequence: Sequence, sharing: Sharing) -> Result<Self> {
        let mut variant = self.clone();
        variant.lowering = self.lowering.variant(sequence, sharing);
        variant.loaded.unfuse();
        variant.lowering.fuse(&mut variant.loaded, &self.options, &self.source)?;
        if sharing == Sharing::None {
            variant.options.no_share = NoShare::Everything;
        }
        Ok(variant)
    }
}
