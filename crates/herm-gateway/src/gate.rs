//! One host as its front ends share it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use herm_core::config::Server;
use herm_core::name::ServerName;
use herm_host::{Event, Host, Reloaded, Setup};
use tokio::sync::{Semaphore, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::json::Failure;

/// What the front ends need to know of the configuration beside the host.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// `max_result_chars` of each configured server.
    pub result_chars: BTreeMap<ServerName, usize>,
}

impl Facts {
    /// The facts of these servers.
    #[must_use]
    pub fn of<'a>(servers: impl IntoIterator<Item = &'a Server>) -> Self {
        let chars = |server: &Server| (server.name.clone(), server.limits.result_chars);
        Self { result_chars: servers.into_iter().map(chars).collect() }
    }
}

/// A configuration that was read again.
#[derive(Debug)]
pub struct Fresh {
    /// For the host.
    pub setup: Setup,
    /// For the front ends.
    pub facts: Facts,
}

/// Reads the configuration again, or says why it cannot be used.
pub type Reloader = Box<dyn Fn() -> Result<Fresh, Box<Failure>> + Send + Sync>;

/// One host, and how it is told to end.
pub struct Gate {
    /// The host.
    pub host: Arc<Host>,
    /// The configuration file that it uses.
    pub config: Option<PathBuf>,
    /// When it began.
    pub since: SystemTime,
    facts: watch::Sender<Facts>,
    reloader: Reloader,
    reloading: Semaphore,
    /// Why the configuration could not be taken up when it was last read.
    broken: watch::Sender<Option<String>>,
    stop: CancellationToken,
    ended: CancellationToken,
    /// Requests of the control socket.
    pub(crate) requests: TaskTracker,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Gate {
    /// A gate to `host`, which was made of `config`.
    #[must_use]
    pub fn new(host: Arc<Host>, config: Option<PathBuf>, facts: Facts, reloader: Reloader) -> Self {
        Self {
            host,
            config,
            since: SystemTime::now(),
            facts: watch::Sender::new(facts),
            reloader,
            reloading: Semaphore::new(1),
            broken: watch::Sender::new(None),
            stop: CancellationToken::new(),
            ended: CancellationToken::new(),
            requests: TaskTracker::new(),
        }
    }

    /// Tells every front end to end. Running calls have five seconds.
    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// Comes back once [`Self::stop`] was called.
    pub async fn stopping(&self) {
        self.stop.cancelled().await;
    }

    /// Says that every server has ended.
    pub fn has_ended(&self) {
        self.ended.cancel();
    }

    /// Comes back once [`Self::has_ended`] was called.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Waits for running requests of the control socket, at most until `deadline`.
    pub(crate) async fn drained(&self, deadline: Instant) {
        self.requests.close();
        // What is not over by then is refused by the host that stops.
        drop(tokio::time::timeout_at(deadline, self.requests.wait()).await);
    }

    /// How many characters of a result of this server a model gets.
    pub(crate) fn result_chars(&self, server: &ServerName) -> usize {
        self.facts.borrow().result_chars.get(server).copied().unwrap_or(usize::MAX)
    }

    /// Why the configuration could not be taken up when it was last read.
    pub(crate) fn broken(&self) -> Option<String> {
        self.broken.borrow().clone()
    }

    /// Whether all of these servers are configured in this host.
    pub(crate) fn has(&self, servers: &[ServerName]) -> bool {
        servers.iter().all(|name| self.host.has(name))
    }

    /// Reads the configuration again and takes it up; one reload after the other.
    pub(crate) async fn reload(&self, wait: Duration) -> Result<Reloaded, Failure> {
        let _turn = self.reloading.acquire().await.map_err(|_| stopping())?;
        let fresh = match (self.reloader)() {
            Ok(fresh) => fresh,
            Err(why) => {
                let text = why.message.clone();
                self.host.emit(Event::NotReloaded { why: text.clone() });
                self.broken.send_replace(Some(text));
                return Err(*why);
            }
        };
        self.broken.send_replace(None);
        // Before: a server may serve long before the reload is through, which waits for the others,
        // and may be dropped meanwhile. Those that go keep theirs until they are gone.
        let new = fresh.facts.result_chars.clone();
        self.facts.send_modify(|facts| facts.result_chars.extend(new));
        let reloaded = self.host.reload(fresh.setup, wait).await;
        self.facts.send_replace(fresh.facts);
        Ok(reloaded)
    }
}

fn stopping() -> Failure {
    Failure::new("unavailable", "herm is stopping")
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::time::Duration;

    use herm_core::config::{Server, Stdio, Template, Transport};
    use herm_host::{Host, Setup};

    use super::{Facts, Fresh, Gate};

    #[tokio::test]
    async fn a_server_of_a_reload_has_its_limit_before_the_reload_is_through() {
        let template = |text: &str| Template(text.to_owned());
        let stdio =
            Stdio { command: template("sleep"), args: vec![template("60")], ..Stdio::default() };
        let mut server = Server::new("slow".parse().unwrap(), Transport::Stdio(stdio));
        server.limits.result_chars = 100;
        let name = server.name.clone();
        let read = move || {
            let servers = vec![server.clone()];
            Ok(Fresh { facts: Facts::of(&servers), setup: Setup::new(servers) })
        };
        let host = Arc::new(Host::new(Setup::new(Vec::new())));
        let gate = Gate::new(Arc::clone(&host), None, Facts::default(), Box::new(read));
        let minute = Duration::from_secs(60);
        let serves = async {
            while !host.has(&name) {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            _ = pin!(gate.reload(minute)) => panic!("it does not wait for the server"),
            () = serves => {}
            () = tokio::time::sleep(minute) => panic!("there is no server"),
        }
        assert_eq!(gate.result_chars(&name), 100);
        host.stop().await;
    }
}
