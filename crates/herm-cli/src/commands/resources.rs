//! `resources`: what can be read.

use herm_host::{Catalogue, Host};
use serde::Serialize;

use crate::app::Context;
use crate::command_error::{CommandError, Exit, kind_of};
use crate::session::{self};
use crate::settings;
use crate::show::items::{self, ItemDocument, row};
use crate::show::{Asked, V, asked, say_missing};
use crate::ui::Ui;

/// List the resources of servers, and the templates of their URIs
#[derive(Debug, clap::Args)]
pub(crate) struct ResourcesArgs {
    /// Only those of this server
    name: Option<String>,
}

#[derive(Debug, Serialize)]
struct ResourcesDocument<'a> {
    v: u8,
    resources: Vec<ItemDocument<'a>>,
    templates: Vec<ItemDocument<'a>>,
    servers: Vec<Asked>,
}

pub(crate) async fn run(args: &ResourcesArgs, context: &mut Context) -> Result<Exit, CommandError> {
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
    if ui.look.json {
        let all = || catalogue.servers.iter();
        let resources =
            all().flat_map(|(s, l)| l.resources.iter().map(|r| items::item(s.as_str(), r)));
        let templates =
            all().flat_map(|(s, l)| l.templates.iter().map(|r| items::item(s.as_str(), r)));
        let (resources, templates) = (resources.collect(), templates.collect());
        return Ok(ui.json(&ResourcesDocument { v: V, resources, templates, servers })?);
    }
    for (server, listing) in &catalogue.servers {
        let (resources, templates) = (listing.resources.len(), listing.templates.len());
        ui.data(format_args!("{server}: {resources} resources, {templates} templates"))?;
        for item in listing.resources.iter().chain(&listing.templates) {
            let about =
                item.description.as_deref().or(item.title.as_deref()).or(item.name.as_deref());
            ui.data(format_args!("  {}", row(&item.id, about)))?;
        }
    }
    Ok(())
}
