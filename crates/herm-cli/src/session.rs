//! One host for the time of one command: made, used, and stopped whatever happens.

use std::io;
use std::time::Duration;

use herm_core::config::Server;
use herm_core::name::ServerName;
use herm_host::{Answerer, Caller, Catalogue, Host, Refusal, Setup};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::app::Context;
use crate::ask;
use crate::command_error::{CommandError, Exit, Kind, kind_of};
use crate::settings::{self, Settings};
use crate::show::{Asked, asked, say_missing};
use crate::ui::{Look, Ui};

/// What stopping may take beyond the graces of the slowest server.
const STOP_SLACK: Duration = Duration::from_secs(3);

/// A server and why it did not answer.
pub(crate) type Missing = (ServerName, Refusal);

/// Runs `work` on a host with these servers. SIGINT, SIGTERM and SIGHUP end it; every server is stopped
/// before this returns, a second signal ends the waiting.
pub(crate) async fn with_host<T>(
    context: &mut Context,
    setup: Setup,
    work: impl AsyncFnOnce(&Host, &mut Ui) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let mut signals = Signals::new()?;
    let limit = stop_limit(&setup.servers);
    let host = Host::new(setup);
    let ended = tokio::select! {
        ended = Box::pin(work(&host, &mut context.ui)) => ended,
        kind = signals.next() => Err(stopped_by(kind)),
    };
    // What was found is shown at once: a server may take its time to end.
    let shown = context.ui.flush();
    tokio::select! {
        _ = tokio::time::timeout(limit, host.stop()) => {}
        _ = signals.next() => {} // the rest is killed; what was done stays done
    }
    shown?;
    ended
}

/// Connects to the server of this name, or to all that are enabled, shows what they list, and then
/// those that did not answer.
pub(crate) async fn with_lists(
    context: &mut Context,
    name: Option<&str>,
    show: impl FnOnce(&mut Ui, &Catalogue, Vec<Asked>) -> Result<(), CommandError>,
) -> Result<Exit, CommandError> {
    let settings = context.settings()?;
    let names = settings::chosen(&settings, name)?;
    let setup = setup(&settings, context.ui.look)?;
    let work = async |host: &Host, ui: &mut Ui| -> Result<Exit, CommandError> {
        let missing = connect(host, &names).await;
        let catalogue = host.catalogue();
        show(ui, &catalogue, asked(&names, &missing, &catalogue))?;
        say_missing(ui, &missing)?;
        let kinds = missing.iter().map(|(_, refusal)| kind_of(refusal));
        Ok(Exit::of_listing(name.is_some(), kinds))
    };
    with_host(context, setup, work).await
}

/// What stopping these servers may take.
pub(crate) fn stop_limit(servers: &[Server]) -> Duration {
    let graces = servers.iter().map(|s| s.supervision.stop_grace + s.supervision.term_grace);
    graces.max().unwrap_or_default() + STOP_SLACK
}

/// What a command needs of the configuration to make a host. Refuses in safe mode, in words.
pub(crate) fn setup(settings: &Settings, look: Look) -> Result<Setup, CommandError> {
    refuse_safe_mode(settings)?;
    Ok(settings.setup(answerer(look)))
}

/// In safe mode nothing is started, by a running host neither.
pub(crate) fn refuse_safe_mode(settings: &Settings) -> Result<(), CommandError> {
    if !settings.safe_mode {
        return Ok(());
    }
    let error = "safe mode is on: no server is started or contacted";
    Err(CommandError::new(Kind::Refused, error)
        .hint("unset HERM_SAFE_MODE and HERMES_SAFE_MODE, or leave out --safe-mode"))
}

/// Who answers what servers ask: the person at the terminal, if there is one.
fn answerer(look: Look) -> Answerer {
    if look.person { ask::on_terminal() } else { Answerer::None }
}

/// This command as a caller.
pub(crate) fn caller(look: Look) -> Caller {
    Caller { id: "cli".to_owned(), principal: None, answerer: answerer(look) }
}

/// Connects to these servers (none named: all enabled) and gives back those that did not answer.
pub(crate) async fn connect(host: &Host, names: &[ServerName]) -> Vec<Missing> {
    let answers = host.connect(names).await;
    answers.into_iter().filter_map(|(name, end)| end.err().map(|refusal| (name, refusal))).collect()
}

/// What tells this process to end.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// None if we were told to outlive our terminal (`nohup`).
    hang_up: Option<Signal>,
}

impl Signals {
    pub(crate) fn new() -> Result<Self, CommandError> {
        let listen = |kind| {
            signal(kind).map_err(|error: io::Error| {
                CommandError::new(Kind::Internal, format!("signals cannot be received: {error}"))
            })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            // A terminal that is closed: our servers are in groups of their own and do not hear it.
            hang_up: (!hang_up_is_ignored()).then(|| listen(SignalKind::hangup())).transpose()?,
        })
    }

    pub(crate) async fn next(&mut self) -> Kind {
        let hung_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Kind::Interrupted,
            _ = self.terminate.recv() => Kind::Terminated,
            _ = hung_up => Kind::Terminated,
        }
    }
}

/// Whether SIGHUP was ignored when we were started; where that cannot be read, it was not.
fn hang_up_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).is_ok_and(|mask| mask & 1 == 1))
}

pub(crate) fn stopped_by(kind: Kind) -> CommandError {
    CommandError::new(kind, if kind == Kind::Terminated { "terminated" } else { "interrupted" })
}
