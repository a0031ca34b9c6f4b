//! `show`: one server in full. Starts nothing.

use serde::Serialize;
use serde_json::Value;

use crate::app::Context;
use crate::command_error::{CommandError, Exit, Kind};
use crate::select;
use crate::settings::{self, Entry};
use crate::show::{V, config};

/// Show one server in full, secrets hidden
#[derive(Debug, clap::Args)]
pub(crate) struct ShowArgs {
    /// A configured server
    name: String,
}

#[derive(Debug, Serialize)]
struct ShowDocument {
    v: u8,
    server: ServerDocument,
}

#[derive(Debug, Serialize)]
struct ServerDocument {
    name: String,
    enabled: bool,
    transport: &'static str,
    target: String,
    state: &'static str,
    fingerprint: String,
    tool_prefix: String,
    config: Value,
}

pub(crate) fn run(args: &ShowArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = context.settings()?;
    let name = select::configured(&settings, &args.name)?;
    let server = match settings.entry(&name) {
        Some(Entry::Ready(server)) => server,
        Some(Entry::Blocked { why, .. }) => {
            let error = format!("MCP server '{name}' is blocked: {why}");
            return Err(CommandError::new(Kind::Refused, error)
                .server(&name)
                .hint("`herm check` shows each error with its line"));
        }
        None => return Err(select::unknown_server(&settings, &name)),
    };
    let shown = ServerDocument {
        name,
        enabled: server.enabled,
        transport: config::transport(server),
        target: config::target(server),
        state: if server.enabled { "idle" } else { "disabled" },
        fingerprint: settings::fingerprint(server),
        tool_prefix: select::prefix(server),
        config: config::effective(server),
    };
    let ui = &mut context.ui;
    if ui.look.json {
        ui.json(&ShowDocument { v: V, server: shown })?;
    } else {
        ui.data(format_args!("{} ({}, {})", shown.name, shown.transport, shown.state))?;
        ui.data(format_args!("  {}", shown.target))?;
        ui.data(format_args!("  tools are offered as {}…", shown.tool_prefix))?;
        ui.data(format_args!("  fingerprint {}", shown.fingerprint))?;
        ui.data("")?;
        ui.data(config::yaml(&shown.config, 2))?;
    }
    Ok(Exit::Done)
}
