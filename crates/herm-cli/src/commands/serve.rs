//! `serve`: the tools of all servers, as one MCP server.

use std::collections::HashSet;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use herm_core::name::ServerName;
use herm_gateway::control::{self, Folder};
use herm_gateway::json::Failure;
use herm_gateway::{Facts, Fresh, Gate, serve, watch};
use herm_host::{Answerer, Host, LogFormat, Refusal, Setup};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::task::JoinSet;

use crate::app::{Context, Options};
use crate::command_error::{CommandError, Exit, Kind};
use crate::door::canonical;
use crate::select;
use crate::session::{self, Signals};
use crate::settings::{self, Settings};
use crate::ui::Ui;

/// Answers on the control socket that are being written have so much time at the end.
const LAST: Duration = Duration::from_secs(2);
/// How often it is looked whether the client is still there, while it is not read from.
const LOOK: Duration = Duration::from_millis(250);
/// Processes above us that are looked at.
const MAX_ANCESTORS: usize = 64;

/// Serve the tools of all servers to one MCP client
///
/// Speaks MCP on standard input and output. Starts the enabled servers that are not `lazy` without
/// waiting for them, but for those that are `required`. Ends when its input ends.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServeArgs {
    /// Only these servers
    #[arg(long, value_name = "SERVER,…", value_delimiter = ',')]
    only: Vec<String>,
    /// How lines of the host's log look
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogLines,
}

/// How lines of the host's log look.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LogLines {
    /// `DATE TIME,ms LEVEL target: text`
    Text,
    /// One JSON object a line
    Json,
}

impl ServeArgs {
    /// The settings as a host of longer life has them.
    fn setup(&self, settings: &Settings) -> Setup {
        let log_format = match self.log_format {
            LogLines::Text => LogFormat::Text,
            LogLines::Json => LogFormat::Json,
        };
        Setup { keep: true, log_format, ..settings.setup(Answerer::None) }
    }
}

pub(crate) async fn run(args: &ServeArgs, context: &mut Context) -> Result<Exit, CommandError> {
    context.ui.look.json = false; // standard output is the protocol's
    let settings = only(context.settings()?, &args.only)?;
    settings::need_some(&settings)?;
    let folder = Folder::new(&settings.runtime);
    refuse_recursion(&settings, &folder).await?;
    let mut signals = Signals::new()?;
    let limit = session::stop_limit(&settings.ready().cloned().collect::<Vec<_>>());
    let gate = Arc::new(gate(&settings, args, &context.options));
    let mut control = JoinSet::new();
    match folder.listen(std::process::id()) {
        Ok(socket) => {
            control.spawn(control::serve(socket, Arc::clone(&gate)));
        }
        // Serving does not need it: only other commands do.
        Err(error) => context.ui.warn(format_args!("there is no control socket: {error}"))?,
    }
    if !settings.watched.is_empty() {
        control.spawn(watch::follow(Arc::clone(&gate), settings.watched.clone()));
    }
    if settings.safe_mode {
        context.ui.warn("safe mode is on: no server is started or contacted")?;
    }
    let eager = eager(&gate.host, &settings);
    drop(settings); // the host has its own
    let ended = Box::pin(until_the_end(&gate, eager, &mut signals, &mut context.ui)).await;
    gate.stop();
    tokio::select! {
        _ = tokio::time::timeout(limit, gate.host.stop()) => {}
        _ = signals.next() => {} // the rest is killed
    }
    gate.has_ended();
    let last = async { while control.join_next().await.is_some() {} };
    drop(tokio::time::timeout(LAST, last).await); // an answer that nobody takes
    ended.map(|()| Exit::Done)
}

/// The settings with these servers only.
fn only(mut settings: Settings, names: &[String]) -> Result<Settings, CommandError> {
    if names.is_empty() {
        return Ok(settings);
    }
    let chosen = select::servers(&settings, names)?;
    settings.entries.retain(|entry| chosen.iter().any(|name| name.as_str() == entry.name()));
    Ok(settings)
}

fn gate(settings: &Settings, args: &ServeArgs, options: &Options) -> Gate {
    let host = Arc::new(Host::new(args.setup(settings)));
    let config = settings.file.as_deref().map(|file| canonical(file).into());
    let (args, options) = (args.clone(), options.clone());
    let reloader = move || again(&options, &args).map_err(|error| Box::new(Failure::from(error)));
    Gate::new(host, config, Facts::of(settings.ready()), Box::new(reloader))
}

/// The configuration, read again. One that is broken as a whole changes nothing.
fn again(options: &Options, args: &ServeArgs) -> Result<Fresh, CommandError> {
    let settings = settings::load(options)?;
    settings::need_some(&settings)?;
    if let Some(first) = settings.errors.first().filter(|_| settings.unreadable) {
        return Err(CommandError::new(Kind::Config, first.to_string())
            .hint("`herm check` shows every error with its line"));
    }
    if settings.entries.is_empty() && settings.text.trim().is_empty() {
        // An editor may empty a file before it fills it.
        let file = settings.file.as_deref().unwrap_or_else(|| Path::new("config.yaml")).display();
        return Err(CommandError::new(Kind::Config, format!("`{file}` is empty"))
            .hint("write `mcp_servers: {}` to have no servers"));
    }
    let settings = only(settings, &args.only)?;
    let facts = Facts::of(settings.ready());
    Ok(Fresh { setup: args.setup(&settings), facts })
}

