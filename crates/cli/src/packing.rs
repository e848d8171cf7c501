//! How to pack: the options that every command that packs has.

use std::num::NonZeroUsize;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, ValueEnum};
use plimsoll_pack::{Algorithm, Effort, Options};

use crate::clock::{self, Clock, Watcher};
use crate::output;

/// What a command line can say about packing.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Search")]
pub(crate) struct PackingArgs {
    /// Pack with this algorithm alone; "list" prints them all [default: try all]
    #[arg(long, value_name = "NAME", value_parser = parse_choice)]
    algorithm: Option<Choice>,

    /// How much search to spend where quick rules stay above the lower bound [default: default]
    #[arg(long, value_enum)]
    effort: Option<EffortArg>,

    /// How many algorithms run in parallel; the result does not depend on it [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    threads: Option<NonZeroUsize>,

    /// Stop searching after this time, such as 10s, 500ms or 2m, and keep the best result so far
    ///
    /// The result then depends on the machine and is not reproducible.
    #[arg(long, value_name = "TIME", value_parser = clock::parse, allow_hyphen_values = true)]
    time_limit: Option<Duration>,
}

/// What can follow `--effort`. Work is counted, not timed: the answer is the same on any machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum EffortArg {
    /// Quick rules only
    Fast,
    /// A second or two of search
    Default,
    /// About a minute of search
    High,
    /// Until the optimum is proven, however long that takes
    Exhaustive,
}

impl From<EffortArg> for Effort {
    fn from(effort: EffortArg) -> Self {
        match effort {
            EffortArg::Fast => Effort::Fast,
            EffortArg::Default => Effort::Default,
            EffortArg::High => Effort::High,
            EffortArg::Exhaustive => Effort::Exhaustive,
        }
    }
}

/// What can follow `--algorithm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    List,
    One(Algorithm),
}

fn parse_choice(name: &str) -> Result<Choice, String> {
    if name == "list" {
        return Ok(Choice::List);
    }
    let unknown = || "unknown algorithm; `plimsoll solve --algorithm list` prints all".to_owned();
    Algorithm::by_name(name).map(Choice::One).ok_or_else(unknown)
}

fn parse_threads(number: &str) -> Result<NonZeroUsize, String> {
    number.parse().map_err(|_| "expected a number of threads, at least 1".to_owned())
}

impl PackingArgs {
    /// The options; `None` if only the list of algorithms was asked for, which is printed then.
    /// What is not said stays as it is in `options`.
    pub(crate) fn resolve(&self, mut options: Options) -> Result<Option<Options>> {
        if let Some(effort) = self.effort {
            (options.effort, options.work) = (effort.into(), None);
        }
        options.threads = self.threads.map_or(1, NonZeroUsize::get);
        match self.algorithm {
            Some(Choice::List) => return list_algorithms().map(|()| None),
            Some(Choice::One(algorithm)) => options.algorithms = vec![algorithm],
            None => {}
        }
        Ok(Some(options))
    }

    /// Starts the clock.
    pub(crate) fn start_clock(&self) -> Clock {
        Clock::start(self.time_limit)
    }

    /// The same for a program that watches.
    pub(crate) fn start_watched(&self, watcher: Watcher) -> Clock {
        Clock::watched(self.time_limit, watcher)
    }

    /// Whether an effort is asked for.
    pub(crate) fn has_effort(&self) -> bool {
        self.effort.is_some()
    }

    /// Whether there is a limit in time.
    pub(crate) fn is_timed(&self) -> bool {
        self.time_limit.is_some()
    }

    /// The algorithm that was asked for.
    pub(crate) fn algorithm(&self) -> Option<Algorithm> {
        match self.algorithm {
            Some(Choice::One(algorithm)) => Some(algorithm),
            Some(Choice::List) | None => None,
        }
    }
}

fn list_algorithms() -> Result<()> {
    output::to_stdout(true, |out| {
        for algorithm in Algorithm::named() {
            writeln!(out, "{:<24}{}", algorithm.to_string(), algorithm.about())?;
        }
        Ok(())
    })
}
