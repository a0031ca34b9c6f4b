//! `prompts`: which prompts there are.

use herm_host::{Catalogue, Host};
use serde::Serialize;

use crate::app::Context;
use crate::command_error::{CommandError, Exit, kind_of};
use crate::session;
use crate::settings;
use crate::show::items::{self, ItemDocument, row};
use crate::show::{Asked, V, asked, say_missing};
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
    let settings = context.settings()?;
    let names = settings::chosen(&settings, args.name.as_deref())?;
    let setup = session::setup(&settings, context.ui.look)?;
    let work = async |host: &Host, ui: &mut Ui| -> Result<Exit, CommandError> {
        let missing = session::connect(host, &names).await;
        print(ui, &host.catalogue(), asked(&names, &missing, &host.catalogue()))?;
        say_missing(ui, &missing)?;
        let kinds = missing.iter().map(|(_, refusal)| kind_of(refusal));
        Ok(Exit::of_listing(args.name.is_some(), kinds))
    };
    session::with_host(context, setup, work).await
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
