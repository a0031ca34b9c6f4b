//! The running hosts of this home, for the commands that are about them.

use herm_gateway::control::{Client, ClientError, Folder};

use crate::command_error::{CommandError, Kind};
use crate::session::{self, Signals};
use crate::settings::Settings;

/// Which host is meant.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct HostArgs {
    /// The process of the host, when several run on this home
    #[arg(long, value_name = "PID")]
    pid: Option<u32>,
}

/// The host that is meant: the only one, or the one named.
pub(crate) async fn one(settings: &Settings, args: HostArgs) -> Result<Client, CommandError> {
    let mut hosts = Folder::new(&settings.runtime).hosts().await;
    let none =
        |error: String| CommandError::new(Kind::Unavailable, error).hint("`herm serve` starts one");
    match args.pid {
        Some(pid) => {
            let running = pids(&hosts);
            let found = hosts.into_iter().find(|host| host.pid == pid);
            found.ok_or_else(|| {
                let error = none(format!("no host of this home has the process {pid}"));
                if running.is_empty() { error } else { error.hint(format!("running: {running}")) }
            })
        }
        None if hosts.len() > 1 => {
            let error = format!("{} hosts run on this home", hosts.len());
            Err(CommandError::usage(error).hint(format!("name one with --pid: {}", pids(&hosts))))
        }
        None => hosts.pop().ok_or_else(|| none("no host runs on this home".to_owned())),
    }
}

fn pids(hosts: &[Client]) -> String {
    hosts.iter().map(|host| host.pid.to_string()).collect::<Vec<_>>().join(", ")
}

/// Asks, unless a signal comes first.
pub(crate) async fn asked<T>(
    asking: impl Future<Output = Result<T, ClientError>>,
) -> Result<T, CommandError> {
    let mut signals = Signals::new()?;
    tokio::select! {
        answer = asking => answer.map_err(|error| error.failure(false).into()),
        kind = signals.next() => Err(session::stopped_by(kind)),
    }
}
