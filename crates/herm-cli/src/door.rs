//! The way to a host: a running one of the same home, or one of our own for the time of a command.

use std::path::Path;
use std::time::Duration;

use herm_core::name::ServerName;
use herm_gateway::control::{Client, Folder};
use herm_gateway::json::{Called, Definition, Prompted, Read, Tools};
use herm_gateway::ops::{self, CallAsk, PromptAsk, ReadAsk, ToolsAsk};
use herm_host::{Host, Progress};
use tokio::sync::mpsc;

use crate::app::Context;
use crate::command_error::CommandError;
use crate::session::{self, Signals};
use crate::settings::Settings;
use crate::ui::{Look, Ui};

/// Beyond the deadlines of a server, so that the host's own words come first.
const SLACK: Duration = Duration::from_secs(10);

/// Shared by the commands that ask a host.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct DoorArgs {
    /// Do not ask a running host of this home: start the server for this command
    #[arg(long)]
    pub(crate) direct: bool,
}

/// A host to be asked.
#[derive(Debug)]
pub(crate) enum Door<'a> {
    /// Ours.
    Own(&'a Host, Look),
    /// One that runs.
    Running(Running),
}

/// A running host with the same configuration.
#[derive(Debug)]
pub(crate) struct Running {
    client: Client,
    config: Option<String>,
    /// Nothing that we ask takes longer.
    limit: Duration,
}

/// Runs `work` with a running host that has these servers, or with one of our own. Signals end it;
/// what was asked of a running host is cancelled then.
pub(crate) async fn with_door<T>(
    context: &mut Context,
    settings: &Settings,
    servers: &[ServerName],
    args: DoorArgs,
    work: impl AsyncFnOnce(&Door<'_>, &mut Ui) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let look = context.ui.look;
    let setup = session::setup(settings, look)?;
    let running = if args.direct { None } else { running(settings, servers).await };
    if let Some(running) = running {
        context.ui.detail(format_args!("asking the host {}", running.client.pid))?;
        let mut signals = Signals::new()?;
        let door = Door::Running(running);
        return tokio::select! {
            ended = Box::pin(work(&door, &mut context.ui)) => ended,
            kind = signals.next() => Err(session::stopped_by(kind)),
        };
    }
    let work = async |host: &Host, ui: &mut Ui| work(&Door::Own(host, look), ui).await;
    session::with_host(context, setup, work).await
}

/// The first running host that uses our configuration and has all of these servers.
async fn running(settings: &Settings, servers: &[ServerName]) -> Option<Running> {
    let config = settings.file.as_deref().map(canonical);
    for client in Folder::new(&settings.runtime).hosts().await {
        let Ok(status) = client.status().await else { continue };
        let fits = status.hosts.iter().any(|host| {
            let has = |name: &ServerName| host.servers.iter().any(|s| s.name == name.as_str());
            host.config == config && servers.iter().all(has)
        });
        if fits {
            return Some(Running { client, config, limit: limit(settings) });
        }
    }
    None
}

/// A path as it is compared.
pub(crate) fn canonical(path: &Path) -> String {
    path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// What one request to any server may take, by its own deadlines.
fn limit(settings: &Settings) -> Duration {
    let limits = settings.ready().map(|server| &server.limits);
    let longest = limits.map(|limits| limits.start + limits.queue + limits.call_absolute).max();
    longest.unwrap_or_default() + SLACK
}

impl Door<'_> {
    /// Calls a tool. A running host does not pass progress on.
    pub(crate) async fn call(
        &self,
        ask: CallAsk,
        progress: Option<mpsc::Sender<Progress>>,
    ) -> Result<Called, CommandError> {
        Ok(match self {
            Self::Own(host, look) => ops::call(host, session::caller(*look), ask, progress).await?,
            Self::Running(host) => {
                let longest = ask
                    .timeout_ms
                    .map_or(host.limit, |ms| host.limit.saturating_add(Duration::from_millis(ms)));
                let called = host.client.call(host.config(), &ask, longest).await;
                called.map_err(|error| error.failure(true))?
            }
        })
    }

    /// The definition of a tool that is to be called.
    pub(crate) async fn definition(&self, ask: &CallAsk) -> Result<Definition, CommandError> {
        Ok(match self {
            Self::Own(host, _) => ops::definition(host, ask).await?,
            Self::Running(host) => {
                let definition = host.client.definition(host.config(), ask, host.limit).await;
                definition.map_err(|error| error.failure(false))?
            }
        })
    }

    /// Reads a resource.
    pub(crate) async fn read(&self, ask: ReadAsk) -> Result<Read, CommandError> {
        Ok(match self {
            Self::Own(host, look) => ops::read(host, session::caller(*look), ask).await?,
            Self::Running(host) => {
                let read = host.client.read(host.config(), &ask, host.limit).await;
                read.map_err(|error| error.failure(false))?
            }
        })
    }

    /// Fills in a prompt.
    pub(crate) async fn prompt(&self, ask: PromptAsk) -> Result<Prompted, CommandError> {
        Ok(match self {
            Self::Own(host, look) => ops::prompt(host, session::caller(*look), ask).await?,
            Self::Running(host) => {
                let prompted = host.client.prompt(host.config(), &ask, host.limit).await;
                prompted.map_err(|error| error.failure(false))?
            }
        })
    }

    /// Connects to servers and lists their tools.
    pub(crate) async fn tools(&self, ask: &ToolsAsk) -> Result<Tools, CommandError> {
        Ok(match self {
            Self::Own(host, _) => ops::tools(host, ask).await?,
            Self::Running(host) => {
                let tools = host.client.tools(host.config(), ask, host.limit).await;
                tools.map_err(|error| error.failure(false))?
            }
        })
    }
}

impl Running {
    fn config(&self) -> Option<&str> {
        self.config.as_deref()
    }
}
