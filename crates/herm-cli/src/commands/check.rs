//! `check`: what is wrong with the configuration, or what it comes to.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use crate::app::Context;
use crate::command_error::{CommandError, Exit};
use crate::settings::{self, Entry, Issue, Settings};
use crate::show::{V, config, issue};
use crate::ui::{Mark, Ui};

/// Check the configuration
///
/// Shows every error with its line and what to do, or else the effective configuration of each
/// server, secrets hidden. Starts nothing.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {}

#[derive(Debug, Serialize)]
struct CheckDocument<'a> {
    v: u8,
    ok: bool,
    file: String,
    errors: &'a [Issue],
    warnings: &'a [Issue],
    servers: Vec<ServerDocument<'a>>,
}

#[derive(Debug, Serialize)]
struct ServerDocument<'a> {
    name: &'a str,
    blocked: bool,
    /// What the screen gate found.
    findings: [Value; 0],
    config: Option<Value>,
}

pub(crate) fn run(_args: &CheckArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let mut settings = settings::load(&context.options)?;
    settings.errors.extend(settings.unresolved(true));
    let disabled = settings.unresolved(false).into_iter().map(|issue| Issue {
        message: format!("{}, which `herm test` and enabling it need", issue.message),
        ..issue
    });
    settings.warnings.extend(disabled);
    let Some(file) = &settings.file else { return Err(settings::nothing_configured(&settings)) };
    let ui = &mut context.ui;
    if ui.look.json {
        ui.json(&CheckDocument {
            v: V,
            ok: settings.errors.is_empty(),
            file: file.display().to_string(),
            errors: &settings.errors,
            warnings: &settings.warnings,
            servers: settings.entries.iter().map(server).collect(),
        })?;
    } else {
        print(ui, &settings)?;
    }
    Ok(if settings.errors.is_empty() { Exit::Done } else { Exit::Faulty })
}

fn server(entry: &Entry) -> ServerDocument<'_> {
    match entry {
        Entry::Ready(server) => ServerDocument {
            name: server.name.as_str(),
            blocked: false,
            findings: [],
            config: Some(config::effective(server)),
        },
        Entry::Blocked { name, .. } => {
            ServerDocument { name, blocked: true, findings: [], config: None }
        }
    }
}

fn print(ui: &mut Ui, settings: &Settings) -> Result<(), CommandError> {
    for error in &settings.errors {
        ui.marked(Mark::Bad, issue::issue(error, settings.lines_for(error)))?;
    }
    for warning in &settings.warnings {
        ui.warn(issue::issue(warning, settings.lines_for(warning)))?;
    }
    if !settings.foreign.is_empty() {
        ui.note(format_args!("left alone, not herm's: {}", settings.foreign.join(", ")))?;
    }
    let file = settings.file.as_deref().unwrap_or(Path::new("")).display();
    let servers = settings.ready().count();
    if !settings.errors.is_empty() {
        let errors = settings.errors.len();
        ui.note(format_args!("{file}: {errors} to put right"))?;
        return Ok(());
    }
    ui.marked(Mark::Good, format_args!("{file}: {servers} servers, no errors"))?;
    for server in settings.ready() {
        ui.data(format_args!("\n{}:", server.name))?;
        ui.data(config::yaml(&config::effective(server), 2))?;
    }
    Ok(())
}
