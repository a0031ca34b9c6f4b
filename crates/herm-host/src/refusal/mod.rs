//! Why a call did not end with the server's result. Kinds, never texts to be matched.

mod cause;
#[cfg(test)]
mod tests;
mod words;

use std::time::Duration;

use herm_core::name::ServerName;
use herm_core::wire::{PeerError, codes};

use crate::status::State;
use crate::transport::error::body_note;
pub use cause::Cause;
pub(crate) use words::seconds;
use words::{ceil, not_now};

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

/// The phase of a start.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Phase {
    /// Starting a child.
    Spawn,
    /// Reaching a URL.
    Connect,
    /// Handshake or discovery.
    Open,
    /// Reading the lists.
    List,
    /// A call.
    Call,
}

impl Phase {
    /// The name used in JSON and texts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Spawn => "spawn",
            Self::Connect => "connect",
            Self::Open => "open",
            Self::List => "list",
            Self::Call => "call",
        }
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A named deadline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Deadline {
    /// `connect_timeout`: spawn, era probe, opening.
    Open,
    /// `list_timeout`.
    List,
    /// `start_timeout`, of a first call.
    Start,
    /// `timeout`: no answer and no progress.
    CallIdle,
    /// `max_timeout`, or the caller's own limit.
    CallAbsolute,
    /// `queue_timeout`.
    Queue,
    /// `supervision.probe_timeout`.
    Probe,
}

impl std::fmt::Display for Deadline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Open => "connect (`connect_timeout`)",
            Self::List => "list (`list_timeout`)",
            Self::Start => "start (`start_timeout`)",
            Self::CallIdle => "call idle (`timeout`)",
            Self::CallAbsolute => "call absolute (`max_timeout` or `--timeout`)",
            Self::Queue => "queue (`queue_timeout`)",
            Self::Probe => "probe (`supervision.probe_timeout`)",
        })
    }
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
            Self::UnknownServer { .. } | Self::Unknown { .. } | Self::NotOffered { .. } => {
                Kind::NotFound
            }
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

    /// The last line of the child's standard error, if that is what it ended with.
    #[must_use]
    pub fn last_words(&self) -> Option<&str> {
        match self {
            Self::Unavailable { cause: Cause::Link(link), .. }
            | Self::OutcomeUnknown { cause: Cause::Link(link), .. } => link.last_words(),
            Self::NotNow { why: Some(why), .. } => why.last_words(),
            _ => None, // no child has ended
        }
    }

    /// The server concerned.
    #[must_use]
    pub fn server(&self) -> Option<&ServerName> {
        match self {
            Self::Disabled { server }
            | Self::NotOffered { server, .. }
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

    /// What to do next, for a person.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::UnknownServer { nearest, .. } => match nearest {
                Some(name) => format!("did you mean `{name}`? `herm list` shows all servers"),
                None => "`herm list` shows the configured servers".to_owned(),
            },
            Self::Unknown { hidden: Some(why), .. } => format!("it is hidden: {why}"),
            Self::Unknown { what, nearest, .. } => match nearest {
                Some(name) => format!("did you mean `{name}`? `herm {what}s` shows all"),
                None => format!("`herm {what}s` shows what there is"),
            },
            Self::NotOffered { server, what, error, nearest, .. } => match nearest {
                _ if error.code == codes::METHOD_NOT_FOUND => {
                    format!("`{server}` offers no {what}s: `herm {what}s` shows which servers do")
                }
                Some(name) => format!("did you mean `{name}`? `herm {what}s {server}` shows all"),
                None => format!("`herm {what}s {server}` shows what there is"),
            },
            Self::Disabled { server } => format!("set `enabled: true` for `{server}` to use it"),
            Self::Blocked { server, .. } => format!("`herm check` shows the faults of `{server}`"),
            Self::SafeMode { .. } => "unset HERM_SAFE_MODE, or leave out --safe-mode".to_owned(),
            Self::Config { .. } => "`herm check` shows every fault with its line".to_owned(),
            Self::Unavailable { server, cause, .. } => cause
                .hint()
                .unwrap_or_else(|| format!("`herm test {server}` shows each phase of its start")),
            Self::NotNow { server, retry_after, why, .. } => {
                let mut parts: Vec<String> = Vec::new();
                if let Some(Self::Unavailable { cause, .. }) = why.as_deref() {
                    parts.extend(cause.hint());
                }
                parts.extend(
                    retry_after.map(|after| {
                        format!("it is tried again in about {}", seconds(ceil(after)))
                    }),
                );
                parts.push(format!("`herm test {server}` tries at once"));
                parts.join("; ")
            }
            Self::BreakerOpen { server, retry_after, .. } => {
                let after = seconds(ceil(*retry_after));
                format!("one call is let through in about {after}; `herm test {server}` says more")
            }
            Self::Busy { .. } => "try again when running calls have ended".to_owned(),
            Self::TimedOut { .. } => {
                "raise the limit named above if the server needs more time".to_owned()
            }
            Self::LoginNeeded { server, .. } => {
                format!("put credentials into `headers` of `{server}`")
            }
            Self::OutcomeUnknown { .. } => {
                "look whether it took effect before you repeat it".to_owned()
            }
            Self::Unanswerable { .. } => "run the command on a terminal to be asked".to_owned(),
            Self::Peer { .. }
            | Self::Denied { .. }
            | Self::Protocol { .. }
            | Self::BadArguments { .. }
            | Self::Stopping
            | Self::Internal { .. } => return None,
        })
    }
    /// [`Self::hint`] for whoever has just tested the server, and so needs no word of `herm test`.
    #[must_use]
    pub fn hint_after_test(&self) -> Option<String> {
        match self {
            Self::Unavailable { server, cause, .. } => {
                Some(cause.hint().unwrap_or_else(|| beyond_test(server)))
            }
            Self::NotNow { server, .. } | Self::BreakerOpen { server, .. } => {
                Some(beyond_test(server))
            }
            _ => self.hint(),
        }
    }
}

/// Where the cause may be seen when a test does not tell it.
fn beyond_test(server: &ServerName) -> String {
    format!(
        "see what it says: `herm logs {server}` for a command, or run that by hand; the \
             server's own log for a `url`"
    )
}
