//! How each server is: a view of the live supervisors, never a guess.

use std::time::{Duration, SystemTime};

use herm_core::catalog::Freshness;
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
    /// Asked for a proof of life.
    Suspect,
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
            Self::Suspect => "suspect",
            Self::Backoff => "backoff",
            Self::Parked => "parked",
            Self::NeedsLogin => "needs_login",
            Self::Stopping => "stopping",
        }
    }
}

/// The breaker of a server's calls.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum BreakerState {
    /// Calls pass.
    #[default]
    Closed,
    /// Calls are refused for a while.
    Open,
    /// One call passes, to see.
    HalfOpen,
}

impl BreakerState {
    /// The name used in JSON and texts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// Why a server is not as it should be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reason {
    /// Its kind, one word such as `exited` or `timed_out`.
    pub class: &'static str,
    /// In words; never empty.
    pub text: String,
}

/// What happened to a server since the host began.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Attempts to start or reach it.
    pub starts: u64,
    /// Sessions that were lost.
    pub losses: u64,
    /// Calls without an answer in time.
    pub timeouts: u64,
    /// Answers that nobody waited for any more.
    pub late_answers: u64,
}

/// One server, as published by its supervisor.
#[derive(Clone, Debug)]
pub struct ServerStatus {
    /// Which.
    pub name: ServerName,
    /// Of its connection, see [`herm_core::config::fingerprint`]; absent: its entry is at fault.
    pub fingerprint: Option<String>,
    /// Its state.
    pub state: State,
    /// The last failure.
    pub reason: Option<Reason>,
    /// When the state began.
    pub since: SystemTime,
    /// When it is tried again.
    pub next_attempt: Option<SystemTime>,
    /// How many attempts there were.
    pub generation: u64,
    /// Whether calls pass.
    pub breaker: BreakerState,
    /// The revision spoken.
    pub revision: Option<Revision>,
    /// Tools that are offered.
    pub tools: usize,
    /// How far the list can be relied on.
    pub freshness: Freshness,
    /// Why its lists could not be kept, or kept ones not be used, at the last time.
    pub not_kept: Option<String>,
    /// Calls that run.
    pub in_flight: usize,
    /// When the last call began.
    pub last_call: Option<SystemTime>,
    /// Process id of the child.
    pub pid: Option<u32>,
    /// Memory of the child, in bytes.
    pub rss_bytes: Option<u64>,
    /// What happened so far.
    pub counters: Counters,
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

/// What a reload did to each server.
#[derive(Clone, Debug, Default)]
pub struct Reloaded {
    /// No longer there, or disabled.
    pub stopped: Vec<ServerName>,
    /// New, or started again with another configuration.
    pub started: Vec<ServerName>,
    /// Changed without a restart.
    pub updated: Vec<ServerName>,
    /// Not touched.
    pub unchanged: Vec<ServerName>,
    /// Not ready within the time given, and why.
    pub failed: Vec<(ServerName, Refusal)>,
    /// Must not run, whether that is new or not, and why.
    pub blocked: Vec<(ServerName, Refusal)>,
}

impl std::fmt::Display for Reloaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        let blocked: Vec<ServerName> = self.blocked.iter().map(|(name, _)| name.clone()).collect();
        for (what, names) in [
            ("stopped", &self.stopped),
            ("started", &self.started),
            ("updated in place", &self.updated),
            ("blocked", &blocked),
        ] {
            if !names.is_empty() {
                let names: Vec<&str> = names.iter().map(ServerName::as_str).collect();
                parts.push(format!("{what} {}", names.join(", ")));
            }
        }
        parts.push(format!("{} unchanged", self.unchanged.len()));
        f.write_str(&parts.join("; "))
    }
}

/// What the state folder remembers of a server.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// Which.
    pub name: ServerName,
    /// Of its connection.
    pub fingerprint: String,
    /// Unproven failures in a row.
    pub failures: u32,
    /// Starts that are left of its allowance.
    pub allowance: u32,
    /// When an attempt may come.
    pub next_attempt: Option<SystemTime>,
    /// The last failure.
    pub why: Option<String>,
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
