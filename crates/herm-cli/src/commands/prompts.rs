//! `prompts`: which prompts there are.

use herm_host::Catalogue;
use serde::Serialize;

use crate::app::Context;
use crate::command_error::{CommandError, Exit};
use crate::session;
use crate::show::items::{self, ItemDocument, row};
use crate::show::{Asked, V};
use crate::ui::Ui;

/// List the prompts of servers
#[derive(Debug, clap::Args)]
pub(crate) struct PromptsArgs {
    /// Only those of this server
    name: Option<String>,
}

#[derive(Debug, Serialize)]
struct PromptsDocument<'a> {
    v: u8,
    prompts: Vec<ItemDocument<'a>>,
    servers: Vec<Asked>,
}

pub(crate) async fn run(args: &PromptsArgs, context: &mut Context) -> Result<Exit, CommandError> {
    session::with_lists(context, args.name.as_deref(), print).await
}

fn print(ui: &mut Ui, catalogue: &Catalogue, servers: Vec<Asked>) -> Result<(), CommandError> {
    let all = || catalogue.servers.iter().flat_map(|(s, l)| l.prompts.iter().map(move |p| (s, p)));
    if ui.look.json {
        let prompts = all().map(|(server, prompt)| items::item(server.as_str(), prompt)).collect();
        return Ok(ui.json(&PromptsDocument { v: V, prompts, servers })?);
    }
    for (server, prompt) in all() {
        let about = prompt.description.as_deref().or(prompt.title.as_deref());
        ui.data(row(&format!("{server}.{}", prompt.id), about))?;
    }
    Ok(())
}
