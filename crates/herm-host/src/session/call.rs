//! One request of ours: what it asks, how it is sent, and why it may get no result.

use std::sync::Arc;
use std::time::Duration;

use herm_core::wire::{PeerError, Raw};
use tokio::sync::{mpsc, oneshot};

use super::listen;
use crate::refusal::Deadline;
use crate::request::{Caller, Progress};
use crate::transport::LinkError;

/// Why a request of ours got no result.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The server's error.
    Peer(PeerError),
    /// The link. `sent`: the server may have seen the request.
    Link { error: LinkError, sent: bool },
    /// An answer that is none.
    BadReply(String),
    /// A deadline.
    TimedOut { deadline: Deadline, after: Duration },
    /// No place.
    Busy { running: usize, queued: usize },
}

/// One request, before it has an id.
#[derive(Debug)]
pub(crate) struct Ask {
    /// Its method.
    pub(crate) method: &'static str,
    /// Mirrored headers.
    pub(crate) headers: Vec<(String, String)>,
    /// Without answer or progress.
    pub(crate) idle: Duration,
    /// From sending.
    pub(crate) absolute: Duration,
    /// Which deadline the absolute limit is.
    pub(crate) absolute_is: Deadline,
    /// Counts against `max_concurrent_calls`.
    pub(crate) takes_place: bool,
    /// Who may be asked back.
    pub(crate) caller: Option<Arc<Caller>>,
    /// Where progress goes.
    pub(crate) progress: Option<mpsc::Sender<Progress>>,
}

impl Ask {
    /// A request of the host's own (opening, lists): one deadline, no place taken.
    pub(crate) fn own(method: &'static str, within: Duration, is: Deadline) -> Self {
        Self {
            method,
            headers: Vec::new(),
            idle: within,
            absolute: within,
            absolute_is: is,
            takes_place: false,
            caller: None,
            progress: None,
        }
    }
}

/// One request on its way.
#[derive(Debug)]
pub(crate) struct Call {
    /// Its id, from the session's counter.
    pub(crate) id: u64,
    /// The whole message.
    pub(crate) body: String,
    /// What it asks, and within which limits.
    pub(crate) ask: Ask,
    /// Where the answer goes; closed when nobody waits any more.
    pub(crate) answer: oneshot::Sender<Result<Raw, Failure>>,
}

impl Call {
    /// It stands for as long as the session does: nobody waits for its answer.
    pub(crate) fn stands(&self) -> bool {
        self.ask.method == listen::METHOD
    }
}
