//! Which opening to try next, given how the last was answered (section 3 of the requirements).

mod opening;

use crate::config::Revision;

pub use opening::Opening;

/// What a server turned out to be, worth remembering.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Verdict {
    /// The revision spoken.
    pub revision: Revision,
    /// The wire it is spoken on.
    pub wire: Wire,
}

/// The wire.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum Wire {
    /// Standard streams of a child.
    Stdio,
    /// Streamable HTTP.
    Streamable,
    /// HTTP+SSE.
    Sse,
}

impl Wire {
    /// The word for it in files and documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Streamable => "http",
            Self::Sse => "sse",
        }
    }

    /// The wire of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        [Self::Stdio, Self::Streamable, Self::Sse].into_iter().find(|wire| wire.as_str() == word)
    }
}

/// One attempt to open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Try {
    /// `initialize`, naming this revision.
    Initialize(Wire, Revision),
    /// `server/discover`, dressed in this revision.
    Discover(Wire, Revision),
}

/// How an attempt was answered. What is no evidence of an era (401, 403, 5xx, network, an HTTP
/// time-out: E-6) is [`Answer::Outage`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// A well-formed result; of `initialize` the version it names, of `server/discover` all it names.
    Opened(Vec<String>),
    /// A result that is none of the kind (E-7).
    Odd,
    /// A JSON-RPC error: code, and the versions that its data lists.
    Refused {
        /// Its code.
        code: i64,
        /// `data.supported`.
        supported: Vec<String>,
    },
    /// A 4xx other than 401 and 403, without a JSON-RPC error of the modern set in it. One with
    /// such an error, and a 404 with `-32601` in it, is [`Answer::Refused`].
    HttpRefused {
        /// The status.
        status: u16,
    },
    /// The SSE endpoint did not come.
    NoEndpoint,
    /// Nothing within the time of this step. Evidence on stdio only.
    Silence,
    /// The child exited on it.
    Exited,
    /// No evidence: the attempt fails as it is.
    Outage,
}

/// What follows.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Step {
    /// Try this, on a fresh process or connection if `respawn`.
    Try {
        /// The attempt.
        attempt: Try,
        /// The child is gone: start it again, at no cost.
        respawn: bool,
    },
    /// Open.
    Open(Verdict),
    /// Give up; which answer to show is the caller's (the last one).
    Fail(Failed),
}

/// Why no opening was found.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Failed {
    /// No revision in common.
    #[error("no protocol revision in common: the server speaks {server}, herm speaks {ours}")]
    NoCommonRevision {
        /// Theirs, joined.
        server: String,
        /// Ours, joined.
        ours: String,
    },
    /// Every permitted opening was refused.
    #[error("the server refused every opening that `protocol` permits")]
    Refused,
    /// No evidence of an era; the cause is what the last attempt met.
    #[error("the server could not be reached")]
    Outage,
}
