//! The binary `plimsoll`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(plimsoll_cli::command(std::env::args_os()))
}
