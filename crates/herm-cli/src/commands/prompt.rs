//! `prompt`: a prompt, filled in.

use herm_host::Host;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::app::Context;
use crate::command_error::{CommandError, Exit, Kind};
use crate::settings;
use crate::show::result::{self, How};
use crate::show::{V, millis};
use crate::ui::Ui;
use crate::{arguments, select, session};

/// Get a prompt, filled in with arguments
#[derive(Debug, clap::Args)]
pub(crate) struct PromptArgs {
    /// The prompt, as `herm prompts` shows it
    #[arg(value_name = "SERVER.NAME")]
    name: String,
    /// Its arguments; each value is a text
    #[arg(value_name = "KEY=VALUE")]
    arguments: Vec<String>,
}

#[derive(Debug, Serialize)]
struct PromptDocument<'a> {
    v: u8,
    ok: bool,
    server: &'a str,
    name: &'a str,
    ms: u64,
    result: &'a RawValue,
}

pub(crate) async fn run(args: &PromptArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let arguments = arguments::pairs(&args.arguments).and_then(|pairs| arguments::texts(&pairs))?;
    let settings = context.settings()?;
    settings::need_some(&settings)?;
    let owned = select::by_dot(&settings, &args.name).ok_or_else(|| {
        CommandError::new(Kind::NotFound, format!("no prompt is called `{}`", args.name))
            .hint("a prompt is named `SERVER.NAME`: `herm prompts` shows all")
    })?;
    let name = owned.raw.unwrap_or_default();
    let setup = session::setup(&settings, context.ui.look)?;
    let work = async |host: &Host, ui: &mut Ui| -> Result<Exit, CommandError> {
        let started = Instant::now();
        let caller = session::caller(ui.look);
        let raw = host.prompt(caller, &owned.server, &name, arguments).await?;
        let ms = millis(started.elapsed());
        if ui.look.json {
            let server = owned.server.as_str();
            ui.json(&PromptDocument { v: V, ok: true, server, name: &name, ms, result: &raw })?;
        } else {
            for part in result::prompt(&raw, How::new(&settings.results)) {
                ui.data(part)?;
            }
        }
        Ok(Exit::Done)
    };
    session::with_host(context, setup, work).await
}
