//! Why a link could not be made, failed a request, or ended. Kinds, never texts to be matched.

use super::page;
use crate::process::Remains;

/// What a link met.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The executable is not there.
    #[error("{}", not_found(command, path))]
    NotFound {
        /// As configured.
        command: String,
        /// The PATH that was searched, or the path itself.
        path: String,
    },
    /// A directory, where a program should be.
    #[error("`{path}` is a directory, no program")]
    Directory {
        /// The directory.
        path: String,
    },
    /// The file is there and may not be executed.
    #[error("`{path}` is not executable")]
    NotExecutable {
        /// The file.
        path: String,
    },
    /// The file is no program of this machine.
    #[error(
        "`{path}` is no program that this machine can run (no `#!` line, or another architecture)"
    )]
    BadFormat {
        /// The file.
        path: String,
    },
    /// The working directory is missing or no directory.
    #[error("the working directory `{path}` does not exist or is no directory")]
    BadDirectory {
        /// The directory.
        path: String,
    },
    /// Any other failure to start.
    #[error("`{command}` could not be started: {why}")]
    Spawn {
        /// As configured.
        command: String,
        /// What the system said.
        why: String,
    },
    /// The child is gone.
    #[error("the server {}", ended(*code, *signal))]
    Exited {
        /// Exit code.
        code: Option<i32>,
        /// Signal.
        signal: Option<i32>,
        /// Last lines of its standard error, redacted and bounded.
        stderr: String,
    },
    /// The child closed its standard output and lives.
    #[error("the server closed its output")]
    OutputClosed {
        /// Last lines of its standard error.
        stderr: String,
    },
    /// The child was killed, and it or a descendant still runs. Nothing may be started beside it.
    #[error("the server does not end: KILL has left {}", numbers(remains))]
    Unkillable {
        /// What is left.
        remains: Remains,
    },
    /// The child does not read its input.
    #[error("the server does not read its input")]
    NotReading,
    /// No connection: name, address, refused, reset.
    #[error("no connection to {origin}: {why}")]
    Connect {
        /// Scheme, host, port.
        origin: String,
        /// What went wrong, without credentials.
        why: String,
    },
    /// TLS was refused, by us or by them. Permanent.
    #[error("no TLS connection to {origin}: {why}")]
    Tls {
        /// Scheme, host, port.
        origin: String,
        /// What went wrong.
        why: String,
    },
    /// A value of the configuration that this connection cannot be made with. Permanent.
    #[error("`{key}`: {why}")]
    Setting {
        /// The key of the entry.
        key: &'static str,
        /// What is wrong with it, without its secret.
        why: String,
    },
    /// An HTTP status that is none of success.
    #[error("HTTP {status}{}", body_note(body))]
    Http {
        /// The status.
        status: u16,
        /// The start of the body, bounded (64 KiB, for its JSON-RPC error), control characters gone.
        body: String,
        /// The body is a JSON-RPC error: the raw frame is this body.
        rpc: bool,
        /// `WWW-Authenticate`, each value.
        challenges: Vec<String>,
        /// `Retry-After` in seconds.
        retry_after: Option<u64>,
    },
    /// A 404 (or a 400 that complains of the session) while we held a session id. The request that
    /// fails with it was not executed; as the end of a link it says nothing of those in flight.
    #[error("the server no longer knows the session")]
    SessionUnknown,
    /// A redirect that is not followed.
    #[error(
        "the server redirects ({status}) to {to}, which is not followed: put that URL into the configuration if you trust it"
    )]
    Redirect {
        /// The status.
        status: u16,
        /// Where to, without credentials.
        to: String,
    },
    /// One redirect after the other.
    #[error("the server redirects {times} times in a row, at last ({status}) to {to}")]
    RedirectLoop {
        /// The status of the last one.
        status: u16,
        /// How many were followed.
        times: usize,
        /// Where the last one leads, without credentials.
        to: String,
    },
    /// What came is no HTTP, or ended before or in the middle of an answer.
    #[error("no whole HTTP answer came: {why}")]
    BadHttp {
        /// What is wrong with it.
        why: String,
    },
    /// The server has asked to be left alone (`Retry-After`); the request was not sent.
    #[error("the server asked to be left alone: no request goes to it for another {seconds} s")]
    Held {
        /// What is left of the time, at least 1.
        seconds: u64,
    },
    /// A success that is no MCP answer (HTML, an empty body for a request).
    #[error("the answer is no MCP message: {why}")]
    NotMcp {
        /// Content type and the body's start.
        why: String,
    },
    /// The stream ended before the answer and could not be resumed.
    #[error("the stream ended before the answer came")]
    Dropped,
    /// HTTP+SSE: the stream's first event was no `endpoint`, or one elsewhere.
    #[error("no HTTP+SSE endpoint: {why}")]
    NoEndpoint {
        /// What came instead.
        why: String,
    },
    /// Over `max_message_bytes`.
    #[error("the message is over the limit of {limit} bytes (`max_message_bytes`)")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// Ended by us.
    #[error("herm ended the session (restart, reload or stop)")]
    Closed,
}

impl LinkError {
    /// What it is, in one word for programs.
    #[must_use]
    pub fn class(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not_found",
            Self::Directory { .. } => "directory",
            Self::NotExecutable { .. } => "not_executable",
            Self::BadFormat { .. } => "bad_format",
            Self::BadDirectory { .. } => "bad_directory",
            Self::Spawn { .. } => "spawn",
            Self::Exited { .. } => "exited",
            Self::OutputClosed { .. } => "output_closed",
            Self::Unkillable { .. } => "unkillable",
            Self::NotReading => "not_reading",
            Self::Connect { .. } => "no_connection",
            Self::Tls { .. } => "tls",
            Self::Setting { .. } => "setting",
            Self::Http { .. } => "http",
            Self::SessionUnknown => "session_unknown",
            Self::Redirect { .. } => "redirect",
            Self::RedirectLoop { .. } => "redirect_loop",
            Self::BadHttp { .. } => "bad_http",
            Self::Held { .. } => "held",
            Self::NotMcp { .. } => "not_mcp",
            Self::Dropped => "dropped",
            Self::NoEndpoint { .. } => "no_endpoint",
            Self::TooLarge { .. } => "too_large",
            Self::Closed => "closed",
        }
    }
}

/// A path was looked for where it says, a bare name in PATH.
fn not_found(command: &str, path: &str) -> String {
    if !command.contains('/') {
        format!("`{command}` was not found; PATH searched: {path}")
    } else if command == path {
        format!("`{command}` was not found")
    } else {
        format!("`{command}` was not found: there is no `{path}`")
    }
}

fn numbers(remains: &Remains) -> String {
    let pids: Vec<String> = remains.pids().iter().map(ToString::to_string).collect();
    match pids.as_slice() {
        [] => "what is ending now".to_owned(),
        [pid] => format!("process {pid}"),
        _ => format!("processes {}", pids.join(", ")),
    }
}

fn ended(code: Option<i32>, signal: Option<i32>) -> String {
    match (code, signal) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The start of an answer's body, behind a colon; nothing for an empty one. Of a page it is what
/// the page calls itself.
pub(crate) fn body_note(body: &str) -> String {
    if let Some(page) = page::named(body) {
        return format!(": {page}");
    }
    let start: String = body.chars().take(200).collect();
    if start.is_empty() { String::new() } else { format!(": {start}") }
}
