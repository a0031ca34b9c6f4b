//! How each server is: a view of the live supervisors, never a guess.

use std::time::Duration;

use herm_core::config::Revision;
use herm_core::era::Wire;
use herm_core::name::ServerName;
use herm_core::wire::Raw;

use crate::refusal::{Phase, Refusal};

/// The state of a server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum State {
    /// `enabled: false`.
    Disabled,
    /// The screen gate, or a faulty entry.
    Blocked,
    /// Not started; a call starts it.
    #[default]
    Idle,
    /// On its way.
    Connecting,
    /// Opened, listed, published.
    Ready,
    /// Waits before another attempt.
    Backoff,
    /// Given up for now.
    Parked,
    /// Wants a login.
    NeedsLogin,
    /// Ending.
    Stopping,
}

impl State {
    /// The name used in JSON and texts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Blocked => "blocked",
            Self::Idle => "idle",
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Backoff => "backoff",
            Self::Parked => "parked",
            Self::NeedsLogin => "needs_login",
            Self::Stopping => "stopping",
        }
    }
}

/// One server, as published by its supervisor.
#[derive(Clone, Debug)]
pub struct ServerStatus {
    /// Which.
    pub name: ServerName,
    /// Its state.
    pub state: State,
    /// The last failure: phase and cause.
    pub reason: Option<(Phase, Refusal)>,
    /// How many attempts there were.
    pub generation: u64,
    /// The revision spoken.
    pub revision: Option<Revision>,
    /// Process id of the child.
    pub pid: Option<u32>,
    /// Frames of the server that were no message, and the first of them, shortened.
    pub skipped: Skipped,
}

/// Frames that were skipped.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// The first, at most 200 characters, control characters gone.
    pub first: Option<String>,
}

/// What a live probe of one server found (`herm test`).
#[derive(Clone, Debug)]
pub struct Probe {
    /// Which.
    pub server: ServerName,
    /// `spawn` or `connect`, `open`, `list`, as far as it came, with their time.
    pub phases: Vec<(Phase, Duration)>,
    /// The wire that was found.
    pub wire: Option<Wire>,
    /// The revision spoken.
    pub revision: Option<Revision>,
    /// `serverInfo` as sent: display data.
    pub server_info: Option<Raw>,
    /// Frames skipped on the way.
    pub skipped: Skipped,
    /// What ended it early: the phase, its time is the last of `phases`, and why.
    pub failed: Option<(Phase, Refusal)>,
}

impl Probe {
    pub(crate) fn new(server: ServerName) -> Self {
        Self {
            server,
            phases: Vec::new(),
            wire: None,
            revision: None,
            server_info: None,
            skipped: Skipped::default(),
            failed: None,
        }
    }
}
