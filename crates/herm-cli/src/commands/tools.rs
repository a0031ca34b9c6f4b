//! `tools`: what can be called.

use herm_core::name::ServerName;
use herm_host::{Catalogue, Host};

use crate::app::Context;
use crate::command_error::{CommandError, Exit};
use crate::session::{self, Missing};
use crate::settings;
use crate::show::items::{ToolsDocument, row};
use crate::show::pretty::pretty;
use crate::show::{asked, say_missing};
use crate::ui::Ui;

/// List the tools that can be called, by their exposed names
///
/// Connects to the enabled servers. What was found is printed even if a server did not answer; the
/// exit code is 7 then.
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
}

pub(crate) async fn run(args: &ToolsArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = context.settings()?;
    let names = settings::chosen(&settings, args.name.as_deref())?;
    let setup = session::setup(&settings, context.ui.look)?;
    let work = async |host: &Host, ui: &mut Ui| -> Result<Exit, CommandError> {
        let missing = session::connect(host, &names).await;
        print(ui, &host.catalogue(), args, (&names, &missing))?;
        Ok(if missing.is_empty() { Exit::Done } else { Exit::Unavailable })
    };
    session::with_host(context, setup, work).await
}

fn print(
    ui: &mut Ui,
    catalogue: &Catalogue,
    args: &ToolsArgs,
    (names, missing): (&[ServerName], &[Missing]),
) -> Result<(), CommandError> {
    if ui.look.json {
        ui.json(&ToolsDocument::new(catalogue, args.schema, asked(names, missing)))?;
    } else {
        for (server, listing) in &catalogue.servers {
            ui.data(format_args!("{server}: {} tools (live)", listing.tools.len()))?;
            for tool in &listing.tools {
                ui.data(format_args!("  {}", row(&tool.name, tool.view.description.as_deref())))?;
                if args.schema {
                    ui.data(pretty(tool.view.raw.get()))?;
                }
            }
        }
    }
    for (server, listing) in &catalogue.servers {
        for warning in &listing.warnings {
            ui.warn(format_args!("MCP server '{server}': {warning}"))?;
        }
        if !listing.hidden.is_empty() {
            ui.note(format_args!("{server}: {} tools are not offered", listing.hidden.len()))?;
        }
        for hidden in &listing.hidden {
            ui.detail(format_args!("  {}: {}", hidden.tool, hidden.reason))?;
        }
    }
    say_missing(ui, missing)
}
