//! Plans of programs that are declared step by step, for runtimes with graphs of their own.

use std::ffi::OsString;
use std::path::Path;

use clap::{Args, ValueEnum};
use plimsoll::{
    BankSpec, DeclaredProgram, Labels, Options, PlanError, Recorded, VerifiedPlan,
    plan_in_best_order_watched, plan_watched, write_plan,
};
use plimsoll_report::{
    SymbolPrefix, write_c_header, write_chrome_trace, write_map, write_rust_source, write_tsv,
};
use serde_json::json;

use super::{NoAnswer, Watcher, parse};
use crate::choices::ChoiceArgs;
use crate::model::search_effort;
use crate::output::{self, OutputArgs};

/// What can be said about the plan of a program.
#[derive(Args)]
struct ProgramArgs {
    #[command(flatten)]
    choices: ChoiceArgs,

    /// The order of the steps
    #[arg(long, value_enum, default_value_t = Order::Best)]
    order: Order,
}

/// In which order steps run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// That in which they were declared
    Given,
    /// The best that rules find
    Fast,
    /// The best that search finds
    Best,
}

/// The forms of the plan of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// One object
    Json,
    /// Offset, size and name of every value that has a place
    Tsv,
    /// A page to walk through
    Html,
    /// Live ranges, for Perfetto
    Trace,
    /// A C header
    H,
    /// Rust constants
    Rs,
}

impl output::Format for Format {
    const TEXT: Self = Format::Json;

    fn suffixes(self) -> &'static [&'static str] {
        match self {
            Format::Json => &["json"],
            Format::Tsv => &["tsv"],
            Format::Html => &["html"],
            Format::Trace => &["trace.json"],
            Format::H => &["h"],
            Format::Rs => &["rs"],
        }
    }
}

/// A declared program with a verified plan.
pub struct PlannedProgram {
    program: DeclaredProgram,
    labels: Labels,
    plan: VerifiedPlan,
    recorded: Recorded,
    banks: Vec<BankSpec>,
}

impl PlannedProgram {
    /// Plans a program. The arguments are those of `plimsoll plan` that are not about a model.
    pub fn new(
        program: DeclaredProgram,
        labels: Labels,
        arguments: &[OsString],
        watcher: Watcher,
    ) -> Result<Self, NoAnswer> {
        let ProgramArgs { choices, order } = parse("plan", arguments)?;
        let options = choices.resolve()?;
        let mut options = options.ok_or_else(|| NoAnswer::Bad("a list is no plan".to_owned()))?;
        options.no_share = choices.no_share_at_all()?;
        let mut clock = choices.packing.start_watched(watcher);
        let effort = options.pack.effort;
        let plan = match order {
            Order::Given => plan_watched(&program, &options, &mut |progress| clock.look(progress)),
            Order::Fast | Order::Best => {
                let effort = search_effort(order == Order::Fast, effort);
                let mut pulse = || clock.tick(|| "searching for an order".to_owned());
                plan_in_best_order_watched(&program, &options, effort, &mut pulse)
            }
        };
        let plan = plan.map_err(|error| match error {
            PlanError::NoRoom(why) => NoAnswer::No(why.to_string()),
            error => NoAnswer::Bad(error.to_string()),
        })?;
        let recorded = recorded(&choices, &options, order);
        Ok(PlannedProgram { program, labels, plan, recorded, banks: options.banks })
    }

    /// What was planned.
    #[must_use]
    pub fn program(&self) -> &DeclaredProgram {
        &self.program
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &VerifiedPlan {
        &self.plan
    }

    /// The plan in the form that files with this extension have.
    pub fn render(&self, extension: &str) -> Result<Vec<u8>, NoAnswer> {
        let format = output::by_suffix(Path::new(&format!("plan.{extension}")))?;
        Ok(self.written(format).into_bytes())
    }

    /// Writes the plan to a file, whole or not at all, in the form that its extension says.
    pub fn save(&self, path: &Path) -> Result<(), NoAnswer> {
        let outputs = OutputArgs::to_file(path).resolve(&[])?;
        Ok(outputs.write(|format, out| out.write_all(self.written(format).as_bytes()))?)
    }

    fn written(&self, format: Format) -> String {
        let PlannedProgram { program, labels, plan, recorded, banks } = self;
        match format {
            Format::Json => write_plan(program, plan, recorded.clone(), Recorded::new()),
            Format::Tsv => write_tsv(program, plan),
            Format::Html => write_map(program, plan, labels),
            Format::Trace => write_chrome_trace(program, plan),
            Format::H => write_c_header(program, plan, banks, &SymbolPrefix::default()),
            Format::Rs => write_rust_source(program, plan, banks),
        }
    }
}

fn recorded(choices: &ChoiceArgs, options: &Options, order: Order) -> Recorded {
    let mut recorded = Recorded::new();
    choices.record(options, &mut recorded);
    let order = order.to_possible_value().map(|value| value.get_name().to_owned());
    recorded.insert("order".to_owned(), json!(order));
    recorded
}
