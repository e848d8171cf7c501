//! `plimsoll man`: the help of every command as manual pages.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::CommandFactory;
use clap_mangen::Man;

use crate::{Answer, Cli, output};

const EXAMPLES: &str = "\
Examples:
  plimsoll man | man -l -                                the page of plimsoll
  plimsoll man -o ~/.local/share/man/man1                one page per command: man plimsoll-plan";

/// Print the manual page, or write the pages of all commands to a folder
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Write plimsoll.1, plimsoll-plan.1 and so on to this folder, which is created if needed
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let mut command = Cli::command();
    // So that the pages of commands are called plimsoll-plan and so on.
    command.build();
    let Some(folder) = &args.output else {
        let page = page(command)?;
        output::to_stdout(false, |out| out.write_all(&page))?;
        return Ok(Answer::Yes);
    };
    let place = || folder.display().to_string();
    fs::create_dir_all(folder).context("cannot create").with_context(place)?;
    let commands =
        command.get_subcommands().filter(|command| command.get_name() != "help").cloned();
    let all: Vec<clap::Command> = std::iter::once(command.clone()).chain(commands).collect();
    for command in all {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let path = folder.join(format!("{name}.1"));
        output::to_path(&path, String::from_utf8(page(command)?)?)?;
    }
    Ok(Answer::Yes)
}

fn page(command: clap::Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}
