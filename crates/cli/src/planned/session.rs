//! Models that run.

use std::ffi::OsString;

use plimsoll_run::Session;

use super::{ModelSource, NoAnswer, parse};
use crate::run;

/// Makes a model ready to run, as `plimsoll run` does with these arguments.
pub fn session(source: ModelSource, arguments: &[OsString]) -> Result<Session<'static>, NoAnswer> {
    let args: run::Args = parse("run", arguments)?;
    Ok(run::Opened::new(&args, source.into())?.session()?)
}
