//! What `plan`, `explain`, `fit`, `run` and `solve` find, for a program that carries the command: to be asked
//! instead of printed.
//!
//! How a model is read and planned is said in the arguments of the command, so that there is one set of
//! options with one meaning and one way to be wrong.

mod explanation;
mod fitted;
mod packing;
mod program;
mod session;

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

use anstream::adapter::strip_bytes;
use bytes::Bytes;
use clap::{Args, Command};
pub use explanation::Explanation;
pub use fitted::FittedModel;
pub use packing::PackedProblem;
use plimsoll_graph::ScheduledGraph;
use plimsoll_report::{PlanReport, one_line};

pub use program::PlannedProgram;
pub use session::session;

pub use crate::clock::Watcher;
use crate::device::Uses;
use crate::input::Source;
use crate::output::{self, OutputArgs};
use crate::plan::{self, Format};
use crate::planning::{Improved, Planned, PlanningArgs, Subject};

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// The sample of the command.
    Sample,
    /// A file: `.onnx`, `.plim`, or a training graph in `.json`.
    File(PathBuf),
    /// The bytes of such a file.
    Memory(Bytes),
}

impl From<ModelSource> for Source {
    fn from(source: ModelSource) -> Self {
        match source {
            ModelSource::Sample => Source::Sample,
            ModelSource::File(path) => Source::File(path),
            ModelSource::Memory(bytes) => Source::Memory(bytes),
        }
    }
}

/// Why there is no answer, in the words of the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The answer is no: it does not fit.
    No(String),
    /// The model, or what is said of it, is wrong.
    Bad(String),
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (NoAnswer::No(why) | NoAnswer::Bad(why)) = self;
        f.write_str(why)
    }
}

impl std::error::Error for NoAnswer {}

impl From<anyhow::Error> for NoAnswer {
    fn from(error: anyhow::Error) -> Self {
        NoAnswer::Bad(one_line(&format!("{error:#}")))
    }
}

/// A model with a verified plan.
pub struct PlannedModel {
    args: plan::Args,
    improved: Improved,
    planned: Planned,
}

impl PlannedModel {
    /// Plans a model as `plimsoll plan` does with these arguments. What the watcher stops has no answer.
    pub fn new(
        source: ModelSource,
        arguments: &[OsString],
        watcher: Watcher,
    ) -> Result<Self, NoAnswer> {
        let args: plan::Args = parse("plan", arguments)?;
        let mut subject = read(&args.planning, source)?;
        args.stay_near(&mut subject)?;
        let mut clock = args.planning.choices.packing.start_watched(watcher);
        let improved = subject.improve(&mut clock)?;
        let program = improved.program()?;
        let planned = improved.plan(&program, &mut clock)?;
        drop(program);
        let planned =
            planned.map_err(|why| NoAnswer::No(format!("{}: {why}", improved.subject.source)))?;
        let planned = PlannedModel { args, improved, planned };
        match planned.tell(|report| Ok(report.refusal()))? {
            None => Ok(planned),
            Some(refusal) => {
                Err(NoAnswer::No(format!("{}: {refusal}", planned.improved.subject.source)))
            }
        }
    }

    /// What of the model, and of what is said of it, was passed over.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.improved.subject.notes
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &plimsoll::VerifiedPlan {
        &self.planned.plan
    }

    /// What was planned.
    pub fn program(&self) -> Result<ScheduledGraph<'_>, NoAnswer> {
        Ok(self.improved.program()?)
    }

    /// The plan in the form that files with this extension have: `txt`, `json`, `html` and so on.
    pub fn render(&self, extension: &str) -> Result<Vec<u8>, NoAnswer> {
        let format = output::by_suffix(Path::new(&format!("plan.{extension}")))?;
        let mut bytes = Vec::new();
        self.write(format, None, |writing| Ok(writing(&mut bytes)?))?;
        Ok(if format == Format::Text { plain(&bytes) } else { bytes })
    }

    /// Writes the plan to a file, whole or not at all, in the form that its extension says.
    pub fn save(&self, path: &Path) -> Result<(), NoAnswer> {
        let mut read = self.args.files();
        if let Source::File(model) = &self.improved.subject.source {
            read.push(model);
        }
        let outputs = OutputArgs::to_file(path).resolve(&read)?;
        for output in outputs.iter() {
            self.write(output.format, output.path(), |writing| output.write(writing))?;
        }
        Ok(())
    }

    fn write(
        &self,
        format: Format,
        path: Option<&Path>,
        write: impl FnOnce(plan::Writing<'_>) -> anyhow::Result<()>,
    ) -> Result<(), NoAnswer> {
        let device =
            self.args.device.resolve(Uses { symbols: true, tensors: true, files: true })?;
        let subject = &self.improved.subject;
        self.tell(|report| {
            plan::check_form(format, report, subject)?;
            let recorded = self.args.recorded(&self.improved);
            write(plan::writing(format, report, subject, &device, recorded, path)?)
        })
    }

    fn tell<T>(
        &self,
        tell: impl FnOnce(&PlanReport<'_>) -> anyhow::Result<T>,
    ) -> Result<T, NoAnswer> {
        let program = self.improved.program()?;
        let Planned { plan, corners } = &self.planned;
        let origin = self.improved.subject.source.origin();
        let regions = self.improved.regions(&program);
        let asked = self.args.asked(&self.improved, corners, regions.as_ref());
        Ok(tell(&PlanReport::new(&origin, &program, plan, asked))?)
    }
}

/// Text without the escape sequences for colours.
fn plain(text: &[u8]) -> Vec<u8> {
    strip_bytes(text).into_vec()
}

fn read(planning: &PlanningArgs, source: ModelSource) -> Result<Subject, NoAnswer> {
    let subject = planning.read(source.into())?;
    subject.ok_or_else(|| NoAnswer::Bad("a list of algorithms is no plan".to_owned()))
}

/// The arguments of a command, without its name.
fn parse<A: Args>(name: &'static str, arguments: &[OsString]) -> Result<A, NoAnswer> {
    let command = A::augment_args(Command::new(name).no_binary_name(true).disable_help_flag(true));
    let matches = command.try_get_matches_from(arguments);
    matches.and_then(|matches| A::from_arg_matches(&matches)).map_err(|error| usage(&error))
}

/// What is wrong with arguments, without the hints for people who type them.
fn usage(error: &clap::Error) -> NoAnswer {
    let text = error.render().to_string();
    let wrong = text.split("\n\n").next().unwrap_or_default();
    let wrong = wrong.strip_prefix("error: ").unwrap_or(wrong);
    let words: Vec<&str> = wrong.split_whitespace().collect();
    NoAnswer::Bad(words.join(" "))
}
