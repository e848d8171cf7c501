//! Models that are fitted.

use std::ffi::OsString;
use std::path::Path;

use super::{ModelSource, NoAnswer, Watcher, parse, plain};
use crate::fit::{self, Fitted};
use crate::input::Source;
use crate::output::OutputArgs;

/// What `plimsoll fit` finds for a model.
pub struct FittedModel {
    args: fit::Args,
    fitted: Fitted,
}

impl FittedModel {
    /// Fits a model as `plimsoll fit` does with these arguments. A goal that nothing meets has no answer.
    pub fn new(
        source: ModelSource,
        arguments: &[OsString],
        watcher: Watcher,
    ) -> Result<Self, NoAnswer> {
        let args: fit::Args = parse("fit", arguments)?;
        let clock = args.packing.start_watched(watcher);
        let fitted = args.fit(source.into(), clock)?;
        let fitted = fitted
            .ok_or_else(|| NoAnswer::Bad("a list of algorithms is no fitted model".to_owned()))?;
        match fitted.refusal() {
            None => Ok(FittedModel { args, fitted }),
            Some(refusal) => Err(NoAnswer::No(refusal)),
        }
    }

    /// The arena of the model as it is.
    #[must_use]
    pub fn source_arena_bytes(&self) -> u64 {
        self.fitted.frontier.source_arena_bytes
    }

    /// The arena of the model that meets the goal; of the smallest, if the frontier was asked for.
    #[must_use]
    pub fn arena_bytes(&self) -> u64 {
        let points = &self.fitted.frontier.points;
        let point = self.fitted.chosen.map_or(points.last(), |chosen| points.get(chosen));
        point.map_or(self.source_arena_bytes(), |point| point.arena_bytes)
    }

    /// What was found, for people.
    pub fn text(&self) -> Result<String, NoAnswer> {
        self.told(|report, out| report.write_text(out))
    }

    /// What was found, for programs.
    pub fn json(&self) -> Result<String, NoAnswer> {
        self.told(|report, out| report.write_json(out))
    }

    /// Writes it to a file, whole or not at all: the model as `.onnx`, what was found as `.html`, `.svg`,
    /// `.json` or `.txt`.
    pub fn save(&self, path: &Path) -> Result<(), NoAnswer> {
        let mut read = self.args.files();
        if let Source::File(model) = &self.fitted.source {
            read.push(model);
        }
        let outputs = OutputArgs::to_file(path).resolve(&read)?;
        self.args.check_forms(&outputs)?;
        for output in outputs.iter() {
            self.fitted.write(output)?;
        }
        Ok(())
    }

    fn told(
        &self,
        tell: impl FnOnce(&plimsoll_report::FrontierReport<'_>, &mut Vec<u8>) -> std::io::Result<()>,
    ) -> Result<String, NoAnswer> {
        let mut bytes = Vec::new();
        let told = self.fitted.report(|report| tell(report, &mut bytes));
        told.map_err(anyhow::Error::from)?;
        Ok(String::from_utf8(plain(&bytes)).map_err(anyhow::Error::from)?)
    }
}
