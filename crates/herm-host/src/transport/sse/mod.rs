//! HTTP+SSE of 2024-11-05: one GET stream brings everything, POSTs to the endpoint that it names
//! take everything (L-1 to L-3). There is no resumption: the stream is the session.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use herm_core::config::HttpTarget;
use herm_core::gate::egress;
use herm_core::wire::sse::{Event, Found};
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Response};
use url::Url;

use super::http::events::Events;
use super::http::exchange::{discard, frame, oversized};
use super::http::outbox::Outbox;
use super::http::{Client, TELL_LIMIT, reply};
use super::*;

/// POSTs that may be open at once.
const OPEN_MAX: usize = 1024;

/// What became of a POST.
enum Posted {
    /// A request: accepted, or why not.
    Request(u64, Result<Response, LinkError>),
    /// A notification or reply.
    Told(Result<Response, LinkError>),
    /// A response that nobody wants was read.
    Drained,
}

type Work = Pin<Box<dyn Future<Output = Posted> + Send>>;

/// A link over HTTP+SSE.
pub(crate) struct SseLink {
    client: Client,
    endpoint: Url,
    events: Events,
    outbox: Outbox,
    work: FuturesUnordered<Work>,
    ready: VecDeque<LinkEvent>,
    over: Option<LinkError>,
}

impl SseLink {
    /// GETs the stream and waits for its `endpoint` event (the caller bounds the time).
    ///
    /// # Errors
    /// [`LinkError::NoEndpoint`] if there is no such stream here; [`LinkError::Http`] for a status
    /// that says nothing about that (401, 403, 429, 5xx); those of a connection.
    pub(crate) async fn open(
        client: Client,
        _target: &HttpTarget,
        limit: usize,
    ) -> Result<Self, LinkError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let headers = client.dressed(headers);
        let response = client.send(Method::GET, client.url(), headers, Bytes::new()).await?;
        let status = response.status().as_u16();
        if !response.status().is_success() {
            let refusal = reply::refusal(response).await;
            return Err(match status {
                401 | 403 | 429 | 500.. => refusal,
                _ => no_endpoint(format!("the GET was answered with HTTP {status}")),
            });
        }
        if !reply::is_events(&response) {
            let kind = reply::media_type(response.headers());
            return Err(no_endpoint(format!(
                "the GET was answered with `{kind}`, no event stream"
            )));
        }
        let base = response.url().clone();
        let mut events = Events::new(response, limit);
        let endpoint = endpoint(&mut events, &base).await?;
        Ok(Self {
            client,
            endpoint,
            events,
            outbox: Outbox::default(),
            work: FuturesUnordered::new(),
            ready: VecDeque::new(),
            over: None,
        })
    }

    /// Takes a message: it goes with the next poll of [`SseLink::next`].
    pub(crate) fn send(&mut self, message: Outgoing) -> Result<(), NotSent> {
        if self.over.is_some() {
            return Err(NotSent::Closed);
        }
        if self.work.len() >= OPEN_MAX {
            return Err(NotSent::Full);
        }
        self.outbox.push(message)?;
        self.start();
        Ok(())
    }

    /// The next event. Cancel-safe: what is under way lives in the link.
    pub(crate) async fn next(&mut self) -> LinkEvent {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return event;
            }
            if let Some(error) = &self.over {
                return LinkEvent::Closed(error.clone());
            }
            self.start();
            tokio::select! {
                found = self.events.next() => match found {
                    Some(found) => self.ready.extend(heard(found)),
                    None => self.over = Some(LinkError::Dropped),
                },
                Some(posted) = self.work.next(), if !self.work.is_empty() => self.took(posted),
            }
        }
    }

    /// Nothing changes: this wire has no headers of its own.
    pub(crate) fn opened(&mut self, _revision: Revision) {}

    /// Drops the stream, which ends the session.
    pub(crate) async fn close(self, _graces: Graces) -> LinkError {
        self.over.unwrap_or(LinkError::Closed)
    }

    fn start(&mut self) {
        while self.work.len() < OPEN_MAX
            && let Some(message) = self.outbox.request()
        {
            let OutKind::Request(id) = message.kind else { continue };
            let posted = post(self.client.clone(), self.endpoint.clone(), message.body);
            self.work.push(Box::pin(async move { Posted::Request(id, posted.await) }));
        }
        if let Some(message) = self.outbox.tell() {
            let posted = post(self.client.clone(), self.endpoint.clone(), message.body);
            self.work.push(Box::pin(async move {
                let told = tokio::time::timeout(TELL_LIMIT, posted).await;
                Posted::Told(told.unwrap_or(Err(LinkError::Dropped)))
            }));
        }
    }

    fn took(&mut self, posted: Posted) {
        match posted {
            Posted::Request(_, Ok(response)) => self.discard(response),
            Posted::Request(id, Err(error)) => {
                self.ready.push_back(LinkEvent::Failed { id, error });
            }
            Posted::Told(told) => {
                self.outbox.told();
                match told {
                    Ok(response) => self.discard(response),
                    Err(error) => {
                        tracing::debug!(
                            class = error.class(),
                            "a notification or reply was not accepted"
                        );
                    }
                }
            }
            Posted::Drained => {}
        }
    }

    fn discard(&mut self, response: Response) {
        self.work.push(Box::pin(async move {
            discard(response).await;
            Posted::Drained
        }));
    }
}

impl fmt::Debug for SseLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseLink")
            .field("client", &self.client)
            .field("open", &self.work.len())
            .field("over", &self.over)
            .finish_non_exhaustive()
    }
}

/// Waits for the `endpoint` event. Some proxies lose its name: then it is known by its shape.
async fn endpoint(events: &mut Events, base: &Url) -> Result<Url, LinkError> {
    loop {
        match events.next().await {
            None => return Err(no_endpoint("the stream ended before it".to_owned())),
            Some(Found::Event(event)) if is_endpoint(&event) => {
                return egress::endpoint(base, &event.data).map_err(no_endpoint);
            }
            Some(Found::Event(event)) if event.data.is_empty() => {}
            Some(Found::Event(event)) => {
                let name = reply::clean(event.event.as_bytes());
                return Err(no_endpoint(format!("the first event is `{name:.40}`")));
            }
            Some(Found::Oversized(_)) => {
                return Err(no_endpoint("the first event is over the limit".to_owned()));
            }
            Some(_) => {}
        }
    }
}

fn is_endpoint(event: &Event) -> bool {
    let data = event.data.trim_start();
    match event.event.as_str() {
        "endpoint" => true,
        "message" | "" => data.starts_with('/') || data.starts_with("http"),
        _ => false,
    }
}

fn heard(found: Found) -> Option<LinkEvent> {
    match found {
        Found::Event(event) => frame(event).map(|bytes| LinkEvent::Frame { bytes, of: None }),
        Found::Oversized(head) => Some(oversized(head, None)),
        _ => None,
    }
}

async fn post(client: Client, endpoint: Url, body: String) -> Result<Response, LinkError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let headers = client.dressed(headers);
    let response = client.send(Method::POST, &endpoint, headers, body.into()).await?;
    if response.status().is_success() { Ok(response) } else { Err(reply::refusal(response).await) }
}

fn no_endpoint(why: String) -> LinkError {
    LinkError::NoEndpoint { why }
}

#[cfg(test)]
mod tests;
