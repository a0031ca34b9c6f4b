//! Why a call did not end with the server's result. Kinds, never texts to be matched.

mod cause;
mod hint;
#[cfg(test)]
mod tests;
mod when;
mod words;

use std::time::Duration;

use herm_core::name::ServerName;
use herm_core::wire::PeerError;

use crate::status::State;
use crate::transport::error::body_note;
pub use cause::Cause;
pub use when::{Deadline, Phase};
use words::not_now;
pub(crate) use words::seconds;

/// A request to the host was not answered by a result of the server's.
///
/// Says whose move it is next: [`Refusal::kind`] decides exit codes and JSON, [`Refusal::hint`] what
/// a person or a model may do.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No server of that name is configured.
    #[error("no server is called `{name}`")]
    UnknownServer {
        /// The name asked for.
        name: String,
        /// The nearest configured name.
        nearest: Option<String>,
    },
    /// No tool, resource or prompt of that name is offered.
    #[error("no {what} is called `{name}`")]
    Unknown {
        /// `tool`, `resource` or `prompt`.
        what: &'static str,
        /// The name asked for.
        name: String,
        /// The server it was looked for at, if one was named.
        server: Option<ServerName>,
        /// It is there, and hidden: why.
        hidden: Option<String>,
        /// The nearest offered name.
        nearest: Option<String>,
    },
    /// The tool was offered from before, and its server does not list it any more.
    #[error("MCP server '{server}' does not offer `{tool}` any more")]
    Withdrawn {
        /// The server.
        server: ServerName,
        /// The exposed name.
        tool: String,
    },
    /// The server was asked for a resource or prompt that it does not have, and said so.
    #[error("MCP server '{server}' has no {what} `{name}`: {error}")]
    NotOffered {
        /// The server.
        server: ServerName,
        /// `resource` or `prompt`.
        what: &'static str,
        /// The URI or name asked for.
        name: String,
        /// The server's error, as sent.
        error: Box<PeerError>,
        /// The nearest one that it lists.
        nearest: Option<String>,
    },
    /// `enabled: false`.
    #[error("MCP server '{server}' is disabled")]
    Disabled {
        /// The server.
        server: ServerName,
    },
    /// The screen gate or a faulty entry blocks the server.
    #[error("MCP server '{server}' is blocked: {why}")]
    Blocked {
        /// The server.
        server: ServerName,
        /// Rule and field, or the faults of the entry.
        why: String,
    },
    /// Safe mode: nothing is started or contacted.
    #[error("safe mode is on: MCP server '{server}' is neither started nor contacted")]
    SafeMode {
        /// The server.
        server: ServerName,
    },
    /// The gate does not let the call pass.
    #[error("tool `{tool}` of MCP server '{server}' is refused: {why}")]
    Denied {
        /// The server.
        server: ServerName,
        /// The exposed name.
        tool: String,
        /// Why.
        why: String,
    },
    /// A variable of the entry has no value, or a value is no good.
    #[error("MCP server '{server}' cannot be used as configured: {why}")]
    Config {
        /// The server.
        server: ServerName,
        /// Each fault, joined.
        why: String,
    },
    /// The server is not there: it could not be started, opened or listed, or was lost before the
    /// request was sent.
    #[error("MCP server '{server}' is not connected ({phase}): {cause}")]
    Unavailable {
        /// The server.
        server: ServerName,
        /// In which phase it failed.
        phase: Phase,
        /// What it met.
        cause: Cause,
        /// When it is worth asking again.
        retry_after: Option<Duration>,
    },
    /// The server is not there, and nothing is tried for it now.
    #[error("{}", not_now(server, *state, *failures, why.as_deref()))]
    NotNow {
        /// The server.
        server: ServerName,
        /// `backoff`, `parked`, `needs_login`, or whatever it is.
        state: State,
        /// Failures in a row.
        failures: u32,
        /// When it is worth asking again.
        retry_after: Option<Duration>,
        /// The last failure.
        why: Option<Box<Self>>,
    },
    /// Calls of this server failed in a row, so that the next are refused for a while.
    #[error("MCP server '{server}' unreachable after {failures} failures: its breaker is open")]
    BreakerOpen {
        /// The server.
        server: ServerName,
        /// Failures in a row.
        failures: u32,
        /// When one call is let through.
        retry_after: Duration,
    },
    /// All places are taken, the queue too, or the place did not come in time.
    #[error("MCP server '{server}' is busy: {running} calls run and {queued} wait")]
    Busy {
        /// The server.
        server: ServerName,
        /// Calls that run.
        running: usize,
        /// Calls that wait.
        queued: usize,
    },
    /// A deadline passed. The request was cancelled towards the server.
    #[error("MCP server '{server}' did not answer within {}: the {deadline} limit", seconds(*after))]
    TimedOut {
        /// The server.
        server: ServerName,
        /// Which.
        deadline: Deadline,
        /// How long it was.
        after: Duration,
    },
    /// The server wants a login.
    #[error("MCP server '{server}' wants a login (HTTP {status}){}", body_note(body))]
    LoginNeeded {
        /// The server.
        server: ServerName,
        /// 401 or 403.
        status: u16,
        /// The start of the answer's body.
        body: String,
    },
    /// The request was sent, and its answer was lost.
    #[error(
        "MCP server '{server}' was lost before its answer came, the outcome is unknown: {cause}"
    )]
    OutcomeUnknown {
        /// The server.
        server: ServerName,
        /// What was met.
        cause: Cause,
    },
    /// The server answered with an error.
    #[error("MCP server '{server}' answered with an error: {error}")]
    Peer {
        /// The server.
        server: ServerName,
        /// Its error, as sent.
        error: PeerError,
    },
    /// The server's answer cannot be used.
    #[error("MCP server '{server}' broke the protocol: {why}")]
    Protocol {
        /// The server.
        server: ServerName,
        /// How.
        why: String,
    },
    /// Nobody can answer what the server asks, or the rounds have no end.
    #[error("MCP server '{server}' asks for {what}, which nobody here can answer")]
    Unanswerable {
        /// The server.
        server: ServerName,
        /// The method it asked for.
        what: String,
    },
    /// The arguments are no JSON object, or cannot be sent.
    #[error("the arguments cannot be sent: {why}")]
    BadArguments {
        /// What is wrong.
        why: String,
    },
    /// The host is stopping.
    #[error("herm is stopping")]
    Stopping,
    /// A fault of ours.
    #[error("fault of herm: {why}")]
    Internal {
        /// What happened.
        why: String,
    },
}

