//! `read`: the contents of a resource.

use std::path::{Path, PathBuf};

use herm_gateway::json;
use herm_gateway::ops::ReadAsk;

use crate::app::Context;
use crate::command_error::{CommandError, Exit};
use crate::door::{Door, DoorArgs, with_door};
use crate::settings;
use crate::show::result::{self, How, Unsaved};
use crate::ui::Ui;

/// Read a resource
///
/// Text goes to standard output as it is, anything else to a file whose path is printed.
#[derive(Debug, clap::Args)]
pub(crate) struct ReadArgs {
    /// The URI, as `herm resources` shows it
    uri: String,
    /// The server that has it; without one, all enabled servers are asked for their lists
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Save bytes in this folder
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    #[command(flatten)]
    door: DoorArgs,
}

pub(crate) async fn run(args: &ReadArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = context.settings()?;
    let names = settings::chosen(&settings, args.server.as_deref())?;
    super::call::check_save(args.save.as_deref())?;
    let dir = args.save.clone().unwrap_or_else(|| settings.results.clone());
    let ask = ReadAsk {
        server: args.server.as_ref().and(names.first()).map(ToString::to_string),
        servers: names.iter().map(ToString::to_string).collect(),
        uri: args.uri.clone(),
    };
    let work = async |door: &Door<'_>, ui: &mut Ui| -> Result<Exit, CommandError> {
        print(ui, &door.read(ask).await?, &dir)
    };
    with_door(context, &settings, &names, args.door, work).await
}

fn print(ui: &mut Ui, read: &json::Read, dir: &Path) -> Result<Exit, CommandError> {
    let unsaved = Unsaved::default();
    if ui.look.json {
        ui.json(read)?;
    } else {
        for part in result::resource(&read.result, How::new(dir, &unsaved)) {
            ui.data(part)?;
        }
    }
    Ok(unsaved.say(ui, Exit::Done)?)
}
