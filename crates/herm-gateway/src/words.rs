//! What a model is told when a call did not reach its tool, or came back without a result.
//!
//! It cannot run commands of ours, so the words say whether to retry, and when. They are data for
//! whoever reads them, too: `_meta["herm/refusal"]`.

use std::time::SystemTime;

use herm_core::gate::clean;
use herm_core::name::ServerName;
use herm_host::{Deadline, Refusal, ServerStatus, State};
use serde::Serialize;

use crate::json::{self, millis};

/// So much of what a server says in an error, in characters.
const MAX_WORDS: usize = 4_000;

#[derive(Serialize)]
struct Told<'a> {
    content: [Text; 1],
    #[serde(rename = "isError")]
    is_error: bool,
    #[serde(rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Serialize)]
struct Text {
    r#type: &'static str,
    text: String,
}

#[derive(Serialize)]
struct Meta<'a> {
    #[serde(rename = "herm/refusal")]
    refusal: About<'a>,
}

#[derive(Serialize)]
struct About<'a> {
    kind: &'static str,
    server: Option<&'a str>,
    retry_after_ms: Option<u64>,
}

/// The result of a call that was refused or failed, a JSON object; `status` is that of its server.
pub(crate) fn result(
    refusal: &Refusal,
    status: Option<&ServerStatus>,
    now: SystemTime,
) -> serde_json::Result<String> {
    let wait = retry_after_ms(refusal, status, now);
    let text = text(refusal, status, wait);
    let about = About {
        kind: json::kind(refusal),
        server: refusal.server().map(ServerName::as_str),
        retry_after_ms: wait,
    };
    told(text, about)
}

/// The result of a call that was refused because this client has too many.
pub(crate) fn too_many(running: usize) -> serde_json::Result<String> {
    let text = format!("herm is busy: {running} calls of this client run. Retry in ~1 s.");
    told(text, About { kind: "unavailable", server: None, retry_after_ms: Some(1_000) })
}

fn told(text: String, refusal: About<'_>) -> serde_json::Result<String> {
    let content = [Text { r#type: "text", text }];
    serde_json::to_string(&Told { content, is_error: true, meta: Meta { refusal } })
}

/// When it is worth asking again.
fn retry_after_ms(
    refusal: &Refusal,
    status: Option<&ServerStatus>,
    now: SystemTime,
) -> Option<u64> {
    let next = || match refusal {
        Refusal::Unavailable { .. } => status?.next_attempt?.duration_since(now).ok(),
        _ => None, // waiting does not mend anything else
    };
    refusal.retry_after().or_else(next).map(millis)
}

fn text(refusal: &Refusal, status: Option<&ServerStatus>, wait: Option<u64>) -> String {
    let words = match refusal {
        Refusal::BreakerOpen { server, failures, .. } => unreachable(server, *failures, wait),
        Refusal::NotNow { server, state: State::NeedsLogin, why, .. } => {
            login(server, why.as_deref())
        }
        Refusal::NotNow { server, state, why, .. } => {
            let why = why.as_ref().map(|why| brief(why)).unwrap_or_default();
            not_connected(server, Some(*state), &why, wait)
        }
        Refusal::Unavailable { server, .. } => {
            not_connected(server, status.map(|status| status.state), &brief(refusal), wait)
        }
        Refusal::Busy { .. } => format!("{refusal}. Retry in ~1 s."),
        Refusal::LoginNeeded { server, .. } => login(server, Some(refusal)),
        Refusal::Disabled { .. }
        | Refusal::Blocked { .. }
        | Refusal::SafeMode { .. }
        | Refusal::Denied { .. }
        | Refusal::Config { .. } => {
            format!("{refusal}. Do not retry: only the user can change this.")
        }
        Refusal::Withdrawn { .. } => {
            format!("{refusal}: it is withdrawn from the list. Do not retry it.")
        }
        Refusal::OutcomeUnknown { .. } => {
            let said = last_words(refusal);
            format!("{refusal}{said}. Do not repeat it blindly: see first whether it took effect.")
        }
        Refusal::TimedOut { deadline: Deadline::CallIdle | Deadline::CallAbsolute, .. } => format!(
            "{refusal}. It was cancelled, and may have taken effect all the same: see first, do not \
             repeat it blindly."
        ),
        _ => refusal.to_string(), // what happened is all there is to say
    };
    let words = clean::text(&words);
    match words.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => format!("{}…", words.get(..end).unwrap_or_default()),
        None => words.into_owned(),
    }
}

/// Why a server failed, with the last words of a child.
fn brief(refusal: &Refusal) -> String {
    format!("{}{}", refusal.brief(), last_words(refusal))
}

fn last_words(refusal: &Refusal) -> String {
    let said = refusal.last_words().map(|line| format!("; its last words: {line}"));
    said.unwrap_or_default()
}

/// The server wants credentials, and says why.
fn login(server: &ServerName, why: Option<&Refusal>) -> String {
    let why = why.filter(|why| matches!(why, Refusal::LoginNeeded { .. }));
    let why = why.map(|why| format!(": {}", why.brief())).unwrap_or_default();
    format!(
        "MCP server '{server}' needs a login by its user{why}. Do not retry until the user says that \
         it is done."
    )
}

/// The breaker is open.
fn unreachable(server: &ServerName, failures: u32, wait: Option<u64>) -> String {
    let retry = wait.map_or_else(|| "a minute".to_owned(), about);
    format!(
        "MCP server '{server}' unreachable after {failures} failures. Retry in {retry}. Do NOT retry \
         this tool yet — use alternative approaches."
    )
}

/// The server is not there: how it is, and when it is tried again.
fn not_connected(
    server: &ServerName,
    state: Option<State>,
    why: &str,
    wait: Option<u64>,
) -> String {
    let state = match state {
        Some(State::Parked) => " (parked after repeated failures)",
        Some(State::Backoff) => " (waiting before another attempt)",
        Some(State::Connecting) => " (still connecting)",
        Some(State::Stopping) => " (ending)",
        _ => "", // no other says why it is not connected
    };
    let next = match wait.map(about) {
        Some(retry) => format!(
            "Next attempt in {retry}. Do NOT retry this tool before then — use alternative \
             approaches."
        ),
        None => "Use alternative approaches.".to_owned(),
    };
    format!("MCP server '{server}' is not connected{state}: {why}. {next}")
}

/// Milliseconds as whole seconds, at least one: nobody should ask too early.
fn about(ms: u64) -> String {
    format!("~{}s", ms.div_ceil(1000).max(1))
}

#[cfg(test)]
mod tests;
