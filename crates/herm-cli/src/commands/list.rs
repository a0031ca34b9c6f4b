//! `list`: which servers are configured. Starts nothing.

use serde::Serialize;

use crate::app::Context;
use crate::command_error::{CommandError, Exit};
use crate::settings::{self, Entry, Settings};
use crate::show::{V, config};
use crate::ui::{Ui, shorten};

/// List the configured servers
///
/// Reads the configuration only: nothing is started or contacted.
#[derive(Debug, clap::Args)]
pub(crate) struct ListArgs {}

#[derive(Debug, Serialize)]
struct ListDocument {
    v: u8,
    servers: Vec<ServerDocument>,
}

#[derive(Debug, Serialize)]
struct ServerDocument {
    name: String,
    enabled: bool,
    transport: Option<&'static str>,
    target: Option<String>,
    state: &'static str,
    reason: Option<String>,
    tools: Option<u64>,
    freshness: Option<&'static str>,
    #[serde(skip)]
    chosen: String,
}

pub(crate) fn run(_args: &ListArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = context.settings()?;
    let ui = &mut context.ui;
    let servers: Vec<_> =
        settings.entries.iter().map(|entry| server(entry, settings.safe_mode)).collect();
    if ui.look.json {
        ui.json(&ListDocument { v: V, servers })?;
    } else {
        table(ui, &servers)?;
    }
    say_beside(ui, &settings)?;
    Ok(Exit::Done)
}

fn server(entry: &Entry, safe_mode: bool) -> ServerDocument {
    let server = match entry {
        Entry::Ready(server) => server,
        Entry::Blocked { name, why } => {
            return ServerDocument {
                name: name.clone(),
                enabled: false,
                transport: None,
                target: None,
                state: "blocked",
                reason: Some(why.clone()),
                tools: None,
                freshness: None,
                chosen: "-".to_owned(),
            };
        }
    };
    ServerDocument {
        name: server.name.to_string(),
        enabled: server.enabled,
        transport: Some(config::transport(server)),
        target: Some(config::target(server)),
        state: if server.enabled { "idle" } else { "disabled" },
        reason: safe_mode.then(|| "safe mode".to_owned()),
        tools: None, // known once catalogues are kept
        freshness: None,
        chosen: config::tools(server),
    }
}

fn table(ui: &mut Ui, servers: &[ServerDocument]) -> Result<(), CommandError> {
    if servers.is_empty() {
        return Ok(());
    }
    let width = servers.iter().map(|s| s.name.chars().count()).max().unwrap_or_default().max(4);
    ui.data(format_args!(
        "{:<width$}  {:<9}  {:<40}  {:<12}  State",
        "Name", "Transport", "Target", "Tools"
    ))?;
    for server in servers {
        let reason = server.reason.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        ui.data(format_args!(
            "{:<width$}  {:<9}  {:<40}  {:<12}  {}{reason}",
            server.name,
            server.transport.unwrap_or("-"),
            shorten(server.target.as_deref().unwrap_or("-"), 40),
            server.chosen,
            server.state,
        ))?;
    }
    Ok(())
}

fn say_beside(ui: &mut Ui, settings: &Settings) -> Result<(), CommandError> {
    if settings.safe_mode {
        ui.warn("safe mode is on: no server is started or contacted")?;
    }
    match &settings.file {
        None => {
            let missing = settings::nothing_configured(settings);
            ui.note(&missing.error)?;
            ui.hint(missing.hint.unwrap_or_default())?;
        }
        Some(file) => ui.detail(format_args!("configuration: {}", file.display()))?,
    }
    Ok(())
}
