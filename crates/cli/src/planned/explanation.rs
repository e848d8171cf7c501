//! Explanations.

use std::ffi::OsString;

use super::{ModelSource, NoAnswer, Watcher, parse, plain, read};
use crate::explain;

/// Why an arena is as large as it is, and what would lower it.
pub struct Explanation {
    /// For people.
    pub text: String,
    /// For programs.
    pub json: String,
    /// Whether something makes it fit the budget; true if there is none.
    pub fits: bool,
}

impl Explanation {
    /// Explains a model as `plimsoll explain` does with these arguments.
    pub fn new(
        source: ModelSource,
        arguments: &[OsString],
        watcher: Watcher,
    ) -> Result<Self, NoAnswer> {
        let args: explain::Args = parse("explain", arguments)?;
        let subject = read(&args.planning, source)?;
        let clock = args.planning.choices.packing.start_watched(watcher);
        let explained = args.explain(subject, clock, |report| {
            let (mut text, mut json) = (Vec::new(), Vec::new());
            report.write_text(&mut text)?;
            report.write_json(&mut json)?;
            let (text, json) = (String::from_utf8(plain(&text))?, String::from_utf8(json)?);
            Ok(Explanation { text, json, fits: explain::fits(report) })
        })?;
        explained.map_err(NoAnswer::No)
    }
}
