//! What a person may do about a refusal.

use std::time::Duration;

use herm_core::name::ServerName;
use herm_core::wire::codes;

use super::Refusal;
use super::words::{ceil, seconds};

impl Refusal {
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
            Self::Withdrawn { server, .. } => format!("`herm tools {server}` shows what it offers"),
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
                later(server, *retry_after, why.as_deref())
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

/// Nothing is tried now.
fn later(server: &ServerName, retry_after: Option<Duration>, why: Option<&Refusal>) -> String {
    let cause = match why {
        Some(Refusal::Unavailable { cause, .. }) => cause.hint(),
        _ => None, // what is wrong is said with the refusal
    };
    let again = |after| format!("it is tried again in about {}", seconds(ceil(after)));
    let now = format!("`herm test {server}` tries at once");
    let parts: Vec<String> = cause.into_iter().chain(retry_after.map(again)).chain([now]).collect();
    parts.join("; ")
}

/// Where the cause may be seen when a test does not tell it.
fn beyond_test(server: &ServerName) -> String {
    format!(
        "see what it says: `herm logs {server}` for a command, or run that by hand; the server's own \
         log for a `url`"
    )
}
