//! The way to the task that speaks with one server.

mod shared;
mod task;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use herm_core::config::Revision;
use herm_core::name::ServerName;
use herm_core::wire::{self, Raw};
use tokio::sync::oneshot;

pub(crate) use self::shared::Shared;
use self::shared::Waiting;
use self::task::Task;
pub(crate) use super::call::Ask;
use super::call::{Call, Failure};
use crate::answer::Answerer;
use crate::clock::Clock;
use crate::queue::{self, Refused, queue};
use crate::transport::{Graces, Link, LinkError, OutKind, Outgoing};

/// Commands that may wait for the task.
const COMMANDS: usize = 1_024;

/// What the task is told.
#[derive(Debug)]
enum Command {
    // Boxed: room for some of these is kept once there was use for it.
    Call(Box<Call>),
    Notify(Box<Outgoing>),
    Opened(Revision),
    Close(Graces),
}

/// What a peer task needs to know of its server.
#[derive(Clone, Debug)]
pub(crate) struct PeerConfig {
    /// Its name.
    pub(crate) server: ServerName,
    /// `max_concurrent_calls`.
    pub(crate) places: usize,
    /// `queue_timeout`.
    pub(crate) queue: Duration,
    /// `max_message_bytes`.
    pub(crate) limit: usize,
    /// Who answers the server when no call's caller does.
    pub(crate) answerer: Answerer,
    /// The host's clock.
    pub(crate) clock: Clock,
}

/// The way to a peer task. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct PeerHandle {
    commands: queue::Sender<Command>,
    pub(crate) shared: Arc<Shared>,
}

impl PeerHandle {
    /// Sends a request and waits for its answer. `params` is given the request's id, which is also
    /// its progress token. Dropping the future cancels the request.
    pub(crate) async fn request(
        &self,
        ask: Ask,
        params: impl FnOnce(u64) -> String,
    ) -> Result<Raw, Failure> {
        if let Some(error) = self.shared.held() {
            return Err(Failure::Link { error, sent: false });
        }
        let id = self.shared.next_id.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, answered) = oneshot::channel();
        let body = wire::request(id, ask.method, &params(id));
        let mut waiting = Waiting::new(&self.shared, &ask);
        let call = Box::new(Call { id, body, ask, answer });
        self.commands.try_send(Command::Call(call)).map_err(|error| match error {
            Refused::Full(_) => Failure::Busy { running: COMMANDS, queued: COMMANDS },
            Refused::Closed => self.not_sent(),
        })?;
        let outcome = answered.await.unwrap_or_else(|_| Err(self.not_sent()));
        waiting.ended(&outcome);
        outcome
    }

    /// Sends a notification, if there is room for it.
    pub(crate) fn notify(&self, method: &'static str, params: Option<&str>) {
        let message = Box::new(Outgoing {
            kind: OutKind::Notification,
            method: method.to_owned(),
            body: wire::notification(method, params),
            headers: Vec::new(),
        });
        if self.commands.try_send(Command::Notify(message)).is_err() {
            self.shared.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Tells the link which revision was agreed.
    pub(crate) async fn opened(&self, revision: Revision) {
        // If the task is over, the next request finds that out.
        self.commands.send(Command::Opened(revision)).await;
    }

    /// Ends the task and its link; the task's own end says when that is done.
    pub(crate) async fn close(&self, graces: Graces) {
        self.commands.send(Command::Close(graces)).await;
    }

    /// True once the task is over.
    pub(crate) fn is_over(&self) -> bool {
        self.commands.is_closed()
    }

    /// Why the link ended, if it was lost and not closed.
    pub(crate) fn lost(&self) -> Option<LinkError> {
        self.shared.lost.get().cloned()
    }

    /// The task was over before it took the request: why, as far as it was lost and not closed.
    fn not_sent(&self) -> Failure {
        let error = self.lost().unwrap_or(LinkError::Closed);
        Failure::Link { error, sent: false }
    }
}

/// Makes a peer task; whoever spawns the future owns it. The future ends when the link is over and
/// its process reaped, with the reason.
pub(crate) fn peer(
    link: Link,
    config: &PeerConfig,
) -> (PeerHandle, impl Future<Output = LinkError> + Send + use<>) {
    let (commands, receiver) = queue(COMMANDS);
    let shared = Arc::new(Shared::new(config.clock));
    let task = Task::new(link, config, Arc::clone(&shared));
    (PeerHandle { commands, shared }, task.run(receiver))
}
