//! A failure as a document.

use herm_host::{Kind, Refusal};
use serde::{Deserialize, Serialize};

use super::{Asked, V, millis};

/// `{"v":1,"error":{…}}`: what a command that failed prints, and a request to the control socket
/// gets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// [`V`].
    pub v: u8,
    /// What failed.
    pub error: Failure,
}

/// Why something failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// One of the kinds of `docs/json.md`.
    pub kind: String,
    /// One sentence.
    pub message: String,
    /// The server concerned.
    pub server: Option<String>,
    /// The tool concerned.
    pub tool: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// When it is worth asking again.
    pub retry_after_ms: Option<u64>,
    /// Last lines of the standard error of a server that ended; on the control socket only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    /// Servers that were asked first and did not answer; on the control socket only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Asked>,
}

impl Failure {
    /// A failure of this kind.
    #[must_use]
    pub fn new(kind: &str, message: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            message: message.into(),
            server: None,
            tool: None,
            hint: None,
            retry_after_ms: None,
            stderr: None,
            missing: Vec::new(),
        }
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// As a document.
    #[must_use]
    pub fn document(self) -> Failed {
        Failed { v: V, error: self }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self {
            server: refusal.server().map(ToString::to_string),
            hint: refusal.hint(),
            retry_after_ms: refusal.retry_after().map(millis),
            stderr: refusal.stderr().map(str::to_owned),
            ..Self::new(kind(&refusal), refusal.to_string())
        }
    }
}

impl From<Box<Self>> for Failure {
    fn from(failure: Box<Self>) -> Self {
        *failure
    }
}

/// The kind of a refusal, as it is written.
#[must_use]
pub fn kind(refusal: &Refusal) -> &'static str {
    match refusal.kind() {
        Kind::Usage => "usage",
        Kind::Config => "config",
        Kind::NotFound => "not_found",
        Kind::Refused => "refused",
        Kind::Timeout => "timeout",
        Kind::LoginNeeded => "login_needed",
        Kind::Unavailable => "unavailable",
        Kind::OutcomeUnknown => "outcome_unknown",
        Kind::Protocol => "protocol",
        // `Internal`, and kinds that a newer host may add: not the user's fault.
        _ => "internal",
    }
}
