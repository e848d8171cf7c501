//! `plimsoll`, the command: arguments in, one answer out.
//!
//! This crate alone prints and reads arguments, files and the environment. A command is a file
//! with its arguments and a `run`; what it finds is an `Answer`, and what keeps it from
//! answering is an error, told in one line.
//!
//! It is a library for those who carry the command with them, as the Python package does: [`command`] is
//! the whole of it, and [`PlannedModel`], [`PlannedProgram`], [`Explanation`], [`FittedModel`], [`session`] and
//! [`PackedProblem`] are what the commands find, to be asked instead of printed.

mod bank;
mod boundary;
mod check;
mod checkpoint;
mod choices;
mod claim;
mod clock;
mod compare;
mod completions;
mod device;
mod diff;
mod dims;
mod donations;
mod explain;
mod fit;
mod foreign;
mod given;
mod input;
mod kind;
mod man;
mod model;
mod near;
mod noted_onnx;
mod npy;
mod numbers;
mod output;
mod packing;
mod plan;
mod planned;
mod planned_tflite;
mod planning;
mod run;
mod shared;
mod size;
mod solve;
mod staged;
#[cfg(test)]
mod tests;
mod two_memories;
mod verdict;
mod verify;

use std::ffi::OsString;

use anyhow::Result;
use clap::{Parser, Subcommand};
pub use npy::{dtype_by_numpy_name, numpy_name};
pub use planned::{
    Explanation, FittedModel, ModelSource, NoAnswer, PackedProblem, PlannedModel, PlannedProgram,
    Watcher, session,
};
pub use size::parse as parse_size;

/// How often memory is asked for is told by `plimsoll run`.
#[global_allocator]
static ALLOCATOR: plimsoll_run::Counted = plimsoll_run::Counted::new();

const EXAMPLES: &str = "\
Examples:
  plimsoll plan                                  plan the built-in sample network
  plimsoll plan net.onnx -o plan.json            plan your own model
  plimsoll verify net.onnx plan.json             verify a plan, whoever made it
  plimsoll explain net.onnx --budget 256KiB      why the arena is so large, and what would lower it
  plimsoll fit net.onnx --budget 1MiB -o small.onnx
                                                 the same model in less memory, for any runtime
  plimsoll compare net.onnx                      orders, sharing and packing side by side
  plimsoll run net.onnx --input x=image.npy      execute a model inside its planned arena
  plimsoll diff old.json plan.json               what changed from one plan to another
  plimsoll solve problem.csv                     pack buffers with live ranges
  plimsoll check problem.csv solution.csv        check a packing, whoever made it

Exit status:
  0  success
  1  the answer is no: infeasible, over budget, not valid, or different
  2  bad usage or bad input, with one message on standard error";

/// Plan the memory of tensor programs, with a lower bound beside every arena size
#[derive(Parser)]
#[command(name = "plimsoll", version, after_help = EXAMPLES)]
struct Cli {
    /// Print nothing but errors; the exit status is the answer
    #[arg(short, long, global = true)]
    quiet: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Plan(Box<plan::Args>),
    Verify(verify::Args),
    Explain(explain::Args),
    Fit(Box<fit::Args>),
    Compare(compare::Args),
    Run(run::Args),
    Diff(diff::Args),
    Solve(solve::Args),
    Check(check::Args),
    Completions(completions::Args),
    Man(man::Args),
}

/// What a command found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
}

impl Command {
    fn run(&self) -> Result<Answer> {
        match self {
            Command::Plan(args) => plan::run(args),
            Command::Verify(args) => verify::run(args),
            Command::Explain(args) => explain::run(args),
            Command::Fit(args) => fit::run(args),
            Command::Compare(args) => compare::run(args),
            Command::Run(args) => run::run(args),
            Command::Diff(args) => diff::run(args),
            Command::Solve(args) => solve::run(args),
            Command::Check(args) => check::run(args),
            Command::Completions(args) => completions::run(args),
            Command::Man(args) => man::run(args),
        }
    }
}

/// Runs the command that the arguments say, its name first, and gives its exit status.
pub fn command(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(usage) => {
            // Nobody is left to be told if this fails.
            let _ = usage.print();
            return u8::try_from(usage.exit_code()).unwrap_or(2);
        }
    };
    if cli.quiet {
        output::be_quiet();
    }
    match cli.command.run() {
        Ok(Answer::Yes) => 0,
        Ok(Answer::No) => 1,
        Err(error) => {
            output::error(&format!("{error:#}"));
            2
        }
    }
}
