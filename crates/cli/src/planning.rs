//! From arguments to a plan: the way of every command that plans a model.
//!
//! Each type is a step of it: [`PlanningArgs`] are read to a [`Subject`], its order and its concats
//! make it [`Improved`], and that is planned.

use std::path::Path;

use anyhow::{Result, anyhow};
use clap::Args;
use plimsoll::verify::VerifiedPlan;
use plimsoll::{NoRoom, Options, Plan, PlanError, Recorded, plan_watched, verified};
use plimsoll_graph::{Best, RecordedChoice, ScheduledGraph};
use plimsoll_report::Regions;
use serde_json::json;

use crate::choices::ChoiceArgs;
use crate::clock::Clock;
use crate::input::Source;
use crate::model::{Loaded, Lowering, ModelArgs};
use crate::staged::regions;
use crate::{output, shared};

/// What a command line can say about a model and its plan.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanningArgs {
    #[command(flatten)]
    pub(crate) how_to_read: ModelArgs,

    #[command(flatten)]
    pub(crate) choices: ChoiceArgs,
}

/// A model, and how it is to be planned.
#[derive(Clone)]
pub(crate) struct Subject {
    pub(crate) source: Source,
    pub(crate) lowering: Lowering,
    pub(crate) loaded: Loaded,
    pub(crate) options: Options,
    choices: ChoiceArgs,
    /// What is odd about the model, or what is said of it, and was passed over.
    pub(crate) notes: Vec<String>,
}

/// The same in its best order and without copies that it can do without.
pub(crate) struct Improved {
    pub(crate) subject: Subject,
    pub(crate) best: Best,
}

/// What came of planning.
pub(crate) struct Planned {
    pub(crate) plan: VerifiedPlan,
    /// What is used at the other corners of ranges of dims.
    pub(crate) corners: Vec<(String, u64)>,
}

impl PlanningArgs {
    /// The files that are read beside the model.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.how_to_read.files().chain(self.choices.files())
    }

    /// Reads the model; `None` if only the list of algorithms was asked for, which is printed then.
    pub(crate) fn read(&self, source: Source) -> Result<Option<Subject>> {
        let choices = &self.choices;
        let Some(mut options) = choices.resolve()? else { return Ok(None) };
        let lowering = self.how_to_read.resolve()?;
        let mut loaded = lowering.load(&source)?;
        let mut notes = std::mem::take(&mut loaded.notes);
        lowering.fuse(&mut loaded, &options, &source)?;
        options.no_share = choices.no_share(&loaded.graph)?;
        if let (Some(layout), Some(from)) = (&options.shared, choices.shared_source()) {
            notes.extend(shared::plain_params(&loaded.graph, layout, &from));
        }
        Ok(Some(Subject { source, lowering, loaded, options, choices: choices.clone(), notes }))
    }

    /// Whether nothing is said that a problem has no use for.
    pub(crate) fn fits_problems(&self) -> bool {
        self.how_to_read == ModelArgs::default() && self.choices.fits_problems()
    }
}

impl Subject {
    /// Says on standard error what was passed over.
    pub(crate) fn noted(self) -> Self {
        self.notes.iter().for_each(|note| output::note(note));
        self
    }

    /// The same without what its nodes compute, for those who only plan it.
    pub(crate) fn without_operators(mut self) -> Self {
        self.loaded.operators = None;
        self
    }

    /// Tries other orders and joined concats, as far as nothing else is said.
    pub(crate) fn improve(mut self, clock: &mut Clock) -> Result<Improved> {
        let plimsoll_graph::Improved { best, options } =
            self.lowering.improve(&mut self.loaded, &self.options, &self.source, clock)?;
        self.options = options;
        Ok(Improved { subject: self, best })
    }
}

impl Improved {
    /// The graph as a program.
    pub(crate) fn program(&self) -> Result<ScheduledGraph<'_>> {
        let Subject { source, lowering, loaded, .. } = &self.subject;
        lowering.program(&loaded.graph, source)
    }

    /// What a rewritten model says of the steps of its program.
    pub(crate) fn regions(&self, program: &ScheduledGraph<'_>) -> Option<Regions> {
        self.subject.loaded.staged().map(|staged| regions(&staged, program))
    }

    /// What a plan has to say of its model and its options.
    pub(crate) fn recorded(&self) -> Recorded {
        let Subject { lowering, loaded, options, choices, .. } = &self.subject;
        let mut recorded = Recorded::new();
        lowering.record(&mut recorded);
        choices.record(options, &mut recorded);
        if !loaded.fused.is_empty() {
            recorded.insert("fused".to_owned(), json!(loaded.fused));
        }
        if !self.best.choices.is_empty() {
            let choices = self.best.choices.iter();
            let choices = choices.map(|choice| RecordedChoice::of(&loaded.graph, choice));
            recorded.insert("joined".to_owned(), json!(choices.collect::<Vec<_>>()));
        }
        recorded
    }

    /// Plans the program; or says why there is no room. A plan holds at every corner.
    pub(crate) fn plan(
        &self,
        program: &ScheduledGraph<'_>,
        clock: &mut Clock,
    ) -> Result<Result<Planned, Box<NoRoom>>> {
        match &self.best.plan {
            Some(plan) => self.settled(program, verified(program, Plan::clone(plan))),
            None => self.plan_with(program, &self.subject.options, clock),
        }
    }

    /// The same with other options.
    pub(crate) fn plan_with(
        &self,
        program: &ScheduledGraph<'_>,
        options: &Options,
        clock: &mut Clock,
    ) -> Result<Result<Planned, Box<NoRoom>>> {
        let planned = plan_watched(program, options, &mut |progress| clock.look(progress));
        self.settled(program, planned)
    }

    /// A plan with what is used at the corners of ranges.
    fn settled(
        &self,
        program: &ScheduledGraph<'_>,
        planned: Result<VerifiedPlan, PlanError>,
    ) -> Result<Result<Planned, Box<NoRoom>>> {
        let Subject { source, lowering, loaded, choices, .. } = &self.subject;
        match planned {
            Ok(plan) => {
                let corners = lowering.used_at_corners(loaded, program, &plan, source)?;
                Ok(Ok(Planned { plan, corners }))
            }
            Err(PlanError::NoRoom(why)) => Ok(Err(why)),
            Err(error) => {
                let blamed = match (&error, choices.shared_source()) {
                    (PlanError::Shared(_), Some(shared)) => shared,
                    _ => source.clone(),
                };
                Err(anyhow!(error).context(blamed.to_string()))
            }
        }
    }
}
