//! `plimsoll`, the command: arguments in, one answer out.
//!
//! This crate alone prints and reads arguments, files and the environment. A command is a file
//! with its arguments and a `run`; what it finds is an [`Answer`], and what keeps it from
//! answering is an error, told in one line.

mod bank;
mod boundary;
mod check;
mod choices;
mod claim;
mod clock;
mod dims;
mod donations;
mod input;
mod model;
mod output;
mod packing;
mod plan;
mod report;
mod shared;
mod size;
mod solve;
mod verify;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  plimsoll plan                                  plan the built-in sample network
  plimsoll plan net.plim -o plan.json            plan your own
  plimsoll verify net.plim plan.json             verify anybody's plan
  plimsoll solve                                 pack the built-in sample
  plimsoll solve problem.csv                     pack your own buffers
  plimsoll check problem.csv solution.csv        check anybody's packing

Exit status:
  0  fine
  1  the answer is no: infeasible, does not fit, or not valid
  2  bad usage or bad input, with one message on standard error";

/// Plans the memory of tensor programs, and shows how close to the lower bound it is
#[derive(Parser)]
#[command(name = "plimsoll", version, after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Plan(plan::Args),
    Verify(verify::Args),
    Solve(solve::Args),
    Check(check::Args),
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
            Command::Solve(args) => solve::run(args),
            Command::Check(args) => check::run(args),
        }
    }
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(Answer::Yes) => ExitCode::SUCCESS,
        Ok(Answer::No) => ExitCode::from(1),
        Err(error) => {
            output::note(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}
