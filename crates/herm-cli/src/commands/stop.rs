//! `stop`: ends a running host.

use crate::app::Context;
use crate::command_error::{CommandError, Exit};
use crate::hosts::{self, HostArgs};
use crate::settings;

/// End a running host
///
/// Waits until its servers have ended.
#[derive(Debug, clap::Args)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    host: HostArgs,
}

pub(crate) async fn run(args: &StopArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = settings::load_for_hosts(&context.options)?;
    let client = hosts::one(&settings, args.host).await?;
    let document = hosts::asked(client.stop()).await?;
    let ui = &mut context.ui;
    if ui.look.json {
        ui.json(&document)?;
    } else {
        ui.data(format_args!("the host {} has ended", document.pid))?;
    }
    Ok(Exit::Done)
}
