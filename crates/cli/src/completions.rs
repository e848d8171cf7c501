//! `plimsoll completions`: what a shell needs to complete commands and options.

use anyhow::Result;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::{Answer, Cli, output};

const EXAMPLES: &str = "\
Examples:
  plimsoll completions bash > ~/.local/share/bash-completion/completions/plimsoll
  plimsoll completions zsh > ~/.zfunc/_plimsoll          with ~/.zfunc in fpath
  plimsoll completions fish > ~/.config/fish/completions/plimsoll.fish";

/// Print a script that completes commands and options in a shell
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<Answer> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "plimsoll", &mut script);
    output::to_stdout(false, |out| out.write_all(&script))?;
    Ok(Answer::Yes)
}
