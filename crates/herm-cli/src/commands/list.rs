//! `list`: which servers are configured. Starts nothing.

use herm_core::name::ServerName;
use herm_gateway::json::written;
use herm_host::Recalled;
use serde::Serialize;

use crate::app::Context;
use crate::command_error::{CommandError, Exit};
use crate::settings::{self, Entry, Settings};
use crate::show::age::age;
use crate::show::{V, config};
use crate::ui::{Ui, shorten};

/// List the configured servers
///
/// Reads the configuration, and what is kept of each server's lists: nothing is started or contacted.
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
    tools: Option<usize>,
    freshness: Option<&'static str>,
    known: Option<usize>,
    listed_at: Option<String>,
    fingerprint: Option<String>,
    #[serde(skip)]
    chosen: String,
}

pub(crate) fn run(_args: &ListArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = context.settings()?;
    let ui = &mut context.ui;
    let names: Vec<ServerName> = settings.ready().map(|server| server.name.clone()).collect();
    let kept = settings.cache().recall(&names, false);
    for (name, why) in &kept.faults {
        ui.warn(format_args!("MCP server '{name}': {why}"))?;
    }
    let servers: Vec<_> =
        settings.entries.iter().map(|entry| server(entry, &kept, settings.safe_mode)).collect();
    if ui.look.json {
        ui.json(&ListDocument { v: V, servers })?;
    } else {
        table(ui, &servers)?;
    }
    say_beside(ui, &settings)?;
    Ok(Exit::Done)
}

fn server(entry: &Entry, kept: &Recalled, safe_mode: bool) -> ServerDocument {
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
                known: None,
                listed_at: None,
                fingerprint: None,
                chosen: "-".to_owned(),
            };
        }
    };
    let listing = kept.catalogue.server(&server.name);
    let fresh = kept.freshness.iter().find(|(name, _)| *name == server.name);
    ServerDocument {
        name: server.name.to_string(),
        enabled: server.enabled,
        transport: Some(config::transport(server)),
        target: Some(config::target(server)),
        state: if server.enabled { "idle" } else { "disabled" },
        reason: safe_mode.then(|| "safe mode".to_owned()),
        tools: listing.map(|listing| listing.tools.len()),
        freshness: fresh.map(|(_, freshness)| freshness.as_str()),
        known: listing.map(|listing| listing.known),
        listed_at: listing.and_then(|listing| listing.read.known()).map(written),
        fingerprint: Some(settings::fingerprint(server)),
        chosen: config::tools(server),
    }
}

fn table(ui: &mut Ui, servers: &[ServerDocument]) -> Result<(), CommandError> {
    if servers.is_empty() {
        return Ok(());
    }
    let width = servers.iter().map(|s| s.name.chars().count()).max().unwrap_or_default().max(4);
    ui.data(format_args!(
        "{:<width$}  {:<9}  {:<40}  {:<12}  {:<24}  State",
        "Name", "Transport", "Target", "Tools", "Known"
    ))?;
    for server in servers {
        let reason = server.reason.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
        ui.data(format_args!(
            "{:<width$}  {:<9}  {:<40}  {:<12}  {:<24}  {}{reason}",
            server.name,
            server.transport.unwrap_or("-"),
            shorten(server.target.as_deref().unwrap_or("-"), 40),
            server.chosen,
            known(server),
            server.state,
        ))?;
    }
    Ok(())
}

/// How many tools are offered by what is kept, and how far that can be relied on.
fn known(server: &ServerDocument) -> String {
    let (Some(tools), Some(freshness)) = (server.tools, server.freshness) else {
        return "-".to_owned();
    };
    format!("{tools} ({})", age(freshness, server.listed_at.as_deref()))
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
