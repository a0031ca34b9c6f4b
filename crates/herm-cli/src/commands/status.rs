//! `status`: how the servers of running hosts are.

use herm_gateway::control::Folder;
use herm_gateway::json::{Configured, HostStatus, SilentHost, Status};

use herm_host::{Answerer, Host};

use crate::app::Context;
use crate::command_error::{CommandError, Exit, Kind};
use crate::hosts;
use crate::select;
use crate::settings;
use crate::show::{V, status};

/// Show how the servers of running hosts are
///
/// Says of each broken server what is wrong with it, and when herm tries again.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArgs {
    /// One server, in full
    name: Option<String>,
}

pub(crate) async fn run(args: &StatusArgs, context: &mut Context) -> Result<Exit, CommandError> {
    let settings = settings::load_for_hosts(&context.options)?;
    let mut hosts = Vec::new();
    let mut silent = Vec::new();
    for client in Folder::new(&settings.runtime).hosts().await {
        match hosts::asked(client.status()).await {
            Ok(status) => hosts.extend(status.hosts),
            Err(error) if error.kind == Kind::Interrupted => return Err(error),
            Err(error) => silent.push((client.pid, error.error)),
        }
    }
    let configured: Vec<&str> = settings.names().collect();
    if let Some(name) = &args.name {
        let known = |host: &HostStatus| host.servers.iter().any(|server| server.name == *name);
        if !configured.contains(&name.as_str()) && !hosts.iter().any(known) {
            return Err(select::unknown_server(&settings, name));
        }
    }
    let wanted = |name: &str| args.name.as_deref().is_none_or(|wanted| wanted == name);
    for host in &mut hosts {
        host.servers.retain(|server| wanted(&server.name));
    }
    let remembered = Host::remembered(&settings.setup(Answerer::None));
    let known = |name: &&str| {
        let found = remembered.iter().find(|known| known.name.as_str() == *name);
        found.map_or_else(|| Configured::unknown(name), Configured::from)
    };
    let configured = configured.iter().filter(|name| wanted(name)).map(known).collect();
    let silent: Vec<SilentHost> =
        silent.into_iter().map(|(pid, error)| SilentHost { pid, error }).collect();
    let document = Status { v: V, safe_mode: settings.safe_mode, hosts, silent, configured };
    let ui = &mut context.ui;
    if ui.look.json {
        ui.json(&document)?;
    } else {
        status::print(ui, &document, args.name.is_some())?;
    }
    Ok(Exit::Done)
}
