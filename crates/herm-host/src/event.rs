//! What happens in a host, as it happens: the host's log, and whoever else listens, are views of it.
//!
//! Events carry no payloads, and texts of servers only redacted.

use std::time::SystemTime;

use herm_core::era::Wire;
use herm_core::name::ServerName;

use crate::status::State;

/// Something that happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A server's tools were published.
    Registered {
        /// Which.
        server: ServerName,
        /// Over what it speaks.
        wire: Wire,
        /// Exposed names.
        tools: Vec<String>,
    },
    /// A server answered no probe, and is started anew.
    KeepaliveFailed {
        /// Which.
        server: ServerName,
        /// Why; never empty.
        reason: String,
    },
    /// A server's state has changed.
    State {
        /// Which.
        server: ServerName,
        /// What it is now.
        state: State,
        /// Failures in a row.
        failures: u32,
        /// Why, where something failed.
        reason: Option<String>,
        /// When the next attempt comes.
        next: Option<SystemTime>,
    },
    /// A server is not started: the screen gate found something.
    Skipped {
        /// Which.
        server: ServerName,
        /// The rule of the gate.
        rule: String,
        /// The field of the entry.
        field: String,
    },
    /// A server is not started: its entry is at fault.
    Faulty {
        /// Which.
        server: ServerName,
        /// The faults.
        why: String,
    },
    /// The lists of a server could not be kept, or kept ones cannot be used.
    NotKept {
        /// Which.
        server: ServerName,
        /// Why.
        why: String,
    },
    /// All servers that were to be started are ready, or have failed for the first time.
    Started {
        /// Tools of all.
        tools: usize,
        /// Servers that are ready.
        servers: usize,
        /// Each that failed, with phase and reason.
        failed: Vec<(ServerName, String)>,
    },
    /// The configuration was read again.
    Reloaded {
        /// What came of it, in words.
        what: String,
    },
    /// The configuration was read again and cannot be used: nothing changes.
    NotReloaded {
        /// What is wrong with it.
        why: String,
    },
}
