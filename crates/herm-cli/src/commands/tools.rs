//! `tools`: what can be called.

use herm_core::name::ServerName;
use herm_gateway::json::{Listed, Tools};
use herm_gateway::ops::{self, ToolsAsk};

use crate::app::Context;
use crate::command_error::{CommandError, Exit, Kind, say_asked};
use crate::door::{Door, DoorArgs, with_door};
use crate::session;
use crate::settings::{self, Entry, Settings};
use crate::show::age::age;
use crate::show::items::row;
use crate::show::pretty::pretty;
use crate::ui::Ui;

/// List the tools that can be called, by their exposed names
///
/// What herm knows of an enabled server is shown as it was last listed, with its age: nothing is
/// started or contacted for it. A server that is not known is connected, and its list is kept. What
/// was found is printed even if a server did not answer; the exit code is 7 then; for one server that
/// is named, that of its failure.
#[derive(Debug, clap::Args)]
pub(crate) struct ToolsArgs {
    /// Only the tools of this server
    name: Option<String>,
    /// Print the whole definition of each tool
    #[arg(long)]
    schema: bool,
    /// Connect to every server, and list it anew
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    door: DoorArgs,
}

pub(crate) async fn run(args: &ToolsArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = context.settings()?;
    let names = settings::chosen(&settings, args.name.as_deref())?;
    session::refuse_safe_mode(&settings)?;
    let kept = if args.live { None } else { Some(kept(&settings, &names, args.schema, context)?) };
    let has = |name: &&ServerName| {
        let listed = |kept: &Tools| kept.servers.iter().any(|s| s.asked.name == name.as_str());
        kept.as_ref().is_some_and(listed)
    };
    let unknown: Vec<ServerName> = names.iter().filter(|name| !has(name)).cloned().collect();
    if let Some(kept) = kept.as_ref().filter(|_| unknown.is_empty()) {
        return shown(&mut context.ui, kept, args);
    }
    let servers = unknown.iter().map(ToString::to_string).collect();
    let ask = ToolsAsk { servers, schema: args.schema };
    let work = async |door: &Door<'_>, ui: &mut Ui| -> Result<Exit, CommandError> {
        let mut tools = door.tools(&ask).await?;
        if let Some(kept) = kept {
            tools = together(kept, tools, &names);
        }
        shown(ui, &tools, args)
    };
    with_door(context, &settings, &unknown, args.door, work).await
}

/// What is kept of those that may run.
fn kept(
    settings: &Settings,
    names: &[ServerName],
    schema: bool,
    context: &mut Context,
) -> Result<Tools, CommandError> {
    let may_run = |name: &&ServerName| match settings.entry(name.as_str()) {
        Some(Entry::Ready(server)) => server.enabled,
        Some(Entry::Blocked { .. }) | None => false,
    };
    let names: Vec<ServerName> = names.iter().filter(may_run).cloned().collect();
    let recalled = settings.cache().recall(&names, true);
    for (name, why) in &recalled.faults {
        context.ui.warn(format_args!("MCP server '{name}': {why}"))?;
    }
    Ok(ops::kept_tools(&recalled, schema))
}

/// One document of two, in the order of the configuration.
fn together(kept: Tools, asked: Tools, names: &[ServerName]) -> Tools {
    let place = |server: &str| names.iter().position(|name| name.as_str() == server);
    let mut all = Tools {
        v: asked.v,
        tools: [kept.tools, asked.tools].concat(),
        hidden: [kept.hidden, asked.hidden].concat(),
        servers: [kept.servers, asked.servers].concat(),
    };
    // Stable: the order within a server is its own.
    all.tools.sort_by_key(|tool| place(&tool.server));
    all.hidden.sort_by_key(|hidden| place(&hidden.server));
    all.servers.sort_by_key(|server| place(&server.asked.name));
    all
}

fn shown(ui: &mut Ui, tools: &Tools, args: &ToolsArgs) -> Result<Exit, CommandError> {
    print(ui, tools, args.schema)?;
    let silent = tools.servers.iter().filter(|server| !server.asked.ok);
    let kinds = silent.map(|server| {
        let error = server.asked.error.as_ref();
        error.map_or(Kind::Unavailable, |error| Kind::of_word(&error.kind))
    });
    Ok(Exit::of_listing(args.name.is_some(), kinds))
}

fn print(ui: &mut Ui, tools: &Tools, schema: bool) -> Result<(), CommandError> {
    if ui.look.json {
        ui.json(tools)?;
    } else {
        let listed = |name: &str| tools.tools.iter().any(|tool| tool.server == name);
        for server in tools.servers.iter().filter(|s| s.asked.ok || listed(&s.asked.name)) {
            of_server(ui, tools, server, schema)?;
        }
    }
    for server in tools.servers.iter().map(|server| &server.asked) {
        for warning in &server.warnings {
            ui.warn(format_args!("MCP server '{}': {warning}", server.name))?;
        }
        let hidden: Vec<_> = tools.hidden.iter().filter(|h| h.server == server.name).collect();
        if !hidden.is_empty() {
            ui.note(format_args!("{}: {} tools are not offered", server.name, hidden.len()))?;
        }
        for hidden in hidden {
            ui.detail(format_args!("  {}: {}", hidden.tool, hidden.reason))?;
        }
    }
    Ok(say_asked(ui, tools.servers.iter().map(|server| &server.asked))?)
}

fn of_server(
    ui: &mut Ui,
    tools: &Tools,
    server: &Listed,
    schema: bool,
) -> Result<(), CommandError> {
    let name = &server.asked.name;
    let own: Vec<_> = tools.tools.iter().filter(|tool| tool.server == *name).collect();
    let freshness = server.freshness.as_deref().unwrap_or("live");
    let age = age(freshness, server.listed_at.as_deref());
    ui.data(format_args!("{name}: {} tools ({age})", own.len()))?;
    for tool in own {
        ui.data(format_args!("  {}", row(&tool.name, tool.description.as_deref())))?;
        if let Some(definition) = tool.definition.as_ref().filter(|_| schema) {
            ui.data(pretty(definition.get()))?;
        }
    }
    Ok(())
}
