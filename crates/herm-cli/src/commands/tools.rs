//! `tools`: what can be called.

use herm_gateway::json::Tools;
use herm_gateway::ops::ToolsAsk;

use crate::app::Context;
use crate::command_error::{CommandError, Exit, Kind, say_asked};
use crate::door::{Door, DoorArgs, with_door};
use crate::settings;
use crate::show::items::row;
use crate::show::pretty::pretty;
use crate::ui::Ui;

/// List the tools that can be called, by their exposed names
///
/// Connects to the enabled servers. What was found is printed even if a server did not answer; the
/// exit code is 7 then; for one server that is named, that of its failure.
#[derive(Debug, clap::Args)]
pub(crate) struct ToolsArgs {
    /// Only the tools of this server
    name: Option<String>,
    /// Print the whole definition of each tool
    #[arg(long)]
    schema: bool,
    /// Connect even if the tools are known (until catalogues are kept, herm always does)
    #[arg(long)]
    live: bool,
    #[command(flatten)]
    door: DoorArgs,
}

pub(crate) async fn run(args: &ToolsArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = context.settings()?;
    let names = settings::chosen(&settings, args.name.as_deref())?;
    let servers = names.iter().map(ToString::to_string).collect();
    let ask = ToolsAsk { servers, schema: args.schema };
    let work = async |door: &Door<'_>, ui: &mut Ui| -> Result<Exit, CommandError> {
        let tools = door.tools(&ask).await?;
        print(ui, &tools, args.schema)?;
        let silent = tools.servers.iter().filter(|server| !server.ok);
        let kinds = silent.map(|server| {
            server.error.as_ref().map_or(Kind::Unavailable, |error| Kind::of_word(&error.kind))
        });
        Ok(Exit::of_listing(args.name.is_some(), kinds))
    };
    with_door(context, &settings, &names, args.door, work).await
}

fn print(ui: &mut Ui, tools: &Tools, schema: bool) -> Result<(), CommandError> {
    if ui.look.json {
        ui.json(tools)?;
    } else {
        let listed = |name: &str| tools.tools.iter().any(|tool| tool.server == name);
        for server in tools.servers.iter().filter(|s| s.ok || listed(&s.name)) {
            of_server(ui, tools, &server.name, schema)?;
        }
    }
    for server in &tools.servers {
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
    Ok(say_asked(ui, &tools.servers)?)
}

fn of_server(ui: &mut Ui, tools: &Tools, name: &str, schema: bool) -> Result<(), CommandError> {
    let own: Vec<_> = tools.tools.iter().filter(|tool| tool.server == name).collect();
    let freshness = own.first().map_or("live", |tool| &tool.freshness);
    ui.data(format_args!("{name}: {} tools ({freshness})", own.len()))?;
    for tool in own {
        ui.data(format_args!("  {}", row(&tool.name, tool.description.as_deref())))?;
        if let Some(definition) = tool.definition.as_ref().filter(|_| schema) {
            ui.data(pretty(definition.get()))?;
        }
    }
    Ok(())
}
