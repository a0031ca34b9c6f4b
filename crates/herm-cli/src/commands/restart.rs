//! `restart`: one server of a running host, started again.

use std::time::Duration;

use crate::app::Context;
use crate::command_error::{CommandError, Exit};
use crate::hosts::{self, HostArgs};
use crate::session;
use crate::settings::{self, Settings};
use crate::show::status;

/// Beyond the deadlines of the server itself.
const SLACK: Duration = Duration::from_secs(15);

/// Start one server of a running host again
///
/// Waits until it is ready, or says why it is not.
#[derive(Debug, clap::Args)]
pub(crate) struct RestartArgs {
    /// The server
    name: String,
    #[command(flatten)]
    host: HostArgs,
}

pub(crate) async fn run(args: &RestartArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = settings::load_for_hosts(&context.options)?;
    session::refuse_safe_mode(&settings)?;
    let client = hosts::one(&settings, args.host).await?;
    let limit = limit(&settings, &args.name);
    let document = hosts::asked(client.restart(&args.name, limit)).await?;
    let ui = &mut context.ui;
    if ui.look.json {
        ui.json(&document)?;
    } else {
        ui.data(format_args!("{} was started again in {} ms", args.name, document.ms))?;
        status::servers(ui, std::slice::from_ref(&document.server))?;
    }
    Ok(Exit::Done)
}

/// What the server itself may take. One that we do not know is known to the host, perhaps.
fn limit(settings: &Settings, name: &str) -> Duration {
    let own = |server: &herm_core::config::Server| {
        server.limits.start + server.supervision.stop_grace + server.supervision.term_grace
    };
    let mut servers = settings.ready();
    let own = servers.find(|server| server.name.as_str() == name).map(own);
    own.unwrap_or(Duration::from_secs(120)) + SLACK
}
