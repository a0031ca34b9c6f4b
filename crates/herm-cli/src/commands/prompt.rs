//! `prompt`: a prompt, filled in.

use herm_gateway::ops::PromptAsk;

use crate::app::Context;
use crate::command_error::{CommandError, Exit, Kind};
use crate::door::{Door, DoorArgs, with_door};
use crate::settings;
use crate::show::result::{self, How, Unsaved};
use crate::ui::Ui;
use crate::{arguments, select};

/// Get a prompt, filled in with arguments
#[derive(Debug, clap::Args)]
pub(crate) struct PromptArgs {
    /// The prompt, as `herm prompts` shows it
    #[arg(value_name = "SERVER.NAME")]
    name: String,
    /// Its arguments; each value is a text
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
    #[command(flatten)]
    door: DoorArgs,
}

pub(crate) async fn run(args: &PromptArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let arguments = arguments::pairs(&args.arguments).and_then(|pairs| arguments::texts(&pairs))?;
    let settings = context.settings()?;
    settings::need_some(&settings)?;
    let owned = select::by_dot(&settings, &args.name).ok_or_else(|| {
        CommandError::new(Kind::NotFound, format!("no prompt is called `{}`", args.name))
            .hint("a prompt is named `SERVER.NAME`: `herm prompts` shows all")
    })?;
    let server = owned.server.to_string();
    let ask = PromptAsk { server, name: owned.raw.unwrap_or_default(), arguments };
    let work = async |door: &Door<'_>, ui: &mut Ui| -> Result<Exit, CommandError> {
        let prompted = door.prompt(ask).await?;
        let unsaved = Unsaved::default();
        if ui.look.json {
            ui.json(&prompted)?;
        } else {
            for part in result::prompt(&prompted.result, How::new(&settings.results, &unsaved)) {
                ui.data(part)?;
            }
        }
        Ok(unsaved.say(ui, Exit::Done)?)
    };
    with_door(context, &settings, &[owned.server], args.door, work).await
}
