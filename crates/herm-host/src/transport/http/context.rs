//! What all exchanges of one link share: where to, as whom, and under which revision.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use herm_core::config::Revision;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, Response};

use super::client::Client;
use crate::transport::{LinkError, OutKind, Outgoing};

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// How long a DELETE may take.
const DELETE_LIMIT: Duration = Duration::from_secs(2);

/// Shared by the link and its exchanges.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) client: Client,
    /// Largest body and event.
    pub(super) limit: usize,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// `Mcp-Session-Id`; a secret.
    session: Option<HeaderValue>,
    /// The server has said that it does not know it.
    lost: bool,
    revision: Option<Revision>,
}

/// A message, ready to be POSTed.
pub(super) struct Post {
    headers: HeaderMap,
    body: Bytes,
    /// It asks for a session: the response may name one.
    opens: bool,
    /// It names one.
    in_session: bool,
    /// Its stream can be resumed.
    pub(super) resumable: bool,
}

impl Context {
    pub(super) fn new(client: Client, limit: usize) -> Self {
        Self { client, limit, known: Mutex::default() }
    }

    /// From now on this revision is spoken.
    pub(super) fn opened(&self, revision: Revision) {
        let mut known = self.known();
        known.revision = Some(revision);
        if revision == Revision::V2026_07_28 {
            known.session = None;
        }
    }

    /// Headers for a message, as of now.
    pub(super) fn post(&self, message: Outgoing) -> Post {
        let opens = matches!(message.kind, OutKind::Request(_)) && message.method == "initialize";
        let mut headers = HeaderMap::with_capacity(12);
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, BOTH);
        for (name, value) in &message.headers {
            let pair = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value));
            if let (Ok(name), Ok(value)) = pair {
                headers.insert(name, value);
            }
        }
        let modern = headers.contains_key(VERSION) || self.modern();
        let in_session = !opens && !modern && self.identify(&mut headers);
        Post {
            headers: self.client.dressed(headers),
            body: message.body.into(),
            opens,
            in_session,
            resumable: !modern,
        }
    }

    /// POSTs a message. The response is a success.
    ///
    /// # Errors
    /// Those of [`Client::send`]; [`LinkError::SessionUnknown`]; [`LinkError::Http`].
    pub(super) async fn deliver(&self, post: &Post) -> Result<Response, LinkError> {
        let headers = post.headers.clone();
        let url = self.client.url();
        let response = self.client.send(Method::POST, url, headers, post.body.clone()).await?;
        if response.status().is_success() {
            if post.opens {
                self.enter(response.headers());
            }
            return Ok(response);
        }
        let error = super::reply::refusal(response).await;
        if post.in_session && names_session(&error) {
            self.known().lost = true;
            return Err(LinkError::SessionUnknown);
        }
        Err(error)
    }

    /// GETs the stream of the server, or what a broken one still holds after `last`.
    pub(super) async fn get(&self, last: Option<&str>) -> Result<Response, LinkError> {
        let mut headers = HeaderMap::with_capacity(8);
        headers.insert(ACCEPT, EVENTS);
        self.identify(&mut headers);
        if let Some(last) = last.and_then(|last| HeaderValue::from_bytes(last.as_bytes()).ok()) {
            headers.insert(LAST_EVENT, last);
        }
        let headers = self.client.dressed(headers);
        self.client.send(Method::GET, self.client.url(), headers, Bytes::new()).await
    }

    /// Ends the session, if there is one. Whether the server agrees does not matter (H-15).
    pub(super) async fn leave(&self) {
        let mut headers = HeaderMap::with_capacity(8);
        if self.modern() || self.known().lost || !self.identify(&mut headers) {
            return;
        }
        let headers = self.client.dressed(headers);
        let url = self.client.url();
        let delete = self.client.send(Method::DELETE, url, headers, Bytes::new());
        drop(tokio::time::timeout(DELETE_LIMIT, delete).await);
    }

    /// True if the server has said that it does not know the session.
    pub(super) fn is_lost(&self) -> bool {
        self.known().lost
    }

    /// True if the server has given a session id.
    pub(super) fn has_session(&self) -> bool {
        self.known().session.is_some()
    }

    /// Version and session of a handshake era. True if there is a session.
    fn identify(&self, headers: &mut HeaderMap) -> bool {
        let known = self.known();
        if let Some(version) = known.revision.and_then(version_header) {
            headers.insert(VERSION, version);
        }
        match &known.session {
            Some(session) => {
                headers.insert(SESSION, session.clone());
                true
            }
            None => false,
        }
    }

    /// Takes the session id of an `initialize` response (H-10): visible ASCII.
    fn enter(&self, headers: &HeaderMap) {
        let Some(id) = headers.get(SESSION) else { return };
        let mut known = self.known();
        let visible = !id.is_empty() && id.as_bytes().iter().all(u8::is_ascii_graphic);
        if visible && known.revision != Some(Revision::V2026_07_28) {
            let mut id = id.clone();
            id.set_sensitive(true);
            known.session = Some(id);
        }
    }

    fn modern(&self) -> bool {
        self.known().revision == Some(Revision::V2026_07_28)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A 404, or a 400 that complains of the session (H-12).
fn names_session(error: &LinkError) -> bool {
    match error {
        LinkError::Http { status: 404, .. } => true,
        LinkError::Http { status: 400, body, .. } => body.to_ascii_lowercase().contains("session"),
        _ => false,
    }
}

/// `MCP-Protocol-Version` of a handshake era (H-11); 2024-11-05 has none.
fn version_header(revision: Revision) -> Option<HeaderValue> {
    let text = match revision {
        Revision::V2025_03_26 => "2025-03-26",
        Revision::V2025_06_18 => "2025-06-18",
        Revision::V2025_11_25 => "2025-11-25",
        _ => return None,
    };
    Some(HeaderValue::from_static(text))
}
