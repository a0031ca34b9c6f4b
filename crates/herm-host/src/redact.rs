//! The redact gate at the host's face: no secret of a server's entry leaves in an error.
//!
//! A server may well repeat what it was given: in an error, in a page, in its last words. Results
//! are not touched.

use std::borrow::Cow;
use std::cell::RefCell;

use herm_core::config::{Server, Target};
use herm_core::gate;
use herm_core::wire::PeerError;
use serde_json::value::RawValue;
use url::Url;

use crate::context::Context;
use crate::refusal::{Cause, Refusal};
use crate::status::Skipped;
use crate::transport::LinkError;

/// Values shorter than this are ordinary words and numbers, in bytes.
const SHORTEST: usize = 6;

/// What must not be seen of one server: the values of its variables, of `env` and `headers`, and
/// what its URLs hold. Made anew for each error, since these are rare and values change.
pub(crate) struct Redactor {
    secrets: Vec<String>,
}

impl Redactor {
    pub(crate) fn new(context: &Context, server: &Server) -> Self {
        let used = RefCell::new(Vec::new());
        let world = context.world();
        let lookup = |name: &str| {
            let value = world.variable(name);
            used.borrow_mut().extend(value.clone());
            value
        };
        let target = server.resolve(&lookup, &world.places());
        let mut secrets = used.into_inner();
        match target {
            Ok(Target::Stdio(stdio)) => {
                secrets.extend(stdio.env.iter().map(|(_, value)| value.expose().to_owned()));
            }
            Ok(Target::Http(http)) => {
                for (_, value) in &http.headers {
                    let value = value.expose();
                    secrets.push(value.to_owned());
                    // Without its scheme, as a server would quote it.
                    secrets.extend(value.rsplit_once(' ').map(|(_, rest)| rest.to_owned()));
                }
                of_url(http.url.expose(), &mut secrets);
                of_url(http.proxy.as_ref().map(|p| p.expose()).unwrap_or_default(), &mut secrets);
            }
            // An entry that cannot be resolved was given to nobody.
            _ => {}
        }
        secrets.retain(|value| tells(value));
        Self { secrets }
    }

    #[cfg(test)]
    pub(crate) fn of(secrets: &[&str]) -> Self {
        Self { secrets: secrets.iter().map(|secret| (*secret).to_owned()).collect() }
    }

    /// The same for text that comes line by line: of a value with several, each is looked for.
    pub(crate) fn by_lines(mut self) -> Self {
        let lines = self.secrets.iter().flat_map(|value| value.split(['\n', '\r']));
        let lines: Vec<String> = lines.filter(|line| tells(line)).map(str::to_owned).collect();
        self.secrets.extend(lines);
        self
    }

    /// Characters of the longest value.
    pub(crate) fn longest(&self) -> usize {
        self.secrets.iter().map(|value| value.chars().count()).max().unwrap_or_default()
    }

    /// The refusal with all texts of the server's cleared of secrets.
    pub(crate) fn refusal(&self, mut refusal: Refusal) -> Refusal {
        match &mut refusal {
            Refusal::Unavailable { cause, .. } | Refusal::OutcomeUnknown { cause, .. } => {
                self.cause(cause);
            }
            Refusal::NotNow { why: Some(why), .. } => {
                let last = self.refusal((**why).clone());
                **why = last;
            }
            Refusal::Peer { error, .. } => self.peer(error),
            Refusal::NotOffered { error, .. } => self.peer(error),
            Refusal::Protocol { why, .. }
            | Refusal::LoginNeeded { body: why, .. }
            | Refusal::Unanswerable { what: why, .. } => self.text(why),
            _ => {} // nothing of the server's is in the others
        }
        refusal
    }

    /// What was skipped, likewise.
    pub(crate) fn skipped(&self, mut skipped: Skipped) -> Skipped {
        if let Some(first) = &mut skipped.first {
            self.text(first);
        }
        skipped
    }

    /// One text.
    pub(crate) fn text(&self, text: &mut String) {
        let secrets: Vec<&str> = self.secrets.iter().map(String::as_str).collect();
        if let Cow::Owned(redacted) = gate::redact::text(text, &secrets) {
            *text = redacted;
        }
    }

    fn cause(&self, cause: &mut Cause) {
        match cause {
            Cause::Link(link) => self.link(link),
            Cause::Peer { error, .. } => self.peer(error),
            Cause::Protocol(why) | Cause::Remembered(why) => self.text(why),
            Cause::Unanswered { skipped, stderr, .. } => {
                *skipped = self.skipped(std::mem::take(skipped));
                self.text(stderr);
            }
            _ => {} // our own words
        }
    }

    fn link(&self, link: &mut LinkError) {
        match link {
            LinkError::Exited { stderr: text, .. }
            | LinkError::OutputClosed { stderr: text }
            | LinkError::Redirect { to: text, .. }
            | LinkError::RedirectLoop { to: text, .. }
            | LinkError::Spawn { why: text, .. }
            | LinkError::Connect { why: text, .. }
            | LinkError::Tls { why: text, .. }
            | LinkError::BadHttp { why: text }
            | LinkError::NotMcp { why: text }
            | LinkError::NoEndpoint { why: text } => self.text(text),
            LinkError::Http { body, challenges, .. } => {
                self.text(body);
                challenges.iter_mut().for_each(|challenge| self.text(challenge));
            }
            _ => {} // our own words
        }
    }

    fn peer(&self, error: &mut PeerError) {
        self.text(&mut error.message);
        let mut raw = error.raw.get().to_owned();
        self.text(&mut raw);
        if raw != error.raw.get() {
            // Should it be JSON no more, the message says what there is to say.
            let plain = || serde_json::json!({"code": error.code, "message": error.message});
            error.raw = RawValue::from_string(raw)
                .or_else(|_| serde_json::value::to_raw_value(&plain()))
                .unwrap_or_default();
        }
    }
}

/// Password, user and the values of the query, as written and decoded.
fn of_url(text: &str, secrets: &mut Vec<String>) {
    let Ok(url) = Url::parse(text) else { return };
    secrets.push(url.username().to_owned());
    secrets.extend(url.password().map(str::to_owned));
    let written =
        url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    secrets.extend(written.map(|(_, value)| value.to_owned()));
    secrets.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
}

/// Whether a value tells anything: a path, a number or a short word does not, and would blot out
/// what the error is about.
fn tells(value: &str) -> bool {
    value.len() >= SHORTEST && !value.starts_with(['/', '~']) && value.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::Redactor;
    use crate::refusal::{Cause, Refusal};
    use crate::transport::LinkError;

    #[test]
    fn a_redirect_and_a_question_do_not_repeat_what_the_server_was_given() {
        let server = || "s".parse().unwrap();
        let to = "https://elsewhere/hunter2-of-header".to_owned();
        let link = LinkError::RedirectLoop { status: 302, times: 5, to };
        for refusal in [
            Refusal::OutcomeUnknown { server: server(), cause: Cause::Link(link) },
            Refusal::Unanswerable { server: server(), what: "hunter2-of-header".to_owned() },
        ] {
            let shown = format!("{:?}", Redactor::of(&["hunter2-of-header"]).refusal(refusal));
            assert!(shown.contains("[REDACTED]") && !shown.contains("hunter2"), "{shown}");
        }
    }
}
