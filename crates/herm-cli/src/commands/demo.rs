//! `demo`: the whole way once, on a server that is part of this program.

use herm_core::config::{Server, Stdio, Template, Transport};
use herm_core::name::ServerName;
use herm_gateway::json::{self as documents, Age, ToolDocument};
use herm_host::{Catalogue, Done, Freshness, Host, Listing, Outcome, Probe, Request, Target};
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::app::Context;
use crate::command_error::{CommandError, Exit, Kind};
use crate::show::items::row;
use crate::show::probe::era;
use crate::show::result::{self, How, Unsaved};
use crate::show::{V, millis, revision};
use crate::ui::{Mark, Ui};
use crate::{session, settings};

const SERVER: &str = "demo";
const TOOL: &str = "add";

/// See herm work: no configuration, no network
///
/// Starts a small MCP server that is part of this program, lists its tools and calls one.
#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {}

#[derive(Debug, Serialize)]
struct DemoDocument<'a> {
    v: u8,
    ok: bool,
    server: ServerDocument<'a>,
    tools: Vec<ToolDocument>,
    call: CallDocument<'a>,
}

#[derive(Debug, Serialize)]
struct ServerDocument<'a> {
    name: &'a str,
    era: Option<&'static str>,
    protocol: Option<&'static str>,
    server_info: Option<&'a RawValue>,
}

#[derive(Debug, Serialize)]
struct CallDocument<'a> {
    name: &'a str,
    arguments: serde_json::Value,
    ms: u64,
    result: &'a RawValue,
}

pub(crate) async fn run(_args: &DemoArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = settings::of_server(server()?, &context.options);
    let setup = session::setup(&settings, context.ui.look)?;
    session::with_host(context, setup, async |host: &Host, ui: &mut Ui| show(host, ui).await).await
}

/// This program, as a server.
fn server() -> Result<Server, CommandError> {
    let fault = |why: String| CommandError::new(Kind::Internal, why);
    let ourselves = std::env::current_exe()
        .map_err(|error| fault(format!("this program does not find itself: {error}")))?;
    let stdio = Stdio {
        // A template: a `${` in the path is no variable.
        command: Template(ourselves.display().to_string().replace("${", "$${")),
        args: vec![Template("demo-server".to_owned())],
        ..Stdio::default()
    };
    let name: ServerName = SERVER.parse().map_err(|error| fault(format!("{error}")))?;
    Ok(Server::new(name, Transport::Stdio(stdio)))
}

async fn show(host: &Host, ui: &mut Ui) -> Result<Exit, CommandError> {
    let name: ServerName = server()?.name;
    let probe = host.probe(&name).await;
    if let Some((_, refusal)) = probe.failed {
        return Err(refusal.into());
    }
    let catalogue = host.catalogue();
    let arguments = json!({"a": 2, "b": 40});
    let mut request = Request::new(Target::Tool(name, TOOL.to_owned()));
    request.arguments = RawValue::from_string(arguments.to_string()).ok();
    let started = Instant::now();
    let Outcome::Done(done) = host.call(request).await? else {
        return Err(CommandError::new(Kind::Internal, "the demo's tool gave no result"));
    };
    let ms = millis(started.elapsed());
    if ui.look.json {
        ui.json(&DemoDocument {
            v: V,
            ok: !result::is_error(&done.result),
            server: ServerDocument {
                name: SERVER,
                era: probe.revision.map(era),
                protocol: probe.revision.map(revision),
                server_info: probe.server_info.as_deref(),
            },
            tools: tools(&catalogue),
            call: CallDocument { name: &done.name, arguments, ms, result: &done.result },
        })?;
    } else {
        tell(ui, &probe, &catalogue, (&done, ms))?;
    }
    Ok(if result::is_error(&done.result) { Exit::Failed } else { Exit::Done })
}

fn tools(catalogue: &Catalogue) -> Vec<ToolDocument> {
    let of = |listing: &Listing| {
        let age = Age::of(listing, Freshness::Live);
        let tools = listing.tools.iter().map(|tool| documents::tool(tool, &age, false));
        tools.collect::<Vec<_>>()
    };
    catalogue.servers.iter().flat_map(|(_, listing)| of(listing)).collect()
}

fn tell(
    ui: &mut Ui,
    probe: &Probe,
    catalogue: &Catalogue,
    (done, ms): (&Done, u64),
) -> Result<(), CommandError> {
    ui.data("herm starts a small MCP server that is part of this program, and talks to it as it")?;
    ui.data("would to any other.\n")?;
    for (phase, time) in &probe.phases {
        ui.marked(Mark::Good, format_args!("{:<6}{} ms", phase.as_str(), millis(*time)))?;
    }
    if let Some(spoken) = probe.revision {
        let (era, spoken) = (era(spoken), revision(spoken));
        ui.data(format_args!("  They agreed on revision {spoken} of the protocol ({era} era)."))?;
    }
    let tools: Vec<_> = catalogue.tools().collect();
    ui.data(format_args!(
        "\nIt offers {} tools, here under the names that an agent sees:",
        tools.len()
    ))?;
    for tool in tools {
        ui.data(format_args!("  {}", row(&tool.name, tool.view.description.as_deref())))?;
    }
    ui.data(format_args!("\nherm call {SERVER}.{TOOL} a=2 b=40"))?;
    let unsaved = Unsaved::default(); // it makes nothing that is saved
    let how = How::new(std::path::Path::new("."), &unsaved);
    for part in result::call(&done.result, how) {
        ui.marked(Mark::Good, format_args!("{part}  ({ms} ms)"))?;
    }
    ui.data("\nThe server is stopped again now, and nothing is left behind. What to do next:")?;
    ui.data("  write a configuration     see README.md, \"A real configuration\"")?;
    ui.data("  herm check                is it right?")?;
    ui.data("  herm test                 do its servers work?")?;
    ui.data("  herm tools                what do they offer?")?;
    ui.data("  herm call SERVER.TOOL     use it")?;
    Ok(())
}
