//! `read`: the contents of a resource.

use std::path::PathBuf;

use herm_core::name::ServerName;
use herm_host::{Host, Kind as HostKind};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::app::Context;
use crate::command_error::{CommandError, Exit, Kind};
use crate::session::{self, Missing};
use crate::settings;
use crate::show::result::{self, How};
use crate::show::{V, millis, say_missing};
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
}

#[derive(Debug, Serialize)]
struct ReadDocument<'a> {
    v: u8,
    ok: bool,
    server: &'a str,
    uri: &'a str,
    ms: u64,
    result: &'a RawValue,
}

pub(crate) async fn run(args: &ReadArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = context.settings()?;
    let names = settings::chosen(&settings, args.server.as_deref())?;
    let setup = session::setup(&settings, context.ui.look)?;
    let dir = args.save.clone().unwrap_or_else(|| settings.results.clone());
    let work = async |host: &Host, ui: &mut Ui| -> Result<Exit, CommandError> {
        // A URI may be at any server, so all are listed first; a named one is started by the read.
        let (server, missing) = match &args.server {
            Some(_) => (names.first(), Vec::new()),
            None => (None, session::connect(host, &names).await),
        };
        let started = Instant::now();
        let caller = session::caller(ui.look);
        let (server, raw) = match host.read(caller, server, &args.uri).await {
            Ok(done) => done,
            Err(refusal) => {
                say_missing(ui, &missing)?;
                let hidden = refusal.kind() == HostKind::NotFound && !missing.is_empty();
                return Err(if hidden { elsewhere(&args.uri, &missing) } else { refusal.into() });
            }
        };
        print(ui, (&server, &raw), (&args.uri, millis(started.elapsed())), How::new(&dir))
    };
    session::with_host(context, setup, work).await
}

/// It may be at a server that did not answer.
fn elsewhere(uri: &str, missing: &[Missing]) -> CommandError {
    let names: Vec<_> = missing.iter().map(|(name, _)| name.as_str()).collect();
    let error = format!("no server that answered has `{uri}`; {} did not answer", names.join(", "));
    CommandError::new(Kind::Unavailable, error)
}

fn print(
    ui: &mut Ui,
    (server, raw): (&ServerName, &RawValue),
    (uri, ms): (&str, u64),
    how: How<'_>,
) -> Result<Exit, CommandError> {
    if ui.look.json {
        ui.json(&ReadDocument { v: V, ok: true, server: server.as_str(), uri, ms, result: raw })?;
    } else {
        for part in result::resource(raw, how) {
            ui.data(part)?;
        }
    }
    Ok(Exit::Done)
}
