//! `subscriptions/listen`: how a stateless server tells of changed lists (U-1 to U-6).
//!
//! One request a session stands for as long as the session does. It takes no place, is nothing that
//! is pending, and its end is no failure: it is asked for again, after a delay that grows, and the
//! lists are read again, since changes may have been missed meanwhile.

use std::pin::pin;
use std::time::Duration;

use herm_core::config::Revision;
use herm_core::wire::params::{Dress, Params};
use herm_core::wire::{Raw, codes};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::Session;
use super::call::Failure;
use super::open::modern_headers;
use super::peer::{Ask, PeerHandle};
use crate::refusal::Deadline;
use crate::request::Progress;
use crate::transport::LinkError;

/// The method of a subscription.
pub(crate) const METHOD: &str = "subscriptions/listen";

/// One that is as old as that is asked for anew.
const LIFE: Duration = Duration::from_secs(24 * 3600);

/// How long the first lists wait for the acknowledgement: what changes after it is told.
const FIRST: Duration = Duration::from_millis(250);

/// After that long without an acknowledgement the lists are read all the same.
const ACKNOWLEDGED: Duration = Duration::from_secs(5);

const BACKOFF_MIN: Duration = Duration::from_secs(1);
const BACKOFF_MAX: Duration = Duration::from_secs(60);

/// Subscribes, if the server is stateless and has lists that change. Waits a moment for the
/// acknowledgement, so that a list read after this misses nothing. Whoever owns `listener` ends the
/// subscription by ending its task.
pub(crate) async fn begin(session: &Session, listener: &mut JoinSet<()>) {
    let Some(filter) = filter(session) else { return };
    let (peer, revision) = (session.peer.clone(), session.revision);
    let (first, acknowledged) = oneshot::channel();
    listener.spawn(Listener { peer, revision, filter, first: Some(first) }.run());
    // Acknowledged, refused, or late: then the lists are read once more with its coming.
    drop(timeout(FIRST, acknowledged).await);
}

/// What is asked for: the lists whose changes the server announces (U-1).
fn filter(session: &Session) -> Option<String> {
    if !session.is_modern() {
        return None;
    }
    let kinds = [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ];
    let asked: Vec<&str> = kinds
        .into_iter()
        .filter(|(capability, _)| session.opened.announces(capability))
        .map(|(_, asked)| asked)
        .collect();
    let filter = asked.iter().fold(Params::new(), |filter, kind| filter.raw(kind, "true"));
    (!asked.is_empty()).then(|| filter.bare())
}

struct Listener {
    peer: PeerHandle,
    revision: Revision,
    filter: String,
    /// Who waits for the first acknowledgement.
    first: Option<oneshot::Sender<()>>,
}

impl Listener {
    async fn run(mut self) {
        let mut backoff = BACKOFF_MIN;
        loop {
            let since = Instant::now();
            let ended = self.once().await;
            self.first = None;
            let Some(least) = again(&ended).filter(|_| !self.peer.is_over()) else { return };
            if since.elapsed() > backoff {
                backoff = BACKOFF_MIN;
            }
            let jitter = Duration::from_millis(fastrand::u64(0..200));
            tokio::time::sleep(least.max(backoff) + jitter).await;
            backoff = (backoff * 2).min(BACKOFF_MAX);
        }
    }

    /// One subscription, from asking to its end.
    async fn once(&mut self) -> Result<Raw, Failure> {
        let (progress, mut acknowledged) = mpsc::channel(1);
        let (peer, params) = (self.peer.clone(), self.params());
        let mut standing = pin!(peer.request(self.ask(progress), |_| params));
        tokio::select! {
            ended = &mut standing => return ended,
            _ = timeout(ACKNOWLEDGED, acknowledged.recv()) => self.acknowledged(),
        }
        tokio::select! {
            ended = &mut standing => return ended,
            Some(_) = acknowledged.recv() => self.acknowledged(),
        }
        standing.await
    }

    /// From now on changes are told. What changed before is in lists that are read from now on.
    fn acknowledged(&mut self) {
        let waited_for = self.first.take().is_some_and(|first| first.send(()).is_ok());
        if !waited_for {
            self.peer.shared.changed.notify_one();
        }
    }

    fn ask(&self, progress: mpsc::Sender<Progress>) -> Ask {
        Ask {
            headers: modern_headers(self.revision, METHOD, None),
            progress: Some(progress),
            ..Ask::own(METHOD, LIFE, Deadline::List)
        }
    }

    fn params(&self) -> String {
        let dress =
            Dress { revision: self.revision, capabilities: "{}", progress_token: None, meta: None };
        Params::new().raw("notifications", &self.filter).dressed(&dress)
    }
}

/// The least wait before it is asked for again; nothing if the server does not want to be asked.
fn again(ended: &Result<Raw, Failure>) -> Option<Duration> {
    match ended {
        Err(Failure::Peer(error)) => {
            let no = [codes::METHOD_NOT_FOUND, codes::INVALID_PARAMS, codes::INVALID_REQUEST];
            (!no.contains(&error.code)).then_some(Duration::ZERO)
        }
        Err(Failure::Link { error: LinkError::Held { seconds }, .. }) => {
            Some(Duration::from_secs(*seconds))
        }
        Err(Failure::Link { error: LinkError::Http { retry_after: Some(after), .. }, .. }) => {
            Some(Duration::from_secs(*after))
        }
        Err(Failure::Link { error: LinkError::Http { status, .. }, .. }) => {
            let may_pass = *status >= 500 || matches!(status, 408 | 425 | 429);
            may_pass.then_some(Duration::ZERO)
        }
        // It ended: by the server, by its age, or with its connection.
        Ok(_) | Err(_) => Some(Duration::ZERO),
    }
}