/// Kinds of failure, as in the JSON of the command line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Kind {
    /// Bad arguments.
    Usage,
    /// Bad configuration.
    Config,
    /// No such thing.
    NotFound,
    /// Not allowed.
    Refused,
    /// Too slow.
    Timeout,
    /// Login.
    LoginNeeded,
    /// Not there now.
    Unavailable,
    /// May have happened.
    OutcomeUnknown,
    /// An error answer, or an unusable one.
    Protocol,
    /// Our fault.
    Internal,
}

impl Refusal {
    /// Which kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::UnknownServer { .. }
            | Self::Unknown { .. }
            | Self::Withdrawn { .. }
            | Self::NotOffered { .. } => Kind::NotFound,
            Self::Disabled { .. }
            | Self::Blocked { .. }
            | Self::SafeMode { .. }
            | Self::Denied { .. } => Kind::Refused,
            Self::Config { .. } => Kind::Config,
            Self::NotNow { state: State::NeedsLogin, .. } => Kind::LoginNeeded,
            Self::NotNow { why: Some(why), .. } if why.kind() == Kind::LoginNeeded => {
                Kind::LoginNeeded
            }
            Self::Unavailable { .. }
            | Self::NotNow { .. }
            | Self::BreakerOpen { .. }
            | Self::Busy { .. }
            | Self::Stopping => Kind::Unavailable,
            Self::TimedOut { .. } => Kind::Timeout,
            Self::LoginNeeded { .. } => Kind::LoginNeeded,
            Self::OutcomeUnknown { .. } => Kind::OutcomeUnknown,
            Self::Peer { .. } | Self::Protocol { .. } | Self::Unanswerable { .. } => Kind::Protocol,
            Self::BadArguments { .. } => Kind::Usage,
            Self::Internal { .. } => Kind::Internal,
        }
    }

    /// What it is, in one word for programs.
    #[must_use]
    pub fn class(&self) -> &'static str {
        match self {
            Self::Unavailable { cause, .. } | Self::OutcomeUnknown { cause, .. } => cause.class(),
            Self::NotNow { why: Some(why), .. } => why.class(),
            Self::LoginNeeded { .. } => "login_needed",
            Self::Config { .. } => "config",
            Self::Blocked { .. } => "blocked",
            Self::TimedOut { .. } => "timed_out",
            Self::Peer { .. } | Self::NotOffered { .. } => "error_answer",
            Self::Protocol { .. } => "protocol",
            Self::Internal { .. } => "internal",
            _ => "refused", // a decision of ours
        }
    }

    /// What happened, without the server's name: for where that stands beside it.
    #[must_use]
    pub fn brief(&self) -> String {
        match self {
            Self::Unavailable { cause: cause @ Cause::Remembered(_), .. } => cause.to_string(),
            Self::Unavailable { phase: Phase::Call, cause, .. } => cause.to_string(),
            Self::Unavailable { phase, cause, .. } => format!("{cause} ({phase})"),
            Self::LoginNeeded { status, body, .. } => {
                format!("it wants a login (HTTP {status}){}", body_note(body))
            }
            Self::Config { why, .. } => format!("it cannot be used as configured: {why}"),
            Self::Blocked { why, .. } => why.clone(),
            other => other.to_string(),
        }
    }

    /// Last lines of the standard error of a child that ended, or was ended.
    #[must_use]
    pub fn stderr(&self) -> Option<&str> {
        match self {
            Self::Unavailable { cause, .. } | Self::OutcomeUnknown { cause, .. } => cause.stderr(),
            Self::NotNow { why: Some(why), .. } => why.stderr(),
            _ => None, // no child has ended
        }
    }

    /// The last of these lines, if there is one.
    #[must_use]
    pub fn last_words(&self) -> Option<&str> {
        self.stderr()?.lines().last().filter(|line| !line.is_empty())
    }

    /// The server concerned.
    #[must_use]
    pub fn server(&self) -> Option<&ServerName> {
        match self {
            Self::Disabled { server }
            | Self::NotOffered { server, .. }
            | Self::Withdrawn { server, .. }
            | Self::Blocked { server, .. }
            | Self::SafeMode { server }
            | Self::Denied { server, .. }
            | Self::Config { server, .. }
            | Self::Unavailable { server, .. }
            | Self::NotNow { server, .. }
            | Self::BreakerOpen { server, .. }
            | Self::Busy { server, .. }
            | Self::TimedOut { server, .. }
            | Self::LoginNeeded { server, .. }
            | Self::OutcomeUnknown { server, .. }
            | Self::Peer { server, .. }
            | Self::Protocol { server, .. }
            | Self::Unanswerable { server, .. } => Some(server),
            Self::Unknown { server, .. } => server.as_ref(),
            Self::UnknownServer { .. }
            | Self::BadArguments { .. }
            | Self::Stopping
            | Self::Internal { .. } => None,
        }
    }

    /// When it is worth asking again.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Unavailable { retry_after, .. } | Self::NotNow { retry_after, .. } => {
                *retry_after
            }
            Self::BreakerOpen { retry_after, .. } => Some(*retry_after),
            Self::Busy { .. } => Some(Duration::from_secs(1)),
            _ => None, // no other kind gets better by waiting
        }
    }
}
