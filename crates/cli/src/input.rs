//! Where problems, models and solutions come from: files, standard input, a built-in sample.
//!
//! Every error names its source first: `problem.csv: line 3: …`.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use bytes::{Buf, Bytes};
use clap::Args;
use plimsoll_pack::csv::{self, Table};
use plimsoll_report::Origin;

use crate::foreign::LOOKED_AT;
use crate::kind::{self, Wanted};
use crate::size;

/// A little residual network, for those who have no problem at hand.
const SAMPLE: &str = include_str!("../samples/solve.csv");

/// The longest text that is read as a whole.
const MOST_TEXT_BYTES: u64 = 1 << 30;

/// Where something is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Sample,
    Stdin,
    File(PathBuf),
    /// What a program that carries the command has at hand.
    Memory(Bytes),
}

impl Source {
    /// The source that an argument means: `-` is standard input.
    pub(crate) fn named(argument: &Path) -> Source {
        match argument.as_os_str().as_encoded_bytes() {
            b"-" => Source::Stdin,
            _ => Source::File(argument.to_owned()),
        }
    }

    /// The same; the sample if there is none.
    pub(crate) fn or_sample(argument: Option<&Path>) -> Source {
        argument.map_or(Source::Sample, Source::named)
    }

    /// What reports call it: above a picture, files go by their names, wherever they are.
    pub(crate) fn origin(&self) -> Origin {
        let name = self.to_string();
        let title = match self {
            Source::File(path) => path.file_name().map(|name| name.to_string_lossy().into_owned()),
            Source::Sample | Source::Stdin | Source::Memory(_) => None,
        };
        Origin { title: title.unwrap_or(name.clone()), name, is_sample: *self == Source::Sample }
    }

    /// Whether the name ends in `.extension`.
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        let Source::File(path) = self else { return false };
        path.extension().is_some_and(|e| e.eq_ignore_ascii_case(extension))
    }

    /// Reads all of it as text.
    pub(crate) fn text(&self, wanted: Wanted) -> Result<String> {
        text_of(self.bytes(wanted)?)
    }

    /// Reads all of it.
    pub(crate) fn bytes(&self, wanted: Wanted) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(wanted)?.take(MOST_TEXT_BYTES).read_to_end(&mut bytes).context("cannot read")?;
        ensure!((bytes.len() as u64) < MOST_TEXT_BYTES, "longer than {MOST_TEXT_BYTES} bytes");
        Ok(bytes)
    }

    /// Opens it for reading; it is not when it begins like something else than what is wanted.
    pub(crate) fn open(&self, wanted: Wanted) -> Result<Box<dyn BufRead>> {
        let mut reader = self.open_anything()?;
        kind::check(reader.fill_buf().context("cannot read")?, wanted)?;
        Ok(reader)
    }

    fn open_anything(&self) -> Result<Box<dyn BufRead>> {
        match self {
            Source::Sample => Ok(Box::new(SAMPLE.as_bytes())),
            Source::Stdin => Ok(Box::new(io::stdin().lock())),
            Source::Memory(bytes) => Ok(Box::new(bytes.clone().reader())),
            Source::File(path) => {
                let file = File::open(path).context("cannot open")?;
                // Opening a directory succeeds; only reading it would fail, and say less.
                if file.metadata().is_ok_and(|m| m.is_dir()) {
                    bail!("is a directory, not a file");
                }
                Ok(Box::new(BufReader::with_capacity(LOOKED_AT, file)))
            }
        }
    }
}

/// The text that bytes are.
pub(crate) fn text_of(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let read = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = read.split(|byte| *byte == b'\n').count();
        anyhow!("line {line}: not text (invalid UTF-8)")
    })
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Sample => write!(f, "the built-in sample"),
            Source::Stdin => write!(f, "standard input"),
            Source::File(path) => write!(f, "{}", path.display()),
            Source::Memory(_) => write!(f, "the model"),
        }
    }
}

/// What a command line can say about a problem beside its file.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProblemArgs {
    /// The capacity of the arena: 4096, 256K, 1.5MiB, 4GB
    #[arg(long, visible_alias = "capacity", value_name = "SIZE", value_parser = size::parse,
          allow_hyphen_values = true)]
    budget: Option<u64>,

    /// Align offsets to this many bytes where the file gives no alignment [default: 1]
    #[arg(long, value_name = "SIZE", value_parser = size::parse_align, allow_hyphen_values = true)]
    align: Option<NonZeroU64>,
}

impl ProblemArgs {
    pub(crate) fn new(budget: Option<u64>, align: Option<NonZeroU64>) -> Self {
        ProblemArgs { budget, align }
    }

    /// Reads the problem.
    pub(crate) fn read(&self, source: &Source) -> Result<Table> {
        let read = || {
            let align = self.align.map_or(1, NonZeroU64::get);
            let Table { ids, problem } = csv::read_aligned(source.open(Wanted::Problem)?, align)?;
            Ok(Table { ids, problem: problem.with_capacity(self.budget) })
        };
        read().map_err(|error: anyhow::Error| error.context(source.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dash_is_standard_input_and_the_rest_are_files() {
        assert_eq!(Source::named(Path::new("-")), Source::Stdin);
        assert_eq!(Source::named(Path::new("./-")), Source::File(PathBuf::from("./-")));
        assert!(Source::named(Path::new("a.b/x.JSON")).has_extension("json"));
        assert!(!Source::named(Path::new("x.json.csv")).has_extension("json"));
        assert!(!Source::Stdin.has_extension("json"));
    }

    #[test]
    fn the_sample_is_a_problem() {
        let table = csv::read(SAMPLE.as_bytes()).expect("the sample is valid");
        assert_eq!(table.ids.len(), 16);
    }
}
