//! How hosts and their servers are, as a document.

use std::time::SystemTime;

use herm_host::{Remembered, ServerStatus};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The document of `status`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// [`super::V`].
    pub v: u8,
    /// Whether the one who asked, or the one host that was asked, is in safe mode.
    pub safe_mode: bool,
    /// The hosts that run on this home.
    pub hosts: Vec<HostStatus>,
    /// Hosts that run, and gave no answer.
    #[serde(default)]
    pub silent: Vec<SilentHost>,
    /// The servers of the configuration, and what the state folder knows of each.
    pub configured: Vec<Configured>,
}

/// One host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostStatus {
    /// Its process.
    pub pid: u32,
    /// Its version of herm.
    pub version: String,
    /// When it began, RFC 3339 in UTC.
    pub since: String,
    /// The configuration file that it uses.
    pub config: Option<String>,
    /// Why that file could not be taken up when it was last read; what was read before is in use.
    #[serde(default)]
    pub config_error: Option<String>,
    /// Its servers, in the order of the configuration.
    pub servers: Vec<ServerState>,
}

/// A host that gave no answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SilentHost {
    /// Its process.
    pub pid: u32,
    /// Why there is none.
    pub error: String,
}

/// One server of a host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServerState {
    /// Which.
    pub name: String,
    /// Of its connection; absent: its entry is at fault.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// `ready` and its kin.
    pub state: String,
    /// What is wrong with it.
    pub reason: Option<ReasonDocument>,
    /// When the state began.
    pub since: String,
    /// When it is tried again.
    pub next_attempt_at: Option<String>,
    /// How many attempts there were.
    pub generation: u64,
    /// `closed`, `open` or `half_open`.
    pub breaker: String,
    /// `handshake` or `stateless`.
    pub era: Option<String>,
    /// The revision spoken.
    pub protocol: Option<String>,
    /// Tools that are offered.
    pub tools: usize,
    /// `live`, `cached`, `stale` or `parked`.
    pub freshness: String,
    /// Why its lists are not kept on disk, or kept ones not used; absent: they are.
    #[serde(default)]
    pub catalog_error: Option<String>,
    /// Calls that run.
    pub in_flight: usize,
    /// When the last call began.
    pub last_call_at: Option<String>,
    /// Process of the child.
    pub pid: Option<u32>,
    /// Memory of the child.
    pub rss_bytes: Option<u64>,
    /// What happened so far.
    pub counters: CounterDocument,
    /// The first line of the server that was no message.
    pub first_skipped: Option<String>,
}

/// Why a server is not as it should be.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReasonDocument {
    /// Its kind.
    pub class: String,
    /// In words; never empty.
    pub text: String,
}

/// What happened to a server since the host began.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CounterDocument {
    /// Attempts.
    pub starts: u64,
    /// Sessions that were lost.
    pub losses: u64,
    /// Lines that were no message.
    pub skipped_lines: u64,
    /// Calls without an answer in time.
    pub timeouts: u64,
    /// Answers that nobody waited for any more.
    pub late_answers: u64,
}

/// One configured server, and what is remembered of it between hosts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Configured {
    /// Which.
    pub name: String,
    /// Of its connection.
    #[serde(default)]
    pub fingerprint: Option<String>,
    /// Failures in a row.
    pub failures: Option<u64>,
    /// Starts that are left.
    pub allowance: Option<u64>,
    /// When it is tried again.
    pub next_attempt_at: Option<String>,
    /// The last failure.
    pub reason: Option<String>,
}

impl Configured {
    /// A server whose entry is at fault: nothing can be remembered of it.
    #[must_use]
    pub fn unknown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            fingerprint: None,
            failures: None,
            allowance: None,
            next_attempt_at: None,
            reason: None,
        }
    }
}

impl From<&Remembered> for Configured {
    fn from(known: &Remembered) -> Self {
        Self {
            name: known.name.to_string(),
            fingerprint: Some(known.fingerprint.clone()),
            failures: Some(known.failures.into()),
            allowance: Some(known.allowance.into()),
            next_attempt_at: known.next_attempt.map(written),
            reason: known.why.clone(),
        }
    }
}

impl From<&ServerStatus> for ServerState {
    fn from(status: &ServerStatus) -> Self {
        let era = |handshake: bool| if handshake { "handshake" } else { "stateless" };
        Self {
            name: status.name.to_string(),
            fingerprint: status.fingerprint.clone(),
            state: status.state.as_str().to_owned(),
            reason: status.reason.as_ref().map(|reason| ReasonDocument {
                class: reason.class.to_owned(),
                text: reason.text.clone(),
            }),
            since: written(status.since),
            next_attempt_at: status.next_attempt.map(written),
            generation: status.generation,
            breaker: status.breaker.as_str().to_owned(),
            era: status.revision.map(|revision| era(revision.is_handshake()).to_owned()),
            protocol: status.revision.map(|revision| revision.as_str().to_owned()),
            tools: status.tools,
            freshness: status.freshness.as_str().to_owned(),
            catalog_error: status.not_kept.clone(),
            in_flight: status.in_flight,
            last_call_at: status.last_call.map(written),
            pid: status.pid,
            rss_bytes: status.rss_bytes,
            counters: CounterDocument {
                starts: status.counters.starts,
                losses: status.counters.losses,
                skipped_lines: status.skipped.count,
                timeouts: status.counters.timeouts,
                late_answers: status.counters.late_answers,
            },
            first_skipped: status.skipped.first.clone(),
        }
    }
}

/// A time, RFC 3339 in UTC with milliseconds. One that no calendar has is the epoch.
#[must_use]
pub fn written(time: SystemTime) -> String {
    let exact = Timestamp::try_from(time).unwrap_or_default();
    Timestamp::from_millisecond(exact.as_millisecond()).unwrap_or_default().to_string()
}
