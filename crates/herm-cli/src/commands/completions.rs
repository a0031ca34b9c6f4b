//! `completions`: what a shell needs to complete our command line.

use clap_complete::Shell;

use crate::app::{self, Context};
use crate::command_error::{CommandError, Exit};

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut app::command_line(), "herm", &mut script);
    context.ui.bytes(&script)?;
    Ok(Exit::Done)
}
