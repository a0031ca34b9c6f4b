//! What a machine is told, and what it says.

use std::time::Duration;

use super::{At, Ledger, Outcome, Probe};

/// Where a server is.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub enum State {
    /// Nothing runs; demand starts it.
    #[default]
    Idle,
    /// An attempt is on its way.
    Connecting,
    /// Opened, listed, published, announced.
    Ready,
    /// Waits after a failure.
    Backoff,
    /// Left alone for longer; it probes itself.
    Parked(Parked),
    /// Wants a login.
    NeedsLogin,
    /// Told to end, not yet ended.
    Closing,
    /// Its process tree does not end: nothing is started beside it.
    Unkillable,
    /// Told to end for good.
    Stopping,
    /// Over.
    Stopped,
}

/// Why a server is parked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Parked {
    /// Too many failures in a row, or one that no attempt can mend.
    Failures,
    /// Its allowance of starts is spent.
    Allowance,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Input {
    /// A call, or an eager start, needs the server.
    Want,
    /// A person wants it anew: whatever runs ends first, nothing is waited for.
    Force,
    /// This generation is opened: its loss costs an allowance.
    Opened(u64),
    /// This generation is opened, listed, published.
    Ready {
        /// Which.
        generation: u64,
        /// Nothing is lost with a connection (HTTP without a session): a completed call is proof.
        connectionless: bool,
    },
    /// This generation is over and its process reaped: its last word.
    Ended {
        /// Which.
        generation: u64,
        /// How.
        end: End,
    },
    /// The process tree of this generation is still there, after all means: its end comes later.
    Stuck(u64),
    /// The server says that it does not know the session of this generation.
    SessionGone(u64),
    /// A list that changed could not be read again.
    RefreshFailed(u64),
    /// A probe has ended.
    Probed {
        /// Of which generation.
        generation: u64,
        /// What was asked.
        probe: Probe,
        /// What came of it.
        outcome: Outcome,
    },
    /// A call failed with the transport: by a deadline, a lost link, a refused start.
    Strike {
        /// Of which generation.
        generation: u64,
        /// When the call was sent: an answer to another since then says that the server answers.
        since: At,
        /// The link was lost, or the start refused, which strikes all its calls at once.
        lost: bool,
    },
    /// The one call of a half-open breaker was answered.
    TrialAnswered,
    /// The machine slept, or the clock was set.
    Resumed,
    /// What all hosts together know.
    Adopt(Ledger),
    /// They know of no failure any more: one of them, or a person's test, has found the server well.
    Proven,
    /// Time has passed.
    Tick,
    /// End for good.
    Stop,
}

/// How a generation ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum End {
    /// Closed by us, all the way.
    Asked,
    /// It could not be opened or listed, or was lost.
    Failed(Failure),
    /// It never began: what all hosts together know forbids it.
    Denied(Ledger),
}

/// What a failure says of the next attempt.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Failure {
    /// No attempt can help until somebody changes something.
    pub permanent: bool,
    /// The server wants a login.
    pub login: bool,
    /// Nothing was started or reached: what is wrong lies in this program's own surroundings (a PATH, a
    /// variable, a working directory), so that others hear nothing of it.
    pub local: bool,
    /// The server wants to be left alone for this long.
    pub retry_after: Option<Duration>,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Effect {
    /// Open this generation.
    Open {
        /// Its number.
        generation: u64,
        /// A call brings a parked server's attempt forward.
        forward: bool,
        /// A person wants it, or it was planned: nothing is waited for, nothing spent.
        free: bool,
    },
    /// Close the one that runs.
    Close(Close),
    /// Ask it whether it lives.
    Probe(Probe),
}

/// Why a session is closed by us.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Close {
    /// `idle_timeout_seconds`.
    Idle,
    /// `max_lifetime_seconds`.
    Lifetime,
    /// A person wants it anew.
    Restart,
    /// The host ends, or the entry is gone.
    Stop,
    /// It answered none of the probes.
    Silent,
    /// Calls failed three times in a row.
    Breaker,
    /// A list that changed could not be read again.
    Refresh,
    /// The server does not know the session any more.
    SessionGone,
}

/// What is seen of a session, at each step.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Seen {
    /// The last answer to a request of ours, or progress for a call.
    pub life: At,
    /// Requests that are not answered.
    pub pending: usize,
    /// When the last call came.
    pub call: At,
    /// Calls that were answered since the session began.
    pub answered: u64,
    /// When the last of them was.
    pub answered_at: At,
}

/// The moment of a step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Now.
    pub at: At,
    /// A random number in 0 to 1.
    pub dice: f64,
    /// What is seen of the session.
    pub seen: Seen,
}