/// Refuses what would start herm on its own home again and again: an entry that is `herm serve`
/// itself, and, for those that hide it behind a wrapper, a running host of this home among our
/// ancestors.
async fn refuse_recursion(settings: &Settings, folder: &Folder) -> Result<(), CommandError> {
    let ourselves = std::env::current_exe().and_then(|exe| exe.canonicalize());
    if let Some(server) = ourselves.ok().and_then(|exe| settings.serves_itself(&exe)) {
        let error = format!(
            "MCP server '{server}' is `herm serve` on this same home: it would start itself"
        );
        return Err(CommandError::new(Kind::Config, error)
            .server(server.as_str())
            .hint("remove the entry, or give it another home with `HERM_HOME` or `--profile`"));
    }
    let above = ancestors();
    let hosts = folder.hosts().await;
    let Some(host) = hosts.iter().find(|host| above.contains(&host.pid)) else { return Ok(()) };
    let error =
        format!("the host {} of this same home started this herm: it would start itself", host.pid);
    Err(CommandError::new(Kind::Config, error)
        .hint("remove the server that runs `herm serve`, or give it another home"))
}

/// The processes above us, nearest first; only our parent where there is no `/proc`.
fn ancestors() -> Vec<u32> {
    let mut above = vec![std::os::unix::process::parent_id()];
    while let Some(pid) = above.last().copied().filter(|pid| *pid > 1)
        && above.len() < MAX_ANCESTORS
    {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:"));
        let Some(parent) = parent.and_then(|pid| pid.trim().parse().ok()) else { break };
        above.push(parent);
    }
    above
}

/// Servers that are started without a call, and whether each is required.
fn eager(host: &Host, settings: &Settings) -> Vec<(ServerName, bool)> {
    let required = |name: &ServerName| settings.ready().any(|s| s.name == *name && s.required);
    host.eager().into_iter().map(|name| (name.clone(), required(&name))).collect()
}

/// Starts the servers and serves until the client leaves, a signal comes, or a required server is
/// missing.
async fn until_the_end(
    gate: &Arc<Gate>,
    eager: Vec<(ServerName, bool)>,
    signals: &mut Signals,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let required = eager.iter().filter(|(_, required)| *required);
    let mut required: HashSet<ServerName> = required.map(|(name, _)| name.clone()).collect();
    let mut starts: FuturesUnordered<_> =
        eager.into_iter().map(|(name, _)| Box::pin(start(&gate.host, name))).collect();
    while !required.is_empty() {
        tokio::select! {
            Some((name, end)) = starts.next() => {
                let needed = required.remove(&name);
                let Err(refusal) = end else { continue };
                if needed {
                    return Err(missing(refusal));
                }
                say(ui, &refusal)?;
            }
            _ = signals.next() => return Ok(()),
            () = gate.stopping() => return Ok(()),
            () = hung_up() => return Ok(()),
        }
    }
    let mut serving = Box::pin(serve::stdio(gate, tokio::io::stdin(), output()?, hung_up()));
    let mut told = false;
    loop {
        tokio::select! {
            (_, skipped) = &mut serving => {
                if skipped > 0 {
                    ui.note(format_args!("{skipped} messages of the client were not understood"))?;
                }
                return Ok(());
            }
            Some((_, end)) = starts.next() => end.or_else(|refusal| say(ui, &refusal))?,
            _ = signals.next() => {
                if std::mem::replace(&mut told, true) {
                    return Ok(()); // twice: running calls are not waited for
                }
                gate.stop();
            }
        }
    }
}

/// Standard output by a descriptor of its own. A client that does not read keeps a write waiting,
/// and with it the lock of the standard library's handle, which the end of the program wants too.
fn output() -> Result<tokio::fs::File, CommandError> {
    let own = std::io::stdout().as_fd().try_clone_to_owned()?;
    Ok(tokio::fs::File::from_std(own.into()))
}

/// Ends once the client has closed its end of standard input, whether all it wrote is read or not. A
/// file has nobody at its other end: it is read to its end.
async fn hung_up() {
    let mut looks = tokio::time::interval(LOOK);
    loop {
        looks.tick().await;
        let stdin = std::io::stdin();
        let mut found = [PollFd::new(&stdin, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut found, Some(&now)).is_ok() && found[0].revents().contains(PollFlags::HUP) {
            return;
        }
    }
}

async fn start(host: &Host, name: ServerName) -> (ServerName, Result<(), Refusal>) {
    let ends = host.connect(std::slice::from_ref(&name)).await;
    (name, ends.into_iter().next().map_or(Ok(()), |(_, end)| end))
}

/// Whatever its own kind is: the host is not what it should be, and may be later.
fn missing(refusal: Refusal) -> CommandError {
    let mut error = CommandError::from(refusal);
    error.kind = Kind::Unavailable;
    error.error = format!("a required server is missing: {}", error.error);
    error
}

fn say(ui: &mut Ui, refusal: &Refusal) -> Result<(), CommandError> {
    ui.warn(refusal)?;
    Ok(refusal.hint().map_or(Ok(()), |hint| ui.hint(hint))?)
}
