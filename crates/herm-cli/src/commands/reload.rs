//! `reload`: a running host reads its configuration again.

use std::time::Duration;

use crate::app::Context;
use crate::command_error::{CommandError, Exit, say_asked};
use crate::hosts::{self, HostArgs};
use crate::settings;
use crate::show::status;
use crate::ui::Ui;
use herm_gateway::json::ReloadDocument;

/// Make a running host read its configuration again
///
/// Only servers whose entries changed are touched. Ends with the state of each server.
#[derive(Debug, clap::Args)]
pub(crate) struct ReloadArgs {
    /// Wait so many seconds for servers that are started
    #[arg(long, value_name = "S", default_value_t = 30.0)]
    wait: f64,
    #[command(flatten)]
    host: HostArgs,
}

pub(crate) async fn run(args: &ReloadArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let wait = Duration::try_from_secs_f64(args.wait)
        .map_err(|_| CommandError::usage("`--wait` must be a number of seconds"))?;
    // Not by way of the settings' own errors: the host says what it makes of them.
    let settings = settings::load_for_hosts(&context.options)?;
    let client = hosts::one(&settings, args.host).await?;
    let document = hosts::asked(client.reload(wait)).await?;
    let ui = &mut context.ui;
    if ui.look.json {
        ui.json(&document)?;
    } else {
        tell(ui, &document)?;
    }
    say_asked(ui, &document.failed)?;
    say_asked(ui, &document.blocked)?;
    Ok(match (document.failed.as_slice(), document.blocked.as_slice()) {
        ([], []) => Exit::Done,
        ([], _) => Exit::Faulty,
        _ => Exit::Unavailable,
    })
}

fn tell(ui: &mut Ui, document: &ReloadDocument) -> Result<(), CommandError> {
    let changes = [
        ("stopped", &document.stopped),
        ("started", &document.started),
        ("updated", &document.updated),
    ];
    for (what, names) in changes.into_iter().filter(|(_, names)| !names.is_empty()) {
        ui.data(format_args!("{what}: {}", names.join(", ")))?;
    }
    if changes.iter().all(|(_, names)| names.is_empty()) {
        ui.data("nothing has changed")?;
    }
    status::servers(ui, &document.servers)
}
