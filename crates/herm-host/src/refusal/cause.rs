//! What a server met: the reason behind a refusal, and what to do about it.

use std::time::Duration;

use herm_core::wire::PeerError;

use super::{Deadline, seconds};
use crate::status::Skipped;
use crate::transport::LinkError;
use crate::transport::page::is_html;

/// What a page, or the lack of one, tells.
const ENDPOINT: &str = "see that `url` is the server's MCP endpoint";

/// What a server met, of whatever kind.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The link.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// An error answer to an opening or a list.
    #[error("it answered `{method}` with an error: {error}")]
    Peer {
        /// The method.
        method: String,
        /// Its error.
        error: PeerError,
    },
    /// An unusable answer to an opening or a list.
    #[error("{0}")]
    Protocol(String),
    /// A deadline.
    #[error("{}", late(*deadline, *after, method))]
    TimedOut {
        /// Which.
        deadline: Deadline,
        /// How long it was.
        after: Duration,
        /// The request whose answer was awaited; empty: the end of a whole start.
        method: String,
    },
    /// A deadline of a start, and what the server said meanwhile that was no answer.
    #[error("{limit}{}", skipped_note(skipped))]
    Unanswered {
        /// The deadline: [`Self::TimedOut`].
        limit: Box<Self>,
        /// What came over its wire and was no message.
        skipped: Skipped,
        /// Last lines of its standard error, redacted and bounded.
        stderr: String,
    },
    /// No opening was found.
    #[error(transparent)]
    Era(#[from] herm_core::era::Failed),
    /// Given up by us, and why.
    #[error("{0}")]
    GivenUp(String),
    /// What it met in another run, which is remembered.
    #[error("{0}")]
    Remembered(String),
    /// Stopped by us.
    #[error("it was stopped")]
    Stopped,
}

impl Cause {
    /// True if another attempt cannot help until somebody changes something.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        let refused = matches!(
            self,
            Self::Link(
                LinkError::Tls { .. } | LinkError::Redirect { .. } | LinkError::RedirectLoop { .. }
            )
        );
        refused || self.is_local()
    }

    /// True if nothing was started or reached: another PATH or working directory, or another file, is
    /// another matter.
    #[must_use]
    pub fn is_local(&self) -> bool {
        matches!(
            self,
            Self::Link(
                LinkError::NotFound { .. }
                    | LinkError::Directory { .. }
                    | LinkError::NotExecutable { .. }
                    | LinkError::BadFormat { .. }
                    | LinkError::BadDirectory { .. }
                    | LinkError::Setting { .. }
            )
        )
    }

    /// A deadline with what the server said meanwhile; any other cause as it is.
    pub(crate) fn beside(self, skipped: Skipped, stderr: String) -> Self {
        if !matches!(self, Self::TimedOut { .. }) || (skipped.count == 0 && stderr.is_empty()) {
            return self;
        }
        Self::Unanswered { limit: Box::new(self), skipped, stderr }
    }

    /// Last lines of the standard error of a child that ended, or was ended.
    #[must_use]
    pub fn stderr(&self) -> Option<&str> {
        match self {
            Self::Link(LinkError::Exited { stderr, .. } | LinkError::OutputClosed { stderr })
            | Self::Unanswered { stderr, .. } => Some(stderr),
            _ => None, // no child behind it that said something
        }
    }

    /// What it is, in one word for programs.
    #[must_use]
    pub fn class(&self) -> &'static str {
        match self {
            Self::Link(link) => link.class(),
            Self::Peer { .. } => "error_answer",
            Self::Protocol(_) => "protocol",
            Self::TimedOut { .. } | Self::Unanswered { .. } => "timed_out",
            Self::Era(_) => "no_era",
            Self::GivenUp(_) => "given_up",
            Self::Remembered(_) => "remembered",
            Self::Stopped => "stopped",
        }
    }

    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Link(LinkError::NotFound { command, .. }) => correct(command),
            Self::Link(LinkError::Directory { .. }) => {
                "name a program in `command`, not a folder".to_owned()
            }
            Self::Link(LinkError::NotExecutable { path }) => format!("chmod +x {path}"),
            Self::Link(LinkError::BadFormat { .. }) => {
                "name the interpreter in `command` and the script in `args`".to_owned()
            }
            Self::Link(LinkError::BadDirectory { .. }) => "correct `cwd`".to_owned(),
            Self::Link(LinkError::Exited { .. }) => {
                "run the command by hand to see why it ends".to_owned()
            }
            Self::Link(LinkError::Unkillable { .. }) => {
                "nothing is started beside it: see what it waits for, a file system or a device"
                    .to_owned()
            }
            Self::Link(LinkError::Setting { key, .. }) => format!("correct `{key}`"),
            Self::Link(LinkError::Connect { .. }) => {
                "see that the server runs and `url` is right".to_owned()
            }
            Self::Link(LinkError::Http { status: 404 | 405 | 410, .. })
            | Self::Link(LinkError::NotMcp { .. }) => ENDPOINT.to_owned(),
            Self::Link(LinkError::Http { body, .. }) if is_html(body) => ENDPOINT.to_owned(),
            Self::Link(LinkError::Http { status: 500.., .. }) => {
                "the server is in trouble: look at its own log".to_owned()
            }
            Self::Link(LinkError::Tls { .. }) => {
                "give the CA's PEM file in `ssl_verify`, or correct `url`".to_owned()
            }
            Self::Link(LinkError::RedirectLoop { .. }) => {
                "see that `url` is the server's own address, and how it or a proxy before it redirects"
                    .to_owned()
            }
            Self::Unanswered { skipped, .. } if skipped.count > 0 => {
                "see that the command starts an MCP server: its output is for messages only".to_owned()
            }
            Self::TimedOut { .. } | Self::Unanswered { .. } => {
                "raise the limit named above, or mend the server".to_owned()
            }
            Self::Link(LinkError::TooLarge { .. }) => {
                "raise `max_message_bytes`, or have the server send less".to_owned()
            }
            Self::Link(_)
            | Self::Peer { .. }
            | Self::Protocol(_)
            | Self::Era(_)
            | Self::GivenUp(_)
            | Self::Remembered(_)
            | Self::Stopped => {
                return None;
            }
        })
    }
}

fn skipped_note(skipped: &Skipped) -> String {
    let (lines, were) = if skipped.count == 1 { ("line", "was") } else { ("lines", "were") };
    match (&skipped.first, skipped.count) {
        (_, 0) => String::new(),
        (Some(first), count) => {
            format!("; {count} {lines} of its output {were} no message, the first: `{first}`")
        }
        (None, count) => format!("; {count} {lines} of its output {were} no message"),
    }
}

fn late(deadline: Deadline, after: Duration, method: &str) -> String {
    let after = seconds(after);
    if method.is_empty() {
        format!("it was not ready within {after}: the {deadline} limit")
    } else {
        format!("no answer to `{method}` within {after}: the {deadline} limit")
    }
}

/// What to do about a command that is not there.
fn correct(command: &str) -> String {
    match command.split_whitespace().next() {
        Some(program) if command.contains(char::is_whitespace) => {
            format!("arguments belong in `args`: `command: {program}`, `args: [...]`")
        }
        _ if command.contains('/') => "correct `command`".to_owned(),
        _ => format!("install `{command}`, or give its full path in `command`"),
    }
}
